package play

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/memory"
	"github.com/noregret/noregret/oco"
	"github.com/noregret/noregret/regret"
)

// Options are the learners, the game and the runs of [Run]. The zero value is refused: Learners,
// Game, Rounds and Runs are required.
type Options struct {
	// Learners name the learners: each is a name with options or a sweep, as [ParseSweep] reads it.
	Learners []string
	// Game names the game, with options as [ParseSpec] reads it.
	Game string
	// LearnerEntries and GameEntries are learners and games of the caller's own, which Learners and
	// Game may name like those of the catalogues. Their names must be new.
	LearnerEntries []oco.Entry
	GameEntries    []regret.GameEntry
	// Rounds is the number of rounds, at least 1.
	Rounds int
	// Seed is the seed of the first run; run r, counted from 0, has seed Seed + r.
	Seed uint64
	// Runs is the number of runs of every learner, at least 1.
	Runs int
	// Dim is the dimension, 0 for the game's default. A game of fixed dimension accepts no other.
	Dim int
	// Examples are the data of games that take data; nil for the game's own.
	Examples []regret.Example
	// Checkpoints is the number of points of each curve, see [regret.Options].
	Checkpoints int
	// Dynamic, if not nil, measures the dynamic regret, the variation and the interval regret, see
	// [regret.Options].
	Dynamic *regret.DynamicOptions
	// Workers is the number of games played at once, 0 for one a processor. Results do not depend
	// on it.
	Workers int
	// Skipped, if not nil, is called before the first round for each learner that cannot play the
	// game, with the reason, and the others play. It is an error if none is left, or if Skipped is
	// nil.
	Skipped func(learner string, reason error)
	// Progress, if not nil, is called with the number of rounds played so far by all learners
	// together, and with the name and mean loss of the learner that reports. Calls do not overlap.
	Progress func(rounds int64, learner string, meanLoss float64)
}

// Result is one learner's certificate in one run.
type Result struct {
	// Learner and Game are the names with their options, and Seed is the seed of the run.
	Learner, Game string
	Seed          uint64
	// Floor is the regret that the game's adversary guarantees, see [regret.Facts]; NaN if there is
	// none.
	Floor float64
	// DynamicFloor is a dynamic regret that the expectation of no learner is below, see
	// [regret.Facts]; NaN if there is none.
	DynamicFloor float64
	*regret.Certificate
}

// Run plays every learner in every run, each in a game of its own from the same seed, and returns
// the results run by run, in the order of the learners. All names and options are checked before
// the first round; a learner that does not fit the game is an error of code usage, or skipped, and
// results that need more than 8 GiB of memory are one of code bad_input. Games are made one at a
// time for each worker, so that no more than Workers are in memory.
func Run(ctx context.Context, o Options) ([]Result, error) {
	c, specs, err := prepare(&o)
	if err != nil {
		return nil, err
	}
	results := make([]Result, o.Runs*len(specs))
	errs := make([]error, len(results))
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
	for range min(workers, len(results)) {
		group.Go(func() {
			for i := range next {
				spec, run := specs[i%len(specs)], i/len(specs)
				name, last := spec.String(), 0
				results[i], errs[i] = c.match(ctx, spec, o.Seed+uint64(run), &o, func(rounds int, meanLoss float64) {
					if o.Progress == nil {
						return
					}
					report.Lock()
					defer report.Unlock()
					done += int64(rounds - last)
					last = rounds
					o.Progress(done, name, meanLoss)
				})
				if errs[i] != nil {
					cancel() // stop the others
				}
			}
		})
	}
	for i := range results {
		next <- i
	}
	close(next)
	group.Wait()
	if err := firstError(errs); err != nil {
		return nil, err
	}
	return results, nil
}

// prepare checks the options, by making every learner for the game of the first run: for its
// outline first, so that a learner that does not fit is found before data are made.
func prepare(o *Options) (*catalogue, []Spec, error) {
	switch {
	case len(o.Learners) == 0:
		return nil, nil, noregret.Errorf(noregret.Usage, "learner", "at least one is required")
	case o.Rounds < 1:
		return nil, nil, noregret.Errorf(noregret.Usage, "rounds", "%d: want at least 1", o.Rounds)
	case o.Runs < 1:
		return nil, nil, noregret.Errorf(noregret.Usage, "runs", "%d: want at least 1", o.Runs)
	}
	c, err := newCatalogue(o.LearnerEntries, o.GameEntries)
	if err != nil {
		return nil, nil, err
	}
	var specs []Spec
	for _, name := range o.Learners {
		sweep, err := ParseSweep("learner", name)
		if err != nil {
			return nil, nil, err
		}
		specs = append(specs, sweep...)
	}
	if specs, err = c.checkFit(specs, o); err != nil {
		return nil, nil, err
	}
	s, err := c.newSetting(o, o.Seed)
	if err != nil {
		return nil, nil, err
	}
	specs, err = fitters(specs, o.Skipped, func(spec Spec) error {
		_, err := c.player(spec, s, o)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	// A result has some 30 numbers, four for each point of its curve, and the comparator.
	size := 30 + float64(4*float64(min(o.Checkpoints, o.Rounds))) + float64(s.game.Set().Dim())
	results := float64(o.Runs) * float64(len(specs))
	if err := memory.Check("runs", fmt.Sprintf("a list of %.0f results", results), size*results); err != nil {
		return nil, nil, err
	}
	return c, specs, nil
}

// firstError returns the error of the first match that failed by itself, not because another one
// failed.
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
