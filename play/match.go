package play

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/oco"
	"github.com/noregret/noregret/regret"
)

// setting is the game of a run, before its first round.
type setting struct {
	entry *regret.GameEntry
	game  regret.Game
	facts regret.Facts
	seed  uint64
	title string // the game's name with its options
}

// newSetting makes the game of a run.
func (c *catalogue) newSetting(o *Options, seed uint64) (*setting, error) {
	entry, spec, err := c.gameOf(o)
	if err != nil {
		return nil, err
	}
	game, facts, err := entry.New(o.gameParams(spec, seed))
	if err != nil {
		return nil, err
	}
	return &setting{entry: entry, game: game, facts: facts, seed: seed, title: spec.String()}, nil
}

// gameOf finds the game that the options name.
func (c *catalogue) gameOf(o *Options) (*regret.GameEntry, Spec, error) {
	spec, err := ParseSpec("game", o.Game)
	if err != nil {
		return nil, Spec{}, err
	}
	entry, err := c.game(spec.Name)
	return entry, spec, err
}

// gameParams are the parameters of the game in the run of a seed.
func (o *Options) gameParams(game Spec, seed uint64) regret.GameParams {
	return regret.GameParams{
		Dim: o.Dim, Rounds: o.Rounds, Seed: seed, Options: game.Options, Examples: o.Examples,
	}
}

// checkFit returns the learners that fit the game's outline, see [fitters]. It makes no data, and
// accepts all learners if the game has no outline.
func (c *catalogue) checkFit(specs []Spec, o *Options) ([]Spec, error) {
	entry, game, err := c.gameOf(o)
	if err != nil {
		return nil, err
	}
	set, facts, err := entry.Preview(o.gameParams(game, o.Seed))
	if err != nil || set == nil {
		return specs, err
	}
	return fitters(specs, o.Skipped, func(spec Spec) error {
		if _, err := c.newPlayer(spec, set, facts, o.Rounds, o.Seed); err != nil {
			return c.misfit(spec, entry, game.String(), o, err)
		}
		return nil
	})
}

// misfitError is the error for a learner that cannot play the game, but others.
type misfitError struct{ error }

// Unwrap returns the error with its code.
func (e misfitError) Unwrap() error { return e.error }

// fitters returns the learners that check accepts, and reports those that fit other games only. It
// returns the first error if nobody is to be told, if it is another one, or if no learner is left.
func fitters(specs []Spec, skipped func(string, error), check func(Spec) error) (fit []Spec, err error) {
	for _, spec := range specs {
		failed := check(spec)
		if failed == nil {
			fit = append(fit, spec)
			continue
		}
		if _, ok := errors.AsType[misfitError](failed); !ok || skipped == nil {
			return nil, failed
		}
		if err == nil {
			err = failed
		}
	}
	if len(fit) == 0 {
		return nil, err
	}
	for _, spec := range specs {
		if failed := check(spec); failed != nil {
			skipped(spec.String(), failed)
		}
	}
	return fit, nil
}

// player makes a learner for the game of a run.
func (c *catalogue) player(spec Spec, s *setting, o *Options) (regret.Player, error) {
	p, err := c.newPlayer(spec, s.game.Set(), s.facts, o.Rounds, s.seed)
	if err != nil {
		return nil, c.misfit(spec, s.entry, s.title, o, err)
	}
	return p, nil
}

// misfit returns the error for a learner that cannot be made for a game because of err. It lists
// the games that the learner fits.
func (c *catalogue) misfit(spec Spec, game *regret.GameEntry, title string, o *Options, err error) error {
	if _, err := c.learner(spec.Name); err != nil {
		return err
	}
	arenas, failed := c.arenas()
	if failed != nil {
		return failed
	}
	games := c.fitting(spec, arenas)
	switch {
	case len(games) > 0 && !slices.Contains(games, game.Name):
		return misfitError{noregret.Errorf(noregret.Usage, "learner", "%s cannot play %s: %w; it plays %s", spec.Name,
			title, err, strings.Join(games, ", "))}
	case o.Examples != nil:
		return fmt.Errorf("%s cannot play %s: %w", spec.Name, title, err) // for what the data hold
	}
	return noregret.Errorf(noregret.Usage, "learner", "%s cannot play %s: %w", spec.Name, title, err)
}

// newPlayer makes a learner for a game on a set and wraps it as the game requires.
func (c *catalogue) newPlayer(spec Spec, set convex.Set, f regret.Facts, rounds int,
	seed uint64,
) (regret.Player, error) {
	entry, err := c.learner(spec.Name)
	if err != nil {
		return nil, err
	}
	options := spec.Options
	composite := spec.Name == "composite-ftrl" && f.L1 > 0
	if _, given := options["kappa"]; composite && !given {
		if options = maps.Clone(options); options == nil {
			options = map[string]float64{}
		}
		options["kappa"] = f.L1 // the learner takes the l1 part of the losses as its own
	}
	options = withDefaults(entry, options, f)
	learner, err := entry.New(oco.Problem{Set: set, Rounds: rounds, Facts: f.Facts}, options)
	costs, ok := learner.(*CostPlayer)
	if ok {
		costs.r = random.New(seed, costStream)
	}
	draws := strings.HasPrefix(spec.Name, randomizedPrefix)
	switch {
	case err != nil:
		return nil, err
	case learner == nil:
		return nil, noregret.Errorf(noregret.Usage, "learner", "%q: its constructor returned nil", spec.Name)
	case ok && f.Vertices:
		return nil, noregret.Errorf(noregret.Usage, "learner",
			"%q: the game's points are vertices, and this learner tries points between them", spec.Name)
	case draws && f.Vertices:
		return nil, noregret.Errorf(noregret.Usage, "learner",
			"%q: the game's adversary sees the choice, which a randomized player must hide", spec.Name)
	case draws:
		return newRandomized(learner, f, seed)
	case f.Vertices:
		return regret.NewDeterministic(learner)
	case composite:
		return regret.NewWithoutL1(learner, options["kappa"])
	}
	return learner, nil
}

// match plays one learner in one run.
func (c *catalogue) match(ctx context.Context, spec Spec, seed uint64, o *Options,
	progress func(int, float64),
) (Result, error) {
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	name := spec.String()
	referee := func(options regret.Options) (*setting, *regret.Certificate, error) {
		s, err := c.newSetting(o, seed)
		if err != nil {
			return nil, nil, err
		}
		p, err := c.player(spec, s, o)
		if err != nil {
			return nil, nil, err
		}
		cert, err := regret.Play(ctx, p, s.game, o.Rounds, options)
		if err != nil {
			return nil, nil, fmt.Errorf("%s in %s: %w", name, s.title, err)
		}
		return s, cert, nil
	}
	s, cert, err := referee(regret.Options{Checkpoints: o.Checkpoints, Dynamic: o.Dynamic, Progress: progress})
	if err != nil {
		return Result{}, err
	}
	if len(cert.Curve) == 0 && o.Checkpoints > 0 && cert.Comparator != nil {
		// Without a summary the best point is known at the end only: the curve takes a second play
		// of the same game, against that point.
		_, again, err := referee(regret.Options{Checkpoints: o.Checkpoints, Comparator: cert.Comparator})
		if err != nil {
			return Result{}, err
		}
		cert.Curve = again.Curve
	}
	if math.IsNaN(cert.LearnerLoss) {
		return Result{}, noregret.Errorf(noregret.Diverged, name, "the loss is not a number")
	}
	progress(o.Rounds, cert.LearnerLoss/float64(o.Rounds))
	return Result{
		Learner: name, Game: s.title, Seed: seed, Floor: s.facts.Floor, DynamicFloor: s.facts.DynamicFloor,
		Certificate: cert,
	}, nil
}
