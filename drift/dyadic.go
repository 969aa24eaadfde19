package drift

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/experts"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/oco"
)

// Dyadic hedges over restart intervals: gradient descents with the steps D/(G·√Δ), restarted every
// Δ = 1, 2, 4, ..., 2^⌊log₂T⌋ rounds, all take the one gradient at the weighted mean of their
// points, and exponential weights with the rate √(8·ln N/T)/(D·G) follow the best of the N. It
// needs to know neither the variation nor the batch size.
//
// Guarantee (DynamicBound): the least of ⌈n/Δ⌉·D·G·√Δ + 2Δ·V over the intervals, and
// D·G·√(T·ln(N)/2) for not knowing the best. A round costs N descent steps, and allocates nothing.
type Dyadic struct{ *hedge }

// NewDyadic returns the learner.
func NewDyadic(o HedgeOptions) (*Dyadic, error) {
	diameter, err := o.check()
	if err != nil {
		return nil, err
	}
	n := bits.Len(uint(o.Rounds))
	learners := make([]experts.Learner, n)
	for i := range learners {
		step := diameter / o.Lipschitz / math.Sqrt(math.Ldexp(1, i))
		// It checks the options and gives the first point.
		inner, err := oco.NewSubgradientDescent(o.Set, o.First, oco.Constant(step))
		if err != nil {
			return nil, err
		}
		c := &cyclic{set: o.Set, start: slices.Clone(inner.Predict()), step: step, size: 1 << i}
		c.s.X = slices.Clone(c.start)
		learners[i] = c
	}
	rate := math.Sqrt(8*portable.Log(float64(max(n, 2)))/float64(o.Rounds)) / float64(diameter*o.Lipschitz)
	h, err := newHedge(&o, diameter, "dyadic", nil, rate, learners)
	if err != nil {
		return nil, err
	}
	return &Dyadic{h}, nil
}

// DynamicBound implements [DynamicBounder]. After the horizon it is +Inf.
func (l *Dyadic) DynamicBound(variation float64) (float64, error) {
	if err := checkVariation(variation); err != nil {
		return 0, err
	}
	n, count := l.Rounds(), bits.Len(uint(l.horizon))
	if n == 0 {
		return 0, nil
	}
	if n > l.horizon {
		return math.Inf(1), nil
	}
	scale := float64(l.diameter * l.lipschitz)
	best := math.Inf(1)
	for i := range count {
		size := math.Ldexp(1, i)
		b := float64(float64(math.Ceil(float64(n)/size)*scale) * math.Sqrt(size))
		if variation > 0 {
			b += float64(2 * min(size, float64(n)) * variation)
		}
		best = min(best, b)
	}
	root := math.Sqrt(float64(l.horizon) * portable.Log(float64(max(count, 2))) / 2)
	return best + float64(scale*root) + l.excess(), nil
}

// cyclic is gradient descent with a constant step that returns to its start every size rounds,
// without a new learner.
type cyclic struct {
	set   convex.Set
	start []float64
	step  float64
	size  int
	s     cyclicState
}

type cyclicState struct {
	X   []float64
	Age int
}

func (c *cyclic) Dim() int { return len(c.start) }

func (c *cyclic) Predict() []float64 { return c.s.X }

func (c *cyclic) Update(g []float64) error {
	if len(g) != len(c.start) || !vec.Finite(g) {
		return noregret.BadInputf("gradient", "want %d finite numbers", len(c.start))
	}
	if c.s.Age++; c.s.Age == c.size {
		c.s.Age = 0
		copy(c.s.X, c.start)
		return nil
	}
	for i, v := range g {
		c.s.X[i] -= float64(c.step * v)
	}
	c.set.Project(c.s.X, c.s.X)
	return nil
}

func (c *cyclic) String() string {
	return fmt.Sprintf("cyclic(%v, start=%s, step=%v, size=%d)", c.set, brief(c.start), c.step, c.size)
}

func (c *cyclic) MarshalBinary() ([]byte, error) {
	return snapshot.Seal(snapshotMagic, c.String(), &c.s)
}

func (c *cyclic) UnmarshalBinary(data []byte) error {
	var s cyclicState
	if err := snapshot.Open(data, snapshotMagic, c.String(), &s); err != nil {
		return err
	}
	if len(s.X) != len(c.start) || !vec.Finite(s.X) || s.Age < 0 || s.Age >= c.size {
		return snapshot.Bad("damaged: round %d of %d, a point of %d numbers", s.Age, c.size, len(s.X))
	}
	c.s = s
	return nil
}
