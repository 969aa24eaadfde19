package regret

import (
	"math"

	"github.com/noregret/noregret/convex"
)

// signSets are the sets of the games of signs.
var signSets = []struct {
	suffix, help, kind string
	dim                int
	set                func(d int) (convex.Set, error)
}{
	{"ball", "the unit ball", "convex", 2, func(d int) (convex.Set, error) { return convex.NewCenteredBall(d, 1) }},
	{"box", "the cube [−1, 1]^d", "convex", 1, func(d int) (convex.Set, error) { return convex.NewCube(d, -1, 1) }},
	{"experts", "the simplex", "experts", 2, func(d int) (convex.Set, error) { return convex.NewSimplex(d) }},
}

// signGames are the entries of [Rademacher] and [Minimax].
func signGames() []GameEntry {
	var all []GameEntry
	for _, s := range signSets {
		all = append(all, GameEntry{
			Name: "rademacher-" + s.suffix, Help: "fair signs on " + s.help +
				": every learner expects regret (L·D/2)·E|S_T|", Kind: s.kind, Dim: s.dim,
			Options: []GameOption{lipschitzOption},
			Make: func(p GameParams, o func(string) float64) (Game, Facts, error) {
				set, err := s.set(p.Dim)
				if err != nil {
					return nil, Facts{}, err
				}
				g, err := NewRademacher(set, nil, nil, o("lipschitz"), p.Seed)
				if err != nil {
					return nil, Facts{}, err
				}
				f := g.gameFacts()
				f.ExpectedFloor = true
				if p.Rounds > 0 {
					f.Floor = g.Floor(p.Rounds)
				}
				return g, f, nil
			},
		})
	}
	for _, s := range signSets {
		all = append(all, GameEntry{
			Name: "minimax-" + s.suffix, Help: "the derandomized signs on " + s.help +
				": every deterministic learner has regret (L·D/2)·E|S_T| or more",
			Kind: s.kind, Dim: s.dim, NeedsRounds: true, Options: []GameOption{lipschitzOption},
			Make: func(p GameParams, o func(string) float64) (Game, Facts, error) {
				set, err := s.set(p.Dim)
				if err != nil {
					return nil, Facts{}, err
				}
				g, err := NewMinimax(set, nil, nil, o("lipschitz"), p.Rounds)
				if err != nil {
					return nil, Facts{}, err
				}
				f := g.gameFacts()
				f.Floor = g.Floor()
				return g, f, nil
			},
		})
	}
	return all
}

// gameFacts returns the facts that hold for all games of signs.
func (g *segment) gameFacts() Facts {
	var largest float64
	for _, z := range g.z {
		largest = max(largest, math.Abs(z))
	}
	return linearFacts(g.lipschitz, g.lipschitz*largest)
}

// trapGames are the entries of the other lower bounds.
func trapGames() []GameEntry {
	return []GameEntry{
		{
			Name: "leader-trap", Help: "the sequence on which follow-the-leader pays 1 in every round, on [−1, 1]",
			Kind: "convex", Dim: 1, FixedDim: true,
			Make: func(GameParams, func(string) float64) (Game, Facts, error) {
				return NewLeaderTrap(), linearFacts(1, 1), nil
			},
		},
		{
			Name: "expert-trap", Help: "an adversary that sees the choice: deterministic players have regret T/2 or " +
				"more", Kind: "experts", Dim: 2,
			Make: func(p GameParams, _ func(string) float64) (Game, Facts, error) {
				g, err := NewExpertTrap(p.Dim)
				if err != nil {
					return nil, Facts{}, err
				}
				f := linearFacts(1, 1)
				f.Vertices = true
				if p.Rounds > 0 {
					f.Floor = g.Floor(p.Rounds)
				}
				return g, f, nil
			},
		},
		{
			Name: "betting-trap", Help: "the adversary of unconstrained learners: it refutes a claim or forces " +
				"regret far away; up to 1000 rounds", Kind: "convex", Dim: 2,
			NeedsRounds: true,
			Options: []GameOption{{
				Name: "epsilon", High: 1e100,
				Help: "the claimed regret against 0 within the rounds; 0 is √T",
			}},
			Make: func(p GameParams, o func(string) float64) (Game, Facts, error) {
				e := o("epsilon")
				if e == 0 {
					e = math.Sqrt(float64(p.Rounds))
				}
				g, err := NewBettingTrap(p.Dim, p.Rounds, func(int) float64 { return e })
				return g, linearFacts(1, 1), err
			},
		},
		{
			Name: "decreasing-rate", Help: "the sequence on which exponentiated gradient with a decreasing rate has " +
				"linear regret", Kind: "experts", Dim: 2, FixedDim: true,
			NeedsRounds: true,
			Make: func(p GameParams, _ func(string) float64) (Game, Facts, error) {
				g, err := NewDecreasingRate(p.Rounds)
				return g, linearFacts(1, 1), err
			},
		},
	}
}
