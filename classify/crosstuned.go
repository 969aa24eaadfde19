package classify

import (
	"context"
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/noregret/noregret/classify/measure"
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
	var on classScores
	for j, p := range parts {
		on.scores, on.truth = append(on.scores, p.scores...), append(on.truth, p.truth...)
		on.weight = append(on.weight, p.weight...)
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
	out.Calibration, err = on.calibrated(opt.Calibration, len(out.Models))
	return out, err
}

// classScores returns the scores of rows, less the thresholds.
func (m *Classifier) classScores(ctx context.Context, d Data) (out classScores, err error) {
	err = d.read(ctx, d.labelled(func(x LabelsExample) error {
		out.add(m.Scores(make([]float64, 0, len(m.Models)), x.Index, x.Value), x.Labels[0], x.Weight)
		return nil
	}))
	return out, err
}
