package confident

import (
	"math"

	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/check"
)

// thirdPower returns √(w·q)·q, for the square q = w·d² of a deviation d of a value of weight w.
func thirdPower(q, w float64) float64 { return float64(q * math.Sqrt(float64(w*q))) }

// unit is the size that an observation counts with.
func unit(o *pasto.Observation) float64 {
	if o.Size == 0 {
		return 1
	}
	return o.Size
}

// armRound is what an arm was observed to be in a round: its groups together.
type armRound struct {
	arm      int
	known    bool // it had been served before, since its last change
	groups   float64
	size     float64
	mean     []float64 // M
	within   []float64 // M: Σ size·(group − mean)²
	third    []float64 // M: Σ size²·|group − mean|³, approximately
	unitSize []float64 // M: Σ size of groups with a known variance of a unit
	units    []float64 // M: Σ size·variance of a unit; nil if no group has any
	unitRow  []float64 // the memory of units
	adjusted []float64 // M: mean, less what the other arms of the round deviate by
	weight   float64   // of adjusted
	lone     bool      // no other arm was in the round
	tested   bool      // the round counts for the test for changes
	sign     float64   // of a change: above 1 there is one
}

// roundSums are the arms of a round, in the order of their first groups.
type roundSums struct {
	arms      []armRound
	slot      []int     // of each arm, 1 + its index in arms; 0 between rounds
	deviation []float64 // M: Σ over known arms of size·(mean − adjusted mean)
	size      float64   // of the known arms
}

// collect sums up the observations of a round for a metric count of m.
func (r *roundSums) collect(s *armStats, obs []pasto.Observation) {
	m := len(s.Pool)
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
	r.deviation, r.size = check.Zeros(r.deviation, m), 0
	for a := range r.arms {
		x := &r.arms[a]
		r.slot[x.arm] = 0
		if !x.known {
			continue
		}
		r.size += x.size
		row := s.Adjusted[x.arm*m : (x.arm+1)*m]
		for i, v := range x.mean {
			r.deviation[i] += float64(x.size * (v - row[i]))
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

// adjust computes the mean of an arm of the round less what the other known arms deviate by. It
// returns the weight of that, and whether no other arm was in the round. The weight is 0 for a round
// that says nothing about the arm alone: compared says that arms have been compared within rounds
// before.
func (r *roundSums) adjust(s *armStats, x *armRound, compared bool) (weight float64, lone bool) {
	m := len(x.mean)
	x.adjusted = append(x.adjusted[:0], x.mean...)
	others := r.size
	if x.known {
		others -= x.size
	}
	if len(r.arms) == 1 || x.known && !(others > float64(1e-12*r.size)) {
		if compared {
			return 0, true
		}
		return x.size, true
	}
	if !(others > 0) { // the first round of all of them
		return x.size, false
	}
	own := s.Adjusted[x.arm*m : (x.arm+1)*m]
	for i, v := range x.mean {
		d := r.deviation[i]
		if x.known {
			d -= float64(x.size * (v - own[i]))
		}
		x.adjusted[i] = v - d/others
	}
	return 1 / (1/x.size + 1/others), false
}
