package regret

import (
	"math"
	"slices"

	"github.com/noregret/noregret"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/loss"
)

// segment is the common part of the sign games: losses ⟨±L·z, x⟩ with z the direction from w to v.
type segment struct {
	linear
	v, w, z, m []float64
	diameter   float64 // ‖v − w‖
	lipschitz  float64
	extreme    bool
	sum        int // S_t, the sum of the signs
	t          int
}

// ends returns two opposite extreme points of a set, nil for an unknown kind of set.
func ends(set convex.Set) (v, w []float64) {
	d := set.Dim()
	v, w = make([]float64, d), make([]float64, d)
	switch set := set.(type) {
	case *convex.Ball:
		copy(v, set.Center())
		copy(w, set.Center())
		v[0] += set.Radius()
		w[0] -= set.Radius()
	case *convex.Box:
		w, v = set.Sides()
	case *convex.Simplex:
		if d < 2 {
			return nil, nil
		}
		v[0], w[1] = set.Sum(), set.Sum()
	default:
		return nil, nil
	}
	return v, w
}

func newSegment(set convex.Set, v, w []float64, lipschitz float64) (*segment, error) {
	if set == nil {
		return nil, noregret.BadInputf("set", "nil: a set is required")
	}
	if math.IsInf(set.Diameter(), 1) {
		return nil, noregret.BadInputf("set", "%v is unbounded: this game is for bounded sets", set)
	}
	if err := positive("lipschitz", lipschitz); err != nil {
		return nil, err
	}
	if v == nil && w == nil {
		if v, w = ends(set); v == nil {
			return nil, noregret.BadInputf("set",
				"%v: want a ball, a box, or a simplex of two points or more; for others "+
					"give two points v and w", set)
		}
	}
	for _, p := range []struct {
		name string
		x    []float64
	}{{"v", v}, {"w", w}} {
		if len(p.x) != set.Dim() || !set.Contains(p.x, 1e-12) {
			return nil, noregret.BadInputf(p.name, "%v: want a point of the set %v", p.x, set)
		}
	}
	g := &segment{linear: newLinear(set), v: slices.Clone(v), w: slices.Clone(w), lipschitz: lipschitz}
	g.z, g.m = make([]float64, len(v)), make([]float64, len(v))
	for i := range v {
		g.z[i] = v[i] - w[i]
		g.m[i] = float64(v[i]/2) + float64(w[i]/2)
	}
	if g.diameter = vec.Norm2(g.z); !(g.diameter > 0) {
		return nil, noregret.BadInputf("v", "%v: it equals w; want two points", v)
	}
	for i := range g.z {
		g.z[i] /= g.diameter
	}
	// v and w maximize and minimize ⟨z, ·⟩ over the set?
	x, c := make([]float64, len(v)), slices.Clone(g.z)
	low, err := set.Minimize(x, c)
	if err != nil {
		return nil, err
	}
	for i := range c {
		c[i] = -c[i]
	}
	high, err := set.Minimize(x, c)
	if err != nil {
		return nil, err
	}
	slack := float64(1e-12 * (vec.Norm2(v) + vec.Norm2(w)))
	g.extreme = vec.Dot(g.z, w) <= low+float64(slack) && vec.Dot(g.z, v) >= -high-float64(slack)
	return g, nil
}

// Ends are the points v and w.
func (g *segment) Ends() (v, w []float64) { return slices.Clone(g.v), slices.Clone(g.w) }

// Extreme reports whether v and w maximize and minimize ⟨z, ·⟩ over the set, so that one of them is
// always best and the floor is the exact expectation.
func (g *segment) Extreme() bool { return g.extreme }

// Sum is S_t, the sum of the signs so far.
func (g *segment) Sum() int { return g.sum }

// play returns the round's loss for the sign.
func (g *segment) play(sign int) *loss.Linear {
	g.t++
	g.sum += sign
	l := float64(sign) * g.lipschitz
	for i, z := range g.z {
		g.f.C[i] = float64(l * z)
	}
	return &g.f
}

// coordinate is ⟨z, x − m⟩, which is ±D/2 at v and w.
func (g *segment) coordinate(x []float64) float64 {
	var s float64
	for i, z := range g.z {
		s += float64(z * (x[i] - g.m[i]))
	}
	return s
}

func (g *segment) restart() {
	g.t, g.sum = 0, 0
	g.linear.restart()
}

// Rademacher is the game of fair coins behind the lower bound √2·L·D·√T/4 of online linear
// optimization (Orabona 2019, Theorem 5.1): losses g_t = L·ε_t·z with independent fair signs ε_t
// and z the direction between two points v, w of the set that are D = ‖v − w‖ apart. Every learner
// has expected regret 0 against their midpoint m, while the better of v and w gains: on each
// sequence, with S_T = Σ ε_t,
//
//	Regret_T = L·Σ ε_t·⟨z, x_t − m⟩ + (L·D/2)·|S_T|,
//
// and so E Regret_T = (L·D/2)·E|S_T|, exactly, for every algorithm if v and w are extreme (see
// Extreme), and at least that otherwise. It is oblivious.
type Rademacher struct {
	*segment
	seed uint64
	r    *random.Source
	bits uint64
	left int
}

// NewRademacher plays in a bounded set with subgradients of length lipschitz > 0. v and w are
// points of the set; both nil stands for center ± r·e_1 on balls, the corners a, b on boxes and
// e_1, e_2 on the simplex.
func NewRademacher(set convex.Set, v, w []float64, lipschitz float64, seed uint64) (*Rademacher, error) {
	s, err := newSegment(set, v, w, lipschitz)
	if err != nil {
		return nil, err
	}
	g := &Rademacher{segment: s, seed: seed}
	g.Restart()
	return g, nil
}

// Next implements [Game].
func (g *Rademacher) Next(x []float64) (loss.Function, error) {
	if err := checkPoint(x, len(g.z)); err != nil {
		return nil, err
	}
	if g.left == 0 {
		g.bits, g.left = g.r.Uint64(), 64
	}
	sign := int(g.bits&1)*2 - 1
	g.bits >>= 1
	g.left--
	return g.play(sign), nil
}

// Restart implements [Game].
func (g *Rademacher) Restart() {
	g.restart()
	g.r, g.left = random.New(g.seed, "regret/rademacher"), 0
}

// Floor is (L·D/2)·E|S_T|, the expected regret of every learner over the seeds, at least
// √2·L·D·√T/4.
func (g *Rademacher) Floor(rounds int) float64 {
	return g.lipschitz * g.diameter / 2 * walkMean(rounds)
}
