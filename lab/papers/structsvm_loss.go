package papers

import (
	"math"
	"sort"

	"github.com/noregret/noregret/classify/measure"
)

// structLoss is Δ = 1 - a measure as a function of the numbers of errors.
type structLoss struct {
	measure measure.Measure
	// of is Δ with so many positives and negatives, of which fn and fp are on the wrong side.
	of func(positives, negatives, fn, fp int) float64
	// search finds the numbers of errors of the most violated labeling.
	search func(v *violations) (fn, fp int)
}

// structLosses are the measures that the struct-SVM is made for: those of the figures of
// Narasimhan, Kar and Jain (2015).
var structLosses = []structLoss{
	{f1, func(positives, _, fn, fp int) float64 { return f1Loss(positives, fn, fp) }, concaveSearch},
	{measure.Jaccard(), func(positives, _, fn, fp int) float64 {
		return 1 - float64(positives-fn)/float64(positives+fp)
	}, concaveSearch},
	{measure.QMean{}, func(positives, negatives, fn, fp int) float64 {
		u, v := float64(fn)/float64(positives), float64(fp)/float64(negatives)
		return math.Sqrt((float64(u*u) + float64(v*v)) / 2)
	}, arcSearch},
	{measure.Min{}, func(positives, negatives, fn, fp int) float64 {
		return max(float64(fn)/float64(positives), float64(fp)/float64(negatives))
	}, cornerSearch},
}

// f1Loss is Δ = 1 - F₁ with n₊ positives of which fn are missed, and fp false positives.
func f1Loss(positives, fn, fp int) float64 {
	hits := 2 * (positives - fn)
	return 1 - float64(hits)/float64(hits+fn+fp)
}

// violations are those of the labelings that flip the positives with the lowest and the negatives
// with the highest scores.
type violations struct {
	delta func(fn, fp int) float64
	// pos has 2/n times the scores of the positives, rising, and neg those of the negatives,
	// falling. above and below are their prefix sums.
	pos, neg, above, below []float64
}

// prefixes returns the sums of the first 0, 1, ... values.
func prefixes(values []float64) []float64 {
	sums := make([]float64, len(values)+1)
	for k, v := range values {
		sums[k+1] = sums[k] + v
	}
	return sums
}

// of is the violation of the labeling with so many errors.
func (v *violations) of(fn, fp int) float64 { return v.delta(fn, fp) + v.below[fp] - v.above[fn] }

// largest keeps the numbers of errors of the largest violation, the first of equal ones.
type largest struct {
	value  float64
	fn, fp int
}

func (l *largest) see(v *violations, fn, fp int) {
	if x := v.of(fn, fp); x > l.value {
		*l = largest{x, fn, fp}
	}
}

// concaveSearch is for a Δ that is concave in the number of false positives. For each number of
// missed positives the violation is then concave, too (so are the prefix sums of falling scores),
// and bisection on its increments finds the best one.
func concaveSearch(v *violations) (fn, fp int) {
	best := largest{value: math.Inf(-1)}
	for f := range len(v.pos) + 1 {
		best.see(v, f, sort.Search(len(v.neg), func(h int) bool {
			return v.delta(f, h+1)-v.delta(f, h)+v.neg[h] <= 0
		}))
	}
	return best.fn, best.fp
}

// missed is the number of positives that are flipped if each of them gains a/n₊, and alarms that of
// negatives if each gains b/n₋.
func (v *violations) missed(a float64) int {
	n := float64(len(v.pos))
	return sort.Search(len(v.pos), func(i int) bool { return n*v.pos[i] >= a })
}

func (v *violations) alarms(b float64) int {
	n := float64(len(v.neg))
	return sort.Search(len(v.neg), func(j int) bool { return -n*v.neg[j] >= b })
}

// cornerSearch is for Δ = max(u, v) of the rates of errors u and v, which is the larger of 1·u +
// 0·v and 0·u + 1·v: for each of these the rows are flipped one by one.
func cornerSearch(v *violations) (fn, fp int) {
	best := largest{value: math.Inf(-1)}
	best.see(v, v.missed(1), v.alarms(0))
	best.see(v, v.missed(0), v.alarms(1))
	return best.fn, best.fp
}

// arcSearch is for Δ = √((u² + v²)/2) of the rates of errors u and v, which is the largest a·u +
// b·v on the arc a² + b² = ½, a, b ≥ 0. For fixed a and b the rows are flipped one by one, more
// positives and fewer negatives as a rises, so that all pairs of numbers which are best for some
// point of the arc lie on a staircase of O(n) steps.
func arcSearch(v *violations) (fn, fp int) {
	best := largest{value: math.Inf(-1)}
	n := float64(len(v.pos))
	other := func(a float64) float64 { return math.Sqrt(max(0, 0.5-float64(a*a))) }
	for f := range len(v.pos) + 1 {
		// f positives are flipped for a in [low, high].
		low, high := 0.0, math.Sqrt(0.5)
		if f > 0 {
			low = max(low, n*v.pos[f-1])
		}
		if f < len(v.pos) {
			high = min(high, n*v.pos[f])
		}
		if low > high {
			continue
		}
		// One step more on both sides stands for the rounding of the ends.
		from, to := v.alarms(other(high))-1, v.alarms(other(low))+1
		for h := max(0, from); h <= min(len(v.neg), to); h++ {
			best.see(v, f, h)
		}
	}
	return best.fn, best.fp
}
