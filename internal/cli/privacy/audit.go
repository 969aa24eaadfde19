package privacy

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/dp/audit"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/show"
)

// privacyAuditOptions are the flags of "noregret privacy audit".
type privacyAuditOptions struct {
	command.Output
	epsilon, delta float64
	steps          int64
	runs           int
	confidence     float64
}

const privacyAuditLong = `Attack the noisy prefix sums of this program and compare what the attack
learns with the claim.

Each kind of noise runs --runs times on each of two data sets that differ in one record, with the
system's generator of randomness. An observer of all releases guesses which data set it was. The
errors of the guesses bound the privacy loss from below, with --confidence in each error rate. If
the bound exceeds the claim of --epsilon and --delta, the mechanism is broken, and the exit status
is 1. A bound below the claim proves nothing, but the attack finds noise that is too small by a
factor of √2 in 10,000 runs.

The losses are those of Gaussian differential privacy: "mu" is the estimate, "mu low" the lower
bound and "mu claim" what the claim allows. With --json the output is a list of {noise, epsilon,
delta, steps, runs, mu, mu_low, mu_claim, epsilon_low, refuted}.`

// newPrivacyAuditCommand makes "noregret privacy audit".
func newPrivacyAuditCommand(a *command.App) *cobra.Command {
	return command.New(a, &cobra.Command{
		Use:   "audit",
		Short: "Attack the private mechanisms and compare with their claims",
		Long:  privacyAuditLong,
		Example: `  noregret privacy audit
  noregret privacy audit --epsilon 8 --runs 20000 --json`,
		Args: command.NoArgs,
	}, &privacyAuditOptions{epsilon: 1, delta: 1e-4, steps: 64, runs: 4000, confidence: 0.999})
}

// AddFlags implements [command.Options].
func (o *privacyAuditOptions) AddFlags(f *pflag.FlagSet) {
	o.Output.AddFlags(f)
	f.Float64Var(&o.epsilon, "epsilon", o.epsilon, "the claimed ε, above 0")
	f.Float64Var(&o.delta, "delta", o.delta, "the claimed δ, between 0 and 1")
	f.Int64Var(&o.steps, "steps", o.steps, "steps of a run, a power of two up to 4,096")
	f.IntVar(&o.runs, "runs", o.runs, "runs on each data set")
	f.Float64Var(&o.confidence, "confidence", o.confidence, "confidence in each error rate, between 0.5 and 1")
}

// Validate implements [command.Options].
func (o *privacyAuditOptions) Validate() error {
	switch {
	case !(o.epsilon > 0) || math.IsInf(o.epsilon, 1):
		return command.OutOfRange("--epsilon", o.epsilon, "a finite number above 0")
	case !(o.delta > 0 && o.delta < 1):
		return command.OutOfRange("--delta", o.delta, "a number between 0 and 1")
	case o.steps < 1 || o.steps > 4096 || o.steps&(o.steps-1) != 0:
		return command.OutOfRange("--steps", o.steps, "a power of two from 1 to 4096")
	case o.runs < 1:
		return command.OutOfRange("--runs", o.runs, "at least 1")
	case !(o.confidence > 0.5 && o.confidence < 1):
		return command.OutOfRange("--confidence", o.confidence, "a number between 0.5 and 1")
	}
	return nil
}

// auditRow is the audit of one kind of noise as --json prints it.
type auditRow struct {
	Noise      string      `json:"noise"`
	Epsilon    show.Number `json:"epsilon"`
	Delta      show.Number `json:"delta"`
	Steps      int64       `json:"steps"`
	Runs       int         `json:"runs"`
	Mu         show.Number `json:"mu"`
	MuLow      show.Number `json:"mu_low"`
	MuClaim    show.Number `json:"mu_claim"`
	EpsilonLow show.Number `json:"epsilon_low"`
	Refuted    bool        `json:"refuted"`
}

// Run implements [command.Options].
func (o *privacyAuditOptions) Run(ctx context.Context, a *command.App, _ []string) error {
	claim, err := dp.GaussianMu(o.epsilon, o.delta)
	if err != nil {
		return err
	}
	lattice, err := dp.NewLattice(dp.DefaultLatticeConfig(1, o.steps, dp.L2, 1))
	if err != nil {
		return err
	}
	budget, err := dp.GDPBudget(o.epsilon, o.delta)
	if err != nil {
		return err
	}
	reporter, err := a.ProgressOf("runs")
	if err != nil {
		return err
	}
	var rows []auditRow
	refuted, done := 0, int64(0)
	reporter.Start("audit", 8*int64(o.runs)) // two data sets, four kinds
	defer reporter.Finish()
	for kind := dp.Tree; kind <= dp.SquareRoot; kind++ {
		c := dp.StreamConfig{Kind: kind, Lattice: lattice, Batch: 1, Protection: dp.PerRecord(), Budget: budget}
		attack := audit.Stream(func(uint64) (*dp.Stream, error) {
			done++
			reporter.Update(done)
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			return dp.NewStream(c)
		})
		r, err := audit.Run(attack, o.runs, 0, o.confidence)
		if err != nil {
			return err
		}
		low, err := r.Epsilon(o.delta)
		if err != nil {
			return err
		}
		broken, err := r.Refutes(o.epsilon, o.delta)
		if err != nil {
			return err
		}
		if broken {
			refuted++
		}
		rows = append(rows, auditRow{
			Noise: kind.String(), Epsilon: show.Number(o.epsilon), Delta: show.Number(o.delta), Steps: o.steps,
			Runs: o.runs,
			Mu:   show.Number(r.Mu), MuLow: show.Number(r.MuLow), MuClaim: show.Number(claim),
			EpsilonLow: show.Number(low), Refuted: broken,
		})
	}
	if err := o.write(a, rows); err != nil {
		return err
	}
	if refuted > 0 {
		return noregret.Errorf(noregret.Internal, "audit", "%s of ε = %g refuted", show.Count(refuted, "claim",
			"claims"),
			o.epsilon)
	}
	return nil
}

// write prints the audit.
func (o *privacyAuditOptions) write(a *command.App, rows []auditRow) error {
	if o.JSON {
		return show.JSON(a.Stdout, rows)
	}
	g := show.Table{Left: map[int]bool{0: true, 5: true}}
	g.Add("noise", "mu", "mu low", "mu claim", "epsilon low", "verdict")
	for i := range rows {
		r := &rows[i]
		verdict := "passes"
		if r.Refuted {
			verdict = "BROKEN"
		}
		g.Add(r.Noise, show.Digits(r.Mu, 3), show.Digits(r.MuLow, 3), show.Digits(r.MuClaim, 3),
			show.Digits(r.EpsilonLow, 3), verdict)
	}
	if err := g.Write(a.Stdout); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.Stdout, "\n%s runs on each data set, %d steps; claimed are epsilon %g and delta %g.\n",
		strconv.Itoa(o.runs), o.steps, o.epsilon, o.delta)
	return err
}
