package play

import (
	"maps"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/oco"
	"github.com/noregret/noregret/regret"
)

// newPlayer makes a learner for a game and puts between them what the game asks for.
func newPlayer(spec Spec, game regret.Game, f regret.Facts, rounds int, seed uint64) (regret.Player, error) {
	name, draws := strings.CutPrefix(spec.Name, randomizedPrefix)
	entry, err := oco.Find(name)
	if err != nil {
		var names []string
		for _, e := range catalogue() {
			names = append(names, e.Name)
		}
		return nil, noregret.Errorf(noregret.Usage, "learner", "%q: want one of %s", spec.Name,
			strings.Join(names, ", "))
	}
	options := spec.Options
	composite := spec.Name == "composite-ftrl" && f.L1 > 0
	if _, given := options["kappa"]; composite && !given {
		if options = maps.Clone(options); options == nil {
			options = map[string]float64{}
		}
		options["kappa"] = f.L1 // the learner knows the l1 part of the losses: that is what it is for
	}
	learner, err := entry.New(problem(game, f, rounds), options)
	switch {
	case err != nil:
		return nil, err
	case draws && entry.Kind != "experts":
		return nil, noregret.Errorf(noregret.Usage, "learner", "%q: %s has no weights of experts to draw from",
			spec.Name, name)
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

// LearnerInfo describes a learner.
type LearnerInfo struct {
	oco.Entry
	// Games are the names of the games that it can play with their default options.
	Games []string
}

// Learners lists all learners with the games that they can play, each tried with the game's
// defaults and a known horizon.
func Learners() ([]LearnerInfo, error) {
	const rounds = 16
	type arena struct {
		name  string
		game  regret.Game
		facts regret.Facts
	}
	var arenas []arena
	for _, g := range regret.Games() {
		game, facts, err := g.New(regret.GameParams{Rounds: rounds, Seed: 1})
		if err != nil {
			return nil, err
		}
		arenas = append(arenas, arena{g.Name, game, facts})
	}
	var all []LearnerInfo
	for _, e := range catalogue() {
		info := LearnerInfo{Entry: e, Games: []string{}}
		for _, a := range arenas {
			if _, err := newPlayer(Spec{Name: e.Name}, a.game, a.facts, rounds, 1); err == nil {
				info.Games = append(info.Games, a.name)
			}
		}
		all = append(all, info)
	}
	return all, nil
}
