package classify

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/noregret/noregret/dp"
)

// death is the panic of a store that kills its process.
type death struct{}

// mortal counts durable writes and dies before or after one of them.
type mortal struct {
	dp.Store
	writes *int
	at     int
	after  bool
}

func (m *mortal) CompareAndSwap(epoch uint64, document []byte) error {
	return m.write(func() error { return m.Store.CompareAndSwap(epoch, document) })
}

func (m *mortal) write(f func() error) error {
	*m.writes++
	dies := *m.writes == m.at
	if dies && !m.after {
		panic(death{})
	}
	err := f()
	if dies {
		panic(death{})
	}
	return err
}

// survive runs f and reports whether it died.
func survive(t *testing.T, f func() error) (died bool) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			if r != (death{}) {
				panic(r)
			}
			died = true
		}
	}()
	if err := f(); err != nil {
		t.Fatal(err)
	}
	return false
}

// A run with secure noise is killed before and after each of its durable writes: those of the
// ledger, of the journal, and of the model file. After the restart a model of as many records as
// one that has left before is the same, byte for byte, and the ledger is charged once.
func TestPrivateFitKilled(t *testing.T) {
	for _, noise := range []string{"square-root", "exponential"} {
		o := privateTestOptions(7)
		o.Random, o.Noise, o.Batch = nil, noise, 2
		if noise == "exponential" {
			o.Norm = 1
		}
		text, writes := privateRows(9), 0
		for at := 1; at == 1 || writes >= at-1; at++ {
			for _, after := range []bool{false, true} {
				s := newPrivateStores()
				s.testing = false
				left := map[int64]string{}
				s.release = func(model []byte) error {
					m := must(ReadModel(bytes.NewReader(model), "model"))
					if old, ok := left[m.Privacy.Records]; ok && old != string(model) {
						t.Fatalf("%s, death at write %d: two models of %d records", noise, at, m.Privacy.Records)
					}
					left[m.Privacy.Records] = string(model)
					return nil
				}
				begin := func(s *privateStores) error {
					_, err := s.fit(t, text, o, func(r *PrivateRun) { r.SaveEvery, r.Resume = 3, true })
					return err
				}
				writes = 0
				life := mortal{s.ledger, &writes, at, after}
				doomed := *s
				doomed.ledger, doomed.journal = &life, &mortal{s.journal, &writes, at, after}
				doomed.release = func(model []byte) error {
					return life.write(func() error { return s.release(model) })
				}
				if survive(t, func() error { return begin(&doomed) }) {
					if err := begin(s); err != nil {
						t.Fatalf("%s, restart after death at write %d (after %v): %v", noise, at, after, err)
					}
				}
				if spent := s.spent(t); len(left) != 3 || left[7] == "" || spent < 0.99 || spent > 1 {
					t.Fatalf("%s, death at write %d: %d models, epsilon %v spent", noise, at, len(left), spent)
				}
			}
		}
		if writes < 11 { // account, run, three times journal, ledger and model, the end of the run
			t.Errorf("%s: %d durable writes", noise, writes)
		}
	}
}

// A run that has learned fewer records than declared goes on after them with more records. Other
// records at the beginning are refused.
func TestPrivateFitResumes(t *testing.T) {
	o := privateTestOptions(20)
	lines := strings.SplitAfter(privateRows(25), "\n")
	head, all := strings.Join(lines[:8], ""), strings.Join(lines, "")
	resume := func(r *PrivateRun) { r.Resume = true }

	whole, parts := newPrivateStores(), newPrivateStores()
	out, err := whole.fit(t, all, o, nil)
	if err != nil || !out.Complete || !out.Unread || out.Model.Privacy.Records != 20 {
		t.Fatalf("%+v, %v", out, err)
	}
	out, err = parts.fit(t, head, o, nil)
	if err != nil || out.Complete || out.Unread || out.Model.Privacy.Records != 8 {
		t.Fatalf("%+v, %v", out, err)
	}
	swapped := lines[1] + lines[0] + strings.Join(lines[2:], "")
	for name, text := range map[string]string{"others": swapped, "fewer": strings.Join(lines[:5], "")} {
		_, err := parts.fit(t, text, o, resume)
		if err == nil || !strings.Contains(err.Error(), "are not those that the run") {
			t.Errorf("%s: %v", name, err)
		}
	}
	out, err = parts.fit(t, all, o, resume)
	if err != nil || !out.Complete {
		t.Fatalf("%+v, %v", out, err)
	}
	// The same by hand. Noise from a seed begins anew after a restart.
	begun, hand := must(NewPrivateTrainer(o)), must(NewPrivateTrainer(o))
	for i := range 20 {
		if i == 8 {
			if err := hand.UnmarshalBinary(must(begun.MarshalBinary())); err != nil {
				t.Fatal(err)
			}
			begun = hand
		}
		row := []float32{float32(i%2) - 0.5, float32(i%5) / 4}
		if err := begun.Add([]uint32{0, 1}, row, float64(2*(i%2)-1)); err != nil {
			t.Fatal(err)
		}
	}
	var want bytes.Buffer
	if err := WriteModel(&want, must(begun.Model("data", "run"))); err != nil {
		t.Fatal(err)
	}
	if last := parts.released[len(parts.released)-1]; !bytes.Equal(want.Bytes(), last) {
		t.Errorf("in two parts:\n%s\nby hand:\n%s", last, &want)
	}
	for _, again := range parts.released[1 : len(parts.released)-1] {
		if !bytes.Equal(again, parts.released[0]) {
			t.Error("a restart released another model of 8 records")
		}
	}
	if spent := parts.spent(t); spent > 1 {
		t.Errorf("epsilon %v is spent", spent)
	}
}

// What a ledger does not allow is refused before a model leaves.
func TestPrivateFitRefuses(t *testing.T) {
	text := privateRows(5)
	base := func() *privateStores {
		s := newPrivateStores()
		if _, err := s.fit(t, text, privateTestOptions(10), nil); err != nil {
			t.Fatal(err)
		}
		s.released = nil
		return s
	}
	for _, c := range []struct {
		name, want string
		is         error
		stores     func() *privateStores
		options    func(o *PrivateOptions)
		run        func(r *PrivateRun)
		text       string
	}{
		{
			name: "exists", want: `the run "run" of account "data" exists already and is charged`, stores: base,
		},
		{
			name: "overspent", is: dp.ErrBudgetExceeded, stores: base,
			want: `the run needs epsilon 1 and delta 1e-05; account "data" has a budget of epsilon 1 and delta 1e-05, of ` +
				`which 1 runs have spent epsilon 1 and epsilon 0 remains`,
			run: func(r *PrivateRun) {
				r.Run, r.Journal = "second", must(dp.OpenJournal(&dp.MemoryStore{}, "second"))
			},
		},
		{
			name: "other budget", want: "was charged for other options", stores: base,
			options: func(o *PrivateOptions) { o.Epsilon = 5 }, run: func(r *PrivateRun) { r.Resume = true },
		},
		{
			// It was charged and died before its first model, so that only the ledger knows its
			// cost.
			name: "other budget without a state", want: "was charged for other options",
			stores: func() *privateStores {
				s := newPrivateStores()
				if _, err := s.fit(t, "\n", privateTestOptions(10), nil); err == nil {
					t.Error("no records, no error")
				}
				return s
			},
			options: func(o *PrivateOptions) { o.Epsilon = 5 }, run: func(r *PrivateRun) { r.Resume = true },
		},
		{
			name: "other constant", want: "was charged for other options", stores: base,
			options: func(o *PrivateOptions) { o.Radius = 3 }, run: func(r *PrivateRun) { r.Resume = true },
		},
		{
			// The steps would be made again, with other noise.
			name: "lost journal", want: "older than what was released", is: dp.ErrClosed, stores: base,
			run: func(r *PrivateRun) { r.Resume, r.Journal = true, must(dp.OpenJournal(&dp.MemoryStore{}, "run")) },
		},
		{
			name: "lost ledger", want: "the ledger has no such run", stores: func() *privateStores {
				s := base()
				s.ledger = &dp.MemoryStore{}
				return s
			},
		},
		{
			name: "insecure", is: dp.ErrInsecureRNG, stores: func() *privateStores {
				s := newPrivateStores()
				s.testing = false
				return s
			},
		},
		{name: "save", want: "number of records between models is -1", run: func(r *PrivateRun) { r.SaveEvery = -1 }},
		{name: "empty", want: "no examples", text: "\n"},
	} {
		s := newPrivateStores()
		if c.stores != nil {
			s = c.stores()
		}
		o, in := privateTestOptions(10), text
		if c.options != nil {
			c.options(&o)
		}
		if c.text != "" {
			in = c.text
		}
		_, err := s.fit(t, in, o, c.run)
		if err == nil || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: %v", c.name, err)
		}
		if len(s.released) > 0 {
			t.Errorf("%s: a model left", c.name)
		}
	}
}

// A run that is refused leaves nothing in the ledger: not its account, whose budget and accounting
// the next run then declares, and no charge.
func TestPrivateFitRefusedLeavesNothing(t *testing.T) {
	text, o := privateRows(5), privateTestOptions(10)
	o.Noise = "tree" // its slack is the largest
	s := newPrivateStores()
	if _, err := s.fit(t, text, o, nil); err != nil {
		t.Fatal(err)
	}
	charge := must(NewPrivateTrainer(o)).Charge()
	total := must(dp.GDPBudget(100, 1e-4))
	if !(charge.SlackDelta(100) > 1e-4) {
		t.Fatalf("the slack %v fits, so that the test tests nothing", charge.Slack)
	}
	account := dp.AccountConfig{Protection: dp.PerRecord(), Budget: total, Testing: true}
	ledger := &dp.MemoryStore{}
	declare := func(r *PrivateRun) { r.Ledger, r.Declare = must(dp.OpenLedger(ledger)), &account }
	for name, c := range map[string]struct {
		journal dp.Store
		want    string
	}{
		"slack": {
			&dp.MemoryStore{},
			"epsilon 0 and epsilon 100 remains, but the discreteness of the noise costs delta ",
		},
		"journal of another ledger": {s.journal, "the ledger has no such run"},
	} {
		_, err := s.fit(t, text, o, func(r *PrivateRun) {
			declare(r)
			r.Journal = must(dp.OpenJournal(c.journal, "run"))
		})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
		if _, epoch, _ := ledger.Load(); epoch != 0 {
			t.Fatalf("%s: the ledger has %d changes", name, epoch)
		}
	}
	account.Budget, o.Accounting = must(dp.ZCDPBudget(100, 1e-4)), dp.ZCDP
	out, err := newPrivateStores().fit(t, text, o, declare)
	if err != nil || out.Model.Privacy.Accounting != dp.ZCDP {
		t.Errorf("in zCDP: %v", err)
	}
	if spent := must(must(dp.OpenLedger(ledger)).Spent("data", 1e-5)); spent < 0.99 || spent > 1 {
		t.Errorf("epsilon %v is spent, want 1", spent)
	}
}

var releasedNumbers = regexp.MustCompile(`"weights":\{[^}]*\},"intercept":[^,]*|"checksum": .*`)

// Nothing in the model file depends on the data except the weights, the intercept and what is
// computed from them, and no error does: data sets of as many records with other values, labels,
// numbers of values, and features out of the space give the same file otherwise.
func TestPrivateModelTellsNothingElse(t *testing.T) {
	var first string
	for name, text := range map[string]string{
		"plain":         privateRows(6),
		"one class":     strings.ReplaceAll(privateRows(6), "-1", "1"),
		"other labels":  strings.ReplaceAll(privateRows(6), "-1", "maybe"),
		"far features":  strings.ReplaceAll(privateRows(6), "\n", " 9000:1\n"),
		"no features":   "1\n-1\n1\n-1\n1\n-1\n",
		"huge features": strings.ReplaceAll(privateRows(6), " 1:0.5", " 1:1e30"),
	} {
		s := newPrivateStores()
		if _, err := s.fit(t, text, privateTestOptions(6), nil); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		file := releasedNumbers.ReplaceAllString(string(s.released[0]), "...")
		if first == "" {
			first = file
		}
		if file != first {
			t.Errorf("%s:\n%s\nanother data set:\n%s", name, file, first)
		}
	}
}
