package confident

import (
	"slices"

	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/check"
)

// unit is the size that an observation counts with.
func unit(o *pasto.Observation) float64 {
	if o.Size == 0 {
		return 1
	}
	return o.Size
}

// armRound is what an arm was observed to be in a round: its groups together.
type armRound struct {
	arm        int
	known      bool // it had been served before, since its last change
	groups     float64
	size       float64
	mean       []float64 // M
	within     []float64 // M: Σ size·(group − mean)²
	third      []float64 // M: Σ size²·|group − mean|³, approximately
	unitSize   []float64 // M: Σ size of groups with a known variance of a unit
	units      []float64 // M: Σ size·variance of a unit; nil if no group has any
	unitRow    []float64 // the memory of units
	adjusted   []float64 // M: mean, less what the other arms of the round deviate by
	weight     float64   // of adjusted
	scale      float64   // the precision of adjusted beside its weight, within the rounds of an arm
	persistent float64   // the squared error of the reference arms' means, as a multiple of σ²
	standing   float64   // the weight as a reference of other arms
	lone       bool      // no other arm was in the round
	compared   bool      // with other arms of the round
	tested     bool      // the round counts for the test for changes
	began      float64   // the round in which the last segment of the arm began
	sign       float64   // of a change: above 1 there is one
}

// roundSums are the arms of a round, in the order of their first groups.
type roundSums struct {
	arms      []armRound
	slot      []int     // of each arm, 1 + its index in arms; 0 between rounds
	deviation []float64 // M for each slot: mean − mean of the adjusted values, of known arms
	known     []int     // slots of the known arms
	order     []int     // of known, by deviation in one metric
	size      float64   // of the known arms
}

// collect sums up the observations of a round for a metric count of m.
func (r *roundSums) collect(s *armStats, obs []pasto.Observation) {
	m := len(s.Calm)
	r.arms = r.arms[:0]
	for i := range obs {
		o := &obs[i]
		if r.slot[o.Arm] == 0 {
			r.add(o.Arm, m, s.Rounds[o.Arm] > 0)
		}
		x := &r.arms[r.slot[o.Arm]-1]
		w := unit(o)
		old := x.size
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
	r.deviation, r.known, r.size = check.Zeros(r.deviation, len(r.arms)*m), r.known[:0], 0
	for a := range r.arms {
		x := &r.arms[a]
		r.slot[x.arm] = 0
		x.adjusted = append(x.adjusted[:0], x.mean...)
		if !x.known {
			continue
		}
		r.known = append(r.known, a)
		r.size += x.size
		// What its own mean misses stays the same for all rounds of a segment.
		x.standing = 1 / (1/x.size + firstBlock/s.Fair.Weight[x.arm])
		row := s.Fair.Mean[x.arm*m : (x.arm+1)*m]
		for i, v := range x.mean {
			r.deviation[a*m+i] = v - row[i]
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
	x.arm, x.known, x.groups, x.size, x.units, x.tested, x.sign = arm, known, 0, 0, nil, false, 0
	x.mean, x.within, x.third = check.Zeros(x.mean, m), check.Zeros(x.within, m), check.Zeros(x.third, m)
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

// adjust computes the adjusted mean of each arm of the round, the weight of that, and whether no
// other arm was in the round. What the others deviate by is their weighted median, so that one arm
// that is far off, or noisy, does not pull the others along. A weight of 0 is that of a round that
// says nothing about the arm alone: where there is no other arm, and what arms have in common is
// shown to matter, or may be the reason for values that are far off. Compared says that rounds have
// had several arms.
func (r *roundSums) adjust(s *armStats, compared, shown bool) {
	m := len(s.Calm)
	alone, f := len(r.arms) == 1, r.refer(s)
	for a := range r.arms {
		x := &r.arms[a]
		n := len(r.known)
		if x.known {
			n--
		}
		x.weight, x.scale, x.persistent, x.lone, x.compared = x.size, 1, 0, false, false
		switch {
		case alone || n == 0 && x.known:
			if x.lone = true; shown || compared && r.farOff(s, x) {
				x.weight = 0
			}
		case !x.known && !shown: // without effects its value is in line with the others'
		case n > 0:
			x.compared = true
			sure, now, persistent := f.without(s, x)
			x.persistent = persistent
			x.weight = 1 / (1/x.size + 1/sure)
			x.scale = 1 / (1/x.size + 1/now) / x.weight
		}
	}
	for i := range m {
		r.order = append(r.order[:0], r.known...)
		slices.SortFunc(r.order, func(a, b int) int {
			switch x, y := r.deviation[a*m+i], r.deviation[b*m+i]; {
			case x < y:
				return -1
			case x > y:
				return 1
			}
			return r.arms[a].arm - r.arms[b].arm
		})
		all := 0.0
		if len(r.known) > manyArms {
			all = r.median(m, i, -1)
		}
		for a := range r.arms {
			if x := &r.arms[a]; x.compared && len(r.known) > manyArms {
				x.adjusted[i] -= all
			} else if x.compared {
				x.adjusted[i] -= r.median(m, i, a)
			}
		}
	}
}

// farOff reports whether the mean of a known arm deviates by more than its noise.
func (r *roundSums) farOff(s *armStats, x *armRound) bool {
	f, m := &s.Fair, len(x.mean)
	if !x.known || !(f.Freedom > 0) || !(f.Weight[x.arm] > 0) {
		return false
	}
	for i, v := range x.mean {
		d := v - f.Mean[x.arm*m+i]
		if float64(d*d) > float64(far*float64(f.Pool[i]/f.Freedom*(1/x.size+1/f.Weight[x.arm]))) {
			return true
		}
	}
	return false
}

// far is the square of the number of standard deviations that count as far off.
const far = 36

// medianEfficiency is that of the median of many normal values beside their mean, 2/π.
const medianEfficiency = 0.64

// references are the known arms of a round: sums and the two largest of their standings and sizes,
// and the sum of the squared errors of their means.
type references struct {
	sums, most, second [2]float64
	persistent         float64
}

// refer sums up the known arms. What their means miss counts twice, as they rest on the means of
// other arms in turn.
func (r *roundSums) refer(s *armStats) (f references) {
	for _, b := range r.known {
		x := &r.arms[b]
		for i, v := range [...]float64{x.standing, x.size} {
			f.sums[i] += v
			if v > f.most[i] {
				f.most[i], f.second[i] = v, f.most[i]
			} else {
				f.second[i] = max(f.second[i], v)
			}
		}
		f.persistent += x.missing(s)
	}
	return f
}

// missing is the squared error of an arm's mean as a reference, as a multiple of σ² and of the
// square of the weight of all.
func (x *armRound) missing(s *armStats) float64 {
	return float64(float64(x.standing*x.standing) * (2 / s.Fair.Weight[x.arm]))
}

// without returns the weight of the median of the references but x, what it would be if their means
// were known, and the squared error of these means, as a multiple of σ².
func (f references) without(s *armStats, x *armRound) (sure, now, persistent float64) {
	if x.known {
		for i, v := range [...]float64{x.standing, x.size} {
			f.sums[i] -= v
			if v == f.most[i] {
				f.most[i] = f.second[i]
			}
			f.sums[i] = max(f.sums[i], f.most[i])
		}
		f.persistent = max(f.persistent-x.missing(s), 0)
	}
	return max(f.most[0], float64(medianEfficiency*f.sums[0])), max(f.most[1], float64(medianEfficiency*f.sums[1])),
		f.persistent / f.sums[0] / f.sums[0]
}

// manyArms is the number of known arms of a round above which each is among its own references.
const manyArms = 64

// median is the median in metric i, weighted by standing, of what the known arms but a deviate by.
func (r *roundSums) median(m, i, a int) float64 {
	total, sum, last, found := 0.0, 0.0, 0.0, false
	for _, b := range r.order {
		if b != a {
			total += r.arms[b].standing
		}
	}
	for _, b := range r.order {
		if b == a {
			continue
		}
		v := r.deviation[b*m+i]
		if found {
			return last + float64((v-last)/2)
		}
		sum += r.arms[b].standing
		switch {
		case sum > float64(total/2*(1+1e-9)):
			return v
		case sum >= float64(total/2*(1-1e-9)): // half of the weight: between this and the next
			found = true
		}
		last = v
	}
	return last
}
