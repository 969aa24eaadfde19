package scored

import (
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/stat"
)

// Curve counts the examples above thresholds, at a few hundred of them. The thresholds are the
// scores at fixed ranks: each of the first [everyRank], and then ranks that grow by a sixteenth of
// a factor of two. Ranks and counts are in the scaled weights of the package comment.
type Curve struct {
	// Score are the thresholds, descending. The last is below all scores.
	Score []float64 `json:"score"`
	// Positives and Negatives count the examples whose scores are above each threshold, strictly;
	// their last numbers are those of all examples.
	Positives []float64 `json:"positives"`
	Negatives []float64 `json:"negatives"`
	// Ratio is the weight of one of the Negatives over that of one of the Positives, 1 where the
	// examples weigh the same.
	Ratio float64 `json:"ratio"`
}

// The ranks of a curve, and the first of those that begin a sequence of [Curve.AtPrecision].
const (
	everyRank   = 16
	perDouble   = 16
	firstTested = 8
)

// rounding is the error of sums of weights that are a whole number of examples.
const rounding = 1e-6

// rank returns the i-th rank, from 1.
func rank(i int) float64 {
	if i <= everyRank {
		return float64(i)
	}
	const step = 1.0442737824274138 // 2^(1/16)
	r := float64(everyRank)
	for range i - everyRank {
		r = float64(r * step)
	}
	return math.Ceil(r)
}

// NewCurve returns the curve of examples. ok is false without both classes or where a score is not
// finite. O(n log n).
func NewCurve(examples []Example) (c Curve, ok bool) {
	groups, ok := grouped(examples)
	t := totals(groups)
	if !ok || t.positive == 0 || t.negative == 0 {
		return c, false
	}
	ofPositive, ofNegative := t.positive/t.positiveSquare, t.negative/t.negativeSquare
	c.Ratio = ofPositive / ofNegative
	add := func(score, positives, negatives float64) {
		c.Score = append(c.Score, score)
		c.Positives = append(c.Positives, float64(positives*ofPositive))
		c.Negatives = append(c.Negatives, float64(negatives*ofNegative))
	}
	p, n, next, wanted := 0.0, 0.0, 1, rank(1)
	for _, g := range groups {
		reached := rounding + float64((p+g.positive)*ofPositive) + float64((n+g.negative)*ofNegative)
		if wanted <= reached {
			add(g.score, p, n)
		}
		for wanted <= reached {
			next++
			wanted = rank(next)
		}
		p += g.positive
		n += g.negative
	}
	low := groups[len(groups)-1].score
	add(low-max(1, float64(math.Abs(low)*1e-9)), p, n)
	return c, true
}

// Check returns an error of code bad_input for a curve that no examples have; place names it.
func (c *Curve) Check(place string) error {
	n := len(c.Score)
	if n < 2 || len(c.Positives) != n || len(c.Negatives) != n {
		return noregret.BadInputf(place, "%d scores, %d positives and %d negatives, want the same number, at least 2",
			n, len(c.Positives), len(c.Negatives))
	}
	for i := range n {
		s, p, q := c.Score[i], c.Positives[i], c.Negatives[i]
		bad := s-s != 0 || !(p >= 0) || !(q >= 0) || math.IsInf(p+q, 1)
		if bad || i > 0 && (s >= c.Score[i-1] || p < c.Positives[i-1] || q < c.Negatives[i-1]) {
			return noregret.BadInputf(place,
				"point %d has score %v with %v positives and %v negatives above, want finite "+
					"scores that descend and counts that do not", i, s, p, q)
		}
	}
	if !(c.Ratio > 0) || math.IsInf(c.Ratio, 1) {
		return noregret.BadInputf(place, "the ratio is %v, want a finite number above 0", c.Ratio)
	}
	if c.Positives[n-1] == 0 || c.Negatives[n-1] == 0 {
		return noregret.BadInputf(place, "%v positives and %v negatives, want some of both", c.Positives[n-1],
			c.Negatives[n-1])
	}
	return nil
}

// Share is a number of examples out of others.
type Share struct{ Of, All float64 }

// Value is the share, NaN of none.
func (s Share) Value() float64 { return s.Of / s.All }

// counts rounds the numbers down.
func (s Share) counts() (k, n int) {
	k = int(s.Of + rounding)
	return k, max(k, int(s.All+rounding))
}

// Interval is the interval of Clopper and Pearson (1934) for the share of a whole distribution, of
// the given confidence in (0, 1): each bound is beyond the truth with at most half of what is left
// of 1. Counts that are not whole are rounded down, and the interval is extended to the share
// itself where that moves it away.
func (s Share) Interval(confidence float64) (low, high float64) {
	k, n := s.counts()
	one := (1 + confidence) / 2
	low, high = stat.BinomialLower(k, n, one), stat.BinomialUpper(k, n, one)
	if v := s.Value(); v == v {
		low, high = min(v, low), max(v, high)
	}
	return low, high
}

// lower is the lower bound alone, of the whole confidence.
func (s Share) lower(confidence float64) float64 {
	k, n := s.counts()
	return stat.BinomialLower(k, n, confidence)
}

// Point is a threshold of a curve: an example is predicted positive if its score is above.
type Point struct {
	Threshold float64
	// Recall is the positive examples above of all positive ones, Precision those of all above.
	Recall, Precision Share
}

// point returns the i-th point. With classes of different weights its precision is out of as many
// examples as have, at the same precision, the same variance: by the delta method
// n₊n₋/(n₊ + n₋)/(p(1 − p)) for n₊ and n₋ above the threshold.
func (c *Curve) point(i int) Point {
	p, n, all := c.Positives[i], c.Negatives[i], c.Positives[len(c.Positives)-1]
	out := Point{c.Score[i], Share{p, all}, Share{p, p + n}}
	if c.Ratio != 1 && p > 0 && n > 0 {
		precision := p / (p + float64(c.Ratio*n))
		rows := p / (p + n) * n / float64(precision*(1-precision))
		out.Precision = Share{float64(precision * rows), rows}
	}
	return out
}

// At returns the point of the largest threshold of the curve that is not above the given one, or
// the lowest of all. Given a threshold that was not chosen on these examples, the intervals of its
// shares hold with their confidence.
func (c *Curve) At(threshold float64) Point {
	i := slices.IndexFunc(c.Score, func(s float64) bool { return s <= threshold })
	if i < 0 {
		i = len(c.Score) - 1
	}
	return c.point(i)
}

// AtRecall returns the highest threshold whose recall is at least the given one with the given
// confidence, both in (0, 1). It is an order statistic of the positive scores: the one that so many
// positives exceed that the bound of Clopper and Pearson reaches the recall. The confidence is that
// of the choice, for any distribution of the scores. ok is false if the positives are too few; the
// point is then the lowest, and bound what its positives show, in both cases.
func (c *Curve) AtRecall(recall, confidence float64) (p Point, bound float64, ok bool) {
	last := len(c.Score) - 1
	// The bounds ascend with the positives above.
	i, _ := slices.BinarySearchFunc(c.Positives, recall, func(k, recall float64) int {
		if (Share{k, c.Positives[last]}).lower(confidence) < recall {
			return -1
		}
		return 1
	})
	p = c.point(min(i, last))
	return p, p.Recall.lower(confidence), i <= last
}

// AtPrecision returns the lowest threshold whose precision is at least the given one with the given
// confidence, both in (0, 1). It tests every rank of the curve by the bound of Clopper and Pearson,
// from the highest score down, in a fixed sequence (Wiens 2003): what is left of 1 is divided
// equally among the ranks 8, 16, 32 and so on that are large enough to show the precision at all,
// and a test that is passed hands its part on to the next rank, so that hundreds of tests cost no
// more than a few. The confidence is that of the choice. It is exact where the precision falls
// below the given one at a single threshold, as where it falls with the threshold; where it crosses
// it several times, it is exact but for the chance that one of the ranks lies beyond a crossing
// that another sample of the same size would have put it before.
//
// ok is false if no threshold passes. reached is the precision that is shown: the given one, or if
// none passes the largest that one does, with its point.
func (c *Curve) AtPrecision(precision, confidence float64) (p Point, reached float64, ok bool) {
	points := c.ranked()
	if p, ok = sequence(points, precision, confidence); ok {
		return p, precision, true
	}
	p = c.point(0)
	low, high := 0.0, precision
	for range 20 {
		middle := (low + high) / 2
		if q, ok := sequence(points, middle, confidence); ok {
			p, low = q, middle
		} else {
			high = middle
		}
	}
	return p, low, false
}

// ranked returns the points whose thresholds are the scores of the ranks, by the index of the rank.
func (c *Curve) ranked() []Point {
	last, i := len(c.Score)-1, 0
	points := make([]Point, 1) // ranks count from 1
	for j := 1; rank(j) <= c.Positives[last]+c.Negatives[last]; j++ {
		for i < last && c.Positives[i+1]+c.Negatives[i+1] < rank(j)-rounding {
			i++
		}
		points = append(points, c.point(i))
	}
	return points
}

// sequence makes the tests of [Curve.AtPrecision] on the points of the ranks.
func sequence(points []Point, precision, confidence float64) (p Point, ok bool) {
	// The first rank is the least that could pass with its part, if all above it were positive.
	first, starts := firstTested, 0
	for ; first < len(points); first = nextStart(first) {
		starts = 0
		for i := first; i < len(points); i = nextStart(i) {
			starts++
		}
		all := rank(first) - 1
		if (Share{all, all}).lower(1-(1-confidence)/float64(starts)) >= precision {
			break
		}
	}
	level, start := 0.0, first
	for j := first; j < len(points); j++ {
		if j == start {
			level += (1 - confidence) / float64(starts)
			start = nextStart(start)
		}
		switch {
		case level == 0: // a test before failed
		case points[j].Precision.lower(1-level) >= precision:
			p, ok = points[j], true
		default:
			level = 0
		}
	}
	return p, ok
}

// nextStart is the index of twice a rank, from firstTested on.
func nextStart(i int) int {
	if i < everyRank {
		return 2 * i
	}
	return i + perDouble
}
