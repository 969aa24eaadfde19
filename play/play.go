package play

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/oco"
	"github.com/noregret/noregret/regret"
)

// Options say who plays what.
type Options struct {
	// Learners are the learners, each a name with options as [ParseSpec] reads it.
	Learners []string
	// Game is the game, in the same form.
	Game string
	// Rounds is the number of rounds, at least 1.
	Rounds int
	// Seed is the seed of the first run; run r has seed Seed + r.
	Seed uint64
	// Runs is the number of runs of every learner, at least 1.
	Runs int
	// Dim is the dimension of games that have one to choose, 0 for the game's own.
	Dim int
	// Examples are the data of games that play them; nil for the game's own.
	Examples []regret.Example
	// Checkpoints is the number of points of each curve, see [regret.Options].
	Checkpoints int
	// Workers is the number of games played at once, 0 for one a processor. Results do not depend
	// on it.
	Workers int
	// Progress, if not nil, is called with the rounds played so far by all and the mean loss of the
	// learner that reports. Calls do not overlap.
	Progress func(rounds int64, learner string, meanLoss float64)
}

// Result is one learner's certificate in one run.
type Result struct {
	Learner, Game string
	Seed          uint64
	// Floor is the regret that the game's adversary is sure to cause, NaN if it is none.
	Floor float64
	*regret.Certificate
}

// Run plays every learner in every run, each in a game of its own from the same seed, and returns
// the results run by run, in the order of the learners. All names and options are checked before
// the first round.
func Run(ctx context.Context, o Options) ([]Result, error) {
	if len(o.Learners) == 0 {
		return nil, noregret.Errorf(noregret.Usage, "learner", "none: want at least one")
	}
	if o.Rounds < 1 {
		return nil, noregret.Errorf(noregret.Usage, "rounds", "%d: want at least 1", o.Rounds)
	}
	if o.Runs < 1 {
		return nil, noregret.Errorf(noregret.Usage, "runs", "%d: want at least 1", o.Runs)
	}
	matches := make([]match, 0, o.Runs*len(o.Learners))
	for r := range o.Runs {
		for _, name := range o.Learners {
			m, err := newMatch(name, &o, o.Seed+uint64(r))
			if err != nil {
				return nil, err
			}
			matches = append(matches, m)
		}
	}
	results := make([]Result, len(matches))
	errs := make([]error, len(matches))
	workers := o.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var group sync.WaitGroup
	var report sync.Mutex
	var done int64
	next := make(chan int)
	for range min(workers, len(matches)) {
		group.Go(func() {
			for i := range next {
				m := &matches[i]
				last := 0
				results[i], errs[i] = m.play(ctx, &o, func(rounds int, meanLoss float64) {
					if o.Progress == nil {
						return
					}
					report.Lock()
					defer report.Unlock()
					done += int64(rounds - last)
					last = rounds
					o.Progress(done, m.name, meanLoss)
				})
				if errs[i] != nil {
					cancel() // the others need not go on
				}
			}
		})
	}
	for i := range matches {
		next <- i
	}
	close(next)
	group.Wait()
	return results, firstError(errs)
}

// firstError is the error of the first match that failed by itself, not because another did.
func firstError(errs []error) error {
	var cancelled error
	for _, err := range errs {
		switch {
		case err == nil:
		case errors.Is(err, context.Canceled):
			cancelled = err
		default:
			return err
		}
	}
	return cancelled
}

// match is a learner at the start of a game.
type match struct {
	name   string
	spec   Spec
	player regret.Player
	game   regret.Game
	floor  float64
	seed   uint64
	title  string
}

func newMatch(learner string, o *Options, seed uint64) (match, error) {
	spec, err := ParseSpec("learner", learner)
	if err != nil {
		return match{}, err
	}
	game, facts, title, err := newGame(o, seed)
	if err != nil {
		return match{}, err
	}
	player, err := newPlayer(spec, game, facts, o.Rounds, seed)
	if err != nil {
		return match{}, fmt.Errorf("%s cannot play %s: %w", spec.Name, title, err)
	}
	return match{
		name: spec.String(), spec: spec, player: player, game: game, floor: facts.Floor, seed: seed,
		title: title,
	}, nil
}

// newGame makes the game of a run.
func newGame(o *Options, seed uint64) (regret.Game, regret.Facts, string, error) {
	spec, err := ParseSpec("game", o.Game)
	if err != nil {
		return nil, regret.Facts{}, "", err
	}
	entry, err := regret.FindGame(spec.Name)
	if err != nil {
		return nil, regret.Facts{}, "", err
	}
	game, facts,
		err := entry.New(regret.GameParams{
		Dim: o.Dim, Rounds: o.Rounds, Seed: seed, Options: spec.Options,
		Examples: o.Examples,
	})
	return game, facts, spec.String(), err
}

// problem is what the learner knows of a game.
func problem(game regret.Game, f regret.Facts, rounds int) oco.Problem {
	return oco.Problem{Set: game.Set(), Rounds: rounds, Facts: f.Facts}
}

func (m *match) play(ctx context.Context, o *Options, progress func(int, float64)) (Result, error) {
	c, err := regret.Play(ctx, m.player, m.game, o.Rounds,
		regret.Options{Checkpoints: o.Checkpoints, Progress: progress})
	if err != nil {
		return Result{}, fmt.Errorf("%s in %s: %w", m.name, m.title, err)
	}
	progress(o.Rounds, c.LearnerLoss/float64(o.Rounds))
	if len(c.Curve) == 0 && o.Checkpoints > 0 && c.Comparator != nil {
		// The best point of such a game is known at the end only: the same game once more, against
		// it.
		again, err := newMatch(m.name, o, m.seed)
		if err != nil {
			return Result{}, err
		}
		d, err := regret.Play(ctx, again.player, again.game, o.Rounds,
			regret.Options{Checkpoints: o.Checkpoints, Comparator: c.Comparator})
		if err != nil {
			return Result{}, fmt.Errorf("%s in %s, again: %w", m.name, m.title, err)
		}
		c.Curve = d.Curve
	}
	if math.IsNaN(c.LearnerLoss) {
		return Result{}, noregret.Errorf(noregret.Diverged, m.name, "its loss is not a number")
	}
	return Result{Learner: m.name, Game: m.title, Seed: m.seed, Floor: m.floor, Certificate: c}, nil
}
