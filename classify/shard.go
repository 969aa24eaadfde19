package classify

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/forget"
	"github.com/noregret/noregret/oco"
)

// ModelShard is the state by which training goes on from a model on several machines: that of the
// model of one shard, which [Merge] reads, or of a merged model, from which [FitShard] starts the
// next pass.
type ModelShard struct {
	// Parts are the rows that were learned from: one part of a shard's model, those of all shards,
	// in a fixed order, of a merged one.
	Parts []ShardPart `json:"parts"`
	// Merged says that this is the state of a merged model, not of one shard.
	Merged bool `json:"merged"`
	// Pass is the number of the pass, from 1, and Start the checksum of the model that the pass
	// started from, "" in the first.
	Pass  int    `json:"pass"`
	Start string `json:"start"`
	// Steps is the number of steps so far: those of one shard, or the mean of all.
	Steps float64 `json:"steps"`
	// Squares are the sums of squared gradients of adaptive steps, on raw features, and
	// BiasSquares that of the intercept.
	Squares     SparseVector `json:"squares"`
	BiasSquares float64      `json:"bias_squares"`
	// Dual is the average dual point (α, β) of SPADE's pass, or in a merged model the point that
	// the next pass starts from; null for other algorithms.
	Dual *DualPoint `json:"dual"`
	// Level is that of STAMP in a merged model; null elsewhere.
	Level *float64 `json:"level"`
	// MeanSquare is the mean of ‖x̂‖² of the rows and MeanWeight their mean weight, of all shards
	// in a merged model.
	MeanSquare float64 `json:"mean_square"`
	MeanWeight float64 `json:"mean_weight"`
	// Moments are those of the features; null in a merged model and from the second pass on, where
	// the scaling of the model is that of all shards.
	Moments *ShardMoments `json:"moments"`
	// Apart says that the rows that are held out were so in all passes: each was on the same
	// shards.
	Apart bool `json:"apart"`
	// Scores are those of a pass that trains nothing; null elsewhere.
	Scores *ShardScores `json:"scores"`
	// Counts are the predictions for the rows that were trained on, by the shard's own model, and
	// Rewards the weighted sums of their rewards, by which the dual is solved. A merged model has
	// the sums over all shards.
	Counts  measure.Confusion `json:"counts"`
	Rewards ShardRewards      `json:"rewards"`
	// Held are the decisions on the rows that were held out, by the shard's own model. If it tunes
	// its threshold on them, each half is decided at the threshold of the other one. A merged model
	// has the sums; they are null without any.
	Held *Outcomes `json:"held"`
}

// ShardPart names the rows of a shard: a share of the rows of an input.
type ShardPart struct {
	Digest string `json:"digest"` // of the whole input
	Share  int    `json:"share"`  // the rows whose number, from 1, is Share modulo Of
	Of     int    `json:"of"`
}

// share returns the share of the input.
func (p ShardPart) share() dataset.Share { return dataset.Share{Number: p.Share, Of: p.Of} }

// DualPoint is a point of the dual region of a concave measure.
type DualPoint struct {
	Alpha float64 `json:"alpha"`
	Beta  float64 `json:"beta"`
}

// ShardMoments are the moments of the features over the rows in which they are not zero: the sum of
// the rows' weights, the weighted mean and the weighted sum of squared deviations.
type ShardMoments struct {
	Total  float64   `json:"total"` // the weight of all rows
	Rows   int64     `json:"rows"`
	Index  []uint32  `json:"index"`
	Weight []float64 `json:"weight"`
	Mean   []float64 `json:"mean"`
	M2     []float64 `json:"m2"`
}

// ShardRewards are the weighted sums of the rewards of the two classes.
type ShardRewards struct {
	Positives float64 `json:"positives"`
	Negatives float64 `json:"negatives"`
}

// ShardOptions are the options of [FitShard]. The zero value is refused: Fit.Measure is required.
type ShardOptions struct {
	// Fit holds the options of the training. The algorithm must be an online learner of two
	// classes: spade, stamp or one of sgd-*; the default is that of the measure. Passes counts
	// those over the shard before its model is merged; nil is 1. Folds, TuneSteps, Drift, Valid and
	// StepsBetting are refused. Calibration as platt or isotonic, with From, makes a pass that
	// trains nothing: the rows that the shard has held out are scored by From, and Merge fits the
	// calibration to the scores of all shards, and tunes the threshold on them if the algorithm
	// tunes one. All passes must have held the same rows out.
	Fit Options
	// Share says which rows of its input the data are ([dataset.Options.Share]).
	Share dataset.Share
	// From is the merged model that the pass starts from; nil in the first pass. It must have been
	// trained with the same options.
	From *Model
}

// FitShard makes one pass over one of several shards of the data and returns a model whose Shard
// has what [Merge] needs to join it with those of the other shards. This is iterative parameter
// mixing (McDonald, Hall and Mann 2010; Zinkevich et al. 2010): every machine trains on its own
// rows, from a common start, and the models are averaged after each pass. In the first pass the
// rows are standardised by the shard's own statistics, later by those of all shards.
//
// The shard needs rows of both classes. Errors, cost and memory are those of [Fit]; the model file
// has four more numbers a feature. The result depends on the shard, the options and From alone.
func FitShard(ctx context.Context, data Data, opt ShardOptions) (*Model, error) {
	f, err := newShardFit(data, opt)
	if err != nil {
		return nil, err
	}
	if opt.calibrates() {
		return f.scored(ctx, data)
	}
	t := startTraining(ctx, data, f.opt)
	t.alg = f.algorithm()
	if err := t.split(); err != nil {
		return nil, err
	}
	if err := t.count(); err != nil {
		return nil, err
	}
	if err := f.prepare(t); err != nil {
		return nil, err
	}
	t.passes = max(1, openNumber(f.opt.Passes))
	t.onlyLast = true // the held-out rows choose a threshold, no model
	if err := t.run(); err != nil {
		return nil, err
	}
	r := t.finished(1)
	r.Passes += f.passesBefore()
	m, err := NewModel(r, f.opt.Options, data)
	if err != nil {
		return nil, err
	}
	if m.Shard, err = f.state(t, &r.Models[0]); err != nil {
		return nil, err
	}
	if t.valid != nil {
		if m.Shard.Held, err = t.heldOutcomes(&r.Models[0]); err != nil {
			return nil, err
		}
		if m.Shard.Apart { // no pass has learned from these rows
			held := *m.Shard.Held
			held.weighNegatives(t.negatives)
			m.Figures = held.figures(f.opt.Measure, sourceHeldOut, 1)
		}
	}
	return m, m.Validate()
}

// shardFit is one run of [FitShard].
type shardFit struct {
	opt     resolved
	share   dataset.Share
	from    *Model // nil in the first pass
	start   string // its checksum
	learner *twoClass
	spade   *SPADE   // the learner, if it is one
	moments *moments // of the first pass
	config  Config   // of the learner
	rule    CalibrationRule
}

func newShardFit(data Data, opt ShardOptions) (*shardFit, error) {
	o := opt.Fit
	if data.Task != Binary {
		return nil, usage("shards are for two classes, the data are %s", data.Task)
	}
	if o.Algorithm == "" || o.Algorithm == "auto" {
		if err := checkObjective(Binary, o.Measure); err != nil {
			return nil, err
		}
		o.Algorithm = DefaultAlgorithm(Binary, o.Measure)
	}
	if err := o.ClassWeights.refuse("a shard does not carry class weights to its merge"); err != nil {
		return nil, err
	}
	rule := o.Calibration
	if opt.calibrates() {
		o.Calibration = opt.From.Options.Calibration
	}
	r, err := o.resolve(Binary)
	if err != nil {
		return nil, err
	}
	switch {
	case r.alg.learner == nil:
		return nil, noregret.Errorf(noregret.Usage, "algorithm", "%s has no state that can be merged; use %s",
			r.alg.Name, streamLearners())
	case openNumber(o.Folds) > 1 || o.TuneSteps || o.Valid != nil:
		return nil, usage("folds, the choice of a step scale and separate held-out data have no meaning for a shard")
	case r.learner.Steps == StepsBetting:
		return nil, usage("bets cannot be averaged: coin betting trains on one machine only")
	case o.Calibration.asked():
		return nil, noregret.Errorf(noregret.Usage, "calibration", "needs scores of the merged model: train and merge "+
			"first, then start from the result with this calibration, which trains nothing")
	case o.Drift.Kind != forget.None:
		return nil, usage("a shard is shuffled: drift has no meaning")
	}
	f := &shardFit{opt: r, share: opt.Share, from: opt.From, rule: rule}
	if f.from == nil {
		return f, nil
	}
	if f.from.Shard == nil && f.from.calibratedOnShards() {
		return nil, noregret.BadInputf("", "the model to start from is merged and calibrated, which is final: another "+
			"pass starts from the merge before its calibration")
	}
	if f.from.Shard == nil || !f.from.Shard.Merged {
		return nil, noregret.BadInputf("", "the model to start from was not merged from shards")
	}
	if err := f.from.Validate(); err != nil {
		return nil, err
	}
	if err := f.sameTraining(data); err != nil {
		return nil, err
	}
	f.start, err = f.from.Checksum()
	return f, err
}

// calibratedOnShards reports whether [Merge] made the model of shards of a calibrating pass.
func (m *Model) calibratedOnShards() bool {
	return slices.ContainsFunc(m.Training.History, func(e HistoryEntry) bool {
		return strings.HasPrefix(e.Candidate, "calibrated on ")
	})
}

// sameTraining returns an error unless the model to start from has the measure, algorithm, options,
// positive label and feature space of this training.
func (f *shardFit) sameTraining(data Data) error {
	opt := f.opt.Options
	opt.Config.Steps = f.opt.learner.Steps
	kept, err := newModelOptions(opt)
	if err != nil {
		return err
	}
	now := &Model{
		Measure: f.opt.Measure.Name(), Algorithm: f.opt.alg.Name, Options: kept, Labels: data.names(),
		Schema: data.Set.Info().Schema,
	}
	if a, b := f.from.Schema, now.Schema; a.Dim != b.Dim || !slices.Equal(a.Features, b.Features) {
		return noregret.BadInputf("", "the data have %d features that are not the %d of the model to start from: read "+
			"them by its schema", b.Dim, a.Dim)
	}
	return sameTraining(f.from, now, "the model to start from", "this training")
}

// algorithm returns the algorithm with a learner that starts from the merged state, and one step
// scale.
func (f *shardFit) algorithm() *Algorithm {
	a := *f.opt.alg
	a.adaptive.scales = nil
	a.learner = func(r *resolved, cfg Config) (Learner, error) {
		l, err := f.opt.alg.learner(r, cfg)
		if err != nil {
			return nil, err
		}
		f.config = cfg
		switch l := l.(type) {
		case *SPADE:
			f.learner, f.spade = l.twoClass, l
		case *STAMP:
			f.learner = l.twoClass
		case *SGD:
			f.learner = l.twoClass
		}
		return l, f.startFrom(l)
	}
	return &a
}

// prepare computes the statistics of the training part, or takes those of all shards.
func (f *shardFit) prepare(t *training) error {
	dim := t.train.Set.Info().Dim
	if f.from == nil {
		var err error
		if f.moments, err = t.train.moments(t.ctx); err != nil {
			return err
		}
		if err := t.config.complete(f.moments, dim, t.opt.Unscaled); err != nil {
			return err
		}
		t.config.Positives = t.classes.Share()
	} else {
		all := f.from.Data.Train.Labels
		t.config.Dim = max(f.from.Dim(), 1)
		t.config.Scaling = f.from.scaling()
		t.config.MeanSquare, t.config.MeanWeight = f.from.Shard.MeanSquare, f.from.Shard.MeanWeight
		t.config.Positives = all[0].Weight / (all[0].Weight + all[1].Weight)
	}
	t.result.Scaling = t.config.Scaling
	return nil
}

func (f *shardFit) passesBefore() int {
	if f.from == nil {
		return 0
	}
	return f.from.Training.Passes
}

// firstLevel is STAMP's level in the first pass. A pass over a shard is one model stage, for a
// level that is the same for all shards, so that they have one objective; Merge is the level stage.
const firstLevel = 0.5

// startFrom gives a new learner the weights, the step counter and the dual of the merged model.
func (f *shardFit) startFrom(l Learner) error {
	if l, ok := l.(*STAMP); ok {
		level := firstLevel
		if f.from != nil {
			level = *f.from.Shard.Level
		}
		l.stage = maxStage
		l.setLevel(level)
	}
	if f.from == nil {
		return nil
	}
	s, o := f.from.Shard, f.learner.online
	model := f.from.Models[0].linear()
	o.lin.Assign(model.Weights, model.Intercept)
	o.lin.ResetAverage()
	o.t = int64(s.Steps)
	if o.cfg.Steps == StepsAdaptive {
		state := o.lin.State()
		state.Squares = make([]float64, len(state.V))
		for j, i := range s.Squares.Index {
			inverse, _ := o.lin.Standard(int(i))
			state.Squares[i] = s.Squares.Value[j] * inverse * inverse
		}
		state.BiasSquares = s.BiasSquares
		lin, err := oco.RestoreLinearDescent(state)
		if err != nil {
			return err
		}
		o.lin, o.lins[0] = lin, lin
	}
	if l, ok := l.(*SPADE); ok {
		l.alpha, l.beta = s.Dual.Alpha, s.Dual.Beta
	}
	return nil
}

// state returns the state of the shard after the pass.
func (f *shardFit) state(t *training, m *Linear) (*ModelShard, error) {
	o := f.learner.online
	s := &ModelShard{
		Parts: []ShardPart{{Digest: t.data.Set.Info().Digest, Share: f.share.Number, Of: max(1, f.share.Of)}},
		Pass:  1, Start: f.start, Steps: float64(o.t), MeanSquare: f.config.MeanSquare, MeanWeight: f.config.MeanWeight,
		Moments: f.moments.shard(), Squares: SparseVector{Index: []uint32{}, Value: []float64{}},
	}
	before := 0.0
	s.Apart = f.from == nil || f.from.Shard.Apart && slices.Contains(f.from.Shard.Parts, s.Parts[0])
	if f.from != nil {
		s.Pass, before = f.from.Shard.Pass+1, float64(int64(f.from.Shard.Steps))
	}
	lin := o.lin.State()
	for i, q := range lin.Squares {
		if q > 0 {
			s.Squares.Index = append(s.Squares.Index, uint32(i))
			s.Squares.Value = append(s.Squares.Value, q/(lin.Inv[i]*lin.Inv[i]))
		}
	}
	s.BiasSquares = lin.BiasSquares
	reward := func(margin float64) float64 { return f.config.Reward.Value(margin) }
	if p := f.spade; p != nil {
		steps := s.Steps - before
		s.Dual = &DualPoint{Alpha: p.sumA / steps, Beta: p.sumB / steps}
		reward = func(margin float64) float64 { return p.opt.DualReward.of(margin, p.opt.Reward.Value(margin)) }
	}
	err := t.train.read(t.ctx, t.train.examples(func(x Example) error {
		z := m.Score(x.Index, x.Value)
		s.Counts.Add(x.Positive, z > m.Threshold, x.Weight)
		if x.Positive {
			s.Rewards.Positives += float64(x.Weight * reward(z))
		} else {
			s.Rewards.Negatives += float64(x.Weight * reward(-z))
		}
		return nil
	}))
	return s, err
}

// heldOutcomes counts the decisions of a model on the held-out rows, of each half at the threshold
// of the other.
func (t *training) heldOutcomes(m *Linear) (*Outcomes, error) {
	scores, err := t.valid.scores(t.ctx, []*Linear{m}, nil)
	if err != nil {
		return nil, err
	}
	folds, err := t.valid.Set.Folds(t.opt.Seed, "thresholds", heldFolds)
	if err != nil {
		return nil, err
	}
	out := new(Outcomes)
	for _, fold := range folds {
		var others []Scored
		for row, x := range scores[0] {
			if !fold.Rows.Get(int64(row)) {
				others = append(others, x)
			}
		}
		var e HistoryEntry
		t.holdoutValue(&e, others)
		for row, x := range scores[0] {
			if fold.Rows.Get(int64(row)) {
				out.add(x.Positive, x.Score > e.Threshold, 1, x.Weight, float64(x.Weight*x.Weight))
			}
		}
	}
	return out, nil
}

// heldFolds is the number of parts of held-out rows, of which each has the threshold of the others.
// Two is the fewest: the values are then rather too low, as a model merged of many shards with few
// rows is not as good as it seems by them.
const heldFolds = 2

// shard returns the moments of the features that occur, nil of nil.
func (m *moments) shard() *ShardMoments {
	if m == nil {
		return nil
	}
	s := &ShardMoments{
		Total: m.total, Rows: m.rows, Index: []uint32{}, Weight: []float64{}, Mean: []float64{}, M2: []float64{},
	}
	for i, f := range m.f {
		if f.weight > 0 {
			s.Index = append(s.Index, uint32(i))
			s.Weight = append(s.Weight, f.weight)
			s.Mean = append(s.Mean, f.mean)
			s.M2 = append(s.M2, f.m2)
		}
	}
	return s
}

// add adds the moments of other rows, whose feature i is feature place(i) here (Chan, Golub and
// LeVeque 1983).
func (m *moments) add(s *ShardMoments, place func(uint32) uint32) {
	m.total += s.Total
	m.rows += s.Rows
	for j, i := range s.Index {
		i = place(i)
		for len(m.f) <= int(i) {
			m.f = append(m.f, featureMoments{})
		}
		f, w := &m.f[i], s.Weight[j]
		d, total := s.Mean[j]-f.mean, f.weight+w
		f.m2 += s.M2[j] + float64(d*d*f.weight*w)/total
		f.mean += float64(d*w) / total
		f.weight = total
	}
}

// scaling returns the scaling of a model in full.
func (m *Model) scaling() *Scaling {
	s := Identity(m.Dim())
	if m.Scaling != nil {
		for j, i := range m.Scaling.Index {
			s.Center[i], s.Inverse[i] = m.Scaling.Center[j], m.Scaling.Inverse[j]
		}
	}
	return s
}

// check returns an error for a state that FitShard and Merge do not write.
func (s *ModelShard) check(m *Model) error {
	if s == nil {
		return nil
	}
	if m.Task != Binary || m.Privacy != nil {
		return noregret.BadInputf("shard", "only models of two classes, and none that is private, have shards")
	}
	if len(s.Parts) == 0 || s.Pass < 1 || (s.Start == "") != (s.Pass == 1) || s.Start != "" && !isDigest(s.Start) {
		return noregret.BadInputf("shard", "%d parts, pass %d, start %q: want at least 1 of each, and a checksum from "+
			"the second pass on", len(s.Parts), s.Pass, s.Start)
	}
	for _, p := range s.Parts {
		if _, err := dataset.ParseShare(p.share().String()); err != nil || p.Of < 1 || !isDigest(p.Digest) {
			return noregret.BadInputf("shard.parts", "share %d of %d of %q, which does not exist", p.Share, p.Of,
				p.Digest)
		}
	}
	if s.Scores != nil && (s.Merged || s.Pass == 1) {
		return noregret.BadInputf("shard.scores", "only a shard that started from a merged model has scores")
	}
	if err := s.Scores.check(); err != nil {
		return err
	}
	spade, stamp := m.Algorithm == "spade", m.Algorithm == "stamp" && s.Merged
	if (s.Dual != nil) != spade || (s.Level != nil) != stamp {
		return noregret.BadInputf("shard", "dual %v and level %v of %s, merged %t: want a dual for spade, and a level "+
			"for a merged model of stamp", s.Dual, s.Level, m.Algorithm, s.Merged)
	}
	numbers := []float64{
		s.Steps, s.BiasSquares, s.MeanSquare, s.MeanWeight, s.Counts.TP, s.Counts.FP, s.Counts.FN, s.Counts.TN,
	}
	if h := s.Held; h != nil {
		c := h.Counts
		numbers = append(numbers, c.TP, c.FP, c.FN, c.TN, float64(h.Rows), h.Positives, h.Negatives)
	}
	if s.Dual != nil {
		numbers = append(numbers, s.Dual.Alpha, s.Dual.Beta)
	}
	if s.Level != nil {
		numbers = append(numbers, *s.Level)
	}
	if err := checkIndex("shard.squares", m.Schema.Dim, s.Squares.Index, s.Squares.Value); err != nil {
		return err
	}
	numbers = append(numbers, s.Squares.Value...)
	if x := s.Moments; x != nil {
		if err := checkIndex("shard.moments", m.Schema.Dim, x.Index, x.Weight, x.Mean, x.M2); err != nil {
			return err
		}
		numbers = append(append(append(numbers, x.Total, float64(x.Rows)), x.Weight...), x.M2...)
		if !allFinite(x.Mean...) {
			return noregret.BadInputf("shard.moments.mean", "a mean is not finite")
		}
	}
	for _, v := range numbers {
		if !(v >= 0) || math.IsInf(v, 1) {
			return noregret.BadInputf("shard", "a number is %v, want finite numbers at least 0", v)
		}
	}
	if !allFinite(s.Rewards.Positives, s.Rewards.Negatives) {
		return noregret.BadInputf("shard.rewards", "%v, want finite numbers", s.Rewards)
	}
	return nil
}
