package scenario

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto"
)

// Options are those of [Run].
type Options struct {
	// Scenario and Algorithm are names, of [Scenarios] and [pasto.Algorithms]; "" is "a" and "default".
	Scenario, Algorithm string
	// Runs and Rounds; 0 means the scenario's.
	Runs, Rounds int
	// Noise is the standard deviation σ ≥ 0 of a group's metric, nil for the scenario's. Scenarios on real
	// data have their own noise and refuse it.
	Noise *float64
	// Seed is that of everything random. Equal seeds give equal results, for any number of workers.
	Seed uint64
	// Workers is the number of runs at a time, 0 for one per processor.
	Workers int
	// Checkpoints are the rounds to report, ascending, each from 1 to Rounds; nil for 1, 2, 5, 10, ... and
	// Rounds.
	Checkpoints []int
	// Change is the last round before the change of a drifting scenario, 0 for Rounds/2.
	Change int
	// Start is the share of the first arm in the starting mixture π_1, the rest uniform; 0 is uniform. Only
	// Algorithm 1 and S-SCGD have one.
	Start float64
	// Iterate is what is scored: "deployed" or "" for the learner's Deployed after the round, "serving" for
	// the distribution p_t of the round.
	Iterate string
	// Data is the directory of the real data sets (ml-latest-small-2015 and hillstrom below it); "" or missing
	// files: seeded data of the same shape.
	Data string
	// Progress is called after each run with the number done, from one goroutine at a time; nil for none.
	Progress func(done, total int)
	// New makes the learner in place of Algorithm, nil for the named one.
	New func(f pasto.Objective, arms, rounds int, start []float64) (pasto.Learner, error)
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
	// Data says what the arms' means come from: "formula", "random", "file" or "generated".
	Data string `json:"data"`
	// BestSingle and Optimum are the means over runs of F_S and F*, certified to 1e-9, under the means of the
	// last round.
	BestSingle float64 `json:"best_single"`
	Optimum    float64 `json:"optimum"`
	// At are the rounds reported.
	At []int `json:"at"`
	// Objective is F(p_t) under the true means of the round, over runs.
	Objective Curve `json:"objective"`
	// Gain is the spec's R_t and median r_t.
	Gain Gain `json:"gain"`
	// Violation is the sum of the guardrails' violations.
	Violation Mean `json:"violation"`
	// Distance is Optimum − mean objective, with the optimum of the round.
	Distance Mean `json:"distance"`
	// Mixture is that of the rounds At: the mean over runs where all runs have the same arms, that of the
	// first run otherwise.
	Mixture Mixture `json:"mixture"`
}

// Curve is a mean with standard deviation and quartiles over runs for each checkpoint.
type Curve struct {
	Mean []float64 `json:"mean"`
	SD   []float64 `json:"sd"`
	Q25  []float64 `json:"q25"`
	Q75  []float64 `json:"q75"`
}

// Mean is a mean over runs for each checkpoint.
type Mean struct {
	Mean []float64 `json:"mean"`
}

// Gain is the relative gain for each checkpoint, signed: 1 is the optimum, 0 the best single arm, below 0
// worse than it. Ratio is R = mean(F − F_S)/mean(F* − F_S) over runs, Median that of (F − F_S)/(F*
// − F_S) over runs with F* − F_S > 1e-3; 0 where there is none.
type Gain struct {
	Ratio  []float64 `json:"ratio"`
	Median []float64 `json:"median"`
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
	// means are the true ones in round t; they change at most at the round that changes says (0: never).
	means(t int) *pasto.Table
	changes() int
	// observe writes the M metrics of each group.
	observe(t int, arms []int, dst []float64, r *random.Source)
}

// Spec describes a scenario.
type Spec struct {
	Name, Doc string
	// Rounds and Runs are the usual ones, Noise the usual σ (0 for real data).
	Rounds, Runs int
	Noise        float64
	common       bool // all runs have the same arms
	real         bool
	prepare      func(o *Options) (build func(run int) (world, error), arms []string, data string, err error)
}

// Scenarios lists all scenarios by name.
func Scenarios() []Spec {
	return []Spec{toySpec(), toyDriftSpec(), toySwapSpec(), randomSpec(), randomDriftSpec(), rankingSpec(), hillstromSpec()}
}

func find(name string) (Spec, error) {
	if name == "" {
		name = "a"
	}
	var names []string
	for _, s := range Scenarios() {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return Spec{}, noregret.Errorf(noregret.NotFound, "scenario", "%q is unknown: want one of %s", name, strings.Join(names, ", "))
}

func usage(place, format string, args ...any) error {
	return noregret.Errorf(noregret.Usage, place, format, args...)
}

// complete fills in and checks the options.
func (o *Options) complete(s *Spec) error {
	o.Scenario = s.Name
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
	case o.Noise != nil && (!(*o.Noise >= 0) || math.IsInf(*o.Noise, 1)):
		return usage("noise", "%v: want a finite standard deviation, at least 0", *o.Noise)
	case o.Change < 0 || o.Change > o.Rounds:
		return usage("change", "%d: want a round from 1 to %d, or 0 for half of them", o.Change, o.Rounds)
	case !(o.Start >= 0 && o.Start <= 1):
		return usage("start", "%v: want the first arm's share, from 0 to 1", o.Start)
	case o.Iterate != "" && o.Iterate != "deployed" && o.Iterate != "serving":
		return usage("iterate", "%q: want deployed or serving", o.Iterate)
	}
	if o.Change == 0 {
		o.Change = o.Rounds / 2
	}
	if o.Noise == nil {
		n := s.Noise
		o.Noise = &n
	}
	if o.Checkpoints == nil {
		for unit := 1; unit <= o.Rounds; unit *= 10 {
			for _, c := range []int{unit, 2 * unit, 5 * unit} {
				if c < o.Rounds {
					o.Checkpoints = append(o.Checkpoints, c)
				}
			}
		}
		o.Checkpoints = append(o.Checkpoints, o.Rounds)
	}
	for i, c := range o.Checkpoints {
		if c < 1 || c > o.Rounds || i > 0 && c <= o.Checkpoints[i-1] {
			return usage(fmt.Sprintf("checkpoints[%d]", i), "%d: want ascending rounds from 1 to %d", c, o.Rounds)
		}
	}
	return nil
}

// outcome is what a run leaves.
type outcome struct {
	value, single, best, violation []float64
	share                          [][]float64
	err                            error
}

// Run plays the scenario Runs times and sums up. Runs are independent, each with streams of its own made
// from the seed and its number, and are summed in their order: the result does not depend on the number of
// workers. It stops with ctx's error when ctx ends.
func Run(ctx context.Context, o Options) (*Result, error) {
	spec, err := find(o.Scenario)
	if err != nil {
		return nil, err
	}
	if err := o.complete(&spec); err != nil {
		return nil, err
	}
	build, arms, data, err := spec.prepare(&o)
	if err != nil {
		return nil, err
	}
	out := make([]outcome, o.Runs)
	var next atomic.Int64
	var done int
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range min(o.Workers, o.Runs) {
		wg.Go(func() {
			for {
				run := int(next.Add(1)) - 1
				if run >= o.Runs || ctx.Err() != nil {
					return
				}
				out[run] = play(ctx, &o, build, run, spec.common || run == 0)
				mu.Lock()
				done++
				if o.Progress != nil {
					o.Progress(done, o.Runs)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for i := range out {
		if out[i].err != nil {
			return nil, fmt.Errorf("run %d: %w", i, out[i].err)
		}
	}
	r := summarize(&o, out)
	r.Data = data
	r.Mixture.Of, r.Mixture.Arms = "first run", arms
	if spec.common {
		r.Mixture.Of = "mean"
	}
	return r, nil
}

// play is one run.
func play(ctx context.Context, o *Options, build func(run int) (world, error), run int, keep bool) outcome {
	w, err := build(run)
	if err != nil {
		return outcome{err: err}
	}
	f, mu := w.objective(), w.means(1)
	var start []float64
	if o.Start > 0 && mu.Arms() > 1 {
		start = make([]float64, mu.Arms())
		for k := range start {
			start[k] = (1 - o.Start) / float64(len(start)-1)
		}
		start[0] = o.Start
	}
	var l pasto.Learner
	if o.New != nil {
		l, err = o.New(f, mu.Arms(), o.Rounds, start)
	} else {
		l, err = pasto.NewByName(o.Algorithm, f, mu.Arms(), o.Rounds, start)
	}
	if err != nil {
		return outcome{err: err}
	}
	truth, err := newTruth(f, mu)
	if err != nil {
		return outcome{err: err}
	}
	draws, noise := random.New(o.Seed, fmt.Sprintf("%s draws %d", o.Scenario, run)), random.New(o.Seed, fmt.Sprintf("%s noise %d", o.Scenario, run))
	q, m := w.groups(), mu.Metrics()
	arms, obs, values := make([]int, q), make([]pasto.Observation, q), make([]float64, q*m)
	served := make([]float64, mu.Arms())
	var out outcome
	at := 0
	for t := 1; t <= o.Rounds && at < len(o.Checkpoints); t++ {
		if t%256 == 0 && ctx.Err() != nil {
			return outcome{err: ctx.Err()}
		}
		if c := w.changes(); c > 0 && t == c+1 {
			if truth, err = newTruth(f, w.means(t)); err != nil {
				return outcome{err: err}
			}
		}
		check := t == o.Checkpoints[at]
		if check {
			copy(served, l.Serving())
		}
		l.Draw(draws, arms)
		w.observe(t, arms, values, noise)
		for i, k := range arms {
			obs[i] = pasto.Observation{Arm: k, Metrics: values[i*m : (i+1)*m : (i+1)*m]}
		}
		if err := l.Observe(obs); err != nil {
			return outcome{err: err}
		}
		if !check {
			continue
		}
		at++
		p := l.Deployed()
		if o.Iterate == "serving" {
			p = served
		}
		value, violation := truth.score(p)
		out.value = append(out.value, value)
		out.violation = append(out.violation, violation)
		out.single = append(out.single, truth.single)
		out.best = append(out.best, truth.best)
		if keep {
			out.share = append(out.share, slices.Clone(p))
		}
	}
	return out
}

// truth is what is known of a world by its maker.
type truth struct {
	f            *pasto.Goals
	means        *pasto.Table
	single, best float64
	theta, v     []float64
}

func newTruth(f *pasto.Goals, means *pasto.Table) (*truth, error) {
	_, single, err := pasto.BestSingle(f, means)
	if err != nil {
		return nil, err
	}
	best, err := pasto.Maximize(f, means, pasto.SolverOptions{})
	if err != nil {
		return nil, err
	}
	if best.Gap > 1e-6 {
		return nil, noregret.Errorf(noregret.Internal, "optimum", "it is certified to %v only", best.Gap)
	}
	return &truth{f, means, single, best.Value, make([]float64, means.Metrics()), make([]float64, means.Metrics())}, nil
}

func (t *truth) score(p []float64) (value, violation float64) {
	t.means.Mean(t.theta, p)
	return t.f.Value(t.theta), t.f.Violations(t.v, t.theta)
}

// summarize makes the result of the outcomes, in their order.
func summarize(o *Options, out []outcome) *Result {
	n := len(o.Checkpoints)
	r := &Result{Scenario: o.Scenario, Algorithm: o.Algorithm, Runs: o.Runs, Rounds: o.Rounds, Noise: *o.Noise, Seed: o.Seed, At: o.Checkpoints}
	runs := float64(len(out))
	var values, ratios []float64
	for i := range n {
		var value, single, best, violation float64
		values, ratios = values[:0], ratios[:0]
		for j := range out {
			x := &out[j]
			value += x.value[i]
			single += x.single[i]
			best += x.best[i]
			violation += x.violation[i]
			values = append(values, x.value[i])
			if gap := x.best[i] - x.single[i]; gap > 1e-3 {
				ratios = append(ratios, (x.value[i]-x.single[i])/gap)
			}
		}
		mean, square := value/runs, 0.0
		for _, v := range values {
			square += float64((v - mean) * (v - mean))
		}
		r.Objective.SD = append(r.Objective.SD, math.Sqrt(square/max(runs-1, 1)))
		slices.Sort(values)
		slices.Sort(ratios)
		r.Objective.Mean = append(r.Objective.Mean, value/runs)
		r.Objective.Q25 = append(r.Objective.Q25, quantile(values, 0.25))
		r.Objective.Q75 = append(r.Objective.Q75, quantile(values, 0.75))
		ratio := 0.0
		if best > single {
			ratio = (value - single) / (best - single)
		}
		r.Gain.Ratio = append(r.Gain.Ratio, ratio)
		r.Gain.Median = append(r.Gain.Median, quantile(ratios, 0.5))
		r.Violation.Mean = append(r.Violation.Mean, violation/runs)
		r.Distance.Mean = append(r.Distance.Mean, (best-value)/runs)
		r.BestSingle, r.Optimum = single/runs, best/runs
		var share []float64
		for j := range out {
			if out[j].share == nil {
				continue
			}
			if share == nil {
				share = make([]float64, len(out[j].share[i]))
			}
			for k, v := range out[j].share[i] {
				share[k] += v
			}
			if j == len(out)-1 {
				for k := range share {
					share[k] /= runs
				}
			}
		}
		r.Mixture.Share = append(r.Mixture.Share, share)
	}
	return r
}

// quantile interpolates linearly between sorted values (type 7 of Hyndman and Fan); 0 for none.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	x := float64(q * float64(len(sorted)-1))
	i := int(x)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + float64((x-float64(i))*(sorted[i+1]-sorted[i]))
}
