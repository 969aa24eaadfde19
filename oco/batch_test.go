package oco

import (
	"math"
	"testing"

	"github.com/noregret/noregret/loss"
)

// TestWeightedRegression checks that the forecaster inside a wrapper with weights satisfies its
// bound on the weighted squared losses, also for weights below 1.
func TestWeightedRegression(t *testing.T) {
	averaging := must(NewAveraging(must(NewVovkAzouryWarmuth(1, .01)), InverseSqrtAlpha(20)))
	importance := must(NewImportance(must(NewVovkAzouryWarmuth(1, .01))))
	for name, w := range map[string]struct {
		l        Learner
		features func(z []float64, w float64) error
		update   func(g []float64, w float64) error
	}{
		"averaging": {
			averaging, func(z []float64, _ float64) error { return averaging.Features(z) },
			func(g []float64, _ float64) error { return averaging.Update(g) },
		},
		"importance": {importance, importance.FeaturesWeighted, importance.UpdateWeighted},
	} {
		var regret float64
		u := []float64{1}
		for k := range 200 {
			alpha := 1 / (20 * math.Sqrt(float64(k+1)))
			z, y := []float64{1 + float64(k%3)}, 1+float64(k%3)
			if err := w.features(z, alpha); err != nil {
				t.Fatal(err)
			}
			r := z[0]*w.l.Predict()[0] - y
			regret += alpha * (r*r - (z[0]*u[0]-y)*(z[0]*u[0]-y)) / 2
			if err := w.update([]float64{r * z[0]}, alpha); err != nil {
				t.Fatal(err)
			}
		}
		if b := bound(t, w.l, u); !(regret <= b) || math.IsInf(b, 1) {
			t.Errorf("%s: regret %v is above the bound %v", name, regret, b)
		}
	}
}

func TestAlpha(t *testing.T) {
	a := must(NewAveraging(descent(space(2), nil, Constant(1)), InverseSqrtAlpha(1)))
	b := must(NewAveraging(descent(space(2), nil, Constant(4)), InverseSqrtAlpha(4)))
	batch(t, a, loss.HingeLoss{}, 0)
	batch(t, b, loss.HingeLoss{}, 0)
	nearVector(t, "average", must(a.Average()), must(b.Average()))
}

// TestWeightedHint: the learner inside an averaging wrapper sees α_t·g_t, and so hints of that
// scale.
func TestWeightedHint(t *testing.T) {
	inner := newSponge(3)
	l := must(NewAveraging(inner, LinearAlpha()))
	for range 2 {
		if err := l.Update([]float64{1, 1, 1}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Hint([]float64{1, 0, -2}); err != nil {
		t.Fatal(err)
	}
	nearVector(t, "the hint of round 3", inner.hint, []float64{3, 0, -6})
}
