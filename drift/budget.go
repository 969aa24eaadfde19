package drift

import (
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
)

// Setting is a class of costs and the feedback about them, as far as batch sizes depend on it.
type Setting int

const (
	// ConvexGradient has convex costs and noisy gradients: batches of (T/V)^(2/3) rounds for a
	// learner of static regret of order √n, and regret of order V^(1/3)·T^(2/3) (Besbes, Gur and
	// Zeevi 2015, Theorem 3).
	ConvexGradient Setting = iota
	// StronglyConvexGradient has strongly convex costs and noisy gradients: batches of √(T·ln T/V)
	// rounds for a learner of static regret of order ln n, and regret of order √(V·T·ln T) (Besbes,
	// Gur and Zeevi 2015, Theorem 4).
	StronglyConvexGradient
	// StronglyConvexCost has strongly convex costs and noisy costs of single points: batches and
	// regret as for ConvexGradient (Besbes, Gur and Zeevi 2015, Theorem 5). See [EGS].
	StronglyConvexCost
	// ConvexCost has convex costs and noisy costs of single points: batches of (T/V)^(4/5) rounds
	// for a learner of static regret of order n^(3/4), and regret of order V^(1/5)·T^(4/5). See
	// [BGD].
	ConvexCost
)

// String is "convex-gradient", "strongly-convex-gradient", "strongly-convex-cost" or "convex-cost".
func (s Setting) String() string {
	switch s {
	case ConvexGradient:
		return "convex-gradient"
	case StronglyConvexGradient:
		return "strongly-convex-gradient"
	case StronglyConvexCost:
		return "strongly-convex-cost"
	case ConvexCost:
		return "convex-cost"
	}
	return "unknown"
}

// Budget limits how much a world changes: its costs f_1, ..., f_T on a set have a
// variation Σ_{t≥2} sup_x |f_t(x) − f_{t−1}(x)| of at most V. For the results on restarts it is
// enough that the supremum is over the convex hull of the costs' minimizers.
//
// A smaller V means fewer restarts, and below T^(−1/2) none at all in the settings of order
// V^(1/3)·T^(2/3). A V that is too small costs more than one that is too large: the regret for the
// budget V' and the variation V is of order T^(2/3)·V'^(1/3) + V·(T/V')^(2/3). A Budget is a value
// without state.
type Budget struct {
	rounds    int
	variation float64
	clipped   bool
}

// NewBudget makes the budget V = variation of T = rounds rounds. It returns an error of code
// bad_input for fewer than 1 round and for a variation that is negative or NaN. A variation above T
// is replaced by T, which [Budget.Clipped] reports: then no learner can guarantee anything, because
// the regret of every learner may be proportional to T (Besbes, Gur and Zeevi 2015, Proposition 1).
func NewBudget(rounds int, variation float64) (Budget, error) {
	if rounds < 1 {
		return Budget{}, noregret.BadInputf("rounds", "%d: want at least 1", rounds)
	}
	if !(variation >= 0) {
		return Budget{}, noregret.BadInputf("variation", "%v: want a number of at least 0", variation)
	}
	t := float64(rounds)
	return Budget{rounds: rounds, variation: min(variation, t), clipped: variation > t}, nil
}

// Rounds is T.
func (b Budget) Rounds() int { return b.rounds }

// Variation is V, at most T.
func (b Budget) Variation() float64 { return b.variation }

// Clipped reports whether the variation was above T.
func (b Budget) Clipped() bool { return b.clipped }

// BatchSize is the number of rounds between restarts, from 1 to T, that gives the setting's rate of
// regret. It needs no constants; see [Budget.OptimalBatchSize].
func (b Budget) BatchSize(s Setting) int {
	t := float64(b.rounds)
	ratio := t / b.variation
	switch s {
	case StronglyConvexGradient:
		return b.batch(math.Sqrt(float64(ratio * portable.Log(t))))
	case ConvexCost:
		return b.batch(power(ratio, 4.0/5))
	default:
		return b.batch(power(ratio, 2.0/3))
	}
}

// OptimalBatchSize is the number of rounds Δ between restarts, from 1 to T, that minimizes the
// bound T·S(Δ)/Δ + 2Δ·V for a learner with the static regret S(n), which has the constant c > 0:
//
//	ConvexGradient and StronglyConvexCost:  S(n) = c·√n        Δ = (c·T/(4V))^(2/3)
//	StronglyConvexGradient:                 S(n) = c·(1+ln n)  Δ = √(c·T·ln Δ/(2V)), by 5 steps
//	ConvexCost:                             S(n) = c·n^(3/4)   Δ = (c·T/(8V))^(4/5)
func (b Budget) OptimalBatchSize(s Setting, c float64) (int, error) {
	if err := checkPositive("constant", c); err != nil {
		return 0, err
	}
	t := float64(b.rounds)
	ratio := float64(c * (t / b.variation))
	switch s {
	case StronglyConvexGradient:
		size := math.Sqrt(t / b.variation)
		for range 5 {
			size = math.Sqrt(float64(ratio/2) * max(portable.Log(min(size, t)), 0))
		}
		return b.batch(size), nil
	case ConvexCost:
		return b.batch(power(ratio/8, 4.0/5)), nil
	default:
		return b.batch(power(ratio/4, 2.0/3)), nil
	}
}

// power is x^y for x ≥ 0, also for infinite x.
func power(x, y float64) float64 {
	if x == 0 || math.IsInf(x, 1) {
		return x
	}
	return portable.Pow(x, y)
}

// batch rounds v up to an integer from 1 to T. The powers of exact squares and cubes may be too
// large by their rounding, which does not add a round.
func (b Budget) batch(v float64) int {
	v = math.Ceil(float64(v * (1 - 1e-12)))
	if !(v < float64(b.rounds)) {
		return b.rounds
	}
	return max(int(v), 1)
}

// RestartBound bounds the expected regret against the minimizers of all costs of a learner that is
// restarted after every size rounds and has the static regret S(n) on n rounds from any start:
// ⌈T/Δ⌉·S(Δ) + 2Δ·V (Besbes, Gur and Zeevi 2015, Proposition 2). The size is at least 1; one above
// T stands for T.
func (b Budget) RestartBound(size int, static func(rounds int) float64) float64 {
	size = max(min(size, b.rounds), 1) // 1 for the zero Budget
	batches := (b.rounds-1)/size + 1
	return float64(float64(batches)*static(size)) + float64(float64(2*float64(size))*b.variation)
}

// RetunedStep is the step (r/G)·(V/T)^(1/3) with which gradient descent needs no restarts (Besbes,
// Gur and Zeevi 2015, Proposition 3), for a set in a ball of radius r and gradients whose expected
// squared norm is at most G². A budget below T^(−1/2) counts as that: there the step is r/(G·√T).
// See [NewRetuned].
func (b Budget) RetunedStep(radius, lipschitz float64) (float64, error) {
	if err := checkPositive("radius", radius); err != nil {
		return 0, err
	}
	if err := checkPositive("lipschitz", lipschitz); err != nil {
		return 0, err
	}
	t := float64(b.rounds)
	return radius / lipschitz / math.Sqrt(min(power(t/b.variation, 2.0/3), t)), nil
}

// checkPositive returns an error if v is not a finite number above 0.
func checkPositive(place string, v float64) error {
	if !(v > 0) || math.IsInf(v, 1) {
		return noregret.BadInputf(place, "%v: want a finite number above 0", v)
	}
	return nil
}

// DescentBound bounds the expected static regret of n rounds of gradient descent with the step
// r/(G·√n) from any start, in a set in a ball of radius r, for gradients whose expected squared
// norm is at most G²: 2.5·r·G·√n. From the center of the ball it is r·G·√n.
func DescentBound(radius, lipschitz float64, n int) float64 {
	return 2.5 * radius * lipschitz * math.Sqrt(float64(n))
}

// SqrtDescentBound is [DescentBound] for the steps r/(G·√t), which need not know n: 3·r·G·√n.
func SqrtDescentBound(radius, lipschitz float64, n int) float64 {
	return 3 * radius * lipschitz * math.Sqrt(float64(n))
}

// StronglyConvexBound bounds the expected static regret of n rounds of gradient descent with the
// steps 1/(H·t), for H-strongly convex costs and gradients whose expected squared norm is at most
// G²: (G²/(2H))·(1 + ln n) (Hazan, Agarwal and Kale 2007).
func StronglyConvexBound(curvature, lipschitz float64, n int) float64 {
	return float64(lipschitz*lipschitz) / float64(2*curvature) * (1 + portable.Log(float64(n)))
}
