package classify

import (
	"math"
)

// SGDConfig holds the options of [SGD]. The zero value weighs all examples alike; see [Config] for
// the fields shared with others.
type SGDConfig struct {
	Config
	// Balanced weights the classes by 1/p and 1/(1-p).
	Balanced bool
	// Weights are the class weights; nil gives all examples the same weight.
	Weights *ClassWeights
}

// ClassWeights are k₊ and k₋, the finite weights of each positive and each negative example, at
// least one of them above 0 and none below. [SGD] normalises them by √(p·k₊² + (1-p)·k₋²), so that
// the step size need not change with them.
type ClassWeights struct {
	Positive, Negative float64
}

// SGD maximizes a class-weighted mean reward by averaged stochastic gradient ascent,
//
//	w ← w + η_t·k_y·r'(y⟨w, x⟩)·y·x,   η_t = (5/m̄₂)/√t,
//
// (Robbins and Monro 1951, with Polyak–Ruppert averaging): with the hinge reward a linear support
// vector machine, with the logistic reward logistic regression. It is the baseline that SPADE and
// STAMP must beat, and STAMP's model step.
//
// Cost: O(nnz) time per example, O(d) memory, no allocation.
type SGD struct {
	*twoClass
	opt        SGDConfig
	weights    ClassWeights
	eta0       float64
	kPos, kNeg float64
}

// NewSGD returns a learner for the given options. It fails with an error of code usage when one is
// out of its range.
func NewSGD(opt SGDConfig) (*SGD, error) {
	cfg, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	opt.Config = cfg
	weights := ClassWeights{Positive: 1, Negative: 1}
	if opt.Weights != nil {
		weights = *opt.Weights
	}
	if p := paramClassWeight; !p.ok(weights.Positive) || !p.ok(weights.Negative) ||
		math.IsInf(weights.Positive+weights.Negative, 0) || weights == (ClassWeights{}) {
		return nil, usage("class weights are %v and %v, want %s", weights.Positive, weights.Negative, p.want)
	}
	s := &SGD{opt: opt, weights: weights}
	s.twoClass = newTwoClass(cfg, s)
	s.open()
	return s, nil
}

func (s *SGD) begin() {
	s.eta0 = s.stepSize(5)
	s.weigh(s.share, 1-s.share)
}

// weigh sets the class weights for the given class shares.
func (s *SGD) weigh(p, n float64) {
	s.kPos, s.kNeg = s.weights.Positive, s.weights.Negative
	if s.opt.Balanced && p > 0 && n > 0 {
		s.kPos, s.kNeg = s.kPos/p, s.kNeg/n
	}
	s.kPos, s.kNeg = normalizeWeights(s.kPos, s.kNeg, p)
}

// normalizeWeights divides class weights by their root mean square over the stream.
func normalizeWeights(kPos, kNeg, p float64) (float64, float64) {
	sum := kPos + kNeg
	if sum == 0 {
		return 0, 0
	}
	kPos, kNeg = kPos/sum, kNeg/sum
	rms := math.Sqrt(float64(p*kPos*kPos) + float64((1-p)*kNeg*kNeg))
	if rms == 0 {
		return kPos, kNeg
	}
	return kPos / rms, kNeg / rms
}

func (s *SGD) step(x Example) error {
	if s.cfg.Positives == 0 {
		s.weigh(s.shares())
	}
	return s.weightedStep(x, s.eta0, s.kPos, s.kNeg)
}

// weightedStep is one step of class-weighted gradient ascent; it advances t.
func (o *twoClass) weightedStep(x Example, eta0, kPos, kNeg float64) error {
	nextStep(o.online)
	eta := eta0 / stepRoot(o.online)
	d := o.lin.Products(x.Index, x.Value)
	z := o.lin.Score(d)
	if err := o.countPrediction(z, x.Positive, x.Weight); err != nil {
		return err
	}
	m, k := z, kPos
	if !x.Positive {
		m, k = -z, kNeg
	}
	o.accumulateRow()
	factor := o.capped(k * o.relativeWeight(x.Weight))
	_, dr := o.rewards(m)
	return o.ascendRow(x, d, eta, factor*dr)
}
