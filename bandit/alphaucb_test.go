package bandit

import (
	"math"
	"slices"
	"testing"
)

// withinErrors fails unless a share of the runs is within 4 standard errors of its probability.
func withinErrors(t testing.TB, share, want float64, runs int) {
	t.Helper()
	if se := math.Sqrt(want * (1 - want) / float64(runs)); math.Abs(share-want) > 4*se {
		t.Errorf("share %v, want %v ± %v", share, want, se)
	}
}

// The run with constant losses, computed independently: the arms, two indices and the pulls.
func TestAlphaUCBReference(t *testing.T) {
	losses := []float64{.2, .5, .4}
	for sigma, want := range map[float64][]int{.5: {9633, 122, 245}, 1: {8902, 386, 712}} {
		u, arms := made(NewPlayer(3, AlphaUCB{Alpha: 3, Sigma: sigma})), []int{}
		for round := 1; round <= 10000; round++ {
			index := []float64{u.Index(0), u.Index(1), u.Index(2)}
			if sigma == .5 && round == 4 {
				nearAll(t, "indices", index, []float64{-1.242026887, -0.9420268866, -1.042026887})
			}
			if sigma == .5 && round == 8 {
				nearAll(t, "indices", index, []float64{-0.8196669902, -0.7488319167, -0.8488319167})
			}
			k := u.Draw(nil)
			if arms = append(arms, k); slices.Min(index) != index[k] {
				t.Fatalf("round %d: arm %d of the indices %v", round, k, index)
			}
			if err := u.Update(k, losses[k]); err != nil {
				t.Fatal(err)
			}
		}
		first := []int{0, 1, 2, 0, 2, 1, 0, 2, 0, 1, 0, 2, 0, 1, 0, 2, 0, 1, 0, 2}
		if sigma == .5 && !slices.Equal(arms[:20], first) {
			t.Errorf("arms %v, want %v", arms[:20], first)
		}
		if pulls := []int{u.Pulls(0), u.Pulls(1), u.Pulls(2)}; !slices.Equal(pulls, want) {
			t.Errorf("sigma %v: pulls %v, want %v", sigma, pulls, want)
		}
	}
}

func TestAlphaUCBBounds(t *testing.T) {
	gaps := []float64{0, .3, .2}
	near(t, "bound", AlphaUCBBound(gaps, 10000, 3, 1), 1843.568074)
	near(t, "gap-free bound", AlphaUCBGapFreeBound(gaps, 10000, 3, 1), 5151.818463)
	near(t, "pulls", AlphaUCBPulls(.3, 10000, 3, 1), 2459.090766)
	near(t, "pulls", AlphaUCBPulls(.2, 10000, 3, 1), 5529.204223)
	near(t, "bound", AlphaUCBBound(gaps, 10000, 3, .5), 462.0170186)
	near(t, "gap-free bound", AlphaUCBGapFreeBound(gaps, 10000, 3, .5), 2576.659232)
	if b := AlphaUCBBound([]float64{0, 0}, 100, 3, 1); b != 0 {
		t.Errorf("without gaps: %v", b)
	}
	for _, b := range []float64{
		AlphaUCBBound(gaps, 10, 2, 1), AlphaUCBPulls(.1, 10, 2, 1), AlphaUCBGapFreeBound(gaps, 10, 2, 1),
	} {
		if !math.IsInf(b, 1) {
			t.Errorf("alpha 2: %v", b)
		}
	}
}
