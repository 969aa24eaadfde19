package experiment

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/internal/pages"
	"github.com/noregret/noregret/policy"
)

// scratch returns a function that opens a file for a pool.
func scratch(t testing.TB) func() (pages.File, error) {
	return func() (pages.File, error) {
		f, err := os.Create(filepath.Join(t.TempDir(), "pages"))
		if err == nil {
			t.Cleanup(func() { _ = f.Close() })
		}
		return f, err
	}
}

// crowd makes the events of an experiment with many units, some of which report before they are
// exposed, twice, or never, in three versions.
type crowd struct {
	t     testing.TB
	state *State
	now   time.Time
	each  func(position uint64, e Event)
}

func (c *crowd) event(kind string, payload any) {
	c.t.Helper()
	e, err := NewEvent(kind, c.now.UnixNano(), payload)
	if err != nil {
		c.t.Fatal(err)
	}
	at := c.state.Position() + 1
	logged, o, err := c.state.Step(e)
	if err != nil || o.Err != nil {
		c.t.Fatal(err, o.Err)
	}
	for i, e := range logged {
		if c.each != nil {
			c.each(at+uint64(i), e)
		}
	}
}

func (c *crowd) define(text string) {
	c.event(KindDefinition, DefinitionEvent{Experiment: "x", Definition: json.RawMessage(text)})
}

func (c *crowd) due() {
	for _, e := range c.state.Due(c.now.UnixNano()) {
		c.event(e.Kind, json.RawMessage(e.Payload))
	}
}

func (c *crowd) units(kind string, from, to int, value func(i int) map[string]float64) {
	p := c.state.Policy("x")
	for ; from < to; from += 500 {
		e := join.Units{Experiment: "x"}
		for i := from; i < min(from+500, to); i++ {
			d := p.Decide(fmt.Sprint("unit", i))
			token := policy.Token{
				Experiment: "x", Version: d.Version, Arm: d.Arm, Propensity: d.Propensity, Unit: d.Unit, Time: c.now,
			}
			u := join.UnitOf(token, nil)
			if value != nil {
				u.Metrics = value(i)
			}
			e.Items = append(e.Items, u)
		}
		c.event(kind, e)
	}
}

const crowdDefinition = `{"name": "x", "arms": [{"name": "a", "value": 1}, {"name": "b", "value": 2}],
	"metrics": [{"name": "m"}, {"name": "d", "default": 0, "range": [0, 1]}, {"name": "e", "default": 1},
		{"name": "r", "kind": "ratio", "numerator": "d", "denominator": "e"}],
	"objective": {"goals": [{"metric": "m"}]}, "attribution_window": "30m", "round": {"length": "10m"}, "drift": {%s}}`

func (c *crowd) play(n int) {
	c.define(fmt.Sprintf(crowdDefinition, ""))
	for round := range 3 {
		from := round * n / 2 // half of the units return
		c.units(KindFeedback, from, from+n/3, func(i int) map[string]float64 {
			return map[string]float64{"m": float64(i%17) / 3}
		})
		c.units(KindExposures, from, from+n, nil)
		c.units(KindFeedback, from+n/4, from+n*3/4, func(i int) map[string]float64 {
			return map[string]float64{"m": float64(i%19) / 7, "d": float64(i % 2)}
		})
		if round == 1 {
			c.define(fmt.Sprintf(crowdDefinition, `"memory": 10`))
		}
		c.now = c.now.Add(10 * time.Minute)
		c.due()
	}
	c.units(KindFeedback, n, n+n/4, func(i int) map[string]float64 { return map[string]float64{"e": float64(i % 5)} })
	for range 8 {
		c.now = c.now.Add(10 * time.Minute)
		c.due()
	}
}

// TestRowsBeyondMemory: a state whose units need ten times its memory is, bit for bit, the one with
// all memory: after each event, and where it continues from a snapshot. No unit is refused, and the
// pages keep to their memory.
func TestRowsBeyondMemory(t *testing.T) {
	const memory = 8 * pages.Size
	pool := pages.NewPool(memory, 1<<30, scratch(t))
	small := NewStateIn(pool)
	want := &crowd{t: t, state: NewState(), now: time.Unix(1e9, 0)}
	most, file := int64(0), int64(0)
	want.each = func(position uint64, e Event) {
		if _, err := small.Apply(position, e); err != nil {
			t.Fatal(err)
		}
		most, file = max(most, pool.Stats().Memory), max(file, pool.Stats().File)
		if position%16 != 0 && small.Position() != 2 {
			return
		}
		whole, err := want.state.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		got, err := small.MarshalBinary()
		if err != nil || !bytes.Equal(got, whole) {
			t.Fatalf("position %d: the states differ: %v", position, err)
		}
		if position%48 == 0 { // go on from a snapshot, and leave one behind
			if _, err := small.Freeze(); err != nil {
				t.Fatal(err)
			}
			next, from := NewStateIn(pool), whole
			if position%96 == 0 {
				from = savedOf(t, small)
			}
			if err := next.UnmarshalBinary(from); err != nil {
				t.Fatal(err)
			}
			small = next
		}
	}
	const n = 3000
	want.play(n)
	v, err := small.Vitals("x")
	if err != nil || v.Exposures.Accepted != 3*n || v.Exposures.Rejected+v.Feedback.Rejected != 0 || v.Open != 0 {
		t.Errorf("%+v, %v", v, err)
	}
	if s := pool.Stats(); most > memory+2*pages.Size || file < 5*memory || pool.Err() != nil {
		t.Errorf("%d bytes of memory of %d, then %+v: %v", most, memory, s, pool.Err())
	}
	runtime.KeepAlive(small)
}

// TestRowsLost: where the file of a state cannot be read, it says so, and refuses everything after
// that.
func TestRowsLost(t *testing.T) {
	var file *os.File
	pool := pages.NewPool(4*pages.Size, 1<<30, func() (pages.File, error) {
		f, err := os.Create(filepath.Join(t.TempDir(), "pages"))
		file = f
		return f, err
	})
	c := &crowd{t: t, state: NewStateIn(pool), now: time.Unix(1e9, 0)}
	c.define(fmt.Sprintf(crowdDefinition, ""))
	c.units(KindExposures, 0, 3000, nil)
	frozen, err := c.state.Freeze()
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	var lost *pages.ReadError
	if _, err := frozen.Save(io.Discard); !errors.As(err, &lost) {
		t.Errorf("a saved state of rows that are lost: %v", err)
	}
	if _, err := frozen.WriteTo(io.Discard); !errors.As(err, &lost) {
		t.Errorf("a snapshot gave %v", err)
	}
	e, err := NewEvent(KindDelete, c.now.UnixNano(), NameEvent{Experiment: "x"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := c.fold(); !errors.As(err, &lost) {
			t.Errorf("feedback gave %v", err)
		}
	}
	if _, err := c.state.Apply(c.state.Position()+1, e); !errors.As(err, &lost) {
		t.Errorf("a state that lost units applies an event: %v", err)
	}
}

// fold applies exposures of units that are in the file.
func (c *crowd) fold() error {
	var items []join.Unit
	p := c.state.Policy("x")
	for i := range 3000 {
		d := p.Decide(fmt.Sprint("unit", i))
		items = append(items, join.UnitOf(policy.Token{
			Experiment: "x", Version: d.Version, Arm: d.Arm, Propensity: d.Propensity, Unit: d.Unit, Time: c.now,
		}, nil))
	}
	e, err := NewEvent(KindExposures, c.now.UnixNano(), join.Units{Experiment: "x", Items: items})
	if err != nil {
		return err
	}
	_, err = c.state.Apply(c.state.Position()+1, e)
	return err
}

// TestSnapshotColumns: damaged columns of a snapshot are refused, and texts that look like columns
// are texts.
func TestSnapshotColumns(t *testing.T) {
	c := &crowd{t: t, state: NewState(), now: time.Unix(1e9, 0)}
	c.define(`{"name": "x", "description": "\"unit\":\"@unit\"", "arms": [
		{"name": "a", "value": {"cohorts": [{"unit": "@unit", "slot": "experiments"}], "mask": "@mask\\"}},
		{"name": "b", "value": 2}],
		"metrics": [{"name": "m"}], "objective": {"goals": [{"metric": "m"}]}}`)
	c.units(KindExposures, 0, 10, nil)
	whole, err := c.state.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	s := NewState()
	if err := s.UnmarshalBinary(whole); err != nil {
		t.Fatal(err)
	}
	if again, err := s.MarshalBinary(); err != nil || !bytes.Equal(again, whole) {
		t.Errorf("%v: %s\nbecame %s", err, whole, again)
	}
	at := bytes.Index(whole, []byte(`"},"unit":"`))
	if at < 0 {
		at = bytes.LastIndex(whole, []byte(`"unit":"`)) - 3
	}
	at += bytes.Index(whole[at:], []byte(`"unit":"`)) + len(`"unit":"`)
	for name, with := range map[string]string{
		"no base64": "!" + string(whole[at+1:]), "another number of rows": string(whole[at+32:]),
		"twice":           `","unit":"` + string(whole[at:]),
		"twice, and rows": string(whole[at:at+108]) + `","unit":"` + string(whole[at:]),
		"no whole number": string(whole[at+4:]), "no end": "", "no rest": string(whole[at : len(whole)-2]),
	} {
		if err := NewState().UnmarshalBinary(append(bytes.Clone(whole[:at]), with...)); err == nil {
			t.Errorf("%s: a damaged snapshot was restored", name)
		}
	}
	// Rows that no page can hold: the values of a unit are as many as those of all metrics.
	values := regexp.MustCompile(`"values":"[^"]*"`)
	column := values.Find(whole)
	if column == nil {
		t.Fatalf("no values: %s", whole)
	}
	wide := `"values":"` + base64.StdEncoding.EncodeToString(make([]byte, 10*8*1100)) + `"`
	if err := NewState().UnmarshalBinary(values.ReplaceAll(whole, []byte(wide))); err == nil {
		t.Error("rows of 1,100 values were restored for one metric")
	}
}

// savedOf returns the state as snapshots have it.
func savedOf(t testing.TB, s *State) []byte {
	t.Helper()
	f, err := s.Freeze()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	n, err := f.Save(&b)
	if err != nil || n != int64(b.Len()) {
		t.Fatalf("%d bytes of %d: %v", n, b.Len(), err)
	}
	return b.Bytes()
}

// TestSave: a saved state is restored as the same, with rows of several versions, and refused
// without its end or with parts that do not fit.
func TestSave(t *testing.T) {
	c := &crowd{t: t, state: NewState(), now: time.Unix(1e9, 0)}
	c.define(fmt.Sprintf(crowdDefinition, ""))
	for version := range 3 {
		c.units(KindExposures, 700*version, 700*version+600, nil)
		c.now = c.now.Add(10 * time.Minute)
		c.due()
	}
	want, err := c.state.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	saved, s := savedOf(t, c.state), NewState()
	if err := s.UnmarshalBinary(saved); err != nil {
		t.Fatal(err)
	}
	if got, err := s.MarshalBinary(); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%v: another state", err)
	}
	versions := s.live["x"].joiner.Versions
	if len(versions) < 2 || versions[0].Len() == 0 || versions[1].Len() == 0 {
		t.Fatalf("%d versions: want two with units", len(versions))
	}
	for at := 0; at < len(saved); at += 1 + at/100 {
		if err := NewState().UnmarshalBinary(saved[:at]); noregret.CodeOf(err) != noregret.BadInput {
			t.Fatalf("%d bytes of %d: %v", at, len(saved), err)
		}
	}
	const experiments = len(savedMagic)
	for name, x := range map[string]struct {
		at   int
		want string
		with []byte
	}{
		"magic":       {0, "magic", []byte{'N'}},
		"experiments": {experiments, "", []byte{200}},
		"none":        {experiments, "", []byte{0}},
		"versions":    {experiments + 4, "", []byte{1}},
		"rows":        {experiments + 8, "rows: want at most", bytes.Repeat([]byte{255}, 8)},
		"many rows":   {experiments + 8, "a part is missing", []byte{255, 255, 255, 7}},
		"metrics":     {experiments + 16, "metrics: want at most", []byte{255, 255}},
		"no metrics":  {experiments + 16, "rows without metrics", []byte{0}},
		"arm":         {experiments + 20 + 8, "has no arm", []byte{77}},
	} {
		bad := bytes.Clone(saved)
		copy(bad[x.at:], x.with)
		before := s.Position()
		if err := s.UnmarshalBinary(bad); noregret.CodeOf(err) != noregret.BadInput ||
			name != "magic" && !strings.Contains(err.Error(), x.want) || s.Position() != before {
			t.Errorf("%s: %v, want %q", name, err, x.want)
		}
	}
}

// TestSaveOfNothing: JSON that has nothing where a version should be is refused, and memory of what
// is refused is given back.
func TestSaveOfNothing(t *testing.T) {
	c := &crowd{t: t, state: NewState(), now: time.Unix(1e9, 0)}
	c.define(fmt.Sprintf(crowdDefinition, ""))
	c.units(KindExposures, 0, 3000, nil)
	saved := savedOf(t, c.state)
	begin := bytes.Index(saved, []byte(`{"format"`))
	for _, of := range []string{"", "cohorts", "versions"} {
		var state map[string]any
		if err := json.Unmarshal(saved[begin:], &state); err != nil {
			t.Fatal(err)
		}
		x := state["experiments"].([]any)[0].(map[string]any)
		if of == "versions" {
			x = x["state"].(map[string]any)
		}
		if of != "" {
			list := x[of].([]any)
			list[len(list)-1] = nil
		}
		text, err := json.Marshal(state)
		if err != nil {
			t.Fatal(err)
		}
		if of == "" {
			text = append(text, 'x')
		}
		pool := pages.NewPool(1<<20, 0, nil)
		s := NewStateIn(pool)
		err = s.UnmarshalBinary(append(bytes.Clone(saved[:begin]), text...))
		if noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("%q: %v", of, err)
		}
		if used := pool.Stats().Memory; used > 0 {
			t.Errorf("%q: %d bytes of memory are used by a state that was refused", of, used)
		}
		runtime.KeepAlive(s)
	}
}

// FuzzRestore: a state that is restored can be saved in both forms, and is then restored as the
// same. Nothing else panics.
func FuzzRestore(f *testing.F) {
	for _, d := range []string{
		`{"name": "x", "arms": [{"name": "a", "value": 1}, {"name": "b", "value": 2}],
			"metrics": [{"name": "m"}], "objective": {"goals": [{"metric": "m"}]}}`,
		`{"name": "x", "arms": [{"name": "a", "value": 1}, {"name": "b", "value": 2}],
			"control": {"arm": "a", "share": 0.1}, "metrics": [{"name": "m", "range": [0, 1], "default": 0}],
			"objective": {"goals": [{"metric": "m"}]},
			"guardrails": [{"metric": "m", "min": 0.1}]}`,
	} {
		c := &crowd{t: f, state: NewState(), now: time.Unix(1e9, 0)}
		c.define(d)
		c.units(KindExposures, 0, 5, nil)
		saved, err := c.state.MarshalBinary()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(saved)
		f.Add(savedOf(f, c.state))
		f.Add(bytes.Replace(saved, []byte(`,"value":1}`), []byte(`}`), 1)) // an arm without a value
	}
	f.Fuzz(func(t *testing.T, saved []byte) {
		s := NewState()
		if s.UnmarshalBinary(saved) != nil {
			return
		}
		first, err := s.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		for _, form := range [][]byte{first, savedOf(t, s)} {
			next := NewState()
			if err := next.UnmarshalBinary(form); err != nil {
				t.Fatal(err)
			}
			if again, err := next.MarshalBinary(); err != nil || !bytes.Equal(first, again) {
				t.Errorf("%s\nbecame %s: %v", first, again, err)
			}
		}
	})
}

// BenchmarkRestore restores a snapshot with a million units that wait, and reports their memory.
func BenchmarkRestore(b *testing.B) {
	const n = 1_000_000
	c := &crowd{t: b, state: NewState(), now: time.Unix(1e9, 0)}
	c.define(`{"name": "x", "arms": [{"name": "a", "value": 1}, {"name": "b", "value": 2}],
		"metrics": [{"name": "m"}, {"name": "n"}, {"name": "o"}], "objective": {"goals": [{"metric": "m"}]}}`)
	c.units(KindExposures, 0, n, nil)
	saved := savedOf(b, c.state)
	c.state = nil
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, s := heap(), NewState()
	for b.Loop() {
		s = NewState()
		if err := s.UnmarshalBinary(saved); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(heap()-before)/n, "bytes/unit")
	runtime.KeepAlive(s)
	runtime.KeepAlive(saved)
}
