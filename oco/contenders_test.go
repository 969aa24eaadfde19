package oco

import (
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
)

// logUniform draws from [1/spread, spread].
func logUniform(r *random.Source, spread float64) float64 {
	return math.Exp((2*r.Float64() - 1) * math.Log(spread))
}

// wideSets are sets near the origin and far from it, with a random scale.
func wideSets(r *random.Source, d int) []convex.Set {
	sets := setsFor(r, d)
	far := make([]float64, d)
	distance := math.Pow(10, 8*r.Float64())
	for i := range far {
		far[i] = distance * r.NormFloat64()
	}
	sets = append(sets, must(convex.NewBall(far, logUniform(r, 100))),
		must(convex.NewShifted(must(convex.NewL1Ball(d, 2)), far)))
	lower, upper := slices.Clone(far), slices.Clone(far)
	for i := range upper {
		upper[i] += logUniform(r, 100)
	}
	sets = append(sets, must(convex.NewBox(lower, upper)), must(convex.NewCappedSimplex(d, 1, max(1, float64(d)/3))))
	normal := make([]float64, d)
	for i := range normal {
		normal[i] = r.NormFloat64()
	}
	normal[0] += 3
	return append(sets, must(convex.NewHalfspace(normal, 1)),
		must(convex.NewProduct(must(convex.NewSimplex(d)), must(convex.NewCube(1, -1, 1)))),
		must(convex.NewProduct(must(convex.NewSpace(1)), must(convex.NewCenteredBall(d, .5)))))
}

func pointIn(r *random.Source, set convex.Set) []float64 {
	x := make([]float64, set.Dim())
	set.Project(x, x)
	scale := logUniform(r, 30)
	for i := range x {
		x[i] += scale * r.NormFloat64()
	}
	set.Project(x, x)
	return x
}

// interior moves a point of the simplex off its faces.
func interior(r *random.Source, d int) []float64 {
	x := make([]float64, d)
	var s float64
	for i := range x {
		x[i] = .01 + r.ExpFloat64()
		s += x[i]
	}
	for i := range x {
		x[i] /= s
	}
	return x
}

// regularizers are those of package convex that are strongly convex on their sets.
func regularizers(r *random.Source, d int) []convex.Regularizer {
	var all []convex.Regularizer
	add := func(m convex.MirrorMap, s convex.Set) {
		if reg, err := convex.Restrict(m, s); err == nil {
			if lambda, _ := reg.StrongConvexity(); lambda > 0 {
				all = append(all, reg)
			}
		}
	}
	p := 1.3 + .7*r.Float64()
	half := must(convex.NewBox(make([]float64, d), slices.Repeat([]float64{logUniform(r, 10)}, d)))
	for _, s := range []convex.Set{simplex(d), half} {
		add(must(convex.NewTsallis(d, .5)), s)
		add(must(convex.NewTsallis(d, .1+.8*r.Float64())), s)
		add(must(convex.NewLogBarrier(d)), s)
		add(must(convex.NewUnnormalizedEntropy(d)), s)
	}
	add(must(convex.NewNegativeEntropy(d)), simplex(d))
	add(must(convex.NewPNorm(d, p)), space(d))
	add(must(convex.NewPNorm(d, p)), must(convex.NewCenteredLpBall(d, p, logUniform(r, 10))))
	diagonal := make([]float64, d)
	for i := range diagonal {
		diagonal[i] = logUniform(r, 10)
	}
	m := must(convex.NewDiagonalQuadratic(diagonal))
	add(m, space(d))
	add(m, half)
	for _, s := range wideSets(r, d) {
		add(must(convex.NewQuadratic(s.Dim())), s)
	}
	return all
}

// contenders are all learners of the package, for games of n rounds.
func contenders(r *random.Source, d, n int) []contender {
	var all []contender
	add := func(c contender) {
		l := c.make()
		c.name = fmt.Sprintf("%s#%d %.200v", c.name, len(all), l)
		all = append(all, c)
	}
	option := func() float64 { return logUniform(r, 1e3) }
	weight := func() Weight {
		if r.IntN(2) == 0 {
			return ConstantWeight(option())
		}
		return SqrtWeight(option())
	}
	rates := func(bounded bool, diameter float64) []Rate {
		rates := []Rate{Constant(option()), FixedHorizon(option(), option(), max(n, 1))}
		if bounded {
			scale := option() * max(diameter, 1e-3)
			if diameter > 0 {
				rates = append(rates, Adaptive(diameter*math.Sqrt2/2))
			}
			f := logUniform(r, 10)
			rates = append(rates, InverseSqrt(option(), option()), Adaptive(scale),
				RateFunc(fmt.Sprint("1/t^.3·", f), func(t int) float64 { return f * math.Pow(float64(t), -.3) }))
		}
		return rates
	}
	for _, set := range wideSets(r, d) {
		D := set.Diameter()
		bounded := !math.IsInf(D, 1)
		for _, rate := range rates(bounded, D) {
			start := pointIn(r, set)
			add(contender{name: "ogd", set: set, make: func() Learner { return descent(set, start, rate) }})
			if r.IntN(3) == 0 {
				add(contender{name: "md", set: set, make: func() Learner {
					return must(NewMirrorDescent(euclidean(set), start, rate, 0))
				}})
			}
			if rate.kind != adaptiveRate {
				add(contender{name: "optimistic-md", set: set, make: func() Learner {
					return must(NewOptimisticMirrorDescent(euclidean(set), start, rate, 0))
				}})
			}
			add(contender{name: "proximal", set: set, make: func() Learner {
				return must(NewProximalFTRL(set, start, rate))
			}})
		}
		start, mu, lambda, w := pointIn(r, set), option(), option(), weight()
		add(contender{name: "ogd-strong", set: set, mu: mu, make: func() Learner {
			return descent(set, start, StronglyConvex(mu))
		}})
		add(contender{name: "quadratized", set: set, mu: mu, make: func() Learner {
			return must(NewQuadratizedFTRL(set, start, mu))
		}})
		add(contender{name: "mean-leader", set: set, mu: 2, make: func() Learner {
			return must(NewMeanLeader(set, start))
		}})
		add(contender{name: "curvature", set: set, curved: true, make: func() Learner {
			return must(NewCurvatureFTRL(set, lambda))
		}})
		along := logUniform(r, 10)
		add(contender{name: "ons", set: set, along: along, make: func() Learner {
			return must(NewOnlineNewtonStep(set, along, lambda))
		}})
		if isotropic(set) {
			add(contender{name: "curvature in a span", set: set, curved: true, make: func() Learner {
				return must(newCurvatureFTRL(set, lambda, true))
			}})
			add(contender{name: "ons with a sketch", set: set, along: along, make: func() Learner {
				return must(NewSketchedNewtonStep(set, along, lambda, 1+d/4))
			}})
			add(contender{name: "ons in a span", set: set, along: along, make: func() Learner {
				return newOnlineNewtonStep(must(newCurvatureFTRL(set, lambda, true)), along)
			}})
		}
		add(contender{name: "exact", set: set, signed: true, make: func() Learner {
			return must(NewExactFTRL(must(NewQuadraticMinimizer(set, w))))
		}})
		add(contender{name: "centre", set: set, make: func() Learner {
			return must(NewFTRL(euclidean(set), start, w))
		}})
		c := option()
		add(contender{name: "mean-hint", set: set, make: func() Learner {
			return must(NewMeanHint(euclidean(set), c))
		}})
		L := option()
		add(contender{name: "gradual", set: set, make: func() Learner {
			return must(NewGradualFTRL(euclidean(set), 0, L))
		}})
		if bounded {
			if d <= 12 { // a round costs d³
				add(contender{name: "adagrad-full", set: set, make: func() Learner {
					return must(NewFullMatrixAdaGrad(set, start))
				}})
			}
			add(contender{name: "linear-leader", set: set, make: func() Learner {
				return must(NewLinearLeader(set, start))
			}})
			a := logUniform(r, 30) * max(D, 1e-3)
			add(contender{name: "adaftrl", set: set, make: func() Learner {
				return must(NewAdaFTRL(euclidean(set), a))
			}})
		}
		if box, ok := set.(*convex.Box); ok && bounded {
			add(contender{name: "optimistic-adagrad", set: set, make: func() Learner {
				return must(NewOptimisticAdaGrad(box, start))
			}})
			add(contender{name: "repeat-hint", set: set, make: func() Learner {
				return must(NewRepeatHint(must(NewOptimisticAdaGrad(box, start))))
			}})
			add(contender{name: "adagrad", set: set, make: func() Learner { return must(NewAdaGrad(box, start)) }})
			lower, upper := sides(box)
			add(contender{name: "split", set: set, make: func() Learner {
				var parts []Learner
				for i := range lower {
					one := must(convex.NewCube(1, lower[i], upper[i]))
					width := upper[i] - lower[i]
					switch i % 3 {
					case 0:
						parts = append(parts, descent(one, start[i:i+1], Adaptive(width+1e-9)))
					case 1:
						parts = append(parts, must(NewAdaFTRL(euclidean(one), width+1e-9)))
					default:
						parts = append(parts, must(NewFTRL(euclidean(one), nil, w)))
					}
				}
				return must(NewSplit(parts...))
			}})
		}
		for _, kappa := range []float64{0, logUniform(r, 30)} {
			if _, err := NewCompositeFTRL(set, L, kappa); err == nil {
				add(contender{name: "composite", set: set, kappa: kappa, make: func() Learner {
					return must(NewCompositeFTRL(set, L, kappa))
				}})
			}
		}
		if bounded {
			base := func() Learner { return descent(set, start, Adaptive(max(D, 1e-9))) }
			alpha := []Alpha{UniformAlpha(), LinearAlpha(), InverseSqrtAlpha(option())}[r.IntN(3)]
			add(contender{name: "averaging", set: set, alpha: alpha.f, make: func() Learner {
				return must(NewAveraging(base(), alpha))
			}})
			add(contender{name: "random-iterate", set: set, alpha: alpha.f, make: func() Learner {
				return must(NewRandomIterate(base(), alpha, 5))
			}})
			add(contender{
				name: "anytime", set: set, alpha: alpha.f, make: func() Learner {
					return must(NewAnytime(base(), alpha))
				},
				counted: func(l Learner) []float64 { return l.(*Anytime).learner.Predict() },
			})
			size := 1 + r.IntN(7)
			add(contender{name: "mini-batch", set: set, signed: true, make: func() Learner {
				return must(NewMiniBatch(base(), size))
			}})
			add(contender{name: "importance", set: set, make: func() Learner { return must(NewImportance(base())) }})
			add(contender{name: "doubling", set: set, make: func() Learner {
				return must(NewDoubling("ogd", func(rounds int) (Learner, error) {
					return NewSubgradientDescent(set, start, FixedHorizon(max(D, 1e-9), L, rounds))
				}))
			}})
			add(contender{name: "linearized", set: set, make: func() Learner { return must(NewLinearized(base())) }})
		}
	}
	for _, reg := range regularizers(r, d) {
		set, w := reg.Set(), weight()
		add(contender{name: "ftrl", set: set, make: func() Learner { return must(NewFTRL(reg, nil, w)) }})
		add(contender{name: "optimistic", set: set, make: func() Learner { return must(NewOptimisticFTRL(reg, w)) }})
		add(contender{name: "last-hint", set: set, make: func() Learner { return must(NewLastHint(reg, w)) }})
		add(contender{name: "hint-experts", set: set, make: func() Learner {
			return must(NewHintExperts(must(NewOptimisticFTRL(reg, w)), 3, convex.L2))
		}})
		if _, ok := reg.Map().(*convex.Quadratic); ok {
			continue
		}
		eta, a, L := option(), option(), option()
		if s, ok := set.(*convex.Simplex); ok {
			start := interior(r, s.Dim())
			add(contender{name: "centre", set: set, make: func() Learner { return must(NewFTRL(reg, start, w)) }})
			add(contender{name: "md", set: set, boundary: true, steep: eta > 100, make: func() Learner {
				return must(NewMirrorDescent(reg, start, Constant(eta), 0))
			}})
			add(contender{name: "optimistic-md", set: set, boundary: true, steep: eta > 100, make: func() Learner {
				return must(NewOptimisticMirrorDescent(reg, start, Constant(eta), 0))
			}})
		} else if start := pointIn(r, set); reg.Map().Interior(start) {
			add(contender{name: "centre", set: set, make: func() Learner { return must(NewFTRL(reg, start, w)) }})
			add(contender{name: "md", set: set, boundary: true, steep: eta > 100, make: func() Learner {
				return must(NewMirrorDescent(reg, start, Constant(eta), 0))
			}})
		}
		if !math.IsInf(set.Diameter(), 1) {
			add(contender{name: "adaftrl", set: set, make: func() Learner { return must(NewAdaFTRL(reg, a)) }})
		}
		if lambda, _ := reg.StrongConvexity(); lambda >= 1 {
			add(contender{name: "gradual", set: set, make: func() Learner { return must(NewGradualFTRL(reg, 0, L)) }})
		}
	}
	delta, eta, a, p, prior := simplex(d), option(), option(), 1.2+.8*r.Float64(), interior(r, d)
	scale := 4 * math.Exp(3*r.Float64())
	o := FTRLProximalOptions{A: option(), Beta: option(), L1: option(), L2: option()}
	if r.IntN(3) == 0 {
		o.L1, o.L2 = 0, 0
	}
	if d > 2 && r.IntN(3) == 0 { // a coordinate of prior 0
		prior[1] += prior[0]
		prior[0] = 0
	}
	add(contender{name: "eg", set: delta, make: func() Learner {
		return must(NewExponentiatedGradient(d, prior, eta))
	}})
	add(contender{name: "entropic", set: delta, make: func() Learner { return must(NewEntropicFTRL(d, eta, a)) }})
	add(contender{name: "scale-free-hedge", set: delta, make: func() Learner {
		return must(NewScaleFreeHedge(d, scale))
	}})
	add(contender{name: "adahedge", set: delta, make: func() Learner { return must(NewAdaHedge(d, a)) }})
	add(contender{name: "adahedge", set: delta, make: func() Learner { return must(NewAdaHedge(d, 0)) }})
	add(contender{name: "p-norm", set: space(d), make: func() Learner { return must(NewPNorm(d, p, eta)) }})
	add(contender{name: "p-norm-tuned", set: space(d), make: func() Learner {
		return must(NewPNormTuned(d, eta, a, max(n, 1)))
	}})
	add(contender{name: "ftrl-proximal", set: space(d), make: func() Learner { return must(NewFTRLProximal(d, o)) }})
	return all
}

// played is a finished round.
type played struct {
	x, g    []float64
	factors [][]float64
}
