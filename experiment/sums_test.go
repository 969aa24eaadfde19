package experiment

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/noregret/noregret/api"
)

// TestSumsBeyondRange checks that sums which no observations in the metric's range can have are
// refused before the state changes. No report may make the state impossible to save.
func TestSumsBeyondRange(t *testing.T) {
	s := newScenario(t)
	s.run("apply\nname: x\narms: [{name: a, value: 1}, {name: b, value: 2}]\nmetrics: [{name: m, range: [0, 1]}, " +
		"{name: n}, {name: k, kind: count}, {name: r, kind: ratio, numerator: n, denominator: k}]\nobjective: " +
		"{goals: [{metric: m}]}")
	before, err := json.Marshal(s.state.live["x"].roster.Arms)
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range []map[string]api.Sums{
		{"m": {N: 1, Sum: .5, Squares: 1.7e308}},
		{"m": {N: 2, Sum: 1, Squares: 1.01}},
		{"m": {N: 4, Sum: -1, Squares: 1}},
		{"n": {N: 1, Sum: 0, Squares: 1.1e30}},
		{"n": {N: 1, Sum: 1e300, Squares: 1e300}},
		{"k": {N: 2, Sum: 1.5, Squares: 2}},
		{"k": {N: 2, Sum: 3, Squares: 2}},
	} {
		o := s.event(KindAggregate, api.Aggregate{
			Experiment: "x", Source: "s", Sequence: uint64(i + 1),
			Items: []api.AggregateItem{{Version: 1, Arm: "a", Units: 10, Metrics: m}},
		})
		if o.Items[0].Status != api.Rejected {
			t.Errorf("%v: %+v", m, o.Items[0])
		}
	}
	after, err := json.Marshal(s.state.live["x"].roster.Arms)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("%s became %s, %v", before, after, err)
	}
	for i := range 20 {
		m := map[string]api.Sums{
			"m": {N: 10, Sum: 10, Squares: 10}, "n": {N: 10, Sum: 1e16, Squares: 1e31},
			"k": {N: 10, Sum: 1e16, Squares: 1e31},
		}
		s.event(KindAggregate, api.Aggregate{
			Experiment: "x", Source: "t", Sequence: uint64(i + 1),
			Items: []api.AggregateItem{{
				Version: 1, Arm: "a", Units: 1e9, Metrics: m,
				Pairs: map[string]api.PairSums{"r": {N: 10, X: 1e16, Y: 1e16, XX: 1e31, YY: 1e31, XY: 1e31}},
			}},
		})
	}
	s.check()
}
