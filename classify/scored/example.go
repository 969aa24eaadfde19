package scored

import (
	"cmp"
	"math"
	"slices"
)

// Example is one example under a classifier.
type Example struct {
	Score    float64
	Weight   float64
	Positive bool
	// Copies is how many examples of equal weights this one stands for, which have the Weight
	// together; 0 stands for one. It may be the effective number of examples of unequal weights,
	// with a fraction. It is not for [LogLoss], [Brier] and [Classes].
	Copies float32
}

// copies is the number of examples that e stands for.
func (e *Example) copies() float64 {
	if e.Copies == 0 {
		return 1
	}
	return float64(e.Copies)
}

// square is the sum of the squared weights.
func (e *Example) square() float64 { return float64(e.Weight*e.Weight) / e.copies() }

// Count is the number of examples that stand in a list, and of the positive ones among them,
// rounded.
func Count(examples []Example) (all, positives int64) {
	var n [2]float64
	for i := range examples {
		e := &examples[i]
		n[0] += e.copies()
		if e.Positive {
			n[1] += e.copies()
		}
	}
	return int64(math.Round(n[0])), int64(math.Round(n[1]))
}

// group holds the examples of one score.
type group struct {
	score              float64
	positive, negative float64 // sums of weights
	// Sums of squared weights.
	positiveSquare, negativeSquare float64
}

// grouped returns the examples by score, the largest first, those of weight 0 left out. ok is false
// if a score or weight is not finite or a weight is negative. O(n log n).
func grouped(examples []Example) (groups []group, ok bool) {
	sorted := slices.Clone(examples)
	slices.SortStableFunc(sorted, func(a, b Example) int { return cmp.Compare(b.Score, a.Score) })
	for _, e := range sorted {
		if e.Score-e.Score != 0 || !(e.Weight >= 0) || math.IsInf(e.Weight, 1) {
			return nil, false
		}
		if e.Weight == 0 {
			continue
		}
		if n := len(groups); n == 0 || groups[n-1].score != e.Score {
			groups = append(groups, group{score: e.Score})
		}
		g, square := &groups[len(groups)-1], e.square()
		if e.Positive {
			g.positive += e.Weight
			g.positiveSquare += square
		} else {
			g.negative += e.Weight
			g.negativeSquare += square
		}
	}
	return groups, true
}

// totals sums the groups.
func totals(groups []group) (t group) {
	for _, g := range groups {
		t.positive += g.positive
		t.negative += g.negative
		t.positiveSquare += g.positiveSquare
		t.negativeSquare += g.negativeSquare
	}
	return t
}

// effective is the effective number of examples of weights with the given sum and sum of squares.
func effective(weight, squares float64) float64 { return float64(weight / squares * weight) }
