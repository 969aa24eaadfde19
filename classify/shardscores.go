package classify

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/measure"
)

// ShardScores are the scores of a merged model on the rows that one shard has held out in all
// passes, counted on a grid that is the same everywhere: scores rounded to nine binary digits.
// Those of several shards are added.
type ShardScores struct {
	// Rule is "platt" or "isotonic", and Tuned says that the algorithm tunes a threshold.
	Rule  string `json:"rule"`
	Tuned bool   `json:"tuned"`
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

// gridCounts are the counts of one score by class, negatives first.
type gridCounts [2]struct {
	rows           int64
	weight, square float64
}

func newShardScores(rule string, tuned bool, at map[float64]*gridCounts) *ShardScores {
	s := &ShardScores{Rule: rule, Tuned: tuned, Score: []float64{}}
	for score := range at {
		s.Score = append(s.Score, score)
	}
	slices.Sort(s.Score)
	for class, counts := range []*ScoreCounts{&s.Negatives, &s.Positives} {
		*counts = ScoreCounts{[]int64{}, []float64{}, []float64{}}
		for _, score := range s.Score {
			c := at[score][class]
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
	model, at := out.Models[0].linear(), map[float64]*gridCounts{}
	err := t.valid.read(ctx, t.valid.examples(func(x Example) error {
		z := model.Score(x.Index, x.Value)
		if z-z != 0 {
			return noregret.BadInputf("", "the model's score of a row is %v, which has no probability", z)
		}
		z = onGrid(z)
		if at[z] == nil {
			at[z] = new(gridCounts)
		}
		c := &at[z][classOf(x)]
		c.rows, c.weight, c.square = c.rows+1, c.weight+x.Weight, c.square+float64(x.Weight*x.Weight)
		return nil
	}))
	if err != nil {
		return nil, err
	}
	state.Scores = newShardScores(calibrationRules[f.rule], t.tuned, at)
	return &out, out.Validate()
}

// calibrated is [Merge] for shards that have scored rows by one model: this model with the
// calibration that all scores give, and the threshold if it is tuned.
func (m *merging) calibrated() (*Model, error) {
	first := m.shards[0]
	at := map[float64]*gridCounts{}
	for _, s := range m.shards {
		x := s.Shard.Scores
		if a, b, err := texts(s.Models, first.Models); err != nil || a != b {
			return nil, cmp.Or(err, error(noregret.BadInputf("", "the shards have scored their rows by different "+
				"models")))
		}
		for i, score := range x.Score {
			if at[score] == nil {
				at[score] = new(gridCounts)
			}
			for class, counts := range []*ScoreCounts{&x.Negatives, &x.Positives} {
				c := &at[score][class]
				c.rows, c.weight = c.rows+counts.Rows[i], c.weight+counts.Weight[i]
				c.square += counts.Square[i]
			}
		}
	}
	out := *first
	out.Data, out.Shard, out.Warnings = m.data(), nil, append(append([]string{}, first.Warnings...), m.missing...)
	all := newShardScores(first.Shard.Scores.Rule, first.Shard.Scores.Tuned, at)
	examples := all.examples(m.negativeWeight())
	out.Calibration = calibrationOf(examples, CalibrationRule(slices.Index(calibrationRules, all.Rule)), sourceHeldOut)
	if out.Calibration == nil {
		return nil, noregret.BadInputf("", "a calibration needs held-out rows of both classes")
	}
	out.Calibration[0].Rows, out.Calibration[0].Positives = all.rows()
	two, err := measure.Parse(first.Measure)
	if err != nil {
		return nil, err
	}
	linear, value := out.Models[0], math.NaN()
	if all.Tuned {
		linear.Threshold, value = TuneThreshold(examples, two)
	} else {
		var c measure.Confusion
		for _, e := range examples {
			c.Add(e.Positive, e.Score > linear.Threshold, e.Weight)
		}
		value = two.Value(c)
	}
	out.Models = []ModelLinear{linear}
	entry := first.Training.History[first.Training.Chosen]
	entry.Candidate = fmt.Sprintf("calibrated on %d shards", len(m.shards))
	entry.Threshold, entry.Holdout = linear.Threshold, finite(&value)
	out.Training.History, out.Training.Chosen = []HistoryEntry{entry}, 0
	return &out, out.Validate()
}

// ofOnePass reports whether two shards are of passes of the same kind.
func ofOnePass(a, b *ShardScores) bool {
	return a == nil && b == nil || a != nil && b != nil && a.Rule == b.Rule && a.Tuned == b.Tuned
}

// rows returns how many rows there are, and of the positive class.
func (s *ShardScores) rows() (all, positives int64) {
	for i := range s.Score {
		all += s.Positives.Rows[i] + s.Negatives.Rows[i]
		positives += s.Positives.Rows[i]
	}
	return all, positives
}

// examples returns the rows again, with the scores of the grid: those of one score and class are
// one example with the effective number of them, (Σw)²/Σw², as copies.
func (s *ShardScores) examples(negatives float64) []Scored {
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
	n := len(s.Score)
	if r := CalibrationRule(slices.Index(calibrationRules, s.Rule)); !r.asked() {
		return noregret.BadInputf("shard.scores.rule", "%q, want platt or isotonic", s.Rule)
	}
	for i, x := range s.Score {
		if x-x != 0 || i > 0 && x <= s.Score[i-1] {
			return noregret.BadInputf("shard.scores.score", "%v is not finite, or not above the one before it", x)
		}
	}
	for _, c := range []ScoreCounts{s.Positives, s.Negatives} {
		if len(c.Rows) != n || len(c.Weight) != n || len(c.Square) != n {
			return noregret.BadInputf("shard.scores", "%d scores, with %d, %d and %d numbers: want as many of each", n,
				len(c.Rows), len(c.Weight), len(c.Square))
		}
		for i, rows := range c.Rows {
			w, q := c.Weight[i], c.Square[i]
			n := float64(w/q) * w
			none := rows == 0 || w == 0
			if rows < 0 || !(w >= 0) || none && (w != 0 || q != 0) ||
				!none && !(n >= 0.999 && n <= 1.001*float64(rows)) {
				return noregret.BadInputf("shard.scores",
					"%d rows with the weight %v and the sum of squares %v, which no rows have", rows, w, q)
			}
		}
	}
	return nil
}
