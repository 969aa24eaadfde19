package mixed

import (
	"math"

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
	third    []float64 // M: Σ size²·|group − mean|³, approximately
	unitSize []float64 // M: Σ size of groups with a known variance of a unit
	units    []float64 // M: Σ size·variance of a unit; nil if no group has any
	unitRow  []float64 // the memory of units
	sigma    []float64 // M: variance of a unit before the round, +Inf while unknown
	noise    []float64 // M: variance of the noise in mean; nil for none
	noiseRow []float64 // the memory of noise
	total    []float64 // M: variance of the noise in the sum of all values, with noise
	bounded  bool      // units is a bound for all units so far, and unitSize their number
	adjusted []float64 // M: mean, less what the other arms of the round deviate by
	square   []float64 // M: the squared innovation, of mean σ²
	weight   float64   // of adjusted; 0 for none
	reliable float64   // size, less for groups of few units
	standing float64   // the weight as a reference of other arms
	others   float64   // Σ standing of the arms that it is adjusted by
}

// roundSums are the arms of a round, in the order of their first groups.
type roundSums struct {
	arms  []armRound
	slot  []int // of each arm, 1 + its index in arms; 0 between rounds
	known []int // indices in arms of the known arms
}

// collect sums up the observations of a round.
func (r *roundSums) collect(s *moments, obs []pasto.Observation) {
	m := len(s.Pool)
	r.arms = r.arms[:0]
	for i := range obs {
		o := &obs[i]
		if r.slot[o.Arm] == 0 {
			r.add(o.Arm, m, s.Rounds[o.Arm] > 0)
		}
		x := &r.arms[r.slot[o.Arm]-1]
		w, old := o.Size, x.size
		if w == 0 {
			w = 1
		}
		x.groups++
		x.size += w
		both := float64(w * (old / x.size))
		for j, v := range o.Metrics {
			d := v - x.mean[j]
			x.mean[j] += float64(w / x.size * d)
			q := float64(float64(d*d) * both)
			x.within[j] += q
			x.third[j] = min(x.third[j]+thirdPower(q, w), mostThird)
		}
		x.addUnits(o.Variances, w)
	}
	r.known = r.known[:0]
	for a := range r.arms {
		x := &r.arms[a]
		r.slot[x.arm], x.alone = 0, len(r.arms) == 1
		if x.known {
			r.known = append(r.known, a)
		}
		for i := range x.sigma {
			x.sigma[i] = s.variance(x.arm, i)
		}
	}
}

// add makes room for an arm, in old memory if there is any.
func (r *roundSums) add(arm, m int, known bool) {
	n := len(r.arms)
	if n < cap(r.arms) {
		r.arms = r.arms[:n+1]
	} else {
		r.arms = append(r.arms, armRound{})
	}
	x := &r.arms[n]
	x.arm, x.known, x.groups, x.size, x.units, x.noise, x.bounded = arm, known, 0, 0, nil, nil, false
	for _, v := range []*[]float64{&x.mean, &x.within, &x.third, &x.sigma, &x.adjusted, &x.square} {
		*v = check.Zeros(*v, m)
	}
	r.slot[arm] = n + 1
}

// addUnits adds the known variances of a unit in a group of this size.
func (x *armRound) addUnits(variances []float64, size float64) {
	if variances == nil {
		return
	}
	if x.units == nil {
		x.unitRow, x.unitSize = check.Zeros(x.unitRow, len(variances)), check.Zeros(x.unitSize, len(variances))
		x.units = x.unitRow
	}
	for i, v := range variances {
		if v == v {
			x.unitSize[i] += size
			x.units[i] += float64(size * v)
		}
	}
}

// adjust computes the adjusted mean of each arm of the round, its weight, and its squared
// innovation: the mean less what the other known arms deviate by, weighted by standing. A round
// without other known arms is adjusted by nothing, and says nothing about an arm where effects of
// rounds are shown. Without effects the first value of an arm is in line with the others'. Positive
// marks metrics that are at least 0, whose deviations are taken to be in proportion, unless there
// is noise, which may leave next to nothing to be in proportion to.
func (r *roundSums) adjust(s *moments, n *released, shown bool, positive []bool) {
	total := 0.0
	for _, a := range r.known {
		x := &r.arms[a]
		x.standing = 0
		if old := s.Standing[x.arm]; old > 0 {
			// What its own mean misses stays the same for all rounds of a segment.
			x.standing = 1 / (1/x.size + segment/old)
			total += x.standing
		}
	}
	for a := range r.arms {
		x := &r.arms[a]
		if x.others = total; x.known {
			x.others -= x.standing
		}
		switch {
		case !x.known && !shown:
			x.others, x.weight = 0, x.size
		case x.others > float64(1e-9*total):
			x.weight = 1 / (1/x.size + 1/x.others)
		case shown && (x.known || x.alone):
			x.others, x.weight = 0, 0
		default:
			x.others, x.weight = 0, x.size
		}
	}
	for i := range s.Pool {
		r.adjustMetric(s, n, i, total, positive[i])
	}
}

// references are sums over the known arms of a round, weighted by standing: what they deviate by
// from their means, these means, and the variance of the deviations.
type references struct{ off, base, missed float64 }

// reference returns what arm x contributes to the references in metric i, where all variances are
// even or their own.
func (x *armRound) reference(s *moments, n *released, i int, even bool) (f references) {
	old := s.Standing[x.arm]
	if !x.known || !(old > 0) {
		return f
	}
	v, mean := 1.0, s.Adjusted[x.arm*len(s.Pool)+i]
	if !even {
		v = x.sigma[i]
	}
	return references{
		float64(x.standing * (x.mean[i] - mean)), float64(x.standing * mean),
		float64(float64(x.standing*x.standing) * (float64(v*(1/x.size+1/old)) + n.between(s, x, i))),
	}
}

// add adds sign times g.
func (f *references) add(g references, sign float64) {
	f.off += float64(sign * g.off)
	f.base += float64(sign * g.base)
	f.missed += float64(sign * g.missed)
}

// adjustMetric adjusts the arms in metric i, where the standing of the known arms is total. An arm
// that is far off is left out of what the others are adjusted by.
func (r *roundSums) adjustMetric(s *moments, n *released, i int, total float64, positive bool) {
	even := false
	for _, a := range r.known {
		v := r.arms[a].sigma[i]
		even = even || !(v > 0) || math.IsInf(v, 1)
	}
	var sum references
	for _, a := range r.known {
		sum.add(r.arms[a].reference(s, n, i, even), 1)
	}
	worst, most := -1, float64(outlier*outlier)
	for a := range r.arms {
		x := &r.arms[a]
		r.adjustArm(s, n, x, sum, i, even, positive)
		if v := x.square[i] / x.sigma[i]; !even && len(r.known) > 2 && v > most && x.standing < total/2 {
			worst, most = a, v
		}
	}
	if worst < 0 || s.rules&NoOutlier != 0 {
		return
	}
	out := &r.arms[worst]
	sum.add(out.reference(s, n, i, even), -1)
	for a := range r.arms {
		if x := &r.arms[a]; a != worst && x.others > out.standing {
			x.others -= out.standing
			r.adjustArm(s, n, x, sum, i, even, positive)
			x.others += out.standing
		}
	}
}

// outlier is how many standard deviations an arm must be off in a round to be left out of what the
// others are adjusted by.
const outlier = 6

// adjustArm adjusts arm x in metric i by the sum of the references, less its own part.
func (r *roundSums) adjustArm(s *moments, n *released, x *armRound, sum references, i int, even, positive bool) {
	old, mean := s.Standing[x.arm], s.Adjusted[x.arm*len(s.Pool)+i]
	x.adjusted[i] = x.mean[i]
	more := 0.0 // the variance of what the others deviate by, in units of that of x
	if x.others > 0 {
		sum.add(x.reference(s, n, i, even), -1)
		off, base := sum.off/x.others, sum.base/x.others
		if more = max(sum.missed, 0) / x.others / x.others; !even && x.known {
			more /= x.sigma[i]
		}
		if positive && x.known && x.noise == nil && base > 0 && s.rules&NoProportion == 0 {
			off = float64(off * (mean / base))
		}
		x.adjusted[i] -= off
	}
	if x.known && old > 0 {
		if x.noise != nil {
			more += n.between(s, x, i) / x.sigma[i]
		}
		d := x.adjusted[i] - mean
		x.square[i] = float64(d*d) / (1/x.size + 1/old + more)
	}
}
