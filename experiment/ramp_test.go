package experiment

import (
	"testing"
	"time"

	"github.com/noregret/noregret/api"
)

// A ramp does not wait for the bound of an arm of few units whose share of the mixture is small,
// but it does if that is large.
func TestRampLeavesOutUnknownArms(t *testing.T) {
	t.Parallel()
	s := newScenario(t)
	out := s.run("apply\nname: e\narms: [{name: old, value: 0}, {name: a, value: 1}, {name: b, value: 2}]\n" +
		"control: {arm: old, share: 0.1}\nmetrics: [{name: views, kind: count}, {name: taps, kind: count}, " +
		"{name: rate, kind: ratio, numerator: taps, denominator: views}]\nobjective: {goals: [{metric: views}]}\n" +
		"guardrails: [{metric: rate, min_change: -0.01, hard: false}]\nround: {length: 1h}\n" +
		"attribution_window: 1h\nramp: [{share: 0.03, guardrails: held}, {share: 0.5, " +
		"units: 1000000000}]")
	if out != "definition: version 1\n" {
		t.Fatal(out)
	}
	for batch := range 40 { // in a single version a unit might be the whole sum of squares
		version := s.state.Policy("e").Version
		event := api.Aggregate{Experiment: "e", Source: "test", Sequence: uint64(batch + 1)}
		for k, name := range []string{"old", "a", "b"} {
			if k == 2 && batch > 0 || s.state.Policy("e").Mixture()[k] == 0 {
				continue
			}
			n := []float64{50_000, 50_000, 10}[k]
			// A unit has 2 views, or 3 with arm a, of each of which it taps 30 %, at most one
			// of all.
			views := []float64{2, 3, 2}[k]
			x := n * 0.3 * views
			pair := api.PairSums{
				N: int64(n), X: x, Y: n * views, XX: x, YY: n * views * views, XY: x * views,
			}
			event.Items = append(event.Items, api.AggregateItem{
				Version: version, Arm: name, Units: int64(n), Pairs: map[string]api.PairSums{"rate": pair},
				Metrics: map[string]api.Sums{
					"taps":  {N: pair.N, Sum: pair.X, Squares: pair.XX},
					"views": {N: pair.N, Sum: pair.Y, Squares: pair.YY},
				},
			})
		}
		for _, item := range s.event(KindAggregate, event).Items {
			if item.Error != "" {
				t.Fatal(item.Error)
			}
		}
		s.now += int64(time.Hour)
		s.run("due")
	}
	x := s.state.live["e"]
	if x.Ramp.Stage != 1 {
		t.Errorf("stage %d of the ramp, want 1: the served share of b is small", x.Ramp.Stage)
	}
	for _, c := range []struct {
		b    float64
		want bool
	}{{0.02, true}, {0.25, false}} {
		if got := x.guards.Shown(x.guardEvidence(false), 0, []float64{0.5, 0.5 - c.b, c.b}); got != c.want {
			t.Errorf("with a share of %v of the arm of few units: shown %v, want %v", c.b, got, c.want)
		}
	}
}
