package classify

import (
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/internal/portable"
)

// MulticlassConfig holds the options of [MulticlassSPADE]. Classes and Measure are required. The
// zero value is refused.
type MulticlassConfig struct {
	// Config holds the options shared with the two-class learners. Its Positives must be 0: see
	// Shares. Radius bounds each class's weights by themselves.
	Config
	// Classes is C ≥ 2.
	Classes int
	// Measure is the concave measure of the class recalls to maximize.
	Measure measure.MulticlassConcave
	// Shares holds the known shares p_k of the classes, each in (0, 1), of sum 1; nil estimates
	// them on the stream, the current example counted first.
	Shares []float64
	// DualScale > 0 multiplies the default dual step η'₀; 1 if left out. Use FixedDual to keep the
	// dual constant.
	DualScale float64
	// DualStep, if positive, replaces η'₀.
	DualStep float64
	// FixedDual keeps the dual at (1/C, ..., 1/C): class-balanced SGD.
	FixedDual bool
	// DualReward selects the reward that updates the dual. DualDefault is DualClipped where the
	// dual region reaches beyond the norm 2 (G-mean, and H-mean of more than two classes), else
	// DualSurrogate: negative rewards of rare classes would drive an unbounded dual, and with it
	// the primal steps, to the limit.
	DualReward DualReward
	// EpsExponent is the exponent a in (0, 1) of the offset ε(t) = t^(-a) that G-mean's rewards
	// get; ½ if left out.
	EpsExponent float64
}

// MulticlassSPADE maximizes a concave measure of the recalls of C classes by stochastic primal-dual
// steps: the extension of [SPADE] to single-label problems with decisions argmax_k ⟨w_k, x⟩, where
// ties go to the lowest class. The two-class algorithm is that of Narasimhan, Kar and Jain (2015);
// the extension is this project's. With j = argmax over j ≠ k of z_j (lowest on ties), m = z_k -
// z_j and q = p_k, an example (x, k) makes the steps
//
//	w_k ← w_k + η_t·α_k·(r'(m)/q)·x,   w_j ← w_j - η_t·α_k·(r'(m)/q)·x
//	α   ← Π_A(α + η'_t·∇Ψ*(α) - η'_t·(r(m)/q)·e_k)
//
// with η_t = η₀/√t and η'_t = η'₀/√t; all use the values before the step. For the rewards of
// package loss that bound 1{m > 0} from below, the mean reward of a class bounds its recall from
// below.
//
// Default steps. With S² = Σ_k 1/p_k the gradient at α = 1/C has mean square 2m̄₂S²/C², and a
// comparator whose C classes have norms like those of two has one of order √C. In the form of
// SPADE's defaults,
//
//	η₀ = (5/m̄₂)·√(C/8)·C/S,   η'₀ = 1/S.
//
// For C = 2 the η'₀ is SPADE's √(p(1-p)) and the η₀ half of SPADE's, which is the same path: both
// classes move, so that w₁ = -w₀ and z₁ - z₀ is the score of SPADE with twice the step, half the λ
// and twice the radius.
//
// Cost: O(C·nnz) time per example, O(C·d + C²) memory, no allocation in steady state. A
// MulticlassSPADE is deterministic and not safe for concurrent use.
type MulticlassSPADE struct {
	*outputs
	opt         MulticlassConfig
	eta0, dual0 float64
	unbounded   bool
	gradient    float64 // each coordinate of ∇Ψ*

	alpha, step, sum []float64 // dual, scratch, sum of duals used
	weights          []float64 // of each class so far
	progressive      measure.MulticlassConfusion
}

// NewMulticlassSPADE returns a learner for the given options. It fails with an error of code usage
// when the measure is missing or an option is out of its range.
func NewMulticlassSPADE(opt MulticlassConfig) (*MulticlassSPADE, error) {
	opt, err := opt.check()
	if err != nil {
		return nil, err
	}
	progressive, err := measure.NewMulticlassConfusion(opt.Classes)
	if err != nil {
		return nil, err
	}
	n := opt.Classes
	s := &MulticlassSPADE{
		opt: opt, gradient: opt.Measure.ConjugateGradient(),
		unbounded: math.IsInf(opt.Measure.DualRadius(n), 1),
		alpha:     make([]float64, n), step: make([]float64, n), sum: make([]float64, n),
		weights: make([]float64, n), progressive: progressive,
	}
	if s.outputs, err = newOutputs(opt.Config, s, newLabelChecker(n, true)); err != nil {
		return nil, err
	}
	s.unsettled = opt.Shares == nil // the step sizes need the shares, known or from the burn-in
	if opt.DualReward == DualDefault {
		s.opt.DualReward = DualSurrogate
		if opt.Measure.DualRadius(n) > 2 {
			s.opt.DualReward = DualClipped
		}
	}
	opt.Measure.InitialDual(s.alpha)
	s.open()
	return s, nil
}

// check checks the options and fills in the defaults.
func (opt MulticlassConfig) check() (MulticlassConfig, error) {
	cfg, err := opt.withDefaults()
	if err != nil {
		return opt, err
	}
	opt.Config = cfg
	if err := checkDual(&opt.DualScale, opt.DualStep, &opt.EpsExponent, opt.DualReward); err != nil {
		return opt, err
	}
	if err := paramClasses.check(float64(opt.Classes)); err != nil {
		return opt, err
	}
	switch {
	case opt.Measure == nil:
		return opt, usage("multi-class SPADE needs a concave measure of the class recalls: min, hmean, qmean, gmean " +
			"or macro_recall")
	case opt.Positives != 0:
		return opt, usage("share of positives is %v, but there are classes: give their shares, or none", opt.Positives)
	case opt.Shares != nil && len(opt.Shares) != opt.Classes:
		return opt, usage("there are %d shares, want one for each of the %d classes", len(opt.Shares), opt.Classes)
	}
	total := 0.0
	for k, p := range opt.Shares {
		if err := paramShare.checkAs(fmt.Sprintf("share of class %d", k), p); err != nil {
			return opt, err
		}
		total += p
	}
	if opt.Shares != nil && !(math.Abs(total-1) <= 1e-6) {
		return opt, usage("the shares of the classes add up to %v, want 1", total)
	}
	opt.Shares = slices.Clone(opt.Shares)
	return opt, nil
}

// begin freezes the step sizes and forgets the weights of the burn-in, which is replayed.
func (s *MulticlassSPADE) begin() {
	c := float64(s.opt.Classes)
	var inverse, all float64
	for _, w := range s.weights {
		all += w
	}
	for k, w := range s.weights {
		p := (w + 0.5) / (all + float64(c/2))
		if s.opt.Shares != nil {
			p = s.opt.Shares[k]
		}
		inverse += 1 / p
	}
	root := math.Sqrt(inverse)
	s.eta0 = s.stepSize(5 * math.Sqrt(c/8) * c / root)
	s.dual0 = s.opt.DualStep
	if s.dual0 == 0 {
		s.dual0 = s.opt.DualScale / root
	}
	clear(s.weights)
}

func (s *MulticlassSPADE) count(labels []int, weight float64) {
	s.weights[labels[0]] += weight
	s.pos += weight // of all classes
	s.rows++
	s.observed++
}

func (s *MulticlassSPADE) learn(x LabelsExample) error {
	s.follow(x.Index, x.Value, x.Weight)
	s.count(x.Labels, x.Weight)
	return s.fail(s.update(x))
}

// update is the step on one example that is counted.
func (s *MulticlassSPADE) update(x LabelsExample) error {
	s.t++
	if err := s.dots(x.Index, x.Value); err != nil {
		return err
	}
	k := x.Labels[0]
	j := rival(s.z, k)
	s.progressive.Add(k, argmax(s.z), x.Weight)
	m := s.z[k] - s.z[j]
	q, relative := s.share(k, x.Weight)
	r, dr := s.opt.Reward.Value(m), s.opt.Reward.Derivative(m)
	s.accumulate()
	for i, a := range s.alpha {
		s.sum[i] += a
	}
	root := math.Sqrt(float64(s.t))
	eta := s.eta0 / root
	factor := s.alpha[k] * relative * dr / q
	for i := range s.lins {
		switch i {
		case k:
			s.ascendOutput(i, x, eta, factor)
		case j:
			s.ascendOutput(i, x, eta, -factor)
		default:
			s.ascendOutput(i, x, eta, 0)
		}
	}
	if !s.opt.FixedDual {
		s.descend(s.dual0/root, relative*s.opt.DualReward.of(m, r)/q, k)
	}
	return nil
}

// argmax returns the index of the largest score, the lowest on ties.
func argmax(z []float64) int {
	best := 0
	for k, v := range z {
		if v > z[best] {
			best = k
		}
	}
	return best
}

// rival returns the index of the largest score other than that of k, the lowest on ties.
func rival(z []float64, k int) int {
	best := 0
	if k == 0 {
		best = 1
	}
	for j, v := range z {
		if j != k && v > z[best] {
			best = j
		}
	}
	return best
}

// share is q, the share of class k, known or running, and the relative weight ω/ω̄ of an example.
func (s *MulticlassSPADE) share(k int, weight float64) (q, relative float64) {
	q = s.weights[k] / s.pos
	if s.opt.Shares != nil {
		q = s.opt.Shares[k]
	}
	mean := s.opt.MeanWeight
	if mean == 0 {
		mean = s.pos / s.rows
	}
	relative = weight / mean
	if c := s.opt.MaxExampleWeight; c > 0 {
		relative = min(relative, float64(c*q))
	}
	return q, relative
}

// descend is the dual step of size eta for the weighted reward of one example of class k.
func (s *MulticlassSPADE) descend(eta, reward float64, k int) {
	shift, limit := s.gradient, math.Inf(1)
	if s.unbounded {
		eps := 1 / math.Sqrt(float64(s.t))
		if s.opt.EpsExponent != 0.5 {
			eps = portable.Exp(-s.opt.EpsExponent * portable.Log(float64(s.t)))
		}
		shift -= eps
		// The largest derivative of Πu^(1/C) on [ε, 1+ε]^C: at C = 2 it is ½√((1+ε)/ε).
		c := float64(s.opt.Classes)
		limit = portable.Exp((1-1/c)*portable.Log((1+eps)/eps)) / c
	}
	for i, a := range s.alpha {
		s.step[i] = a + float64(eta*shift)
	}
	s.step[k] -= float64(eta * reward)
	s.opt.Measure.Project(s.alpha, s.step, limit)
}

// NextPass tells the learner that a pass over the data has ended.
func (s *MulticlassSPADE) NextPass() {
	s.online.NextPass()
	s.progressive.Reset()
}

// Scores appends the C scores of a row under the averaged models to dst. Features never seen count
// as absent. O(C·nnz).
func (s *MulticlassSPADE) Scores(dst []float64, index []uint32, value []float32) []float64 {
	return s.scores(dst, index, value)
}

// Predict is the class of the largest score under the averaged models, the lowest on ties.
// O(C·nnz).
func (s *MulticlassSPADE) Predict(index []uint32, value []float32) int {
	s.z = s.scores(s.z[:0], index, value)
	return argmax(s.z)
}

// Model is the averaged model on raw features. O(C·d).
func (s *MulticlassSPADE) Model() Classifier {
	return Classifier{Task: Multiclass, Models: s.models()}
}

// Progressive is a copy of the confusion of the predictions made before each step of the running
// pass.
func (s *MulticlassSPADE) Progressive() measure.MulticlassConfusion { return s.progressive.Clone() }

// Seen appends the weight of the examples of each class learned from to dst. A model is of little
// use if the stream lacked a class: check for zeros.
func (s *MulticlassSPADE) Seen(dst []float64) []float64 { return append(dst, s.weights...) }

// Dual appends the current dual point α to dst.
func (s *MulticlassSPADE) Dual(dst []float64) []float64 { return append(dst, s.alpha...) }

// AverageDual appends the average of the dual points that the steps so far used to dst; before the
// first step it is the initial one.
func (s *MulticlassSPADE) AverageDual(dst []float64) []float64 {
	if s.t == 0 {
		return append(dst, s.alpha...)
	}
	for _, a := range s.sum {
		dst = append(dst, a/float64(s.t))
	}
	return dst
}
