package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/experiment/plan"
)

// planOptions are the flags of "noregret plan".
type planOptions struct {
	outputOptions
	plan.Options
}

// newPlanCommand makes "noregret plan".
func newPlanCommand(a *app) *cobra.Command {
	return newCommand(a, &cobra.Command{
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

Every answer is given in closed form and by simulation of the definition, with the learner,
guardrails, rounds and windows of the service. "-" means beyond ten years, or beyond the horizon
of the simulation in half of the runs.`,
		Example: `  noregret plan ranking.yaml
  noregret plan ranking.yaml --runs 100 --horizon 60
  noregret plan ranking.yaml --runs 0 --json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return noregret.Errorf(noregret.Usage, "", "plan takes the file of one definition, got %d arguments",
					len(args))
			}
			return nil
		},
	}, &planOptions{Options: plan.DefaultOptions()})
}

// AddFlags implements options.
func (o *planOptions) AddFlags(f *pflag.FlagSet) {
	o.outputOptions.AddFlags(f)
	f.IntVar(&o.Runs, "runs", o.Runs, "simulated runs; 0 for the closed forms only")
	f.Float64Var(&o.Horizon, "horizon", o.Horizon, "days that a simulated run covers")
	f.Uint64Var(&o.Seed, "seed", o.Seed, "seed of everything random")
}

// Validate implements options.
func (o *planOptions) Validate() error {
	switch {
	case o.Runs < 0 || o.Runs > 100_000:
		return outOfRange("--runs", o.Runs, "0 to 100,000")
	case !(o.Horizon > 0 && o.Horizon <= 3660):
		return outOfRange("--horizon", o.Horizon, "days above 0 and at most 3660")
	}
	return nil
}

// Run implements options.
func (o *planOptions) Run(ctx context.Context, a *app, args []string) error {
	text, err := a.readFile(args[0])
	if err != nil {
		return err
	}
	d, err := definition.Parse(args[0], text)
	if err != nil {
		return err
	}
	p, err := a.progressOf("runs")
	if err != nil {
		return err
	}
	started := false
	o.Progress = func(done, total int) {
		if !started {
			p.Start("simulate", int64(total))
			started = true
		}
		p.Update(int64(done))
	}
	r, err := plan.Compute(ctx, d, o.Options)
	p.Finish()
	if err != nil {
		return err
	}
	if o.json {
		return writeJSON(a.stdout, r)
	}
	return writePlan(a.stdout, r)
}

// writePlan prints a plan as text.
func writePlan(w io.Writer, r *plan.Result) error {
	if err := keyValues(w,
		"experiment", r.Experiment,
		"units a day", whole(r.UnitsPerDay),
		"arms", fmt.Sprintf("%d beside the control", r.Arms),
		"shares assumed", fmt.Sprintf("control %s, each other arm %s", percent(r.Shares.Control),
			percent(r.Shares.Arm)),
		"simulation", simulationText(r),
	); err != nil {
		return err
	}
	if len(r.Guardrails) > 0 {
		g := table{left: map[int]bool{1: true}}
		g.add("\nguardrail", "limit", "expected", "days to held", "simulated", "broken", "days to breached",
			"simulated")
		for i := range r.Guardrails {
			v := &r.Guardrails[i]
			g.add(v.Metric, v.Kind+" "+short(v.Limit), short(v.Expected), days(v.Held.ClosedForm),
				days(v.Held.Simulated), short(v.Broken), days(v.Breached.ClosedForm), days(v.Breached.Simulated))
		}
		if err := g.write(w); err != nil {
			return err
		}
		if slices.ContainsFunc(r.Guardrails, func(g plan.Guardrail) bool { return g.Prevented }) {
			if _, err := fmt.Fprintln(w, "\nNo breach is expected of hard guardrails: arms get only what these leave "+
				"room for."); err != nil {
				return err
			}
		}
	}
	g := table{}
	head := []string{"\nsmallest effect of one arm", "mean", "deviation"}
	for _, v := range r.Days {
		head = append(head, short(v)+" days")
	}
	g.add(head...)
	for i := range r.Effects {
		e := &r.Effects[i]
		row := []string{e.Metric, short(e.Mean), short(e.Deviation)}
		for _, v := range e.Smallest {
			if v == nil {
				row = append(row, "-")
			} else {
				row = append(row, percent(*v))
			}
		}
		g.add(row...)
	}
	if err := g.write(w); err != nil {
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
	_, err := fmt.Fprintf(w, "\n90 %% of the gain of an arm that is %s better: %s days in closed form, %s "+
		"simulated\n", percent(r.Gain.Improvement), days(r.Gain.Days.ClosedForm), days(r.Gain.Days.Simulated))
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
	_, err := fmt.Fprintf(w, "\nThe stages of the ramp end after %s days in closed form. Without the ramp are: %s.\n",
		strings.Join(ends, ", "), strings.Join(without, ", "))
	return err
}

// simulationText describes the simulation, "" for none.
func simulationText(r *plan.Result) string {
	if r.Runs == 0 {
		return ""
	}
	return fmt.Sprintf("%s of %s days", count(r.Runs, "run", "runs"), short(r.Horizon))
}

// days writes a number of days, "-" for none.
func days(v *float64) string {
	if v == nil {
		return "-"
	}
	return strconv.FormatFloat(*v, 'g', 3, 64)
}

// percent writes a share with three digits.
func percent(v float64) string { return strconv.FormatFloat(100*v, 'g', 3, 64) + " %" }
