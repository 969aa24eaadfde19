package bandit

import (
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/internal/random"
)

// After any changes the tree is that of a fresh one, bit for bit, its probabilities are those of
// the softmax, and its draws follow the cumulative probabilities.
func TestExpTree(t *testing.T) {
	for seed := range uint64(60) {
		r := random.New(seed, "tree")
		d, rate, explore := 1+r.IntN(40), math.Exp(4-8*r.Float64()), 0.0
		if seed%3 == 0 {
			explore = r.Float64()
		}
		a, sums := newExpTree(d, rate, explore), make([]float64, d)
		a.rebuild(sums)
		want := make([]float64, d)
		for range 300 {
			k := r.IntN(d)
			sums[k] += (r.Float64() - .3*float64(seed%2)) * 40 / rate * r.Float64()
			a.change(sums, k)
			b := newExpTree(d, rate, explore)
			b.rebuild(sums)
			if a.reference != b.reference || !slices.Equal(a.sum, b.sum) {
				t.Fatalf("seed %d: a changed tree differs from a fresh one", seed)
			}
			softmax(want, sums, rate)
			below := 0.0
			for k, x := range want {
				x = (1-explore)*x + explore/float64(d)
				if got := a.probability(k); math.Abs(got-x) > 1e-12 {
					t.Fatalf("seed %d: probability %v of arm %d, want %v", seed, got, k, x)
				}
				if x > 1e-9 {
					if got := a.draw(below + x*(.01+.98*r.Float64())); got != k {
						t.Fatalf("seed %d: arm %d, want %d", seed, got, k)
					}
				}
				below += x
			}
			if k := a.draw(math.Nextafter(1, 0)); !(a.probability(k) > 0) {
				t.Fatalf("seed %d: arm %d of probability 0", seed, k)
			}
		}
	}
}

// Estimates of any size give weights that are finite and not all 0.
func TestExpTreeExtremes(t *testing.T) {
	for _, rate := range []float64{1e-100, 1, 1e100} {
		for _, sums := range [][]float64{
			{0, 0, maxSum},
			{-maxSum, 0, maxSum},
			{maxSum, maxSum, maxSum},
			{0, 1e-300, 1},
		} {
			a := newExpTree(3, rate, 0)
			a.rebuild(sums)
			if total := a.sum[1]; !(total > 1e-30 && total < 1e30) {
				t.Errorf("rate %v, estimates %v: total %v", rate, sums, total)
			}
			a.change(sums, 1)
		}
	}
}
