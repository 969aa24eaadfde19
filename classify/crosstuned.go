package classify

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/internal/compensated"
	"github.com/noregret/noregret/internal/portable"
)

// tuningFolds is the number of folds on whose scores thresholds of several classes are tuned.
const tuningFolds = 3

// crossTunes reports whether the thresholds of several classes are tuned on cross-fitted scores:
// where no option says what to hold out, and only the thresholds are chosen. Large data have a
// held-out part instead.
func (r *resolved) crossTunes(data Data) bool {
	info := data.Set.Info()
	return data.Task == Multiclass && r.tunes && !r.alg.selects && !r.TuneSteps && r.Holdout == nil &&
		r.Valid == nil && info.Rows >= tuningFolds && info.Rows <= mostFoldsRows && info.Dim <= mostFoldsFeatures
}

// crossTuned trains on all rows, and tunes the thresholds of the classes on the scores that models
// of the other folds give to each fold.
func crossTuned(ctx context.Context, data Data, opt resolved) (*Result, error) {
	one := opt
	one.tunes, one.judges, one.Progress = false, false, nil
	folds, err := data.Set.Folds(opt.Seed, "thresholds", tuningFolds)
	if err != nil {
		return nil, err
	}
	parts, runs := make([]classScores, len(folds)), make([]*training, len(folds))
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for j, f := range folds {
		group.Go(func() (err error) {
			if runs[j], err = runTraining(within, data.withSet(f.Rest), one); err == nil {
				parts[j], err = runs[j].finished(1).Classifier().classScores(within, data.withSet(f.Part))
			}
			if err != nil {
				return fmt.Errorf("thresholds, fold %d of %d: %w", j+1, len(folds), err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	one.Progress = opt.Progress
	t, err := runTraining(ctx, data, one)
	if err != nil {
		return nil, err
	}
	out := t.finished(1)
	on := joined(parts)
	for j := range parts {
		out.Passes, out.Steps = out.Passes+runs[j].result.Passes, out.Steps+runs[j].steps
	}
	m := opt.Measure.(measure.Multi)
	thresholds := jointThresholds(m, &on, len(out.Models))
	for k, v := range thresholds {
		out.Models[k].Threshold = v
	}
	value := on.counts(m, thresholds).value()
	chosen := &out.History[out.Chosen]
	chosen.Candidate += ", tuned"
	chosen.Holdout, out.Folds = &value, len(folds)
	out.Calibration = on.calibrated(opt.Calibration, sourceCrossFitted)
	return out, nil
}

// classScores returns the scores of rows, less the thresholds.
func (m *Classifier) classScores(ctx context.Context, d Data) (out classScores, err error) {
	err = d.read(ctx, d.labelled(func(x LabelsExample) error {
		out.add(m.Scores(nil, x.Index, x.Value), x.Labels[0], x.Weight)
		return nil
	}))
	return out, err
}

// rawScores is classScores of models without their thresholds.
func rawScores(ctx context.Context, models []Linear, d Data) (classScores, error) {
	m := Classifier{Task: Multiclass, Models: slices.Clone(models)}
	for k := range m.Models {
		m.Models[k].Threshold = 0
	}
	return m.classScores(ctx, d)
}

// joined are the entries of all parts.
func joined(parts []classScores) (out classScores) {
	for _, p := range parts {
		out.scores, out.truth = append(out.scores, p.scores...), append(out.truth, p.truth...)
		out.weight = append(out.weight, p.weight...)
	}
	return out
}

// calibrated returns the calibration of each class against the others, by scores or by their odds,
// whichever has the smaller log loss on the entries; nil if there are none.
func (c *classScores) calibrated(rule CalibrationRule, source string) []Calibration {
	if rule == CalibrationNone || len(c.scores) == 0 {
		return nil
	}
	best := c.calibratedBy(rule, source, false)
	if odds := c.calibratedBy(rule, source, true); odds != nil && c.logLoss(odds) < c.logLoss(best) {
		return odds
	}
	return best
}

// calibratedBy is calibrated by one of the two.
func (c *classScores) calibratedBy(rule CalibrationRule, source string, odds bool) []Calibration {
	scores := c.scores
	if odds {
		scores = make([][]float64, len(c.scores))
		for i, z := range c.scores {
			scores[i] = slices.Clone(z)
			logOdds(scores[i])
		}
	}
	var out []Calibration
	examples := make([]Scored, len(scores))
	for k := range scores[0] {
		for i, z := range scores {
			examples[i] = Scored{Score: z[k], Weight: c.weight[i], Positive: c.truth[i] == k}
		}
		one, ok := newCalibration(slices.Clone(examples), rule, source)
		if !ok {
			return nil
		}
		one.Odds = odds
		out = append(out, one)
	}
	return out
}

// logLoss is that of the entries by the given calibrations, infinite for none.
func (c *classScores) logLoss(by []Calibration) float64 {
	if by == nil {
		return math.Inf(1)
	}
	m := Model{Task: Multiclass, Calibration: by}
	var loss compensated.Sum
	var p []float64
	for i, z := range c.scores {
		p = m.Probabilities(p[:0], z)
		loss.Add(float64(-c.weight[i] * portable.Log(p[c.truth[i]])))
	}
	return loss.Value()
}
