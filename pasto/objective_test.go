package pasto_test

import (
	"math"
	"strings"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"pgregory.net/rapid"

	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/pastotest"
)

// TestObjectives checks gradients by central differences, directions and roles, the soft minimum
// and its limits, and constants by sampling.
func TestObjectives(t *testing.T) {
	metrics := []pasto.Metric{
		{Name: "gain", Weight: 2},
		{Name: "cost", Direction: pasto.Down},
		{Name: "floor", Role: pasto.Guardrail, Threshold: .3, Lambda: 3},
		{Name: "ceiling", Role: pasto.Guardrail, Direction: pasto.Down, Threshold: -.2},
		{Name: "watched", Role: pasto.Report},
	}
	for _, soft := range []float64{0, .5, 10} {
		f, err := pasto.NewGoals(metrics, soft)
		if err != nil {
			t.Fatal(err)
		}
		lower, upper := []float64{-1, -1, -1, -1, -1}, []float64{1, 1, 1, 1, 1}
		if err := pasto.CheckConcave(f, lower, upper, 2000, 1); err != nil {
			t.Error(err)
		}
		r := random.New(2, "test")
		g := make([]float64, 5)
		for range 100 {
			theta := []float64{r.Float64(), r.Float64(), r.Float64() - .3, r.Float64() - .5, r.Float64()}
			f.Gradient(g, theta)
			for i := range theta {
				const h = 1e-6
				x := theta[i]
				theta[i] = x + h
				up := f.Value(theta)
				theta[i] = x - h
				down := f.Value(theta)
				theta[i] = x
				pastotest.Near(t, "gradient", g[i], (up-down)/(2*h), 1e-5)
			}
		}
	}
	f, _ := pasto.NewGoals(metrics, 0)
	pastotest.Near(t, "value", f.Value([]float64{1, 2, .1, 0, 99}), -3*.04-5*.04, 1e-12)
	v := make([]float64, 5)
	pastotest.Near(t, "violations", f.Violations(v, []float64{1, 2, .1, 0, 99}), .4, 1e-12)
	// A value at the threshold is no violation; the whole truncated value is
	// squared, and lowers f.
	pastotest.Near(t, "at the threshold", f.Value([]float64{0, 0, .3, -.2, 0}), 0, 0)
	if h := pastotest.Goals(t, 5, true, 0); h.Value([]float64{1, 0}) != 1 ||
		!math.IsInf(h.Value([]float64{1, -1.1e-9}), -1) ||
		h.Value([]float64{1, -0.9e-9}) != 1 {
		t.Error("hard guardrail")
	}
	if q := pastotest.Goals(t, 5, false, 0).Value([]float64{0, 3}); q != 0 {
		t.Errorf("min(0, y−c²) in place of (min(0, y−c))² would be %v", q)
	}
	// The Lipschitz and smoothness constants over a box, computed by hand.
	lip, smooth := pastotest.Goals(t, 5, false, 0, 0).Constants([]float64{-1, -2, -2}, []float64{1, 2, 2})
	pastotest.Near(t, "G_f", lip, math.Sqrt(1+2*400), 1e-12)
	pastotest.Near(t, "L_f", smooth, 10, 0)
	bad := &pasto.Utility{Metrics: 1, U: func(x []float64) float64 {
		return x[0] * x[0]
	}, DU: func(d, x []float64) { d[0] = 2 * x[0] }}
	if err := pasto.CheckConcave(bad, []float64{-1}, []float64{1}, 100, 1); err == nil ||
		!strings.Contains(err.Error(), "not concave") {
		t.Errorf("%v", err)
	}
	good := &pasto.Utility{Metrics: 1, U: func(x []float64) float64 {
		return math.Sqrt(x[0])
	}, DU: func(d, x []float64) { d[0] = .5 / math.Sqrt(x[0]) }, Lipschitz: 1.6}
	if err := pasto.CheckConcave(good, []float64{.1}, []float64{1}, 100, 1); err != nil {
		t.Error(err)
	}
	good.Lipschitz = 1
	if err := pasto.CheckConcave(good, []float64{.1}, []float64{1}, 100, 1); err == nil {
		t.Error("a wrong constant is not detected")
	}
}

// Relative guardrails are contrasts to the concurrent control: common swings cancel.
func TestContrast(t *testing.T) {
	f,
		err := pasto.NewGoals([]pasto.Metric{
		{Name: "x"},
		{Name: "y", Role: pasto.Guardrail, Relative: true, Threshold: -.02},
	}, 0)
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]float64, 2)
	if err := f.Contrast(dst, []float64{1, 99}, []float64{0, 100}); err != nil {
		t.Fatal(err)
	}
	pastotest.Near(t, "contrast", dst[1], 1, 1e-12) // 99 − 0.98·100
	pastotest.Near(t, "value", f.Value(dst), 1, 1e-12)
	if err := f.Contrast(dst, []float64{1, 97}, []float64{0, 100}); err != nil {
		t.Fatal(err)
	}
	pastotest.Near(t, "violated", f.Value(dst), 1-5, 1e-12)
	if f.Contrast(dst, []float64{1, 97}, nil) == nil ||
		f.Contrast(dst, []float64{1, math.NaN()}, []float64{0, 1}) == nil {
		t.Error("refused")
	}
	g, _ := pasto.NewGoals([]pasto.Metric{{Name: "rate", Lower: 0, Upper: 1}}, 0)
	if g.Contrast(dst[:1], []float64{1.5}, nil) == nil {
		t.Error("a value out of its range is accepted")
	}
}

// A relative limit is c = y₀ + δ·|y₀|: 5 % below the control is below it also where that is
// negative, and a metric with its direction and δ turned around is held to the mirrored limit.
func TestContrastOfNegativeControl(t *testing.T) {
	seen := func(direction pasto.Direction, delta, y, control float64) float64 {
		f, err := pasto.NewGoals([]pasto.Metric{
			{Name: "x"}, {Name: "y", Role: pasto.Guardrail, Direction: direction, Relative: true, Threshold: delta},
		}, 0)
		if err != nil {
			t.Fatal(err)
		}
		dst := make([]float64, 2)
		if err := f.Contrast(dst, []float64{0, y}, []float64{0, control}); err != nil {
			t.Fatal(err)
		}
		return dst[1]
	}
	pastotest.Near(t, "5 % below -100", seen(pasto.Up, -0.05, -105, -100), 0, 1e-12)
	pastotest.Near(t, "4 % below -100", seen(pasto.Up, -0.05, -104, -100), 1, 1e-12)
	pastotest.Near(t, "at most 5 % above -100", seen(pasto.Down, 0.05, -94, -100), 1, 1e-12)
	pastotest.Near(t, "relative to 0", seen(pasto.Up, -0.05, -1, 0), -1, 1e-12)
	rapid.Check(t, func(r *rapid.T) {
		delta := rapid.Float64Range(-2, 2).Draw(r, "delta")
		y, control := rapid.Float64Range(-10, 10).Draw(r, "y"), rapid.Float64Range(-10, 10).Draw(r, "control")
		got := seen(pasto.Up, delta, y, control)
		if want := y - (control + delta*math.Abs(control)); math.Abs(got-want) > 1e-12 {
			r.Errorf("%v, want %v", got, want)
		}
		if mirror := seen(pasto.Down, -delta, -y, -control); mirror != -got {
			r.Errorf("%v, and mirrored %v", got, mirror)
		}
	})
}
