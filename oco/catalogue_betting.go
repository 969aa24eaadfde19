package oco

import (
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
)

// epsilonOption is the option of coin-betting learners, 1 unless the problem determines it.
func epsilonOption(by string) Option {
	return Option{
		Name: "epsilon", Default: 1, Derived: by, Help: "the initial wealth: the regret at the start, over L",
	}
}

// parameterFree are the learners that bet on coins and know a Lipschitz constant.
func parameterFree() []Entry {
	return []Entry{
		{
			Name: "kt", Kind: "convex",
			Bound: "L∞·Σ_i|u_i|·√(T·ln(1+24T²u_i²/ε²))+L∞·d·ε", Knows: "L∞", Cost: "O(nnz)",
			Options: []Option{
				epsilonOption("1/d"),
				{Name: "own-clocks", Help: "1: coordinates count only their own rounds"},
			},
			Source: "Orabona and Pál 2016; Orabona 2019, Algorithm 9.3",
			Make: func(p Problem, o func(string) float64) (Learner, error) {
				return onSpaceOrBox(p, func(d int) (Learner, error) {
					return newCoordinateKT(d, p, o)
				})
			},
		},
		{
			Name: "kt-l2", Kind: "convex",
			Bound: "‖u‖·L·√(T·ln(1+24T²‖u‖²/ε²))+L·ε+2√2·‖u‖·√Σ‖g_t‖²", Knows: "L",
			Cost:    "O(d)+proj",
			Options: []Option{epsilonOption("")},
			Source:  "Cutkosky and Orabona 2018; Orabona 2019, Example 9.11",
			Make: func(p Problem, o func(string) float64) (Learner, error) {
				return constrained(p.Set, func(d int) (Learner, error) {
					return newEuclideanKT(d, p, o)
				})
			},
		},
		{
			Name: "kt-l1", Kind: "convex",
			Bound: "‖u‖₁·L∞·(√ln(T‖u‖₁/ε)+√ln d)·√T", Knows: "L∞", Cost: "O(d)",
			Options: []Option{epsilonOption("")},
			Source:  "Cutkosky and Orabona 2018; Orabona 2019, Example 9.12",
			Make: func(p Problem, o func(string) float64) (Learner, error) {
				return onSpaceOrBox(p, func(d int) (Learner, error) {
					if err := known("lipschitz", p.LipschitzInf); err != nil {
						return nil, err
					}
					return NewL1KT(d, p.LipschitzInf, o("epsilon"))
				})
			},
		},
		{
			Name: "kt-norms", Kind: "convex", Bound: "the smaller of kt's and kt-l2's, +L·ε", Knows: "L, L∞",
			Cost:    "O(d)",
			Options: []Option{epsilonOption("")},
			Source:  "Cutkosky 2019; Orabona 2019, Example 9.15",
			Make: func(p Problem, o func(string) float64) (Learner, error) {
				return onSpaceOrBox(p, func(d int) (Learner, error) {
					first, err := newEuclideanKT(d, p, o)
					if err != nil {
						return nil, err
					}
					second, err := newCoordinateKT(d, p, func(name string) float64 {
						if name == "epsilon" {
							return o("epsilon") / float64(d)
						}
						return 0 // no own clocks
					})
					if err != nil {
						return nil, err
					}
					return NewAdded(first, second)
				})
			},
		},
	}
}

// parameterFreeVariants are those that know the horizon, or no Lipschitz constant.
func parameterFreeVariants() []Entry {
	return []Entry{
		{
			Name: "exponential-l2", Kind: "convex",
			Bound: "‖u‖·L·√(2T·ln(1+4T‖u‖²/ε²))+L·ε+2√2·‖u‖·√Σ‖g_t‖²",
			Knows: "T, L", Cost: "O(d)+proj",
			Options: []Option{epsilonOption("√T")},
			Source:  "Orabona and Pál 2016; Orabona 2019, section 9.6.1",
			Make: func(p Problem, o func(string) float64) (Learner, error) {
				return constrained(p.Set, func(d int) (Learner, error) {
					return newExponentialL2(d, p, o)
				})
			},
		},
		{
			Name: "newton-l2", Kind: "convex",
			Bound: "(‖u‖·√(Q·ln(‖u‖Q/ε))+‖u‖·ln(‖u‖Q/ε))·L, Q = Σ‖g_t‖²/L²",
			Knows: "L", Cost: "O(d)+proj",
			Options: []Option{epsilonOption("")},
			Source:  "Cutkosky and Orabona 2018",
			Make: func(p Problem, o func(string) float64) (Learner, error) {
				return constrained(p.Set, func(d int) (Learner, error) {
					if err := known("lipschitz", p.Lipschitz); err != nil {
						return nil, err
					}
					bettor, err := NewNewtonBettor(o("epsilon"))
					if err != nil {
						return nil, err
					}
					return NewEuclideanBetting(d, bettor, p.Lipschitz)
				})
			},
		},
		{
			Name: "kt-scale-free", Kind: "convex",
			Bound:   "Σ_i|u_i|·√(2h_i·Σ|g_{t,i}|·ln(|u_i|Σ|g_{t,i}|/(h_i·ε)))+h_i·(ε+|u_i|), see its doc",
			Knows:   "nothing",
			Cost:    "O(nnz)",
			Options: []Option{{Name: "epsilon", Derived: "1/d", Help: "the initial wealth of a coordinate"}},
			Source:  "Orabona and Pál 2016; Orabona and Tommasi 2017; Cutkosky 2019",
			Make: func(p Problem, o func(string) float64) (Learner, error) {
				return onSpaceOrBox(p, func(d int) (Learner, error) {
					return NewScaleFreeKT(d, derived(o, "epsilon", 1/float64(d)))
				})
			},
		},
		{
			Name: "freegrad", Kind: "convex",
			Bound: "‖u‖·√(V·ln(‖u‖V/(ε‖g_1‖²)))+h·‖u‖·(1+‖u‖²/ε²), see its doc",
			Knows: "nothing", Cost: "O(d)+proj",
			Options: []Option{{Name: "epsilon", Default: 1, Help: "the scale of the points"}},
			Source:  "Mhammedi and Koolen 2020; Cutkosky 2019",
			Make: func(p Problem, o func(string) float64) (Learner, error) {
				return constrained(p.Set, func(d int) (Learner, error) {
					return NewFreeGrad(d, o("epsilon"))
				})
			},
		},
	}
}

// expertBettors are the learners on the simplex that bet or share.
func expertBettors() []Entry {
	return []Entry{
		{
			Name: "expert-betting", Kind: "experts", Bound: "R·√(2T·(KL(u;π)+½ln T+1.58))", Knows: "L∞ = R/2",
			Cost:    "O(d)",
			Options: []Option{{Name: "horizon", Help: "1: bet for the known number of rounds T"}},
			Source:  "Orabona and Pál 2016; Orabona 2019, Theorem 9.17",
			Make: func(p Problem, o func(string) float64) (Learner, error) {
				n, err := onlySimplex(p)
				if err != nil {
					return nil, err
				}
				if err := known("lipschitz", p.LipschitzInf); err != nil {
					return nil, err
				}
				rounds, err := flag(o, "horizon")
				if err != nil {
					return nil, err
				}
				if rounds != 0 {
					if err := horizon(p); err != nil {
						return nil, err
					}
					rounds = p.Rounds
				}
				return NewExpertBetting(n, ExpertBettingOptions{Range: 2 * p.LipschitzInf, Horizon: rounds})
			},
		},
		{
			Name: "fixed-share", Kind: "experts", Bound: "R·√(T·((k+1)·ln d+k·ln(eT/k))/2) against k changes",
			Knows: "T, L∞ = R/2", Cost: "O(d)",
			Options: []Option{{
				Name: "switches", Derived: "1, or 0 for one round", Help: "the changes k of the best expert",
			}},
			Source: "Herbster and Warmuth 1998",
			Make: func(p Problem, o func(string) float64) (Learner, error) {
				n, err := tunable(p, onlySimplex)
				if err != nil {
					return nil, err
				}
				k := derived(o, "switches", float64(min(1, p.Rounds-1)))
				if k != math.Floor(k) || !(k >= 0 && k < float64(p.Rounds)) {
					return nil, noregret.BadInputf("switches", "%v: want an integer from 0 to %d", k, p.Rounds-1)
				}
				return NewFixedShareTuned(n, p.Rounds, int(k), 2*p.LipschitzInf)
			},
		},
	}
}

// flag is an option that is 0 or 1, 0 by default.
func flag(o func(string) float64, name string) (int, error) {
	switch v := o(name); v {
	case 0, 1:
		return int(v), nil
	default:
		return 0, noregret.BadInputf(name, "%v: want 0 or 1", v)
	}
}

func newCoordinateKT(d int, p Problem, o func(string) float64) (Learner, error) {
	if err := known("lipschitz", p.LipschitzInf); err != nil {
		return nil, err
	}
	own, err := flag(o, "own-clocks")
	if err != nil {
		return nil, err
	}
	return NewCoordinateKT(d, CoordinateKTOptions{
		Lipschitz: p.LipschitzInf, Epsilon: derived(o, "epsilon", 1/float64(d)), OwnClocks: own == 1,
	})
}

func newEuclideanKT(d int, p Problem, o func(string) float64) (Learner, error) {
	if err := known("lipschitz", p.Lipschitz); err != nil {
		return nil, err
	}
	return NewEuclideanKT(d, p.Lipschitz, o("epsilon"))
}

func newExponentialL2(d int, p Problem, o func(string) float64) (Learner, error) {
	if err := known("lipschitz", p.Lipschitz); err != nil {
		return nil, err
	}
	if err := horizon(p); err != nil {
		return nil, err
	}
	bettor, err := NewExponentialBettor(p.Rounds, derived(o, "epsilon", math.Sqrt(float64(p.Rounds))))
	if err != nil {
		return nil, err
	}
	return NewEuclideanBetting(d, bettor, p.Lipschitz)
}

// constrained plays in a set with a learner on ℝ^d, whose origin is moved to the point of the set
// nearest to 0.
func constrained(set convex.Set, make func(d int) (Learner, error)) (Learner, error) {
	l, err := make(set.Dim())
	if err != nil {
		return nil, err
	}
	if _, ok := set.(*convex.Space); ok {
		return l, nil
	}
	start, err := startIn(set, nil)
	if err != nil {
		return nil, err
	}
	shifted, err := NewShifted(l, start)
	if err != nil {
		return nil, err
	}
	return NewConstrained(shifted, set)
}

// onSpaceOrBox is constrained for learners whose Lipschitz constant is not that of the Euclidean
// norm.
func onSpaceOrBox(p Problem, make func(d int) (Learner, error)) (Learner, error) {
	switch p.Set.(type) {
	case *convex.Space, *convex.Box:
		return constrained(p.Set, make)
	}
	return nil, noregret.BadInputf("set", "%v: this learner plays on the whole space and on boxes", p.Set)
}
