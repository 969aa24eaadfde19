// Package stretch compares what arms were like recently with what they were like before: in the
// newest round, in the running segment of up to 16 rounds, and in blocks of 32, 64, ... rounds up
// to half of all. Long stretches find small changes, short ones find large changes soon.
//
// Each arm has two rows of metrics in a round: what it was observed to be, and the same adjusted by
// what others of the round are like. [Means] has both of each stretch, and [Test] compares two
// means. [Suspects] are arms whose own values got worse where others say nothing sure, and
// [Earlier] tells what arms have been like since the last change.
package stretch

import (
	"math"

	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/pasto/internal/check"
	"github.com/noregret/noregret/pasto/internal/lists"
)

// Segment is the number of rounds of a segment.
const Segment = 16

// mostBlock is the number of rounds of the longest block.
const mostBlock = 1024

// Means are those of the stretches of each arm that have not ended, as a snapshot holds them.
type Means struct {
	Rounds        []float64 `of:"arm"` // rounds that count since the arm began
	SegmentWeight []float64 `of:"arm"`
	SegmentMean   []float64 `of:"both,signed"`
	SegmentSize   []float64 `of:"arm"`         // of the raw values
	SegmentRaw    []float64 `of:"both,signed"` // their mean
	BlockRounds   []float64 `of:"arm"`
	BlockLimit    []float64 `of:"arm"` // its length in rounds, 0 for the first
	BlockWeight   []float64 `of:"arm"`
	BlockMean     []float64 `of:"both,signed"`
	BlockSize     []float64 `of:"arm"`         // of the raw values
	BlockRaw      []float64 `of:"both,signed"` // their mean
}

// A Part is what an arm was like in a stretch: means of M metrics, and the units that they are of.
type Part struct {
	Weight   float64 // of Adjusted
	Adjusted []float64
	Size     float64 // of Raw
	Raw      []float64
}

// Add adds a round of arm k.
func (s *Means) Add(k int, x Part) {
	s.Rounds[k]++
	s.BlockRounds[k]++
	if x.Weight > 0 {
		lists.Average(k, s.SegmentWeight, s.SegmentMean, x.Weight, x.Adjusted)
		lists.Average(k, s.BlockWeight, s.BlockMean, x.Weight, x.Adjusted)
	}
	lists.Average(k, s.SegmentSize, s.SegmentRaw, x.Size, x.Raw)
	lists.Average(k, s.BlockSize, s.BlockRaw, x.Size, x.Raw)
}

// length is the number of rounds of the running segment of arm k.
func (s *Means) length(k int) int64 { return int64(s.Rounds[k]-1)%Segment + 1 }

// Newest reports whether the newest round of arm k has enough rounds before it to compare with.
func (s *Means) Newest(k int) bool { return s.Rounds[k] > Segment }

// Segment returns the running segment of arm k, and whether enough rounds came before it.
func (s *Means) Segment(k int) (x Part, ok bool) {
	from, to := s.row(k)
	return Part{s.SegmentWeight[k], s.SegmentMean[from:to], s.SegmentSize[k], s.SegmentRaw[from:to]},
		s.Rounds[k]-float64(s.length(k)) >= Segment
}

// Block returns the running block of arm k, and whether enough rounds came before it and it is to
// be compared in this round: that is each time a segment ends.
func (s *Means) Block(k int) (x Part, ok bool) {
	from, to := s.row(k)
	return Part{s.BlockWeight[k], s.BlockMean[from:to], s.BlockSize[k], s.BlockRaw[from:to]},
		s.length(k) == Segment && s.Rounds[k]-s.BlockRounds[k] >= Segment
}

// row returns where the metrics of arm k begin and end.
func (s *Means) row(k int) (from, to int) {
	m := len(s.SegmentMean) / len(s.Rounds)
	return k * m, (k + 1) * m
}

// End ends a round of arm k: it begins a new segment after 16 rounds, and a new block after as many
// as it has: 32, 64, ... up to half of all rounds or 1,024, and again.
func (s *Means) End(k int) {
	from, to := s.row(k)
	if s.length(k) == Segment {
		s.SegmentWeight[k], s.SegmentSize[k] = 0, 0
		clear(s.SegmentMean[from:to])
		clear(s.SegmentRaw[from:to])
	}
	if s.BlockRounds[k] < max(s.BlockLimit[k], 2*Segment) {
		return
	}
	limit := 2 * max(s.BlockLimit[k], Segment)
	if limit > min(s.Rounds[k]/2, mostBlock) {
		limit = 2 * Segment
	}
	s.BlockRounds[k], s.BlockWeight[k], s.BlockSize[k], s.BlockLimit[k] = 0, 0, 0, limit
	clear(s.BlockMean[from:to])
	clear(s.BlockRaw[from:to])
}

// Scale multiplies the weights of the running stretches by keep. Their means stay.
func (s *Means) Scale(keep float64) {
	for _, v := range [][]float64{s.SegmentWeight, s.SegmentSize, s.BlockWeight, s.BlockSize} {
		vec.Scale(v, keep)
	}
}

// Fit reports whether the stretches of arm k may be some of as many rounds with these units in all.
func (s *Means) Fit(k int, rounds, weight float64) bool {
	whole := s.Rounds[k] == math.Trunc(s.Rounds[k]) && s.BlockRounds[k] == math.Trunc(s.BlockRounds[k])
	return whole && s.Rounds[k] <= rounds && s.BlockRounds[k] <= s.Rounds[k] && s.BlockLimit[k] <= mostBlock &&
		check.AtMost(s.BlockWeight[k], weight) && check.AtMost(s.SegmentWeight[k], weight)
}

// A Test compares the mean of a recent stretch with that of all that came before it.
type Test struct {
	Threshold float64 // of standard errors; 0 finds nothing
	Variance  float64 // of a unit
	Effects   float64 // variance of what a stretch differs by beside that, 0 for nothing
	Ratio     float64 // of a unit's third absolute moment to its variance; 0 allows for no skewness
	Noise     float64 // variance of noise in the sums of units of both, where these are noisy
	Sign      float64 // of the good direction
}

// Difference returns by how much the mean of a stretch of this weight is above that of what came
// before, where the mean of both together is all and their weight total. Sign is the distance as a
// multiple of what the test allows: so many standard errors, and an allowance for skewed or
// long-tailed metrics, (z²−1)/6 times the ratio of the third moment to the variance for z standard
// errors. That is the first term of the Cornish–Fisher expansion (1938).
func (t *Test) Difference(all, total, mean, weight float64) (by, sign float64) {
	old := total - weight
	if !(old > float64(1e-9*weight)) || !(weight > 0) || !(t.Threshold > 0) {
		return 0, 0
	}
	// all = (old·before + weight·mean)/total, so mean − before = (mean − all)·total/old.
	by = float64((mean - all) * (total / old))
	return by, t.sign(by, math.Abs(all)+math.Abs(mean), old, weight)
}

// Compare is Difference for a stretch that is no part of what came before it, of an old weight and
// the mean before.
func (t *Test) Compare(before, old, mean, weight float64) (by, sign float64) {
	if !(old > 0) || !(weight > 0) || !(t.Threshold > 0) {
		return 0, 0
	}
	by = mean - before
	return by, t.sign(by, math.Abs(before)+math.Abs(mean), old, weight)
}

// sign is a difference as a multiple of what is allowed, for means of this size and these weights.
func (t *Test) sign(by, size, old, weight float64) float64 {
	d := math.Abs(by)
	if !(d > float64(1e-12*size)) {
		return 0
	}
	z := t.Threshold
	allowed := float64(z * math.Sqrt(float64(t.Variance*(1/old+1/weight))+t.Effects))
	if t.Noise > 0 {
		allowed += float64(z * math.Sqrt(float64(t.Noise*(1/weight/weight+1/old/old))))
	}
	if t.Ratio > 0 {
		allowed += float64(max(float64(z*z)-1, 0)/6*t.Ratio) / min(old, weight)
	}
	if allowed == 0 {
		return math.MaxFloat64
	}
	return d / allowed
}
