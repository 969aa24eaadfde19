package classify

import (
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/internal/random"
)

// scoredClasses draws rows of n classes, of which class 0 is the most frequent, with scores that
// are those of a good model but for a shift of each class.
func scoredClasses(seed uint64, rows int, shift []float64) classScores {
	var out classScores
	rng := random.New(seed, "offsets")
	for range rows {
		y := 0
		for y+1 < len(shift) && rng.Float64() < 0.5 {
			y++
		}
		z := make([]float64, len(shift))
		for k := range z {
			z[k] = math.Round(8*rng.NormFloat64())/8 + shift[k] // with ties
		}
		z[y] += 2
		out.add(z, y, 0.5+rng.Float64())
	}
	return out
}

func multi(t *testing.T, name string) measure.Multi {
	t.Helper()
	m, err := measure.ParseMulti(name, false)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

var offsetMeasures = []string{"macro_f1", "macro_jaccard", "min", "gmean", "qmean", "macro_recall", "accuracy"}

// confused is a measure of decisions, by the confusion matrix.
func (c *classScores) confused(t *testing.T, m measure.Multi, thresholds []float64) float64 {
	t.Helper()
	all, err := measure.NewMulticlassConfusion(len(thresholds))
	if err != nil {
		t.Fatal(err)
	}
	for i, z := range c.scores {
		all.Add(c.truth[i], decision(z, thresholds), c.weight[i])
	}
	return m.OfPresentClasses(all)
}

// A sweep over the thresholds of one class finds the best of all of them, and the counts that are
// updated by moves are those of the confusion matrix.
func TestSweepIsExact(t *testing.T) {
	for seed := range uint64(20) {
		shift := []float64{0, 1, -0.5, 0.25}
		on := scoredClasses(seed, 45, shift)
		for _, name := range offsetMeasures {
			m := multi(t, name)
			s := newOffsetTuner(m, on, []float64{0, 0.5, -0.25, 0})
			for k := range shift {
				s.list(k)
				now := s.sweep(k)
				if got, want := s.values[now], on.confused(t, m, s.thresholds); s.isGap(now) && !sameValue(got, want) {
					t.Fatalf("seed %d, %s, class %d: the present value is %v, want %v", seed, name, k, got, want)
				}
				best, least := math.Inf(-1), slices.Min(s.own)
				for _, x := range s.moves {
					thresholds := slices.Clone(s.thresholds)
					for _, d := range []float64{-1e-9, 1e-9} {
						if thresholds[k] = x.at + d; x.at >= least {
							best = max(best, on.confused(t, m, thresholds))
						}
					}
				}
				found := math.Inf(-1)
				for _, v := range s.values {
					if v == v {
						found = max(found, v)
					}
				}
				if !sameValue(best, found) {
					t.Fatalf("seed %d, %s, class %d: the best value is %v, found %v", seed, name, k, best, found)
				}
			}
		}
	}
}

func sameValue(a, b float64) bool { return math.Abs(a-b) <= 1e-9 || a != a && b != b }

// Joint tuning takes back the shifts of the classes, as fresh rows show, and is as good as no
// tuning where there is nothing to gain.
func TestJointThresholds(t *testing.T) {
	for _, name := range offsetMeasures {
		m := multi(t, name)
		for _, shift := range [][]float64{{0, 0, 0, 0, 0}, {0, 1.5, -1, 2, -1.5}} {
			on, fresh := scoredClasses(1, 4000, shift), scoredClasses(2, 20_000, shift)
			none := make([]float64, len(shift))
			before, found := fresh.confused(t, m, none), jointThresholds(m, &on, len(shift))
			after, ideal := fresh.confused(t, m, found), fresh.confused(t, m, shift)
			if after < max(before, ideal)-0.01 {
				t.Errorf("%s, shift %v: %v with thresholds %v, %v without, %v without the shift", name, shift, after,
					found, before, ideal)
			}
			if again := jointThresholds(m, &on, len(shift)); !slices.Equal(found, again) {
				t.Errorf("%s: %v, then %v", name, found, again)
			}
		}
	}
}

// Steps raise the measure on the rows themselves, and a class of few rows keeps its threshold.
func TestTuneOffsets(t *testing.T) {
	for seed := range uint64(10) {
		shift := []float64{0, 1, -1, 0.5, 2, 0}
		on := scoredClasses(seed, 300, shift)
		rows := make([]int, len(shift))
		for _, y := range on.truth {
			rows[y]++
		}
		for _, name := range offsetMeasures {
			m, start := multi(t, name), make([]float64, len(shift))
			found := tuneOffsets(m, on, start)
			before, after := on.confused(t, m, start), on.confused(t, m, found)
			if after < before || slices.Equal(found, start) {
				t.Errorf("seed %d, %s: %v before, %v with %v", seed, name, before, after, found)
			}
			for k, n := range rows {
				if n < leastTunedRows && found[k] != 0 {
					t.Errorf("seed %d, %s: class %d has %d rows and the threshold %v", seed, name, k, n, found[k])
				}
			}
		}
	}
	if got := tuneOffsets(multi(t, "min"), classScores{}, []float64{1, 2}); !slices.Equal(got, []float64{1, 2}) {
		t.Errorf("without rows %v", got)
	}
}

// A threshold of 0 has no sign, as it is printed.
func TestThresholdsAreNotMinusZero(t *testing.T) {
	on := classScores{scores: [][]float64{{1, 0}, {1, 0}, {0, 1}}, truth: []int{0, 0, 1}, weight: []float64{1, 1, 1}}
	for k, v := range jointThresholds(multi(t, "macro_f1"), &on, 2) {
		if v != 0 || math.Signbit(v) {
			t.Errorf("class %d has the threshold %v, want 0", k, v)
		}
	}
}

// Any algorithm of several classes tunes thresholds if asked, which makes rare classes' recalls
// better on fresh data, gives probabilities by the same scores, and is the same twice.
func TestTunedClasses(t *testing.T) {
	t.Parallel()
	data, fresh := classSet(t, 1, 2000), classSet(t, 2, 2000)
	for _, name := range []string{"logistic", "softmax", "spade"} {
		value := func(opt Options) float64 {
			r, err := Fit(t.Context(), data, opt)
			if err != nil {
				t.Fatal(err)
			}
			again, err := Fit(t.Context(), data, opt)
			if err != nil {
				t.Fatal(err)
			}
			for k, m := range r.Models {
				if tuned := opt.Threshold == ThresholdTuned; !tuned && m.Threshold != 0 ||
					m.Threshold != again.Models[k].Threshold || tuned && len(r.Calibration) != len(r.Models) {
					t.Errorf("%s, %v: class %d has the threshold %v, then %v, and %d calibrations", name,
						opt.Threshold, k, m.Threshold, again.Models[k].Threshold, len(r.Calibration))
				}
			}
			checkMultiFile(t, data, opt, r)
			c, err := Evaluate(t.Context(), fresh, r.Classifier())
			if err != nil {
				t.Fatal(err)
			}
			return c.Value(opt.Measure)
		}
		opt := Options{Measure: multi(t, "min"), Algorithm: name, Seed: 1, Passes: new(5)}
		zero := value(opt)
		opt.Threshold = ThresholdTuned
		if tuned := value(opt); tuned < max(zero-0.02, 0.5) {
			t.Errorf("%s: min recall %v with tuned thresholds, %v without", name, tuned, zero)
		}
	}
}
