package mixed

import (
	"cmp"
	"math"
	"slices"

	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/check"
)

// armRound is what an arm was observed to be in a round: its groups together.
type armRound struct {
	arm      int
	known    bool // it had been served before, since its last change
	alone    bool // no other arm was in the round
	groups   float64
	size     float64
	mean     []float64 // M
	within   []float64 // M: Σ size·(group − mean)²
	third    []float64 // M: Σ size²·|group − mean|³, approximately; moments.add replaces it
	unitSize []float64 // M: Σ size of groups with a known variance of a unit
	units    []float64 // M: Σ size·variance of a unit; empty if no group has any
	sigma    []float64 // M: variance of a unit before the round, +Inf while unknown
	adjusted []float64 // M: mean, less what the other arms of the round deviate by
	square   []float64 // M: the squared innovation, of mean σ²
	weight   float64   // of adjusted; 0 for none
	share    float64   // of the known arms, by size, less for groups of few units
	standing float64   // the weight as a reference of other arms
	others   float64   // Σ standing of the arms that it is adjusted by
	sign     float64   // of a change
	noisyRound
}

// roundSums are the arms of a round, in the order of their first groups.
type roundSums struct {
	arms  []armRound
	slot  []int // of each arm, 1 + its index in arms; 0 between rounds
	known []int // indices in arms of the known arms
}

// collect sums up the observations of a round.
func (r *roundSums) collect(s *moments, obs []pasto.Observation) {
	r.arms, r.known = r.arms[:0], r.known[:0]
	for i := range obs {
		o := &obs[i]
		if r.slot[o.Arm] == 0 {
			r.begin(s, o.Arm)
		}
		r.arms[r.slot[o.Arm]-1].add(o)
	}
	for a := range r.arms {
		x := &r.arms[a]
		r.slot[x.arm], x.alone = 0, len(r.arms) == 1
	}
}

// begin makes room for an arm, in old memory if there is any.
func (r *roundSums) begin(s *moments, arm int) {
	n := len(r.arms)
	r.arms = slices.Grow(r.arms, 1)[:n+1]
	x := &r.arms[n]
	x.arm, x.known, x.groups, x.size, x.bounded = arm, s.Rounds[arm] > 0, 0, 0, false
	x.units, x.noise, r.slot[arm] = x.units[:0], x.noise[:0], n+1
	for _, v := range []*[]float64{&x.mean, &x.within, &x.third, &x.sigma, &x.adjusted, &x.square} {
		*v = check.Zeros(*v, len(s.Pool))
	}
	for i := range x.sigma {
		x.sigma[i] = s.variance(arm, i)
	}
	if x.known {
		r.known = append(r.known, n)
	}
}

// add adds a group, with the known variances of its units.
func (x *armRound) add(o *pasto.Observation) {
	w, old := cmp.Or(o.Size, 1), x.size
	x.groups++
	x.size += w
	both := float64(w * (old / x.size))
	for i, v := range o.Metrics {
		d := v - x.mean[i]
		x.mean[i] += float64(w / x.size * d)
		q := float64(float64(d*d) * both)
		x.within[i] += q
		x.third[i] = min(x.third[i]+thirdPower(q, w), mostThird)
	}
	if m := len(o.Variances); len(x.units) < m {
		x.units, x.unitSize = check.Zeros(x.units, m), check.Zeros(x.unitSize, m)
	}
	for i, v := range o.Variances {
		if v == v {
			x.unitSize[i] += w
			x.units[i] += float64(w * v)
		}
	}
}

// adjust computes the adjusted mean of each arm of the round, its weight, and its squared
// innovation: the mean less what the other known arms deviate by, weighted by standing. A round
// without other known arms is adjusted by nothing, and says nothing about an arm where effects of
// rounds are shown. Without effects the first value of an arm is in line with the others'. In
// metrics that are at least 0 deviations are taken to be in proportion, unless there is noise,
// which may leave next to nothing to be in proportion to.
func (e *Model) adjust() {
	total, shown, arms := 0.0, e.effectsShown(), e.round.arms
	for a := range arms {
		x := &arms[a]
		// What its own mean misses stays the same for all rounds of a segment.
		x.standing = 1 / (1/x.size + segment/e.Stats.Standing[x.arm])
		total += x.standing
	}
	for a := range arms {
		x := &arms[a]
		x.others, x.weight = total-x.standing, x.size
		if (x.known || shown) && x.others > float64(1e-9*total) {
			x.weight = 1 / (1/x.size + 1/x.others)
		} else if x.others = 0; shown && (x.known || x.alone) {
			x.weight = 0
		}
	}
	for i := range e.Sign {
		e.adjustMetric(i, total)
	}
}

// references are sums over the known arms of a round, weighted by standing: what they deviate by
// from their means, these means, and the variance of the deviations.
type references struct{ off, base, missed float64 }

// reference returns what arm x contributes to the references in metric i, where all variances are
// even or their own.
func (e *Model) reference(x *armRound, i int, even bool) (f references) {
	old, mean, v := e.Stats.Standing[x.arm], e.Stats.Adjusted[x.arm*len(e.Sign)+i], 1.0
	if !(old > 0) {
		return f
	}
	if !even {
		v = x.sigma[i]
	}
	return references{
		float64(x.standing * (x.mean[i] - mean)), float64(x.standing * mean),
		float64(float64(x.standing*x.standing) * (float64(v*(1/x.size+1/old)) + e.Released.between(&e.Stats, x, i))),
	}
}

// add adds sign times g.
func (f *references) add(g references, sign float64) {
	f.off += float64(sign * g.off)
	f.base += float64(sign * g.base)
	f.missed += float64(sign * g.missed)
}

// outlier is how many standard deviations an arm must be off in a round to be left out of what the
// others are adjusted by.
const outlier = 6

// adjustMetric adjusts the arms in metric i, where the standing of the known arms is total. An arm
// that is far off is left out of what the others are adjusted by.
func (e *Model) adjustMetric(i int, total float64) {
	arms, known, sum := e.round.arms, e.round.known, references{}
	even := slices.ContainsFunc(known, func(a int) bool {
		return !(arms[a].sigma[i] > 0) || math.IsInf(arms[a].sigma[i], 1)
	})
	for _, a := range known {
		sum.add(e.reference(&arms[a], i, even), 1)
	}
	worst, most := -1, float64(outlier*outlier)
	for a := range arms {
		x := &arms[a]
		e.adjustArm(x, sum, i, even)
		if v := x.square[i] / x.sigma[i]; !even && len(known) > 2 && v > most && x.standing < total/2 {
			worst, most = a, v
		}
	}
	if worst < 0 || !e.has(NoOutlier) {
		return
	}
	out := &arms[worst]
	sum.add(e.reference(out, i, even), -1)
	for a := range arms {
		if x := &arms[a]; a != worst && x.others > out.standing {
			x.others -= out.standing
			e.adjustArm(x, sum, i, even)
			x.others += out.standing
		}
	}
}

// adjustArm adjusts arm x in metric i by the sum of the references, less its own part.
func (e *Model) adjustArm(x *armRound, sum references, i int, even bool) {
	old, mean := e.Stats.Standing[x.arm], e.Stats.Adjusted[x.arm*len(e.Sign)+i]
	more := 0.0 // the variance of what the others deviate by, in units of that of x
	x.adjusted[i] = x.mean[i]
	if x.others > 0 {
		sum.add(e.reference(x, i, even), -1)
		off, base := sum.off/x.others, sum.base/x.others
		if more = max(sum.missed, 0) / x.others / x.others; !even && x.known {
			more /= x.sigma[i]
		}
		if e.Positive[i] && x.known && len(x.noise) == 0 && base > 0 && e.has(NoProportion) {
			off = float64(off * (mean / base))
		}
		x.adjusted[i] -= off
	}
	if old > 0 {
		if len(x.noise) > 0 {
			more += e.Released.between(&e.Stats, x, i) / x.sigma[i]
		}
		d := x.adjusted[i] - mean
		x.square[i] = float64(d*d) / (1/x.size + 1/old + more)
	}
}
