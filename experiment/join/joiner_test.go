package join

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/policy"
)

// world drives a Joiner by the commands of the files in testdata.
type world struct {
	*Joiner
	d   *definition.Definition
	p   *policy.Policy
	now time.Duration
}

func newWorld(t testing.TB, text string) *world {
	t.Helper()
	d, err := definition.Parse("x.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{Joiner: New(nil, d), d: d, p: &policy.Policy{Control: -1, Round: 1}}
	arms, err := d.Expand()
	if err != nil {
		t.Fatal(err)
	}
	for k, a := range arms {
		w.AddArm(d)
		w.p.Arms = append(w.p.Arms, a)
		if d.Control != nil && d.Control.Arm == a.Name {
			w.p.Control = k
		}
	}
	return w
}

func (w *world) begin(mixture []float64) {
	w.Seal(int64(w.now))
	w.p.Version++
	w.Begin(w.d, Start{
		Version: w.p.Version, Round: 1, Stream: 1, Mixture: mixture, Control: w.p.Control, Learnable: true,
	}, int64(w.now))
}

func (w *world) input() *Input { return &Input{Definition: w.d, Policy: w.p, Now: int64(w.now)} }

// unit returns an item: the unit is the hexadecimal digit, the arm is that of a name.
func (w *world) unit(t testing.TB, text string) Unit {
	t.Helper()
	f := strings.Fields(text)
	e := Unit{Version: w.p.Version, Unit: fmt.Sprintf("%016s", f[0]), Time: w.now.Milliseconds()}
	for _, s := range f[1:] {
		key, value, _ := strings.Cut(s, "=")
		v, err := strconv.ParseFloat(value, 64)
		switch key {
		case "v":
			e.Version = uint64(v)
		case "arm":
			e.Arm, err = slices.IndexFunc(w.p.Arms, func(a policy.Arm) bool { return a.Name == value }), nil
		case "t":
			e.Time = int64(v * 1000)
		case "among":
			e.Kept = &Kept{}
			err = json.Unmarshal([]byte(value), &e.Kept.Among)
		default:
			if e.Metrics == nil {
				e.Metrics = map[string]float64{}
			}
			e.Metrics[key] = v
		}
		if err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	return e
}

// show writes sums by arm.
func (w *world) show(b *strings.Builder, arms []compare.Stats) {
	for k := range arms {
		fmt.Fprintf(b, "%s: %d units", w.p.Arms[k].Name, arms[k].Units)
		for m := range w.d.Metrics {
			if n, mean := arms[k].Mean(w.d, m); n > 0 {
				fmt.Fprintf(b, ", %s %.4g of %d", w.d.Metrics[m].Name, mean, n)
			}
		}
		b.WriteString("\n")
	}
}

func results(r Result, err error) string {
	if err != nil {
		return err.Error() + "\n"
	}
	var b strings.Builder
	for _, i := range r.Items {
		b.WriteString(strings.TrimSpace(fmt.Sprint(i.Status, " ", i.Error)) + "\n")
	}
	return b.String()
}

// TestScenarios plays the files in testdata. After each command the Joiner is replaced by one that
// was written and read, or by a fork: both must go on as it would.
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var w *world
		steps := 0
		datadriven.RunTest(t, path, func(t *testing.T, c *datadriven.TestData) string {
			var b strings.Builder
			if steps++; w != nil {
				w.Joiner = w.again(t, steps%2 == 0)
			}
			units := &Units{Experiment: "x"}
			items := func() *Units {
				for line := range strings.Lines(c.Input) {
					units.Items = append(units.Items, w.unit(t, line))
				}
				return units
			}
			switch c.Cmd {
			case "define":
				w = newWorld(t, c.Input)
			case "begin":
				var mixture []float64
				if err := json.Unmarshal([]byte(c.Input), &mixture); err != nil {
					t.Fatal(err)
				}
				w.begin(mixture)
			case "wait":
				d, err := time.ParseDuration(c.Input)
				if err != nil {
					t.Fatal(err)
				}
				w.now += d
			case "expose":
				b.WriteString(results(w.Expose(w.input(), items())))
				w.EndEvent(w.d)
			case "report":
				b.WriteString(results(w.Report(w.input(), items())))
			case "aggregate":
				var p api.Aggregate
				if err := json.Unmarshal([]byte(c.Input), &p); err != nil {
					t.Fatal(err)
				}
				b.WriteString(results(w.Aggregate(w.input(), &p)))
			case "close":
				for c := w.Close(w.d, int64(w.now)); c != nil; c = w.Close(w.d, int64(w.now)) {
					fmt.Fprintf(&b, "version %d: %d units, %v without a value, %d orphans", c.Version.Version,
						c.Units, c.Missing, c.Orphans)
					if len(c.Metrics) < len(w.d.Metrics) {
						fmt.Fprintf(&b, ", metrics %v, last %t", c.Metrics, c.Last)
					}
					b.WriteString("\n")
					if w.show(&b, c.Arms()); c.Last {
						c.Release()
					}
				}
			case "show":
				fmt.Fprintf(&b, "%d wait in %d versions\n", w.Open(), len(w.Versions))
				w.show(&b, w.Arms)
				for k := range w.Joiner.Early {
					for m, e := range w.Joiner.Early[k] {
						if e.N > 0 {
							name := w.d.Metrics[m].Name
							fmt.Fprintf(&b, "early %s: %s %.4g of %d\n", w.p.Arms[k].Name, name, e.Sum, e.N)
						}
					}
				}
			default:
				t.Fatalf("unknown command %s", c.Cmd)
			}
			if b.Len() == 0 {
				return "ok\n"
			}
			return b.String()
		})
	})
}

// again returns the Joiner as a fork, or as it is after it was written to JSON and read.
func (w *world) again(t *testing.T, fork bool) *Joiner {
	t.Helper()
	if fork {
		y := w.Fork()
		w.Release()
		return y
	}
	head, err := json.Marshal(w.Copy())
	if err != nil {
		t.Fatal(err)
	}
	y := &Joiner{}
	if err := json.Unmarshal(head, y); err != nil {
		t.Fatal(err)
	}
	var versions []*Version
	var rows []*Columns
	a := NewAssembler(nil)
	for _, v := range w.Copy().Versions {
		var text bytes.Buffer
		if err := v.WriteJSON(&text); err != nil {
			t.Fatal(err)
		}
		if !json.Valid(text.Bytes()) {
			t.Fatalf("not JSON: %s", text.Bytes())
		}
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		r := &Version{}
		if err := json.Unmarshal(b, r); err != nil {
			t.Fatal(err)
		}
		c := &Columns{}
		if v.Len() > 0 {
			var records []byte
			for chunk := range v.Records() {
				records = append(records, chunk...)
			}
			err := c.Fill(a, v.Len(), v.Width(), func(b []byte) error {
				records = records[copy(b, records):]
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		versions, rows = append(versions, r), append(rows, c)
	}
	a.Wait()
	if err := y.Restore(nil, w.d, versions, rows); err != nil {
		t.Fatal(err)
	}
	before, err := json.Marshal(w.Versions)
	if err != nil {
		t.Fatal(err)
	}
	if after, err := json.Marshal(y.Versions); err != nil || !bytes.Equal(before, after) {
		t.Errorf("%s became %s: %v", before, after, err)
	}
	return y
}

const twoArms = `
name: x
arms: [{name: a, value: 1}, {name: b, value: 2}]
metrics: [{name: m, range: [0, 1]}, {name: d, kind: count, default: 0, range: [0, 3]},
  {name: n, default: 1, range: [0, 2]}, {name: r, kind: ratio, numerator: d, denominator: n}]
policy: {kind: fixed, split: {a: 0.5, b: 0.5}}
attribution_window: 1h
`

// TestOrder checks that the sums of a closed version do not depend on the order in which exposures
// and values arrive, nor on how they are divided into events, and that they are those that counting
// by hand gives.
func TestOrder(t *testing.T) {
	for seed := range uint64(20) {
		rng := random.New(seed, "order")
		type item struct {
			expose bool
			e      Unit
		}
		var all []item
		sums, units := map[int]float64{}, map[int]int64{}
		for i := range 60 {
			arm := rng.IntN(2)
			e := Unit{Version: 1, Arm: arm, Unit: fmt.Sprintf("%016x", i+1)}
			exposed := rng.IntN(5) > 0
			if exposed {
				all = append(all, item{true, e})
				units[arm]++
			}
			if rng.IntN(2) == 0 {
				v := float64(rng.IntN(4))
				e.Metrics = map[string]float64{"d": v}
				all = append(all, item{false, e})
				if exposed {
					sums[arm] += v
				}
			}
		}
		rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		w := newWorld(t, twoArms)
		w.begin([]float64{.5, .5})
		for len(all) > 0 {
			n := 1 + rng.IntN(min(len(all), 7))
			for _, expose := range []bool{true, false} {
				p := &Units{}
				for _, i := range all[:n] {
					if i.expose == expose {
						p.Items = append(p.Items, i.e)
					}
				}
				apply := w.Report
				if expose {
					apply = w.Expose
				}
				if _, err := apply(w.input(), p); err != nil {
					t.Fatal(err)
				}
			}
			all = all[n:]
		}
		w.now = time.Minute
		w.begin([]float64{.5, .5})
		w.now = 3 * time.Hour
		c := w.Close(w.d, int64(w.now))
		for k := range 2 {
			s := &c.Stats[k].Metrics[1]
			if s.N != units[k] || math.Abs(s.Mean*float64(s.N)-sums[k]) > 1e-9 || c.Stats[k].Pairs[0].N != units[k] {
				t.Errorf("seed %d, arm %d: %d values of sum %v, want %d of %v", seed, k, s.N, s.Mean*float64(s.N),
					units[k], sums[k])
			}
			if w.Arms[k].Units != units[k] || w.Arms[k].Metrics[1] != *s {
				t.Errorf("seed %d: the sums of all versions are not those of the only one", seed)
			}
		}
	}
}

// TestRefusedChangesNothing checks that no refused item changes the state.
func TestRefusedChangesNothing(t *testing.T) {
	w := newWorld(t, twoArms)
	w.begin([]float64{.5, .5})
	before, err := json.Marshal(w.Versions)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []Unit{
		{Version: 1, Unit: "short", Metrics: map[string]float64{"m": 1}},
		{Version: 2, Unit: "0000000000000001", Metrics: map[string]float64{"m": 1}},
		{Version: 1, Arm: 2, Unit: "0000000000000001", Metrics: map[string]float64{"m": 1}},
		{Version: 1, Unit: "0000000000000001", Metrics: map[string]float64{"m": 2}},
		{Version: 1, Unit: "0000000000000001", Metrics: map[string]float64{"d": .5}},
		{Version: 1, Unit: "0000000000000001", Metrics: map[string]float64{"r": 1}},
		{Version: 1, Unit: "0000000000000001"},
	} {
		r, err := w.Report(w.input(), &Units{Items: []Unit{e}})
		if err != nil || r.Items[0].Status != api.Rejected || r.Opened != 0 {
			t.Errorf("%+v: %+v, %v, want it rejected", e, r, err)
		}
	}
	if after, err := json.Marshal(w.Versions); err != nil || !bytes.Equal(before, after) {
		t.Errorf("%s became %s: %v", before, after, err)
	}
}

// TestRestoreRefuses checks that parts of a snapshot that do not fit each other are refused.
func TestRestoreRefuses(t *testing.T) {
	for name, damage := range map[string]func(x *Joiner, versions []*Version){
		"arms":      func(x *Joiner, _ []*Version) { x.Arms = x.Arms[:1] },
		"sums":      func(x *Joiner, _ []*Version) { x.Arms[0].Metrics = nil },
		"held":      func(x *Joiner, _ []*Version) { x.Holdout = compare.Stats{} },
		"private":   func(x *Joiner, _ []*Version) { x.Bounded = &Contributions{} },
		"statistic": func(_ *Joiner, v []*Version) { v[0].Stats[1].Pairs = nil },
		"slots":     func(_ *Joiner, v []*Version) { v[0].Stats = v[0].Stats[:2] },
		"nothing":   func(_ *Joiner, v []*Version) { v[0] = nil },
		"kept":      func(x *Joiner, _ []*Version) { x.Kept.Unit = []uint64{1} },
	} {
		w := newWorld(t, twoArms)
		w.begin([]float64{.5, .5})
		x := w.Copy()
		damage(x, x.Versions)
		if err := x.Restore(nil, w.d, x.Versions, []*Columns{{}}); noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("%s: %v, want bad input", name, err)
		}
	}
}
