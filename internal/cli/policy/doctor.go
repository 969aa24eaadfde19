package policy

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/bandit/offpolicy"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/logflags"
	"github.com/noregret/noregret/internal/cli/show"
)

// doctorOptions are the flags of "noregret doctor".
type doctorOptions struct {
	command.Output
	log          *logflags.Flags
	shares       string
	alpha        float64
	minEffective float64
	clockSlack   time.Duration
	recentIDs    int
}

const doctorLong = `Look for what is wrong with a log of decisions, before anything is estimated from it. Wrong
propensities make every estimate wrong, and little in an estimate shows it.

` + logflags.Help + `

The findings about rows are: bad-arm (one that does not exist: give --arms), impossible-arm (chosen
with the probability 0), bad-propensity (outside (0, 1], or another one than in the row's list),
bad-probabilities (not one for each arm, or without the sum 1), bad-reward (outside --rewards),
duplicate-id and clock-back (earlier than the row before by more than --clock-slack). Those about
the log are: few-effective (an effective sample size below --min-effective, for the rows' target
policy, else for the uniform one), mean-weight (a mean weight that cannot be 1) and
sample-ratio-broken (counts of arms that do not fit the probabilities of all arms, which the rows
hold or --shares gives). The last two are tests that may be looked at after every row, with the
probability --alpha of a false alarm each.

The exit status is 0 for a sound log, and 3 if there is a finding. With --json the output is {log,
format, rows, skipped, arms, counts, effective_rows, mean_weight, largest_weight, ratio_rows,
ratio_p, healthy, findings}, and each finding is {kind, rows, first, message}; first is the number
of the first such row, 0 for a finding about the log.`

// NewDoctorCommand makes "noregret doctor".
func NewDoctorCommand(a *command.App) *cobra.Command {
	d := offpolicy.DefaultDoctorOptions(1)
	return command.New(a, &cobra.Command{
		Use:   "doctor LOG",
		Short: "Look for what is wrong with a log of decisions",
		Long:  doctorLong,
		Example: `  noregret doctor decisions.csv

  # A log of three arms that were drawn with equal probabilities
  noregret doctor --arms 3 --shares uniform decisions.jsonl

  # In a script
  noregret doctor --json decisions.dsjson.gz >findings.json || echo "do not use this log"`,
		Args: oneLog,
	}, &doctorOptions{
		log: logflags.New(), alpha: d.Alpha, minEffective: d.MinEffective,
		clockSlack: d.ClockSlack, recentIDs: d.RecentIDs,
	})
}

// AddFlags implements [command.Options].
func (o *doctorOptions) AddFlags(f *pflag.FlagSet) {
	o.Output.AddFlags(f)
	o.log.AddFlags(f)
	f.StringVar(&o.shares, "shares", o.shares,
		"probabilities of the arms in rows without their own: uniform, or a JSON file as for evaluate-policy")
	f.Float64Var(&o.alpha, "alpha", o.alpha, "probability of a false alarm of each test, between 0 and 1")
	f.Float64Var(&o.minEffective, "min-effective", o.minEffective, "least effective sample size")
	command.DurationVar(f, &o.clockSlack, "clock-slack", "by how much a row may be earlier than the one before")
	f.IntVar(&o.recentIDs, "recent-ids", o.recentIDs,
		"identifiers among which duplicates are looked for, 50 bytes each")
}

// Validate implements [command.Options].
func (o *doctorOptions) Validate() error {
	switch {
	case !(o.alpha > 0 && o.alpha < 1):
		return command.OutOfRange("--alpha", o.alpha, "a number between 0 and 1")
	case !(o.minEffective >= 0):
		return command.OutOfRange("--min-effective", o.minEffective, "at least 0")
	case o.clockSlack < 0:
		return command.OutOfRange("--clock-slack", o.clockSlack, "at least 0")
	case o.recentIDs < 0:
		return command.OutOfRange("--recent-ids", o.recentIDs, "at least 0")
	}
	return o.log.Validate()
}

// findingJSON is a finding as --json prints it.
type findingJSON struct {
	Kind    offpolicy.Kind `json:"kind"`
	Rows    int64          `json:"rows"`
	First   int64          `json:"first"`
	Message string         `json:"message"`
}

// doctorReport is what --json prints.
type doctorReport struct {
	Log       string        `json:"log"`
	Format    string        `json:"format"`
	Rows      int64         `json:"rows"`
	Skipped   int64         `json:"skipped"`
	Arms      int           `json:"arms"`
	Counts    []int64       `json:"counts"`
	Effective show.Number   `json:"effective_rows"`
	Mean      show.Number   `json:"mean_weight"`
	Largest   show.Number   `json:"largest_weight"`
	RatioRows int64         `json:"ratio_rows"`
	RatioP    show.Number   `json:"ratio_p"`
	Healthy   bool          `json:"healthy"`
	Findings  []findingJSON `json:"findings"`
}

// Run implements [command.Options].
func (o *doctorOptions) Run(ctx context.Context, a *command.App, args []string) error {
	facts, err := o.log.Survey(ctx, a, args[0])
	if err != nil {
		return err
	}
	options := offpolicy.DefaultDoctorOptions(facts.Arms)
	options.Low, options.High = o.log.RangeOf(facts)
	options.Alpha, options.MinEffective = o.alpha, o.minEffective
	options.ClockSlack, options.RecentIDs = o.clockSlack, o.recentIDs
	if options.Shares, err = o.readShares(a, facts); err != nil {
		return err
	}
	doctor, err := offpolicy.NewDoctor(options)
	if err != nil {
		return err
	}
	again, err := o.log.WithArms(facts.Arms).EachRow(ctx, a, args[0], func(r *offpolicy.Row) error {
		doctor.Add(r)
		return nil
	})
	if err != nil {
		return err
	}
	if again.Rows == 0 {
		return noregret.BadInputf(args[0], "no decision: at least one is required")
	}
	report := reportOf(doctor.Report())
	report.Log, report.Format, report.Skipped, report.Arms = args[0], again.Format, again.Skipped, facts.Arms
	if o.JSON {
		err = show.JSON(a.Stdout, report)
	} else {
		err = writeDoctorReport(a.Stdout, &report)
	}
	if err != nil || report.Healthy {
		return err
	}
	return noregret.BadInputf(args[0], "%s", show.Count(len(report.Findings), "finding", "findings"))
}

// readShares returns the probabilities that --shares names, nil for none.
func (o *doctorOptions) readShares(a *command.App, facts *logflags.Facts) ([]float64, error) {
	if o.shares == "" {
		return nil, nil
	}
	p := make([]float64, facts.Arms)
	if o.shares == "uniform" {
		for k := range p {
			p[k] = 1 / float64(len(p))
		}
		return p, nil
	}
	text, err := a.ReadFile(o.shares)
	if err != nil {
		return nil, err
	}
	return p, readPolicy(o.shares, text, p, facts)
}

func reportOf(r offpolicy.Report) doctorReport {
	out := doctorReport{
		Rows: r.Rows, Counts: r.Counts, Effective: show.Number(r.Weights.Effective), Mean: show.Number(r.Weights.Mean),
		Largest: show.Number(r.Weights.Largest), RatioRows: r.RatioRows, RatioP: show.Number(r.RatioP),
		Healthy:  r.Healthy(),
		Findings: []findingJSON{},
	}
	for _, f := range r.Findings {
		out.Findings = append(out.Findings, findingJSON(f))
	}
	return out
}

// writeDoctorReport prints the report as text.
func writeDoctorReport(w io.Writer, r *doctorReport) error {
	rows := strconv.FormatInt(r.Rows, 10)
	if r.Skipped > 0 {
		rows += fmt.Sprintf(" and %d skipped", r.Skipped)
	}
	ratio := "no row has the probabilities of all arms; if they are the same in all rows, give --shares"
	if r.RatioRows > 0 {
		ratio = fmt.Sprintf("p = %s on %d rows", show.Digits(r.RatioP, 3), r.RatioRows)
	}
	if err := show.KeyValues(w,
		"log", r.Log+", "+r.Format,
		"rows", rows,
		"arms", fmt.Sprintf("%d, with %d to %d rows each", r.Arms, slices.Min(r.Counts), slices.Max(r.Counts)),
		"effective rows", show.Short(math.Round(float64(r.Effective))),
		"weights", fmt.Sprintf("mean %s, largest %s", show.Digits(r.Mean, 4), show.Digits(r.Largest, 4)),
		"counts of arms", ratio,
	); err != nil {
		return err
	}
	if r.Healthy {
		_, err := fmt.Fprintln(w, "the log is sound")
		return err
	}
	g := show.Table{Left: map[int]bool{3: true}, Gap: true}
	g.Add("finding", "rows", "first", "what")
	for _, f := range r.Findings {
		first := "-"
		if f.First > 0 {
			first = strconv.FormatInt(f.First, 10)
		}
		g.Add(string(f.Kind), strconv.FormatInt(f.Rows, 10), first, f.Message)
	}
	return g.Write(w)
}
