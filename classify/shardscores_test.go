package classify

import (
	"bytes"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/internal/testsize"
)

// calibratingShards are the shards of a pass that trains nothing.
func calibratingShards(t *testing.T, d Data, n int, opt Options, from *Model, rule CalibrationRule) []*Model {
	t.Helper()
	opt.Calibration = rule
	return shardModels(t, d, n, opt, from)
}

// A merged model with a calibration has the weights of the merged model; calibration and threshold
// are what all rows that were held out give, scored by this model, but for the grid.
func TestMergeCalibrates(t *testing.T) {
	d := asData(t, stream(73, 6000))
	for _, opt := range []Options{
		{Measure: measure.FBeta{B: 1}, Seed: 2},
		{Measure: measure.GMean{}, Seed: 1, Holdout: new(0.2)},
		{Measure: measure.FBeta{B: 1}, Seed: 3, PriorPositives: 0.02},
	} {
		from := merged(t, shardModels(t, d, 3, opt, nil))
		from = merged(t, shardModels(t, d, 3, opt, from))
		for _, rule := range []CalibrationRule{CalibrationPlatt, CalibrationIsotonic} {
			shards := calibratingShards(t, d, 3, opt, from, rule)
			for _, m := range shards {
				text := written(t, m)
				if got, err := ReadModel(bytes.NewReader(text), "shard"); err != nil || !reflect.DeepEqual(got, m) {
					t.Fatalf("read %+v, %v\nwant %+v", got, err, m)
				}
			}
			m := merged(t, shards)
			want := written(t, m)
			if got := written(t, merged(t, []*Model{shards[2], shards[0], shards[1]})); !bytes.Equal(got, want) {
				t.Error("other bytes for another order")
			}
			if !reflect.DeepEqual(m.Models[0].Weights, from.Models[0].Weights) || m.Shard != nil ||
				m.Data.Rows != 6000 || m.Data.Holdout.Rows != from.Data.Holdout.Rows {
				t.Errorf("%+v, want the weights and the data of the model to start from", m.Data)
			}

			// The rows that the shards hold out, scored without a grid.
			linear := from.Models[0].linear()
			var exact []Scored
			negatives := 1.0
			if p := opt.PriorPositives; p > 0 {
				negatives = (1 - p) / p / (m.Data.Train.Labels[1].Weight / m.Data.Train.Labels[0].Weight)
			}
			for k := range 3 {
				part, err := d.Set.Part(dataset.Share{Number: k, Of: 3})
				if err != nil {
					t.Fatal(err)
				}
				r, err := opt.resolve(Binary)
				if err != nil {
					t.Fatal(err)
				}
				tr := startTraining(t.Context(), d.withSet(part), r)
				if err := tr.split(); err != nil {
					t.Fatal(err)
				}
				s, err := tr.valid.scores(t.Context(), []*Linear{&linear}, nil)
				if err != nil {
					t.Fatal(err)
				}
				exact = append(exact, s[0]...)
			}
			for i := range exact {
				if !exact[i].Positive {
					exact[i].Weight *= negatives
				}
			}
			c, ok := newCalibration(exact, rule, sourceHeldOut)
			if got := m.Calibration[0]; !ok || got.Rows != c.Rows || got.Positives != c.Positives || got.Curve == nil {
				t.Errorf("%d rows, %d positive, want %d and %d", got.Rows, got.Positives, c.Rows, c.Positives)
			}
			off := 0.0
			for _, e := range exact {
				off += math.Abs(m.Calibration[0].Map.Of(e.Score)-c.Map.Of(e.Score)) / float64(len(exact))
			}
			if off > 5e-3 {
				t.Errorf("%s, rule %d: probabilities are off by %v on average", opt.Measure.Name(), rule, off)
			}
			value := func(threshold float64) float64 {
				var c measure.Confusion
				for _, e := range exact {
					c.Add(e.Positive, e.Score > threshold, e.Weight)
				}
				return opt.Measure.(measure.Measure).Value(c)
			}
			best := value(from.Models[0].Threshold)
			if opt.Measure.Name() == "f1" {
				_, best = TuneThreshold(slices.Clone(exact), opt.Measure.(measure.Measure))
			}
			got := value(m.Models[0].Threshold)
			says, tuned := *m.Training.History[0].Holdout, opt.Measure.Name() == "f1"
			if math.Abs(got-says) > 1e-9 && !tuned || tuned && !(says < got && says > got-0.15) || got < best-0.01 {
				t.Errorf("%s: held out %v, and the model says %v; the best is %v", opt.Measure.Name(), got, says, best)
			}
			if f := m.Figures.Of(opt.Measure.Name()); f.Value != says || !(f.Low < says && says < f.High) {
				t.Errorf("%s: the figure is %+v, and the model says %v", opt.Measure.Name(), f, says)
			}
		}
	}
}

// Rows that some pass has trained on are not held out.
func TestMergeCalibrationRefuses(t *testing.T) {
	d := asData(t, stream(74, 3000))
	opt := Options{Measure: measure.FBeta{B: 1}, Seed: 2}
	first := merged(t, shardModels(t, d, 2, opt, nil))
	moved := merged(t, shardModels(t, d, 3, opt, first))
	nothing := Options{Measure: measure.GMean{}}
	bare := merged(t, shardModels(t, d, 2, nothing, nil))
	for _, c := range []struct {
		from *Model
		opt  Options
		of   int
		code noregret.Code
		want string
	}{
		{first, opt, 3, noregret.BadInput, "has not held the same rows out"},
		{moved, opt, 3, noregret.BadInput, "has not held the same rows out"},
		{bare, nothing, 2, noregret.Usage, "no rows are held out"},
		{nil, opt, 2, noregret.Usage, "train and merge first"},
	} {
		share := dataset.Share{Number: 1, Of: c.of}
		part, err := d.Set.Part(share)
		if err != nil {
			t.Fatal(err)
		}
		c.opt.Calibration = CalibrationPlatt
		_, err = FitShard(t.Context(), d.withSet(part), ShardOptions{Fit: c.opt, Share: share, From: c.from})
		if noregret.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	shards := calibratingShards(t, d, 2, opt, first, CalibrationPlatt)
	trained := shardModels(t, d, 2, opt, first)
	others := calibratingShards(t, d, 2, opt, first, CalibrationIsotonic)
	for _, mixed := range [][]*Model{{shards[0], trained[1]}, {trained[0], shards[1]}, {shards[0], others[1]}} {
		if _, err := Merge(mixed, MergeOptions{}); noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("a merge of two kinds of passes: %v", err)
		}
	}
	final := merged(t, shards)
	share := dataset.Share{Number: 1, Of: 2}
	if _, err := FitShard(t.Context(), d, ShardOptions{Fit: opt, Share: share, From: final}); err == nil {
		t.Error("a pass starts from a calibrated model")
	}

	damage := func(change func(s *ShardScores)) {
		t.Helper()
		m := *shards[0]
		state, scores := *m.Shard, *m.Shard.Scores
		scores.Parts = slices.Clone(scores.Parts)
		part := &scores.Parts[0]
		part.Score, part.Positives.Rows = slices.Clone(part.Score), slices.Clone(part.Positives.Rows)
		part.Positives.Weight = slices.Clone(part.Positives.Weight)
		change(&scores)
		state.Scores, m.Shard = &scores, &state
		if err := m.Validate(); noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("damaged scores: %v", err)
		}
	}
	damage(func(s *ShardScores) { s.Rule = "auto" })
	damage(func(s *ShardScores) { s.Parts = s.Parts[1:] })
	damage(func(s *ShardScores) { s.Parts[0].Score[1] = s.Parts[0].Score[0] })
	damage(func(s *ShardScores) { s.Parts[0].Score[0] = math.Inf(-1) })
	damage(func(s *ShardScores) { s.Parts[0].Positives.Weight[0] = 1e9 })
	damage(func(s *ShardScores) { s.Parts[0].Positives.Weight[0] = -1 })
	damage(func(s *ShardScores) { s.Parts[0].Positives.Rows = s.Parts[0].Positives.Rows[1:] })
}

func TestOnGrid(t *testing.T) {
	for in, want := range map[float64]float64{
		0: 0, math.Copysign(0, -1): 0, 1: 1, -1.5: -1.5, 1 + 1.0/512: 1, 1 + 3.0/512: 1 + 2.0/256, 1.999: 2,
		math.MaxFloat64: math.MaxFloat64, 5e-324: 5e-324,
	} {
		if got := onGrid(in); got != want || math.Signbit(got) != math.Signbit(want) {
			t.Errorf("%v is rounded to %v, want %v", in, got, want)
		}
	}
}

// TestMergeIsHonest: on the average of many small sets what a merge says is no more than new rows
// give, after a pass that trains and after one that calibrates, and its interval holds that in most
// cases. The values at thresholds that were tuned on the same rows are too good. Each shard has 400
// rows here, so that its own model is worse than the merged one.
func TestMergeIsHonest(t *testing.T) {
	testsize.NoRace(t)
	const sets, rows = 60, 1200
	f1 := measure.FBeta{B: 1}
	var mean struct{ merged, calibrated, own float64 }
	held, width := 0, 0.0
	for k := range uint64(sets) {
		d, fresh := asData(t, stream(500+k, rows)), asData(t, stream(9000+k, 5000))
		opt := Options{Measure: f1, Seed: k}
		shards := shardModels(t, d, 3, opt, nil)
		m := merged(t, shards)
		value := func(m *Model) float64 {
			e, err := Evaluate(t.Context(), fresh, m.Classifier())
			if err != nil {
				t.Fatal(err)
			}
			return e.Value(f1)
		}
		got, f := value(m), m.Figures.Of("f1")
		mean.merged += (f.Value - got) / sets
		width += (f.High - f.Low) / sets
		if f.Low <= got && got <= f.High {
			held++
		}
		for _, s := range shards {
			mean.own += (*s.Training.History[s.Training.Chosen].Holdout - got) / 3 / sets
		}
		c := merged(t, calibratingShards(t, d, 3, opt, m, CalibrationPlatt))
		mean.calibrated += (c.Figures.Of("f1").Value - value(c)) / sets
		if f.Value != *m.Training.History[0].Holdout || m.Figures.Source != sourceHeldOut || m.Figures.Folds != 3 ||
			m.Figures.Rows != m.Data.Holdout.Rows {
			t.Fatalf("figures of %+v, held out %v", m.Figures, *m.Training.History[0].Holdout)
		}
	}
	const standardError = 0.006
	if mean.merged > standardError || mean.calibrated > standardError || mean.merged < -0.09 {
		t.Errorf("figures less values on new rows: %+.4f, after a calibration %+.4f; want none above 0 by more than %v",
			mean.merged, mean.calibrated, standardError)
	}
	if mean.own < 3*standardError {
		t.Errorf("at their own thresholds the shards' values are only %+.4f too good: this tests nothing", mean.own)
	}
	if held < sets*80/100 || width > 0.25 {
		t.Errorf("%d of %d intervals hold the value, their mean width is %.3f", held, sets, width)
	}
}
