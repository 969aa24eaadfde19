package dp

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

func newLedger(t testing.TB, store Store, name string, c AccountConfig) *Ledger {
	t.Helper()
	l, err := OpenLedger(store)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Open(name, c); err != nil {
		t.Fatal(err)
	}
	return l
}

func records(b Budget) AccountConfig { return AccountConfig{Protection: PerRecord(), Budget: b} }

// A mechanism that is made for the whole budget of an account fits, and nothing fits after it.
func TestLedgerTakesItsBudgetOnce(t *testing.T) {
	pure, err := PureBudget(2)
	if err != nil {
		t.Fatal(err)
	}
	part, err := RhoBudget(0.02, 1e-5)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range []Budget{part, zcdp(t, 1, 1e-4), gdp(t, 1, 1e-4), gdp(t, 8, 1e-9), zcdp(t, 0.01, 1e-12), pure} {
		l := newLedger(t, new(MemoryStore), "people", records(b))
		var charge Charge
		var statement Statement
		if b.Accounting() == Pure {
			c := selectorConfig(t, 4, 100)
			c.Budget = b
			s, err := NewSelector(c)
			if err != nil {
				t.Fatal(err)
			}
			charge, statement = s.Charge(), s.Statement()
		} else {
			s := newTestStream(t, Tree, 5, 1000, 1, b)
			charge, statement = s.Charge(), s.Statement()
		}
		token, err := l.Reserve("people", Run{ID: "a", Charge: charge, Statement: statement})
		if err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		spent, err := l.Spent("people", b.Delta())
		if err != nil || spent > b.Epsilon()*(1+2e-9) || spent < b.Epsilon()*0.999 {
			t.Errorf("%s: spent %g, %v", b, spent, err)
		}
		small := charge
		small.Rho, small.MuSq, small.PureEps = charge.Rho*1e-4, charge.MuSq*1e-4, charge.PureEps*1e-4
		if _, err := l.Reserve("people", Run{ID: "b", Charge: small}); !errors.Is(err, ErrBudgetExceeded) {
			t.Errorf("%s: a second run: %v, want ErrBudgetExceeded", b, err)
		}
		if _, err := l.Remaining("people"); !errors.Is(err, ErrBudgetExceeded) {
			t.Errorf("%s: remaining: %v, want ErrBudgetExceeded", b, err)
		}
		// Closing refunds nothing for a stream.
		if err := errors.Join(l.Commit(token, 3), l.Close(token), l.Close(token)); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Reserve("people", Run{ID: "c", Charge: small}); !errors.Is(err, ErrBudgetExceeded) {
			t.Errorf("%s: after closing: %v, want ErrBudgetExceeded", b, err)
		}
		if err := l.Commit(token, 4); !errors.Is(err, ErrClosed) {
			t.Errorf("commit after closing: %v, want ErrClosed", err)
		}
	}
}

// What is remaining can be spent, in one run or in halves, and what is spent converts to an ε once.
func TestLedgerRemaining(t *testing.T) {
	for _, b := range []Budget{zcdp(t, 1, 1e-4), gdp(t, 2, 1e-6)} {
		l := newLedger(t, new(MemoryStore), "people", records(b))
		for i := range 6 {
			left, err := l.Remaining("people")
			if err != nil {
				t.Fatal(err)
			}
			if i == 0 && (left.Epsilon() > b.Epsilon()*(1+1e-8) || left.Epsilon() < b.Epsilon()*(1-1e-4)) {
				t.Errorf("%s: at first %s remains", b, left)
			}
			half := left
			half.cost /= 2
			if half.accounting == GDP {
				half.epsilon, _ = GaussianEpsilon(half.cost, half.delta)
			}
			if i == 5 {
				half = left
			}
			charge := newTestStream(t, Tree, 3, 100, 1, half).Charge()
			if _, err := l.Reserve("people", Run{ID: fmt.Sprint(i), Charge: charge}); err != nil {
				t.Fatalf("%s, run %d: %v", b, i, err)
			}
		}
		spent, err := l.Spent("people", b.Delta())
		if err != nil || spent > b.Epsilon() || spent < b.Epsilon()*0.99 {
			t.Errorf("%s: spent %g, %v", b, spent, err)
		}
	}
}

// TestOracleO5LedgerProperties makes random reservations, commits, closings and restarts in two
// orders: the account never exceeds its budget, charges never shrink, and the sum does not depend
// on the order.
func TestOracleO5LedgerProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, err := ZCDPBudget(1, 1e-5)
		if err != nil {
			t.Fatal(err)
		}
		store := new(MemoryStore)
		l, err := OpenLedger(store)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Open("people", records(b)); err != nil {
			t.Fatal(err)
		}
		before := 0.0
		tokens := map[string]RunToken{}
		for i := range rapid.IntRange(1, 12).Draw(t, "operations") {
			switch rapid.IntRange(0, 3).Draw(t, "operation") {
			case 0:
				c := Charge{
					Protection: PerRecord(), Accounting: ZCDP,
					Rho: b.Rho() * rapid.Float64Range(0.01, 0.7).Draw(t, "part"),
				}
				if rapid.Bool().Draw(t, "approximate") {
					c.ApproxEps, c.ApproxDelta = 0.05, 1e-6
				}
				id := fmt.Sprint(i)
				token, err := l.Reserve("people", Run{ID: id, Charge: c})
				if err == nil {
					tokens[id] = token
				} else if !errors.Is(err, ErrBudgetExceeded) {
					t.Fatal(err)
				}
			case 1:
				for id, token := range tokens {
					if err := l.Commit(token, int64(i)); err != nil {
						t.Fatal(err)
					}
					delete(tokens, id)
					break
				}
			case 2:
				for id, token := range tokens {
					if err := l.Close(token); err != nil {
						t.Fatal(err)
					}
					delete(tokens, id)
					break
				}
			default:
				if l, err = OpenLedger(store); err != nil {
					t.Fatal(err)
				}
			}
			spent, err := l.Spent("people", 1e-5)
			if err != nil || spent > b.Epsilon() || spent < before {
				t.Fatalf("spent %g after %g, %v", spent, before, err)
			}
			before = spent
		}
		// The same charges in the opposite order.
		_, runs, err := l.Account("people")
		if err != nil {
			t.Fatal(err)
		}
		other, err := OpenLedger(new(MemoryStore))
		if err != nil {
			t.Fatal(err)
		}
		if err := other.Open("people", records(b)); err != nil {
			t.Fatal(err)
		}
		for i := len(runs) - 1; i >= 0; i-- {
			if _, err := other.Reserve("people", runs[i]); err != nil {
				t.Fatal(err)
			}
		}
		if spent, err := other.Spent("people", 1e-5); err != nil || math.Abs(spent-before) > 1e-12 {
			t.Fatalf("in the opposite order %g, %g before (%v)", spent, before, err)
		}
	})
}

func TestLedgerRefuses(t *testing.T) {
	l := newLedger(t, new(MemoryStore), "zcdp", records(zcdp(t, 1, 1e-4)))
	insecure := newTestStream(t, Tree, 1, 10, 1, zcdp(t, 0.1, 1e-4),
		WithInsecureDeterministicNoiseForTesting(1)).Charge()
	none, err := NewZeroStream(newLattice(t, 1, 10, L2, 1), 1)
	if err != nil {
		t.Fatal(err)
	}
	good := newTestStream(t, Tree, 1, 10, 1, zcdp(t, 0.1, 1e-4)).Charge()
	user, out, negative, empty := good, good, good, Charge{Protection: PerRecord()}
	user.Protection = PerUser(3)
	out.Protection.Adjacency = ZeroOut
	negative.Rho = -1
	nan := good
	nan.Rho = math.NaN()
	for name, c := range map[string]struct {
		charge Charge
		want   error
	}{
		"a seed":           {insecure, ErrInsecureRNG},
		"no noise":         {none.Charge(), ErrInsecureRNG},
		"another unit":     {user, ErrUnitMismatch},
		"another relation": {out, ErrUnitMismatch},
		"negative":         {negative, ErrEpsilon},
		"NaN":              {nan, ErrEpsilon},
		"nothing":          {empty, ErrEpsilon},
	} {
		if _, err := l.Reserve("zcdp", Run{ID: "r", Charge: c.charge}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if _, runs, err := l.Account("zcdp"); err != nil || len(runs) != 0 {
		t.Errorf("refused runs are in the ledger: %v, %v", runs, err)
	}
	if err := l.Open("gdp", records(gdp(t, 1, 1e-4))); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Reserve("gdp", Run{ID: "r", Charge: good}); !errors.Is(err, ErrUnitMismatch) {
		t.Errorf("zCDP noise in a GDP account: %v, want ErrUnitMismatch", err)
	}
	if err := l.Open("zcdp", records(zcdp(t, 2, 1e-4))); !errors.Is(err, ErrUnitMismatch) {
		t.Errorf("raising a budget: %v, want ErrUnitMismatch", err)
	}
	if err := l.Open("zcdp", records(zcdp(t, 1, 1e-4))); err != nil {
		t.Errorf("opening again: %v", err)
	}
	if err := l.Open("bad", AccountConfig{}); !errors.Is(err, ErrUnitMismatch) || !errors.Is(err, ErrEpsilon) {
		t.Errorf("an empty account: %v", err)
	}
	tests := records(zcdp(t, 1, 1e-4))
	tests.Testing = true
	if err := l.Open("testing", tests); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Reserve("testing", Run{ID: "r", Charge: insecure}); err != nil {
		t.Errorf("a seed in an account for tests: %v", err)
	}
	if _, runs, _ := l.Account("testing"); len(runs) != 1 || !runs[0].Charge.Insecure {
		t.Error("the row of an insecure run does not say so")
	}
	if _, err := l.Reserve("nobody", Run{ID: "r", Charge: good}); err == nil {
		t.Error("an unknown account is charged")
	}
}

// Two writers of one run: the one that is taken over stops. Two processes with runs of their own
// both go on.
func TestLedgerWriters(t *testing.T) {
	store := new(MemoryStore)
	a := newLedger(t, store, "people", records(zcdp(t, 1, 1e-4)))
	b, err := OpenLedger(store)
	if err != nil {
		t.Fatal(err)
	}
	c := newTestStream(t, Tree, 1, 10, 1, zcdp(t, 0.1, 1e-4)).Charge()
	first, err := a.Reserve("people", Run{ID: "r", Charge: c})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Reserve("people", Run{ID: "r", Charge: c}); !errors.Is(err, ErrEpoch) {
		t.Errorf("the same run twice: %v, want ErrEpoch", err)
	}
	own, err := b.Reserve("people", Run{ID: "s", Charge: c})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(a.Commit(first, 5), b.Commit(own, 7), a.Commit(first, 5)); err != nil {
		t.Fatal(err)
	}
	if err := a.Commit(first, 4); !errors.Is(err, ErrHorizon) {
		t.Errorf("going back: %v, want ErrHorizon", err)
	}
	second, err := b.Resume("people", "r", 5)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Commit(first, 6); !errors.Is(err, ErrEpoch) {
		t.Errorf("the loser commits: %v, want ErrEpoch", err)
	}
	if err := b.Commit(second, 6); err != nil {
		t.Fatal(err)
	}
	// A state from before step 6 is an old backup: the run is over, for everyone.
	if _, err := a.Resume("people", "r", 5); !errors.Is(err, ErrClosed) {
		t.Errorf("an old backup: %v, want ErrClosed", err)
	}
	if err := b.Commit(second, 7); !errors.Is(err, ErrEpoch) {
		t.Errorf("a commit after that: %v, want ErrEpoch", err)
	}
	if _, err := b.Resume("people", "r", 9); !errors.Is(err, ErrClosed) {
		t.Errorf("resuming a closed run: %v, want ErrClosed", err)
	}
	_, runs, err := a.Account("people")
	if err != nil || len(runs) != 2 || runs[0].State != Closed || runs[1].State != Active || runs[1].Steps != 7 {
		t.Errorf("rows %+v, %v", runs, err)
	}
}

func TestLedgerRefund(t *testing.T) {
	c := selectorConfig(t, 4, 1000)
	l := newLedger(t, new(MemoryStore), "people", records(c.Budget))
	s, err := NewSelector(c)
	if err != nil {
		t.Fatal(err)
	}
	token, err := l.Reserve("people", Run{ID: "a", Charge: s.Charge(), Statement: s.Statement()})
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if _, err := s.Choose(make([]int64, 4)); err != nil {
			t.Fatal(err)
		}
	}
	more := s.Charge()
	more.Rho *= 2
	if err := l.CloseEarly(token, more); !errors.Is(err, ErrUnitMismatch) {
		t.Errorf("a negative refund: %v, want ErrUnitMismatch", err)
	}
	spent := s.Charge()
	spent.Rho = s.Spent()
	if err := l.CloseEarly(token, spent); err != nil {
		t.Fatal(err)
	}
	left, err := l.Remaining("people")
	if err != nil {
		t.Fatal(err)
	}
	near(t, "left", left.Rho()/c.Budget.Rho(), 1-harmonicNumber(10)/harmonicNumber(1000), 1e-5)
	stream := newTestStream(t, Tree, 1, 10, 1, left)
	if token, err = l.Reserve("people", Run{ID: "b", Charge: stream.Charge()}); err != nil {
		t.Fatal(err)
	}
	if err := l.CloseEarly(token, spent); !errors.Is(err, ErrUnitMismatch) {
		t.Errorf("a refund of a stream: %v, want ErrUnitMismatch", err)
	}
}

// Many goroutines on one file store: every reservation is counted exactly once.
func TestFileStoreConcurrency(t *testing.T) {
	dir := t.TempDir()
	budget := zcdp(t, 1, 1e-4)
	store, err := OpenFileStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	newLedger(t, store, "people", records(budget))
	const writers, each = 4, 8
	var wait sync.WaitGroup
	errs := make([]error, writers)
	for w := range writers {
		wait.Add(1)
		go func() {
			defer wait.Done()
			store, err := OpenFileStore(dir)
			if err != nil {
				errs[w] = err
				return
			}
			l, err := OpenLedger(store)
			for i := 0; err == nil && i < each; i++ {
				c := Charge{Protection: PerRecord(), Accounting: ZCDP, Rho: budget.Rho() / (writers * each) * 0.999}
				_, err = l.Reserve("people", Run{ID: fmt.Sprintf("%d/%d", w, i), Charge: c})
			}
			errs[w] = err
		}()
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	l, err := OpenLedger(store)
	if err != nil {
		t.Fatal(err)
	}
	_, runs, err := l.Account("people")
	if err != nil || len(runs) != writers*each {
		t.Fatalf("%d runs, want %d (%v)", len(runs), writers*each, err)
	}
	if _, err := l.Reserve("people", Run{ID: "more", Charge: Charge{
		Protection: PerRecord(), Accounting: ZCDP, Rho: budget.Rho() / 100,
	}}); !errors.Is(err, ErrBudgetExceeded) {
		t.Errorf("after the budget: %v, want ErrBudgetExceeded", err)
	}
	document, epoch, err := store.Load()
	if err != nil || epoch != writers*each+1 {
		t.Errorf("epoch %d, %v", epoch, err)
	}
	if err := store.CompareAndSwap(epoch-1, document); !errors.Is(err, ErrEpoch) {
		t.Errorf("a late writer: %v, want ErrEpoch", err)
	}
	if err := store.CompareAndSwap(3, document); !errors.Is(err, ErrEpoch) {
		t.Errorf("a writer whose epoch was removed: %v, want ErrEpoch", err)
	}
}

func TestLedgerDetectsDamage(t *testing.T) {
	store := new(MemoryStore)
	newLedger(t, store, "people", records(zcdp(t, 1, 1e-4)))
	for i := range store.document {
		damaged := append([]byte(nil), store.document...)
		damaged[i] ^= 1
		if _, err := OpenLedger(&MemoryStore{document: damaged, epoch: 1}); err == nil {
			t.Fatalf("byte %d can be changed", i)
		}
	}
}

// FuzzLedger feeds documents to the reader: whatever it accepts, with the right checksum, it writes
// again and reads as the same, and no account has more than its budget remaining.
func FuzzLedger(f *testing.F) {
	store := new(MemoryStore)
	b, err := ZCDPBudget(1, 1e-4)
	if err != nil {
		f.Fatal(err)
	}
	l := newLedger(f, store, "people", records(b))
	if _, err := l.Reserve("people", Run{ID: "r", Charge: Charge{
		Protection: PerRecord(), Accounting: ZCDP, Rho: b.Rho() / 2,
	}}); err != nil {
		f.Fatal(err)
	}
	text, _, _ := strings.Cut(string(store.document), "\n")
	f.Add(text)
	f.Add(`{"version":1,"accounts":[]}`)
	f.Add(`{"version":2,"accounts":[]}`)
	f.Add(strings.Replace(text, `"rho":0.0`, `"rho":-0.0`, 1))
	f.Fuzz(func(t *testing.T, text string) {
		digest := sha256.Sum256([]byte(text))
		raw := []byte(text + "\n" + hex.EncodeToString(digest[:]) + "\n")
		if strings.Contains(text, "\n") {
			return
		}
		document, err := decodeLedger(raw)
		if err != nil {
			return
		}
		again, err := document.encode()
		if err != nil {
			t.Fatalf("cannot write %q: %v", text, err)
		}
		l, err := OpenLedger(&MemoryStore{document: again, epoch: 1})
		if err != nil {
			t.Fatalf("cannot read %q: %v", again, err)
		}
		for _, a := range document.Accounts {
			if left, err := l.Remaining(a.Name); err == nil && left.Epsilon() > a.Epsilon*(1+1e-6) {
				t.Fatalf("%s remains of %g in %q", left, a.Epsilon, text)
			}
		}
	})
}

func BenchmarkCommit(b *testing.B) {
	file, err := OpenFileStore(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	for name, store := range map[string]Store{"memory": new(MemoryStore), "file": file} {
		b.Run(name, func(b *testing.B) {
			l := newLedger(b, store, b.Name(), records(zcdp(b, 1, 1e-4)))
			s := newTestStream(b, Tree, 20, 1<<30, 1, zcdp(b, 1e-3, 1e-4))
			token, err := l.Reserve(b.Name(), Run{ID: fmt.Sprint(b.N), Charge: s.Charge(), Statement: s.Statement()})
			if err != nil {
				b.Fatal(err)
			}
			for t := int64(1); b.Loop(); t++ {
				if err := l.Commit(token, t); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// An account and its first run are in the ledger together or not at all, and an account that is to
// be the only one is refused beside another.
func TestLedgerOpenReserve(t *testing.T) {
	store := new(MemoryStore)
	l, err := OpenLedger(store)
	if err != nil {
		t.Fatal(err)
	}
	run := Run{ID: "a", Charge: Charge{Protection: PerRecord(), Accounting: GDP, MuSq: 0.01, Rho: 0.005, Slack: 1e-18}}
	// The discreteness of the noise adds (1 + e^100)·1e-18 to δ.
	if _, err := l.OpenReserve("people", records(gdp(t, 100, 1e-4)), run); !errors.Is(err, ErrBudgetExceeded) {
		t.Errorf("a slack above δ: %v, want ErrBudgetExceeded", err)
	}
	if names, err := l.Accounts(); err != nil || len(names) != 0 || store.epoch != 0 {
		t.Fatalf("after a refusal: accounts %v, epoch %d, %v", names, store.epoch, err)
	}
	sole := records(zcdp(t, 1, 1e-4))
	sole.Sole = true
	token, err := l.OpenReserve("people", sole, run)
	if err != nil || store.epoch != 1 {
		t.Fatalf("epoch %d, %v: want account and run in one change", store.epoch, err)
	}
	if err := l.Commit(token, 1); err != nil {
		t.Error(err)
	}
	run.ID = "b"
	if _, err := l.OpenReserve("people", sole, run); err != nil {
		t.Errorf("a second run: %v", err)
	}
	if _, err := l.OpenReserve("people", sole, run); !errors.Is(err, ErrEpoch) {
		t.Errorf("the second run again: %v, want ErrEpoch", err)
	}
	other, err := OpenLedger(store) // another writer, which has not seen the account
	if err != nil {
		t.Fatal(err)
	}
	for name, open := range map[string]func() error{
		"Open":        func() error { return other.Open("others", sole) },
		"OpenReserve": func() error { _, err := other.OpenReserve("others", sole, run); return err },
	} {
		if err := open(); !errors.Is(err, ErrSole) {
			t.Errorf("%s of a second account: %v, want ErrSole", name, err)
		}
	}
	if _, err := l.OpenReserve("others", AccountConfig{}, run); !errors.Is(err, ErrUnitMismatch) {
		t.Errorf("an empty account: %v", err)
	}
	if err := l.Open("others", records(zcdp(t, 1, 1e-4))); err != nil {
		t.Errorf("a second account that need not be the only one: %v", err)
	}
}

// What the noise of a charge adds to δ grows with the ε of the account, and is 0 without any slack,
// at any ε.
func TestSlackDelta(t *testing.T) {
	for _, c := range []struct{ slack, epsilon, want float64 }{
		{1e-18, 1, 1e-18 * (1 + math.E)}, {1e-18, 100, 1e-18 * math.Exp(100)}, {0, 1e9, 0}, {1e-18, 1e9, math.Inf(1)},
	} {
		got := (Charge{Slack: c.slack}).SlackDelta(c.epsilon)
		if got != c.want && !(math.Abs(got/c.want-1) < 1e-9) {
			t.Errorf("slack %v, ε = %v: %v, want %v", c.slack, c.epsilon, got, c.want)
		}
	}
}
