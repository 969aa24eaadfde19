package policy

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/bandit/offpolicy"
	"github.com/noregret/noregret/confseq"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/logflags"
	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/internal/legible"
	"github.com/noregret/noregret/internal/vec"
)

// evaluatePolicyOptions are the flags of "noregret evaluate-policy".
type evaluatePolicyOptions struct {
	command.Output
	log                       *logflags.Flags
	policies                  []string
	maxWeight, clip, switchAt float64
	confidence                float64
}

const evaluatePolicyLong = `Estimate from logged decisions what another policy would have earned: its mean reward. The log
must hold the probability with which each arm was chosen.

` + logflags.Help + `

--policy is uniform, target (the probabilities that the log itself holds on every row), an arm, or a
JSON file: a list with a probability for each arm, or an object of arms and probabilities. It may be
given several times. Without it the policy is target if all rows of a file have one, else uniform.

Seven estimators are shown: importance weights (ips), self-normalized, clipped (--clip), doubly
robust, switch (--switch), shrinkage, which chooses its λ by the data, and the direct method,
which averages the arms' mean rewards and ignores the weights. The package documentation of
bandit/offpolicy explains them; begin with doubly-robust. "error" is the standard error.

Two intervals are guaranteed if the logged probabilities are right, the rewards are within their
range and the value is the same in all rows: "one look" for a number of rows fixed before, "any
time" also if the log is looked at again and again. They need no bound of the weights, the
ratios of the policy's probability to the logged one, and heavy weights do not end them. With a
bound those of self-normalized, doubly-robust, shrinkage and direct are narrower: logs with the
probabilities of all arms have one, and --max-weight states one, before you see the data.
"approximate" is the value ± the normal quantile times the error. It guarantees nothing: use it
where many rows are effective and the estimator has no bias (clipped, switch, shrinkage and
direct have one).

"effective" is the number of rows of the policy's own that the log is worth. If it is small,
believe nothing. Run "noregret doctor" on the log first.

With --json the output is {log, format, rows, skipped, arms, mean_reward, mean_reward_error,
rewards, confidence, policies}. Each policy has {policy, effective_rows, mean_weight,
largest_weight, estimates}, and each estimate {estimator, value, error, low, high, any_time_low,
any_time_high, approximate_low, approximate_high}, and shrinkage also lambda (null for infinity: no
shrinkage).`

// NewEvaluatePolicyCommand makes "noregret evaluate-policy".
func NewEvaluatePolicyCommand(a *command.App) *cobra.Command {
	d := offpolicy.DefaultEvaluatorOptions(1)
	return command.New(a, &cobra.Command{
		Use:   "evaluate-policy LOG",
		Short: "Estimate the value of a policy from logged decisions of another",
		Long:  evaluatePolicyLong,
		Example: `  noregret evaluate-policy decisions.csv --policy uniform --policy 2 --max-weight 10

  # A policy from a file, on a log of Vowpal Wabbit with rewards up to 5
  echo '[0.1, 0.7, 0.2]' >policy.json
  noregret evaluate-policy --format dsjson --policy policy.json --rewards 0,5 decisions.dsjson.gz

  # An experiment of the service: what would the arm "large" have earned alone?
  noregret log export --data data >export.jsonl
  noregret evaluate-policy export.jsonl --policy large --json`,
		Args: oneLog,
	}, &evaluatePolicyOptions{
		log: logflags.New(), maxWeight: d.MaxWeight, clip: d.Clip, switchAt: d.Switch,
		confidence: 0.95,
	})
}

// oneLog requires the name of one log.
var oneLog = command.Args(1, "one LOG")

// AddFlags implements [command.Options].
func (o *evaluatePolicyOptions) AddFlags(f *pflag.FlagSet) {
	o.Output.AddFlags(f)
	o.log.AddFlags(f)
	f.StringArrayVar(&o.policies, "policy", o.policies,
		"uniform, target, an arm or a JSON file; may be given more than once")
	f.Float64Var(&o.maxWeight, "max-weight", o.maxWeight,
		"largest possible weight, at least 1; narrows the guaranteed intervals, and rows above "+
			"it are refused")
	f.Float64Var(&o.clip, "clip", o.clip, "clipped: the largest weight, above 0")
	f.Float64Var(&o.switchAt, "switch", o.switchAt, "switch: the weight above which predictions are used, above 0")
	f.Float64Var(&o.confidence, "confidence", o.confidence, "confidence of the intervals, between 0 and 1")
}

// Validate implements [command.Options].
func (o *evaluatePolicyOptions) Validate() error {
	switch {
	case !(o.confidence > 0 && o.confidence < 1):
		return command.OutOfRange("--confidence", o.confidence, "a number between 0 and 1")
	case !(o.maxWeight >= 1):
		return command.OutOfRange("--max-weight", o.maxWeight, "at least 1")
	case !(o.clip > 0) || !vec.IsFinite(o.clip):
		return command.OutOfRange("--clip", o.clip, "a finite number above 0")
	case !(o.switchAt > 0) || !vec.IsFinite(o.switchAt):
		return command.OutOfRange("--switch", o.switchAt, "a finite number above 0")
	}
	return o.log.Validate()
}

// policyValue is what --json prints of a policy.
type policyValue struct {
	Policy    string          `json:"policy"`
	Effective show.Number     `json:"effective_rows"`
	Mean      show.Number     `json:"mean_weight"`
	Largest   show.Number     `json:"largest_weight"`
	Estimates []valueEstimate `json:"estimates"`
}

type valueEstimate struct {
	Estimator    offpolicy.Method `json:"estimator"`
	Value        show.Number      `json:"value"`
	Error        show.Number      `json:"error"`
	Low          show.Number      `json:"low"`
	High         show.Number      `json:"high"`
	SequenceLow  show.Number      `json:"any_time_low"`
	SequenceHigh show.Number      `json:"any_time_high"`
	ApproxLow    show.Number      `json:"approximate_low"`
	ApproxHigh   show.Number      `json:"approximate_high"`
	Lambda       *show.Number     `json:"lambda,omitempty"` // of shrinkage
}

// policyReport is what --json prints.
type policyReport struct {
	Log        string        `json:"log"`
	Format     string        `json:"format"`
	Rows       int64         `json:"rows"`
	Skipped    int64         `json:"skipped"`
	Arms       int           `json:"arms"`
	Mean       show.Number   `json:"mean_reward"`
	MeanError  show.Number   `json:"mean_reward_error"`
	Rewards    []float64     `json:"rewards"`
	Confidence float64       `json:"confidence"`
	Policies   []policyValue `json:"policies"`
}

// Run implements [command.Options].
func (o *evaluatePolicyOptions) Run(ctx context.Context, a *command.App, args []string) error {
	facts, err := o.log.Survey(ctx, a, args[0])
	if err != nil {
		return err
	}
	low, high := o.log.RangeOf(facts)
	names := o.policies
	if len(names) == 0 {
		names = []string{"uniform"}
		if facts.Surveyed && facts.Targets {
			names[0] = "target"
		}
	}
	policies := make([]*candidate, 0, len(names))
	for _, name := range names {
		c, err := o.candidate(a, name, facts)
		if err != nil {
			return err
		}
		policies = append(policies, c)
	}
	var logged confseq.Sequence
	again, err := o.log.WithArms(facts.Arms).EachRow(ctx, a, args[0], func(r *offpolicy.Row) error {
		if !(r.Reward >= low && r.Reward <= high) {
			return noregret.BadInputf("", "the reward %v is outside the range [%v, %v]; state the range by --rewards",
				r.Reward, low, high)
		}
		for _, c := range policies {
			if err := c.add(r); err != nil {
				return err
			}
		}
		return logged.Add(r.Reward)
	})
	if err != nil {
		return err
	}
	if again.Rows == 0 {
		return noregret.BadInputf(args[0], "no decision: at least one is required")
	}
	report := policyReport{
		Log: args[0], Format: again.Format, Rows: again.Rows, Skipped: again.Skipped, Arms: facts.Arms,
		Mean: show.Number(logged.Mean), MeanError: show.Number(math.Sqrt(logged.Variance() / float64(logged.N))),
		Rewards: []float64{low, high}, Confidence: o.confidence,
	}
	for _, c := range policies {
		v, err := c.value(1 - o.confidence)
		if err != nil {
			return err
		}
		report.Policies = append(report.Policies, v)
	}
	if o.JSON {
		return show.JSON(a.Stdout, report)
	}
	return writePolicyReport(a.Stdout, &report)
}

// candidate is a policy to evaluate.
type candidate struct {
	name      string
	p         []float64 // nil for the target of the rows
	evaluator *offpolicy.Evaluator
}

// candidate finds the policy that a value of --policy names.
func (o *evaluatePolicyOptions) candidate(a *command.App, name string, facts *logflags.Facts) (*candidate, error) {
	options := offpolicy.EvaluatorOptions{
		Arms: facts.Arms, MaxWeight: o.maxWeight, Clip: o.clip, Switch: o.switchAt, Rows: facts.Rows,
	}
	options.Low, options.High = o.log.RangeOf(facts)
	e, err := offpolicy.NewEvaluator(options)
	if err != nil {
		return nil, err
	}
	c := &candidate{name: name, evaluator: e}
	if name == "target" {
		return c, nil
	}
	c.p = make([]float64, facts.Arms)
	if name == "uniform" {
		for k := range c.p {
			c.p[k] = 1 / float64(facts.Arms)
		}
		return c, nil
	}
	if k := facts.Arm(name); k >= 0 {
		c.p[k] = 1
		return c, nil
	}
	if !strings.ContainsAny(name, "./\\") {
		return nil, noregret.Errorf(noregret.Usage, "--policy",
			"%q: %swant uniform, target, a JSON file or one of the arms %s", name,
			facts.Near(name, "uniform", "target"), facts.ArmList())
	}
	text, err := a.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return c, readPolicy(name, text, c.p, facts)
}

// readPolicy reads a list of probabilities, or an object of arms and probabilities.
func readPolicy(name string, text []byte, p []float64, facts *logflags.Facts) error {
	var list []float64
	if err := json.Unmarshal(text, &list); err == nil {
		if len(list) != len(p) {
			return noregret.BadInputf(name, "%d probabilities for %d arms: want one for each arm", len(list), len(p))
		}
		copy(p, list)
	} else {
		var byArm map[string]float64
		if err := json.Unmarshal(text, &byArm); err != nil {
			return noregret.BadInputf(name, "want a list of probabilities, or an object of arms and probabilities: %w",
				err)
		}
		for arm, v := range byArm {
			k := facts.Arm(arm)
			if k < 0 {
				return noregret.BadInputf(name, "the arm %q is not one of %s", arm, facts.ArmList())
			}
			p[k] = v
		}
	}
	sum := 0.0
	for k, v := range p {
		if !(v >= 0 && v <= 1) {
			return noregret.BadInputf(name, "the probability %v of arm %s must be in [0, 1]", v, facts.ArmName(k))
		}
		sum += v
	}
	if math.Abs(sum-1) > 1e-6 {
		return noregret.BadInputf(name, "the probabilities sum to %v instead of 1", sum)
	}
	return nil
}

// add adds a row of the log.
func (c *candidate) add(r *offpolicy.Row) error {
	p := c.p
	if p == nil {
		if p = r.Target; len(p) == 0 {
			return noregret.BadInputf("",
				"the row has no probabilities of a target policy; --policy target needs them")
		}
	}
	return c.evaluator.Add(r, p, nil)
}

// value computes the estimates.
func (c *candidate) value(alpha float64) (policyValue, error) {
	w := c.evaluator.Weights()
	out := policyValue{
		Policy: c.name, Effective: show.Number(w.Effective), Mean: show.Number(w.Mean), Largest: show.Number(w.Largest),
	}
	for _, m := range offpolicy.Methods() {
		e, err := c.evaluator.Estimate(m, alpha)
		if err != nil {
			return out, err
		}
		v := valueEstimate{
			m, show.Number(e.Value), show.Number(e.StandardError), show.Number(e.OneLook.Low),
			show.Number(e.OneLook.High),
			show.Number(e.Sequence.Low), show.Number(e.Sequence.High), show.Number(e.Approximate.Low),
			show.Number(e.Approximate.High), nil,
		}
		if m == offpolicy.Shrinkage {
			lambda := show.Number(e.Lambda)
			v.Lambda = &lambda
		}
		out.Estimates = append(out.Estimates, v)
	}
	return out, nil
}

// writePolicyReport prints the report as text.
func writePolicyReport(w io.Writer, r *policyReport) error {
	rows := strconv.FormatInt(r.Rows, 10)
	if r.Skipped > 0 {
		rows += fmt.Sprintf(" and %d skipped", r.Skipped)
	}
	if err := show.KeyValues(w,
		"log", r.Log+", "+r.Format,
		"rows", rows,
		"arms", strconv.Itoa(r.Arms),
		"mean reward", fmt.Sprintf("%s, error %s", show.Short(float64(r.Mean)), show.Digits(r.MeanError, 2)),
	); err != nil {
		return err
	}
	interval := func(low, high show.Number) string {
		return fmt.Sprintf("[%s, %s]", show.Digits(low, 4), show.Digits(high, 4))
	}
	for _, p := range r.Policies {
		fmt.Fprintf(w, "\npolicy %s: %s effective rows, mean weight %s, largest %s\n", legible.Text(p.Policy),
			show.Short(math.Round(float64(p.Effective))), show.Digits(p.Mean, 4), show.Digits(p.Largest, 4))
		g := show.Table{Left: map[int]bool{3: true, 4: true, 5: true}}
		g.Add("estimator", "value", "error", "one look", "any time", "approximate")
		for _, e := range p.Estimates {
			g.Add(string(e.Estimator), show.Digits(e.Value, 4), show.Digits(e.Error, 2), interval(e.Low, e.High),
				interval(e.SequenceLow, e.SequenceHigh), interval(e.ApproxLow, e.ApproxHigh))
		}
		if err := g.Write(w); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "\nintervals with confidence %s: guaranteed at one look and at any time if the logged "+
		"probabilities\nare right; approximate is the value ± normal errors and guarantees nothing\n",
		show.Short(r.Confidence))
	return err
}
