package service

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/internal/legible"
)

// reportOptions are the flags of "noregret experiment report".
type reportOptions struct {
	*remote
	command.Output
}

// newReportCommand makes "noregret experiment report".
func newReportCommand(a *command.App, r *remote) *cobra.Command {
	return command.New(a, &cobra.Command{
		Use:   "report NAME",
		Short: "Show how an experiment stands",
		Long: `Show the current state of an experiment. It begins with one sentence: what is gained, whether
each guardrail is shown to hold, and what to do next. Then follow the mixture, the arms' means with
confidence sequences (95 %, valid at all times), the guardrails, the regret against the best
single arm, health and the last events. The report also compares the arms and the mixtures (served
now, to be deployed, served so far) with the control arm: their lift, with a verdict in words.`,
		Example: `  noregret experiment report ranking
  noregret experiment report ranking --json`,
		Args: oneName,
	}, &reportOptions{remote: r})
}

// AddFlags implements [command.Options].
func (o *reportOptions) AddFlags(f *pflag.FlagSet) {
	f.BoolVar(&o.JSON, "json", o.JSON, "print JSON, as the API answers it")
}

// Run implements [command.Options].
func (o *reportOptions) Run(ctx context.Context, a *command.App, args []string) error {
	c, err := o.client()
	if err != nil {
		return err
	}
	report, err := c.Report(ctx, args[0])
	if err != nil {
		return err
	}
	if o.JSON {
		return show.JSON(a.Stdout, report)
	}
	return writeReport(a.Stdout, report)
}

// writeReport prints a report as text.
func writeReport(w io.Writer, r *api.Report) error {
	_, err := fmt.Fprintf(w, "%s is %s, version %d, round %d\n\n", legible.Text(r.Name), r.State, r.Version, r.Round)
	if err == nil && r.Headline != nil {
		_, err = fmt.Fprintf(w, "%s\n\n", legible.Text(r.Headline.Text))
	}
	if err != nil {
		return err
	}
	var metrics []string
	t := show.Table{}
	for i, name := range slices.Sorted(maps.Keys(r.Arms)) {
		arm := r.Arms[name]
		if i == 0 {
			metrics = slices.Sorted(maps.Keys(arm.Metrics))
			t.Add(append([]string{"arm", "share", "units"}, metrics...)...)
		}
		share, listed := r.Mixture[name]
		if !listed {
			continue // retired
		}
		row := []string{name, show.Number(share).String(), strconv.FormatInt(arm.N, 10)}
		for _, m := range metrics {
			row = append(row, interval(arm.Metrics[m].Mean, arm.Metrics[m].Low, arm.Metrics[m].High))
		}
		t.Add(row...)
	}
	if err := t.Write(w); err != nil {
		return err
	}
	if err := writeLift(w, &r.Lift); err != nil {
		return err
	}
	var lines []string
	if q := r.Ramp; q != nil {
		lines = append(lines, fmt.Sprintf("ramp: stage %d of %d, %s of the traffic", q.Stage, q.Stages,
			show.Number(q.Share)))
		for _, text := range q.Waits {
			lines = append(lines, "ramp waits for "+text)
		}
	}
	if q := r.Conclusion; q != nil {
		lines = append(lines, fmt.Sprintf("concluded %s with the mixture %s, value %s", q.Time.Format(time.RFC3339),
			q.Source, show.NumberOf(q.Value)))
	}
	for _, q := range r.Guardrails {
		lines = append(lines, fmt.Sprintf("guardrail %s, %s %v: %s, %s, on breach %s", q.Metric, q.Kind, q.Limit,
			q.State.Verdict(), interval(q.Estimate, q.Low, q.High), q.Action))
	}
	if q := r.Promise; q != nil {
		lines = append(lines, "guardrails: "+q.Text)
	}
	lines = append(lines, privacyLines(r.Privacy)...)
	if q := r.Regret; q != nil && q.BestSingle.Value != nil {
		lines = append(lines, fmt.Sprintf("best single arm %s %s, mixture %s, regret a unit %s over %d units",
			q.BestSingle.Arm,
			show.NumberOf(q.BestSingle.Value), show.NumberOf(q.Mixture), show.NumberOf(q.PerUnit), q.Units))
	}
	if q := r.Uniform; q != nil && q.Covered > 0 {
		for _, g := range q.Goals {
			lines = append(lines, fmt.Sprintf("%s against the uniform policy: served %s, uniform %s, gain %s over %d "+
				"units, mean weight %s (1 if all is right)",
				g.Metric, show.NumberOf(g.Served.Estimate), show.NumberOf(g.Uniform.Estimate),
				interval(g.Gain.Estimate, g.Gain.Low, g.Gain.High), q.Covered, show.NumberOf(g.MeanWeight)))
		}
	}
	f := r.Feedback
	lines = append(lines, fmt.Sprintf("feedback: %d accepted, %d duplicate, %d late, %d rejected; %d units wait",
		f.Accepted, f.Duplicate, f.Late, f.Rejected, r.Health.Open))
	if n := r.Health.Replaced; n > 0 {
		lines = append(lines, fmt.Sprintf("%d units without a reward: the policy learned a mean in its place", n))
	}
	for _, p := range r.Health.Problems {
		lines = append(lines, "problem: "+p)
	}
	for _, n := range r.Notes[max(0, len(r.Notes)-5):] {
		lines = append(lines, n.Time.Format(time.RFC3339)+" "+n.Text)
	}
	_, err = fmt.Fprintf(w, "\n%s\n", strings.Join(show.LegibleAll(lines), "\n"))
	return err
}

// privacyLines says what a private experiment has spent and released, nothing for another one.
func privacyLines(q *api.PrivacyReport) (lines []string) {
	if q == nil {
		return nil
	}
	lines = append(lines, fmt.Sprintf("privacy: epsilon %s spent of %s, delta %s; %d of %d releases, %d waiting; "+
		"%d decisions of a unit count, %d exposures beyond", show.Short(q.Spent), show.Short(q.Epsilon),
		show.Short(q.Delta),
		q.Released, q.Rounds, q.Waiting, q.UnitContribution, q.Excess))
	if q.Unknown != "" {
		lines = append(lines, "privacy: "+q.Unknown)
	}
	return lines
}

// writeLift prints the comparisons of the arms and the mixtures with the control arm.
func writeLift(w io.Writer, l *api.Lift) error {
	if len(l.Quantities) == 0 {
		_, err := fmt.Fprintf(w, "\nno lift: %s\n", legible.Text(l.Reason))
		return err
	}
	_, err := fmt.Fprintf(w, "\nlift against %s, intervals at all times together with probability %s\n\n",
		legible.Text(l.Control), show.Number(1-l.Alpha))
	if err != nil {
		return err
	}
	t := show.Table{Left: map[int]bool{1: true, 4: true}}
	t.Add("quantity", "compared", "lift", "in per cent", "verdict")
	for i := range l.Quantities {
		q := &l.Quantities[i]
		name := strings.TrimSpace(q.Kind + " " + q.Metric + " " + q.Guardrail)
		if q.Limit != nil {
			name += fmt.Sprintf(" %v", *q.Limit)
		}
		add := func(compared string, c *api.Comparison) {
			relative := api.Interval{
				Estimate: hundred(c.Relative.Estimate), Low: hundred(c.Relative.Low), High: hundred(c.Relative.High),
			}
			percent := "-" // of too few data it says nothing
			if c.Verdict != api.TooFew {
				percent = interval(relative.Estimate, relative.Low, relative.High)
			}
			t.Add(name, compared, interval(c.Estimate, c.Low, c.High), percent, string(c.Verdict))
		}
		add("served now", &q.Served)
		if q.Deployed != nil {
			add("would be deployed", q.Deployed)
		}
		add("served so far", &q.SoFar)
		for _, arm := range slices.Sorted(maps.Keys(q.Arms)) {
			c := q.Arms[arm]
			add(arm, &c)
		}
	}
	return t.Write(w)
}

func hundred(v *float64) *float64 {
	if v == nil {
		return nil
	}
	p := 100 * *v
	return &p
}

// interval writes a mean with its confidence sequence.
func interval(mean, low, high *float64) string {
	if mean == nil {
		return "-"
	}
	return fmt.Sprintf("%s [%s, %s]", show.NumberOf(mean), show.NumberOf(low), show.NumberOf(high))
}
