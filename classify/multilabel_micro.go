package classify

import (
	"math"
	"slices"

	"github.com/noregret/noregret/classify/measure"
)

// MicroSTAMP maximizes a pseudo-linear measure of the counts pooled over L labels, such as
// micro-averaged F_B = (1+B²)ΣTP/((1+B²)ΣTP + B²ΣFN + ΣFP). It is [STAMP] on the (example, label)
// pairs with one shared level v: a model step moves the weights of all labels for one example, with
// weight k₊(v) on the labels it has and k₋(v) on the others (1+B²-v and v for F_B; both normalised
// by their root mean square over the pairs); a level stage pools the labels' counts. p, θ, the
// smallest number of positives of a level stage and the share from which the step sizes are
// computed count pairs; the lengths of stages and t count examples. With one label it is STAMP, bit
// for bit. Make one with [NewMultilabel].
//
// Cost: O(L·nnz) time per example, O(L·d·log T) memory, no allocation within an epoch.
type MicroSTAMP struct {
	*outputs
	core    *STAMP   // level, weights and stage counters; its learner is outputs'
	current []Linear // the models whose level is being measured
	points  []MultilabelCheckpoint
	labels  measure.MultilabelConfusion
}

var _ MultilabelLearner = (*MicroSTAMP)(nil)

// MultilabelCheckpoint is the state of [MicroSTAMP] at the end of an epoch: see [Checkpoint].
type MultilabelCheckpoint struct {
	// Level is v, the level that the epoch's models were trained for, and NextLevel the measure
	// they reached.
	Level, NextLevel float64
	// Stage is the number of examples of each of the epoch's two stages.
	Stage int
	// Counts is the pooled confusion of the level stage.
	Counts measure.Confusion
	// Models holds the average model of each label in the epoch's model stage.
	Models []Linear
}

func newMicroSTAMP(opt MultilabelConfig) (*MicroSTAMP, error) {
	if opt.Shares != nil {
		return nil, usage("shares of %d labels are given for the micro average; give the share of positive pairs, or "+
			"none", len(opt.Shares))
	}
	core, err := NewSTAMP(opt.STAMPConfig)
	if err != nil {
		return nil, err
	}
	s := &MicroSTAMP{core: core, labels: make(measure.MultilabelConfusion, opt.Labels)}
	s.outputs, err = newOutputs(core.opt.Config, s, newLabelChecker(opt.Labels, false))
	if err != nil {
		return nil, err
	}
	core.online = s.online
	core.level = core.opt.WarmStart
	s.open()
	return s, nil
}

func (s *MicroSTAMP) begin() { s.core.begin() }

func (s *MicroSTAMP) learn(x LabelsExample) error {
	s.follow(x.Index, x.Value, x.Weight)
	s.count(x.Labels, x.Weight)
	c := s.core
	if s.cfg.Positives == 0 {
		c.weigh(s.shares())
	}
	if c.levelStage {
		s.measureLevel(x)
		return nil
	}
	if err := s.fail(s.modelStep(x)); err != nil {
		return err
	}
	c.done++
	if c.done >= c.stage {
		s.current = s.models()
		c.levelStage, c.done = true, 0
		c.counts, c.positives, c.negatives = measure.Confusion{}, 0, 0
	}
	return nil
}

// modelStep is twoClass.weightedStep for all labels.
func (s *MicroSTAMP) modelStep(x LabelsExample) error {
	c := s.core
	s.t++
	if err := s.dots(x.Index, x.Value); err != nil {
		return err
	}
	mean := s.cfg.MeanWeight
	if mean == 0 {
		mean = s.rowWeight() / float64(len(s.lins))
	}
	s.accumulate()
	eta := c.eta0 / math.Sqrt(float64(s.t))
	for k := range s.lins {
		has := hasLabel(x.Labels, k)
		s.labels[k].Add(has, s.z[k] > 0, x.Weight)
		m, weight := s.z[k], c.kPos
		if !has {
			m, weight = -m, c.kNeg
		}
		factor := s.capped(weight*(x.Weight/mean)) * s.cfg.Reward.Derivative(m)
		if !has {
			factor = -factor
		}
		s.ascendOutput(k, x, eta, factor)
	}
	return nil
}

// measureLevel counts an example of a level stage and ends the stage when it has seen enough.
func (s *MicroSTAMP) measureLevel(x LabelsExample) {
	c := s.core
	for k := range s.lins {
		has := hasLabel(x.Labels, k)
		c.countLevel(has, s.current[k].Predict(x.Index, x.Value), x.Weight)
	}
	c.done++
	if !c.levelDone() {
		return
	}
	point := MultilabelCheckpoint{Level: c.level, Stage: c.stage, Counts: c.counts, Models: s.current}
	point.NextLevel = c.nextEpoch()
	s.points = append(s.points, point)
	if len(s.points) > maxCheckpoints {
		s.points = append(s.points[:0], s.points[1:]...)
	}
	for k, l := range s.lins {
		if s.cfg.Steps != StepsBetting {
			l.Assign(s.current[k].Weights, s.current[k].Intercept)
		}
		l.ResetAverage()
	}
}

// Checkpoints returns the models of the epochs so far, oldest first, as [STAMP.Checkpoints] does.
func (s *MicroSTAMP) Checkpoints() []MultilabelCheckpoint {
	c, out := s.core, s.points[:len(s.points):len(s.points)]
	last := MultilabelCheckpoint{Level: c.level, NextLevel: math.NaN(), Stage: c.stage, Counts: c.counts}
	switch {
	case c.levelStage:
		last.Models = s.current
	case c.done > 0 && (2*c.done >= c.stage || len(out) == 0):
		last.Models = s.models()
		last.Counts = measure.Confusion{}
	default:
		return out
	}
	return append(out, last)
}

// Level is v, the level that the current model stage trains for.
func (s *MicroSTAMP) Level() float64 { return s.core.level }

// Model implements [MultilabelLearner].
func (s *MicroSTAMP) Model() Classifier {
	points := s.Checkpoints()
	if len(points) == 0 {
		return Classifier{Task: Multilabel, Models: s.models()}
	}
	return Classifier{Task: Multilabel, Models: slices.Clone(points[len(points)-1].Models)}
}

// Scores implements [MultilabelLearner]. O(L·nnz).
func (s *MicroSTAMP) Scores(dst []float64, index []uint32, value []float32) []float64 {
	if s.current == nil {
		return s.scores(dst, index, value)
	}
	for k := range s.current {
		dst = append(dst, s.current[k].Score(index, value))
	}
	return dst
}

// NextPass implements [MultilabelLearner]. Epochs do not depend on passes.
func (s *MicroSTAMP) NextPass() {
	for _, l := range s.lins {
		l.Refresh()
	}
	clear(s.labels)
}

// Progressive implements [MultilabelLearner].
func (s *MicroSTAMP) Progressive() measure.MultilabelConfusion { return slices.Clone(s.labels) }

// Choose implements [MultilabelLearner]: all labels share the checkpoint and the threshold for
// which the measure of the pooled counts is largest. If it is undefined for all of them, the result
// is the last checkpoint with threshold 0 and the value is NaN.
func (s *MicroSTAMP) Choose(valid []LabelsExample) (Classifier, float64, error) {
	if err := checkLabels(valid, newLabelChecker(len(s.lins), false)); err != nil {
		return Classifier{}, 0, err
	}
	out, best := s.Model(), math.NaN()
	scored := make([]Scored, 0, len(valid)*len(s.lins))
	for _, c := range s.Checkpoints() {
		scored = scored[:0]
		for _, x := range valid {
			for k := range c.Models {
				scored = append(scored, Scored{
					Score: c.Models[k].Score(x.Index, x.Value), Weight: x.Weight, Positive: hasLabel(x.Labels, k),
				})
			}
		}
		if th, v := TuneThreshold(scored, s.core.opt.Measure); v > best || (math.IsNaN(best) && !math.IsNaN(v)) {
			best = v
			out.Models = slices.Clone(c.Models)
			for k := range out.Models {
				out.Models[k].Threshold = th
			}
		}
	}
	return out, best, nil
}
