package regret

import (
	"math"

	"github.com/noregret/noregret"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/loss"
)

// NoisyOptions are the parameters of [NewNoisy]. Start from [DefaultNoisyOptions].
type NoisyOptions struct {
	// Lipschitz is the maximum length L > 0 of subgradients.
	Lipschitz float64
	// Bias in [0, 1] is the part of the subgradients that is the same in all rounds, a direction
	// drawn from the seed.
	Bias float64
	// Density in (0, 1] is the share of coordinates that are not 0 in a round, in expectation.
	Density float64
	// Reach > 0 is the length of the comparator that the game names on unbounded sets.
	Reach float64
}

// DefaultNoisyOptions are dense subgradients of length at most 1 without a bias, and a comparator
// of length 1.
func DefaultNoisyOptions() NoisyOptions { return NoisyOptions{Lipschitz: 1, Density: 1, Reach: 1} }

func (o *NoisyOptions) check() error {
	if err := positive("lipschitz", o.Lipschitz); err != nil {
		return err
	}
	if err := positive("reach", o.Reach); err != nil {
		return err
	}
	if err := within("bias", o.Bias, 0, 1); err != nil {
		return err
	}
	if !(o.Density > 0 && o.Density <= 1) {
		return noregret.BadInputf("density", "%v: want a number above 0 and at most 1", o.Density)
	}
	return nil
}

// Noisy is a game of linear losses with a bias and independent noise: with h a unit vector and ξ_t
// uniform in the cube [−1, 1]^d,
//
//	g_t = L·(bias·h + (1 − bias)·ξ_t/√d),
//
// so that ‖g_t‖₂ ≤ L, on any set; each coordinate is kept with the probability Density and else 0.
// Losses of a density below 1 know their non-zeros ([loss.SparseFunction]). Oblivious. On an
// unbounded set there is no best point, and the game names the best one of length Reach.
type Noisy struct {
	linear
	o    NoisyOptions
	seed uint64
	r    *random.Source
	h    []float64
	c    loss.Sparse // the round's non-zeros, for densities below 1
}

// NewNoisy plays in the set.
func NewNoisy(set convex.Set, o NoisyOptions, seed uint64) (*Noisy, error) {
	if set == nil {
		return nil, noregret.BadInputf("set", "nil: a set is required")
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	g := &Noisy{linear: newLinear(set), o: o, seed: seed, h: make([]float64, set.Dim())}
	r := random.New(seed, "regret/noisy/direction")
	for i := range g.h {
		g.h[i] = float64(2*float64(r.Float64())) - 1
	}
	n := vec.Norm2(g.h)
	for i := range g.h {
		if g.h[i] /= n; n == 0 {
			g.h[i] = 1 / math.Sqrt(float64(len(g.h)))
		}
	}
	if o.Density < 1 {
		g.c = loss.Sparse{Index: make([]uint32, 0, len(g.h)), Value: make([]float64, 0, len(g.h))}
	}
	g.Restart()
	return g, nil
}

// Next implements [Game].
func (g *Noisy) Next(x []float64) (loss.Function, error) {
	if err := checkPoint(x, len(g.h)); err != nil {
		return nil, err
	}
	shared := g.o.Lipschitz * g.o.Bias
	noise := g.o.Lipschitz * (1 - g.o.Bias) / math.Sqrt(float64(len(g.h)))
	sparse := g.o.Density < 1
	c := loss.Sparse{Index: g.c.Index[:0], Value: g.c.Value[:0]}
	for i, h := range g.h {
		u := float64(g.r.Float64())
		v := float64(shared*h) + float64(noise*float64(float64(2*u)-1))
		switch {
		case !sparse:
			g.f.C[i] = v
		case g.r.Float64() < g.o.Density:
			c.Index, c.Value = append(c.Index, uint32(i)), append(c.Value, v)
		}
	}
	if sparse {
		g.c = c
		g.f.SetSparse(c)
	}
	return &g.f, nil
}

// Restart implements [Game].
func (g *Noisy) Restart() {
	g.r = random.New(g.seed, "regret/noisy")
	g.restart()
}

// Comparator is −Reach·Σg/‖Σg‖, the best point of that length at most; it is what certificates on
// unbounded sets compare with.
func (g *Noisy) Comparator() []float64 {
	u := make([]float64, len(g.h))
	copy(u, g.sum.values())
	if n := vec.Norm2(u); n > 0 {
		for i := range u {
			u[i] = -g.o.Reach * (u[i] / n)
		}
	}
	g.set.Project(u, u)
	return u
}

// ExpertGame is the game of expert advice with fair coins for losses: each of d experts errs (loss
// 1) with probability ½, one of them, drawn from the seed, with probability ½ − gap. Oblivious.
type ExpertGame struct {
	linear
	gap  float64
	seed uint64
	r    *random.Source
	best int
}

// NewExpertGame plays with d ≥ 1 experts and a gap in [0, ½].
func NewExpertGame(d int, gap float64, seed uint64) (*ExpertGame, error) {
	if err := checkDim(d, 1); err != nil {
		return nil, err
	}
	if err := within("gap", gap, 0, 0.5); err != nil {
		return nil, err
	}
	set, err := convex.NewSimplex(d)
	if err != nil {
		return nil, err
	}
	g := &ExpertGame{linear: newLinear(set), gap: gap, seed: seed}
	g.best = random.New(seed, "regret/experts/best").IntN(d)
	g.Restart()
	return g, nil
}

// Best returns the index of the expert that errs less.
func (g *ExpertGame) Best() int { return g.best }

// Next implements [Game].
func (g *ExpertGame) Next(x []float64) (loss.Function, error) {
	if err := checkPoint(x, len(g.f.C)); err != nil {
		return nil, err
	}
	for i := range g.f.C {
		p := 0.5
		if i == g.best {
			p -= g.gap
		}
		g.f.C[i] = 0
		if g.r.Float64() < p {
			g.f.C[i] = 1
		}
	}
	return &g.f, nil
}

// Restart implements [Game].
func (g *ExpertGame) Restart() {
	g.r = random.New(g.seed, "regret/experts")
	g.restart()
}

// SparseGame has composite losses ⟨g_t, x⟩ + λ‖x‖₁ on a ball around the origin: noise in all
// coordinates, and a bias beyond λ in few of them, so that the best point is sparse. Learners that
// know the l1 part keep their points sparse too: see [NewWithoutL1]. Oblivious.
type SparseGame struct {
	set    convex.Set
	lambda float64
	scale  float64
	active int
	seed   uint64
	r      *random.Source
	f      loss.Composite
	c      loss.Linear
	sum    *CompositeSummary
}

// NewSparseGame plays in the Euclidean ball of radius 1 around the origin of ℝ^d, with weight
// lambda ≥ 0 for ‖x‖₁ and the given number of coordinates with a bias, 0 to d. Subgradients of the
// linear part have length at most 1.
func NewSparseGame(d int, lambda float64, active int, seed uint64) (*SparseGame, error) {
	if err := checkDim(d, 1); err != nil {
		return nil, err
	}
	if !(lambda >= 0) || math.IsInf(lambda, 1) {
		return nil, noregret.BadInputf("lambda", "%v: want a finite number, at least 0", lambda)
	}
	if active < 0 || active > d {
		return nil, noregret.BadInputf("active", "%d: want a number from 0 to the dimension %d", active, d)
	}
	set, err := convex.NewCenteredBall(d, 1)
	if err != nil {
		return nil, err
	}
	g := &SparseGame{
		set: set, lambda: lambda, scale: 1 / math.Sqrt(float64(d)), active: active, seed: seed,
		c: loss.Linear{C: make([]float64, d)}, sum: NewCompositeSummary(d),
	}
	g.f = loss.Composite{F: &g.c, Lambda: lambda}
	g.Restart()
	return g, nil
}

// Set implements [Game].
func (g *SparseGame) Set() convex.Set { return g.set }

// Features implements [Game].
func (g *SparseGame) Features() []float64 { return nil }

// Summary implements [Game], with a [CompositeSummary].
func (g *SparseGame) Summary() Summary { return g.sum }

// Next implements [Game], with a [loss.Composite].
func (g *SparseGame) Next(x []float64) (loss.Function, error) {
	if err := checkPoint(x, len(g.c.C)); err != nil {
		return nil, err
	}
	for i := range g.c.C {
		u := float64(2*float64(g.r.Float64())) - 1
		if i < g.active {
			u = float64(u/2) - 0.5 // of mean −½
			if i%2 == 1 {
				u = -u
			}
		}
		g.c.C[i] = float64(g.scale * u)
	}
	return &g.f, nil
}

// Restart implements [Game].
func (g *SparseGame) Restart() {
	g.r = random.New(g.seed, "regret/sparse")
	g.sum.Reset()
}

// WithoutL1 gives a learner that knows the l1 part of composite losses (oco.CompositeFTRL) the
// subgradients of the other part alone.
type WithoutL1 struct {
	Player
	lambda float64
	g      []float64
}

// NewWithoutL1 wraps a learner whose own weight of ‖x‖₁ a round is lambda.
func NewWithoutL1(player Player, lambda float64) (*WithoutL1, error) {
	if player == nil {
		return nil, noregret.BadInputf("player", "nil: a player is required")
	}
	if !(lambda >= 0) || math.IsInf(lambda, 1) {
		return nil, noregret.BadInputf("lambda", "%v: want a finite number, at least 0", lambda)
	}
	return &WithoutL1{player, lambda, make([]float64, player.Dim())}, nil
}

// UpdateLoss ends the round with a [loss.Composite] of the learner's own weight; other losses are
// refused.
func (p *WithoutL1) UpdateLoss(f loss.Function) error {
	c, ok := f.(*loss.Composite)
	if !ok || c.Lambda != p.lambda || c.Dim() != len(p.g) {
		return noregret.BadInputf("loss", "%T: want a composite loss with weight %v of the l1 part", f, p.lambda)
	}
	c.F.Subgradient(p.g, p.Predict())
	return p.Update(p.g)
}

// Bound is the learner's, +Inf if it has none.
func (p *WithoutL1) Bound(u []float64) (float64, error) {
	if b, ok := p.Player.(bounder); ok {
		return b.Bound(u)
	}
	return math.Inf(1), checkPoint(u, len(p.g))
}
