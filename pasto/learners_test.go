package pasto_test

import (
	"math"
	"strings"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/pastotest"
)

// Metrics, names and tables that are refused.
func TestRefusedMetrics(t *testing.T) {
	nan := math.NaN()
	for name, m := range map[string][]pasto.Metric{
		"none":        {},
		"no name":     {{}},
		"twice":       {{Name: "x"}, {Name: "x"}},
		"no primary":  {{Name: "x", Role: pasto.Guardrail}},
		"lambda":      {{Name: "x"}, {Name: "y", Role: pasto.Guardrail, Lambda: -1}},
		"threshold":   {{Name: "x"}, {Name: "y", Role: pasto.Guardrail, Threshold: nan}},
		"weight":      {{Name: "x", Weight: -1}},
		"range":       {{Name: "x", Lower: 1, Upper: 0}},
		"hard metric": {{Name: "x", Hard: true}},
		"direction":   {{Name: "x", Direction: 3}},
		"role":        {{Name: "x", Role: 8}},
		"slack":       {{Name: "x"}, {Name: "y", Role: pasto.Guardrail, Slack: -1}},
	} {
		if _, err := pasto.NewGoals(m, 0); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	if _, err := pasto.NewGoals([]pasto.Metric{{Name: "x"}}, -1); err == nil {
		t.Error("negative softness is taken")
	}
	if err := pasto.ValidateNames([]string{"a", "b", "a"}); err == nil || !strings.Contains(err.Error(), "arms[2]") {
		t.Errorf("%v", err)
	}
	if pasto.ValidateNames(nil) == nil || pasto.ValidateNames([]string{""}) == nil ||
		pasto.ValidateNames([]string{"a", "b"}) != nil {
		t.Error("names")
	}
	for _, rows := range [][][]float64{{}, {{}}, {{1, 2}, {1}}, {{1, nan}}} {
		if _, err := pasto.TableOf(rows...); err == nil {
			t.Errorf("%v is taken", rows)
		}
	}
}

// Gradients by central differences, directions and roles, the soft minimum and its limits,
// constants by sampling.
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
		t.Error("a wrong constant is not noticed")
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
		t.Error("a value out of its range is taken")
	}
}

// What a metric leaves out has the same meaning as its default written out, and the metrics of the
// goals, which a file or a snapshot shows, stay as they were given.
func TestEnsureDefaults(t *testing.T) {
	given := []pasto.Metric{
		{Name: "gain"},
		{Name: "speed", Role: pasto.Guardrail, Direction: pasto.Down, Threshold: 3, Upper: 40},
		{Name: "trust", Role: pasto.Guardrail, Hard: true, Slack: 0.1},
		{Name: "seen", Role: pasto.Report},
	}
	full := []pasto.Metric{
		{Name: "gain", Weight: 1},
		{Name: "speed", Role: pasto.Guardrail, Direction: pasto.Down, Threshold: 3, Lambda: 5, Slack: 4e-8, Upper: 40},
		{Name: "trust", Role: pasto.Guardrail, Hard: true, Slack: 0.1},
		{Name: "seen", Role: pasto.Report},
	}
	for i, m := range given {
		if got := m.EnsureDefaults(); got != full[i] || got.EnsureDefaults() != full[i] {
			t.Errorf("%+v: got %+v, want %+v", m, got, full[i])
		}
	}
	f, err := pasto.NewGoals(given, 0)
	if err != nil {
		t.Fatal(err)
	}
	g, err := pasto.NewGoals(full, 0)
	if err != nil {
		t.Fatal(err)
	}
	if theta := []float64{2, 3.5, -0.05, 9}; f.Value(theta) != g.Value(theta) || f.Value(theta) != 2-5*0.25 {
		t.Errorf("values %v and %v, want 0.75", f.Value(theta), g.Value(theta))
	}
	if f.Metrics()[0].Weight != 0 || f.String() == g.String() {
		t.Error("the metrics as given have changed")
	}
	if !given[1].HasRange() || given[0].HasRange() || !given[0].Admits(1e9) || given[1].Admits(-1) {
		t.Error("ranges")
	}
}
