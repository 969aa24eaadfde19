package classify

import (
	"cmp"
	"math"

	"github.com/noregret/noregret/classify/measure"
)

// STAMPConfig holds the options of [STAMP]. Measure is required. The zero value is refused.
type STAMPConfig struct {
	Config
	// Measure is the pseudo-linear measure to maximize.
	Measure measure.Ratio
	// FirstEpoch is s₀, the number of examples of the first stage; max(100, ⌈10/p⌉) if left out.
	FirstEpoch int
	// Growth is the factor ≥ 1 by which the stages grow, by at least one example if it exceeds 1; 2
	// if left out.
	Growth float64
	// MinPositives is the number of positives that a level stage must see before it ends,
	// unless it reaches ten times its length; 5 if left out.
	MinPositives int
	// LevelPositives, when positive, ends a level stage early: once it has seen that many
	// positives, a negative, and an eighth of its examples. A hundred positives estimate a level to
	// a few hundredths; all other examples train the model. 0 gives both stages of an epoch the
	// same length, as the paper does.
	LevelPositives int
	// PriorPositives is the share of positives in the population that θ is taken from, when the
	// stream is a subsample with another share; 0 uses the stream's own.
	PriorPositives float64
	// AllowDegenerate allows measures with a degenerate maximiser as objectives.
	AllowDegenerate bool
	// WarmStart, when positive, is the initial level.
	WarmStart float64
}

// Checkpoint is a model that [STAMP] had at the end of an epoch.
type Checkpoint struct {
	// Level is v, the level that the epoch's model was trained for, and NextLevel the measure it
	// reached.
	Level, NextLevel float64
	// Stage is the number of examples of the epoch's model stage, and that of its level stage
	// unless it was ended early.
	Stage int
	// LevelStage is the number of examples of the level stage so far.
	LevelStage int
	// Counts is the confusion of the level stage.
	Counts measure.Confusion
	// Model is the average model of the epoch's model stage, on raw features.
	Model Linear
}

// STAMP maximizes a pseudo-linear measure by alternating, in epochs of growing length, between a
// model stage, which trains with the class weights k₊ = a₁ - v·b₁ and k₋ = (a₂ - v·b₂)/θ of the
// level v, and a level stage, which sets v to the measure that the stage's average model reaches on
// fresh examples (Narasimhan, Kar and Jain 2015, algorithm 3, in the form that holds for every
// measure of the family and every class ratio). The weights are normalised by their root mean
// square and the steps are η_t = (5/m̄₂)/√t with t counted over all model stages. Levels come from
// 0/1 predictions, gradients from the concave reward: with hinge rewards levels stay far too low.
//
// At extreme imbalance the weighted hinge problem at the right level can collapse to the constant
// classifier, after which the level falls and the model recovers, so the quality of the last model
// is a matter of chance. [STAMP.Checkpoints] therefore keeps the model of each of the O(log T)
// epochs; choose one, with a threshold, on held-out data.
//
// Cost: O(nnz) time per example, O(d log T) memory, no allocation within an epoch. At most the last
// 64 checkpoints are kept, which only matters for growth factors close to 1.
type STAMP struct {
	*twoClass
	opt   STAMPConfig
	eta0  float64
	coef  measure.Coefficients
	level float64

	stage      int  // examples in each stage of this epoch
	done       int  // examples of the stage so far
	levelStage bool // whether this is the level stage
	kPos, kNeg float64
	counts     measure.Confusion
	positives  int
	negatives  int
	current    Linear // the model whose level is being measured
	points     []Checkpoint
}

// NewSTAMP returns a learner for the given options. It fails with an error of code usage when the
// measure is missing or degenerate, or an option is out of its range.
func NewSTAMP(opt STAMPConfig) (*STAMP, error) {
	cfg, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	opt.Config = cfg
	if opt.Measure == nil {
		return nil, usage("STAMP needs a pseudo-linear measure: f1, jaccard, kappa, ...")
	}
	if err := measure.Trainable(opt.Measure); err != nil && !(opt.AllowDegenerate && opt.Measure.Degenerate()) {
		return nil, err
	}
	if opt.Growth == 0 {
		opt.Growth = 2
	}
	if opt.MinPositives == 0 {
		opt.MinPositives = int(paramMinPositives.standard)
	}
	if err := (Options{
		FirstEpoch: opt.FirstEpoch, Growth: opt.Growth, PriorPositives: opt.PriorPositives,
		LevelPositives: &opt.LevelPositives,
	}).EnsureDefaults().checkRanges(); err != nil {
		return nil, err
	}
	if err := cmp.Or(paramMinPositives.check(float64(opt.MinPositives)),
		paramWarmStart.check(opt.WarmStart)); err != nil {
		return nil, err
	}
	s := &STAMP{opt: opt, level: opt.WarmStart}
	s.twoClass = newTwoClass(cfg, s)
	s.open()
	return s, nil
}

func (s *STAMP) begin() {
	s.eta0 = s.stepSize(5)
	s.stage = s.firstStage()
	s.weigh(s.share, 1-s.share)
	s.setLevel(s.level)
}

// firstStage is the number of examples of the first stage.
func (s *STAMP) firstStage() int {
	n := s.opt.FirstEpoch
	if n == 0 {
		n = max(100, int(min(maxStage, math.Ceil(10/s.share))))
	}
	return int(min(s.longestStage(), float64(n)))
}

// longestStage bounds the examples of a stage.
func (s *STAMP) longestStage() float64 {
	if w := s.cfg.Window; w > 0 {
		return float64(w)
	}
	return maxStage
}

// maxStage bounds the examples of a stage, and maxCheckpoints the number of models kept: with a
// growth of 1 their number is unbounded.
const (
	maxStage       = 1 << 30
	maxCheckpoints = 64
)

// weigh sets the coefficients for the population, whose θ is the stream's unless PriorPositives is
// given, and the weights of the level for examples with the stream's class shares.
func (s *STAMP) weigh(p, n float64) {
	if p <= 0 || n <= 0 {
		return // a class is still missing: keep the present coefficients
	}
	theta := n / p
	population := theta
	if prior := s.opt.PriorPositives; prior > 0 {
		population = (1 - prior) / prior
	}
	s.coef = s.opt.Measure.Coefficients(population)
	kPos, kNeg := s.coef.StreamWeights(s.level, theta)
	s.kPos, s.kNeg = normalizeWeights(max(kPos, 0), max(kNeg, 0), p)
}

// setLevel clamps a level to [0, 1] and to where both weights are non-negative, and sets the
// weights for it.
func (s *STAMP) setLevel(v float64) {
	s.level = s.coef.Clamp(v)
	if s.cfg.Positives > 0 || s.rows == 0 {
		s.weigh(s.share, 1-s.share)
	} else {
		s.weigh(s.shares())
	}
}

func (s *STAMP) step(x Example) error {
	if s.cfg.Positives == 0 {
		s.weigh(s.shares())
	}
	if s.levelStage {
		s.measureLevel(x)
		return nil
	}
	if err := s.weightedStep(x, s.eta0, s.kPos, s.kNeg); err != nil {
		return err
	}
	s.done++
	if s.done >= s.stage {
		s.endModelStage()
	}
	return nil
}

func (s *STAMP) endModelStage() {
	s.current = averaged(s.lin)
	s.levelStage, s.done = true, 0
	s.counts, s.positives, s.negatives = measure.Confusion{}, 0, 0
}

func (s *STAMP) measureLevel(x Example) {
	s.countLevel(x.Positive, s.current.Predict(x.Index, x.Value), x.Weight)
	s.done++
	if s.levelDone() {
		s.endLevelStage()
	}
}

// countLevel counts one prediction of a level stage.
func (s *STAMP) countLevel(positive, predicted bool, weight float64) {
	s.counts.Add(positive, predicted, weight)
	if positive {
		s.positives++
	} else {
		s.negatives++
	}
}

// levelDone reports whether the level stage is over: it has its length and enough examples of both
// classes, or ten times its length, or enough positives to end it early.
func (s *STAMP) levelDone() bool {
	if s.done < s.stage {
		early := s.opt.LevelPositives
		return early > 0 && s.positives >= max(early, s.opt.MinPositives) && s.negatives >= 1 &&
			8*int64(s.done) >= int64(s.stage)
	}
	return (s.positives >= s.opt.MinPositives && s.negatives >= 1) || s.done >= 10*s.stage
}

// endLevelStage stores the checkpoint and starts the next epoch from the model just measured.
func (s *STAMP) endLevelStage() {
	c := Checkpoint{Level: s.level, Stage: s.stage, LevelStage: s.done, Counts: s.counts, Model: s.current}
	c.NextLevel = s.nextEpoch()
	s.points = append(s.points, c)
	if len(s.points) > maxCheckpoints {
		s.points = append(s.points[:0], s.points[1:]...)
	}
	if s.cfg.Steps != StepsBetting { // bets go on from where they are
		s.lin.Assign(s.current.Weights, s.current.Intercept)
	}
	s.lin.ResetAverage()
}

// nextEpoch sets the level to the measure reached, if it is defined, lengthens the stage and begins
// the model stage. It returns the level.
func (s *STAMP) nextEpoch() float64 {
	if s.positives > 0 && s.negatives > 0 {
		p, n := s.counts.Rates()
		if v := s.coef.Of(p, n); !math.IsNaN(v) {
			s.setLevel(v)
		}
	}
	s.levelStage, s.done = false, 0
	if s.opt.Growth > 1 {
		s.stage = int(min(s.longestStage(), max(float64(s.stage+1), math.Floor(s.opt.Growth*float64(s.stage)))))
	}
	return s.level
}

// Checkpoints returns the models of the epochs so far, oldest first, together with that of the
// running epoch if its model stage has seen at least half of its examples.
func (s *STAMP) Checkpoints() []Checkpoint {
	out := make([]Checkpoint, 0, len(s.points)+1)
	for _, c := range s.points {
		c.Model = c.Model.clone()
		out = append(out, c)
	}
	last := Checkpoint{Level: s.level, NextLevel: math.NaN(), Stage: s.stage}
	switch {
	case s.levelStage:
		last.Model, last.Counts, last.LevelStage = s.current.clone(), s.counts, s.done
	case s.runningCounts():
		last.Model = s.twoClass.Model()
	default:
		return out
	}
	return append(out, last)
}

// runningCounts reports whether the running stage, if it is a model stage, is long enough for a
// checkpoint.
func (s *STAMP) runningCounts() bool {
	return s.done > 0 && (2*s.done >= s.stage || len(s.points) == 0)
}

// Current is the average model of the running model stage, however short it is; during a level
// stage the model being measured, and before the first example the zero model.
func (s *STAMP) Current() Linear {
	if s.levelStage {
		return s.current.clone()
	}
	return s.twoClass.Model()
}

// Level is v, the level that the current model stage trains for.
func (s *STAMP) Level() float64 { return s.level }

// Model implements [Learner]: the model of the last checkpoint.
func (s *STAMP) Model() Linear {
	if !s.levelStage && (s.runningCounts() || len(s.points) == 0) {
		return s.twoClass.Model()
	}
	return s.current.clone()
}

// Score implements [Learner]: the score of Model, in O(nnz).
func (s *STAMP) Score(index []uint32, value []float32) float64 {
	if !s.levelStage && (s.runningCounts() || len(s.points) == 0) {
		return s.twoClass.Score(index, value)
	}
	return s.current.Score(index, value)
}

// NextPass implements [Learner]. Epochs do not depend on passes.
func (s *STAMP) NextPass() {
	s.lin.Refresh()
	s.progressive = measure.Confusion{}
}
