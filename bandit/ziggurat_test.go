package bandit

import (
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/internal/testsize"
)

// chiSquare fails if counts differ from their expectations more than 4.5 standard deviations of
// Pearson's χ². Cells with an expectation below 5 are joined.
func chiSquare(t testing.TB, what any, counts, want []float64) {
	t.Helper()
	chi, freedom, rareCount, rare := 0.0, -1.0, 0.0, 0.0
	add := func(count, want float64) {
		chi += square(count-want) / want
		freedom++
	}
	for k, w := range want {
		if w < 5 {
			rareCount += counts[k]
			rare += w
		} else {
			add(counts[k], w)
		}
	}
	switch {
	case rare >= 5:
		add(rareCount, rare)
	case rareCount > rare+6*math.Sqrt(rare+1):
		t.Errorf("%v: %v rare events, want %v", what, rareCount, rare)
	}
	// (χ²/n)^(1/3) is nearly normal with the mean 1 − 2/(9n) and the variance 2/(9n).
	if freedom < 1 {
		return
	}
	v := 2 / (9 * freedom)
	if z := (math.Cbrt(chi/freedom) - (1 - v)) / math.Sqrt(v); z > 4.5 {
		t.Errorf("%v: χ² = %v with %v degrees of freedom", what, chi, freedom)
	}
}

// The layers cover the density: the last one ends at 0, where the density is 1.
func TestZigguratCloses(t *testing.T) {
	x := ziggurat.end[layers-1]
	near(t, "density at the top", zigguratArea/x+math.Exp(-x*x/2), 1)
	if !slices.IsSortedFunc(ziggurat.end[:], func(a, b float64) int { return int(math.Copysign(1, b-a)) }) {
		t.Error("the ends of the layers do not fall")
	}
}

// Draws fall into 200 cells with the probabilities of the normal distribution, and so do those of
// its tail.
func TestNormalLaw(t *testing.T) {
	n := testsize.Of(4000000, 200000)
	for _, c := range []struct {
		what   string
		draw   func(r Rand) float64
		below  func(x float64) float64
		lo, hi float64
	}{
		{"normal", normal, stat.NormalBelow, -4.2, 4.2},
		{
			"tail", func(r Rand) float64 { return tail(r, 3) },
			func(x float64) float64 { return 1 - stat.NormalBelow(-max(x, 3))/normalTails[0].delta }, 3, 5,
		},
	} {
		const cells = 200
		r, counts, want := random.New(1, c.what), make([]float64, cells+2), make([]float64, cells+2)
		for range n {
			at := (c.draw(r) - c.lo) / (c.hi - c.lo) * cells
			counts[int(min(max(math.Floor(at)+1, 0), cells+1))]++
		}
		last := 0.0
		for i := range want {
			next := 1.0
			if i <= cells {
				next = c.below(c.lo + float64(i)/cells*(c.hi-c.lo))
			}
			want[i], last = (next-last)*float64(n), next
		}
		chiSquare(t, c.what, counts, want)
	}
}
