package policy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/experiment/plan"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/show"
)

// planOptions are the flags of "noregret plan".
type planOptions struct {
	days float64 // those in which the gain is to be served, 0 if no advice is wanted
	command.Output
	plan.Options
}

// NewPlanCommand makes "noregret plan".
func NewPlanCommand(a *command.App) *cobra.Command {
	return command.New(a, &cobra.Command{
		Use:   "plan FILE",
		Short: "Say how long an experiment will take, before it runs",
		Long: `Estimate how long an experiment takes: the days until each guardrail is decided,
the smallest effect that can be detected in a number of days, and the days until 90 % of the gain
is served.

FILE is a definition with a part "plan": units per day, and the mean and spread of each metric
under the control arm (docs/formats/plan.md):

  plan:
    units_per_day: 200000
    expect:
      clicks: {mean: 0.02}
      revenue: {mean: 1.2, rate: 0.02, sigma: 1.8}
    improvement: 0.05
    days: [7, 14, 28]

Every answer is given in closed form, at once, and then by simulation of the definition, with the
learner, guardrails, rounds and windows of the service. "-" means beyond ten years, or beyond the
horizon of the simulation: in half of the runs, and of the gain on average over the runs. Of a
smallest effect it means that the metric's window is as long as the days, or above 1000 %.

A table says what costs the days: those without each guardrail, each goal, half of the arms.
--days N proposes a definition that serves 90 % of the gain in N days, or says how many units a day
that takes, or how many days it takes with any number of units.

Privacy, contexts and a box are left out, and a note says so ("without" with --json): the times are
those of the same arms and metrics without them.

If the simulation fails or is interrupted, the results of the runs so far are printed ("runs" of
"runs_asked" with --json), and the exit status is 1.`,
		Example: `  noregret plan ranking.yaml
  noregret plan ranking.yaml --runs 100 --horizon 60
  noregret plan ranking.yaml --days 7
  noregret plan ranking.yaml --runs 0 --json`,
		Args: command.Args(1, "the file of one definition"),
	}, &planOptions{Options: plan.DefaultOptions()})
}

// AddFlags implements [command.Options].
func (o *planOptions) AddFlags(f *pflag.FlagSet) {
	o.Output.AddFlags(f)
	f.IntVar(&o.Runs, "runs", o.Runs, "simulated runs; 0 for the closed forms only")
	f.Float64Var(&o.Horizon, "horizon", o.Horizon, "days that a simulated run covers")
	f.Uint64Var(&o.Seed, "seed", o.Seed, "seed of everything random")
	f.Float64Var(&o.days, "days", 0, "propose a definition that serves 90 % of the gain in so many days; 0 for none")
}

// Validate implements [command.Options].
func (o *planOptions) Validate() error {
	switch {
	case o.Runs < 0 || o.Runs > 100_000:
		return command.OutOfRange("--runs", o.Runs, "0 to 100,000")
	case !(o.days >= 0 && o.days <= 3660):
		return command.OutOfRange("--days", o.days, "0 to 3660 days")
	case !(o.Horizon > 0 && o.Horizon <= 3660):
		return command.OutOfRange("--horizon", o.Horizon, "days above 0 and at most 3660")
	}
	return nil
}

// Run implements [command.Options].
func (o *planOptions) Run(ctx context.Context, a *command.App, args []string) error {
	text, err := a.ReadFile(args[0])
	if err != nil {
		return err
	}
	d, err := definition.Parse(args[0], text)
	if err != nil {
		return err
	}
	if d.Plan == nil {
		return missingPlan(args[0], d)
	}
	p, err := a.ProgressOfLong("worlds")
	if err != nil {
		return err
	}
	private := d.Privacy != nil
	d, without := plan.Simplify(d)
	for _, text := range without {
		a.Note("%s: %s", args[0], text)
	}
	r, err := plan.Closed(ctx, d)
	if err != nil {
		return err
	}
	r.Without = without
	if private {
		r.ClearVerdicts()
	}
	if o.days > 0 && r.Gain != nil {
		if r.Advice, err = plan.Advise(ctx, d, o.days); err != nil {
			return err
		}
		if len(without) > 0 {
			r.Advice.Definition = "" // it is that of another experiment
		}
	}
	if !o.JSON { // the simulation may take long, or fail
		if err := writePlan(a.Stdout, r); err != nil {
			return err
		}
		if r.Advice != nil {
			if err := writeAdvice(a.Stdout, r.Advice, o.days, len(r.Ramp) > 0); err != nil {
				return err
			}
		}
	}
	if o.Runs > 0 {
		p.Start("simulate", int64(o.Runs*(1+len(r.Guardrails))))
		o.Progress = func(done, _ int) { p.Update(int64(done)) }
		failed := plan.Simulate(ctx, d, o.Options, r)
		p.Finish()
		if private {
			r.ClearVerdicts()
		}
		if !o.JSON && r.Runs > 0 {
			err = writeSimulated(a.Stdout, r)
		}
		err = errors.Join(err, failed)
	}
	if o.JSON {
		err = errors.Join(show.JSON(a.Stdout, r), err)
	}
	return err
}

// missingPlan is the error of a definition without a plan: what to add, with its metrics.
func missingPlan(file string, d *definition.Definition) error {
	text := "plan:\n  units_per_day: 10000\n  expect:\n"
	for i := range d.Metrics {
		m := &d.Metrics[i]
		mean := 0.1
		if len(m.Range) == 2 {
			low := m.Range[0]
			if m.Range[1] > 0 {
				low = max(low, 0)
			}
			mean = low + float64(0.1*(m.Range[1]-low))
		}
		switch m.Kind {
		case "ratio": // expected by its parts
		case "count":
			text += fmt.Sprintf("    %s: {mean: %s}\n", m.Name, show.Short(mean))
		default:
			text += fmt.Sprintf("    %s: {mean: %s, sd: 0.3}\n", m.Name, show.Short(mean))
		}
	}
	return noregret.BadInputf(file, "the part plan is missing: add the units per day and what is expected of each "+
		"metric under the control arm, for example\n%s(docs/formats/plan.md explains the part)", text)
}

// writePlan prints the closed forms of a plan as text.
func writePlan(w io.Writer, r *plan.Result) error {
	if err := show.KeyValues(w,
		"experiment", r.Experiment,
		"units a day", show.Whole(r.UnitsPerDay),
		"arms", fmt.Sprintf("%d beside the control", r.Arms),
		"shares assumed", fmt.Sprintf("control %s, each other arm %s", percent(r.Shares.Control),
			percent(r.Shares.Arm)),
	); err != nil {
		return err
	}
	if len(r.Guardrails) > 0 {
		g := show.Table{Left: map[int]bool{1: true}, Gap: true}
		g.Add("guardrail", "limit", "expected", "days to held", "broken", "days to breached")
		for i := range r.Guardrails {
			v := &r.Guardrails[i]
			g.Add(v.Metric, v.Kind+" "+show.Short(v.Limit), show.Short(v.Expected), days(v.Held.ClosedForm),
				show.Short(v.Broken),
				days(v.Breached.ClosedForm))
		}
		if err := g.Write(w); err != nil {
			return err
		}
		if slices.ContainsFunc(r.Guardrails, func(g plan.Guardrail) bool { return g.Prevented }) {
			if _, err := fmt.Fprintln(w, "\nNo breach is expected of hard guardrails: arms get only what these leave "+
				"room for."); err != nil {
				return err
			}
		}
	}
	if err := writeEffects(w, r); err != nil {
		return err
	}
	if len(r.Ramp) > 0 {
		if err := writeRamp(w, r); err != nil {
			return err
		}
	}
	if r.Gain == nil {
		return nil
	}
	_, err := fmt.Fprintf(w, "\n90 %% of the gain of an arm that is %s better: %s in closed form\n%s\n",
		percent(r.Gain.Improvement), inDays(days(r.Gain.Days.ClosedForm)), aboutGain(r))
	if err != nil || len(r.Gain.Costs) == 0 {
		return err
	}
	g := show.Table{Left: map[int]bool{0: true}, Gap: true}
	g.Add("without", "days")
	for i := range r.Gain.Costs {
		g.Add(r.Gain.Costs[i].Without, days(r.Gain.Costs[i].Days))
	}
	if err := g.Write(w); err != nil || r.Gain.WaitsFor == "" {
		return err
	}
	_, err = fmt.Fprintf(w, "\nThe gain waits for: %s.\n", r.Gain.WaitsFor)
	return err
}

// aboutGain says how the days of the gain go together with the smallest effects, or that there are
// none.
func aboutGain(r *plan.Result) string {
	if r.Gain.Days.ClosedForm == nil {
		return `"-": 90 % of the gain is not served within ten years.`
	}
	return "Serving a gain takes less evidence than showing it: the smallest effects are what can be shown."
}

// writeAdvice prints a definition that serves most of the gain within some days, or why there is
// none. Ramp says that the definition has a ramp.
func writeAdvice(w io.Writer, a *plan.Advice, within float64, ramp bool) error {
	switch {
	case a.Days == nil && a.UnitsPerDay != nil:
		_, err := fmt.Fprintf(w, "\n90 %% of the gain in %s needs %s units a day: twice as wide limits and fewer arms "+
			"are not enough.\n", inDays(show.Short(within)), show.Whole(math.Ceil(*a.UnitsPerDay)))
		return err
	case a.Days == nil && a.LeastDays != nil:
		alone := "the window and the rounds"
		if ramp {
			alone = "the window, the rounds and the ramp"
		}
		_, err := fmt.Fprintf(w, "\nNo number of units a day serves 90 %% of the gain in %s: %s alone take %s.\n",
			inDays(show.Short(within)), alone, inDays(show.Short(*a.LeastDays)))
		return err
	case a.Days == nil:
		_, err := fmt.Fprintf(w, "\nNo number of units a day serves 90 %% of the gain in %s, or in ten years.\n",
			inDays(show.Short(within)))
		return err
	case len(a.Changes) == 0:
		_, err := fmt.Fprintf(w, "\nThe definition serves 90 %% of the gain in %s as it is.\n", inDays(days(a.Days)))
		return err
	}
	_, err := fmt.Fprintf(w, "\nIn %s with these changes:\n- %s\n\n%s", inDays(days(a.Days)),
		strings.Join(a.Changes, "\n- "), a.Definition)
	return err
}

// writeEffects prints the smallest effects.
func writeEffects(w io.Writer, r *plan.Result) error {
	g := show.Table{Gap: true}
	head := []string{"smallest effect of one arm", "mean", "deviation"}
	for _, v := range r.Days {
		head = append(head, inDays(show.Short(v)))
	}
	g.Add(head...)
	for i := range r.Effects {
		e := &r.Effects[i]
		row := []string{e.Metric, show.Short(e.Mean), show.Short(e.Deviation)}
		for _, v := range e.Smallest {
			if v == nil {
				row = append(row, "-")
			} else {
				row = append(row, percent(*v))
			}
		}
		g.Add(row...)
	}
	return g.Write(w)
}

// writeSimulated prints the results of the simulation as text: for each guardrail the median over
// runs, and the share of the runs that get there.
func writeSimulated(w io.Writer, r *plan.Result) error {
	if _, err := fmt.Fprintf(w, "\nsimulation: %s of %s\n", show.RunsIn(r.Runs, r.RunsAsked),
		inDays(show.Short(r.Horizon))); err != nil {
		return err
	}
	if len(r.Guardrails) > 0 {
		g := show.Table{Left: map[int]bool{1: true}, Gap: true}
		g.Add("guardrail", "limit", "days to held", "of runs", "days to breached", "of runs")
		share := func(v *float64) string {
			if v == nil {
				return "-"
			}
			return percent(*v)
		}
		for i := range r.Guardrails {
			v := &r.Guardrails[i]
			g.Add(v.Metric, v.Kind+" "+show.Short(v.Limit), days(v.Held.Simulated), share(v.Held.Reached),
				days(v.Breached.Simulated), share(v.Breached.Reached))
		}
		if err := g.Write(w); err != nil {
			return err
		}
	}
	if r.Gain == nil {
		return nil
	}
	_, err := fmt.Fprintf(w, "\n90 %% of the gain of an arm that is %s better: %s simulated\n",
		percent(r.Gain.Improvement), inDays(days(r.Gain.Days.Simulated)))
	if err != nil || r.Gain.Days.Simulated != nil || len(r.Gain.Curve) == 0 {
		return err
	}
	last := r.Gain.Curve[len(r.Gain.Curve)-1]
	_, err = fmt.Fprintf(w, "\"-\": after %s, the horizon of the simulation, %s of the gain is served on "+
		"average; try a longer --horizon.\n", inDays(show.Short(r.Horizon)), percent(last.Gain))
	return err
}

// writeRamp prints when the stages of a ramp end, and which closed forms leave it out.
func writeRamp(w io.Writer, r *plan.Result) error {
	var ends []string
	for _, v := range r.Ramp {
		ends = append(ends, days(v))
	}
	names := map[string]string{"effects": "the smallest effects", "breached": "days to breached of changes"}
	var without []string
	for _, name := range r.WithoutRamp {
		without = append(without, names[name])
	}
	_, err := fmt.Fprintf(w, "\nThe stages of the ramp end after %s in closed form. Without the ramp are: %s.\n",
		inDays(strings.Join(ends, ", ")), strings.Join(without, ", "))
	return err
}

// days writes a number of days, "-" for none.
func days(v *float64) string {
	if v == nil {
		return "-"
	}
	return strconv.FormatFloat(*v, 'g', 3, 64)
}

// inDays adds the unit to a number of days.
func inDays(number string) string {
	if number == "1" {
		return "1 day"
	}
	return number + " days"
}

// percent writes a share with three digits.
func percent(v float64) string { return strconv.FormatFloat(100*v, 'g', 3, 64) + " %" }
