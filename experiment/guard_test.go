package experiment

import (
	"fmt"
	"testing"
	"time"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto"
)

// guardRun plays an experiment whose arms have the guardrail's metric at the given means, in batches, with
// a mixture that learns, and reports whether a guardrail at the limit was ever called breached, looked at
// after every batch.
func guardRun(t *testing.T, seed uint64, batches int, limit string, means map[string]float64) bool {
	t.Helper()
	s := newScenario(t)
	s.run("apply\nname: g\narms: [{name: c, value: 0}, {name: a, value: 1}, {name: b, value: 2}]\ncontrol: {arm: c, share: 0.2}\n" +
		"metrics: [{name: x}, {name: y}]\nobjective: {goals: [{metric: x}]}\nguardrails: [{metric: y, " + limit + ", alpha: 0.2}]\n" +
		"exploration_floor: 0.1\nround: {length: 1m}\nattribution_window: 1m")
	r := random.New(seed, "guard")
	for b := range batches {
		p := UnitsEvent{Experiment: "g"}
		for i := range 40 {
			unit := fmt.Sprint(seed, "-", b, "-", i)
			d := s.state.Policy("g").Decide(unit)
			tok := Token{"g", d.Version, d.Arm, d.Propensity, d.Unit, time.Unix(0, s.now)}
			p.Items = append(p.Items, UnitOf(tok, map[string]float64{"x": pasto.Normal(r), "y": means[d.Name] + pasto.Normal(r)}))
		}
		q := UnitsEvent{Experiment: "g"}
		for _, e := range p.Items {
			e.Metrics = nil
			q.Items = append(q.Items, e)
		}
		s.event(KindExposures, q)
		s.event(KindFeedback, p)
		if s.state.live["g"].Guards[0].State == Breached {
			return true
		}
		s.now += int64(time.Minute)
		s.run("due")
	}
	return false
}

// TestGuardrailCalls: arms exactly at the limit are called breached in at most alpha = 20 % of the runs
// though the guardrail is looked at after every batch and the mixture moves; arms beyond it are found, in
// either direction and relative to the control.
func TestGuardrailCalls(t *testing.T) {
	const runs = 40
	wrong := 0
	for seed := range uint64(runs) {
		if guardRun(t, seed, 40, "min: 1", map[string]float64{"c": 1, "a": 1, "b": 1}) {
			wrong++
		}
	}
	if wrong > 14 { // 8 expected at the very most; 15 or more have probability .01
		t.Errorf("called breached in %d of %d runs where it holds, want at most 20 %%", wrong, runs)
	}
	for limit, means := range map[string]map[string]float64{
		"min: 1":           {"c": .7, "a": .6, "b": .7},
		"max: 1":           {"c": 1.3, "a": 1.4, "b": 1.3},
		"min_change: -0.1": {"c": 4, "a": 3, "b": 3},
		"max_change: 0.1":  {"c": 4, "a": 5, "b": 5},
	} {
		for seed := range uint64(3) {
			if !guardRun(t, seed, 80, limit, means) {
				t.Errorf("%s, seed %d: a breach was not found", limit, seed)
			}
		}
		if guardRun(t, 9, 40, limit, map[string]float64{"c": 1, "a": 1, "b": 1}) && limit != "min: 1" && limit != "max: 1" {
			t.Errorf("%s: equal arms were called breached", limit)
		}
	}
}
