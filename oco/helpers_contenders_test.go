package oco

import (
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/vec"
)

// contender is a learner with random options and the losses on which its regret is measured: linear
// losses plus their curvature.
type contender struct {
	name string
	set  convex.Set
	make func() Learner
	// Losses are ⟨g, x⟩ + (mu/2)‖x − x_t‖² + (along/2)⟨g, x − x_t⟩² + ½Σ_k⟨a_k, x −
	// x_t⟩² + kappa·‖x‖₁, with factors a_k when curved is set.
	mu, along, kappa float64
	curved           bool
	// alpha weights the rounds of a conversion; counted returns the point at which its regret is
	// measured.
	alpha   func(t int) float64
	counted func(l Learner) []float64
	// boundary reports that steps may be refused because they end on the boundary of the map's
	// domain.
	boundary bool
	// steep reports that its rate is so large that all steps may be refused.
	steep bool
	// signed reports that the bound may be below 0: ψ_T(u) − ψ_1(x_1), for a perfect first hint.
	signed bool
	// limit scales a subgradient that is longer than the learner's Lipschitz constant down to it.
	limit func(g []float64)
}

// step plays one round of a contender and reports the error of its update.
func (c *contender) step(r *random.Source, l Learner, g []float64, factors [][]float64) error {
	if u, ok := l.(interface {
		UpdateFactors(g []float64, factors ...[]float64) error
	}); ok && c.curved {
		return u.UpdateFactors(g, factors...)
	}
	if s, ok := l.(SparseLearner); ok && r.IntN(2) == 0 {
		var sp Sparse
		for i, v := range g {
			if v != 0 || r.IntN(10) == 0 {
				sp.Index, sp.Value = append(sp.Index, uint32(i)), append(sp.Value, v)
			}
		}
		return s.UpdateSparse(sp)
	}
	if u, ok := l.(Curved); ok && c.mu > 0 && r.IntN(2) == 0 {
		return u.UpdateCurved(g, c.mu)
	}
	return l.Update(g)
}

// hint gives hints in some rounds: none, the gradient itself, or noise.
func hint(t tester, r *random.Source, l Learner, g []float64) {
	t.Helper()
	noise := make([]float64, len(g))
	for i := range noise {
		noise[i] = g[i] + r.NormFloat64()*vec.MaxAbs(g)
	}
	choice := r.IntN(3)
	switch h := l.(type) {
	case *HintExperts:
		if choice > 0 {
			if err := h.Hints([][]float64{noise, g, make([]float64, len(g))}); err != nil {
				t.Fatalf("hints: %v", err)
			}
		}
	case Hinted:
		for range choice { // a second call replaces the first
			err := h.Hint([][]float64{noise, g}[r.IntN(2)])
			if _, ok := l.(*OptimisticMirrorDescent); err != nil && !(ok && noregret.CodeOf(err) == noregret.BadInput) {
				t.Fatalf("hint: %v", err) // hints that step out of the map's domain are refused
			}
		}
	}
}

// regret returns the regret on the losses in the contender's doc comment, and the size of its
// terms.
func (c *contender) regret(rounds []played, u []float64) (regret, size float64) {
	var total sum
	for k, p := range rounds {
		alpha := 1.0
		if c.alpha != nil {
			alpha = c.alpha(k + 1)
		}
		var inner, square float64
		for i, g := range p.g {
			diff := p.x[i] - u[i]
			inner += g * diff
			square += diff * diff
			size += alpha * math.Abs(g) * (math.Abs(p.x[i]) + math.Abs(u[i]))
			total.add(c.kappa * (math.Abs(p.x[i]) - math.Abs(u[i])))
			size += c.kappa * (math.Abs(p.x[i]) + math.Abs(u[i]))
		}
		curve := c.mu*square + c.along*inner*inner
		for _, a := range p.factors {
			var s float64
			for i, v := range a {
				s += v * (p.x[i] - u[i])
			}
			curve += s * s
		}
		size += curve
		total.add(alpha*inner - curve/2)
	}
	return total.value(), size
}

// kinds lists the sequences of the breadth test: those of [gradient] and more.
var kinds = append(slices.Clone(sequences), "blocks", "mixed")

func drawGradient(r *random.Source, kind string, t int, x []float64) []float64 {
	switch kind {
	case "blocks": // worst for lazy and greedy learners
		g := make([]float64, len(x))
		for i := range g {
			g[i] = math.Copysign(1, math.Sin(float64(t)/(10+float64(i))))
		}
		return g
	case "mixed":
		return gradient(r, sequences[r.IntN(5)], t, x, r.IntN(2) == 0)
	}
	return gradient(r, kind, t, x, false)
}

// tolerance is the distance from the set that a point may have. Simplices and l1 balls project
// vectors far from them to within a rounding of the vector's size only.
func tolerance(set convex.Set) float64 {
	switch set.(type) {
	case *convex.Box, *convex.Space:
		return 0
	case *convex.Ball, *convex.Halfspace:
		return 1e-12
	}
	return 1e-9
}

// contest plays n rounds and checks the regret against the bound at the end.
func (c *contender) contest(t tester, r *random.Source, kind string, n int) {
	t.Helper()
	if (c.curved || c.along > 0) && (kind == "heavy" || kind == "zero then huge") {
		// Their matrices lose their smallest eigenvalues to rounding, which they report as
		// diverged.
		kind = "mixed"
	}
	l := c.make()
	d := l.Dim()
	sum := make([]float64, d)
	var rounds []played
	refused := 0
	for round := range n {
		x := l.Predict()
		g := drawGradient(r, kind, round, x)
		if c.limit != nil {
			c.limit(g)
		}
		hint(t, r, l, g)
		x = l.Predict()
		if !c.set.Contains(x, tolerance(c.set)) {
			t.Fatalf("%s: %s: x_%d = %v is not in the set (Σ = %v)", c.name, kind, round+1, x, vec.Sum(x))
		}
		if s, ok := l.(SparseLearner); ok {
			if i := r.IntN(d); math.Abs(s.At(i)-x[i]) > 1e-12*max(1, math.Abs(x[i])) {
				t.Fatalf("%s: At(%d) = %v, Predict has %v", c.name, i, s.At(i), x[i])
			}
		}
		if c.counted != nil {
			x = c.counted(l)
		}
		p := played{x: slices.Clone(x), g: g}
		if c.curved && r.IntN(3) > 0 {
			for range 1 + r.IntN(2) {
				p.factors = append(p.factors, gradient(r, "gaussian", round, x, true))
			}
		}
		if err := c.step(r, l, g, p.factors); err != nil {
			if refused++; !c.boundary {
				t.Fatalf("%s: round %d refused: %v", c.name, round+1, err)
			}
			continue
		}
		rounds = append(rounds, p)
		for i, v := range g {
			sum[i] += v
		}
	}
	if refused == n && n > 20 && kind == "gaussian" && !c.steep {
		t.Fatalf("%s: all rounds were refused", c.name)
	}
	us := comparators(r, c.set, sum)
	us = append(us, pointIn(r, c.set), slices.Clone(c.make().Predict()), slices.Clone(l.Predict()))
	for _, u := range us {
		if !c.set.Contains(u, 1e-9) {
			continue
		}
		b, err := l.(Bounder).Bound(u)
		if err != nil || math.IsNaN(b) {
			t.Fatalf("%s: Bound(%v) = %v, %v", c.name, u, b, err)
		}
		if s, ok := l.(SharpBounder); ok {
			sharp, err := s.SharpBound(u)
			if err != nil || !(sharp <= b) {
				t.Fatalf("%s: SharpBound(%v) = %v, %v, above %v", c.name, u, sharp, err, b)
			}
			b = sharp
		}
		if regret, size := c.regret(rounds, u); regret > b+1e-9*math.Abs(b)+1e-12+1e-12*size {
			t.Fatalf("%s: %s: T = %d: regret %v against %v is above the bound %v (sizes %v)", c.name, kind, n, regret,
				u, b, size)
		}
	}
}

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
					return must(NewMirrorDescent(euclidean(set), start, rate, math.Inf(1)))
				}})
			}
			if rate.kind != adaptiveRate {
				add(contender{name: "optimistic-md", set: set, make: func() Learner {
					return must(NewOptimisticMirrorDescent(euclidean(set), start, rate, math.Inf(1)))
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
				return must(NewMirrorDescent(reg, start, Constant(eta), math.Inf(1)))
			}})
			add(contender{name: "optimistic-md", set: set, boundary: true, steep: eta > 100, make: func() Learner {
				return must(NewOptimisticMirrorDescent(reg, start, Constant(eta), math.Inf(1)))
			}})
		} else if start := pointIn(r, set); reg.Map().Interior(start) {
			add(contender{name: "centre", set: set, make: func() Learner { return must(NewFTRL(reg, start, w)) }})
			add(contender{name: "md", set: set, boundary: true, steep: eta > 100, make: func() Learner {
				return must(NewMirrorDescent(reg, start, Constant(eta), math.Inf(1)))
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
	if d > 2 && r.IntN(3) == 0 { // a coordinate with prior 0
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
	add(contender{name: "adahedge", set: delta, make: func() Learner {
		return must(NewAdaHedge(d, DefaultAdaHedgeAlpha(d)))
	}})
	add(contender{name: "p-norm", set: space(d), make: func() Learner { return must(NewPNorm(d, p, eta)) }})
	add(contender{name: "p-norm-tuned", set: space(d), make: func() Learner {
		return must(NewPNormTuned(d, eta, a, max(n, 1)))
	}})
	add(contender{name: "ftrl-proximal", set: space(d), make: func() Learner { return must(NewFTRLProximal(d, o)) }})
	return append(all, bettingContenders(r, d, n)...)
}

// played is a finished round.
type played struct {
	x, g    []float64
	factors [][]float64
}
