package classify

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/loss"
)

// No model within the radius reaches more than the bound: neither on separable data, where the best
// model is infinitely far away, nor for a dual point that asks for one class alone, nor where the
// search for the maximum has not converged.
func TestUpperBoundHolds(t *testing.T) {
	testsize.NoRace(t)
	t.Parallel()
	two := []Example{{[]uint32{0}, []float32{1}, true, 1}, {[]uint32{0}, []float32{-1}, false, 1}}
	src := random.New(5, "test")
	for name, xs := range map[string][]Example{"separable": two, "mixed": stream(61, 400)} {
		data := asData(t, xs)
		dim, scaling := data.Set.Info().Dim, scalingOf(t, data)
		for _, m := range []measure.Concave{measure.Min{}, measure.QMean{}, measure.HMean{}, measure.GMean{}} {
			a0, b0 := m.InitialDual()
			duals := [][2]float64{{a0, b0}}
			for _, d := range [][2]float64{{1, 0}, {0, 1}, {0.7, 0.3}, {2, 0.1}} {
				a, b := m.Project(d[0], d[1], 10)
				duals = append(duals, [2]float64{a, b})
			}
			for _, d := range duals {
				opt := DefaultBoundOptions(d[0], d[1])
				opt.Radius, opt.Scaling = 300, scaling
				bound, err := UpperBound(context.Background(), data, m, opt)
				if err != nil {
					t.Fatalf("%s, %s, %v: %v", name, m.Name(), d, err)
				}
				if !(bound.Slack >= 0) {
					t.Errorf("%s, %s, %v: %+v", name, m.Name(), d, bound)
				}
				for _, norm := range []float64{0, 0.1, 1, 10, 100, 299} {
					for i := range 6 {
						w := direction(src, dim+1, i)
						model := Linear{Weights: make([]float64, dim), Intercept: norm * w[dim]}
						for k := range model.Weights {
							model.Weights[k] = norm * w[k] * scaling.Inverse[k]
							model.Intercept -= model.Weights[k] * scaling.Center[k]
						}
						p, n, err := MeanRewards(context.Background(), data, &model, loss.Logistic{})
						if err != nil {
							t.Fatal(err)
						}
						if v := m.Extended(p, n, math.Inf(1)); v > bound.Value {
							t.Errorf("%s, %s, dual %v: a model of norm %v reaches %.17g, the bound is %.17g", name,
								m.Name(), d, norm, v, bound.Value)
						}
					}
				}
			}
		}
	}
}

// scalingOf is the scaling that Fit learns.
func scalingOf(t *testing.T, data Data) *Scaling {
	t.Helper()
	r, err := Fit(context.Background(), data, Options{Algorithm: "logistic", Measure: measure.QMean{}})
	if err != nil {
		t.Fatal(err)
	}
	return r.Scaling
}

// direction is a unit vector: along the first coordinates and the intercept, either way, or random.
func direction(src *random.Source, n, i int) []float64 {
	w := make([]float64, n)
	switch i {
	case 0:
		w[0] = 1
	case 1:
		w[n-1] = 1
	case 2:
		w[n-1] = -1
	default:
		var sum float64
		for k := range w {
			w[k] = src.NormFloat64()
			sum += w[k] * w[k]
		}
		for k := range w {
			w[k] /= math.Sqrt(sum)
		}
	}
	return w
}

// On data that no model separates the bound is tight: its slack is far below what a table shows.
func TestUpperBoundIsTight(t *testing.T) {
	data := asData(t, stream(61, 2000))
	opt := DefaultBoundOptions(0.5, 0.5)
	opt.Scaling = scalingOf(t, data)
	bound, err := UpperBound(context.Background(), data, measure.QMean{}, opt)
	if err != nil {
		t.Fatal(err)
	}
	if !(bound.Slack < 1e-5) || !(bound.Value > 0.2 && bound.Value < 0.99) {
		t.Errorf("%+v", bound)
	}
	// Models without an intercept are fewer, so their bound is no higher; at most this much lower
	// than what all can reach.
	opt.BiasFeature = 0
	without, err := UpperBound(context.Background(), data, measure.QMean{}, opt)
	if err != nil {
		t.Fatal(err)
	}
	if !(without.Slack < 1e-5) || !(without.Value <= bound.Value+bound.Slack) || without.Value == bound.Value {
		t.Errorf("without an intercept %+v, with one %+v", without, bound)
	}
}

func TestUpperBoundRefuses(t *testing.T) {
	data := asData(t, stream(61, 200))
	for want, change := range map[string]func(*BoundOptions){
		"dual point is (0.9, 0.9), want one in the dual region of qmean": func(o *BoundOptions) {
			o.Alpha, o.Beta = 0.9, 0.9
		},
		"dual point is (-0.1, 0.3)":        func(o *BoundOptions) { o.Alpha, o.Beta = -0.1, 0.3 },
		"dual point is (NaN, 0.3)":         func(o *BoundOptions) { o.Alpha, o.Beta = math.NaN(), 0.3 },
		"dual point is (0, 0)":             func(o *BoundOptions) { o.Alpha, o.Beta = 0, 0 },
		"radius is -1, want":               func(o *BoundOptions) { o.Radius = -1 },
		"radius is 0, want":                func(o *BoundOptions) { o.Radius = 0 },
		"scaling has 1 features, the data": func(o *BoundOptions) { o.Scaling = Identity(1) },
		"bias feature is +Inf":             func(o *BoundOptions) { o.BiasFeature = math.Inf(1) },
	} {
		opt := DefaultBoundOptions(0.5, 0.5)
		change(&opt)
		_, err := UpperBound(context.Background(), data, measure.QMean{}, opt)
		if noregret.CodeOf(err) != noregret.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want a usage error with %q", err, want)
		}
	}
}
