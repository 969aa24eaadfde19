package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/bandit/offpolicy"
	"github.com/noregret/noregret/confseq"
	"github.com/noregret/noregret/internal/legible"
	"github.com/noregret/noregret/internal/vec"
)

// evaluatePolicyOptions are the flags of "noregret evaluate-policy".
type evaluatePolicyOptions struct {
	outputOptions
	log                       *logFlags
	policies                  []string
	maxWeight, clip, switchAt float64
	confidence                float64
}

const evaluatePolicyLong = `Estimate from logged decisions what another policy would have earned: its mean reward. The log
must hold the probability with which each arm was chosen.

` + logHelp + `

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

// newEvaluatePolicyCommand makes "noregret evaluate-policy".
func newEvaluatePolicyCommand(a *app) *cobra.Command {
	d := offpolicy.DefaultOptions(1)
	return newCommand(a, &cobra.Command{
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
		log: newLogFlags(), maxWeight: d.MaxWeight, clip: d.Clip, switchAt: d.Switch,
		confidence: 0.95,
	})
}

// oneLog requires the name of one log.
func oneLog(cmd *cobra.Command, args []string) error {
	if len(args) == 1 {
		return nil
	}
	return noregret.Errorf(noregret.Usage, "", "%s takes one LOG, got %d arguments", cmd.Name(), len(args))
}

// AddFlags implements options.
func (o *evaluatePolicyOptions) AddFlags(f *pflag.FlagSet) {
	o.outputOptions.AddFlags(f)
	o.log.addFlags(f)
	f.StringArrayVar(&o.policies, "policy", o.policies,
		"uniform, target, an arm or a JSON file; may be given more than once")
	f.Float64Var(&o.maxWeight, "max-weight", o.maxWeight,
		"largest possible weight, at least 1; narrows the guaranteed intervals, and rows above "+
			"it are refused")
	f.Float64Var(&o.clip, "clip", o.clip, "clipped: the largest weight, above 0")
	f.Float64Var(&o.switchAt, "switch", o.switchAt, "switch: the weight above which predictions are used, above 0")
	f.Float64Var(&o.confidence, "confidence", o.confidence, "confidence of the intervals, between 0 and 1")
}

// Validate implements options.
func (o *evaluatePolicyOptions) Validate() error {
	switch {
	case !(o.confidence > 0 && o.confidence < 1):
		return outOfRange("--confidence", o.confidence, "a number between 0 and 1")
	case !(o.maxWeight >= 1):
		return outOfRange("--max-weight", o.maxWeight, "at least 1")
	case !(o.clip > 0) || !vec.IsFinite(o.clip):
		return outOfRange("--clip", o.clip, "a finite number above 0")
	case !(o.switchAt > 0) || !vec.IsFinite(o.switchAt):
		return outOfRange("--switch", o.switchAt, "a finite number above 0")
	}
	return o.log.validate()
}

// policyValue is what --json prints of a policy.
type policyValue struct {
	Policy    string          `json:"policy"`
	Effective number          `json:"effective_rows"`
	Mean      number          `json:"mean_weight"`
	Largest   number          `json:"largest_weight"`
	Estimates []valueEstimate `json:"estimates"`
}

type valueEstimate struct {
	Estimator    offpolicy.Method `json:"estimator"`
	Value        number           `json:"value"`
	Error        number           `json:"error"`
	Low          number           `json:"low"`
	High         number           `json:"high"`
	SequenceLow  number           `json:"any_time_low"`
	SequenceHigh number           `json:"any_time_high"`
	ApproxLow    number           `json:"approximate_low"`
	ApproxHigh   number           `json:"approximate_high"`
	Lambda       *number          `json:"lambda,omitempty"` // of shrinkage
}

// policyReport is what --json prints.
type policyReport struct {
	Log        string        `json:"log"`
	Format     string        `json:"format"`
	Rows       int64         `json:"rows"`
	Skipped    int64         `json:"skipped"`
	Arms       int           `json:"arms"`
	Mean       number        `json:"mean_reward"`
	MeanError  number        `json:"mean_reward_error"`
	Rewards    []float64     `json:"rewards"`
	Confidence float64       `json:"confidence"`
	Policies   []policyValue `json:"policies"`
}

// Run implements options.
func (o *evaluatePolicyOptions) Run(ctx context.Context, a *app, args []string) error {
	facts, err := a.survey(ctx, o.log, args[0])
	if err != nil {
		return err
	}
	low, high := o.log.rangeOf(facts)
	names := o.policies
	if len(names) == 0 {
		names = []string{"uniform"}
		if facts.surveyed && facts.targets {
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
	again, err := a.eachRow(ctx, o.log.withArms(facts.arms), args[0], func(r *offpolicy.Row) error {
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
	if again.rows == 0 {
		return noregret.BadInputf(args[0], "no decision: at least one is required")
	}
	report := policyReport{
		Log: args[0], Format: again.format, Rows: again.rows, Skipped: again.skipped, Arms: facts.arms,
		Mean: number(logged.Mean), MeanError: number(math.Sqrt(logged.Variance() / float64(logged.N))),
		Rewards: []float64{low, high}, Confidence: o.confidence,
	}
	for _, c := range policies {
		v, err := c.value(1 - o.confidence)
		if err != nil {
			return err
		}
		report.Policies = append(report.Policies, v)
	}
	if o.json {
		return writeJSON(a.stdout, report)
	}
	return writePolicyReport(a.stdout, &report)
}

// candidate is a policy to evaluate.
type candidate struct {
	name      string
	p         []float64 // nil for the target of the rows
	evaluator *offpolicy.Evaluator
}

// candidate finds the policy that a value of --policy names.
func (o *evaluatePolicyOptions) candidate(a *app, name string, facts *logFacts) (*candidate, error) {
	options := offpolicy.Options{
		Arms: facts.arms, MaxWeight: o.maxWeight, Clip: o.clip, Switch: o.switchAt, Rows: facts.rows,
	}
	options.Low, options.High = o.log.rangeOf(facts)
	e, err := offpolicy.NewEvaluator(options)
	if err != nil {
		return nil, err
	}
	c := &candidate{name: name, evaluator: e}
	if name == "target" {
		return c, nil
	}
	c.p = make([]float64, facts.arms)
	if name == "uniform" {
		for k := range c.p {
			c.p[k] = 1 / float64(facts.arms)
		}
		return c, nil
	}
	if k := facts.arm(name); k >= 0 {
		c.p[k] = 1
		return c, nil
	}
	if !strings.ContainsAny(name, "./\\") {
		return nil, noregret.Errorf(noregret.Usage, "--policy",
			"%q: want uniform, target, a JSON file or one of the arms %s", name, facts.armList())
	}
	text, err := a.readFile(name)
	if err != nil {
		return nil, err
	}
	return c, readPolicy(name, text, c.p, facts)
}

// readPolicy reads a list of probabilities, or an object of arms and probabilities.
func readPolicy(name string, text []byte, p []float64, facts *logFacts) error {
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
			k := facts.arm(arm)
			if k < 0 {
				return noregret.BadInputf(name, "the arm %q is not one of %s", arm, facts.armList())
			}
			p[k] = v
		}
	}
	sum := 0.0
	for k, v := range p {
		if !(v >= 0 && v <= 1) {
			return noregret.BadInputf(name, "the probability %v of arm %s must be in [0, 1]", v, facts.armName(k))
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
		Policy: c.name, Effective: number(w.Effective), Mean: number(w.Mean), Largest: number(w.Largest),
	}
	for _, m := range offpolicy.Methods() {
		e, err := c.evaluator.Estimate(m, alpha)
		if err != nil {
			return out, err
		}
		v := valueEstimate{
			m, number(e.Value), number(e.StandardError), number(e.OneLook.Low), number(e.OneLook.High),
			number(e.Sequence.Low), number(e.Sequence.High), number(e.Approximate.Low), number(e.Approximate.High), nil,
		}
		if m == offpolicy.Shrinkage {
			lambda := number(e.Lambda)
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
	if err := keyValues(w,
		"log", r.Log+", "+r.Format,
		"rows", rows,
		"arms", strconv.Itoa(r.Arms),
		"mean reward", fmt.Sprintf("%s, error %s", short(float64(r.Mean)), twoDigits(r.MeanError)),
	); err != nil {
		return err
	}
	interval := func(low, high number) string { return fmt.Sprintf("[%s, %s]", fourDigits(low), fourDigits(high)) }
	for _, p := range r.Policies {
		fmt.Fprintf(w, "\npolicy %s: %s effective rows, mean weight %s, largest %s\n", legible.Text(p.Policy),
			short(math.Round(float64(p.Effective))), fourDigits(p.Mean), fourDigits(p.Largest))
		g := table{left: map[int]bool{3: true, 4: true, 5: true}}
		g.add("estimator", "value", "error", "one look", "any time", "approximate")
		for _, e := range p.Estimates {
			g.add(string(e.Estimator), fourDigits(e.Value), twoDigits(e.Error), interval(e.Low, e.High),
				interval(e.SequenceLow, e.SequenceHigh), interval(e.ApproxLow, e.ApproxHigh))
		}
		if err := g.write(w); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "\nintervals with confidence %s: guaranteed at one look and at any time if the logged "+
		"probabilities\nare right; approximate is the value ± normal errors and guarantees nothing\n",
		short(r.Confidence))
	return err
}

// fourDigits and twoDigits write a number with significant digits, "-" if it is not finite.
func fourDigits(v number) string { return digits(v, 4) }

func twoDigits(v number) string { return digits(v, 2) }

func digits(v number, n int) string {
	if x := float64(v); x-x != 0 {
		return "-"
	}
	return strconv.FormatFloat(float64(v), 'g', n, 64)
}

// arm returns the index of an arm by its name or number, −1 for none.
func (f *logFacts) arm(name string) int {
	if k := slices.Index(f.names, name); k >= 0 {
		return k
	}
	if k, err := strconv.Atoi(name); err == nil && k >= 0 && k < f.arms {
		return k
	}
	return -1
}

// armList names the arms.
func (f *logFacts) armList() string {
	if len(f.names) > 0 {
		return listed(f.names)
	}
	return fmt.Sprintf("0 to %d", f.arms-1)
}
