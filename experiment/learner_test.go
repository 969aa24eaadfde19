package experiment

import (
	"testing"

	"github.com/noregret/noregret/pasto/confident"
)

// A point of a box that gets no traffic now still teaches the learner what its units of earlier
// versions have shown. An arm of a list that is retired does not, and only the default learner
// takes one without a share.
func TestTakes(t *testing.T) {
	t.Parallel()
	r := &roster{}
	r.Arms = make([]armState, 2)
	r.Arms[1].Active = true
	for _, c := range []struct {
		learner learner
		served  []float64
		want    [3]bool
	}{
		{boxed{}, []float64{0, 1}, [3]bool{true, true, false}},
		{&fixed{}, []float64{.5, .5}, [3]bool{false, true, false}},
		{&fixed{}, []float64{1, 0}, [3]bool{false, false, false}},
		{&confident.Learner{}, []float64{1, 0}, [3]bool{false, true, false}},
	} {
		x := &learning{learner: c.learner}
		for i, want := range c.want {
			if got := x.takes(r, i, min(i, 1), c.served); got != want {
				t.Errorf("%T with %v: arm %d: %v", c.learner, c.served, i, got)
			}
		}
	}
}

// Units of an arm mature after the guardrails have closed it off: the learner learns from them all
// the same, although it now serves the control arm alone.
func TestLateUnitsOfUnservedArms(t *testing.T) {
	t.Parallel()
	w := newServedWorld(t, 1, "{metric: complaints, max: 0.04}")
	for k := range w.rates[1:] { // every arm holds the limit, so that none is stopped by itself
		w.rates[k+1][1] = 0.03
	}
	learning := &w.state.live["e"].learning
	var seen, late int64
	for round := range 40 {
		if round == 15 {
			w.rates[0][1] = 0.3 // the control arm now breaks the limit
		}
		w.round(20_000)
		x := w.state.live["e"]
		if c := x.joiner.cohorts[0]; learning.learner.Serving()[0] == 1 {
			for k := range w.arms[1:] {
				late += c.Stats[k+1].Units // they mature in the next round at the earliest
			}
		}
		seen += x.joiner.cohorts[0].Stats[1].Units
	}
	if seen == 0 || late == 0 {
		t.Fatalf("%d units of other arms, %d of them after the learner had closed them off: the test checks nothing",
			seen, late)
	}
	if n := w.state.live["e"].learning.Unlearned; n != 0 {
		t.Errorf("%d units were not learned from, %d were late", n, late)
	}
}
