// Package obd estimates policies on the Open Bandit data (Saito, Aihara, Matsutani and Narita
// 2021): clicks on items of two campaigns, chosen by the uniform policy in one log and by Thompson
// sampling in another. The value of each policy is estimated from the other's log and compared with
// its clicks in its own, and the rows are drawn again many times to see how often the intervals
// contain that. lab/docs/bandits.md has the table.
package obd

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret/bandit/offpolicy"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/lab/internal/study"
)

// Command returns the command "noregret-lab obd".
func Command() *cobra.Command {
	c := &cobra.Command{
		Use:   "obd",
		Short: "Estimate two policies on the Open Bandit data, each from the other's log",
		Long: `Estimate the value of the uniform policy from Thompson sampling's log of the Open Bandit data, and
the other way round, by every estimator, and compare with the policy's own clicks. The rows are drawn
again many times to see how often the intervals contain that.`,
		Example: "  noregret-lab obd --data DIR --plot obd.svg",
	}
	f, o := c.Flags(), options{}
	f.StringVar(&o.data, "data", "../../shared/data/obd", "directory of the data")
	f.IntVar(&o.resamples, "resamples", 200, "how often the rows are drawn again")
	f.StringVar(&o.plot, "plot", "", "write a picture of the estimates to this .svg file")
	return study.New(c, "policies", o.run)
}

// options say what to estimate.
type options struct {
	data      string
	resamples int
	plot      string
}

// alpha is one minus the confidence of the intervals.
const alpha = 0.05

// normal95 is the quantile of the normal distribution for intervals of 95 %.
const normal95 = 1.959963984540054

// run makes the tables, and the picture if one is asked for.
func (o *options) run(ctx context.Context, r *study.Runner) (*study.Report, error) {
	var all []*trial
	for _, campaign := range []string{"men", "women"} {
		uniform, err := readLog(o.data, "random-"+campaign)
		if err != nil {
			return nil, err
		}
		thompson, err := readLog(o.data, "bts-"+campaign)
		if err != nil {
			return nil, err
		}
		all = append(all, uniformFrom(campaign, thompson, uniform), thompsonFrom(campaign, uniform, thompson))
	}
	_, err := study.Runs(ctx, r, len(all), func(i int) (struct{}, error) {
		if err := all[i].estimate(ctx, o.resamples); err != nil {
			return struct{}{}, fmt.Errorf("%s: %w", all[i].name, err)
		}
		return struct{}{}, nil
	})
	if err != nil {
		return nil, err
	}
	report := tables(all, o.resamples)
	if o.plot == "" {
		return report, nil
	}
	if err := os.MkdirAll(filepath.Dir(o.plot), 0o755); err != nil {
		return report, err
	}
	return report, plotTrials(o.plot, all)
}

// trial is a policy that is estimated from a log of another.
type trial struct {
	name    string
	options offpolicy.EvaluatorOptions
	log     []entry
	target  func(e *entry) []float64
	// truth is the policy's mean reward in its own log, and truthError its standard error.
	truth, truthError float64

	weights   offpolicy.Weights
	estimates []offpolicy.Estimate
	// covered counts the resamples in which the intervals contain the truth: value ± 1.96 standard
	// errors, at one look, at any time.
	covered map[offpolicy.Method][3]int
}

// uniformFrom estimates the uniform policy from Thompson sampling's log.
func uniformFrom(campaign string, thompson, uniform []entry) *trial {
	d := arms(thompson, uniform)
	flat := make([]float64, d)
	for a := range flat {
		flat[a] = 1 / float64(d)
	}
	t := &trial{
		name: campaign + ": uniform from Thompson's log", options: offpolicy.DefaultEvaluatorOptions(d), log: thompson,
		target: func(*entry) []float64 { return flat },
	}
	t.measureTruth(uniform)
	return t
}

// thompsonFrom estimates Thompson sampling from the uniform policy's log. Thompson sampling's
// probabilities are known for the chosen items only, so its shares of items by position stand for
// them.
func thompsonFrom(campaign string, uniform, thompson []entry) *trial {
	d := arms(thompson, uniform)
	shares := map[int][]float64{}
	rows := map[int]float64{}
	for _, e := range thompson {
		if shares[e.position] == nil {
			shares[e.position] = make([]float64, d)
		}
		shares[e.position][e.row.Arm]++
		rows[e.position]++
	}
	for position, p := range shares {
		for a := range p {
			p[a] /= rows[position]
		}
	}
	t := &trial{
		name: campaign + ": Thompson from the uniform log", options: offpolicy.DefaultEvaluatorOptions(d), log: uniform,
		target: func(e *entry) []float64 { return shares[e.position] },
	}
	t.options.MaxWeight = float64(d)
	t.measureTruth(thompson)
	return t
}

// measureTruth takes the mean reward of the policy's own rows.
func (t *trial) measureTruth(own []entry) {
	n := float64(len(own))
	for _, e := range own {
		t.truth += e.row.Reward / n
	}
	t.truthError = math.Sqrt(t.truth * (1 - t.truth) / n)
}

// estimate computes the estimates, and the coverage over resamples.
func (t *trial) estimate(ctx context.Context, resamples int) error {
	e, err := t.evaluate(func(i int) int { return i })
	if err != nil {
		return err
	}
	t.weights = e.Weights()
	for _, m := range offpolicy.Methods() {
		v, err := e.Estimate(m, alpha)
		if err != nil {
			return err
		}
		t.estimates = append(t.estimates, v)
	}
	t.covered = map[offpolicy.Method][3]int{}
	src := random.New(1, "obd resamples "+t.name)
	for range resamples {
		if err := ctx.Err(); err != nil {
			return err
		}
		again, err := t.evaluate(func(int) int { return int(src.Uint64() % uint64(len(t.log))) })
		if err != nil {
			return err
		}
		for _, m := range offpolicy.Methods() {
			v, err := again.Estimate(m, alpha)
			if err != nil {
				return err
			}
			c := t.covered[m]
			for k, in := range []bool{
				math.Abs(v.Value-t.truth) <= normal95*v.StandardError, v.OneLook.Contains(t.truth),
				v.Sequence.Contains(t.truth),
			} {
				if in {
					c[k]++
				}
			}
			t.covered[m] = c
		}
	}
	return nil
}

// evaluate adds as many rows as the log has, those that pick chooses.
func (t *trial) evaluate(pick func(i int) int) (*offpolicy.Evaluator, error) {
	t.options.Rows = int64(len(t.log))
	e, err := offpolicy.NewEvaluator(t.options)
	if err != nil {
		return nil, err
	}
	for i := range t.log {
		row := &t.log[pick(i)]
		if err := e.Add(&row.row, t.target(row), nil); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// tables has a table for each trial, in clicks per thousand.
func tables(all []*trial, resamples int) *study.Report {
	mille := func(v float64) study.Cell { return study.Number("%.2f", 1000*v) }
	span := func(v offpolicy.Interval) string { return fmt.Sprintf("[%.2f, %.2f]", 1000*v.Low, 1000*v.High) }
	share := func(n int) study.Cell {
		return study.Number("%.1f", 100*float64(n)/float64(max(resamples, 1)))
	}
	out := &study.Report{
		Notes: fmt.Sprintf("Clicks per thousand; intervals with confidence 95 %%; %d resamples.\n", resamples),
	}
	for _, t := range all {
		table := study.Table{Title: t.name, Columns: []string{
			"estimator", "value", "error", "one look", "any time", "normal covers, %", "one look covers, %",
			"any time covers, %",
		}}
		for _, v := range t.estimates {
			c := t.covered[v.Method]
			table.Add(v.Method, mille(v.Value), mille(v.StandardError), span(v.OneLook), span(v.Sequence), share(c[0]),
				share(c[1]), share(c[2]))
		}
		table.Notes = fmt.Sprintf("Own log: %.2f ± %.2f. Effective rows %.0f of %d, mean weight %.3f, largest %.1f.\n",
			1000*t.truth, 1000*t.truthError, t.weights.Effective, t.weights.Rows, t.weights.Mean, t.weights.Largest)
		out.Tables = append(out.Tables, table)
	}
	return out
}
