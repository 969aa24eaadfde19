package regret

import (
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/loss"
)

// Minimax derandomizes [Rademacher]: knowing x_t, it takes the sign for which the conditional
// expectation of the final regret does not fall. With S' an independent walk over the remaining
// rounds,
//
//	ε_t = +1 iff (2/D)·⟨z, x_t − m⟩ + E sign(S_{t−1} + S'_{T−t}) ≥ 0,
//
// so that every deterministic learner has regret at least (L·D/2)·E|S_T| on every run:
// [Minimax.Floor]. In one dimension, and for balls, no adversary gets more from the learner of
// [NewMinimaxPlayer]. A round costs O(d + √T); horizons up to 2⁴⁰ are allowed.
type Minimax struct {
	*segment
	rounds int
}

// maxHorizon is the longest horizon of the games that need one.
const maxHorizon = min(1<<40, math.MaxInt-1)

func checkHorizon(rounds int) error {
	if rounds < 1 || rounds > maxHorizon {
		return noregret.BadInputf("rounds", "%d: want a horizon from 1 to 2^40, which this game must know", rounds)
	}
	return nil
}

// NewMinimax plays for the given number of rounds. See [NewRademacher] for the rest.
func NewMinimax(set convex.Set, v, w []float64, lipschitz float64, rounds int) (*Minimax, error) {
	s, err := newSegment(set, v, w, lipschitz)
	if err != nil {
		return nil, err
	}
	if err := checkHorizon(rounds); err != nil {
		return nil, err
	}
	return &Minimax{s, rounds}, nil
}

// Next implements [Game]. A round after the last is an error.
func (g *Minimax) Next(x []float64) (loss.Function, error) {
	if err := checkPoint(x, len(g.z)); err != nil {
		return nil, err
	}
	if g.t == g.rounds {
		return nil, noregret.Errorf(noregret.Usage, "rounds", "%d: the game was made for %d", g.t+1, g.rounds)
	}
	sign := -1
	if float64(2/g.diameter*g.coordinate(x))+walkSign(g.sum, g.rounds-g.t-1) >= 0 {
		sign = 1
	}
	return g.play(sign), nil
}

// Restart implements [Game].
func (g *Minimax) Restart() { g.restart() }

// Floor is (L·D/2)·E|S_T|: the regret of every deterministic learner after the last round is at
// least that.
func (g *Minimax) Floor() float64 { return g.lipschitz * g.diameter / 2 * walkMean(g.rounds) }

// MinimaxPlayer is the optimal learner against [Minimax]: x_t on the line through v and
// w with ⟨z, x_t − m⟩ = −(D/2)·E sign(S_{t−1} + S'_{T−t}). Against losses ±L·z its regret after T
// rounds is (L·D/2)·E|S_T| on every sequence.
type MinimaxPlayer struct {
	s      *segment
	rounds int
	size   float64 // Σ‖g‖/T, L
	point  []float64
}

// NewMinimaxPlayer plays for the given number of rounds. See [NewRademacher] for v and w.
func NewMinimaxPlayer(set convex.Set, v, w []float64, rounds int) (*MinimaxPlayer, error) {
	s, err := newSegment(set, v, w, 1)
	if err != nil {
		return nil, err
	}
	if err := checkHorizon(rounds); err != nil {
		return nil, err
	}
	return &MinimaxPlayer{s: s, rounds: rounds, point: make([]float64, set.Dim())}, nil
}

// Dim implements [Player].
func (p *MinimaxPlayer) Dim() int { return len(p.point) }

// Predict implements [Player].
func (p *MinimaxPlayer) Predict() []float64 {
	a := walkSign(p.s.sum, max(p.rounds-p.s.t-1, 0)) / 2
	for i, m := range p.s.m {
		p.point[i] = m - float64(a*(p.s.v[i]-p.s.w[i]))
	}
	p.s.set.Project(p.point, p.point)
	return p.point
}

// Update implements [Player]. It refuses subgradients other than ±L·z with one L, and rounds after
// the last.
func (p *MinimaxPlayer) Update(g []float64) error {
	if err := checkPoint(g, len(p.point)); err != nil {
		return err
	}
	if p.s.t == p.rounds {
		return noregret.Errorf(noregret.Usage, "rounds", "%d: the player was made for %d", p.s.t+1, p.rounds)
	}
	l := vec.Dot(p.s.z, g)
	n := vec.Norm2(g)
	size := p.size
	if p.s.t == 0 {
		size = n
	}
	if !(n > 0) || math.Abs(math.Abs(l)-n) > 1e-9*n || math.Abs(n-size) > 1e-9*size {
		return noregret.BadInputf("gradient", "%v: want ±L·z with one L in all rounds, z = %v", g, p.s.z)
	}
	p.size = size
	p.s.play(int(math.Copysign(1, l)))
	return nil
}

// Bound is the regret after the last round, and +Inf before.
func (p *MinimaxPlayer) Bound(u []float64) (float64, error) {
	if err := checkPoint(u, len(p.point)); err != nil {
		return 0, err
	}
	if p.s.t < p.rounds || !p.s.extreme || !p.s.set.Contains(u, 1e-9) {
		return math.Inf(1), nil
	}
	return p.size * p.s.diameter / 2 * walkMean(p.rounds), nil
}
