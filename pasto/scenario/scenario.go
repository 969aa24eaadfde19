package scenario

import (
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto"
)

// Options are those of [Run].
type Options struct {
	// Scenario and Algorithm are names, of [Scenarios] and [catalogue.Algorithms]; "" is "a" and
	// "default". A scenario that ends in ".json" is the file of a [Problem].
	Scenario, Algorithm string
	// Runs and Rounds; 0 means the scenario's.
	Runs, Rounds int
	// Noise is the standard deviation σ of a group's metric, from 0 to 1e98, nil for the
	// scenario's. Scenarios on real data have their own noise and refuse it.
	Noise *float64
	// Seed is that of everything random. Equal seeds give equal results, for any number of workers.
	Seed uint64
	// Workers is the number of runs at a time, 0 for one per processor.
	Workers int
	// Checkpoints are the rounds to report, ascending, each from 1 to Rounds; none for PerDecade of
	// them in each power of ten, and Rounds; where the means change, four times as many, evenly.
	// PerDecade is 0 for 1, 2, 5, 10, ... and for 20 even ones.
	Checkpoints []int
	PerDecade   int
	// Change is the last round before the change of a drifting scenario, 0 for Rounds/2.
	Change int
	// Start is the share of the first arm in the starting mixture π_1, the rest uniform; 0 is
	// uniform. Only Algorithm 1 and S-SCGD have one.
	Start float64
	// Iterate is what is scored: "deployed" or "" for the learner's Deployed after the round,
	// "serving" for the distribution p_t of the round.
	Iterate string
	// Hard makes the guardrails hard; only "default" and "default-floor" take them. The objective
	// reported is then that without them, and the single arm to beat the best of those that hold
	// them.
	Hard bool
	// Threshold replaces that of every guardrail, nil for the scenario's. Scenarios on real data
	// and problems of a file have their own and refuse it.
	Threshold *float64
	// Users and Items are the size of the ratings to generate for "ranking", whatever there is in
	// Data; 0 for the data, or 700 and 1,500 where there are none.
	Users, Items int
	// Data is the directory of the real data sets (ml-latest-small-2015 and hillstrom below it); ""
	// or missing files: seeded data of the same shape.
	Data string
	// Progress is called after each run with the number done, from one goroutine at a time; nil for
	// none.
	Progress func(done, total int)
	// New makes the learner in place of Algorithm, nil for the named one.
	New func(f pasto.Objective, arms, rounds int, start []float64) (pasto.Learner, error)

	stream string // of the scenario
}

// Result is what [Run] found; its JSON is the contract of noregret simulate --json.
type Result struct {
	Scenario  string `json:"scenario"`
	Algorithm string `json:"algorithm"`
	Runs      int    `json:"runs"`
	Rounds    int    `json:"rounds"`
	// Noise is σ, 0 for real data.
	Noise float64 `json:"noise"`
	Seed  uint64  `json:"seed"`
	// Hard is whether a guardrail is hard, by the options or by a problem's file. Iterate
	// ("deployed" or "serving"), Threshold (null for the scenario's) and Start are those of the
	// options.
	Hard      bool     `json:"hard"`
	Iterate   string   `json:"iterate"`
	Threshold *float64 `json:"threshold"`
	Start     float64  `json:"start"`
	// Data says what the arms' means come from: "formula", "random", "file" or "generated".
	Data string `json:"data"`
	// BestSingle and Optimum are the means over runs of F_S and F*, under the means of the last
	// round reported. F* is certified by [optimum.Optimum.Gap] to 1e-9 of the size of the
	// objective's terms (of 1, where they are smaller), and to what rounding lets the gap be where
	// a guardrail is in large units; a run in which it is not fails. F_S is the largest of the
	// arms' values. With hard guardrails F_S is over the runs in which some arm holds them, and F*
	// over those in which some mixture does; NaN, in JSON null, where there is no such run.
	BestSingle Number `json:"best_single"`
	Optimum    Number `json:"optimum"`
	// At are the rounds reported.
	At []int `json:"at"`
	// Objective is F(p) of what is scored, Iterate, under the true means of the round, over runs.
	Objective Curve `json:"objective"`
	// Gain holds the relative gain R_t and the median ratio r_t.
	Gain Gain `json:"gain"`
	// Single is F_S and Best is F* of the round, over the runs that have them.
	Single Single `json:"single"`
	Best   Single `json:"best"`
	// Serving is the same of p_t, what was served to learn.
	Serving Serving `json:"serving"`
	// Violation is of the guardrails.
	Violation Violation `json:"violation"`
	// Infeasible tells of guardrails that no mixture can hold.
	Infeasible Infeasible `json:"infeasible"`
	// Crossing tells when the gain passes the marks for good.
	Crossing Crossing `json:"crossing"`
	// Distance is Optimum − mean objective, with the optimum of the round, over the runs that have
	// one.
	Distance Single `json:"distance"`
	// Mixture is that of the rounds At: the mean over runs where all runs have the same arms, that
	// of the first run otherwise.
	Mixture Mixture `json:"mixture"`
}

// Curve is a mean with standard deviation and quartiles over runs for each checkpoint.
type Curve struct {
	Mean   Series `json:"mean"`
	SD     Series `json:"sd"`
	Q25    Series `json:"q25"`
	Median Series `json:"median"`
	Q75    Series `json:"q75"`
}

// Gain is the relative gain for each checkpoint, signed: 1 is the optimum, 0 the best single arm,
// below 0 worse than it. Ratio is R = mean(F − F_S)/mean(F* − F_S) over runs, Median that of (F −
// F_S)/(F* − F_S) over runs with F* − F_S > 1e-3. Either is NaN, in JSON null, where it is not
// defined: no such run.
type Gain struct {
	Ratio Series `json:"ratio"`
	// Error is the standard error of Ratio, by the delta method: other runs, and other instances,
	// give another ratio.
	Error  Series `json:"error"`
	Median Series `json:"median"`
}

// Serving are objective, gain and violation of the distributions served.
type Serving struct {
	Objective Curve     `json:"objective"`
	Gain      Gain      `json:"gain"`
	Violation Violation `json:"violation"`
}

// Single is a mean over the runs that have such a number, and how many these are; NaN where there
// are none.
type Single struct {
	Mean Series `json:"mean"`
	Runs []int  `json:"runs"`
}

// Number is a number that may be NaN, which is null in JSON, as is one that has overflowed.
type Number float64

// MarshalJSON implements [json.Marshaler].
func (n Number) MarshalJSON() ([]byte, error) {
	if n-n != 0 {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// Series are numbers of which some may be NaN, which is null in JSON.
type Series []float64

// MarshalJSON implements [json.Marshaler].
func (s Series) MarshalJSON() ([]byte, error) {
	out := make([]Number, len(s))
	for i, v := range s {
		out[i] = Number(v)
	}
	return json.Marshal(out)
}

// Violation is, for each checkpoint, the mean over runs of the sum of the guardrails' violations,
// and the share of the runs in which some guardrail is broken by more than its slack.
type Violation struct {
	Mean  Series `json:"mean"`
	Share Series `json:"share"`
}

// Infeasible counts the runs whose guardrails no mixture holds under the true means of the last
// checkpoint, with the mean over them of the least total violation, and what falls short in the
// first of them. Reported are the runs in which the learner says so by its estimates, Sure those in
// which it is sure; algorithms other than the default do not tell.
type Infeasible struct {
	Runs      int       `json:"runs"`
	Violation float64   `json:"violation"`
	Metrics   []string  `json:"metrics"`
	By        []float64 `json:"by"`
	Reported  int       `json:"reported"`
	Sure      int       `json:"sure"`
}

// Crossing are rounds reported from which on the mean gain over the best single arm, of the runs
// that have one, stays above 0, and the ratio of gains at 0.95 or more; with hard guardrails these
// are broken in at most one run of twenty from there on. 0 where it does not at the end.
type Crossing struct {
	Single  int `json:"single"`
	Optimum int `json:"optimum"`
}

// Mixture is a mixture over time: Share[i][k] is arm k's at round At[i].
type Mixture struct {
	Of    string      `json:"of"`
	Arms  []string    `json:"arms"`
	Share [][]float64 `json:"share"`
}

// world is one run's environment. It belongs to one goroutine.
type world interface {
	objective() *pasto.Goals
	groups() int
	// means are the true ones in round t; they change at most at the round that changes says (0:
	// never).
	means(t int) *pasto.Table
	changes() int
	// observe writes the M metrics of each group.
	observe(t int, arms []int, dst []float64, r *random.Source)
}

// controlled is a world with a concurrent control group, whose metrics control writes after
// observe.
type controlled interface {
	control(t int, dst []float64, r *random.Source)
}

// sized is a world whose groups have several units, of which it knows the sample variances in the
// groups observed last.
type sized interface {
	size() float64
	variances() []float64
}

// delayed is a world whose observations come late, by a number of rounds.
type delayed interface{ delay() int }

// Spec describes a scenario.
type Spec struct {
	Name, Doc string
	// Rounds and Runs are the usual ones, Noise the usual σ (0 for real data).
	Rounds, Runs int
	Noise        float64
	common       bool // all runs have the same arms
	real         bool
	fixed        bool   // has thresholds of its own
	drift        bool   // the means change
	stream       string // names the streams of random numbers, "" for Name: of a file they are the same wherever it is
	prepare      func(o *Options) (build func(run int) (world, error), arms []string, data string, err error)
}

// Scenarios lists all scenarios by name.
func Scenarios() []Spec {
	return []Spec{
		toySpec(), toyDriftSpec(), toySwapSpec(), randomSpec(), randomDriftSpec(), rankingSpec(),
		hillstromSpec(),
	}
}

func find(name string) (Spec, error) {
	if name == "" {
		name = "a"
	}
	if strings.HasSuffix(name, ".json") {
		return problemSpec(name)
	}
	var names []string
	for _, s := range Scenarios() {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return Spec{}, usage("scenario", "%q: want one of %s, or the name of a .json file", name, strings.Join(names, ", "))
}

func usage(place, format string, args ...any) error {
	return noregret.Errorf(noregret.Usage, place, format, args...)
}

// complete fills in and checks the options.
func (o *Options) complete(s *Spec) error {
	o.Scenario, o.stream = s.Name, s.stream
	if o.stream == "" {
		o.stream = s.Name
	}
	if o.Algorithm == "" {
		o.Algorithm = "default"
	}
	if o.Runs == 0 {
		o.Runs = s.Runs
	}
	if o.Rounds == 0 {
		o.Rounds = s.Rounds
	}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	switch {
	case o.Runs < 1 || o.Runs > 10_000_000:
		return usage("runs", "%d: want 1 to 10,000,000", o.Runs)
	case o.Rounds < 1 || o.Rounds > 1_000_000_000:
		return usage("rounds", "%d: want 1 to 1e9", o.Rounds)
	case o.Workers < 1:
		return usage("workers", "%d: want at least 1", o.Workers)
	case o.Noise != nil && s.real:
		return usage("noise", "%v: scenario %q is real data and has its own noise", *o.Noise, s.Name)
	case o.Noise != nil && !(*o.Noise >= 0 && *o.Noise <= MostNoise):
		return usage("noise", "%v: want a finite standard deviation, at least 0 and at most %v", *o.Noise, MostNoise)
	case o.Threshold != nil && (s.real || s.fixed):
		return usage("threshold", "%v: scenario %q has thresholds of its own", *o.Threshold, s.Name)
	case o.Threshold != nil && !(math.Abs(*o.Threshold) <= mostMean):
		return usage("threshold", "%v: want a number of size at most %v", *o.Threshold, mostMean)
	case (o.Users != 0 || o.Items != 0) && s.Name != "ranking":
		return usage("users", "%d users and %d items: only scenario \"ranking\" has such", o.Users, o.Items)
	case o.Users < 0 || o.Users > 20_000 || o.Items < 0 || o.Items > 5_000 || (o.Users == 0) != (o.Items == 0):
		return usage("users", "%d users and %d items: want both, at most 20,000 and 5,000", o.Users, o.Items)
	case o.PerDecade < 0 || o.PerDecade > 1000:
		return usage("points", "%d in each power of ten: want 1 to 1000", o.PerDecade)
	case o.Change < 0 || o.Change > o.Rounds:
		return usage("change", "%d: want a round from 1 to %d, or 0 for half of them", o.Change, o.Rounds)
	case !(o.Start >= 0 && o.Start < 1):
		return usage("start", "%v: want the first arm's share, above 0 and below 1, or 0 for a uniform start", o.Start)
	case o.Iterate != "" && o.Iterate != "deployed" && o.Iterate != "serving":
		return usage("iterate", "%q: want deployed or serving", o.Iterate)
	}
	if o.Iterate == "" {
		o.Iterate = "deployed"
	}
	if o.Change == 0 {
		o.Change = o.Rounds / 2
	}
	if o.Noise == nil {
		n := s.Noise
		o.Noise = &n
	}
	if len(o.Checkpoints) == 0 {
		o.Checkpoints = spread(o.Rounds, o.PerDecade)
		if s.drift {
			o.Checkpoints = even(o.Rounds, o.PerDecade)
		}
	}
	for i, c := range o.Checkpoints {
		if c < 1 || c > o.Rounds || i > 0 && c <= o.Checkpoints[i-1] {
			return usage(fmt.Sprintf("checkpoints[%d]", i), "%d: want ascending rounds from 1 to %d", c, o.Rounds)
		}
	}
	return nil
}

// spread lists rounds from 1 to the last: n in each power of ten, evenly on a logarithmic scale, or
// 1, 2, 5 for n = 0.
func spread(rounds, n int) []int {
	var list []int
	for unit := 1; unit <= rounds; unit *= 10 {
		if n == 0 {
			list = append(list, unit, 2*unit, 5*unit)
		}
		for i := range n {
			list = append(list,
				int(math.Round(float64(float64(unit)*portable.Exp(float64(math.Ln10*float64(i)/float64(n)))))))
		}
	}
	slices.Sort(list)
	list = slices.DeleteFunc(slices.Compact(list), func(c int) bool { return c >= rounds })
	return append(list, rounds)
}

// even lists 4·n rounds evenly, 20 for n = 0.
func even(rounds, n int) []int {
	count := 4 * n
	if n == 0 {
		count = 20
	}
	var list []int
	for i := range count {
		list = append(list, max((i+1)*rounds/count, 1))
	}
	return slices.Compact(list)
}
