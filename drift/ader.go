package drift

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/experts"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/loss"
	"github.com/noregret/noregret/oco"
)

// PathBounder is a learner with a guarantee against comparators that move.
type PathBounder interface {
	// PathBound bounds the regret of the rounds so far against any sequence of points of the set
	// with the given path length Σ_{t≥2} ‖u_t − u_{t−1}‖₂. It returns an error if that is negative
	// or NaN.
	PathBound(path float64) (float64, error)
}

// HedgeOptions are the parameters of [NewAder] and [NewDyadic]. The zero value is refused: Set,
// Lipschitz and Rounds are required.
type HedgeOptions struct {
	// Set is a bounded set, of diameter D.
	Set convex.Set
	// First is the first point, nil for the projection of the origin.
	First []float64
	// Lipschitz G > 0 bounds the gradients. Longer ones are shortened to G, and bounds grow by D
	// times what is cut off.
	Lipschitz float64
	// Rounds T ≥ 1 is the horizon. The bounds hold until then.
	Rounds int
}

func (o *HedgeOptions) check() (diameter float64, err error) {
	if o.Rounds < 1 {
		return 0, noregret.BadInputf("rounds", "%d: want at least 1", o.Rounds)
	}
	if diameter, err = diameterOf(o.Set); err != nil {
		return 0, err
	}
	return diameter, checkPositive("lipschitz", o.Lipschitz)
}

// diameterOf is the diameter of a bounded set, 1 for a single point, for which any step will do.
func diameterOf(set convex.Set) (float64, error) {
	if set == nil {
		return 0, noregret.BadInputf("set", "nil: want a set")
	}
	switch d := set.Diameter(); {
	case math.IsInf(d, 1):
		return 0, noregret.BadInputf("set", "%v is unbounded: want a bounded set", set)
	case d == 0:
		return 1, nil
	default:
		return d, nil
	}
}

// hedge plays the weighted mean of learners that all get the gradient at that mean.
type hedge struct {
	*experts.Mixture
	g         []float64
	lipschitz float64
	diameter  float64
	horizon   int
	name      string
	s         hedgeState
}

type hedgeState struct {
	Excess  float64 // Σ max(‖g_t‖ − G, 0)
	Mixture []byte
}

// newHedge weighs the learners by exponential weights with this rate.
func newHedge(o *HedgeOptions, diameter float64, name string, prior []float64, rate float64,
	learners []experts.Learner,
) (*hedge, error) {
	weights, err := oco.NewExponentiatedGradient(len(learners), prior, rate)
	if err != nil {
		return nil, err
	}
	m, err := experts.NewMixture(weights, learners...)
	if err != nil {
		return nil, err
	}
	return &hedge{
		Mixture: m, g: make([]float64, m.Dim()), lipschitz: o.Lipschitz, diameter: diameter, horizon: o.Rounds,
		name: name,
	}, nil
}

// Update implements [oco.Learner]. A gradient longer than G is shortened to G.
func (l *hedge) Update(g []float64) error {
	if len(g) != len(l.g) || !vec.Finite(g) {
		return l.Mixture.Update(g) // which refuses it
	}
	excess := shorten(l.g, g, l.lipschitz)
	if err := l.Mixture.Update(l.g); err != nil {
		return err
	}
	l.s.Excess += excess
	return nil
}

// shorten writes g, shortened to the given length if it is longer, to dst and returns what it cuts
// off.
func shorten(dst, g []float64, length float64) (excess float64) {
	copy(dst, g)
	n := vec.Norm2(g)
	if !(n > length) {
		return 0
	}
	for i, v := range g {
		dst[i] = v / n * length
	}
	return n - length
}

// excess is D·Σ max(‖g_t‖ − G, 0), the most that shortened gradients hide of the regret.
func (l *hedge) excess() float64 { return float64(l.diameter * l.s.Excess) }

// Bound implements [oco.Bounder].
func (l *hedge) Bound(u []float64) (float64, error) {
	b, err := l.Mixture.Bound(u)
	return b + l.excess(), err
}

// MarshalBinary implements [oco.Snapshotter].
func (l *hedge) MarshalBinary() ([]byte, error) {
	s := l.s
	var err error
	if s.Mixture, err = l.Mixture.MarshalBinary(); err != nil {
		return nil, err
	}
	return snapshot.Seal(snapshotMagic, l.String(), &s)
}

// UnmarshalBinary implements [oco.Snapshotter]. An error changes nothing.
func (l *hedge) UnmarshalBinary(data []byte) error {
	var s hedgeState
	if err := snapshot.Open(data, snapshotMagic, l.String(), &s); err != nil {
		return err
	}
	if !(s.Excess >= 0) {
		return snapshot.Bad("damaged: gradients longer by %v", s.Excess)
	}
	if err := l.Mixture.UnmarshalBinary(s.Mixture); err != nil {
		return err
	}
	l.s.Excess = s.Excess
	return nil
}

// UpdateLoss implements [oco.LossLearner]: Update with the subgradient at Predict().
func (l *hedge) UpdateLoss(f loss.Function) error {
	if f == nil || f.Dim() != len(l.g) {
		return noregret.BadInputf("loss", "want a function of dimension %d", len(l.g))
	}
	f.Subgradient(l.g, l.Predict())
	return l.Update(l.g)
}

// String describes the learner and its options in one line.
func (l *hedge) String() string {
	return fmt.Sprintf("%s(%v, lipschitz=%v, rounds=%d)", l.name, l.Mixture, l.lipschitz, l.horizon)
}

// Ader hedges over step sizes (Zhang, Lu and Zhou, "Adaptive online learning in dynamic
// environments", NeurIPS 2018), and needs to know neither the path of the best points nor the
// variation. N = ⌈½·log₂(1+4T/7)⌉ + 1 gradient descents with the steps
//
//	η_i = 2^(i−1)·(D/G)·√(7/(2T)),   prior weights (1+1/N)/(i·(i+1)),
//
// all take the one gradient g_t at the weighted mean x_t of their points, and the weights are
// multiplied by exp(−√(2/(T·G²·D²))·⟨g_t, x_{t,i} − x_t⟩).
//
// Guarantee (PathBound): (3G/4)·√(2T·(7D²+4D·P)) + (G·D·√(2T)/2)·(1+2·ln(k+1)) for comparators of
// path length P, with k = ⌊½·log₂(1+4P/(7D))⌋ + 1. DynamicBound follows from it, and is of order
// V^(1/3)·T^(2/3) + √T. With noisy gradients both hold in expectation, for comparators that are
// fixed in advance. A round costs N descent steps, and allocates nothing.
type Ader struct{ *hedge }

// NewAder returns the learner.
func NewAder(o HedgeOptions) (*Ader, error) {
	diameter, err := o.check()
	if err != nil {
		return nil, err
	}
	t := float64(o.Rounds)
	n := int(math.Ceil(float64(log2(1+float64(4*t/7))/2*(1-1e-12)))) + 1
	prior := make([]float64, n)
	learners := make([]experts.Learner, n)
	first := diameter / o.Lipschitz * math.Sqrt(7/(2*t))
	for i := range learners {
		prior[i] = (1 + 1/float64(n)) / (float64(i+1) * float64(i+2))
		learners[i], err = oco.NewSubgradientDescent(o.Set, o.First, oco.Constant(math.Ldexp(first, i)))
		if err != nil {
			return nil, err
		}
	}
	normalize(prior)
	h, err := newHedge(&o, diameter, "ader", prior, math.Sqrt(2/t)/float64(o.Lipschitz*diameter), learners)
	if err != nil {
		return nil, err
	}
	return &Ader{h}, nil
}

// normalize makes positive numbers sum to 1.
func normalize(p []float64) { vec.Scale(p, 1/vec.Sum(p)) }

func log2(x float64) float64 { return portable.Log(x) / math.Ln2 }

// PathBound implements [PathBounder]. After the horizon it is +Inf.
func (l *Ader) PathBound(path float64) (float64, error) {
	if !(path >= 0) {
		return 0, noregret.BadInputf("path", "%v: want a number of at least 0", path)
	}
	switch {
	case l.Rounds() > l.horizon:
		return math.Inf(1), nil
	case l.Rounds() == 0:
		return 0, nil
	}
	t, d, g := float64(l.horizon), l.diameter, l.lipschitz
	path = min(path, float64(d*t)) // no path in the set is longer
	k := math.Floor(log2(1+float64(4*path/(7*d)))/2) + 1
	root := math.Sqrt(2 * t * (float64(7*d*d) + float64(4*d*path)))
	static := float64(g * d * math.Sqrt(2*t) / 2 * (1 + float64(2*portable.Log(k+1))))
	return float64(3*g/4*root) + static + l.excess(), nil
}

// DynamicBound implements [DynamicBounder]: the least of PathBound(D·(m−1)) + 2⌈n/m⌉·V over numbers
// m of batches of an analysis in which the comparator moves between batches only. After the horizon
// it is +Inf.
func (l *Ader) DynamicBound(variation float64) (float64, error) {
	return overPartitions(l.Rounds(), variation, func(batches, _ int) (float64, error) {
		return l.PathBound(float64(l.diameter * float64(batches-1)))
	})
}

// overPartitions is the least of regret(m, Δ) + 2Δ·V over partitions of n rounds into m batches of
// at most Δ rounds, for m = ⌈n/Δ⌉ and a Δ that grows by at least an eighth.
func overPartitions(n int, variation float64, regret func(batches, size int) (float64, error)) (float64, error) {
	if err := checkVariation(variation); err != nil {
		return 0, err
	}
	if n == 0 {
		return 0, nil
	}
	best := math.Inf(1)
	for size := 1; ; size = min(size+size/8+1, n) {
		r, err := regret((n-1)/size+1, size)
		if err != nil {
			return 0, err
		}
		if variation > 0 {
			r += float64(2 * float64(size) * variation)
		}
		best = min(best, r)
		if size == n {
			return best, nil
		}
	}
}
