// Package shards measures what training on several machines costs in quality: models that were
// trained on shards of the rows and merged after every pass, beside one machine that makes as many
// passes over all rows. It prints the table of docs/how-to/several-machines.md.
package shards

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/lab/internal/sets"
	"github.com/noregret/noregret/lab/internal/study"
)

// options say what to measure.
type options struct {
	dir            string
	sets, measures []string
	shards         []int
	seeds, passes  int
}

// Command returns the command "noregret-lab shards".
func Command() *cobra.Command {
	c := &cobra.Command{
		Use:   "shards",
		Short: "Compare training on shards that are merged with training on all rows",
		Long: `Train on 1, 2, 4 and 16 shards of the rows, merge the models after every pass, and print the measure
on held-out rows (30 %) after the first and after the last pass, beside "noregret train" on all
rows, with one pass and with its default. The default sets take some three minutes on one core.`,
		Example: "  noregret-lab shards --data DIR --sets ijcnn1,w8a --measures gmean,f1",
	}
	f, o := c.Flags(), options{}
	f.StringVar(&o.dir, "data", "../../shared/data", "directory of the data sets")
	f.StringSliceVar(&o.sets, "sets", []string{"ijcnn1", "a9a", "w8a", "spambase", "covtype-7"}, "names of the sets")
	f.StringSliceVar(&o.measures, "measures", []string{"gmean", "min", "f1"}, "measures")
	f.IntSliceVar(&o.shards, "shards", []int{1, 2, 4, 16}, "numbers of shards")
	f.IntVar(&o.seeds, "seeds", 3, "seeds of the split and of the order of the rows, at least 2")
	f.IntVar(&o.passes, "passes", 4, "passes, with a merge after each, at least 1")
	return study.New(c, "trainings", o.run)
}

// run measures; there is a table for each measure.
func (o *options) run(ctx context.Context, r *study.Runner) (*study.Report, error) {
	if o.seeds < 2 || o.passes < 1 || slices.ContainsFunc(o.shards, func(n int) bool { return n < 1 }) {
		return nil, noregret.Errorf(noregret.Usage, "", "%d seeds, %d passes, shards %v: want at least 2, 1 and 1",
			o.seeds, o.passes, o.shards)
	}
	names := study.Names(sets.Two, func(b *sets.Set) string { return b.Name })
	if err := study.Known("--sets", o.sets, names); err != nil {
		return nil, err
	}
	var measures []measure.Measure
	for _, name := range o.measures {
		m, err := measure.Parse(name)
		if err != nil {
			return nil, err
		}
		measures = append(measures, m)
	}
	temp, err := os.MkdirTemp("", "shards")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(temp) }() // what is left there is small
	report := &study.Report{Tables: make([]study.Table, len(measures))}
	for k, m := range measures {
		report.Tables[k] = o.table(m)
	}
	r.Expect(len(o.sets) * len(measures) * o.seeds * (2 + len(o.shards)))
	for _, b := range sets.Two {
		if !slices.Contains(o.sets, b.Name) {
			continue
		}
		if path := b.Missing(o.dir); path != "" {
			fmt.Fprintf(r.Notes, "skipped: %s: %s is missing\n", b.Name, path)
			continue
		}
		data, err := b.Load(ctx, o.dir, temp)
		if err != nil {
			return report, err
		}
		for k, m := range measures {
			row, err := o.row(ctx, r, b.Name, data, m)
			if err != nil {
				return report, fmt.Errorf("%s for %s: %w", b.Name, m.Name(), err)
			}
			report.Tables[k].Add(row...)
		}
		if err := data.Set.Close(); err != nil {
			return report, err
		}
	}
	if len(report.Tables[0].Rows) == 0 {
		return nil, study.Missing(o.dir, "data set of this comparison")
	}
	return report, nil
}

// table is the empty table of a measure.
func (o *options) table(m measure.Measure) study.Table {
	t := study.Table{
		Title:   fmt.Sprintf("%s, held out, mean of %d splits", m.Name(), o.seeds),
		Columns: []string{"set", "train", "train, one pass"},
		Notes:   fmt.Sprintf("N shards: after the first pass and after pass %d.\n", o.passes),
	}
	for _, n := range o.shards {
		t.Columns = append(t.Columns, strconv.Itoa(n))
	}
	return t
}

// row is the line of a set in the table of a measure.
func (o *options) row(ctx context.Context, r *study.Runner, set string, data classify.Data, m measure.Measure,
) ([]any, error) {
	values := make([][2][]float64, 2+len(o.shards)) // after the first and the last pass
	for seed := range o.seeds {
		rest, part, err := data.Set.Split(uint64(seed), "test", 0.3, true)
		if err != nil {
			return nil, err
		}
		t := trial{
			train: classify.Data{Set: rest, Positive: data.Positive},
			test:  classify.Data{Set: part, Positive: data.Positive},
			opt: classify.Options{
				Algorithm: classify.DefaultAlgorithm(classify.Binary, m), Measure: m, Seed: uint64(seed),
			},
		}
		for k := range values {
			var got []float64
			switch k {
			case 0:
				got, err = t.whole(ctx, t.opt)
			case 1:
				one := t.opt
				one.Passes, one.Folds = new(1), new(1)
				got, err = t.whole(ctx, one)
			default:
				got, err = t.merged(ctx, o.shards[k-2], o.passes)
			}
			if err != nil {
				return nil, err
			}
			values[k][0] = append(values[k][0], got[0])
			values[k][1] = append(values[k][1], got[len(got)-1])
			r.Step()
		}
	}
	row := []any{set}
	for k, v := range values {
		text := fmt.Sprintf("%.3f", study.MeanOf(v[0]).Mean)
		if k > 1 && o.passes > 1 {
			text += fmt.Sprintf(" %.3f", study.MeanOf(v[1]).Mean)
		}
		row = append(row, text)
	}
	return row, nil
}

// trial is one split of a set.
type trial struct {
	train, test classify.Data
	opt         classify.Options
}

// whole trains on all rows and returns the measure on the held-out ones.
func (t *trial) whole(ctx context.Context, opt classify.Options) ([]float64, error) {
	f, err := classify.Fit(ctx, t.train, opt)
	if err != nil {
		return nil, err
	}
	v, err := t.value(ctx, f.Classifier())
	return []float64{v}, err
}

func (t *trial) value(ctx context.Context, c *classify.Classifier) (float64, error) {
	counts, err := classify.Evaluate(ctx, t.test, c)
	if err != nil {
		return 0, err
	}
	return counts.Value(t.opt.Measure), nil
}

// merged trains on n shards, merges them after each pass, and returns the measure after each.
func (t *trial) merged(ctx context.Context, n, passes int) (values []float64, err error) {
	var from *classify.Model
	for range passes {
		var models []*classify.Model
		for k := range n {
			share := dataset.Share{Number: k + 1, Of: n}
			part, err := t.train.Set.Part(share)
			if err != nil {
				return nil, err
			}
			m, err := classify.FitShard(ctx, classify.Data{Set: part, Positive: t.train.Positive},
				classify.ShardOptions{Fit: t.opt, Share: share, From: from})
			if err != nil {
				return nil, fmt.Errorf("shard %v: %w", share, err)
			}
			models = append(models, m)
		}
		if from, err = classify.Merge(models, classify.MergeOptions{}); err != nil {
			return nil, err
		}
		v, err := t.value(ctx, from.Classifier())
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, nil
}
