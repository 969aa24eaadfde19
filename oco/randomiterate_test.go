package oco

import (
	"testing"
)

// TestRandomIterate counts how often the point of each round is kept.
func TestRandomIterate(t *testing.T) {
	const rounds, runs = 5, 20000
	var count [rounds]int
	for seed := range uint64(runs) {
		l := must(NewRandomIterate(descent(space(1), nil, Constant(1)), LinearAlpha(), seed))
		for k := range rounds {
			// The point played in round k is −Σ_{i<k} α_i, all different.
			if err := l.Update([]float64{1}); err != nil {
				t.Fatal(err)
			}
			_ = k
		}
		x := -must(l.Iterate())[0]
		k := 0
		for sum := 0.0; sum < x; k++ {
			sum += float64(k + 1)
		}
		count[k]++
	}
	var chi float64
	for k, n := range count {
		want := float64(runs) * float64(k+1) / 15
		chi += (float64(n) - want) * (float64(n) - want) / want
	}
	if chi > 18.47 { // 4 degrees of freedom, p = .001
		t.Errorf("rounds %v are not kept in proportion to 1..5 (χ² = %v)", count, chi)
	}
}
