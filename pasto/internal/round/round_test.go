package round

import (
	"math"
	"testing"

	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/pastotest"
)

// A group of an earlier round may be of an arm without a share, where the learner admits that and
// the host says so. A retired arm is refused all the same.
func TestCheckEarlier(t *testing.T) {
	f := pastotest.Goals(t, 1, false)
	for _, c := range []struct {
		admits, earlier, active bool
		want                    string
	}{
		{true, true, true, ""},
		{true, false, true, "observations[0]: arm 1 has propensity 0 in this round: it cannot have been drawn"},
		{false, true, true, "observations[0]: arm 1 has propensity 0 in this round: it cannot have been drawn"},
		{true, true, false, "observations[0]: arm 1 is retired: archive what comes late"},
	} {
		in := Checker{Earlier: c.admits}
		_, _, err := in.Check(f, []pasto.Observation{{Arm: 1, Metrics: []float64{3}, Earlier: c.earlier}}, 1,
			[]float64{1, 0}, []bool{true, c.active})
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// The limit of a relative guardrail is turned around only in rounds in which all values are
// negative.
func TestSignOfControl(t *testing.T) {
	g, err := pasto.NewGoals([]pasto.Metric{
		{Name: "x"}, {Name: "y", Role: pasto.Guardrail, Relative: true, Threshold: -0.1},
	}, 0)
	if err != nil {
		t.Fatal(err)
	}
	see := func(values ...[2]float64) (out []float64) {
		var obs []pasto.Observation
		for _, v := range values {
			obs = append(obs, pasto.Observation{Metrics: []float64{0, v[0]}, Control: []float64{0, v[1]}})
		}
		seen, _, err := new(Checker).Check(g, obs, 1, []float64{1}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range seen {
			out = append(out, seen[i].Metrics[1])
		}
		return out
	}
	for _, c := range []struct {
		values [][2]float64
		want   []float64
	}{
		{[][2]float64{{95, 100}, {80, 100}}, []float64{5, -10}},
		{[][2]float64{{-105, -100}, {-120, -100}}, []float64{5, -10}},
		{[][2]float64{{3, 2}, {1, -1}}, []float64{1.2, 1.9}}, // a noisy group below 0
	} {
		if got := see(c.values...); math.Abs(got[0]-c.want[0]) > 1e-12 || math.Abs(got[1]-c.want[1]) > 1e-12 {
			t.Errorf("%v: %v, want %v", c.values, got, c.want)
		}
	}
}
