package oco

import (
	"fmt"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
)

// limited is the limit of a contender whose subgradients have at most the given norm.
func limited(norm interface{ Of([]float64) float64 }, lipschitz float64) func(g []float64) {
	return func(g []float64) {
		n := norm.Of(g)
		if !(n > lipschitz) {
			return
		}
		for i := range g {
			g[i] *= lipschitz / n * (1 - 1e-15)
		}
	}
}

// width is max v − min v, as the norm of limited.
type width struct{}

func (width) Of(v []float64) float64 { return spread(v) }

// bettingContenders are the learners that bet or share.
func bettingContenders(r *random.Source, d, n int) []contender {
	var all []contender
	add := func(c contender) {
		c.name = fmt.Sprintf("%s#%d %.200v", c.name, len(all), c.make())
		all = append(all, c)
	}
	whole := space(d)
	L, epsilon := logUniform(r, 1e3), logUniform(r, 1e3)
	euclidean, infinity := limited(convex.L2, L), limited(convex.Norm(convex.L1).Dual(), L)
	coordinate := func(own bool) Learner {
		return must(NewCoordinateKT(d, CoordinateKTOptions{Lipschitz: L, Epsilon: epsilon, OwnClocks: own}))
	}
	ball := func(rate Rate) Learner { return descent(must(convex.NewCenteredBall(d, 1)), nil, rate) }
	horizon := 1 + r.IntN(2*n)
	add(contender{name: "kt", set: whole, limit: infinity, make: func() Learner { return coordinate(false) }})
	add(contender{name: "kt with clocks", set: whole, limit: infinity, make: func() Learner {
		return coordinate(true)
	}})
	add(contender{name: "kt-l2", set: whole, limit: euclidean, make: func() Learner {
		return must(NewEuclideanKT(d, L, epsilon))
	}})
	add(contender{name: "newton-l2", set: whole, limit: euclidean, make: func() Learner {
		return must(NewEuclideanBetting(d, must(NewNewtonBettor(epsilon)), L))
	}})
	add(contender{name: "kt-l1", set: whole, limit: infinity, make: func() Learner {
		return must(NewL1KT(d, L, epsilon))
	}})
	add(contender{name: "kt-norms", set: whole, limit: euclidean, make: func() Learner {
		return must(NewAdded(must(NewEuclideanKT(d, L, epsilon)), coordinate(true), must(NewL1KT(d, L, 1))))
	}})
	add(contender{name: "magnitude", set: whole, limit: euclidean, make: func() Learner {
		bettor := must(NewExponentialBettor(horizon, epsilon))
		return must(NewMagnitudeDirection(must(NewBetting(bettor, L)), ball(InverseSqrt(1, L)), convex.L2))
	}})
	add(contender{name: "magnitude without coins", set: whole, make: func() Learner {
		return must(NewMagnitudeDirection(must(NewFTRL(restrictedSpace(), nil, SqrtWeight(L))), ball(Adaptive(1)),
			convex.L2))
	}})
	one := space(1)
	for _, b := range []func() Bettor{
		func() Bettor { return must(NewKTBettor(epsilon)) },
		func() Bettor { return must(NewExponentialBettor(horizon, epsilon)) },
		func() Bettor { return must(NewFixedFractionBettor(.4, epsilon)) },
		func() Bettor { return must(NewNewtonBettor(epsilon)) },
	} {
		add(contender{name: "betting", set: one, limit: euclidean, make: func() Learner {
			return must(NewBetting(b(), L))
		}})
	}
	add(contender{name: "doubling coins", set: one, limit: euclidean, make: func() Learner {
		return must(NewDoubling("coins", func(rounds int) (Learner, error) {
			return NewBetting(must(NewExponentialBettor(rounds, epsilon)), L)
		}))
	}})
	add(contender{name: "kt-scale-free", set: whole, make: func() Learner { return must(NewScaleFreeKT(d, epsilon)) }})
	add(contender{name: "freegrad", set: whole, make: func() Learner { return must(NewFreeGrad(d, epsilon)) }})
	for _, set := range wideSets(r, d) {
		start := make([]float64, set.Dim())
		set.Project(start, start)
		near := pointIn(r, set)
		dim := set.Dim()
		add(contender{name: "constrained freegrad", set: set, make: func() Learner {
			return must(NewConstrained(must(NewShifted(must(NewFreeGrad(dim, epsilon)), start)), set))
		}})
		add(contender{name: "constrained kt-l2", set: set, limit: euclidean, make: func() Learner {
			return must(NewConstrained(must(NewShifted(must(NewEuclideanKT(dim, L, epsilon)), near)), set))
		}})
		if _, ok := set.(*convex.Box); ok {
			add(contender{name: "constrained kt", set: set, limit: infinity, make: func() Learner {
				return must(NewConstrained(must(NewShifted(coordinate(true), near)), set))
			}})
			add(contender{name: "constrained kt-scale-free", set: set, make: func() Learner {
				return must(NewConstrained(must(NewShifted(must(NewScaleFreeKT(dim, epsilon)), near)), set))
			}})
		}
	}
	delta, prior := simplex(d), interior(r, d)
	eta, alpha, k := logUniform(r, 1e3), r.Float64(), r.IntN(n)
	for _, rounds := range []int{0, horizon} {
		add(contender{name: "expert-betting", set: delta, limit: limited(width{}, L), make: func() Learner {
			return must(NewExpertBetting(d, ExpertBettingOptions{Range: L, Prior: prior, Horizon: rounds}))
		}})
	}
	add(contender{name: "fixed-share", set: delta, make: func() Learner {
		return must(NewFixedShare(d, eta, alpha))
	}})
	add(contender{name: "fixed-share-tuned", set: delta, make: func() Learner {
		return must(NewFixedShareTuned(d, n, k, L))
	}})
	return all
}

func restrictedSpace() convex.Regularizer { return euclidean(space(1)) }

// failure returns the error that ended the use of a wrapper of several learners.
func (l *Split) failure() error              { return l.failed }
func (l *MagnitudeDirection) failure() error { return l.failed }
func (l *Added) failure() error              { return l.failed }
