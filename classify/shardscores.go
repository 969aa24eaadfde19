package classify

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/dataset"
)

// ShardScores are the scores of a merged model on the rows that one shard has held out in all
// passes.
type ShardScores struct {
	// Rule is "platt" or "isotonic", and Tuned says that the algorithm tunes a threshold.
	Rule  string `json:"rule"`
	Tuned bool   `json:"tuned"`
	// Parts are the halves of the rows, divided at random. Of a tuned threshold, each half tells
	// what that of the other one is worth.
	Parts []ScoredPart `json:"parts"`
}

// ScoredPart are the scores of a part of the rows, counted on a grid that is the same everywhere:
// scores rounded to nine binary digits. Those of several shards are added.
type ScoredPart struct {
	// Score ascends; the other lists have a number for each score.
	Score     []float64   `json:"score"`
	Positives ScoreCounts `json:"positives"`
	Negatives ScoreCounts `json:"negatives"`
}

// ScoreCounts are the rows of one class at each score, the sum of their weights and that of the
// squares.
type ScoreCounts struct {
	Rows   []int64   `json:"rows"`
	Weight []float64 `json:"weight"`
	Square []float64 `json:"square"`
}

// gridBits are the bits of a float64 after the first nine of its significand.
const gridBits = 44

// onGrid rounds a score to nine binary digits, halves to the even one.
func onGrid(score float64) float64 {
	b := math.Float64bits(score)
	half := uint64(1)<<(gridBits-1) - 1 + b>>gridBits&1
	v := math.Float64frombits((b + half) >> gridBits << gridBits)
	if math.IsInf(v, 0) || v == 0 { // the largest numbers stay as they are, and -0 is 0
		return score + 0
	}
	return v
}

// gridScores are the counts of each score by class, negatives first.
type gridScores map[float64]*[2]struct {
	rows           int64
	weight, square float64
}

// add counts rows of one class with a score.
func (g gridScores) add(score float64, class int, rows int64, weight, square float64) {
	if g[score] == nil {
		g[score] = &[2]struct {
			rows           int64
			weight, square float64
		}{}
	}
	c := &g[score][class]
	c.rows, c.weight, c.square = c.rows+rows, c.weight+weight, c.square+square
}

// addRow counts a row, whose score need not be on the grid.
func (g gridScores) addRow(x Scored) error {
	if x.Score-x.Score != 0 {
		return noregret.BadInputf("", "the model's score of a row is %v, want a finite number", x.Score)
	}
	class := 0
	if x.Positive {
		class = 1
	}
	g.add(onGrid(x.Score), class, 1, x.Weight, float64(x.Weight*x.Weight))
	return nil
}

// part returns the counts in the order of the scores.
func (g gridScores) part() ScoredPart {
	s := ScoredPart{Score: []float64{}}
	for score := range g {
		s.Score = append(s.Score, score)
	}
	slices.Sort(s.Score)
	for class, counts := range []*ScoreCounts{&s.Negatives, &s.Positives} {
		*counts = ScoreCounts{[]int64{}, []float64{}, []float64{}}
		for _, score := range s.Score {
			c := g[score][class]
			counts.Rows = append(counts.Rows, c.rows)
			counts.Weight, counts.Square = append(counts.Weight, c.weight), append(counts.Square, c.square)
		}
	}
	return s
}

// calibrates reports whether a pass trains nothing, and scores the rows held out by the model that
// it starts from.
func (o *ShardOptions) calibrates() bool { return o.From != nil && o.Fit.Calibration.asked() }

// scored makes the model of a pass that trains nothing.
func (f *shardFit) scored(ctx context.Context, data Data) (*Model, error) {
	t := startTraining(ctx, data, f.opt)
	if err := t.split(); err != nil {
		return nil, err
	}
	if t.valid == nil {
		return nil, noregret.Errorf(noregret.Usage, "calibration", "no rows are held out: train all passes with a "+
			"holdout share, as .1")
	}
	if err := t.count(); err != nil {
		return nil, err
	}
	info := data.Set.Info()
	part := ShardPart{Digest: info.Digest, Share: f.share.Number, Of: max(1, f.share.Of)}
	if !f.from.Shard.Apart || !slices.Contains(f.from.Shard.Parts, part) {
		return nil, noregret.BadInputf("", "the model to start from has not held the same rows out in all passes: "+
			"train every pass on the same shards")
	}
	out := *f.from
	out.Data = ModelData{
		Digest: info.Digest, Rows: info.Rows, NonZeros: info.NonZeros, BadLines: info.BadLines, Train: t.result.Train,
		Holdout: t.result.Holdout,
	}
	state := *f.from.Shard
	state.Parts, state.Merged, state.Level = []ShardPart{part}, false, nil
	state.Pass, state.Start = state.Pass+1, f.start
	out.Shard = &state
	out.Figures = nil
	model := out.Models[0].linear()
	var err error
	if state.Scores, err = t.partScores(&model); err != nil {
		return nil, err
	}
	state.Scores.Rule = calibrationRules[f.rule]
	return &out, out.Validate()
}

// partScores returns the scores that a model gives to the held-out rows.
func (t *training) partScores(m *Linear) (*ShardScores, error) {
	folds, err := t.valid.Set.Folds(t.opt.Seed, "thresholds", heldFolds)
	if err != nil {
		return nil, err
	}
	parts, row := [heldFolds]gridScores{}, int64(0)
	for k := range parts {
		parts[k] = gridScores{}
	}
	err = t.valid.read(t.ctx, t.valid.examples(func(x Example) error {
		k := slices.IndexFunc(folds, func(f dataset.Fold) bool { return f.Rows.Get(row) })
		row++
		return parts[k].addRow(Scored{Score: m.Score(x.Index, x.Value), Weight: x.Weight, Positive: x.Positive})
	}))
	if err != nil {
		return nil, err
	}
	out := &ShardScores{Tuned: t.tuned}
	for _, g := range parts {
		out.Parts = append(out.Parts, g.part())
	}
	return out, nil
}

// decided counts the decisions at a threshold.
func (p *ScoredPart) decided(threshold float64) Outcomes {
	var out Outcomes
	for i, score := range p.Score {
		for class, counts := range []*ScoreCounts{&p.Negatives, &p.Positives} {
			out.add(class == 1, score > threshold, counts.Rows[i], counts.Weight[i], counts.Square[i])
		}
	}
	return out
}

// calibrated is [Merge] for shards that have scored rows by one model: this model with the
// calibration that all scores give, and the threshold if it is tuned. Its value is that of
// decisions on each half of the rows at the threshold of the other one.
func (m *merging) calibrated() (*Model, error) {
	first := m.shards[0]
	rule, tuned := first.Shard.Scores.Rule, first.Shard.Scores.Tuned
	all, parts := gridScores{}, [heldFolds]gridScores{}
	for k := range parts {
		parts[k] = gridScores{}
	}
	for _, s := range m.shards {
		if a, b, err := texts(s.Models, first.Models); err != nil || a != b {
			return nil, cmp.Or(err, error(noregret.BadInputf("", "the shards have scored their rows by different "+
				"models")))
		}
		for k := range s.Shard.Scores.Parts {
			all.addPart(&s.Shard.Scores.Parts[k])
			parts[k].addPart(&s.Shard.Scores.Parts[k])
		}
	}
	out := *first
	out.Data, out.Shard, out.Warnings = m.data(), nil, append(append([]string{}, first.Warnings...), m.missing...)
	whole, negatives := all.part(), m.negativeWeight()
	examples := whole.examples(negatives)
	out.Calibration = calibrationOf(examples, CalibrationRule(slices.Index(calibrationRules, rule)), sourceHeldOut)
	if out.Calibration == nil {
		return nil, noregret.BadInputf("", "a calibration needs held-out rows of both classes")
	}
	out.Calibration[0].Rows, out.Calibration[0].Positives = whole.rows()
	two, err := measure.Parse(first.Measure)
	if err != nil {
		return nil, err
	}
	linear := out.Models[0]
	var held Outcomes
	for k := range parts {
		part, threshold := parts[k].part(), linear.Threshold
		if tuned {
			other := parts[1-k].part()
			threshold, _ = TuneThreshold(other.examples(negatives), two)
		}
		held.plus(part.decided(threshold))
	}
	held.weighNegatives(negatives)
	if tuned {
		linear.Threshold, _ = TuneThreshold(examples, two)
	}
	value := two.Value(held.Counts)
	out.Models, out.Figures = []ModelLinear{linear}, held.figures(two, sourceHeldOut, 1)
	entry := first.Training.History[first.Training.Chosen]
	entry.Candidate = fmt.Sprintf("calibrated on %d shards", len(m.shards))
	entry.Threshold, entry.Holdout = linear.Threshold, finite(&value)
	out.Training.History, out.Training.Chosen = []HistoryEntry{entry}, 0
	return &out, out.Validate()
}

// addPart counts the rows of a part.
func (g gridScores) addPart(p *ScoredPart) {
	for i, score := range p.Score {
		for class, c := range []*ScoreCounts{&p.Negatives, &p.Positives} {
			g.add(score, class, c.Rows[i], c.Weight[i], c.Square[i])
		}
	}
}

// ofOnePass reports whether two shards are of passes of the same kind.
func ofOnePass(a, b *ShardScores) bool {
	return a == nil && b == nil || a != nil && b != nil && a.Rule == b.Rule && a.Tuned == b.Tuned
}

// rows returns how many rows there are, and of the positive class.
func (s *ScoredPart) rows() (all, positives int64) {
	for i := range s.Score {
		all += s.Positives.Rows[i] + s.Negatives.Rows[i]
		positives += s.Positives.Rows[i]
	}
	return all, positives
}

// examples returns the rows again, with the scores of the grid: those of one score and class are
// one example with the effective number of them, (Σw)²/Σw², as copies.
func (s *ScoredPart) examples(negatives float64) []Scored {
	var out []Scored
	for i, score := range s.Score {
		for class, counts := range []*ScoreCounts{&s.Negatives, &s.Positives} {
			w := counts.Weight[i]
			if w == 0 {
				continue
			}
			e := Scored{Score: score, Positive: class == 1, Weight: w, Copies: float32(w / counts.Square[i] * w)}
			if class == 0 {
				e.Weight *= negatives
			}
			out = append(out, e)
		}
	}
	return out
}

// check returns an error for scores that FitShard does not write.
func (s *ShardScores) check() error {
	if s == nil {
		return nil
	}
	if r := CalibrationRule(slices.Index(calibrationRules, s.Rule)); !r.asked() {
		return noregret.BadInputf("shard.scores.rule", "%q, want platt or isotonic", s.Rule)
	}
	if len(s.Parts) != heldFolds {
		return noregret.BadInputf("shard.scores.parts", "there are %d, want %d", len(s.Parts), heldFolds)
	}
	for k := range s.Parts {
		if err := s.Parts[k].check(fmt.Sprintf("shard.scores.parts[%d]", k)); err != nil {
			return err
		}
	}
	return nil
}

// check returns an error for scores that no rows have.
func (s *ScoredPart) check(place string) error {
	n := len(s.Score)
	for i, x := range s.Score {
		if x-x != 0 || i > 0 && x <= s.Score[i-1] {
			return noregret.BadInputf(place+".score", "%v is not finite, or not above the one before it", x)
		}
	}
	for _, c := range []ScoreCounts{s.Positives, s.Negatives} {
		if len(c.Rows) != n || len(c.Weight) != n || len(c.Square) != n {
			return noregret.BadInputf(place, "%d scores, with %d, %d and %d numbers: want as many of each", n,
				len(c.Rows), len(c.Weight), len(c.Square))
		}
		for i, rows := range c.Rows {
			w, q := c.Weight[i], c.Square[i]
			n := float64(w/q) * w
			none := rows == 0 || w == 0
			if rows < 0 || !(w >= 0) || none && (w != 0 || q != 0) ||
				!none && !(n >= 0.999 && n <= 1.001*float64(rows)) {
				return noregret.BadInputf(place,
					"%d rows with the weight %v and the sum of squares %v, which no rows have", rows, w, q)
			}
		}
	}
	return nil
}
