package regret

import (
	"fmt"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/loss"
)

// ExpertTrap shows that deterministic choices among experts have linear regret (Orabona 2019,
// section 6.8): it sees the choice i_t and charges that expert alone, g_t = e_{i_t}. The player
// pays T; the d experts share these losses, so the best of them pays at most T/d.
//
// Points must be vertices of the simplex: wrap players with [NewDeterministic]. Players that draw
// at random are refused, because the adversary must not see the draw; against an adversary that
// sees only their weights they have regret √(T·ln d/2).
type ExpertTrap struct {
	linear
}

// NewExpertTrap makes the game for d ≥ 2 experts.
func NewExpertTrap(d int) (*ExpertTrap, error) {
	if err := checkDim(d, 2); err != nil {
		return nil, err
	}
	set, err := convex.NewSimplex(d)
	if err != nil {
		return nil, err
	}
	return &ExpertTrap{newLinear(set)}, nil
}

// Admit refuses randomized players.
func (g *ExpertTrap) Admit(p Player) error {
	if _, ok := p.(RandomizedPlayer); ok {
		return noregret.Errorf(noregret.Usage, "player",
			"%T: it draws its choice i_t at random, which this adversary may not see; it plays against deterministic "+
				"choices", p)
	}
	return nil
}

// Next implements [Game].
func (g *ExpertTrap) Next(x []float64) (loss.Function, error) {
	if err := checkPoint(x, len(g.f.C)); err != nil {
		return nil, err
	}
	choice := -1
	for i, v := range x {
		switch {
		case v == 0:
		case v == 1 && choice < 0:
			choice = i
		default:
			choice = len(x)
		}
	}
	if choice < 0 || choice == len(x) {
		return nil, noregret.BadInputf("point", "not a vertex of the simplex: "+
			"this adversary sees the choice of one expert; NewDeterministic makes a player choose")
	}
	clear(g.f.C)
	g.f.C[choice] = 1
	return &g.f, nil
}

// Restart implements [Game].
func (g *ExpertTrap) Restart() { g.restart() }

// Floor is a lower bound on every player's regret: T − ⌊T/d⌋, at least T/2.
func (g *ExpertTrap) Floor(rounds int) float64 {
	return float64(rounds - rounds/len(g.f.C))
}

// Deterministic is a player on the simplex that chooses one expert a round: the vertex of the
// largest weight of another player, ties to the lowest index. The other player learns from the full
// losses. It has no guarantee.
type Deterministic struct {
	player Player
	vertex []float64
}

// NewDeterministic wraps a player on the simplex. A randomized one is refused.
func NewDeterministic(player Player) (*Deterministic, error) {
	if player == nil {
		return nil, noregret.BadInputf("player", "nil: a player is required")
	}
	if _, ok := player.(RandomizedPlayer); ok {
		return nil, noregret.BadInputf("player", "%T draws at random: a deterministic player is required", player)
	}
	return &Deterministic{player, make([]float64, player.Dim())}, nil
}

// Dim implements [Player].
func (p *Deterministic) Dim() int { return p.player.Dim() }

// Choice is the index of the vertex.
func (p *Deterministic) Choice() int {
	x, best := p.player.Predict(), 0
	for i, v := range x {
		if v > x[best] {
			best = i
		}
	}
	return best
}

// Predict implements [Player].
func (p *Deterministic) Predict() []float64 {
	clear(p.vertex)
	p.vertex[p.Choice()] = 1
	return p.vertex
}

// Update implements [Player].
func (p *Deterministic) Update(g []float64) error {
	if err := p.player.Update(g); err != nil {
		return fmt.Errorf("deterministic: %w", err)
	}
	return nil
}
