package noisysums

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/internal/parallel"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/confident"
	"github.com/noregret/noregret/pasto/released"
	"github.com/noregret/noregret/pasto/scenario"
	"github.com/noregret/noregret/private/aggregate"
)

// A World is the experiment that is measured: arms with two rates each, of conversions, which are
// to rise, and of complaints, under a hard guardrail. Arm 0 is the control.
type World struct {
	Conversions, Complaints []float64
	// Limit is the largest rate of complaints.
	Limit float64
}

// DefaultWorld returns a world of 2 to 10 arms. The rate of conversions is 5 % at the control and
// spread evenly from 4.5 % to 6.5 % over the others. Complaints are 2 % at the control and rise
// from 1.6 % to 3.2 % with the conversions of the others, with a limit of 2.6 %. So the arm that
// converts best breaks the guardrail, and the best mixture has a part of it.
func DefaultWorld(arms int) (World, error) {
	if arms < 2 || arms > 10 {
		return World{}, noregret.BadInputf("arms", "%d: want 2 to 10", arms)
	}
	w := World{Limit: 0.026, Conversions: []float64{0.05}, Complaints: []float64{0.02}}
	for k := 1; k < arms; k++ {
		x := 1.0
		if arms > 2 {
			x = float64(k-1) / float64(arms-2)
		}
		w.Conversions = append(w.Conversions, 0.045+float64(0.020*x))
		w.Complaints = append(w.Complaints, 0.016+float64(0.016*x))
	}
	return w, nil
}

// Arms returns the number of arms.
func (w *World) Arms() int { return len(w.Conversions) }

// Goals returns the objective.
func (w *World) Goals() (*pasto.Goals, error) {
	return pasto.NewGoals([]pasto.Metric{
		{Name: "conversion", Upper: 1},
		{
			Name: "complaints", Role: pasto.Guardrail, Direction: pasto.Down, Threshold: w.Limit, Hard: true, Upper: 1,
		},
	}, 0)
}

// means returns the table of true means.
func (w *World) means() *pasto.Table {
	t := new(pasto.Table)
	t.Reset(0, 2)
	for k := range w.Conversions {
		t.Append([]float64{w.Conversions[k], w.Complaints[k]})
	}
	return t
}

// Options are the parameters of [Run].
type Options struct {
	World World
	// Units is the number of units in each round, and Contribution the largest number of decisions
	// of a unit in the whole run, to which the noise is in proportion.
	Units        int64
	Contribution int
	// Rounds is the number of rounds that the noise is declared for, and that are played at most.
	Rounds int64
	// Epsilon and Delta are the budget of the run. Epsilon 0 is a run without privacy: the learner
	// sees exact means with the variances of units.
	Epsilon, Delta float64
	// Runs is the number of runs, Seed their seed.
	Runs int
	Seed uint64
}

// Share is the part of the gain that counts as reached.
const Share = 0.9

// A Result is what the runs of some [Options] have shown. The gain is what the best mixture that
// holds the guardrail has above the control arm, by the true rates.
type Result struct {
	// Rounds has, for each run, the first round whose served mixture has 90 % of the gain, and 0
	// for a run that has not reached it.
	Rounds []int64
	// Gain is the mean part of the gain that is served in the last round.
	Gain float64
	// Broken is the number of runs in which the served mixture of some round breaks the guardrail.
	Broken int
	// Deviation is the standard deviation of the noise in the rate of an arm that has had a round
	// of units in all, at the last round.
	Deviation float64
}

// Median returns the median of Rounds, where runs that have not reached the gain count as largest;
// 0 if those are half or more.
func (r *Result) Median() float64 {
	n := len(r.Rounds)
	sorted := slices.Clone(r.Rounds)
	for i, v := range sorted {
		if v == 0 {
			sorted[i] = math.MaxInt64
		}
	}
	slices.Sort(sorted)
	if n == 0 || sorted[n/2] == math.MaxInt64 {
		return 0
	}
	return float64(float64(sorted[(n-1)/2])/2) + float64(float64(sorted[n/2])/2)
}

// Reached is the number of runs that reached the gain.
func (r *Result) Reached() int {
	n := 0
	for _, v := range r.Rounds {
		if v > 0 {
			n++
		}
	}
	return n
}

// Run measures the learner on a world. The noise comes from a seed, as all draws do: the same
// options have the same result. It ends with the error of the context.
func Run(ctx context.Context, o Options) (Result, error) {
	if err := o.check(); err != nil {
		return Result{}, err
	}
	goals, err := o.World.Goals()
	if err != nil {
		return Result{}, err
	}
	runs, err := parallel.Runs(ctx, o.Runs, 0, nil, func(run int) (*runner, error) {
		truth, err := scenario.NewTruth(ctx, goals, o.World.means())
		if err != nil {
			return nil, err
		}
		if truth.Best == nil {
			return nil, truth.Infeasible
		}
		r := &runner{Options: o, truth: truth}
		r.random = random.New(o.Seed, fmt.Sprintf("private-pasto/%d", run))
		return r, r.play(ctx, o.Seed+uint64(run))
	})
	if err != nil {
		return Result{}, err
	}
	var out Result
	for _, r := range runs {
		out.Rounds = append(out.Rounds, r.reached)
		out.Gain += r.gain / float64(o.Runs)
		if r.broken {
			out.Broken++
		}
		out.Deviation = r.deviation
	}
	return out, nil
}

// check refuses options that are out of range.
func (o *Options) check() error {
	switch {
	case o.Units < 1 || o.Units > 1e9:
		return noregret.BadInputf("units", "%d: want 1 to 1e9", o.Units)
	case o.Rounds < 1 || o.Rounds > 1e5:
		return noregret.BadInputf("rounds", "%d: want 1 to 100000", o.Rounds)
	case o.Runs < 1:
		return noregret.BadInputf("runs", "%d: want 1 or more", o.Runs)
	case !(o.Epsilon >= 0):
		return noregret.BadInputf("epsilon", "%g: want 0 for no noise, or a positive number", o.Epsilon)
	case o.Contribution < 1:
		return noregret.BadInputf("contribution", "%d: want 1 or more", o.Contribution)
	case o.World.Arms() < 2:
		return noregret.BadInputf("world", "%d arms: want 2 or more", o.World.Arms())
	}
	return nil
}

// runner is one run.
type runner struct {
	Options
	truth     *scenario.Truth
	random    *random.Source
	reached   int64
	gain      float64
	broken    bool
	deviation float64
}

// sums makes the private sums of the run.
func (r *runner) sums(seed uint64) (*aggregate.Sums, error) {
	c := aggregate.DefaultConfig(r.World.Arms(), []aggregate.Range{{Low: 0, High: 1}, {Low: 0, High: 1}}, r.Rounds)
	c.Contribution, c.Batch, c.Epsilon, c.Delta = r.Contribution, r.Units, r.Epsilon, r.Delta
	if r.Epsilon == 0 {
		return aggregate.NewWithoutNoise(c)
	}
	return aggregate.New(c, dp.WithInsecureFastNoiseForTesting(seed))
}

// play plays the rounds.
func (r *runner) play(ctx context.Context, seed uint64) error {
	arms := r.World.Arms()
	sums, err := r.sums(seed)
	if err != nil {
		return err
	}
	defer sums.Close()
	o := confident.DefaultOptions()
	o.Control = 0
	learner, err := confident.New(r.truth.Goals, arms, o)
	if err != nil {
		return err
	}
	reader, err := released.New(sums, arms, 2)
	if err != nil {
		return err
	}
	out := make([]float64, 2*arms)
	for t := int64(1); t <= r.Rounds; t++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		r.measure(t, learner.Serving())
		units := split(r.Units, learner.Serving())
		if err := sums.Step(r.draw(units, sums.Limit()), out); err != nil {
			return err
		}
		obs, err := reader.Round(units, out)
		if err != nil {
			return err
		}
		if r.Epsilon == 0 {
			for i := range obs {
				o := &obs[i]
				o.Noise = nil
				for _, v := range o.Metrics {
					o.Variances = append(o.Variances, float64(v*(1-v)))
				}
			}
		}
		if err := learner.Observe(obs); err != nil {
			return err
		}
	}
	r.measure(r.Rounds, learner.Serving())
	r.deviation = sums.Deviation(r.Rounds, 0) / float64(r.Units)
	return nil
}

// measure compares what is served with the optimum.
func (r *runner) measure(t int64, p []float64) {
	s, control := r.truth.Score(p), r.World.Conversions[0]
	r.gain = (s.Value - control) / (r.truth.Optimum() - control)
	r.broken = r.broken || s.Violation > 1e-9
	if r.reached == 0 && r.gain >= Share {
		r.reached = t
	}
}

// split returns the numbers of units of the arms, whole numbers nearest to their shares in sum.
func split(n int64, p []float64) []int64 {
	units, sum, before := make([]int64, len(p)), 0.0, int64(0)
	for k, share := range p {
		sum += share
		upTo := min(int64(math.Round(float64(n)*sum)), n)
		if k == len(p)-1 {
			upTo = n
		}
		units[k], before = upTo-before, upTo
	}
	return units
}

// draw draws the events of a round, and returns the exact sums of their integers: an event is +L
// and no event −L.
func (r *runner) draw(units []int64, limit int64) []int64 {
	exact := make([]int64, 2*len(units))
	for k, n := range units {
		for i, rate := range [...]float64{r.World.Conversions[k], r.World.Complaints[k]} {
			events := stat.BinomialQuantile(stat.Normal(r.random), n, rate)
			exact[2*k+i] = (2*int64(events) - n) * limit
		}
	}
	return exact
}
