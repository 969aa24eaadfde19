package classify

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/noregret/noregret/classify/measure"
)

func TestTuneThresholdRefusesNonFinite(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		th, v := TuneThreshold([]Scored{{Score: bad, Weight: 1, Positive: true}, {Score: 1, Weight: 1}},
			measure.FBeta{B: 1})
		if th != 0 || !math.IsNaN(v) {
			t.Errorf("score %v: threshold %v, value %v; want 0, NaN", bad, th, v)
		}
	}
}

// TuneThreshold equals brute force over all cuts, for every measure, with ties and weights.
func TestTuneThresholdIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "n")
		xs := make([]Scored, n)
		for i := range xs {
			xs[i] = Scored{
				Score:    float64(rapid.IntRange(-3, 3).Draw(t, "score")),
				Weight:   float64(rapid.IntRange(1, 3).Draw(t, "weight")),
				Positive: rapid.Bool().Draw(t, "positive"),
			}
		}
		for _, name := range []string{"f1", "gmean", "mcc", "min", "precision", "kappa"} {
			m, _ := measure.Parse(name)
			best := math.NaN()
			for cut := -4.5; cut <= 3.5; cut++ {
				var c measure.Confusion
				for _, x := range xs {
					c.Add(x.Positive, x.Score > cut, x.Weight)
				}
				if v := m.Value(c); !math.IsNaN(v) && !(v <= best) {
					best = v
				}
			}
			threshold, value := TuneThreshold(slices.Clone(xs), m)
			var c measure.Confusion
			for _, x := range xs {
				c.Add(x.Positive, x.Score > threshold, x.Weight)
			}
			if got := m.Value(c); !(math.Abs(got-value) < 1e-12) && !(math.IsNaN(got) && math.IsNaN(value)) {
				t.Fatalf("%s: at its threshold %v the measure is %v, not %v", name, threshold, got, value)
			}
			if !(math.Abs(value-best) < 1e-12) && !(math.IsNaN(value) && math.IsNaN(best)) {
				t.Fatalf("%s: tuned to %v, brute force finds %v", name, value, best)
			}
		}
	})
}

// A score equal to the threshold is negative, and the highest of equally good thresholds wins.
func TestThresholdConventions(t *testing.T) {
	m := Linear{Weights: []float64{1}, Threshold: 2}
	if m.Predict([]uint32{0}, []float32{2}) {
		t.Error("a score equal to the threshold was called positive")
	}
	xs := []Scored{
		{Score: 3, Weight: 1, Positive: true},
		{Score: 1, Weight: 1},
		{Score: 0, Weight: 1, Positive: true},
		{Score: -1, Weight: 1},
	}
	// Cuts: none 0, {3} P=.5 N=1, ...: balanced accuracy .75 at {3} and at {3,1,0}; the higher cut
	// wins.
	if th, v := TuneThreshold(xs, measure.BalancedAccuracy()); th != 2 || v != 0.75 {
		t.Errorf("threshold %v, value %v; want 2, 0.75", th, v)
	}
	if th, v := TuneThreshold([]Scored{{Score: 5, Weight: 1}, {Score: 5, Weight: 1, Positive: true}},
		measure.BalancedAccuracy()); th != 5 || v != 0.5 {
		t.Errorf("all equal: threshold %v, value %v; want 5, 0.5", th, v)
	}
}

func TestTuneThresholdAdjacentScores(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 5))
	for range 1000 {
		a := r.NormFloat64() * math.Exp(r.NormFloat64()*10)
		b := math.Nextafter(a, math.Inf(1))
		th, v := TuneThreshold([]Scored{{Score: a, Weight: 1}, {Score: b, Weight: 1, Positive: true}},
			measure.FBeta{B: 1})
		if v != 1 || !(b > th) || a > th {
			t.Fatalf("scores %v and %v: threshold %v, value %v", a, b, th, v)
		}
	}
}
