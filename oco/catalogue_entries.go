package oco

import (
	"math"

	"github.com/noregret/noregret"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/vec"
)

// eta is the option of learners with one step size.
func eta() Option { return Option{Name: "eta", Derived: "from the game", Help: "the step size"} }

// leaders are the learners that follow the leader.
func leaders() []Entry {
	return []Entry{
		{
			Name: "mean-leader", Kind: "convex", Bound: "4L²(1+ln T)", Knows: "that losses are squared distances",
			Cost:   "O(d)+proj",
			Source: "Orabona 2019, Theorem 1.2",
			Make: func(p Problem, _ func(string) float64) (Learner, error) {
				if !p.SquaredDistance {
					return nil, noregret.BadInputf("losses",
						"they are not squared distances ‖x − y‖², which this learner is for")
				}
				return NewMeanLeader(p.Set, nil)
			},
		},
		{
			Name: "linear-leader", Kind: "convex", Bound: "none: its regret can be T", Knows: "nothing",
			Cost:   "O(d)+linear minimization",
			Source: "Orabona 2019, Example 2.10",
			Make:   func(p Problem, _ func(string) float64) (Learner, error) { return NewLinearLeader(p.Set, nil) },
		},
	}
}

// descents are the learners that descend along subgradients.
func descents() []Entry {
	return []Entry{
		{
			Name: "ogd-fixed", Kind: "convex", Bound: "D·L·√T", Knows: "T, L, D", Cost: "O(d)+proj",
			Options: []Option{eta()},
			Source:  "Zinkevich 2003; Orabona 2019, (2.1)",
			Make: func(p Problem, o func(string) float64) (Learner, error) {
				if v := o("eta"); !math.IsNaN(v) {
					return NewSubgradientDescent(p.Set, nil, Constant(v))
				}
				d, err := bounded(p)
				if err != nil {
					return nil, err
				}
				if err := known("lipschitz", p.Lipschitz); err != nil {
					return nil, err
				}
				if err := horizon(p); err != nil {
					return nil, err
				}
				return NewSubgradientDescent(p.Set, nil, FixedHorizon(d, p.Lipschitz, p.Rounds))
			},
		},
		{
			Name: "ogd-sqrt", Kind: "convex", Bound: "(3/2)·D·L·√T", Knows: "L, D", Cost: "O(d)+proj",
			Source: "Zinkevich 2003; Orabona 2019, section 5.1",
			Make: func(p Problem, _ func(string) float64) (Learner, error) {
				d, err := bounded(p)
				if err != nil {
					return nil, err
				}
				if err := known("lipschitz", p.Lipschitz); err != nil {
					return nil, err
				}
				return NewSubgradientDescent(p.Set, nil, InverseSqrt(d, p.Lipschitz))
			},
		},
		{
			Name: "ogd-unbounded", Kind: "convex", Bound: "½L(‖u‖²/α+α)√T", Knows: "T, L",
			Cost:    "O(nnz) on the whole space",
			Options: []Option{{Name: "alpha", Default: 1, Help: "the scale of ‖u‖"}},
			Source:  "Orabona 2019, section 5.2.2",
			Make: func(p Problem, o func(string) float64) (Learner, error) {
				if err := known("lipschitz", p.Lipschitz); err != nil {
					return nil, err
				}
				if err := horizon(p); err != nil {
					return nil, err
				}
				return NewSubgradientDescent(p.Set, nil, FixedHorizon(o("alpha"), p.Lipschitz, p.Rounds))
			},
		},
		{
			Name: "ogd-strong", Kind: "convex", Bound: "L²(1+ln T)/(2μ)", Knows: "μ", Cost: "O(d)+proj",
			Source: "Hazan, Agarwal and Kale 2007; Orabona 2019, Theorem 4.7",
			Make: func(p Problem, _ func(string) float64) (Learner, error) {
				if err := known("strong convexity", p.StrongConvexity); err != nil {
					return nil, err
				}
				return NewSubgradientDescent(p.Set, nil, StronglyConvex(p.StrongConvexity))
			},
		},
	}
}

// adaptiveDescents are those whose steps adapt to the subgradients seen.
func adaptiveDescents() []Entry {
	return []Entry{
		{
			Name: "ogd-adaptive", Kind: "convex", Bound: "√2·D·√Σ‖g_t‖²", Knows: "D", Cost: "O(d)+proj",
			Source: "Streeter and McMahan 2010; Orabona 2019, Theorem 4.14",
			Make: func(p Problem, _ func(string) float64) (Learner, error) {
				d, err := bounded(p)
				if err != nil {
					return nil, err
				}
				return NewSubgradientDescent(p.Set, nil, Adaptive(d*math.Sqrt2/2))
			},
		},
		{
			Name: "adagrad", Kind: "convex", Bound: "√2·Σ_i D_i·√Σ_t g_{t,i}²", Knows: "the box", Cost: "O(nnz)",
			Source: "McMahan and Streeter 2010; Duchi, Hazan and Singer 2010; Orabona 2019, Algorithm 4.1",
			Make: func(p Problem, _ func(string) float64) (Learner, error) {
				box, ok := p.Set.(*convex.Box)
				if !ok {
					return nil, noregret.BadInputf("set", "%v: this learner plays on boxes", p.Set)
				}
				return NewAdaGrad(box, nil)
			},
		},
		{
			Name: "adagrad-full", Kind: "convex", Bound: "√2·D·tr (Σ g_t·g_tᵀ)^(1/2)", Knows: "D, d ≤ 1024",
			Cost:   "O(d³)",
			Source: "Duchi, Hazan and Singer 2011",
			Make: func(p Problem, _ func(string) float64) (Learner, error) {
				if _, err := bounded(p); err != nil {
					return nil, err
				}
				return NewFullMatrixAdaGrad(p.Set, nil)
			},
		},
	}
}

// mirrors are the learners that descend in another geometry.
func mirrors() []Entry {
	return []Entry{
		{
			Name: "mirror-descent", Kind: "convex",
			Bound: "2·(D_B/√λ)·√Σ‖g_t‖*²", Knows: "D_B; with entropy T, L∞",
			Cost:   "O(d)+mirror maps",
			Source: "Nemirovsky and Yudin 1983; Orabona 2019, Algorithm 6.1",
			Make: func(p Problem, _ func(string) float64) (Learner, error) {
				if n, err := onlySimplex(p); err == nil {
					reg, err := entropyOnSimplex(n)
					if err != nil {
						return nil, err
					}
					rate, err := hedgeRate(n, p)
					if err != nil {
						return nil, err
					}
					return NewMirrorDescent(reg, nil, Constant(rate), math.Inf(1))
				}
				d, err := bounded(p)
				if err != nil {
					return nil, err
				}
				reg, err := quadratic(p.Set)
				if err != nil {
					return nil, err
				}
				return NewMirrorDescent(reg, nil, Adaptive(d/math.Sqrt2), math.Inf(1))
			},
		},
		{
			Name: "eg", Kind: "experts", Bound: "√2·L∞·√(T·ln d)", Knows: "T, L∞", Cost: "O(d)",
			Options: []Option{eta()},
			Source:  "Kivinen and Warmuth 1997; Orabona 2019, Algorithm 6.2",
			Make: func(p Problem, o func(string) float64) (Learner, error) {
				n, err := onlySimplex(p)
				if err != nil {
					return nil, err
				}
				if v := o("eta"); !math.IsNaN(v) {
					return NewExponentiatedGradient(n, nil, v)
				}
				rate, err := hedgeRate(n, p)
				if err != nil {
					return nil, err
				}
				return NewExponentiatedGradient(n, nil, rate)
			},
		},
		{
			Name: "p-norm", Kind: "convex",
			Bound: "½(‖u‖₁²/α+α)·L∞·√T·√(2e·ln d)", Knows: "T, L∞", Cost: "O(d)",
			Options: []Option{{Name: "alpha", Default: 1, Help: "the scale of ‖u‖₁"}},
			Source:  "Grove, Littlestone and Schuurmans 1997; Orabona 2019, section 6.7",
			Make: func(p Problem, o func(string) float64) (Learner, error) {
				n, err := tunable(p, onlySpace)
				if err != nil {
					return nil, err
				}
				return NewPNormTuned(n, p.LipschitzInf, o("alpha"), p.Rounds)
			},
		},
	}
}

// regularized are the learners that follow the regularized leader.
func regularized() []Entry {
	return []Entry{
		{
			Name: "ftrl", Kind: "convex", Bound: "(‖u−x_1‖²/(2α)+α)·L·√T", Knows: "L",
			Cost:    "O(d)+proj; O(nnz) on ℝ^d, boxes, balls",
			Options: []Option{alpha()},
			Source:  "Nesterov 2009; Orabona 2019, Algorithm 7.2",
			Make: func(p Problem, o func(string) float64) (Learner, error) {
				weight, err := anytime(p, o)
				if err != nil {
					return nil, err
				}
				reg, err := quadratic(p.Set)
				if err != nil {
					return nil, err
				}
				return NewFTRL(reg, nil, weight)
			},
		},
		{
			Name: "exact-ftrl", Kind: "convex", Bound: "c_T·‖u‖²/2+½Σ‖g_t‖²/(c_t+Σμ)",
			Knows: "L, and quadratic losses whole", Cost: "O(d)+proj, O(d³) with squared losses of predictions",
			Options: []Option{alpha()},
			Source:  "Shalev-Shwartz and Singer 2007; Orabona 2019, Algorithm 7.1",
			Make: func(p Problem, o func(string) float64) (Learner, error) {
				weight, err := anytime(p, o)
				if err != nil {
					return nil, err
				}
				m, err := NewQuadraticMinimizer(p.Set, weight)
				if err != nil {
					return nil, err
				}
				return NewExactFTRL(m)
			},
		},
		{
			Name: "ftrl-entropic", Kind: "experts", Bound: "2·L∞·√(T·ln d)", Knows: "L∞", Cost: "O(d)",
			Source: "Orabona 2019, section 7.5",
			Make: func(p Problem, _ func(string) float64) (Learner, error) {
				n, err := onlySimplex(p)
				if err != nil {
					return nil, err
				}
				if err := known("lipschitz", p.LipschitzInf); err != nil {
					return nil, err
				}
				return NewEntropicFTRL(n, p.LipschitzInf, DefaultEntropicAlpha(n))
			},
		},
	}
}

// scaleFreeLeaders are the regularized leaders that adapt to the scale of the losses.
func scaleFreeLeaders() []Entry {
	return []Entry{
		{
			Name: "scale-free-hedge", Kind: "experts",
			Bound: "(ln d/α+√2·α)·√Σ‖g_t‖∞²", Knows: "nothing", Cost: "O(d)",
			Options: []Option{{Name: "alpha", Derived: "max(4, 2^(−1/4)√ln d)", Help: "at least 4"}},
			Source:  "Orabona and Pál 2015; Orabona 2019, section 7.6",
			Make: func(p Problem, o func(string) float64) (Learner, error) {
				n, err := onlySimplex(p)
				if err != nil {
					return nil, err
				}
				return NewScaleFreeHedge(n, derived(o, "alpha", DefaultScaleFreeHedgeAlpha(n)))
			},
		},
		{
			Name: "adahedge", Kind: "experts", Bound: "2·√((4+ln d)·Σ‖g_t‖∞²)", Knows: "nothing", Cost: "O(d)",
			Options: []Option{{Name: "alpha", Derived: "√ln d", Help: "above 0"}},
			Source:  "de Rooij, van Erven, Grünwald and Koolen 2014; Orabona 2019, Algorithm 7.3",
			Make: func(p Problem, o func(string) float64) (Learner, error) {
				n, err := onlySimplex(p)
				if err != nil {
					return nil, err
				}
				return NewAdaHedge(n, derived(o, "alpha", DefaultAdaHedgeAlpha(n)))
			},
		},
		{
			Name: "adaftrl", Kind: "convex", Bound: "(ψ(u)+α²)·λ_{T+1}, of order D·√Σ‖g_t‖²", Knows: "D",
			Cost:   "O(d)+2 proj",
			Source: "Orabona and Pál 2015; Orabona 2019, section 7.6",
			Make: func(p Problem, _ func(string) float64) (Learner, error) {
				d, err := bounded(p)
				if err != nil {
					return nil, err
				}
				reg, err := quadratic(p.Set)
				if err != nil {
					return nil, err
				}
				return NewAdaFTRL(reg, d/math.Sqrt2)
			},
		},
	}
}

// composites are the regularized leaders with more than a linear loss in each round.
func composites() []Entry {
	return []Entry{
		{
			Name: "composite-ftrl", Kind: "convex", Bound: "L·√T·(‖u‖²/2+1) with κ‖x‖₁ in the loss", Knows: "L",
			Cost:    "O(nnz)",
			Options: []Option{{Name: "kappa", Help: "the weight of ‖x‖₁ in every round's loss"}},
			Source:  "Xiao 2010; Orabona 2019, section 7.7",
			Make: func(p Problem, o func(string) float64) (Learner, error) {
				if err := known("lipschitz", p.Lipschitz); err != nil {
					return nil, err
				}
				return NewCompositeFTRL(p.Set, p.Lipschitz, o("kappa"))
			},
		},
		{
			Name: "proximal-ftrl", Kind: "convex", Bound: "√2·D·√Σ‖g_t‖²", Knows: "D", Cost: "O(d)+proj",
			Source: "McMahan 2011; Orabona 2019, section 7.8",
			Make: func(p Problem, _ func(string) float64) (Learner, error) {
				d, err := bounded(p)
				if err != nil {
					return nil, err
				}
				return NewProximalFTRL(p.Set, nil, Adaptive(d*math.Sqrt2/2))
			},
		},
		{
			Name: "ftrl-proximal", Kind: "convex", Bound: "l1‖u‖₁ + data-dependent, see its doc", Knows: "nothing",
			Cost: "O(nnz)",
			Options: []Option{
				{Name: "a", Default: 1, Help: "the scale of the rates"},
				{Name: "beta", Default: 1, Help: "smooths the first rates"},
				{Name: "l1", Help: "weight of ‖x‖₁"},
				{Name: "l2", Help: "weight of ‖x‖²/2"},
			},
			Source: "McMahan et al. 2013; Orabona 2019, section 7.12",
			Make: func(p Problem, o func(string) float64) (Learner, error) {
				n, err := onlySpace(p)
				if err != nil {
					return nil, err
				}
				return NewFTRLProximal(n, FTRLProximalOptions{
					A: o("a"), Beta: o("beta"), L1: o("l1"), L2: o("l2"),
				})
			},
		},
		{
			Name: "quadratized-ftrl", Kind: "convex", Bound: "½Σ ‖g_t‖²/Σμ", Knows: "μ", Cost: "O(d)+proj",
			Source: "Orabona 2019, Algorithm 7.4",
			Make: func(p Problem, _ func(string) float64) (Learner, error) {
				if err := known("strong convexity", p.StrongConvexity); err != nil {
					return nil, err
				}
				return NewQuadratizedFTRL(p.Set, nil, p.StrongConvexity)
			},
		},
	}
}

// secondOrder are the learners that use curvature along directions.
func secondOrder() []Entry {
	return []Entry{
		{
			Name: "curvature-ftrl", Kind: "convex", Bound: "(λ/2)‖u‖²+½Σ‖g_t‖² in the norm of S_t⁻¹",
			Knows: "the losses' curvature A_t", Cost: "O(d·r) a factor of A_t+Mahalanobis projection, r ≤ min(d, T)",
			Options: []Option{{Name: "lambda", Default: 1, Help: "regularization"}},
			Source:  "Orabona 2019, section 7.9",
			Make: func(p Problem, o func(string) float64) (Learner, error) {
				return NewCurvatureFTRL(p.Set, o("lambda"))
			},
		},
		{
			Name: "ons", Kind: "convex", Bound: "(λ/2)‖u‖²+(d/2μ)·ln(1+μTL²/(dλ))", Knows: "μ, D",
			Cost:    "O(d·r)+Mahalanobis projection, r ≤ min(d, T)",
			Options: []Option{{Name: "lambda", Derived: "1/(μD²)", Help: "regularization"}},
			Source:  "Hazan, Agarwal and Kale 2007; Orabona 2019, Algorithm 7.5",
			Make: func(p Problem, o func(string) float64) (Learner, error) {
				if err := known("curvature", p.ExpConcavity); err != nil {
					return nil, err
				}
				return NewOnlineNewtonStep(p.Set, p.ExpConcavity, derived(o, "lambda", newtonLambda(p)))
			},
		},
		{
			Name: "ons-sketched", Kind: "convex",
			Bound: "(λ/2)‖u‖²+½Σ‖g_t‖² in the norm of S_t⁻¹, S_t of rank 2m",
			Knows: "μ, D", Cost: "O(d·m+m³)",
			Options: []Option{
				{Name: "lambda", Derived: "1/(μD²)", Help: "regularization"},
				{Name: "size", Default: 16, Help: "the directions m of the sketch"},
			},
			Source: "Luo, Agarwal, Cesa-Bianchi and Langford 2016",
			Make: func(p Problem, o func(string) float64) (Learner, error) {
				if err := known("curvature", p.ExpConcavity); err != nil {
					return nil, err
				}
				size := o("size")
				if size != math.Floor(size) || !(size >= 1 && size <= denseUpTo) {
					return nil, noregret.BadInputf("size", "%v: want an integer from 1 to %d", size, denseUpTo)
				}
				lambda := derived(o, "lambda", newtonLambda(p))
				return NewSketchedNewtonStep(p.Set, p.ExpConcavity, lambda, int(size))
			},
		},
		{
			Name: "vaw", Kind: "convex", Bound: "(λ/2)‖u‖²+(dY²/2)·ln(1+R²T/(λd))", Knows: "z_t before predicting",
			Cost:    "O(d·r), r ≤ min(d, T)",
			Options: []Option{{Name: "lambda", Default: 1, Help: "regularization"}},
			Source:  "Vovk 2001; Azoury and Warmuth 2001; Orabona 2019, Algorithm 7.6",
			Make: func(p Problem, o func(string) float64) (Learner, error) {
				if !p.Features {
					return nil, noregret.BadInputf("losses",
						"they are not squared losses of a prediction whose features are shown, which this learner is "+
							"for")
				}
				n, err := onlySpace(p)
				if err != nil {
					return nil, err
				}
				return NewVovkAzouryWarmuth(n, o("lambda"))
			},
		},
	}
}

// hinted are the learners that use a guess of the next subgradient.
func hinted() []Entry {
	return []Entry{
		{
			Name: "optimistic-ftrl", Kind: "convex", Bound: "c_T·ψ(u)+½Σ‖g_t−g_{t−1}‖²/c_t",
			Knows: "L; the hint is the last subgradient", Cost: "O(d)+proj",
			Options: []Option{alpha()},
			Source:  "Rakhlin and Sridharan 2013; Orabona 2019, Algorithm 7.7",
			Make: func(p Problem, o func(string) float64) (Learner, error) {
				weight, err := anytime(p, o)
				if err != nil {
					return nil, err
				}
				reg, err := quadratic(p.Set)
				if err != nil {
					return nil, err
				}
				return NewLastHint(reg, weight)
			},
		},
		{
			Name: "optimistic-md", Kind: "convex", Bound: "(D²/2)·L√T/α+½Σ η_t‖g_t−g_{t−1}‖²",
			Knows: "L, D; with entropy T, L∞; the hint is the last subgradient", Cost: "O(d)+mirror maps",
			Source: "Chiang et al. 2012; Rakhlin and Sridharan 2013",
			Make:   makeOptimisticMirror,
		},
		{
			Name: "optimistic-adagrad", Kind: "convex", Bound: "√2·Σ_i D_i·√Σ_t (g_{t,i}−g_{t−1,i})²",
			Knows: "the box; the hint is the last subgradient", Cost: "O(d)",
			Source: "Mohri and Yang 2016",
			Make:   makeOptimisticAdaGrad,
		},
		{
			Name: "mean-hint", Kind: "convex", Bound: "c·ψ(u)+Σ‖g_t−ḡ_{t−1}‖²/(2c)", Knows: "c, from T, L, D",
			Cost:    "O(d)+proj",
			Options: []Option{{Name: "c", Derived: "L·√T/α", Help: "the weight of the regularizer"}},
			Source:  "Hazan and Kale 2008; Orabona 2019, section 7.11.1",
			Make: func(p Problem, o func(string) float64) (Learner, error) {
				reg, err := quadratic(p.Set)
				if err != nil {
					return nil, err
				}
				if c := o("c"); !math.IsNaN(c) {
					return NewMeanHint(reg, c)
				}
				if err := known("lipschitz", p.Lipschitz); err != nil {
					return nil, err
				}
				if err := horizon(p); err != nil {
					return nil, err
				}
				return NewMeanHint(reg, p.Lipschitz*math.Sqrt(float64(p.Rounds))/scaleOf(p.Set))
			},
		},
		{
			Name: "gradual-ftrl", Kind: "convex", Bound: "λ_T·ψ(u)+L/2+4·√Σ‖∇l_t−∇l_{t−1}‖²", Knows: "M, L",
			Cost:   "O(d)+proj, 2 gradients",
			Source: "Chiang et al. 2012; Orabona 2019, Corollary 7.30",
			Make: func(p Problem, _ func(string) float64) (Learner, error) {
				if err := known("lipschitz", p.Lipschitz); err != nil {
					return nil, err
				}
				if !vec.IsFinite(p.Smoothness) {
					return nil, noregret.BadInputf("smoothness", "the losses are not smooth, which this learner needs")
				}
				reg, err := quadratic(p.Set)
				if err != nil {
					return nil, err
				}
				return NewGradualFTRL(reg, p.Smoothness, p.Lipschitz)
			},
		},
	}
}

// makeOptimisticAdaGrad plays on boxes, and guesses the last subgradient.
func makeOptimisticAdaGrad(p Problem, _ func(string) float64) (Learner, error) {
	box, ok := p.Set.(*convex.Box)
	if !ok {
		return nil, noregret.BadInputf("set", "%v: this learner plays on boxes", p.Set)
	}
	l, err := NewOptimisticAdaGrad(box, nil)
	if err != nil {
		return nil, err
	}
	return NewRepeatHint(l)
}

// newtonLambda is 1/(μD²), with D = 1 for sets without a diameter.
func newtonLambda(p Problem) float64 {
	d := p.Set.Diameter()
	if !vec.IsFinite(d) || d == 0 {
		d = 1
	}
	return 1 / (p.ExpConcavity * d * d)
}

// makeOptimisticMirror makes optimistic mirror descent: with entropy on the simplex, Euclidean
// elsewhere.
func makeOptimisticMirror(p Problem, _ func(string) float64) (Learner, error) {
	var l *OptimisticMirrorDescent
	if n, err := onlySimplex(p); err == nil {
		reg, err := entropyOnSimplex(n)
		if err != nil {
			return nil, err
		}
		rate, err := hedgeRate(n, p)
		if err != nil {
			return nil, err
		}
		if l, err = NewOptimisticMirrorDescent(reg, nil, Constant(rate), math.Inf(1)); err != nil {
			return nil, err
		}
		return NewRepeatHint(l)
	}
	d, err := bounded(p)
	if err != nil {
		return nil, err
	}
	if err := known("lipschitz", p.Lipschitz); err != nil {
		return nil, err
	}
	reg, err := quadratic(p.Set)
	if err != nil {
		return nil, err
	}
	if l, err = NewOptimisticMirrorDescent(reg, nil, InverseSqrt(d, p.Lipschitz), math.Inf(1)); err != nil {
		return nil, err
	}
	return NewRepeatHint(l)
}
