package offpolicy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/policy"
)

// recorder folds events and keeps them as an export.
type recorder struct {
	t      *testing.T
	state  *experiment.State
	events []eventlog.Record
	now    time.Time
}

func newRecorder(t *testing.T) *recorder {
	return &recorder{t: t, state: experiment.NewState(), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
}

func (r *recorder) apply(kind string, payload any) experiment.Outcome {
	r.t.Helper()
	e, err := experiment.NewEvent(kind, r.now.UnixNano(), payload)
	if err != nil {
		r.t.Fatal(err)
	}
	logged, o, err := r.state.Step(e)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, e := range logged {
		r.events = append(r.events, eventlog.Record{
			Position: uint64(len(r.events) + 1),
			Event:    eventlog.Event{Kind: e.Kind, Time: e.Time, Payload: e.Payload},
		})
	}
	return o
}

// define applies a definition in YAML and returns the one in force as JSON.
func (r *recorder) define(text string) json.RawMessage {
	r.t.Helper()
	d, err := definition.Parse("test.yaml", []byte(text))
	if err != nil {
		r.t.Fatal(err)
	}
	b, err := json.Marshal(d)
	if err != nil {
		r.t.Fatal(err)
	}
	if o := r.apply(experiment.KindDefinition, experiment.DefinitionEvent{
		Experiment: d.Name,
		Definition: b,
	}); o.Err != nil {
		r.t.Fatal(o.Err)
	}
	return b
}

// export returns the events from a position on as JSON lines.
func (r *recorder) export(from int) string {
	var b bytes.Buffer
	if _, err := eventlog.Export(&b, func(yield func(eventlog.Record, error) bool) {
		for _, e := range r.events[from-1:] {
			if !yield(e, nil) {
				return
			}
		}
	}); err != nil {
		r.t.Fatal(err)
	}
	return b.String()
}

const exportDef = `name: shop
arms: [{name: a, value: 1}, {name: b, value: 2}, {name: c, value: 3}]
metrics:
  - {name: bought, range: [0, 1], default: 0}
  - {name: minutes, range: [0, 60], direction: down, cap: 30}
objective: {goals: [{metric: bought}]}
policy: {kind: fixed, split: {a: 0.5, b: 0.3, c: 0.2}}
attribution_window: 10m
round: {length: 5m, min_units: 1}
`

// TestExport compares the rows of an export with what the service counts: reports that come before
// their exposure, twice, too late, never, out of range or for another metric, over several versions
// of the policy, where all metrics have one window and where each has its own.
func TestExport(t *testing.T) {
	t.Run("one window", func(t *testing.T) { testExport(t, exportDef) })
	t.Run("two windows", func(t *testing.T) {
		testExport(t, strings.NewReplacer("default: 0", "default: 0, window: 6m", "cap: 30", "cap: 30, window: 11m").
			Replace(exportDef))
	})
}

func testExport(t *testing.T, definition string) {
	r, rng := newRecorder(t), random.New(3, "export")
	def := r.define(definition)
	type decision struct{ token policy.Token }
	var open []decision
	items := func(kind string, ds []decision, metrics func() map[string]float64) {
		p := join.Units{Experiment: "shop"}
		for _, d := range ds {
			p.Items = append(p.Items, join.UnitOf(d.token, metrics()))
		}
		r.apply(kind, p)
	}
	for i := range 3000 {
		r.now = r.now.Add(time.Duration(rng.IntN(1500)) * time.Millisecond)
		a := r.state.Policy("shop").Decide(fmt.Sprint("unit", i%1200))
		d := decision{token: policy.Token{
			Experiment: "shop", Version: a.Version, Arm: a.Arm, Propensity: a.Propensity, Unit: a.Unit, Time: r.now,
		}}
		if i%10 != 0 {
			items(experiment.KindExposures, []decision{d}, func() map[string]float64 { return nil })
		}
		open = append(open, d)
		k := max(len(open)-1-rng.IntN(1000), 0) // up to some twelve minutes ago
		items(experiment.KindFeedback, open[k:k+1], func() map[string]float64 {
			return []map[string]float64{
				{"bought": 1},
				{"bought": 0, "minutes": 50},
				{"minutes": 7},
				{"bought": 2},
				{"bought": 1, "minutes": 99},
				{"other": 1},
			}[rng.IntN(6)]
		})
		if i%10 == 0 && rng.IntN(2) == 0 {
			items(experiment.KindExposures, []decision{d, d}, func() map[string]float64 { return nil })
		}
		if i%100 == 99 {
			r.apply(experiment.KindRound, experiment.NameEvent{Experiment: "shop"})
		}
	}
	for range 5 {
		r.now = r.now.Add(time.Hour)
		r.apply(experiment.KindRound, experiment.NameEvent{Experiment: "shop"})
		r.apply(experiment.KindClock, experiment.NameEvent{Experiment: "shop"})
	}
	report, err := r.state.Report("shop")
	if err != nil {
		t.Fatal(err)
	}
	for _, metric := range []string{"bought", "minutes"} {
		for _, from := range []int{1, 2} {
			o := ExportOptions{Metric: metric}
			if from > 1 {
				o.Experiment, o.Definition = "shop", def
			}
			x := NewExport("log", strings.NewReader(r.export(from)), o)
			rows, err := readAll(x.Reader)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(x.Arms(), []string{"a", "b", "c"}) {
				t.Errorf("the arms are %q", x.Arms())
			}
			n, sum, exposed := [3]int64{}, [3]float64{}, int64(0)
			for i := range rows {
				n[rows[i].Arm]++
				sum[rows[i].Arm] += rows[i].Reward
				if p := []float64{0.5, 0.3, 0.2}[rows[i].Arm]; math.Abs(rows[i].Propensity-p) > 1e-12 {
					t.Fatalf("row %d of arm %d has the propensity %v", i, rows[i].Arm, rows[i].Propensity)
				}
			}
			for k, name := range x.Arms() {
				a := report.Arms[name]
				exposed += a.N
				want := *a.Metrics[metric].Mean
				if metric == "minutes" {
					want = -want
				}
				if got := sum[k] / float64(n[k]); n[k] != a.Metrics[metric].N || math.Abs(got-want) > 1e-9 {
					t.Errorf("%s of %s: %d rows with the mean %v, the service counts %d and %v", metric, name, n[k],
						got,
						a.Metrics[metric].N, want)
				}
			}
			if got := int64(len(rows)) + x.Skipped(); got != exposed || metric == "bought" && x.Skipped() > 0 {
				t.Errorf("%s: %d rows and %d skipped, %d units were exposed", metric, len(rows), x.Skipped(), exposed)
			}
			low, high, ok := x.Range()
			if want := map[string][2]float64{"bought": {0, 1}, "minutes": {-30, 0}}[metric]; !ok ||
				want != [2]float64{low, high} {
				t.Errorf("the range of %s is [%v, %v]", metric, low, high)
			}
		}
	}
}

// TestExportHoldBack checks that units outside the experiment are skipped.
func TestExportHoldBack(t *testing.T) {
	r := newRecorder(t)
	r.define(strings.Replace(exportDef, "policy:", "control: {arm: a}\nhold_back: 0.2\npolicy:", 1))
	held := 0
	for i := range 200 {
		a := r.state.Policy("shop").Decide(fmt.Sprint(i))
		if a.HeldBack {
			held++
		}
		token := policy.Token{Version: a.Version, Arm: a.Arm, Propensity: a.Propensity, Unit: a.Unit, Time: r.now}
		r.apply(experiment.KindExposures, join.Units{
			Experiment: "shop", Items: []join.Unit{join.UnitOf(token, nil)},
		})
	}
	x := NewExport("log", strings.NewReader(r.export(1)), ExportOptions{})
	rows, err := readAll(x.Reader)
	if err != nil || len(rows) != 200-held || x.Skipped() != int64(held) || held == 0 {
		t.Errorf("%d rows and %d skipped, error %v; %d of 200 units are held back", len(rows), x.Skipped(), err, held)
	}
	if x.Line() != 201 {
		t.Errorf("the last row began on line %d", x.Line())
	}
}

// TestExportRanks compares the rows of ranked units with what the service counts.
func TestExportRanks(t *testing.T) {
	r, rng := newRecorder(t), random.New(4, "export")
	r.define(exportDef)
	masked := int64(0)
	for i := range 2000 {
		r.now = r.now.Add(time.Duration(rng.IntN(1500)) * time.Millisecond)
		p, unit := r.state.Policy("shop"), fmt.Sprint(i)
		kept := &join.Kept{Deferred: i%3 == 0}
		allowed := []bool{true, true, true}
		if i%5 == 0 {
			allowed[0], kept.Among = false, []int{1, 2}
		}
		c, err := p.DecideAmong(unit, nil, allowed)
		if err != nil {
			t.Fatal(err)
		}
		kept.Redrawn = c.Redrawn
		one := func(kind string, e join.Unit) {
			r.apply(kind, join.Units{Experiment: "shop", Items: []join.Unit{e}})
		}
		e := join.Unit{
			Version: c.Version, Arm: c.Arm, Propensity: c.Propensity, Unit: policy.FormatUnit(c.Unit),
			Time: r.now.UnixMilli(), Kept: kept,
		}
		one(experiment.KindExposures, e)
		if rng.IntN(10) == 0 {
			one(experiment.KindExposures, e)
		}
		earlier := policy.FormatUnit(p.Unit(fmt.Sprint(max(i-rng.IntN(1000), 0))))
		one(experiment.KindExposures, join.Unit{Unit: earlier})
		one(experiment.KindFeedback, join.Unit{
			Unit: earlier, Metrics: map[string]float64{"bought": []float64{1, 0, 2}[rng.IntN(3)]},
		})
		if i%100 == 99 {
			r.apply(experiment.KindRound, experiment.NameEvent{Experiment: "shop"})
		}
		if len(kept.Among) > 0 && !kept.Deferred {
			masked++
		}
	}
	for range 5 {
		r.now = r.now.Add(time.Hour)
		r.apply(experiment.KindRound, experiment.NameEvent{Experiment: "shop"})
		r.apply(experiment.KindClock, experiment.NameEvent{Experiment: "shop"})
	}
	report, err := r.state.Report("shop")
	if err != nil {
		t.Fatal(err)
	}
	// Without those among some arms, which the report counts unless they were drawn again.
	x := NewExport("log", strings.NewReader(r.export(1)), ExportOptions{})
	rows, err := readAll(x.Reader)
	if err != nil {
		t.Fatal(err)
	}
	n := int64(0)
	for _, a := range report.Arms {
		n += a.N
	}
	if got := int64(len(rows)) + x.Skipped(); got != n+report.Health.Redrawn || x.Skipped() < masked {
		t.Errorf("%d rows and %d skipped, the service counts %d and %d drawn again", len(rows), x.Skipped(), n,
			report.Health.Redrawn)
	}
	// All of arm a are of decisions among all arms, so its sums must agree exactly.
	count, sum := int64(0), 0.0
	for i := range rows {
		if rows[i].Arm == 0 {
			count, sum = count+1, sum+rows[i].Reward
		}
	}
	a := report.Arms["a"]
	if count != a.N || math.Abs(sum/float64(count)-*a.Metrics["bought"].Mean) > 1e-12 {
		t.Errorf("%d rows of arm a with the sum %v, the service counts %+v", count, sum, a)
	}
}

// TestExportArms checks the names of the arms: of a grid, with a control arm of its own, added
// later.
func TestExportArms(t *testing.T) {
	r := newRecorder(t)
	r.define(`name: shop
arms: {grid: {size: [1, 2.5], color: [red, blue]}}
control: {arm: old, value: 0, share: 0.1}
metrics: [{name: bought, range: [0, 1]}]
objective: {goals: [{metric: bought}]}
`)
	x := NewExport("log", strings.NewReader(r.export(1)), ExportOptions{})
	if _, err := readAll(x.Reader); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, a := range r.state.Policy("shop").Arms {
		want = append(want, a.Name)
	}
	if !reflect.DeepEqual(x.Arms(), want) || len(want) != 5 {
		t.Errorf("the arms are %q, want %q", x.Arms(), want)
	}

	r = newRecorder(t)
	r.define(strings.Replace(exportDef, "kind: fixed, split: {a: 0.5, b: 0.3, c: 0.2}", "kind: pasto", 1))
	r.apply(experiment.KindAddArm, experiment.ArmEvent{Experiment: "shop", Arm: "d", Value: json.RawMessage("4")})
	r.apply(experiment.KindRetireArm, experiment.ArmEvent{Experiment: "shop", Arm: "a"})
	x = NewExport("log", strings.NewReader(r.export(1)), ExportOptions{})
	if _, err := readAll(x.Reader); err != nil || !reflect.DeepEqual(x.Arms(), []string{"a", "b", "c", "d"}) {
		t.Errorf("the arms are %q, error %v", x.Arms(), err)
	}
}

func TestExportErrors(t *testing.T) {
	r := newRecorder(t)
	r.define(exportDef)
	r.apply(experiment.KindPause, experiment.NameEvent{Experiment: "shop"})
	r.define(strings.Replace(exportDef, "shop", "other", 1))
	r.apply(experiment.KindDelete, experiment.NameEvent{Experiment: "shop"})
	r.define(exportDef)
	all := r.export(1)
	lines := strings.SplitAfter(all, "\n")
	for _, c := range []struct {
		text        string
		o           ExportOptions
		place, word string
	}{
		{"x\n", ExportOptions{}, "log:1", "export"},
		{`{"position":1,"kind":"clock","time":0}` + "\n", ExportOptions{}, "log:1", "no definition of an experiment"},
		{lines[0], ExportOptions{Experiment: "none"}, "log:1", "no definition of experiment none"},
		{all, ExportOptions{}, "log:3", "shop and other"},
		{all, ExportOptions{Experiment: "shop"}, "log:5", "deleted on line 4"},
		{lines[1], ExportOptions{}, "log:1", "begins after the definition"},
		{lines[1], ExportOptions{Definition: json.RawMessage(`{}`)}, "log:1", "attribution_window"},
		{lines[0], ExportOptions{Metric: "clicks"}, "log:1", `["bought" "minutes"]`},
		{
			strings.Replace(lines[0], `"goals":[`, `"goals":[{"metric":"minutes","weight":1},`, 1),
			ExportOptions{},
			"log:1",
			"not a single goal",
		},
	} {
		_, err := readAll(NewExport("log", strings.NewReader(c.text), c.o).Reader)
		if noregret.CodeOf(err) != noregret.BadInput || !strings.HasPrefix(err.Error(), c.place+": ") ||
			!strings.Contains(err.Error(), c.word) {
			t.Errorf("%.80s %+v: got the error %v, want %s and %q", c.text, c.o, err, c.place, c.word)
		}
	}
	if _,
		err := readAll(NewExport("log", strings.NewReader(all),
		ExportOptions{Experiment: "other"}).Reader); err != nil {
		t.Errorf("the other experiment: %v", err)
	}
	var row Row
	if err := NewExport("log", strings.NewReader(""), ExportOptions{}).Read(&row); err == nil || err == io.EOF {
		t.Errorf("an empty export: %v", err)
	}
}

func FuzzExport(f *testing.F) {
	readers["export"] = func(name string, in io.Reader) *Reader { return NewExport(name, in, ExportOptions{}).Reader }
	f.Cleanup(func() { delete(readers, "export") })
	const def = `{"position":1,"kind":"definition","time":0,"payload":{"experiment":"e","definition":{` +
		`"arms":[{"name":"a"}],` +
		`"metrics":[{"name":"m","kind":"mean"}],"objective":{"goals":[{"metric":"m"}]},"attribution_window":"1s"}}}` +
		"\n"
	fuzzReader(f, "export", def+`{"position":2,"kind":"exposures","time":0,"payload":{"experiment":"e","items":[`+
		`{"v":1,"a":0,"p":0.5,"u":"0123456789abcdef","t":0}]}}`, def, "{}\n")
}
