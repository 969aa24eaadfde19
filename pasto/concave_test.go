package pasto_test

import (
	"math"
	"strings"
	"testing"

	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/pastotest"
)

// CheckConcave finds functions that are not concave or not finite, and refuses boxes that are
// invalid.
func TestCheckConcaveFinds(t *testing.T) {
	square := &pasto.Utility{Name: "square", Metrics: 1, U: func(x []float64) float64 {
		return x[0] * x[0]
	}, DU: func(d, x []float64) { d[0] = 2 * x[0] }}
	broken := &pasto.Utility{Name: "broken", Metrics: 1, U: func(x []float64) float64 {
		return math.Sqrt(x[0])
	}, DU: func(d, x []float64) { d[0] = 1 }}
	for _, c := range []struct {
		f            pasto.Objective
		lower, upper float64
		n            int
		want         string
	}{
		{square, -1, 1, 100, "not concave"},
		{square, 0, 1e-5, 100, "not concave"},
		{square, 1, -1, 100, "box[0]: [1, -1]: want sides in order"},
		{square, -1e308, 1e308, 100, "box[0]: [-1e+308, 1e+308]: want sides in order, of size at most 1e+100"},
		{square, 0, 1, 0, "n: 0: at least one pair of points is required"},
		{broken, -2, -1, 10, `utility "broken": it is NaN at`},
		{pastotest.Goals(t, 5, false, 0), 0, 1, 1, "lower: 1 values: want 2"},
	} {
		err := pasto.CheckConcave(c.f, []float64{c.lower}, []float64{c.upper}, c.n, 1)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("[%v, %v]: %v, want %s", c.lower, c.upper, err, c.want)
		}
	}
	for _, g := range []*pasto.Goals{
		pastotest.Goals(t, 5, false, 0), pastotest.Goals(t, 1e-6, false, 0),
		pastotest.Goals(t, 1e6, false, 0),
	} {
		for _, side := range []float64{1e-6, 1, 1e6} {
			if err := pasto.CheckConcave(g, []float64{-side, -side}, []float64{side, side}, 2000, 1); err != nil {
				t.Errorf("%v on ±%v: %v", g, side, err)
			}
		}
	}
}

// Goals far from 0 pass although rounding affects their gradients. A constant that is too small by
// one hundredth is still detected there, and constants that are not valid bounds are refused.
func TestCheckConcaveFarAway(t *testing.T) {
	for _, far := range []float64{1e3, 1e6, 1e9, -1e12} {
		for _, lambda := range []float64{1e-3, 5, 1e6} {
			g := pastotest.Goals(t, lambda, false, far)
			lower, upper := []float64{far - 1e-3, far - 1e-3}, []float64{far + 1e-3, far + 1e-3}
			if err := pasto.CheckConcave(g, lower, upper, 2000, 1); err != nil {
				t.Errorf("λ = %v: %v", lambda, err)
			}
			if err := pasto.CheckConcave(pastotest.Goals(t, lambda, false, far/3+1.7e9), lower, upper, 2000,
				1); err != nil {
				t.Errorf("λ = %v, far from the threshold: %v", lambda, err)
			}
			lower, upper = []float64{far - 1e9, far - 1e9}, []float64{far + 1e9, far + 1e9}
			if err := pasto.CheckConcave(g, lower, upper, 2000, 1); err != nil {
				t.Errorf("λ = %v: %v", lambda, err)
			}
		}
	}
	steep := &pasto.Utility{
		Name: "steep", Metrics: 1, Smooth: 1.98,
		U:  func(x []float64) float64 { return -(x[0] - 1e6) * (x[0] - 1e6) },
		DU: func(d, x []float64) { d[0] = -2 * (x[0] - 1e6) },
	}
	if err := pasto.CheckConcave(steep, []float64{1e6 - 1}, []float64{1e6 + 1}, 100, 1); err == nil ||
		!strings.Contains(err.Error(), "above the stated") {
		t.Errorf("%v", err)
	}
	for _, c := range [][2]float64{{math.NaN(), 2}, {2, math.NaN()}, {-1, 2}, {2, -1}} {
		f := constants{steep, c}
		err := pasto.CheckConcave(f, []float64{1e6}, []float64{1e6 + 1}, 10, 1)
		if err == nil || !strings.Contains(err.Error(), "its constants are") {
			t.Errorf("%v: %v", c, err)
		}
	}
}

// constants is an objective that states the given constants.
type constants struct {
	*pasto.Utility
	c [2]float64
}

func (f constants) Constants(_, _ []float64) (lipschitz, smooth float64) { return f.c[0], f.c[1] }
