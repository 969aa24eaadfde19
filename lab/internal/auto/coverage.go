package auto

import (
	"context"
	"fmt"
	"math"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/lab/internal/sets"
	"github.com/noregret/noregret/lab/internal/study"
)

// covered is how the figures of one training compare with the values on the rows that it lacks.
type covered struct {
	holds map[string]bool    // whether the interval of a measure holds the value
	above map[string]float64 // the figure less the value
	width map[string]float64 // of the interval
}

// coverages compares the intervals of the figures on each set.
func (o *options) coverages(ctx context.Context, r *study.Runner, chosen []sets.Set, temp string) (*study.Report,
	error,
) {
	t := study.Table{
		Title:   "intervals of 95 %",
		Columns: []string{"set", "algorithm", "trained for", "figure", "holds the value", "figure less value", "width"},
	}
	for _, b := range chosen {
		err := with(ctx, b, o.dir, temp, func(data classify.Data) error {
			measures, err := o.measuresOf(data.Task)
			if err != nil {
				return err
			}
			for _, m := range measures {
				for _, algorithm := range o.covered() {
					if err := o.coverage(ctx, r, b.Name, data, algorithm, m, &t); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err != nil {
			return &study.Report{Tables: []study.Table{t}}, err
		}
	}
	return &study.Report{Tables: []study.Table{t}}, nil
}

// coverage trains on o.rows rows of the set, o.splits times, and compares the intervals of the
// figures with the values on all other rows.
func (o *options) coverage(ctx context.Context, r *study.Runner, set string, data classify.Data,
	algorithm string, objective measure.Objective, t *study.Table,
) error {
	results := make([]covered, o.splits)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for k := range results {
		group.Go(func() (err error) {
			results[k], err = o.coverOnce(ctx, data, uint64(k+1), classify.Options{
				Algorithm: algorithm, Measure: objective, Seed: uint64(k + 1),
			})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	r.Step()
	for _, m := range o.figures(data.Task) {
		var holds, above, width []float64
		for _, x := range results {
			if h, ok := x.holds[m]; ok {
				holds = append(holds, map[bool]float64{true: 1}[h])
				above, width = append(above, x.above[m]), append(width, x.width[m])
			}
		}
		if len(holds) == 0 {
			continue
		}
		t.Add(set, algorithm, objective.Name(), m, study.Number("%.1f %%", 100*study.MeanOf(holds).Mean),
			study.Number("%+.4f", study.MeanOf(above).Mean), study.Number("%.4f", study.MeanOf(width).Mean))
	}
	return nil
}

// figures are the measures whose figures are compared.
func (o *options) figures(task classify.Task) []string {
	if task == classify.Binary {
		return []string{"f1", "gmean", "qmean", "min", "precision", "tpr", "tnr", "accuracy"}
	}
	return []string{"macro_f1", "macro_recall", "accuracy"}
}

// coverOnce trains once.
func (o *options) coverOnce(ctx context.Context, data classify.Data, seed uint64, opt classify.Options,
) (covered, error) {
	out := covered{holds: map[string]bool{}, above: map[string]float64{}, width: map[string]float64{}}
	rest, part, err := data.Set.Split(seed, "coverage", float64(o.rows)/float64(data.Set.Info().Rows), false)
	if err != nil {
		return out, err
	}
	train, err := data.Of(part)
	if err != nil {
		return out, err
	}
	fresh, err := data.Of(rest)
	if err != nil {
		return out, err
	}
	r, err := classify.Fit(ctx, train, opt)
	if err != nil {
		return out, err
	}
	if err = r.CrossFigures(ctx, train, opt); err != nil {
		return out, err
	}
	counts, err := classify.Evaluate(ctx, fresh, r.Classifier())
	if err != nil {
		return out, err
	}
	for _, name := range o.figures(data.Task) {
		var m measure.Objective
		if m, err = data.Task.Measure(name); err != nil {
			return out, fmt.Errorf("%s: %w", name, err)
		}
		if f, v := r.Figures.Of(name), counts.Value(m); f != nil && !math.IsNaN(v) {
			out.holds[name] = f.Low <= v && v <= f.High
			out.above[name], out.width[name] = f.Value-v, f.High-f.Low
		}
	}
	return out, nil
}
