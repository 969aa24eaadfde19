package experiment

import (
	"testing"

	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/policy"
)

// A policy learns from a point of a box that gets no traffic now what its units of earlier versions
// have shown, and from an arm of a list until it is retired. A fixed policy mixes the arms of its
// split alone.
func TestTakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want [3]bool
	}{
		{"policy: {kind: fixed, split: {a: 0.5, c: 0.5}}", [3]bool{false, true, false}},
		{"", [3]bool{false, true, true}},
		{"policy: {kind: ucb}", [3]bool{false, true, true}},
	} {
		d, err := definition.Parse("d", []byte("name: x\narms: [{name: a, value: 1}, {name: c, value: 2}, "+
			"{name: b, value: 3}]\nmetrics: [{name: m, range: [0, 1]}]\nobjective: {goals: [{metric: m}]}\n"+c.text))
		if err != nil {
			t.Fatal(err)
		}
		r := &roster{def: d, Control: -1, LearnedArms: []int{0, 1, 2}}
		for k, name := range []string{"a", "c", "b"} {
			r.Arms = append(r.Arms, armState{Arm: policy.Arm{Name: name}, Active: k > 0})
		}
		for k, want := range c.want {
			if got := r.takes(k); got != want {
				t.Errorf("%q: arm %d: %v", c.text, k, got)
			}
		}
	}
	box := &roster{def: &definition.Definition{}, Arms: make([]armState, 1)}
	box.def.Arms.Box = map[string]definition.Side{}
	if !box.takes(0) {
		t.Error("an idle point of a box is not learned from")
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
		if c := x.joiner.Versions[0]; learning.learner.(mixer).Serving()[0] == 1 {
			for k := range w.arms[1:] {
				late += c.Stats[k+1].Units // they mature in the next round at the earliest
			}
		}
		seen += x.joiner.Versions[0].Stats[1].Units
	}
	if seen == 0 || late == 0 {
		t.Fatalf("%d units of other arms, %d of them after the learner had closed them off: the test checks nothing",
			seen, late)
	}
	if n := w.state.live["e"].learning.Unlearned; n != 0 {
		t.Errorf("%d units were not learned from, %d were late", n, late)
	}
}
