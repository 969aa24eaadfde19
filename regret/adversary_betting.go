package regret

import (
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/loss"
)

// BettingTrap is the adversary of unconstrained online linear optimization (Orabona 2019, Theorems
// 5.11 and 5.12). The learner claims that its regret against 0 stays within ε(t), nondecreasing,
// for subgradients of length at most 1. A point x_t longer than ε(t) − Σ_{i<t} ⟨g_i, x_i⟩ refutes
// the claim: g_t = x_t/‖x_t‖ takes the regret above ε(t), and the game ends there (later losses are
// 0). Otherwise the learner is a bettor with wealth w_{t−1} = ε(T) − Σ_{i<t} ⟨g_i, x_i⟩, and g_t =
// −c_t·e_1 with the coin of [CoinAdversary] for β_t = x_{t,1}/w_{t−1}. With f(s) =
// (ε(T)/√T)·exp(s²·ln 2/T), after T rounds
//
//	Regret_T(u*) ≥ f*(‖u*‖) + ε(T) at u* = f'(Σ c_t)·e_1,
//
// of order ‖u*‖·√(T·ln(‖u*‖T/ε)): no learner with small regret at 0 does better far from it. A
// round costs O(d + T); horizons from 1 to about 1000 are allowed, as ‖u*‖ may be 2^T. The losses
// are linear on ℝ^d and have no best point: certificates compare with u*.
type BettingTrap struct {
	linear
	coin   *CoinAdversary
	claim  func(t int) float64
	final  float64 // ε(T)
	t      int
	paid   total // Σ ⟨g_i, x_i⟩
	broken int   // the round in which the claim was refuted
	excess float64
}

// NewBettingTrap plays on ℝ^d against a claim, for the given number of rounds. The claim is called
// for t = 1, ..., rounds and must be above 0 and nondecreasing. As ‖u*‖ may be of order 2^T,
// horizons for which numbers of that size leave the range of float64 (about 1000) are refused.
func NewBettingTrap(d, rounds int, claim func(t int) float64) (*BettingTrap, error) {
	if err := checkDim(d, 1); err != nil {
		return nil, err
	}
	if claim == nil {
		return nil, noregret.BadInputf("claim", "nil: a function of the round is required")
	}
	coin, err := NewCoinAdversary(rounds)
	if err != nil {
		return nil, err
	}
	last := 0.0
	for t := 1; t <= rounds; t++ {
		e := claim(t)
		if !(e > 0) || !(e >= last) || math.IsInf(e, 1) {
			return nil, noregret.BadInputf("claim",
				"%v in round %d, after %v: want finite numbers above 0 that do not "+
					"fall", e, t, last)
		}
		last = e
	}
	if n := float64(rounds); math.IsInf(math.Ldexp(last*math.Sqrt(n), rounds+2), 1) {
		return nil, noregret.BadInputf("rounds",
			"%d: comparators of length %v·2^%d leave the range of float64: want fewer, "+
				"about 1000 at most",
			rounds, last, rounds)
	}
	set, err := convex.NewSpace(d)
	if err != nil {
		return nil, err
	}
	return &BettingTrap{linear: newLinear(set), coin: coin, claim: claim, final: last}, nil
}

// Next implements [Game]. A round after the last is an error.
func (g *BettingTrap) Next(x []float64) (loss.Function, error) {
	if err := checkPoint(x, len(g.f.C)); err != nil {
		return nil, err
	}
	if g.t == g.coin.rounds {
		return nil, noregret.Errorf(noregret.Usage, "rounds", "%d: the game was made for %d", g.t+1, g.coin.rounds)
	}
	g.t++
	clear(g.f.C)
	if g.broken > 0 {
		return &g.f, nil
	}
	n, e := vec.Norm2(x), g.claim(g.t)
	if n > e-g.paid.value() {
		for i, v := range x {
			g.f.C[i] = v / n
		}
		g.paid.add(n)
		g.broken, g.excess = g.t, g.paid.value()-e
		return &g.f, nil
	}
	beta := 0.0
	if w := g.final - g.paid.value(); w > 0 {
		beta = min(max(x[0]/w, -1), 1) // |x_1| ≤ w, up to rounding
	}
	c, err := g.coin.Next(beta)
	if err != nil {
		return nil, err
	}
	g.f.C[0] = -c
	g.paid.add(float64(-c * x[0]))
	return &g.f, nil
}

// Restart implements [Game].
func (g *BettingTrap) Restart() {
	g.t, g.broken, g.excess, g.paid = 0, 0, 0, total{}
	g.coin.Restart()
	g.restart()
}

// Refuted returns the round in which the claim was refuted and the regret against 0 in excess of
// the claim; 0 and 0 if it was not.
func (g *BettingTrap) Refuted() (round int, excess float64) { return g.broken, g.excess }

// Sum is Σ c_t, so far.
func (g *BettingTrap) Sum() int { return g.coin.Sum() }

// Comparator is u* = f'(Σ c_t)·e_1, and 0 once the claim is refuted.
func (g *BettingTrap) Comparator() []float64 {
	u := make([]float64, len(g.f.C))
	if g.broken == 0 {
		t, s := float64(g.coin.rounds), float64(g.coin.Sum())
		a := s * math.Ln2 / t
		u[0] = 2 * a * (g.final / math.Sqrt(t)) * portable.Exp(float64(a*s))
	}
	return u
}

// Floor is f*(‖u*‖) + ε(T), the regret that the learner has against Comparator after the last
// round. Once the claim is refuted it is the claim of that round, which the regret against 0
// exceeds.
func (g *BettingTrap) Floor() float64 {
	if g.broken > 0 {
		return g.claim(g.broken)
	}
	return ConjugateOfWealth(vec.Norm2(g.Comparator()), g.coin.rounds, g.final) + g.final
}

// ConjugateOfWealth is f*(y) = sup_s s·y − f(s) of f(s) = (ε/√T)·exp(s²·ln 2/T) for y ≥ 0: with a =
// T/(2·ln 2) and b = ε/√T,
//
//	f*(y) = √a·y·(√w − 1/√w),   w·e^w = a·y²/b²
//
// (Lambert's W), to a few units in the last place, also where a·y²/b² leaves the range of float64.
// It is NaN unless y, T and ε are in range: y ≥ 0, T ≥ 1, ε > 0.
func ConjugateOfWealth(y float64, rounds int, epsilon float64) float64 {
	if !(y >= 0) || math.IsInf(y, 1) || rounds < 1 || !(epsilon > 0) || math.IsInf(epsilon, 1) {
		return math.NaN()
	}
	t := float64(rounds)
	a, b := t/(2*math.Ln2), epsilon/math.Sqrt(t)
	q := math.Sqrt(a) * y / b // the square root of W's argument
	if q < 1e-8 {
		// f* = −b + a·y²/(2b)·(1 + O(q²)).
		return float64(b*float64(q*q)/2) - b
	}
	w := portable.LambertW0Exp(portable.Log(a) + float64(2*(portable.Log(y)-portable.Log(b))))
	root := math.Sqrt(w)
	return math.Sqrt(a) * y * (root - 1/root)
}
