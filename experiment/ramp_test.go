package experiment

import (
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret/api"
)

// A ramp does not wait for the bound of an arm of few units whose share in the next stage is small,
// but it does if that is large.
func TestRampLeavesOutUnknownArms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, next string
		want       bool
	}{
		{"small share", "0.04", true},
		{"large share", "0.5", false},
	} {
		s := newScenario(t)
		out := s.run("apply\nname: e\narms: [{name: old, value: 0}, {name: a, value: 1}, {name: b, value: 2}]\n" +
			"control: {arm: old, share: 0.1}\nmetrics: [{name: views, kind: count}, {name: taps, kind: count}, " +
			"{name: rate, kind: ratio, numerator: taps, denominator: views}]\nobjective: {goals: [{metric: views}]}\n" +
			"guardrails: [{metric: rate, min_change: -0.01, hard: false}]\nround: {length: 1h}\n" +
			"attribution_window: 1h\nramp: [{share: 0.03, guardrails: held}, {share: " + c.next +
			", units: 1000000000}]")
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
		r, err := s.state.Report("e")
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Ramp.Stage == 2; got != c.want {
			t.Errorf("%s: stage %d, waits for %q", c.name, r.Ramp.Stage, strings.Join(r.Ramp.Waits, "; "))
		}
	}
}
