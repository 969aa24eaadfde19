package bandit

import (
	"math"

	"github.com/noregret/noregret/internal/portable"
)

// expTree holds exponential weights at a fixed rate, exp(−η·(G̃_i − reference)), as the leaves of a
// binary tree of sums, and the lowest G̃ in a tree of minima. A change of one estimate and a draw
// cost O(log d). The reference follows the lowest estimate in steps of [expBlock]/η, so that
// weights neither overflow nor all underflow, and a step rebuilds the tree. All is a function of
// the estimates alone, not of the order in which they changed.
type expTree struct {
	rate, explore float64 // explore is the share of uniform draws
	arms, size    int     // size is the number of leaves
	reference     float64
	sum, least    []float64 // node 1 is the root, nodes 2i and 2i + 1 are below node i
}

// expBlock is the logarithm of the ratio by which all weights may fall before the tree is rebuilt.
const expBlock = 64

func newExpTree(arms int, rate, explore float64) *expTree {
	t := &expTree{rate: rate, explore: explore, arms: arms, size: 1}
	for t.size < arms {
		t.size *= 2
	}
	t.sum, t.least = make([]float64, 2*t.size), make([]float64, 2*t.size)
	for i := range t.least {
		t.least[i] = math.Inf(1)
	}
	return t
}

// referenceFor is the reference for the lowest estimate.
func (t *expTree) referenceFor(least float64) float64 {
	blocks := float64(least*t.rate) / expBlock
	if !(math.Abs(blocks) < 1<<40) {
		return least
	}
	return math.Floor(blocks) * (expBlock / t.rate)
}

// set sets the leaf of arm k.
func (t *expTree) set(k int, estimate float64) {
	t.least[t.size+k] = estimate
	t.sum[t.size+k] = portable.Exp(-float64(t.rate * (estimate - t.reference)))
}

// join computes an inner node.
func (t *expTree) join(i int) {
	t.sum[i] = t.sum[2*i] + t.sum[2*i+1]
	t.least[i] = min(t.least[2*i], t.least[2*i+1])
}

// rebuild computes all nodes.
func (t *expTree) rebuild(estimates []float64) {
	least := math.Inf(1)
	for _, g := range estimates {
		least = min(least, g)
	}
	t.reference = t.referenceFor(least)
	for k, g := range estimates {
		t.set(k, g)
	}
	for i := t.size - 1; i > 0; i-- {
		t.join(i)
	}
}

// change computes the nodes above arm k, whose estimate has changed.
func (t *expTree) change(estimates []float64, k int) {
	t.set(k, estimates[k])
	for i := (t.size + k) / 2; i > 0; i /= 2 {
		t.join(i)
	}
	if t.referenceFor(t.least[1]) != t.reference {
		t.rebuild(estimates)
	}
}

// probability is that of drawing arm k.
func (t *expTree) probability(k int) float64 {
	p := t.sum[t.size+k] / t.sum[1]
	if t.explore > 0 {
		p = float64((1-t.explore)*p) + t.explore/float64(t.arms)
	}
	return p
}

// draw returns the first arm with a sum of probabilities above u, up to rounding, and never one of
// probability 0.
func (t *expTree) draw(u float64) int {
	scale := float64(u * t.sum[1])
	i, first, width := 1, 0, t.size
	// The uniform part of an arm's mass, in the units of the sums.
	uniform := float64(t.explore * t.sum[1] / float64(t.arms))
	for i < t.size {
		i, width = 2*i, width/2
		left, right := t.sum[i], t.sum[i+1]
		if uniform > 0 {
			left = float64((1-t.explore)*left) + float64(uniform*float64(t.real(first, width)))
			right = float64((1-t.explore)*right) + float64(uniform*float64(t.real(first+width, width)))
		}
		if scale >= left && right > 0 {
			scale -= left
			first += width
			i++
		}
	}
	return first
}

// real is the number of arms among width leaves from first on.
func (t *expTree) real(first, width int) int { return min(max(t.arms-first, 0), width) }
