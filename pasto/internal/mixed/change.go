package mixed

import "math"

// detector compares, for each arm and metric, recent adjusted values with those before them: the
// newest round, the running segment of up to 16 rounds, and blocks of 32, 64, ... rounds. Values
// are adjusted by the other arms of their rounds (see moments), so that what all arms have in
// common is no change; where rounds have one arm they are the arm's own.
type detector struct {
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

const (
	segment   = 16
	mostBlock = 1024
)

// add adds the adjusted value of an arm in a round.
func (d *detector) add(x *armRound) {
	k := x.arm
	d.Rounds[k]++
	d.BlockRounds[k]++
	average(k, d.SegmentWeight, d.SegmentMean, x.weight, x.adjusted)
	average(k, d.BlockWeight, d.BlockMean, x.weight, x.adjusted)
	average(k, d.SegmentSize, d.SegmentRaw, x.size, x.mean)
	average(k, d.BlockSize, d.BlockRaw, x.size, x.mean)
}

// length is the number of rounds of the running segment of arm k.
func (d *detector) length(k int) int64 { return int64(d.Rounds[k]-1)%segment + 1 }

// end begins a new segment of arm k after 16 rounds, and a new block after as many as it has: 32,
// 64, ... up to half of all rounds or 1,024, and again.
func (d *detector) end(k int) {
	m := len(d.SegmentMean) / len(d.Rounds)
	if d.length(k) == segment {
		d.SegmentWeight[k], d.SegmentSize[k] = 0, 0
		clear(d.SegmentMean[k*m : (k+1)*m])
		clear(d.SegmentRaw[k*m : (k+1)*m])
	}
	if d.BlockRounds[k] < max(d.BlockLimit[k], 2*segment) {
		return
	}
	limit := 2 * max(d.BlockLimit[k], segment)
	if limit > min(d.Rounds[k]/2, mostBlock) {
		limit = 2 * segment
	}
	d.BlockRounds[k], d.BlockWeight[k], d.BlockSize[k], d.BlockLimit[k] = 0, 0, 0, limit
	clear(d.BlockMean[k*m : (k+1)*m])
	clear(d.BlockRaw[k*m : (k+1)*m])
}

// nearly is the part of the largest sign of a change that counts as another.
const nearly = 0.75

// Changed ends the round for the arms that were served in it, and begins those anew that have
// changed: the one with the largest sign of it, and those with nearly as large ones. It returns
// them; all other arms keep what is known about them.
func (e *Model) Changed() []int {
	most := 0.0
	e.changed = e.changed[:0]
	for a := range e.round.arms {
		x := &e.round.arms[a]
		x.sign = e.signOfChange(x)
		most = max(most, x.sign)
		e.Changes.end(x.arm)
	}
	if most <= 1 {
		return nil
	}
	for a := range e.round.arms {
		if x := &e.round.arms[a]; x.sign >= float64(nearly*most) {
			e.changed = append(e.changed, x.arm)
		}
	}
	e.Begin(e.changed)
	return e.changed
}

// agreement is the part of a sign of change in the raw values that the adjusted ones must show.
const agreement = 2. / 3

// signOfChange returns by how many times the allowed difference the recent values of an arm differ
// from its earlier ones, in the metric and stretch where that is most. Where effects of rounds are
// not shown the raw values must differ by that, which tells the arm that has changed from those
// that are compared with it, and the adjusted ones by most of it. It is 0 where no changes are
// looked for.
func (e *Model) signOfChange(x *armRound) float64 {
	d, s, k, m, most := &e.Changes, &e.Stats, x.arm, len(e.Sign), 0.0
	segments := e.has(NoSegments)
	compare := func(i int, mean, weight, raw, size float64) {
		j := k*m + i
		_, sign := e.difference(k, i, s.Adjusted[j], s.Standing[k], mean, weight, 0)
		if !e.Noise.shown(i) {
			_, own := e.difference(k, i, s.Mean[j], s.Weight[k], raw, size, 0)
			sign = min(sign/agreement, own)
		}
		most = max(most, sign)
	}
	for i := range m {
		if e.Ignored[i] || !(e.Threshold > 0) {
			continue
		}
		j := k*m + i
		if d.Rounds[k] > segment && segments {
			compare(i, x.adjusted[i], x.weight, x.mean[i], x.size)
			most = max(most, e.signOfCrash(x, i))
		}
		if d.Rounds[k]-float64(d.length(k)) >= segment && segments {
			compare(i, d.SegmentMean[j], d.SegmentWeight[k], d.SegmentRaw[j], d.SegmentSize[k])
		}
		if d.length(k) == segment && d.Rounds[k]-d.BlockRounds[k] >= segment && e.has(NoBlocks) {
			compare(i, d.BlockMean[j], d.BlockWeight[k], d.BlockRaw[j], d.BlockSize[k])
		}
	}
	return most
}

// signOfCrash is signOfChange for a hard guardrail that got worse in the newest round. The raw
// values must differ by what is allowed beside effects of rounds, and the adjusted ones by most of
// what these do, surely or not: beside an arm that has nearly all units the others have too few to
// tell, or there are none. It is then likelier that the arm has changed than that all have. To
// begin it anew by mistake costs some learning, and a crash that goes on costs the guardrail.
func (e *Model) signOfCrash(x *armRound, i int) float64 {
	if !e.Hard[i] || !e.has(NoCrash) {
		return 0
	}
	s, k, tau := &e.Stats, x.arm, 0.0
	if e.Noise.shown(i) {
		tau = e.Noise.tau(i)
	}
	j := k*len(e.Sign) + i
	by, _ := e.difference(k, i, s.Adjusted[j], s.Standing[k], x.adjusted[i], x.weight, 0)
	raw, sign := e.difference(k, i, s.Mean[j], s.Weight[k], x.mean[i], x.size, tau)
	worse := -float64(e.Sign[i] * raw)
	if !(worse > 0) || x.weight > 0 && -float64(e.Sign[i]*by) < float64(agreement*worse) {
		return 0
	}
	return sign
}

// difference returns by how much the mean of a recent part of arm k's values, of this weight, is
// above that of the earlier ones, where the mean of both is all and their weight total. Sign is the
// distance as a multiple of ChangeThreshold standard errors, beside effects of variance tau, and an
// allowance for skewed or long-tailed metrics. With z standard errors the allowance is (z²−1)/6
// times the ratio of the third moment to the variance, the first term of the Cornish–Fisher
// expansion: six events of a rare one. For units of a known range that ratio is at most the width
// of the range.
func (e *Model) difference(
	k, i int, all, total, mean, weight, tau float64,
) (by, sign float64) {
	s, old := &e.Stats, total-weight
	if !(old > float64(1e-9*weight)) || !(weight > 0) {
		return 0, 0
	}
	// all = (old·before + weight·mean)/total, so mean − before = (mean − all)·total/old.
	by = float64((mean - all) * (total / old))
	d := math.Abs(by)
	if !(d > float64(1e-12*(math.Abs(all)+math.Abs(mean)))) {
		return by, 0
	}
	z := e.Threshold
	allowed := float64(z * math.Sqrt(float64(max(e.Variance(k, i), s.pooled(i))*(1/old+1/weight))+tau))
	allowed += float64(z * math.Sqrt(e.Released.ofChange(k*len(e.Sign)+i, old, weight)))
	if e.has(NoSkew) {
		ratio := 0.0
		if s.unitsKnown(k, i) && e.Width[i] > 0 {
			ratio = e.Width[i]
		} else if s.Pool[i] > 0 {
			ratio = s.Third[i] / s.Pool[i]
		}
		allowed += float64(max(float64(z*z)-1, 0)/6*ratio) / min(old, weight)
	}
	if allowed == 0 {
		return by, math.MaxFloat64
	}
	return by, d / allowed
}
