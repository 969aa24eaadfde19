package play

import (
	"slices"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/named"
	"github.com/noregret/noregret/oco"
	"github.com/noregret/noregret/regret"
)

// catalogue holds the learners and games that names refer to.
type catalogue struct {
	learners []oco.Entry // with the randomized forms of those of expert advice
	games    []regret.GameEntry
}

// newCatalogue adds a caller's entries to the learners of oco and the games of regret.
func newCatalogue(learners []oco.Entry, games []regret.GameEntry) (*catalogue, error) {
	c := &catalogue{
		learners: slices.Concat(oco.Learners(), driftLearners(), learners),
		games:    append(regret.Games(), games...),
	}
	for _, e := range slices.Clone(c.learners) {
		if e.Kind == "experts" {
			c.learners = append(c.learners, randomizedEntry(e))
		}
	}
	seen := map[string]bool{}
	for _, e := range c.learners {
		if err := checkName("learner", e.Name, seen); err != nil {
			return nil, err
		}
	}
	clear(seen)
	for _, e := range c.games {
		if err := checkName("game", e.Name, seen); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// checkName refuses an entry's name that a [Spec] cannot hold or that another entry has.
func checkName(kind, name string, seen map[string]bool) error {
	if name == "" || strings.ContainsAny(name, ":=, \t\n") {
		return noregret.Errorf(noregret.Usage, kind,
			"%q: the name of an entry must not be empty or contain a colon, comma, equals sign or space", name)
	}
	if seen[name] {
		return noregret.Errorf(noregret.Usage, kind, "%q: two entries have this name", name)
	}
	seen[name] = true
	return nil
}

func (c *catalogue) learner(name string) (*oco.Entry, error) {
	if base, draws := strings.CutPrefix(name, randomizedPrefix); draws {
		for i := range c.learners {
			if e := &c.learners[i]; e.Name == base && e.Kind != "experts" {
				return nil, noregret.Errorf(noregret.Usage, "learner",
					"%q: %s has no weights of experts to draw from", name, base)
			}
		}
	}
	if base, ok := strings.CutPrefix(name, restartedPrefix); ok {
		for _, e := range c.learners {
			if e.Name == base && !strings.HasPrefix(base, randomizedPrefix) {
				e = restartedEntry(e)
				return &e, nil
			}
		}
	}
	e, err := named.Find("learner", name, c.learners, func(e *oco.Entry) string { return e.Name })
	if b, unknown := FindBandit(name); err != nil && unknown == nil {
		return nil, misfitError{noregret.Errorf(noregret.Usage, "learner", "%q is a bandit algorithm: it plays %s",
			name, strings.Join(banditFits(b), ", "))}
	}
	return e, err
}

func (c *catalogue) game(name string) (*regret.GameEntry, error) {
	for i := range c.games {
		if e := &c.games[i]; e.Name == name {
			return e, nil
		}
	}
	var names []string
	for _, e := range c.games {
		names = append(names, e.Name)
	}
	for _, g := range BanditGames() {
		names = append(names, g.Name)
	}
	return nil, noregret.Errorf(noregret.Usage, "game", "%s", named.Unknown(name, names))
}

// arena is a game of the catalogue with its default options.
type arena struct {
	name  string
	game  regret.Game
	facts regret.Facts
}

// arenaRounds is the horizon of arenas.
const arenaRounds = 16

// arenas makes every game with its defaults and a known horizon.
func (c *catalogue) arenas() ([]arena, error) {
	all := make([]arena, 0, len(c.games))
	for _, g := range c.games {
		game, facts, err := g.New(regret.GameParams{Rounds: arenaRounds, Seed: 1})
		if err != nil {
			return nil, err
		}
		all = append(all, arena{g.Name, game, facts})
	}
	return all, nil
}

// fitting returns the names of the games that a learner can play.
func (c *catalogue) fitting(spec Spec, arenas []arena) []string {
	names := []string{}
	for _, a := range arenas {
		if _, err := c.newPlayer(spec, a.game.Set(), a.facts, arenaRounds, 1); err == nil {
			names = append(names, a.name)
		}
	}
	return names
}

// LearnerInfo describes a learner.
type LearnerInfo struct {
	oco.Entry
	// Games are the names of the games that it can play with their default options.
	Games []string
}

// Learners lists the learners that have names, those of oco and the randomized forms of those of
// expert advice, with the games that they can play: each game with its default options and a known
// horizon.
func Learners() ([]LearnerInfo, error) {
	c, err := newCatalogue(nil, nil)
	if err != nil {
		return nil, err
	}
	arenas, err := c.arenas()
	if err != nil {
		return nil, err
	}
	all := make([]LearnerInfo, 0, len(c.learners))
	for _, e := range c.learners {
		all = append(all, LearnerInfo{Entry: e, Games: c.fitting(Spec{Name: e.Name}, arenas)})
	}
	return all, nil
}

// Bandits lists the bandit algorithms of [RunBandits], as Learners does: their kind is "bandit",
// and they have no Make. They play the games of data if these have losses of 0 or 1.
func Bandits() []LearnerInfo {
	all := []LearnerInfo{}
	for _, b := range banditLearners() {
		e := oco.Entry{
			Name: b.Name, Kind: "bandit", Bound: b.Bound, Knows: b.Knows, Cost: b.Cost, Options: b.Options,
			Source: b.Source,
		}
		all = append(all, LearnerInfo{Entry: e, Games: banditFits(&b)})
	}
	return all
}
