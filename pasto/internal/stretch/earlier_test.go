package stretch

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/noregret/noregret/pasto/internal/lists"
)

// TestEarlier: what came before the mark counts for as much as is kept of it, by the values
// themselves, and what came after it for all.
func TestEarlier(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var e Earlier
		rounds, weights, means := make([]float64, 2), make([]float64, 2), make([]float64, 2)
		sum := [2]float64{} // of arm 1 before and after the mark
		add := func(after, n int) {
			for range n {
				v, w := rapid.Float64Range(-10, 10).Draw(t, "value"), rapid.Float64Range(.1, 5).Draw(t, "weight")
				rounds[1]++
				lists.Average(1, weights, means, w, []float64{v})
				sum[after] += w * v
			}
		}
		add(0, rapid.IntRange(1, 20).Draw(t, "before"))
		if by, left := e.Discounted(1, 1, means[1], weights[1], 0); by != 0 || left != weights[1] {
			t.Fatalf("%v and %v without a mark, want 0 and %v", by, left, weights[1])
		}
		if e.Mark([]int{0}, rounds, weights, means); e.Rounds != nil {
			t.Fatal("an arm without rounds has changed")
		}
		add(0, another)
		e.Mark([]int{0, 1}, rounds, weights, means)
		old, n := weights[1], rapid.IntRange(0, another-1).Draw(t, "after")
		add(1, n)
		if e.Mark([]int{1}, rounds, weights, means); e.Weight[1] != old {
			t.Fatalf("a change after %d rounds is another", n)
		}
		if !e.Fit(1, rounds[1], weights[1]) || e.Fit(1, rounds[1]-float64(n)-1, weights[1]) ||
			e.Fit(1, rounds[1], old/2) {
			t.Fatal("Fit takes more than there is, or refuses what there is")
		}
		keep := rapid.Float64Range(.1, 200).Draw(t, "keep")
		by, left := e.Discounted(1, 1, means[1], weights[1], keep)
		part := min(keep/old, 1)
		weight := part*old + weights[1] - old
		want := (part*sum[0] + sum[1]) / weight
		if math.Abs(left-weight) > 1e-9 || math.Abs(means[1]+by-want) > 1e-9*max(1, math.Abs(want)) {
			t.Fatalf("mean %v of weight %v, want %v of %v", means[1]+by, left, want, weight)
		}
		add(1, another)
		if e.Mark([]int{1}, rounds, weights, means); e.Weight[1] != weights[1] {
			t.Fatal("a change after many rounds is no other")
		}
		if by, left := e.Discounted(0, 0, 0, 0, keep); by != 0 || left != 0 {
			t.Fatalf("%v and %v of an arm without values, want 0 and 0", by, left)
		}
	})
}
