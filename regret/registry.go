package regret

import (
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/named"
	"github.com/noregret/noregret/loss"
)

// GameEntry is a game that can be made by name: one of [Games], or one of your own for play.Run.
type GameEntry struct {
	// Name is the game's name, and Help one sentence about it.
	Name, Help string
	// Kind is "convex", or "experts" for games on the simplex.
	Kind string
	// Dim is the default dimension; FixedDim reports that it is the only one.
	Dim      int
	FixedDim bool
	// NeedsRounds reports that the horizon must be given.
	NeedsRounds bool
	// TakesExamples is what GameParams.Examples may hold: "" for none, "regression" for any
	// labels, "classification" for labels ±1.
	TakesExamples string
	// Options are the game's options, all with defaults.
	Options []GameOption

	// Make makes the game. Its parameters have been checked, p.Dim is the dimension to take unless
	// there are examples, and option returns the value of an option of Options, given or default.
	Make func(p GameParams, option func(name string) float64) (Game, Facts, error)

	// Outline, if not nil, returns the game's set and facts before its data are made, for games
	// whose data take long to make; its parameters are as for Make. A fact whose value depends on
	// the data is 1, or what follows from values of 1, if the game will state one. A learner fits
	// the game if it can be made for the outline.
	Outline func(p GameParams, option func(name string) float64) (convex.Set, Facts, error)
}

// GameOption is a number that a game can be given.
type GameOption struct {
	Name string
	// Default is the value if none is given; Low and High bound the values that can be given.
	Default, Low, High float64
	// Integer reports that it must be an integer.
	Integer bool
	Help    string
}

// GameParams are the parameters of a game.
type GameParams struct {
	// Dim is the dimension, 0 for the game's default; examples bring their own.
	Dim int
	// Rounds is the horizon T, 0 if it is not known.
	Rounds int
	// Seed is for games that draw; equal seeds give equal games.
	Seed uint64
	// Options are numbers by name.
	Options map[string]float64
	// Examples are the rows of a data set, for games that take them; nil for synthetic ones.
	Examples []Example
}

// Facts are the properties of a game that are known before it begins: those that all its losses
// share, and what the game requires of its players. Start from [Unknown].
type Facts struct {
	loss.Facts
	// L1 is the weight λ of ‖x‖₁ in every loss; see [NewWithoutL1] for learners that know it.
	L1 float64
	// Vertices reports that points must be vertices of the simplex; see [NewDeterministic].
	Vertices bool
	// Floor is a regret that no deterministic learner stays below after GameParams.Rounds rounds,
	// NaN if there is none or no horizon. With ExpectedFloor it bounds the expected regret over the
	// seeds, of every learner.
	Floor         float64
	ExpectedFloor bool
	// Noise is the standard deviation of the noise in every number of the players' feedback.
	// Subgradients with noise have no largest length, so Lipschitz is then +Inf, and Steepest
	// bounds the length of subgradients without it. Steepest is 0 in games without noise.
	Noise, Steepest float64
	// Variation bounds the variation of the losses over the hull of their minimizers
	// ([Variation.Hull]) in GameParams.Rounds rounds; NaN if no bound is known.
	Variation float64
	// DynamicFloor is a dynamic regret that the expectation over the seeds is below for no learner;
	// NaN if there is none.
	DynamicFloor float64
}

// Unknown returns the facts of a game about which nothing is known.
func Unknown() Facts { return factsOf(loss.Unknown()) }

// linearFacts returns the facts of linear losses.
func linearFacts(lipschitz, inf float64) Facts {
	return factsOf(loss.Facts{Lipschitz: lipschitz, LipschitzInf: inf})
}

// factsOf returns the facts of a game without a floor whose losses have the given properties.
func factsOf(f loss.Facts) Facts {
	return Facts{Facts: f, Floor: math.NaN(), Variation: math.NaN(), DynamicFloor: math.NaN()}
}

// New makes the game and returns the facts about it. It returns an error for options that the game
// does not have or that are out of range, for a dimension other than a fixed one, and for examples
// if the game takes none.
func (e *GameEntry) New(p GameParams) (Game, Facts, error) {
	if err := e.check(&p); err != nil {
		return nil, Facts{}, err
	}
	if e.Make == nil {
		return nil, Facts{}, e.fail(noregret.Errorf(noregret.Usage, "game", "Make is nil: a constructor is required"))
	}
	g, f, err := e.Make(p, e.values(p))
	if err != nil {
		return nil, Facts{}, e.fail(err)
	}
	return g, f, nil
}

// Preview returns what Outline does, with the checks of New. It returns a nil set if the game has
// no Outline or if there are examples, on which the facts depend.
func (e *GameEntry) Preview(p GameParams) (convex.Set, Facts, error) {
	if err := e.check(&p); err != nil {
		return nil, Facts{}, err
	}
	if e.Outline == nil || p.Examples != nil {
		return nil, Unknown(), nil
	}
	set, f, err := e.Outline(p, e.values(p))
	if err != nil {
		return nil, Facts{}, e.fail(err)
	}
	return set, f, nil
}

// fail puts the game's name before an error.
func (e *GameEntry) fail(err error) error { return fmt.Errorf("%s: %w", e.Name, err) }

// values returns the function that gives options their values.
func (e *GameEntry) values(p GameParams) func(name string) float64 {
	return func(name string) float64 {
		if v, ok := p.Options[name]; ok {
			return v
		}
		for _, o := range e.Options {
			if o.Name == name {
				return o.Default
			}
		}
		return math.NaN()
	}
}

// check returns an error for parameters that the game cannot have, and sets the dimension if it is
// not given.
func (e *GameEntry) check(p *GameParams) error {
	err := named.CheckOptions(e.Name, p.Options, e.Options, func(o *GameOption) string {
		return o.Name
	}, func(o *GameOption, v float64) error {
		if !(v >= o.Low && v <= o.High) || o.Integer && v != math.Floor(v) {
			kind := "a number"
			if o.Integer {
				kind = "an integer"
			}
			return noregret.Errorf(noregret.Usage, e.Name+":"+o.Name, "%v: want %s from %v to %v", v, kind, o.Low,
				o.High)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if p.Rounds < 0 || e.NeedsRounds && p.Rounds < 1 {
		return e.fail(noregret.Errorf(noregret.Usage, "rounds", "%d: want at least 1: this game must know its horizon",
			p.Rounds))
	}
	if p.Examples != nil && e.TakesExamples == "" {
		return e.fail(noregret.Errorf(noregret.Usage, "examples", "%d given: this game takes none", len(p.Examples)))
	}
	if p.Examples != nil && p.Dim != 0 && len(p.Examples) > 0 && len(p.Examples[0].Z) != p.Dim {
		return e.fail(noregret.Errorf(noregret.Usage, "dimension", "%d: the examples have %d features", p.Dim,
			len(p.Examples[0].Z)))
	}
	if p.Dim == 0 {
		p.Dim = e.Dim
	}
	if e.FixedDim && p.Dim != e.Dim || p.Dim < 1 || p.Dim > maxDim {
		want := fmt.Sprintf("1 to %d", maxDim)
		if e.FixedDim {
			want = fmt.Sprint(e.Dim, ", the only one")
		}
		return e.fail(noregret.Errorf(noregret.Usage, "dimension", "%d: want %s", p.Dim, want))
	}
	return nil
}

// FindGame returns the game with the given name.
func FindGame(name string) (*GameEntry, error) {
	return named.Find("game", name, Games(), func(e *GameEntry) string { return e.Name })
}

// Games lists the games that can be made by name: games of play, then the adversaries of the lower
// bounds, then games whose losses vary within a budget.
func Games() []GameEntry {
	return slices.Concat(simpleGames(), smoothGames(), exampleGames(), signGames(), trapGames(),
		varyingGames())
}
