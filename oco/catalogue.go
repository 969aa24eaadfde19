package oco

import (
	"fmt"
	"math"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/named"
	"github.com/noregret/noregret/internal/portable"
)

// Problem is what a learner may be told of a game before it begins.
type Problem struct {
	// Set is where points live.
	Set convex.Set
	// Rounds is the horizon T, 0 if it is not known.
	Rounds int
	// Lipschitz and LipschitzInf bound ‖g_t‖₂ and ‖g_t‖∞; +Inf if nothing is known.
	Lipschitz, LipschitzInf float64
	// StrongConvexity μ and Smoothness M are those of every loss; 0 and +Inf if nothing is known.
	StrongConvexity, Smoothness float64
	// ExpConcaveMu is the μ of [OnlineNewtonStep], 0 if the losses do not curve.
	ExpConcaveMu float64
	// SquaredDistance says that losses are ‖x − y_t‖².
	SquaredDistance bool
	// Features says that losses are ½(⟨z_t, x⟩ − y_t)² with z_t shown before the prediction.
	Features bool
}

// Entry is a learner that can be made by name.
type Entry struct {
	// Name is the learner's name.
	Name string
	// Kind is the kind of its game: "convex" or "experts", which is the simplex.
	Kind string
	// Bound is the order of its guarantee, Knows what it must be told, and Cost the time of a round.
	Bound, Knows, Cost string
	// Options are what can be set, all with defaults.
	Options []Option
	// Source is where the algorithm comes from.
	Source string

	make func(p Problem, o map[string]float64) (Learner, error)
}

// Option is a number that a learner can be given.
type Option struct {
	Name    string
	Default string
	Help    string
}

// New makes the learner for a problem, with options by name. It refuses a problem that the learner is not
// made for, and options it does not have.
func (e *Entry) New(p Problem, options map[string]float64) (Learner, error) {
	err := named.CheckOptions(e.Name, options, e.Options, func(o *Option) string { return o.Name }, func(o *Option, v float64) error {
		if !finite(v) {
			return badArgument(e.Name+":"+o.Name, "%v: want a finite number", v)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if p.Set == nil {
		return nil, badArgument("set", "nil: want a set")
	}
	l, err := e.make(p, options)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.Name, err)
	}
	return l, nil
}

// Find returns the learner of a name.
func Find(name string) (*Entry, error) {
	return named.Find("learner", name, Learners(), func(e *Entry) string { return e.Name })
}

// known refuses a bound that a game does not give.
func known(what string, v float64) error {
	if !finite(v) || !(v > 0) {
		return badArgument(what, "the game gives no bound on it (%v), which this learner must know", v)
	}
	return nil
}

func horizon(p Problem) error {
	if p.Rounds < 1 {
		return badArgument("rounds", "the game gives no horizon, which this learner must know")
	}
	return nil
}

func bounded(p Problem) (float64, error) {
	d := p.Set.Diameter()
	if math.IsInf(d, 1) {
		return 0, badArgument("set", "%v is unbounded: this learner needs a bounded set", p.Set)
	}
	if d == 0 {
		d = 1 // a set of one point: any scale of steps will do
	}
	return d, nil
}

func onlySimplex(p Problem) (int, error) {
	s, ok := p.Set.(*convex.Simplex)
	if !ok || s.Sum() != 1 {
		return 0, badArgument("set", "%v: this learner plays on the simplex", p.Set)
	}
	return s.Dim(), nil
}

func onlySpace(p Problem) (int, error) {
	if _, ok := p.Set.(*convex.Space); !ok {
		return 0, badArgument("set", "%v: this learner plays on the whole space", p.Set)
	}
	return p.Set.Dim(), nil
}

// option is the value given, or the default.
func option(o map[string]float64, name string, otherwise float64) float64 {
	if v, ok := o[name]; ok {
		return v
	}
	return otherwise
}

func restricted(psi convex.MirrorMap, err error, s convex.Set) (convex.Regularizer, error) {
	if err != nil {
		return nil, err
	}
	return convex.Restrict(psi, s)
}

func quadratic(s convex.Set) (convex.Regularizer, error) {
	psi, err := convex.NewQuadratic(s.Dim())
	return restricted(psi, err, s)
}

// Learners lists the learners that can be made by name, in the order of the book.
func Learners() []Entry {
	eta := Option{"eta", "from the game", "the step size"}
	return []Entry{
		{
			Name: "mean-leader", Kind: "convex", Bound: "4L²(1+ln T)", Knows: "that losses are squared distances", Cost: "O(d)+proj",
			Source: "Orabona 2019, Theorem 1.2",
			make: func(p Problem, _ map[string]float64) (Learner, error) {
				if !p.SquaredDistance {
					return nil, badArgument("losses", "they are not squared distances ‖x − y‖², which this learner is for")
				}
				return NewMeanLeader(p.Set, nil)
			},
		},
		{
			Name: "linear-leader", Kind: "convex", Bound: "none: its regret can be T", Knows: "nothing", Cost: "O(d)+linear minimization",
			Source: "Orabona 2019, Example 2.10",
			make:   func(p Problem, _ map[string]float64) (Learner, error) { return NewLinearLeader(p.Set, nil) },
		},
		{
			Name: "ogd-fixed", Kind: "convex", Bound: "D·L·√T", Knows: "T, L, D", Cost: "O(d)+proj", Options: []Option{eta},
			Source: "Zinkevich 2003; Orabona 2019, (2.1)",
			make: func(p Problem, o map[string]float64) (Learner, error) {
				if v, ok := o["eta"]; ok {
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
			make: func(p Problem, _ map[string]float64) (Learner, error) {
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
			Name: "ogd-unbounded", Kind: "convex", Bound: "½L(‖u‖²/α+α)√T", Knows: "T, L", Cost: "O(nnz) on the whole space",
			Options: []Option{{"alpha", "1", "the scale of ‖u‖"}},
			Source:  "Orabona 2019, section 5.2.2",
			make: func(p Problem, o map[string]float64) (Learner, error) {
				if err := known("lipschitz", p.Lipschitz); err != nil {
					return nil, err
				}
				if err := horizon(p); err != nil {
					return nil, err
				}
				return NewSubgradientDescent(p.Set, nil, FixedHorizon(option(o, "alpha", 1), p.Lipschitz, p.Rounds))
			},
		},
		{
			Name: "ogd-strong", Kind: "convex", Bound: "L²(1+ln T)/(2μ)", Knows: "μ", Cost: "O(d)+proj",
			Source: "Hazan, Agarwal and Kale 2007; Orabona 2019, Theorem 4.7",
			make: func(p Problem, _ map[string]float64) (Learner, error) {
				if err := known("strong convexity", p.StrongConvexity); err != nil {
					return nil, err
				}
				return NewSubgradientDescent(p.Set, nil, StronglyConvex(p.StrongConvexity))
			},
		},
		{
			Name: "ogd-adaptive", Kind: "convex", Bound: "√2·D·√Σ‖g_t‖²", Knows: "D", Cost: "O(d)+proj",
			Source: "Streeter and McMahan 2010; Orabona 2019, Theorem 4.14",
			make: func(p Problem, _ map[string]float64) (Learner, error) {
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
			make: func(p Problem, _ map[string]float64) (Learner, error) {
				box, ok := p.Set.(*convex.Box)
				if !ok {
					return nil, badArgument("set", "%v: this learner plays on boxes", p.Set)
				}
				return NewAdaGrad(box, nil)
			},
		},
		{
			Name: "mirror-descent", Kind: "convex", Bound: "2·(D_B/√λ)·√Σ‖g_t‖*²", Knows: "D_B; with entropy T, L∞", Cost: "O(d)+mirror maps",
			Source: "Nemirovsky and Yudin 1983; Orabona 2019, Algorithm 6.1",
			make: func(p Problem, _ map[string]float64) (Learner, error) {
				if n, err := onlySimplex(p); err == nil {
					reg, err := entropyOnSimplex(n)
					if err != nil {
						return nil, err
					}
					rate, err := hedgeRate(n, p)
					if err != nil {
						return nil, err
					}
					return NewMirrorDescent(reg, nil, Constant(rate), 0)
				}
				d, err := bounded(p)
				if err != nil {
					return nil, err
				}
				reg, err := quadratic(p.Set)
				if err != nil {
					return nil, err
				}
				return NewMirrorDescent(reg, nil, Adaptive(d/math.Sqrt2), 0)
			},
		},
		{
			Name: "eg", Kind: "experts", Bound: "√2·L∞·√(T·ln d)", Knows: "T, L∞", Cost: "O(d)", Options: []Option{eta},
			Source: "Kivinen and Warmuth 1997; Orabona 2019, Algorithm 6.2",
			make: func(p Problem, o map[string]float64) (Learner, error) {
				n, err := onlySimplex(p)
				if err != nil {
					return nil, err
				}
				if v, ok := o["eta"]; ok {
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
			Name: "p-norm", Kind: "convex", Bound: "½(‖u‖₁²/α+α)·L∞·√T·√(2e·ln d)", Knows: "T, L∞", Cost: "O(d)",
			Options: []Option{{"alpha", "1", "the scale of ‖u‖₁"}},
			Source:  "Grove, Littlestone and Schuurmans 1997; Orabona 2019, section 6.7",
			make: func(p Problem, o map[string]float64) (Learner, error) {
				n, err := onlySpace(p)
				if err != nil {
					return nil, err
				}
				if err := known("lipschitz", p.LipschitzInf); err != nil {
					return nil, err
				}
				if err := horizon(p); err != nil {
					return nil, err
				}
				return NewPNormTuned(n, p.LipschitzInf, option(o, "alpha", 1), p.Rounds)
			},
		},
		{
			Name: "ftrl", Kind: "convex", Bound: "(‖u−x_1‖²/(2α)+α)·L·√T", Knows: "L", Cost: "O(d)+proj; O(nnz) on ℝ^d, boxes, balls",
			Options: []Option{{"alpha", "D/√2, or 1", "the scale of ‖u‖"}},
			Source:  "Nesterov 2009; Orabona 2019, Algorithm 7.2",
			make: func(p Problem, o map[string]float64) (Learner, error) {
				if err := known("lipschitz", p.Lipschitz); err != nil {
					return nil, err
				}
				reg, err := quadratic(p.Set)
				if err != nil {
					return nil, err
				}
				return NewFTRL(reg, nil, SqrtWeight(p.Lipschitz/option(o, "alpha", scaleOf(p.Set))))
			},
		},
		{
			Name: "exact-ftrl", Kind: "convex", Bound: "c_T·‖u‖²/2+½Σ‖g_t‖²/(c_t+Σμ)", Knows: "L, and quadratic losses whole", Cost: "O(d)+proj, O(d³) with squared losses of predictions",
			Options: []Option{{"alpha", "D/√2, or 1", "the scale of ‖u‖"}},
			Source:  "Shalev-Shwartz and Singer 2007; Orabona 2019, Algorithm 7.1",
			make: func(p Problem, o map[string]float64) (Learner, error) {
				if err := known("lipschitz", p.Lipschitz); err != nil {
					return nil, err
				}
				m, err := NewQuadraticMinimizer(p.Set, SqrtWeight(p.Lipschitz/option(o, "alpha", scaleOf(p.Set))))
				if err != nil {
					return nil, err
				}
				return NewExactFTRL(m)
			},
		},
		{
			Name: "ftrl-entropic", Kind: "experts", Bound: "2·L∞·√(T·ln d)", Knows: "L∞", Cost: "O(d)",
			Source: "Orabona 2019, section 7.5",
			make: func(p Problem, _ map[string]float64) (Learner, error) {
				n, err := onlySimplex(p)
				if err != nil {
					return nil, err
				}
				if err := known("lipschitz", p.LipschitzInf); err != nil {
					return nil, err
				}
				return NewEntropicFTRL(n, p.LipschitzInf, 0)
			},
		},
		{
			Name: "scale-free-hedge", Kind: "experts", Bound: "(ln d/α+√2·α)·√Σ‖g_t‖∞²", Knows: "nothing", Cost: "O(d)",
			Options: []Option{{"alpha", "max(4, 2^(−1/4)√ln d)", "at least 4"}},
			Source:  "Orabona and Pál 2015; Orabona 2019, section 7.6",
			make: func(p Problem, o map[string]float64) (Learner, error) {
				n, err := onlySimplex(p)
				if err != nil {
					return nil, err
				}
				return NewScaleFreeHedge(n, option(o, "alpha", 0))
			},
		},
		{
			Name: "adahedge", Kind: "experts", Bound: "2·√((4+ln d)·Σ‖g_t‖∞²)", Knows: "nothing", Cost: "O(d)",
			Options: []Option{{"alpha", "√ln d", "above 0"}},
			Source:  "de Rooij, van Erven, Grünwald and Koolen 2014; Orabona 2019, Algorithm 7.3",
			make: func(p Problem, o map[string]float64) (Learner, error) {
				n, err := onlySimplex(p)
				if err != nil {
					return nil, err
				}
				return NewAdaHedge(n, option(o, "alpha", 0))
			},
		},
		{
			Name: "adaftrl", Kind: "convex", Bound: "(ψ(u)+α²)·λ_{T+1}, of order D·√Σ‖g_t‖²", Knows: "D", Cost: "O(d)+2 proj",
			Source: "Orabona and Pál 2015; Orabona 2019, section 7.6",
			make: func(p Problem, _ map[string]float64) (Learner, error) {
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
		{
			Name: "composite-ftrl", Kind: "convex", Bound: "L·√T·(‖u‖²/2+1) with κ‖x‖₁ in the loss", Knows: "L", Cost: "O(nnz)",
			Options: []Option{{"kappa", "0", "the weight of ‖x‖₁ in every round's loss"}},
			Source:  "Xiao 2010; Orabona 2019, section 7.7",
			make: func(p Problem, o map[string]float64) (Learner, error) {
				if err := known("lipschitz", p.Lipschitz); err != nil {
					return nil, err
				}
				return NewCompositeFTRL(p.Set, p.Lipschitz, option(o, "kappa", 0))
			},
		},
		{
			Name: "proximal-ftrl", Kind: "convex", Bound: "√2·D·√Σ‖g_t‖²", Knows: "D", Cost: "O(d)+proj",
			Source: "McMahan 2011; Orabona 2019, section 7.8",
			make: func(p Problem, _ map[string]float64) (Learner, error) {
				d, err := bounded(p)
				if err != nil {
					return nil, err
				}
				return NewProximalFTRL(p.Set, nil, Adaptive(d*math.Sqrt2/2))
			},
		},
		{
			Name: "ftrl-proximal", Kind: "convex", Bound: "l1‖u‖₁ + data-dependent, see its doc", Knows: "nothing", Cost: "O(nnz)",
			Options: []Option{
				{"a", "1", "the scale of the rates"},
				{"beta", "1", "smooths the first rates"},
				{"l1", "0", "weight of ‖x‖₁"},
				{"l2", "0", "weight of ‖x‖²/2"},
			},
			Source: "McMahan et al. 2013; Orabona 2019, section 7.12",
			make: func(p Problem, o map[string]float64) (Learner, error) {
				n, err := onlySpace(p)
				if err != nil {
					return nil, err
				}
				return NewFTRLProximal(n, FTRLProximalOptions{
					A: option(o, "a", 1), Beta: option(o, "beta", 1), L1: option(o, "l1", 0), L2: option(o, "l2", 0),
				})
			},
		},
		{
			Name: "quadratized-ftrl", Kind: "convex", Bound: "½Σ ‖g_t‖²/Σμ", Knows: "μ", Cost: "O(d)+proj",
			Source: "Orabona 2019, Algorithm 7.4",
			make: func(p Problem, _ map[string]float64) (Learner, error) {
				if err := known("strong convexity", p.StrongConvexity); err != nil {
					return nil, err
				}
				return NewQuadratizedFTRL(p.Set, nil, p.StrongConvexity)
			},
		},
		{
			Name: "curvature-ftrl", Kind: "convex", Bound: "(λ/2)‖u‖²+½Σ‖g_t‖² in the norm of S_t⁻¹", Knows: "the losses' curvature A_t", Cost: "O(d·r) a factor of A_t+Mahalanobis projection, r ≤ min(d, T)",
			Options: []Option{{"lambda", "1", "regularization"}},
			Source:  "Orabona 2019, section 7.9",
			make: func(p Problem, o map[string]float64) (Learner, error) {
				return NewCurvatureFTRL(p.Set, option(o, "lambda", 1))
			},
		},
		{
			Name: "ons", Kind: "convex", Bound: "(λ/2)‖u‖²+(d/2μ)·ln(1+μTL²/(dλ))", Knows: "μ, D", Cost: "O(d·r)+Mahalanobis projection, r ≤ min(d, T)",
			Options: []Option{{"lambda", "1/(μD²)", "regularization"}},
			Source:  "Hazan, Agarwal and Kale 2007; Orabona 2019, Algorithm 7.5",
			make: func(p Problem, o map[string]float64) (Learner, error) {
				if err := known("curvature", p.ExpConcaveMu); err != nil {
					return nil, err
				}
				d := p.Set.Diameter()
				if !finite(d) || d == 0 {
					d = 1
				}
				return NewOnlineNewtonStep(p.Set, p.ExpConcaveMu, option(o, "lambda", 1/(p.ExpConcaveMu*d*d)))
			},
		},
		{
			Name: "vaw", Kind: "convex", Bound: "(λ/2)‖u‖²+(dY²/2)·ln(1+R²T/(λd))", Knows: "z_t before predicting", Cost: "O(d·r), r ≤ min(d, T)",
			Options: []Option{{"lambda", "1", "regularization"}},
			Source:  "Vovk 2001; Azoury and Warmuth 2001; Orabona 2019, Algorithm 7.6",
			make: func(p Problem, o map[string]float64) (Learner, error) {
				if !p.Features {
					return nil, badArgument("losses", "they are not squared losses of a prediction whose features are shown, which this learner is for")
				}
				n, err := onlySpace(p)
				if err != nil {
					return nil, err
				}
				return NewVovkAzouryWarmuth(n, option(o, "lambda", 1))
			},
		},
		{
			Name: "optimistic-ftrl", Kind: "convex", Bound: "c_T·ψ(u)+½Σ‖g_t−g_{t−1}‖²/c_t", Knows: "L; the hint is the last subgradient", Cost: "O(d)+proj",
			Options: []Option{{"alpha", "D/√2, or 1", "the scale of ‖u‖"}},
			Source:  "Rakhlin and Sridharan 2013; Orabona 2019, Algorithm 7.7",
			make: func(p Problem, o map[string]float64) (Learner, error) {
				if err := known("lipschitz", p.Lipschitz); err != nil {
					return nil, err
				}
				reg, err := quadratic(p.Set)
				if err != nil {
					return nil, err
				}
				return NewLastHint(reg, SqrtWeight(p.Lipschitz/option(o, "alpha", scaleOf(p.Set))))
			},
		},
		{
			Name: "mean-hint", Kind: "convex", Bound: "c·ψ(u)+Σ‖g_t−ḡ_{t−1}‖²/(2c)", Knows: "c, from T, L, D", Cost: "O(d)+proj",
			Options: []Option{{"c", "L·√T/α", "the weight of the regularizer"}},
			Source:  "Hazan and Kale 2008; Orabona 2019, section 7.11.1",
			make: func(p Problem, o map[string]float64) (Learner, error) {
				reg, err := quadratic(p.Set)
				if err != nil {
					return nil, err
				}
				if c, ok := o["c"]; ok {
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
			Name: "gradual-ftrl", Kind: "convex", Bound: "λ_T·ψ(u)+L/2+4·√Σ‖∇l_t−∇l_{t−1}‖²", Knows: "M, L", Cost: "O(d)+proj, 2 gradients",
			Source: "Chiang et al. 2012; Orabona 2019, Corollary 7.30",
			make: func(p Problem, _ map[string]float64) (Learner, error) {
				if err := known("lipschitz", p.Lipschitz); err != nil {
					return nil, err
				}
				if !finite(p.Smoothness) {
					return nil, badArgument("smoothness", "the losses are not smooth, which this learner needs")
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

// scaleOf is D/√2 for a bounded set, the α that balances the two parts of the bound, and 1 for others.
func scaleOf(s convex.Set) float64 {
	if d := s.Diameter(); finite(d) && d > 0 {
		return d / math.Sqrt2
	}
	return 1
}

// hedgeRate is √(2·ln d/(L∞²T)).
func hedgeRate(d int, p Problem) (float64, error) {
	if err := known("lipschitz", p.LipschitzInf); err != nil {
		return 0, err
	}
	if err := horizon(p); err != nil {
		return 0, err
	}
	return math.Sqrt(2*portable.Log(float64(max(d, 2)))/float64(p.Rounds)) / p.LipschitzInf, nil
}
