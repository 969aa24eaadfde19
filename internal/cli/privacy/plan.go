package privacy

import (
	"context"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/internal/memory"
	"github.com/noregret/noregret/private"
)

// privacyPlanOptions are the flags of "noregret privacy plan".
type privacyPlanOptions struct {
	command.Output
	epsilon, delta float64
	horizon        int64
	dim, batch     int
	norm           string
	clip, clipL2   float64
	radius         float64
	records        int
}

const privacyPlanLong = `Compare the mechanisms that release a linear model after every example under
differential privacy, before any data are seen.

Each row is one mechanism with one noise: DP-TOFW (online Frank-Wolfe on noisy prefix sums of
gradients, noise tree, honaker, doubling or square-root), and for --norm 1 DP-POFW (a vertex chosen
privately in each step, noise exponential or laplace). All rows spend --epsilon and --delta in
total, over all releases. --clip is the bound to which the increments of the gradient are clipped,
in the norm dual to --norm, which is the maximum norm for --norm 1. pofw clips in that norm. tofw
clips in the Euclidean norm, to --clip-l2. By default this follows from --clip: it is --clip times
d^(1/2-1/q) if the dual norm has an index q above 2, and --clip otherwise. State it if the Euclidean
norm of increments is known to be smaller. "excess" bounds what the noise costs in the linear
problem of the last step, on the ball of --radius in the norm --norm; rows are compared by it, and
the first row is the best one.

An epsilon above 10, and a delta of one over the number of records (or users) or more, protect
little: they are taken with a warning.

A plan depends on no data, so it costs nothing. To try several mechanisms on the data and keep the
best is a release of its own.

With --json the output is a list, the best row first, of {mechanism, noise, sigma_over_clip,
prefix_rms_over_clip, epsilon_spent, delta, rho, clip, excess, memory_bytes, statement, details}.
The first two are the standard deviation of one draw of noise and the root mean square over all
steps of that of a prefix sum, per coordinate and over the clip of the row, which "clip" is. For
pofw both are temperatures of the choice. "rho" is the cost in zero-concentrated differential
privacy, "statement" says in words what is and is not protected, and "details" has its parts.`

// newPrivacyPlanCommand makes "noregret privacy plan".
func newPrivacyPlanCommand(a *command.App) *cobra.Command {
	return command.New(a, &cobra.Command{
		Use:   "plan",
		Short: "Compare private mechanisms before data are seen",
		Long:  privacyPlanLong,
		Example: `  noregret privacy plan --epsilon 1 --delta 1e-4 --horizon 10000 --dim 20 --norm 2 --clip 1

  # Users with at most ten records each
  noregret privacy plan --epsilon 3 --delta 1e-6 --horizon 1000000 --dim 50 --norm inf --clip 0.5 \
    --records 10 --json`,
		Args: command.NoArgs,
	}, &privacyPlanOptions{norm: "2", clip: 1, radius: 1, batch: 1, records: 1})
}

// AddFlags implements [command.Options].
func (o *privacyPlanOptions) AddFlags(f *pflag.FlagSet) {
	o.Output.AddFlags(f)
	f.Float64Var(&o.epsilon, "epsilon", o.epsilon, "the budget ε of the whole run, above 0; required")
	f.Float64Var(&o.delta, "delta", o.delta,
		"the budget δ, below one over the number of records; 0 leaves only choices among vertices")
	f.Int64Var(&o.horizon, "horizon", o.horizon, "the largest number of records; required")
	f.IntVar(&o.dim, "dim", o.dim, "the number of coordinates of the model; required")
	f.StringVar(&o.norm, "norm", o.norm, "the norm p of the ball of models, from 1 to inf")
	f.Float64Var(&o.clip, "clip", o.clip,
		"the bound on an increment in the norm dual to --norm, not chosen from the data")
	f.Float64Var(&o.clipL2, "clip-l2", o.clipL2,
		"the bound in the Euclidean norm, for tofw (default: follows from --clip)")
	f.Float64Var(&o.radius, "radius", o.radius, "the radius of the ball of models")
	f.IntVar(&o.batch, "batch", o.batch, "records per step")
	f.IntVar(&o.records, "records", o.records, "the largest number of records of one user, who is protected as a whole")
}

// Validate implements [command.Options].
func (o *privacyPlanOptions) Validate() error {
	for _, v := range []struct {
		flag  string
		value any
		ok    bool
		want  string
	}{
		{"--epsilon", o.epsilon, o.epsilon > 0 && !math.IsInf(o.epsilon, 1), "a finite number above 0"},
		{"--delta", o.delta, o.delta >= 0 && o.delta < 1, "at least 0 and below 1"},
		{"--horizon", o.horizon, o.horizon >= 1 && o.horizon <= dp.MaxHorizon, "1 to 2^40"},
		{"--dim", o.dim, o.dim >= 1, "at least 1"},
		{"--clip", o.clip, o.clip > 0 && !math.IsInf(o.clip, 1), "a finite number above 0"},
		{
			"--clip-l2", o.clipL2, o.clipL2 >= 0 && !math.IsInf(o.clipL2, 1),
			"a finite number, above 0 or 0 for the default",
		},
		{"--radius", o.radius, o.radius > 0 && !math.IsInf(o.radius, 1), "a finite number above 0"},
		{"--batch", o.batch, o.batch >= 1 && int64(o.batch) <= o.horizon, "1 to --horizon"},
		{"--records", o.records, o.records >= 1, "at least 1"},
	} {
		if !v.ok {
			return command.OutOfRange(v.flag, v.value, v.want)
		}
	}
	_, err := o.p()
	return err
}

// p returns the norm.
func (o *privacyPlanOptions) p() (float64, error) {
	p, err := strconv.ParseFloat(o.norm, 64)
	if err != nil || !(p >= 1) {
		return 0, noregret.Errorf(noregret.Usage, "--norm",
			"%q is out of range, want a number from 1 on, or inf", o.norm)
	}
	return p, nil
}

// privacyRow is a row of the plan as --json prints it.
type privacyRow struct {
	Mechanism string       `json:"mechanism"`
	Noise     string       `json:"noise"`
	Sigma     show.Number  `json:"sigma_over_clip"`
	Prefix    show.Number  `json:"prefix_rms_over_clip"`
	Epsilon   show.Number  `json:"epsilon_spent"`
	Delta     show.Number  `json:"delta"`
	Rho       show.Number  `json:"rho"`
	Clip      show.Number  `json:"clip"`
	Excess    show.Number  `json:"excess"`
	Memory    show.Number  `json:"memory_bytes"`
	Statement string       `json:"statement"`
	Details   dp.Statement `json:"details"`
}

// Run implements [command.Options].
func (o *privacyPlanOptions) Run(_ context.Context, a *command.App, _ []string) error {
	p, err := o.p()
	if err != nil {
		return err
	}
	ball, err := private.NewBall(o.dim, p, o.radius)
	if err != nil {
		return err
	}
	plan, err := private.MakePlan(private.PlanRequest{
		Domain: ball, Horizon: o.horizon, Batch: o.batch, Clip: o.clip, ClipL2: o.clipL2,
		Protection: dp.PerUser(o.records), Epsilon: o.epsilon, Delta: o.delta,
	})
	if err != nil {
		return err
	}
	rows := make([]privacyRow, 0, len(plan.Rows))
	for i := range plan.Rows {
		k := i // the best row first, the others in their order
		if i == 0 {
			k = plan.Best
		} else if i <= plan.Best {
			k = i - 1
		}
		row, err := privacyRowOf(&plan.Rows[k])
		if err != nil {
			return err
		}
		rows = append(rows, row)
	}
	for _, w := range dp.BudgetWarnings(o.epsilon, o.delta, max(1, float64(o.horizon)/float64(o.records))) {
		a.Note("warning: %s", w)
	}
	if o.JSON {
		return show.JSON(a.Stdout, rows)
	}
	return o.write(a.Stdout, rows)
}

// privacyRowOf computes what a row spends.
func privacyRowOf(r *private.PlanRow) (privacyRow, error) {
	spent, err := r.Charge.Epsilon(r.Delta)
	if e := r.Statement.Epsilon; e > 0 {
		spent = min(spent, e) // what it is calibrated to
	}
	return privacyRow{
		Mechanism: r.Mechanism, Noise: r.Noise, Sigma: show.Number(r.SigmaOverClip),
		Prefix:  show.Number(r.PrefixOverClip),
		Epsilon: show.Number(spent), Delta: show.Number(r.Delta), Rho: show.Number(r.Charge.Rho),
		Clip:   show.Number(r.Clip),
		Excess: show.Number(r.Excess), Memory: show.Number(r.Memory), Statement: r.Statement.String(),
		Details: r.Statement,
	}, err
}

// write prints the plan as text.
func (o *privacyPlanOptions) write(w io.Writer, rows []privacyRow) error {
	g := show.Table{Left: map[int]bool{1: true}}
	g.Add("mechanism", "noise", "clip", "sigma/clip", "prefix rms/clip", "epsilon", "delta", "rho", "excess",
		"memory")
	for i := range rows {
		r := &rows[i]
		g.Add(r.Mechanism, r.Noise, show.Digits(r.Clip, 4), show.Digits(r.Sigma, 4), show.Digits(r.Prefix, 4),
			show.Digits(r.Epsilon, 4),
			show.Digits(r.Delta, 4), show.Digits(r.Rho, 4), show.Digits(r.Excess, 4), memory.Format(float64(r.Memory)))
	}
	if err := g.Write(w); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nThe first row, %s with the noise %s:\n\n%s", rows[0].Mechanism, rows[0].Noise,
		rows[0].Statement)
	return err
}
