package drift

import (
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/forget"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/vec"
)

// BGDOptions are the parameters of [NewBGD]. Begin with [DefaultBGDOptions].
type BGDOptions struct {
	// Set is a bounded set that is a [convex.Mover], as every set of package convex is.
	Set convex.Set
	// Center c is a point of the set around which it contains a ball of radius Inradius r > 0,
	// within its affine hull, and Radius R is such that no point of the set is farther from c.
	Center           []float64
	Inradius, Radius float64
	// Rounds n ≥ 1 is the number of rounds of a batch.
	Rounds int
	// Bound C > 0 bounds the costs: they are in [−C, C].
	Bound float64
	// Lipschitz L > 0 is the costs' Lipschitz constant, 0 if it is not known.
	Lipschitz float64
	// Deviation σ ≥ 0 is the standard deviation of the noise of observed costs.
	Deviation float64
	// Baseline in [0, 1) is the discount of the mean of past costs that is subtracted from the
	// costs, 0 for no baseline.
	Baseline float64
}

// DefaultBGDOptions returns options for batches of the given number of rounds with costs in
// [−bound, bound], for an unknown Lipschitz constant, without noise and without a baseline. Center
// is that of a largest ball in the set, the middle for boxes, and Inradius the ball's radius.
// Radius is the diameter, or half of it for boxes and Euclidean balls.
func DefaultBGDOptions(set convex.Set, rounds int, bound float64) BGDOptions {
	o := BGDOptions{Set: set, Rounds: rounds, Bound: bound}
	body, err := bodyOf(set)
	if err != nil {
		return o // NewBGD refuses the set
	}
	deepest, err := body.Shrink(body.Inradius())
	if err != nil {
		return o
	}
	o.Center, o.Inradius, o.Radius = make([]float64, set.Dim()), body.Inradius(), radiusOf(set)
	if b, ok := set.(*convex.Box); ok {
		for i := range o.Center {
			low, high := b.Bounds(i)
			o.Center[i] = float64(low/2) + float64(high/2)
		}
	}
	deepest.Project(o.Center, o.Center)
	return o
}

// bodyOf returns the interior of a bounded set that is not a single point.
func bodyOf(set convex.Set) (*convex.Interior, error) {
	body, err := convex.NewInterior(set)
	if err != nil {
		return nil, err
	}
	if r := body.Inradius(); body.Directions() == 0 || math.IsInf(set.Diameter(), 1) || !(r > 0) || math.IsInf(r, 1) {
		return nil, noregret.BadInputf("set", "%v: want a bounded set that is not a single point", set)
	}
	return body, nil
}

// BGD is bandit gradient descent with one point a round (Flaxman, Kalai and McMahan 2005), for
// convex costs of which only the cost φ at the point played is seen: around y it tries x = y + δ·u,
// with u uniform on the unit sphere of the set's d directions, and takes the step
//
//	y ← Π_{V_α}(y − κ·(φ − b)·u),   V_α = c + (1−α)·(V − c),
//
// where b is the baseline or 0. (d/δ)·φ·u has the mean of the gradient of the cost averaged over a
// ball of radius δ. With the Lipschitz constant,
//
//	δ = n^(−1/4)·√(R·d·C'·r/(3(L·r+C))),   α = δ/r,   κ = R/(C'·√n),   C'² = C² + σ²,
//
// and without it α = (3R·d·C'/(2r·C·√n))^(1/3) and δ = (r·R²·d²·C'²/(12n·C²))^(1/3).
//
// Guarantee: [BGD.Bound] on the expected static regret of n rounds from the center, where a restart
// in the mode [Full] begins. A round costs O(d) and a projection, and allocates nothing.
type BGD struct {
	o                   BGDOptions
	directions          *convex.Interior
	inner               convex.Set // V_α
	center              []float64
	delta, alpha, kappa float64
	trial, next, u      []float64
	text                string
	s                   bgdState
}

type bgdState struct {
	Y        []float64
	U        []float64 // of the round that has begun
	Open     bool
	Baseline forget.Mean
}

// NewBGD returns the learner, or an error of code bad_input that names the option out of range.
func NewBGD(o BGDOptions) (*BGD, error) {
	l := &BGD{o: o}
	if err := l.geometry(); err != nil {
		return nil, err
	}
	if o.Rounds < 1 {
		return nil, noregret.BadInputf("rounds", "%d: want at least 1", o.Rounds)
	}
	if err := checkPositive("bound", o.Bound); err != nil {
		return nil, err
	}
	if o.Lipschitz != 0 {
		if err := checkPositive("lipschitz", o.Lipschitz); err != nil {
			return nil, err
		}
	}
	if !(o.Deviation >= 0) || math.IsInf(o.Deviation, 1) {
		return nil, noregret.BadInputf("deviation", "%v: want a finite number, at least 0", o.Deviation)
	}
	if err := checkDiscount(o.Baseline); err != nil {
		return nil, err
	}
	l.tune()
	inner, err := shrinkTowards(o.Set, l.center, l.alpha)
	if err != nil {
		return nil, err
	}
	l.inner = inner
	d := o.Set.Dim()
	l.trial, l.next, l.u = make([]float64, d), make([]float64, d), make([]float64, l.directions.Directions())
	l.s.Y, l.s.U = make([]float64, d), make([]float64, len(l.u))
	l.inner.Project(l.s.Y, l.center)
	l.text = fmt.Sprintf("bgd(%v, center=%s, inradius=%v, radius=%v, rounds=%d, bound=%v, lipschitz=%v, deviation=%v, "+
		"baseline=%v)", o.Set, brief(l.center), l.o.Inradius, l.o.Radius, o.Rounds, o.Bound, o.Lipschitz, o.Deviation,
		o.Baseline)
	return l, nil
}

// geometry checks the set, the center and the radii.
func (l *BGD) geometry() error {
	o := &l.o
	var err error
	if l.directions, err = bodyOf(o.Set); err != nil {
		return err
	}
	if len(o.Center) != o.Set.Dim() || !vec.Finite(o.Center) || !o.Set.Contains(o.Center, 1e-12) {
		return noregret.BadInputf("center", "%s: want a point of %v", brief(o.Center), o.Set)
	}
	l.center, o.Center = slices.Clone(o.Center), nil
	if err := checkPositive("inradius", o.Inradius); err != nil {
		return err
	}
	if largest := l.directions.Inradius(); o.Inradius > float64(largest*(1+1e-12)) {
		return noregret.BadInputf("inradius", "%v: want at most %v, that of %v", o.Inradius, largest, o.Set)
	}
	if !(o.Radius >= o.Inradius) || math.IsInf(o.Radius, 1) {
		return noregret.BadInputf("radius", "%v: want a finite number, at least the inradius %v", o.Radius, o.Inradius)
	}
	return nil
}

// cubeRoot is the cube root of a positive number.
func cubeRoot(x float64) float64 { return portable.Pow(x, 1.0/3) }

// largestAlpha keeps V_α from becoming a single point.
const largestAlpha = 1 - 0x1p-20

func (l *BGD) tune() {
	o := &l.o
	n, d := float64(o.Rounds), float64(l.directions.Directions())
	r, radius := o.Inradius, o.Radius
	noisy := l.noisyBound()
	root := math.Sqrt(n)
	l.kappa = radius / float64(noisy*root)
	if o.Lipschitz > 0 {
		l.delta = math.Sqrt(float64(radius*d)*float64(noisy*r)/(3*(float64(o.Lipschitz*r)+o.Bound))) /
			math.Sqrt(root)
		l.alpha = l.delta / r
	} else {
		ratio := noisy / o.Bound
		l.alpha = cubeRoot(float64(3*radius*d) * ratio / float64(2*r*root))
		side := float64(radius*d) * ratio
		l.delta = cubeRoot(float64(r*float64(side*side)) / float64(12*n))
	}
	l.alpha = min(l.alpha, largestAlpha)
	l.delta = min(l.delta, float64(l.alpha*r)) // so that y + δ·u is in the set
}

// noisyBound is C'.
func (l *BGD) noisyBound() float64 {
	return math.Sqrt(float64(l.o.Bound*l.o.Bound) + float64(l.o.Deviation*l.o.Deviation))
}

// shrinkTowards is c + (1−α)·(V − c).
func shrinkTowards(set convex.Set, center []float64, alpha float64) (convex.Set, error) {
	m, ok := set.(convex.Mover)
	if !ok {
		return nil, noregret.BadInputf("set", "a set of type %T cannot be moved: want a convex.Mover", set)
	}
	shift := make([]float64, len(center))
	for i, c := range center {
		shift[i] = alpha * c
	}
	return m.Moved(1-alpha, shift)
}

// Tuning returns δ, the distance of trials, α, by which the set is shrunk, and κ, the step size.
func (l *BGD) Tuning() (delta, alpha, kappa float64) { return l.delta, l.alpha, l.kappa }

// Bound bounds the expected static regret of the options' n rounds from the center:
//
//	R·d·C'·√n/δ + 3n·(L + C/r)·δ,   or without L   R·d·C'·√n/δ + 6C·n·δ/(α·r) + 2α·C·n,
//
// and 2C·n if that is less. For the δ and α of [BGD] and without noise it is 2n^(3/4)·√(3RdC·(L +
// C/r)), or 3·12^(1/3)·C·n^(5/6)·(dR/r)^(1/3). With a baseline, costs minus it are only known to
// have an expected square of at most 4C² + 2σ², and C' is replaced by (C' + (4C² + 2σ²)/C')/2.
func (l *BGD) Bound() float64 {
	o := &l.o
	n, d := float64(o.Rounds), float64(l.directions.Directions())
	size := l.noisyBound()
	if o.Baseline > 0 {
		square := float64(4*float64(o.Bound*o.Bound)) + float64(2*float64(o.Deviation*o.Deviation))
		size = (size + square/size) / 2
	}
	b := float64(o.Radius*d) * float64(size*math.Sqrt(n)) / l.delta
	if o.Lipschitz > 0 {
		b += float64(float64(3*n) * float64((o.Lipschitz+o.Bound/o.Inradius)*l.delta))
	} else {
		b += float64(6*o.Bound*n)*l.delta/float64(l.alpha*o.Inradius) + float64(2*l.alpha*float64(o.Bound*n))
	}
	return min(b, float64(2*o.Bound*n))
}

// Dim implements [CostLearner].
func (l *BGD) Dim() int { return len(l.trial) }

// Center is y, the point around which it tries others. The slice belongs to the learner.
func (l *BGD) Center() []float64 { return l.s.Y }

// Play implements [CostLearner]. It takes d numbers from r, for odd d one more.
func (l *BGD) Play(r Rand) ([]float64, error) {
	if err := checkTurn(l.s.Open, false); err != nil {
		return nil, err
	}
	if r == nil {
		return nil, noregret.BadInputf("rand", "nil: want a source of random numbers")
	}
	gaussians(l.s.U, r)
	if norm := vec.Norm2(l.s.U); norm > 0 {
		vec.Scale(l.s.U, 1/norm)
	} else {
		l.s.U[0] = 1
	}
	l.s.Open = true
	copy(l.trial, l.s.Y)
	l.step(l.trial, l.delta)
	l.o.Set.Project(l.trial, l.trial) // rounding may have left the set
	return l.trial, nil
}

// step adds t·u to x.
func (l *BGD) step(x []float64, t float64) {
	for i, v := range l.s.U {
		l.directions.Step(x, i, float64(t*v))
	}
}

// Observe implements [CostLearner].
func (l *BGD) Observe(cost float64) error {
	if err := checkTurn(l.s.Open, true); err != nil {
		return err
	}
	if err := checkLoss("cost", cost); err != nil {
		return err
	}
	by := float64(l.kappa * (cost - l.s.Baseline.Value()))
	if !(math.Abs(by) <= largestLoss) {
		return noregret.BadInputf("cost", "%v: the step of %v leaves the range of numbers", cost, by)
	}
	copy(l.next, l.s.Y)
	l.step(l.next, -by)
	l.inner.Project(l.s.Y, l.next)
	if keep := l.o.Baseline; keep > 0 {
		l.s.Baseline.Add(cost, keep)
	}
	l.s.Open = false
	return nil
}

// Restart implements [CostLearner]. Its steps do not change within a batch, so that in the modes
// [Schedule] and [Project] a restart changes nothing; in mode [Full] it returns to the center.
func (l *BGD) Restart(m Mode) error {
	if err := m.check(); err != nil {
		return err
	}
	if err := checkTurn(l.s.Open, false); err != nil {
		return err
	}
	if m == Full {
		l.inner.Project(l.s.Y, l.center)
		l.s.Baseline = forget.Mean{}
	}
	return nil
}

// String describes the learner and its options in one line.
func (l *BGD) String() string { return l.text }

// MarshalBinary implements [CostLearner].
func (l *BGD) MarshalBinary() ([]byte, error) {
	s := l.s
	if !s.Open {
		s.U = nil
	}
	return snapshot.Seal(snapshotMagic, l.text, &s)
}

// UnmarshalBinary implements [CostLearner]. An error changes nothing.
func (l *BGD) UnmarshalBinary(data []byte) error {
	var s bgdState
	if err := snapshot.Open(data, snapshotMagic, l.text, &s); err != nil {
		return err
	}
	if len(s.Y) != len(l.trial) || !vec.Finite(s.Y) || s.Open != (len(s.U) == len(l.u)) || !vec.Finite(s.U) {
		return snapshot.Bad("damaged: a point of %d numbers, a direction of %d", len(s.Y), len(s.U))
	}
	if err := s.Baseline.Check(); err != nil {
		return snapshot.Bad("damaged: %w", err)
	}
	if !s.Open {
		s.U = make([]float64, len(l.u))
	}
	l.s = s
	return nil
}
