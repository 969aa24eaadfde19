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
	"github.com/noregret/noregret/lab/world"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/private/aggregate"
)

// NewWorld returns the experiment that is measured: arms with two rates each, of conversions, which
// are to rise, and of complaints, which a hard guardrail keeps at the limit or below. Arm 0 is the
// control.
func NewWorld(conversions, complaints []float64, limit float64) (*world.World, error) {
	w, err := world.New(0, 0, make([]world.Outcome, 2), conversions, complaints)
	if err != nil {
		return nil, err
	}
	w.Margins = []float64{0, limit - complaints[0]}
	w.Goals, err = pasto.NewGoals([]pasto.Metric{
		{Name: "conversion", Upper: 1},
		{Name: "complaints", Role: pasto.Guardrail, Direction: pasto.Down, Threshold: limit, Hard: true, Upper: 1},
	}, 0)
	return w, err
}

// DefaultWorld returns a world of 2 to 10 arms. The rate of conversions is 5 % at the control and
// spread evenly from 4.5 % to 6.5 % over the others. Complaints are 2 % at the control and rise
// from 1.6 % to 3.2 % with the conversions of the others, with a limit of 2.6 %. So the arm that
// converts best breaks the guardrail, and the best mixture has a part of it.
func DefaultWorld(arms int) (*world.World, error) {
	if arms < 2 || arms > 10 {
		return nil, noregret.BadInputf("arms", "%d: want 2 to 10", arms)
	}
	conversions, complaints := []float64{0.05}, []float64{0.02}
	for k := 1; k < arms; k++ {
		x := 1.0
		if arms > 2 {
			x = float64(k-1) / float64(arms-2)
		}
		conversions = append(conversions, 0.045+float64(0.020*x))
		complaints = append(complaints, 0.016+float64(0.016*x))
	}
	return NewWorld(conversions, complaints, 0.026)
}

// Options are the parameters of [Run].
type Options struct {
	// World is that of [NewWorld]; its number of rounds is set here.
	World *world.World
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
	// Workers is the number of runs at a time, 0 for one a processor. The result does not depend on
	// it. Progress, if not nil, is called after each run; calls do not overlap.
	Workers  int
	Progress func()
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
	w := *o.World
	w.Units = slices.Repeat([]int{int(o.Units)}, int(o.Rounds))
	if err := w.Solve(); err != nil {
		return Result{}, err
	}
	report := func(int) {
		if o.Progress != nil {
			o.Progress()
		}
	}
	runs, err := parallel.Runs(ctx, o.Runs, o.Workers, report, func(run int) (*runner, error) {
		draws := random.New(o.Seed, fmt.Sprintf("private-pasto/%d", run))
		r := &runner{Options: o, world: &w, sampler: world.NewSampler(&w, draws.Uint64())}
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
	case o.World == nil:
		return noregret.BadInputf("world", "none: want one of NewWorld")
	}
	return nil
}

// runner is one run.
type runner struct {
	Options
	world     *world.World
	sampler   *world.Sampler
	reached   int64
	gain      float64
	broken    bool
	deviation float64
}

// sums makes the private sums of the run.
func (r *runner) sums(seed uint64) (*aggregate.Sums, error) {
	c := aggregate.DefaultConfig(r.world.Arms(), []aggregate.Range{{Low: 0, High: 1}, {Low: 0, High: 1}}, r.Rounds)
	c.Contribution, c.Batch, c.Epsilon, c.Delta = r.Contribution, r.Units, r.Epsilon, r.Delta
	if r.Epsilon == 0 {
		return aggregate.NewWithoutNoise(c)
	}
	return aggregate.New(c, dp.WithInsecureFastNoiseForTesting(seed))
}

// play plays the rounds.
func (r *runner) play(ctx context.Context, seed uint64) error {
	arms := r.world.Arms()
	sums, err := r.sums(seed)
	if err != nil {
		return err
	}
	defer sums.Close()
	learner, err := newLearner(r.world, sums)
	if err != nil {
		return err
	}
	out, units, exact := make([]float64, 2*arms), make([]int64, arms), make([]int64, 2*arms)
	for t := range int(r.Rounds) {
		if err := ctx.Err(); err != nil {
			return err
		}
		serving, err := learner.serving()
		if err != nil {
			return err
		}
		r.measure(t, serving)
		r.draw(t, serving, sums.Limit(), units, exact)
		if err := sums.Step(exact, out); err != nil {
			return err
		}
		if err := learner.observe(units, out); err != nil {
			return err
		}
	}
	serving, err := learner.serving()
	if err != nil {
		return err
	}
	r.measure(int(r.Rounds)-1, serving)
	r.deviation = sums.Deviation(r.Rounds, 0) / float64(r.Units)
	return nil
}

// measure scores what is served in round t, counted from 0.
func (r *runner) measure(t int, p []float64) {
	s := r.world.Rate(0, p, make([]float64, 2))
	r.gain, r.broken = s.Raw, r.broken || s.Broken
	if r.reached == 0 && r.gain >= Share {
		r.reached = int64(t) + 1
	}
}

// draw draws the events of round t, and writes the numbers of units by arm and the exact sums of
// their integers: an event is +L and no event −L.
func (r *runner) draw(t int, p []float64, limit int64, units, exact []int64) {
	clear(units)
	clear(exact)
	for _, g := range r.sampler.Round(t, p) {
		units[g.Arm] = int64(g.Units)
		for i, rate := range g.Means {
			exact[2*g.Arm+i] = (2*int64(math.Round(rate*float64(g.Units))) - units[g.Arm]) * limit
		}
	}
}
