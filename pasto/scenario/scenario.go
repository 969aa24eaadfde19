package scenario

import (
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/named"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto"
)

// Options are the parameters of [Run] and [Play]. Start from [DefaultOptions].
type Options struct {
	// Scenario and Algorithm are names from [Scenarios] and [catalogue.Algorithms]. A scenario name
	// that ends in ".json" is the path of a [Problem].
	Scenario, Algorithm string
	// Runs is the number of runs, from 1 to 10,000,000, and Rounds the length of each, from 1 to
	// 1e9.
	Runs, Rounds int
	// Noise is the standard deviation σ of a group's metric, from 0 to 1e98; nil takes the
	// scenario's. Scenarios on real data refuse it, as their noise is that of the data.
	Noise *float64
	// Seed determines all random numbers. Equal seeds give equal results for any number of workers.
	Seed uint64
	// Workers is the number of concurrent runs. Zero means one per processor.
	Workers int
	// Checkpoints are the rounds to report, ascending, each from 1 to Rounds. If there are none,
	// PerDecade rounds in each power of ten are reported, and the last round; in a scenario whose
	// means change, 4·PerDecade evenly spaced rounds. If PerDecade is 0 too, the rounds are 1, 2,
	// 5, 10, ..., or 20 evenly spaced ones.
	Checkpoints []int
	PerDecade   int
	// Change is the last round before the means of a drifting scenario change, from 1 to Rounds;
	// nil means Rounds/2.
	Change *int
	// Start is the share of the first arm in the starting mixture π_1, above 0 and below 1; the
	// other arms have equal shares. Nil starts uniformly. Only Algorithm 1 and S-SCGD have a
	// starting mixture.
	Start *float64
	// Iterate selects the mixture to score: "deployed" is the learner's Deployed after the round,
	// "serving" the distribution p_t served in it.
	Iterate string
	// Hard makes the guardrails hard, which only the default algorithms support. The
	// reported objective then leaves them out, and the best single arm is the best of those that
	// hold them.
	Hard bool
	// Threshold replaces the threshold of every guardrail unless it is nil. Scenarios on real data
	// and problems from a file refuse it.
	Threshold *float64
	// Users and Items are the numbers of users and items to generate ratings for in "ranking". Zero
	// for both uses the ratings in Data.
	Users, Items int
	// Data is the directory that holds the real data sets, ml-latest-small-2015 and hillstrom. If
	// it is "" or a file is missing, data of the same shape are generated from the seed: for
	// "ranking" 700 users and 1,500 items.
	Data string
	// Progress, if not nil, is called after each run, from one goroutine at a time.
	Progress func(done, total int)
	// New, if not nil, makes the learner in place of Algorithm.
	New func(f pasto.Objective, arms, rounds int, start []float64) (pasto.Learner, error)
	// Controlled, if not nil, makes the learner of an algorithm in worlds with a control arm, as
	// the service does: it observes the raw values of every arm, and keeps what it serves within
	// hard guardrails. It returns nil for an algorithm that compares with a control group beside
	// its arms, which all do without Controlled and with New or Start.
	Controlled func(algorithm string, f *pasto.Goals, arms, control int) (pasto.Learner, error)

	stream string // names the scenario's streams of random numbers
}

// DefaultOptions are [Spec.Options] of the scenario of that name. It returns an error for an
// unknown scenario, and for a file that is not a [Problem].
func DefaultOptions(scenario string) (Options, error) {
	s, err := find(scenario)
	if err != nil {
		return Options{}, err
	}
	return s.Options(), nil
}

// Result is the result of [Run]. Its JSON form is the output of noregret simulate --json.
type Result struct {
	Scenario  string `json:"scenario"`
	Algorithm string `json:"algorithm"`
	Runs      int    `json:"runs"`
	Rounds    int    `json:"rounds"`
	// Noise is σ, 0 for real data.
	Noise float64 `json:"noise"`
	Seed  uint64  `json:"seed"`
	// Hard reports whether any guardrail is hard. Iterate ("deployed" or "serving"), Threshold
	// (null if the scenario's was used) and Start (0 if it was uniform) are taken from the options.
	Hard      bool     `json:"hard"`
	Iterate   string   `json:"iterate"`
	Threshold *float64 `json:"threshold"`
	Start     float64  `json:"start"`
	// Data is the source of the arms' means: "formula", "random", "file" or "generated".
	Data string `json:"data"`
	// BestSingle and Optimum are the averages over runs of F_S, the value of the best single arm,
	// and F*, the value of the best mixture, under the means of the last round reported. F* is
	// certified by [optimum.Optimum.Gap] to 1e-9 of the size of the objective's terms, or of 1 if
	// that is larger, plus what rounding may add in large units; [Run] fails if it is not. With
	// hard guardrails F_S averages the runs in which some arm holds them and F* those in which some
	// mixture does. An average over no runs is NaN, null in JSON.
	BestSingle Number `json:"best_single"`
	Optimum    Number `json:"optimum"`
	// At are the rounds reported.
	At []int `json:"at"`
	// Objective describes F(p) over runs, for the mixture that Iterate selects and the true means
	// of the round.
	Objective Curve `json:"objective"`
	// Gain is the gain relative to F_S and F*.
	Gain Gain `json:"gain"`
	// Single is the average F_S and Best the average F* of each round.
	Single Single `json:"single"`
	Best   Single `json:"best"`
	// Serving describes the distributions p_t that were served.
	Serving Serving `json:"serving"`
	// Violation describes the violations of the guardrails.
	Violation Violation `json:"violation"`
	// Infeasible counts the runs whose guardrails no mixture can hold.
	Infeasible Infeasible `json:"infeasible"`
	// Crossing holds the rounds from which on the gain stays high.
	Crossing Crossing `json:"crossing"`
	// Distance is the average of F* − F(p), with F* of the round, over the runs that have an F*.
	Distance Single `json:"distance"`
	// Mixture is the mixture at the rounds At: its mean over runs if all runs have the same arms,
	// otherwise that of the first run.
	Mixture Mixture `json:"mixture"`
}

// Curve holds the mean, standard deviation and quartiles over runs at each checkpoint.
type Curve struct {
	Mean   Series `json:"mean"`
	SD     Series `json:"sd"`
	Q25    Series `json:"q25"`
	Median Series `json:"median"`
	Q75    Series `json:"q75"`
}

// Gain is the relative gain at each checkpoint: 1 at the optimum, 0 at the best single arm and
// negative below it. Ratio is R = mean(F − F_S)/mean(F* − F_S) over runs, and Median the median of
// (F − F_S)/(F* − F_S) over the runs with F* − F_S > 1e-3. Either is NaN, null in JSON, if there is
// no such run.
type Gain struct {
	Ratio Series `json:"ratio"`
	// Error is the standard error of Ratio over runs and instances, by the delta method.
	Error  Series `json:"error"`
	Median Series `json:"median"`
	// Each holds the runs' own gains at each checkpoint, of which Median is the median, ascending.
	Each [][]float64 `json:"-"`
}

// Serving holds objective, gain and violation of the distributions served.
type Serving struct {
	Objective Curve     `json:"objective"`
	Gain      Gain      `json:"gain"`
	Violation Violation `json:"violation"`
}

// Single is the mean of a number over the runs in which it is defined, NaN if there are none, and
// the number of these runs.
type Single struct {
	Mean Series `json:"mean"`
	Runs []int  `json:"runs"`
}

// Number is a number that is null in JSON if it is not finite.
type Number float64

// MarshalJSON implements [json.Marshaler].
func (n Number) MarshalJSON() ([]byte, error) {
	if n-n != 0 {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// Series is a list of numbers, each null in JSON if it is not finite.
type Series []float64

// MarshalJSON implements [json.Marshaler].
func (s Series) MarshalJSON() ([]byte, error) {
	out := make([]Number, len(s))
	for i, v := range s {
		out[i] = Number(v)
	}
	return json.Marshal(out)
}

// Violation holds, for each checkpoint, the mean over runs of the sum of violations, and the share
// of runs in which some guardrail is violated by more than its slack.
type Violation struct {
	Mean  Series `json:"mean"`
	Share Series `json:"share"`
}

// Infeasible describes the runs whose guardrails no mixture holds under the true means of the last
// checkpoint: their number, the mean of the least total violation, and the metrics violated in the
// first of them and by how much. Reported counts the runs in which the learner's estimates say that
// the guardrails cannot be held, Sure those in which it is confident of it. Only the default
// algorithm reports either.
type Infeasible struct {
	Runs      int       `json:"runs"`
	Violation float64   `json:"violation"`
	Metrics   []string  `json:"metrics"`
	By        []float64 `json:"by"`
	Reported  int       `json:"reported"`
	Sure      int       `json:"sure"`
}

// Crossing holds the first reported rounds from which on the gain stays high, 0 if it is not high
// at the end. From Single on the mean gain over the best single arm is above 0; from Optimum on the
// ratio of gains is at least 0.95. Hard guardrails must also be held in 95 % of the runs.
type Crossing struct {
	Single  int `json:"single"`
	Optimum int `json:"optimum"`
}

// Mixture is a mixture over time: Share[i][k] is the share of arm k at round At[i].
type Mixture struct {
	Of    string      `json:"of"`
	Arms  []string    `json:"arms"`
	Share [][]float64 `json:"share"`
}

// World is one run's environment. It belongs to one goroutine. It may also implement [Sized] and
// [Phased].
type World interface {
	// Objective is what a mixture is valued by.
	Objective() *pasto.Goals
	// Groups is the number of groups that each get an arm in a round.
	Groups() int
	// Means returns the true means in round t, counted from 1. They change only after round
	// Changes(), never if that is 0, and where a [Phased] world says so.
	Means(t int) *pasto.Table
	Changes() int
	// Observe writes the M metrics of each group of round t, whose arms are given, one group after
	// another.
	Observe(t int, arms []int, dst []float64, r *random.Source)
}

// Phased is a World whose means change several times.
type Phased interface {
	// Begins reports whether other means begin in round t.
	Begins(t int) bool
}

// Sized is a World whose groups have several units.
type Sized interface {
	// Size is the number of units of a group.
	Size() float64
	// Variances are the sample variances of the units' values, by group and metric, in the groups
	// observed last.
	Variances() []float64
}

// grouped is a world with a concurrent control group, whose metrics control writes after
// observe.
type grouped interface {
	control(t int, dst []float64, r *random.Source)
}

// armed is a world whose control group is served one of the arms, −1 for none.
type armed interface{ controlArm() int }

// splitting is a world whose units each get an arm by a mixture, as in the service: split returns
// an observation of each arm that got units in round t.
type splitting interface {
	split(t int, p []float64, draws, noise *random.Source) []pasto.Observation
}

// delayed is a world whose observations come late, by a number of rounds.
type delayed interface{ delay() int }

// Spec describes a scenario.
type Spec struct {
	Name, Doc string
	// Rounds, Runs and Noise are the defaults of the [Options]; Noise is 0 for real data.
	Rounds, Runs int
	Noise        float64
	// Common is set if all runs have the same arms, Real if the noise is that of data, Fixed if the
	// thresholds cannot be changed, and Drift if the means change.
	Common, Real, Fixed, Drift bool
	// Prepare returns the maker of the runs' worlds, the names of the arms, and the source of their
	// means (see [Result]). The options are complete. The maker is called by several goroutines.
	Prepare func(o *Options) (build func(run int) (World, error), arms []string, data string, err error)

	stream string // names the streams of random numbers; Name if empty
}

// Options are the options of the scenario with its own numbers of runs and rounds and its own
// noise, played by the default learner, whose deployed mixture is scored.
func (s *Spec) Options() Options {
	return Options{Scenario: s.Name, Algorithm: "default", Runs: s.Runs, Rounds: s.Rounds, Iterate: "deployed"}
}

// Scenarios lists all scenarios by name.
func Scenarios() []Spec {
	return []Spec{
		toySpec(), toyDriftSpec(), toySwapSpec(), randomSpec(), randomDriftSpec(), rankingSpec(),
		hillstromSpec(),
	}
}

func find(name string) (Spec, error) {
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
	return Spec{}, usage("scenario", "%s, or the name of a .json file", named.Unknown(name, names))
}

func usage(place, format string, args ...any) error {
	return noregret.Errorf(noregret.Usage, place, format, args...)
}

// complete checks the options and fills in those left out.
func (o *Options) complete(s *Spec) error {
	o.Scenario, o.stream = s.Name, s.stream
	if o.stream == "" {
		o.stream = s.Name
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
	case o.Noise != nil && s.Real:
		return usage("noise", "%v: scenario %q is real data and has its own noise", *o.Noise, s.Name)
	case o.Noise != nil && !(*o.Noise >= 0 && *o.Noise <= MostNoise):
		return usage("noise", "%v: want a finite standard deviation, at least 0 and at most %v", *o.Noise, MostNoise)
	case o.Threshold != nil && (s.Real || s.Fixed):
		return usage("threshold", "%v: scenario %q has thresholds of its own", *o.Threshold, s.Name)
	case o.Threshold != nil && !(math.Abs(*o.Threshold) <= mostMean):
		return usage("threshold", "%v: want a number of size at most %v", *o.Threshold, mostMean)
	case (o.Users != 0 || o.Items != 0) && s.Name != "ranking":
		return usage("users", "%d users and %d items: only scenario \"ranking\" has users and items", o.Users, o.Items)
	case o.Users < 0 || o.Users > 20_000 || o.Items < 0 || o.Items > 5_000 || (o.Users == 0) != (o.Items == 0):
		return usage("users", "%d users and %d items: want both, at most 20,000 and 5,000", o.Users, o.Items)
	case o.PerDecade < 0 || o.PerDecade > 1000:
		return usage("points", "%d in each power of ten: want 1 to 1000", o.PerDecade)
	case o.Change != nil && (*o.Change < 1 || *o.Change > o.Rounds):
		return usage("change", "%d: want a round from 1 to %d", *o.Change, o.Rounds)
	case o.Start != nil && !(*o.Start > 0 && *o.Start < 1):
		return usage("start", "%v: want the first arm's share, above 0 and below 1", *o.Start)
	case o.Iterate != "deployed" && o.Iterate != "serving":
		return usage("iterate", "%q: want deployed or serving", o.Iterate)
	}
	if o.Change == nil {
		o.Change = new(o.Rounds / 2)
	}
	if o.Noise == nil {
		n := s.Noise
		o.Noise = &n
	}
	if len(o.Checkpoints) == 0 {
		o.Checkpoints = spread(o.Rounds, o.PerDecade)
		if s.Drift {
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

// spread lists n rounds in each power of ten, evenly on a logarithmic scale, and the last round;
// for n = 0 the rounds 1, 2, 5, 10, ...
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

// even lists 4·n evenly spaced rounds, 20 for n = 0.
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
