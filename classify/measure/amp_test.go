package measure

import (
	"errors"
	"math"
	"testing"
)

// best returns the candidate (P, N) with the largest weighted sum at level v.
func best(k Coefficients, v float64, candidates [][2]float64) (float64, float64) {
	kPos, kNeg := k.Weights(v)
	top, at := math.Inf(-1), 0
	for i, c := range candidates {
		if s := kPos*c[0] + k.Theta*kNeg*c[1]; s > top {
			top, at = s, i
		}
	}
	return candidates[at][0], candidates[at][1]
}

// AMP (algorithm 2 of Narasimhan, Kar and Jain 2015) on five candidates, θ = 19.
func TestAlternateOnCandidates(t *testing.T) {
	candidates := [][2]float64{{1, 0}, {.9, .7}, {.7, .95}, {.5, .99}, {.3, .998}}
	for _, tc := range []struct {
		m      Ratio
		values []float64
		levels []float64
	}{
		{
			FBeta{B: 1},
			[]float64{.0952380952, .2368421053, .5283018868, .5917159763, .4484304933},
			[]float64{0, .0952380952, .5283018868, .5917159763},
		},
		{Jaccard(), nil, []float64{0, .05, .3589743590, .4201680672}},
	} {
		k := tc.m.Coefficients(19)
		for i, v := range tc.values {
			near(t, "candidate", k.Of(candidates[i][0], candidates[i][1]), v, 6e-11)
		}
		levels, err := Alternate(k, 0, 1e-12, 50, func(v float64) (float64, float64, error) {
			p, n := best(k, v, candidates)
			return p, n, nil
		})
		if err != nil || len(levels) != len(tc.levels) {
			t.Fatalf("%s: levels %v, %v; want %v", tc.m.Name(), levels, err, tc.levels)
		}
		for i := range levels {
			near(t, tc.m.Name()+" level", levels[i], tc.levels[i], 6e-11)
		}
		star := levels[len(levels)-1]
		if _, isF := tc.m.(FBeta); isF {
			for i, want := range []float64{.839048, .127728, 0} {
				ratio := (star - levels[i+1]) / (star - levels[i])
				near(t, "gap ratio", ratio, want, 6e-7)
				d := func(c [2]float64) float64 { return 1 + (k.B[1]*c[0]+k.B[2]*c[1])/k.B[0] }
				p, n := best(k, levels[i], candidates)
				bound := 1 - d(candidates[3])/d([2]float64{p, n})
				near(t, "bound 1 - D*/D", bound, []float64{.919524, .362264, 0}[i], 6e-7)
				if ratio > bound+1e-12 || bound > k.Rate(1)+1e-12 {
					t.Errorf("step %d: ratio %v, bound %v, rate %v out of order", i, ratio, bound, k.Rate(1))
				}
			}
		}
	}
}

// The levels of exact AMP (Narasimhan, Kar and Jain 2015, algorithm 2) for F1 on Gaussian ROC
// curves, from v = 0.
func TestAlternateOnGaussianROC(t *testing.T) {
	phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	for _, tc := range []struct {
		p, delta float64
		levels   []float64
	}{
		{.5, 2, []float64{.666667, .840476, .844288, .844290}},
		{.05, 2, []float64{.095238, .340250, .498673, .518160, .518357}},
		{.006, 2.5, []float64{.011928, .091914, .278069, .407107, .423516, .423681}},
	} {
		var curve [][2]float64
		for tau := -8.0; tau <= 8; tau += 8e-5 {
			curve = append(curve, [2]float64{phi(tc.delta - tau), phi(tau)})
		}
		k := FBeta{B: 1}.Coefficients((1 - tc.p) / tc.p)
		levels, err := Alternate(k, 0, 1e-9, 50, func(v float64) (float64, float64, error) {
			p, n := best(k, v, curve)
			return p, n, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range tc.levels {
			near(t, "level", levels[i+1], want, 6e-7)
		}
		if last := levels[len(levels)-1]; math.Abs(last-tc.levels[len(tc.levels)-1]) > 1e-6 {
			t.Errorf("p=%v: ended at %v, want %v", tc.p, last, tc.levels[len(tc.levels)-1])
		}
	}
}

func TestAlternateError(t *testing.T) {
	boom := errors.New("boom")
	if _, err := Alternate(FBeta{B: 1}.Coefficients(1), 0, 0, 5, func(float64) (float64, float64, error) {
		return 0, 0, boom
	}); !errors.Is(err, boom) {
		t.Errorf("got %v, want the model's error", err)
	}
}
