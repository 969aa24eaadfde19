package drift

import (
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/forget"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/vec"
)

// EGSOptions are the parameters of [NewEGS]. Begin with [DefaultEGSOptions].
type EGSOptions struct {
	// Set is a set of package convex or a [convex.Shrinker].
	Set convex.Set
	// First is the first point, projected on the interior set of the first round. Nil is the
	// origin, projected as well.
	First []float64
	// Curvature H > 0 is the strong convexity of the costs: steps are a_k = 2d/(H·k). It is 0 if
	// Step is given.
	Curvature float64
	// Step s > 0 is a constant step a_k = s. It is 0 if Curvature is given.
	Step float64
	// Depth ν > 0 bounds the distance δ_k to the boundary. It is how far the costs' minimizers are
	// from it.
	Depth float64
	// Baseline in [0, 1) is the discount of the mean of past costs that is subtracted from the
	// costs, 0 for no baseline. 0.95 is a good choice.
	Baseline float64
}

// DefaultEGSOptions returns options for costs of a curvature, without a baseline. Depth is half the
// inradius of the set.
func DefaultEGSOptions(set convex.Set, curvature float64) EGSOptions {
	o := EGSOptions{Set: set, Curvature: curvature}
	if interior, err := convex.NewInterior(set); err == nil {
		o.Depth = min(interior.Inradius()/2, math.MaxFloat64)
	}
	return o
}

// EGS is the estimated gradient step (Besbes, Gur and Zeevi, "Non-stationary stochastic
// optimization", 2015, Appendix B; it goes back to Cope 2009 and to Kiefer and Wolfowitz), for
// strongly convex costs of which only the cost at the point played is seen. Around a point Z it
// tries X = Z ± h_k·e_i, with i and the sign uniform at random, and with the cost φ of X takes the
// step
//
//	Z ← Π_{V_δ}(Z − a_k·(φ − b)/h_k·(±e_i)),   a_k = 2d/(H·k),   h_k = δ_k = min(a_k^(1/4), ν),
//
// where V_δ is the interior set of points at distance δ = δ_k from the boundary ([convex.Interior])
// and b is the baseline or 0. The estimated gradient has the mean ∇f/d for quadratic costs, and a
// bias of order h otherwise. In a flat set the e_i are an orthonormal basis of its directions, and
// d is their number.
//
// Guarantee: [EGSBound] in expectation, if the minimizer of the sum of the costs is in V_δ. A round
// costs O(d) and a projection, and allocates nothing for sets of package convex.
type EGS struct {
	o        EGSOptions
	interior *convex.Interior
	set      convex.Set // V_δ of the current δ
	delta    float64
	first    []float64
	point    []float64 // Z ± h·e_i
	next     []float64
	text     string
	s        egsState
}

type egsState struct {
	Z         []float64
	K         int // the round of the batch, from 1
	Open      bool
	Direction int
	Sign      float64
	Baseline  forget.Mean
}

// NewEGS returns the learner, or an error of code bad_input that names the option out of range.
func NewEGS(o EGSOptions) (*EGS, error) {
	if o.Set == nil {
		return nil, noregret.BadInputf("set", "nil: want a set")
	}
	switch {
	case o.Step != 0 && o.Curvature != 0:
		return nil, noregret.BadInputf("step", "%v and curvature %v: want one of them", o.Step, o.Curvature)
	case o.Step != 0:
		if err := checkPositive("step", o.Step); err != nil {
			return nil, err
		}
	default:
		if err := checkPositive("curvature", o.Curvature); err != nil {
			return nil, err
		}
	}
	if err := checkDiscount(o.Baseline); err != nil {
		return nil, err
	}
	interior, err := convex.NewInterior(o.Set)
	if err != nil {
		return nil, err
	}
	if interior.Directions() == 0 {
		return nil, noregret.BadInputf("set", "%v is a single point: want a set with a direction", o.Set)
	}
	if err := checkPositive("depth", o.Depth); err != nil {
		return nil, err
	}
	d := o.Set.Dim()
	l := &EGS{o: o, interior: interior, delta: -1, point: make([]float64, d), next: make([]float64, d)}
	if l.first, err = firstPoint(o.First, d); err != nil {
		return nil, err
	}
	l.o.First = nil
	l.s.Z = slices.Clone(l.first)
	if err := l.restart(); err != nil {
		return nil, err
	}
	l.text = fmt.Sprintf("egs(%v, first=%v, curvature=%v, step=%v, depth=%v, baseline=%v)", o.Set, brief(l.first),
		o.Curvature, o.Step, o.Depth, o.Baseline)
	return l, nil
}

// firstPoint is a copy of a first point, the origin for nil.
func firstPoint(first []float64, d int) ([]float64, error) {
	x := make([]float64, d)
	if first == nil {
		return x, nil
	}
	if len(first) != d || !vec.Finite(first) {
		return nil, noregret.BadInputf("first", "%v: want %d finite numbers", brief(first), d)
	}
	copy(x, first)
	return x, nil
}

// tuning returns a_k and h_k = δ_k.
func (l *EGS) tuning(k int) (a, h float64) {
	a = l.o.Step
	if a == 0 {
		a = float64(2*float64(l.interior.Directions())) / float64(l.o.Curvature*float64(k))
	}
	return a, min(math.Sqrt(math.Sqrt(a)), l.o.Depth)
}

// shrink sets the set to V_δ.
func (l *EGS) shrink(delta float64) error {
	if delta == l.delta {
		return nil
	}
	set, err := l.interior.Shrink(delta)
	if err != nil {
		return err
	}
	l.set, l.delta = set, delta
	return nil
}

// restart begins a batch at the current Z.
func (l *EGS) restart() error {
	_, h := l.tuning(1)
	if err := l.shrink(h); err != nil {
		return err
	}
	l.set.Project(l.s.Z, l.s.Z)
	l.s.K = 1
	return nil
}

// Dim implements [CostLearner].
func (l *EGS) Dim() int { return len(l.point) }

// Center is Z, the point around which it tries others: its estimate of the minimizer. The slice
// belongs to the learner.
func (l *EGS) Center() []float64 { return l.s.Z }

// Play implements [CostLearner]. It takes one number from r.
func (l *EGS) Play(r Rand) ([]float64, error) {
	if err := checkTurn(l.s.Open, false); err != nil {
		return nil, err
	}
	if r == nil {
		return nil, noregret.BadInputf("rand", "nil: want a source of random numbers")
	}
	n := 2 * l.interior.Directions()
	i := min(int(r.Float64()*float64(n)), n-1)
	l.s.Direction, l.s.Sign = i/2, 1-2*float64(i%2)
	l.s.Open = true
	_, h := l.tuning(l.s.K)
	copy(l.point, l.s.Z)
	l.interior.Step(l.point, l.s.Direction, float64(h*l.s.Sign))
	l.o.Set.Project(l.point, l.point) // rounding may have left the set
	return l.point, nil
}

// Observe implements [CostLearner].
func (l *EGS) Observe(cost float64) error {
	if err := checkTurn(l.s.Open, true); err != nil {
		return err
	}
	if err := checkLoss("cost", cost); err != nil {
		return err
	}
	a, h := l.tuning(l.s.K)
	step := float64(a*(cost-l.s.Baseline.Value())) / h
	if !(math.Abs(step) <= largestLoss) {
		return noregret.BadInputf("cost", "%v: the step of %v leaves the range of numbers", cost, step)
	}
	if err := l.shrink(h); err != nil {
		return err
	}
	copy(l.next, l.s.Z)
	l.interior.Step(l.next, l.s.Direction, -float64(step*l.s.Sign))
	l.set.Project(l.s.Z, l.next)
	if keep := l.o.Baseline; keep > 0 {
		l.s.Baseline.Add(cost, keep)
	}
	l.s.K++
	l.s.Open = false
	return nil
}

// Restart implements [CostLearner]. In the modes [Schedule] and [Project] it keeps Z, projected on
// the interior set of the first round, and the baseline.
func (l *EGS) Restart(m Mode) error {
	if err := m.check(); err != nil {
		return err
	}
	if err := checkTurn(l.s.Open, false); err != nil {
		return err
	}
	if m == Full {
		copy(l.s.Z, l.first)
		l.s.Baseline = forget.Mean{}
	}
	return l.restart()
}

// EGSBound bounds the expected static regret of n rounds of [EGS] in d directions with the
// curvature H, for costs whose second derivatives are between H and L, and observed costs whose
// expected square, after the baseline is subtracted, is at most G² + σ²:
//
//	√(2d/H)·(L + (L−H)²·d/(8H) + d·(G²+σ²))·√n,
//
// beside a constant for the rounds in which a_k^(1/4) is above the depth (after Besbes, Gur and
// Zeevi 2015, Theorem 5).
func EGSBound(directions int, curvature, smoothness, bound, deviation float64, n int) float64 {
	d := float64(directions)
	gap := smoothness - curvature
	second := float64(bound*bound) + float64(deviation*deviation)
	c := smoothness + float64(float64(gap*gap)*d)/float64(8*curvature) + float64(d*second)
	return math.Sqrt(2*d/curvature) * c * math.Sqrt(float64(n))
}

// String describes the learner and its options in one line.
func (l *EGS) String() string { return l.text }

// MarshalBinary implements [CostLearner].
func (l *EGS) MarshalBinary() ([]byte, error) { return snapshot.Seal(snapshotMagic, l.text, &l.s) }

// UnmarshalBinary implements [CostLearner]. An error changes nothing.
func (l *EGS) UnmarshalBinary(data []byte) error {
	var s egsState
	if err := snapshot.Open(data, snapshotMagic, l.text, &s); err != nil {
		return err
	}
	if len(s.Z) != len(l.point) || !vec.Finite(s.Z) || s.K < 1 || s.Direction < 0 ||
		s.Direction >= l.interior.Directions() || s.Open && s.Sign != 1 && s.Sign != -1 {
		return snapshot.Bad("damaged: round %d, direction %d, a point of %d numbers", s.K, s.Direction, len(s.Z))
	}
	if err := s.Baseline.Check(); err != nil {
		return snapshot.Bad("damaged: %w", err)
	}
	l.s = s
	return nil
}
