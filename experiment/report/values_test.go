package report

import (
	"math"
	"testing"

	"github.com/noregret/noregret/confseq"
	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/experiment/guard"
	"github.com/noregret/noregret/experiment/join"
)

// facts returns those of an experiment whose arms differ from the control by 0, .1 and .2 in three
// versions with another level and other shares each, of which the last one is open.
func facts(t *testing.T) *Facts {
	t.Helper()
	d, err := definition.Parse("test", []byte("name: x\narms: [{name: c, value: 0}, {name: a, value: 1}, "+
		"{name: b, value: 2}]\ncontrol: {arm: c, share: 0.4}\nmetrics: [{name: m, range: [0, 1]}]\n"+
		"objective: {goals: [{metric: m}]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	goals, err := d.Goals()
	if err != nil {
		t.Fatal(err)
	}
	priced, err := d.PricedGoals()
	if err != nil {
		t.Fatal(err)
	}
	store, err := compare.New(3, compare.Metrics(d))
	if err != nil {
		t.Fatal(err)
	}
	x := join.New(nil, d)
	for range 3 {
		x.AddArm(d)
	}
	mixture := []float64{0.4, 0.3, 0.3}
	x.Begin(d, join.Start{Version: 3, Round: 3, Stream: 1, Mixture: mixture, Learnable: true}, 0)
	for round, level := range []float64{0.1, 0.5, 0.3} {
		stats := make([]compare.Stats, 3)
		for k := range stats {
			stats[k] = compare.NewStats(d)
			n := int64(100 * (1 + (round+k)%3))
			stats[k].Units = n
			stats[k].Metrics[0] = confseq.Sequence{N: n, Mean: level + 0.1*float64(k), M2: 0.04 * float64(n), High: 1}
			x.Arms[k].Merge(&stats[k])
		}
		if round < 2 {
			store.AddVersion(d, d.MetricIndices(), 0, stats, nil)
		} else {
			copy(x.Running().Stats, stats)
		}
	}
	return &Facts{
		Evidence: &guard.Evidence{Definition: d, Control: 0, Initial: 3, Joined: x}, States: &guard.States{},
		Goals: goals, Priced: priced, Store: store, Mixture: mixture,
		Arms: []Arm{{"c", true}, {"a", true}, {"b", true}},
	}
}

// TestValues compares arms within versions, the open one included: what a version's arms have in
// common changes no difference, and the store stays as it is.
func TestValues(t *testing.T) {
	x := facts(t)
	rounds := x.Store.Rounds(0)
	v := x.Values()
	if x.Store.Rounds(0) != rounds {
		t.Errorf("the store has %d rounds, and had %d", x.Store.Rounds(0), rounds)
	}
	for k := range v.Means {
		if got, want := v.Means[k][0]-v.Means[0][0], 0.1*float64(k); !v.Known[k] || math.Abs(got-want) > 1e-12 {
			t.Errorf("arm %d differs by %v: want %v", k, got, want)
		}
	}
	gap := *v.Of([]float64{0, 0.5, 0.5}) - *v.Of([]float64{1, 0, 0})
	if math.Abs(gap-0.15) > 1e-9 {
		t.Errorf("a mixture gains %v: want .15", gap)
	}
	v.Known[2] = false
	if got := v.Of([]float64{0.5, 0, 0.5}); got != nil {
		t.Errorf("a mixture of which half is unknown is worth %v", *got)
	}
	if (*Values)(nil).Of([]float64{1}) != nil {
		t.Error("without values a mixture has one")
	}
}

// TestRegret charges each version the difference from the best arm by its shares.
func TestRegret(t *testing.T) {
	x := facts(t)
	r, course := x.Regret(x.Values(), []Version{
		{1, []float64{1, 0, 0}, 100}, {2, []float64{0, 0, 1}, 300}, {3, []float64{0.5, 0, 0.5}, 0},
	})
	if r.BestSingle.Arm != "b" || r.Units != 400 || math.Abs(*r.PerUnit-0.05) > 1e-9 || math.Abs(*r.Total-20) > 1e-6 {
		t.Errorf("%+v: want a regret of .05 a unit against b", r)
	}
	if math.Abs(*course[1]-0.2) > 1e-9 || math.Abs(*course[2]-0.05) > 1e-9 || course[3] != nil {
		t.Errorf("the course is %v", course)
	}
	solve, err := x.Optimum(x.Values())
	if err != nil {
		t.Fatal(err)
	}
	if o, err := solve(); err != nil || !(o.Mixture[2] > 0.99) {
		t.Errorf("the optimum is %+v, %v", o, err)
	}
	x.Goals = nil
	if r, _ := x.Regret(x.Values(), nil); r != nil {
		t.Errorf("a regret without an objective: %+v", r)
	}
}
