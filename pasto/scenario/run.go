package scenario

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/parallel"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/catalogue"
	"github.com/noregret/noregret/pasto/optimum"
)

// outcome is the result of one run, at each checkpoint.
type outcome struct {
	deployed, served []Score // of the mixture that Iterate selects, and of the one served
	// single and best are NaN if no arm or no mixture holds the hard guardrails.
	single, best   []float64
	share          [][]float64
	infeasible     *optimum.Infeasible // under the true means
	reported, sure bool
}

// Run plays the scenario o.Runs times. Runs are independent: each has its own random streams, made
// from the seed and the number of the run, and results are added in the order of the runs. So the
// result does not depend on the number of workers. Run returns ctx's error if ctx ends.
func Run(ctx context.Context, o Options) (*Result, error) {
	spec, err := find(o.Scenario)
	if err != nil {
		return nil, err
	}
	return Play(ctx, o, spec)
}

// runOn is [Run] for "ranking" on users and items that are ranked already.
func runOn(ctx context.Context, o Options, x *ranked) (*Result, error) {
	spec := rankingSpec()
	spec.Prepare = func(o *Options) (func(int) (World, error), []string, string, error) {
		return x.build(o), alphaNames(), x.data, nil
	}
	return Play(ctx, o, spec)
}

// Play is [Run] for a scenario that [Scenarios] does not list. It ignores o.Scenario.
func Play(ctx context.Context, o Options, spec Spec) (*Result, error) {
	if err := o.complete(&spec); err != nil {
		return nil, err
	}
	build, arms, data, err := spec.Prepare(&o)
	if err != nil {
		return nil, err
	}
	if err := pasto.ValidateNames(arms); err != nil {
		return nil, err
	}
	first, err := build(0) // an error of the learner would repeat in every run
	if err != nil {
		return nil, err
	}
	if _, _, err := o.learnerOf(first, first.Means(1).Arms()); err != nil {
		var e *noregret.Error
		if errors.As(err, &e) && e.Place == "start" {
			return nil, usage("start", "%s of %q: %s", strconv.FormatFloat(*o.Start, 'g', -1, 64), o.Algorithm,
				e.Message)
		}
		return nil, err
	}
	o.Hard = first.Objective().HasHard()
	out, err := playAll(ctx, &o, build, spec.Common)
	if err != nil {
		return nil, err
	}
	r := summarize(&o, out)
	r.Data = data
	r.Mixture.Of, r.Mixture.Arms = "first run", arms
	if spec.Common {
		r.Mixture.Of = "mean"
	}
	return r, nil
}

// playAll plays all runs concurrently and returns their outcomes in order. It keeps the mixtures of
// all runs if they have common arms, otherwise those of the first.
func playAll(ctx context.Context, o *Options, build func(run int) (World, error), common bool) ([]outcome, error) {
	done := 0
	report := func(int) {
		if done++; o.Progress != nil {
			o.Progress(done, o.Runs)
		}
	}
	return parallel.Runs(ctx, o.Runs, o.Workers, report, func(run int) (outcome, error) {
		out, err := play(ctx, o, build, run, common || run == 0)
		if err != nil {
			return out, fmt.Errorf("run %d: %w", run, err)
		}
		return out, nil
	})
}

// learnerOf makes the learner of a run. It is controlled if it has the control as one of its arms,
// as the service's has.
func (o *Options) learnerOf(w World, arms int) (l pasto.Learner, controlled bool, err error) {
	f := w.Objective()
	if x, ok := w.(armed); ok && x.controlArm() >= 0 && o.Controlled != nil && o.New == nil && o.Start == nil {
		l, err := o.Controlled(o.Algorithm, f, arms, x.controlArm())
		if l != nil || err != nil {
			return l, true, err
		}
	}
	l, err = o.learner(f, arms)
	return l, false, err
}

// learner makes a learner without a control arm.
func (o *Options) learner(f pasto.Objective, arms int) (pasto.Learner, error) {
	var start []float64
	if o.Start != nil && arms > 1 {
		start = make([]float64, arms)
		for k := range start {
			start[k] = (1 - *o.Start) / float64(arms-1)
		}
		start[0] = *o.Start
	}
	if o.New != nil {
		return o.New(f, arms, o.Rounds, start)
	}
	return catalogue.New(o.Algorithm, f, arms, o.Rounds, start)
}

// rounds plays the rounds of a run.
type rounds struct {
	w            World
	l            pasto.Learner
	draws, noise *random.Source
	arms         []int
	obs          []pasto.Observation
	values       []float64
	control      []float64
	late         [][]pasto.Observation // rounds that have not been observed yet, the oldest first
	// controlled is whether the learner has the control as one of its arms. It then has no control
	// group, and takes late observations of all arms.
	controlled bool
}

func newRounds(o *Options, w World, l pasto.Learner, controlled bool, run, metrics int) *rounds {
	q := w.Groups()
	r := &rounds{
		w: w, l: l, draws: random.New(o.Seed, fmt.Sprintf("%s draws %d", o.stream, run)),
		noise: random.New(o.Seed, fmt.Sprintf("%s noise %d", o.stream, run)),
		arms:  make([]int, q), obs: make([]pasto.Observation, q), values: make([]float64, q*metrics),
		controlled: controlled,
	}
	if _, ok := w.(grouped); ok && !controlled {
		r.control = make([]float64, metrics)
	}
	for i := range r.obs {
		r.obs[i] = pasto.Observation{
			Metrics: r.values[i*metrics : (i+1)*metrics : (i+1)*metrics], Control: r.control, Earlier: controlled,
		}
	}
	return r
}

// play plays round t.
func (r *rounds) play(t int) error {
	if x, ok := r.w.(splitting); ok && r.controlled {
		return r.observe(x.split(t, r.l.Serving(), r.draws, r.noise))
	}
	r.l.Draw(r.draws, r.arms)
	r.w.Observe(t, r.arms, r.values, r.noise)
	if c, ok := r.w.(grouped); ok && r.control != nil {
		c.control(t, r.control, r.noise)
	}
	for i, k := range r.arms {
		r.obs[i].Arm = k
	}
	if x, ok := r.w.(Sized); ok {
		m := len(r.values) / len(r.obs)
		for i := range r.obs {
			r.obs[i].Size, r.obs[i].Variances = x.Size(), x.Variances()[i*m:(i+1)*m]
		}
	}
	return r.observe(r.obs)
}

// observe hands observations over, at once or when they are due.
func (r *rounds) observe(obs []pasto.Observation) error {
	if x, ok := r.w.(delayed); ok && x.delay() > 0 {
		return r.postpone(obs, x.delay())
	}
	return r.l.Observe(obs)
}

// postpone keeps the round's observations and hands over those of the round that is due, as far as
// their arms are still served or the learner takes them all the same.
func (r *rounds) postpone(obs []pasto.Observation, delay int) error {
	round := slices.Clone(obs)
	for i := range round {
		o := &round[i]
		o.Metrics, o.Control, o.Variances = slices.Clone(o.Metrics), slices.Clone(o.Control), slices.Clone(o.Variances)
	}
	if r.late = append(r.late, round); len(r.late) <= delay {
		return nil
	}
	round, r.late = r.late[0], r.late[1:]
	served := r.l.Serving()
	round = slices.DeleteFunc(round, func(o pasto.Observation) bool { return !(served[o.Arm] > 0) && !o.Earlier })
	if len(round) == 0 {
		return nil
	}
	return r.l.Observe(round)
}

// play plays one run.
func play(ctx context.Context, o *Options, build func(run int) (World, error), run int, keep bool,
) (out outcome, err error) {
	w, err := build(run)
	if err != nil {
		return out, err
	}
	f, mu := w.Objective(), w.Means(1)
	l, controlled, err := o.learnerOf(w, mu.Arms())
	if err != nil {
		return out, err
	}
	truth, err := NewTruth(ctx, f, mu)
	if err != nil {
		return out, err
	}
	loop := newRounds(o, w, l, controlled, run, mu.Metrics())
	served := make([]float64, mu.Arms())
	at := 0
	for t := 1; t <= o.Rounds && at < len(o.Checkpoints); t++ {
		if t%256 == 0 && ctx.Err() != nil {
			return out, ctx.Err()
		}
		several, ok := w.(Phased)
		if c := w.Changes(); c > 0 && t == c+1 || ok && several.Begins(t) {
			if truth, err = NewTruth(ctx, f, w.Means(t)); err != nil {
				return out, err
			}
		}
		check := t == o.Checkpoints[at]
		if check {
			copy(served, l.Serving())
		}
		if err := loop.play(t); err != nil {
			return out, err
		}
		if !check {
			continue
		}
		at++
		p := l.Deployed()
		if o.Iterate == "serving" {
			p = served
		}
		out.deployed, out.served = append(out.deployed, truth.Score(p)), append(out.served, truth.Score(served))
		out.single, out.best = append(out.single, truth.Single), append(out.best, truth.Optimum())
		if keep {
			out.share = append(out.share, slices.Clone(p))
		}
	}
	out.infeasible = truth.Infeasible
	if x, ok := l.(interface {
		Infeasible() (*optimum.Infeasible, bool)
	}); ok {
		least, sure := x.Infeasible()
		out.reported, out.sure = least != nil, sure
	}
	return out, nil
}
