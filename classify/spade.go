package classify

import (
	"cmp"
	"math"

	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/internal/portable"
)

// DualReward selects the reward that updates the dual of SPADE.
type DualReward int

// The rewards for the dual.
const (
	// DualDefault is DualClipped for measures with an unbounded dual region (G-mean), else
	// DualSurrogate.
	DualDefault DualReward = iota
	// DualSurrogate is the training reward r.
	DualSurrogate
	// DualClipped is max(r, 0).
	DualClipped
	// DualZeroOne is the 0/1 reward.
	DualZeroOne
)

// of returns the reward that updates the dual at the given margin and training reward.
func (d DualReward) of(margin, reward float64) float64 {
	switch d {
	case DualClipped:
		return max(reward, 0)
	case DualZeroOne:
		if margin > 0 {
			return 1
		}
		return 0
	default:
		return reward
	}
}

// SPADEConfig holds the options of [SPADE]. Measure is required. The zero value is refused.
type SPADEConfig struct {
	Config
	// Measure is the concave measure to maximize.
	Measure measure.Concave
	// DualScale > 0 multiplies the default dual step η'₀ = √(p(1-p)); 1 if left out. Use FixedDual
	// to keep the dual constant.
	DualScale float64
	// DualStep, if positive, replaces η'₀.
	DualStep float64
	// FixedDual keeps the dual at its initial point. SPADE is then class-balanced SGD.
	FixedDual bool
	// DualReward selects the reward that updates the dual.
	DualReward DualReward
	// EpsExponent is the exponent a in (0, 1) of the offset ε(t) = t^(-a) that G-mean's rewards
	// get; ½ if left out.
	EpsExponent float64
}

// SPADE maximizes a concave measure Ψ(P, N) by stochastic primal ascent on the weights and dual
// descent on the measure's conjugate (Narasimhan, Kar and Jain, "Optimizing Non-decomposable
// Performance Measures: A Tale of Two Classes", ICML 2015, algorithm 1, with the sign of the
// conjugate's gradient corrected). For example (x, y) at step t, with q the share of the example's
// class, μ its dual and r its reward,
//
//	w ← Π_W(w + η_t·μ·(r'/q)·y·x)
//	(α, β) ← Π_A((α, β) + η'_t·∇Ψ*(α, β) - η'_t·(r/q on the example's own coordinate))
//
// with η_t = η₀/√t and η'_t = η'₀/√t; both use the values before the step. The defaults η₀ =
// 10·√(p(1-p))/m̄₂ and η'₀ = √(p(1-p)), m̄₂ the mean of ‖x̂‖², are invariant to the scale of x. The
// average iterate is within O(1/√T) of the best surrogate measure (theorem 4; O(T^(-1/4)) for
// G-mean, theorem 5).
//
// Cost: O(nnz) time per example, O(d) memory, no allocation.
type SPADE struct {
	*twoClass
	opt         SPADEConfig
	eta0, dual0 float64
	alpha, beta float64
	sumA, sumB  float64
	unbounded   bool
	dalpha      float64
	dbeta       float64
}

// NewSPADE returns a learner for the given options. It fails with an error of code usage when the
// measure is missing or an option is out of its range.
func NewSPADE(opt SPADEConfig) (*SPADE, error) {
	cfg, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	opt.Config = cfg
	if opt.Measure == nil {
		return nil, usage("SPADE needs a concave measure: min, hmean, qmean, gmean, balanced_accuracy, ...")
	}
	if err := measure.Trainable(opt.Measure); err != nil {
		return nil, err
	}
	if err := checkDual(&opt.DualScale, opt.DualStep, &opt.EpsExponent, opt.DualReward); err != nil {
		return nil, err
	}
	s := &SPADE{opt: opt, unbounded: math.IsInf(opt.Measure.DualRadius(), 1)}
	if opt.DualReward == DualDefault {
		s.opt.DualReward = DualSurrogate
		if s.unbounded {
			s.opt.DualReward = DualClipped
		}
	}
	s.alpha, s.beta = opt.Measure.InitialDual()
	s.dalpha, s.dbeta = opt.Measure.ConjugateGradient()
	s.twoClass = newTwoClass(cfg, s)
	s.open()
	return s, nil
}

// checkDual checks the options of the dual player and replaces those left out by the defaults.
func checkDual(scale *float64, step float64, exponent *float64, reward DualReward) error {
	o := Options{DualScale: *scale}.EnsureDefaults()
	if err := o.checkRanges(); err != nil {
		return err
	}
	*scale = o.DualScale
	if *exponent == 0 {
		*exponent = paramEpsExponent.standard
	}
	return cmp.Or(paramDualStep.check(step), paramEpsExponent.check(*exponent), paramDualReward.check(float64(reward)))
}

func (s *SPADE) begin() {
	spread := math.Sqrt(s.share * (1 - s.share))
	a, b := s.opt.Measure.InitialDual()
	s.eta0 = s.stepSize(10 * spread / (a + b)) // a + b is 1, save for weighted recalls
	s.dual0 = s.opt.DualStep
	if s.dual0 == 0 {
		s.dual0 = s.opt.DualScale * spread
	}
}

func (s *SPADE) step(x Example) error {
	nextStep(s.online)
	root := stepRoot(s.online)
	eta, dualEta := s.eta0/root, s.dual0/root // while the row is fetched
	d := s.lin.Products(x.Index, x.Value)
	z := s.lin.Score(d)
	if err := s.countPrediction(z, x.Positive, x.Weight); err != nil {
		return err
	}
	m, mu := z, s.alpha
	if !x.Positive {
		m, mu = -z, s.beta
	}
	factor := s.weighedFactor(x.Positive, x.Weight)
	r, dr := s.rewards(m)
	s.accumulateRow()
	s.sumA += s.alpha
	s.sumB += s.beta
	if err := s.ascendRow(x, d, eta, mu*factor*dr); err != nil {
		return err
	}
	if !s.opt.FixedDual {
		s.descend(dualEta, factor*s.opt.DualReward.of(m, r), x.Positive)
	}
	return nil
}

// descend is the dual step of size eta for the weighted reward of one example.
func (s *SPADE) descend(eta, reward float64, positive bool) {
	a, b := s.alpha+float64(eta*s.dalpha), s.beta+float64(eta*s.dbeta)
	limit := math.Inf(1)
	if s.unbounded {
		eps := s.epsilon()
		a -= float64(eta * eps)
		b -= float64(eta * eps)
		limit = math.Sqrt((1+eps)/eps) / 2
	}
	if positive {
		a -= float64(eta * reward)
	} else {
		b -= float64(eta * reward)
	}
	s.alpha, s.beta = s.opt.Measure.Project(a, b, limit)
}

// epsilon is ε(t) = t^(-a).
func (s *SPADE) epsilon() float64 {
	if s.opt.EpsExponent == 0.5 {
		return 1 / math.Sqrt(float64(s.t))
	}
	return portable.Exp(-s.opt.EpsExponent * portable.Log(float64(s.t)))
}

// Dual is the current dual point (α, β).
func (s *SPADE) Dual() (alpha, beta float64) { return s.alpha, s.beta }

// AverageDual is the average of the dual points that the steps so far used; before the first step
// it is the initial one. With it, sup_w Ψ_A ≤ max_w {ᾱP + β̄N} - Ψ*(ᾱ, β̄): a certificate of how
// far the model is from the best.
func (s *SPADE) AverageDual() (alpha, beta float64) {
	if s.t == 0 {
		return s.alpha, s.beta
	}
	return s.sumA / float64(s.t), s.sumB / float64(s.t)
}
