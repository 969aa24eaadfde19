package optimum

import (
	"fmt"
	"math"
	"testing"

	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/instance"
	"github.com/noregret/noregret/pasto/internal/pastotest"
)

// A thousand random instances (B), others than the reference's. The shares of
// optima with one, two and three atoms (none has more), that of optima which are a single arm, and
// the means of the best single arm, the optimum and the gap are its, within four standard errors of
// the difference of two samples.
func TestRandomInstancesStatistically(t *testing.T) {
	const n = 1000
	f := pastotest.Goals(t, 5, false, .5, .5)
	var atoms [4]float64
	equal := 0.0
	var sum, square [3]float64 // of best single, optimum, gap
	for seed := range uint64(n) {
		m, err := instance.Uniform(100, 3, seed)
		if err != nil {
			t.Fatal(err)
		}
		_, single, err := BestSingle(f, m)
		if err != nil {
			t.Fatal(err)
		}
		o, err := Maximize(f, m, Options{Tolerance: 1e-10, Iterations: 200_000})
		if err != nil {
			t.Fatal(err)
		}
		k := len(o.Support())
		if k > 3 || o.Gap > 1e-10 {
			t.Fatalf("seed %d: %d atoms, a gap of %v", seed, k, o.Gap)
		}
		if atoms[k]++; o.Value-single < 1e-9 {
			equal++
		}
		for i, v := range []float64{single, o.Value, o.Value - single} {
			sum[i] += v
			square[i] += v * v
		}
	}
	t.Logf("atoms %v, equal to the best single %v", atoms[1:], equal)
	for k, spec := range []float64{0, .075, .336, .589} {
		pastotest.Near(t, fmt.Sprintf("share of %d atoms", k), atoms[k]/n, spec, 4*math.Sqrt(2*spec*(1-spec)/n))
	}
	if equal != atoms[1] {
		t.Errorf("%v optima are a single arm's, %v have one atom", equal, atoms[1])
	}
	for i, spec := range []float64{.810, .886, .076} {
		mean := sum[i] / n
		pastotest.Near(t, []string{"best single", "optimum", "gap"}[i], mean, spec,
			4*math.Sqrt(2*(square[i]/n-mean*mean)/n)+.0005)
	}
}

// For a linear objective mixing gains nothing, F(p*) = F(p_S).
func TestLinearGainsNothing(t *testing.T) {
	f := pastotest.One(t, pasto.Metric{Name: "a", Weight: 2}, pasto.Metric{Name: "b", Weight: .5},
		pasto.Metric{Name: "c", Direction: pasto.Down})
	for seed := range uint64(50) {
		m, err := instance.Uniform(30, 3, seed)
		if err != nil {
			t.Fatal(err)
		}
		arm, single, err := BestSingle(f, m)
		if err != nil {
			t.Fatal(err)
		}
		o, err := Maximize(f, m, DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		theta := m.Arm(arm)
		pastotest.Near(t, "F(p_S)", single, 2*theta[0]+.5*theta[1]-theta[2], 1e-14)
		pastotest.Near(t, "F(p*)", o.Value, single, 1e-12)
		pastotest.Near(t, "weight of the best single", o.Mixture[arm], 1, 1e-12)
	}
}
