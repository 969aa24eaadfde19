package join

import (
	"encoding/binary"
	"slices"

	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/column"
	"github.com/noregret/noregret/internal/vec"
)

// Masks are the sets of arms that the units of a version allowed, where that was not all of them.
type Masks struct {
	// Sets are the sets, each in order. Of has, by row, 1 plus the index of the unit's set, and 0
	// if all arms were allowed; rows past its end allowed all, too.
	Sets []column.Uint32s `json:"sets"`
	Of   column.Uint32s   `json:"of"`

	index map[string]uint32 // the index of a set, by its bytes
	arms  int               // the numbers of all sets: the sum of their lengths
}

// maskKey returns a set as the key of an index.
func maskKey(set []uint32) string {
	b := make([]byte, 0, 4*len(set))
	for _, k := range set {
		b = binary.LittleEndian.AppendUint32(b, k)
	}
	return string(b)
}

// set notes that the unit of a row allowed some arms only. It returns the masks, which may be new.
func (x *Masks) set(row int, among []uint32) *Masks {
	if x == nil {
		x = &Masks{}
	}
	if x.index == nil {
		x.index = map[string]uint32{}
		for i, s := range x.Sets {
			x.index[maskKey(s)] = uint32(i)
		}
	}
	key := maskKey(among)
	i, ok := x.index[key]
	if !ok {
		i = uint32(len(x.Sets))
		x.Sets = append(x.Sets, slices.Clone(among))
		x.index[key] = i
		x.arms += len(among)
	}
	for len(x.Of) <= row {
		x.Of = append(x.Of, 0)
	}
	x.Of[row] = i + 1
	return x
}

// Among returns the set of a row, nil if all arms were allowed.
func (x *Masks) Among(row int) []uint32 {
	if x == nil || row >= len(x.Of) || x.Of[row] == 0 {
		return nil
	}
	return x.Sets[x.Of[row]-1]
}

// numbers returns how many numbers of 4 bytes the masks are. It costs O(1), as each exposure asks.
func (x *Masks) numbers() int {
	if x == nil {
		return 0
	}
	return len(x.Of) + x.arms
}

// restore counts the numbers of masks that were read, and reports whether they fit the number of
// rows.
func (x *Masks) restore(rows int) bool {
	if x == nil {
		return true
	}
	x.arms = 0
	for _, s := range x.Sets {
		x.arms += len(s)
		for i, k := range s {
			if i > 0 && k <= s[i-1] {
				return false
			}
		}
	}
	return len(x.Of) <= rows && !slices.ContainsFunc(x.Of, func(i uint32) bool { return int(i) > len(x.Sets) })
}

func (x *Masks) copy() *Masks {
	if x == nil {
		return nil
	}
	return &Masks{Sets: slices.Clone(x.Sets), Of: slices.Clone(x.Of), arms: x.arms}
}

// shareAmong returns the sum of the shares of a set of arms.
func shareAmong(mixture []float64, set []uint32) (sum float64) {
	for _, k := range set {
		if int(k) < len(mixture) {
			sum += mixture[k]
		}
	}
	return sum
}

// MaskedSums are what a version that served some units among some of the arms adds to its
// statistics, for bandits on estimated losses, by arm.
type MaskedSums struct {
	Arms []MaskedArm `json:"arms"`
}

// MaskedArm are the sums of an arm over the units that did not allow all arms.
type MaskedArm struct {
	// Units are the units of the arm, Weight is Σ 1/p over them, p being the arm's probability in
	// the unit given what it allowed. They are part of the arm's statistics.
	Units  int64   `json:"units"`
	Weight float64 `json:"weight"`
	// Asleep are the units, of any arm, that did not allow this one.
	Asleep  int64          `json:"asleep"`
	Metrics []MaskedMetric `json:"metrics"`
}

// MaskedMetric are the sums of a metric: of the arm's units with a value the number, the sum of
// the values, Σ 1/p and Σ value/p, and of the units asleep with a value the number and the sum.
type MaskedMetric struct {
	N         int64   `json:"n"`
	Sum       float64 `json:"sum"`
	Weight    float64 `json:"weight"`
	Weighted  float64 `json:"weighted"`
	Asleep    int64   `json:"asleep"`
	AsleepSum float64 `json:"asleep_sum"`
}

// NewMaskedSums returns sums of 0 for some arms and metrics.
func NewMaskedSums(arms, metrics int) *MaskedSums {
	x := &MaskedSums{Arms: make([]MaskedArm, arms)}
	for k := range x.Arms {
		x.Arms[k].Metrics = make([]MaskedMetric, metrics)
	}
	return x
}

// Add adds the sums of o, which has no more arms.
func (x *MaskedSums) Add(o *MaskedSums) {
	for k := range o.Arms {
		to, from := &x.Arms[k], &o.Arms[k]
		to.Units += from.Units
		to.Weight += from.Weight
		to.Asleep += from.Asleep
		for m := range from.Metrics {
			to.Metrics[m].add(&from.Metrics[m])
		}
	}
}

// AddMetrics adds the sums of o in some metrics, and not the units. It has no more arms.
func (x *MaskedSums) AddMetrics(metrics []int, o *MaskedSums) {
	for k := range o.Arms {
		for _, m := range metrics {
			x.Arms[k].Metrics[m].add(&o.Arms[k].Metrics[m])
		}
	}
}

// Copy returns a copy that shares nothing with x, nil of nil.
func (x *MaskedSums) Copy() *MaskedSums {
	if x == nil {
		return nil
	}
	y := &MaskedSums{Arms: slices.Clone(x.Arms)}
	for k := range y.Arms {
		y.Arms[k].Metrics = slices.Clone(y.Arms[k].Metrics)
	}
	return y
}

func (t *MaskedMetric) add(f *MaskedMetric) {
	t.N += f.N
	t.Sum += f.Sum
	t.Weight += f.Weight
	t.Weighted += f.Weighted
	t.Asleep += f.Asleep
	t.AsleepSum += f.AsleepSum
}

// finite reports whether all sums are.
func (x *MaskedSums) finite() bool {
	for k := range x.Arms {
		for _, m := range x.Arms[k].Metrics {
			if !vec.Finite([]float64{m.Sum, m.Weight, m.Weighted, m.AsleepSum}) {
				return false
			}
		}
	}
	return true
}

// masked returns the sums of the version's units that did not allow all arms, nil without such
// units, or if the sums would leave the range of float64.
func (c *Version) masked(d *definition.Definition) *MaskedSums {
	if c.Masks == nil {
		return nil
	}
	arms := len(c.Mixture)
	x := NewMaskedSums(arms, len(d.Metrics))
	sleeps := make([]bool, arms)
	for at, r := range c.rows.all() {
		set := c.Masks.Among(at)
		if set == nil || !r.Seen() || r.Slot() == arms {
			continue
		}
		p := c.Mixture[r.Slot()] / shareAmong(c.Mixture, set)
		if !(p > 0) {
			continue
		}
		for k := range sleeps {
			sleeps[k] = true
		}
		for _, k := range set {
			if int(k) < arms {
				sleeps[k] = false
			}
		}
		a := &x.Arms[r.Slot()]
		a.Units++
		a.Weight += 1 / p
		for k, sleeping := range sleeps {
			if sleeping {
				x.Arms[k].Asleep++
			}
		}
		for m := range d.Metrics {
			v, ok := r.Values[m], r.Has(m)
			if missing := d.Metrics[m].Default; !ok && missing != nil {
				v, ok = *missing, true
			}
			if !ok || d.Metrics[m].Kind == "ratio" {
				continue
			}
			t := &a.Metrics[m]
			t.N++
			t.Sum += v
			t.Weight += 1 / p
			t.Weighted += v / p
			for k, sleeping := range sleeps {
				if sleeping {
					t := &x.Arms[k].Metrics[m]
					t.Asleep++
					t.AsleepSum += v
				}
			}
		}
	}
	if !x.finite() {
		return nil
	}
	return x
}

// Sleep adds the units of another arm, in all of which this one had no share.
func (a *MaskedArm) Sleep(s *compare.Stats) {
	a.Asleep += s.Units
	for m := range a.Metrics {
		t, q := &a.Metrics[m], &s.Metrics[m]
		t.Asleep += q.N
		t.AsleepSum += float64(float64(q.N) * q.Mean)
	}
}

// Wake adds the units that are not among the sums yet, which allowed all arms.
func (a *MaskedArm) Wake(s *compare.Stats, p float64) {
	a.Weight += float64(s.Units-a.Units) / p
	a.Units = s.Units
	for m := range a.Metrics {
		t, q := &a.Metrics[m], &s.Metrics[m]
		n, sum := float64(q.N-t.N), float64(float64(q.N)*q.Mean)-t.Sum
		t.Weight += n / p
		t.Weighted += sum / p
		t.N, t.Sum = q.N, t.Sum+sum
	}
}
