package arena

import (
	"context"
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/lab/world"
)

// Play is what one learner did in one run.
type Play struct {
	// Deployed is the value of the mixture deployed at the end, and Served the mean value of what
	// was served over the rounds: 0 for the control, 1 for the certified optimum of the round. A
	// violation of a hard guardrail costs twice its certified price, so that it never pays.
	Deployed, Served float64
	// RawDeployed and RawServed are the same without the cost of violations: above 1 where breaking
	// a guardrail has paid.
	RawDeployed, RawServed float64
	// Violation is the mean over rounds of the largest violation of a hard guardrail in what was
	// served, in units of the guardrail's margin, and Broken the share of rounds with one.
	Violation, Broken float64
	// Clear is the share of rounds that broke one by more than .5 % of the control's mean.
	Clear float64
	// DeployedBroken reports whether the mixture deployed at the end breaks a hard guardrail.
	DeployedBroken bool
}

// player is a learner in a run.
type player struct {
	entry   *Entry
	learner Learner
	late    [][]world.Group // rounds whose feedback has not come yet
	play    Play
}

// playWorld lets all learners play the world, round by round, with the same draws. Seed is that of
// the draws; no learner's draws depend on another learner.
func playWorld(ctx context.Context, w *world.World, entries []Entry, seed uint64) ([]Play, error) {
	if err := w.Solve(); err != nil {
		return nil, err
	}
	players := make([]player, len(entries))
	for i := range players {
		p := &players[i]
		p.entry = &entries[i]
		task := &Task{
			Goals: w.Goals, Arms: w.Arms(), Rounds: w.Rounds(), Units: w.Units[0], Seed: seed, world: w,
		}
		var err error
		if p.learner, err = p.entry.New(task); err != nil {
			return nil, fmt.Errorf("%s: %w", p.entry.Name, err)
		}
	}
	s, theta := world.NewSampler(w, seed), make([]float64, w.Goals.Dim())
	for t := range w.Units {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for i := range players {
			if err := players[i].round(w, s, t, theta); err != nil {
				return nil, fmt.Errorf("%s in round %d: %w", players[i].entry.Name, t+1, err)
			}
		}
	}
	out := make([]Play, len(players))
	for i := range players {
		out[i] = players[i].finish(w, theta)
	}
	return out, nil
}

// round plays round t.
func (p *player) round(w *world.World, s *world.Sampler, t int, theta []float64) error {
	mixture, err := p.learner.Serving(t)
	if err != nil {
		return err
	}
	if err := checkMixture(mixture, w.Arms()); err != nil {
		return err
	}
	served, learned := w.Serve(t, mixture)
	if _, ok := p.learner.(*oracle); ok { // its mixture is what units get
		served, learned = mixture, mixture
	}
	score := w.Rate(w.StateAt(t), served, theta)
	p.play.Served += score.Value
	p.play.RawServed += score.Raw
	p.play.Violation += score.Violation
	if score.Broken {
		p.play.Broken++
	}
	if score.Clear {
		p.play.Clear++
	}
	p.late = append(p.late, s.Round(t, learned))
	if x, ok := p.learner.(metricObserver); ok && w.Late != nil {
		for m, late := range w.Late {
			if i := len(p.late) - 1 - late; i >= 0 {
				if err := x.observeMetric(m, p.late[i]); err != nil {
					return err
				}
			}
		}
	}
	if len(p.late) <= w.Delay {
		return nil
	}
	groups := p.late[0]
	p.late = p.late[1:]
	if _, ok := p.learner.(metricObserver); len(groups) == 0 || ok && w.Late != nil {
		return nil
	}
	return p.learner.Observe(groups)
}

// metricObserver is a learner that can use a metric of a round before its other metrics have come.
type metricObserver interface {
	observeMetric(metric int, groups []world.Group) error
}

// checkMixture returns an error if what a learner serves is no distribution over the arms.
func checkMixture(p []float64, arms int) error {
	sum := 0.0
	for _, v := range p {
		if !(v >= 0) {
			return noregret.Errorf(noregret.Internal, "serving", "%v: want shares of at least 0", p)
		}
		sum += v
	}
	if len(p) != arms || !(math.Abs(sum-1) <= 1e-9) {
		return noregret.Errorf(noregret.Internal, "serving", "%v sums to %v: want %d shares with sum 1", p, sum, arms)
	}
	return nil
}

// finish returns the play with means over rounds.
func (p *player) finish(w *world.World, theta []float64) Play {
	rounds := float64(w.Rounds())
	score := w.RateDeployed(p.learner.Deployed(), theta)
	p.play.Deployed, p.play.RawDeployed, p.play.DeployedBroken = score.Value, score.Raw, score.Broken
	p.play.Served /= rounds
	p.play.RawServed /= rounds
	p.play.Violation /= rounds
	p.play.Broken /= rounds
	p.play.Clear /= rounds
	return p.play
}

// playRun plays one run of a family.
func playRun(ctx context.Context, f *world.Family, entries []Entry, seed uint64, run int) ([]Play, error) {
	w, err := f.Draw(f.Source(seed, run))
	if err != nil {
		return nil, err
	}
	draws := random.New(seed, fmt.Sprintf("arena: %s, draws of run %d", f.Name, run))
	return playWorld(ctx, w, entries, draws.Uint64())
}
