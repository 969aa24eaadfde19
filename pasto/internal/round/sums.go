package round

import (
	"cmp"
	"math"
	"slices"

	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/check"
)

// Sum is what an arm was observed to be in a round: its groups together.
type Sum struct {
	Arm      int
	Groups   float64
	Size     float64   // of all groups, each 1 where groups have no size
	Mean     []float64 // M
	Within   []float64 // M: Σ size·(group − mean)²
	Third    []float64 // M: Σ size²·|group − mean|³, approximately
	UnitSize []float64 // M: Σ size of the groups with a known variance of a unit
	Units    []float64 // M: Σ size·variance of a unit; empty if no group has any
}

// MostThird bounds the sums of third powers, which do not overflow with it.
const MostThird = 1e300

// ThirdPower returns √(w·q)·q, for the square q = w·d² of a deviation d of a value of weight w.
func ThirdPower(q, w float64) float64 { return float64(q * math.Sqrt(float64(w*q))) }

// add adds a group, with the known variances of its units.
func (x *Sum) add(o *pasto.Observation) {
	w, old := cmp.Or(o.Size, 1), x.Size
	x.Groups++
	x.Size += w
	both := float64(w * (old / x.Size))
	for i, v := range o.Metrics {
		d := v - x.Mean[i]
		x.Mean[i] += float64(w / x.Size * d)
		q := float64(float64(d*d) * both)
		x.Within[i] += q
		x.Third[i] = min(x.Third[i]+ThirdPower(q, w), MostThird)
	}
	if m := len(o.Variances); len(x.Units) < m {
		x.Units, x.UnitSize = check.Zeros(x.Units, m), check.Zeros(x.UnitSize, m)
	}
	for i, v := range o.Variances {
		if v == v {
			x.UnitSize[i] += w
			x.Units[i] += float64(w * v)
		}
	}
}

// Sums are those of the arms of a round, in the order of their first groups. They keep their memory
// from round to round.
type Sums struct {
	Arms []Sum
	slot []int // of each arm, 1 + its index in Arms; 0 between rounds
}

// Collect sums up the observations of a round, of so many arms and metrics. It replaces the sums of
// the round before.
func (r *Sums) Collect(obs []pasto.Observation, arms, metrics int) {
	r.Arms = r.Arms[:0]
	if len(r.slot) < arms {
		r.slot = make([]int, arms)
	}
	for i := range obs {
		o := &obs[i]
		if r.slot[o.Arm] == 0 {
			r.begin(o.Arm, metrics)
		}
		r.Arms[r.slot[o.Arm]-1].add(o)
	}
	for a := range r.Arms {
		r.slot[r.Arms[a].Arm] = 0
	}
}

// begin makes room for an arm, in old memory if there is any.
func (r *Sums) begin(arm, metrics int) {
	n := len(r.Arms)
	r.Arms = slices.Grow(r.Arms, 1)[:n+1]
	x := &r.Arms[n]
	x.Arm, x.Groups, x.Size, x.Units, r.slot[arm] = arm, 0, 0, x.Units[:0], n+1
	for _, v := range []*[]float64{&x.Mean, &x.Within, &x.Third} {
		*v = check.Zeros(*v, metrics)
	}
}
