package regret

import (
	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/loss"
)

// LeaderTrap is the game on which follow-the-leader fails (Orabona 2019, Example 2.10): on V = [−1,
// 1] the losses z_t·x with z_1 = −½ and then z_t = 1 for even t, −1 for odd t. The leader of the
// past is always the worst point of the coming round: follow-the-leader pays 1 in every round but
// the first, while 0 pays nothing and the best point −½. It is oblivious. Learners with regret of
// order √T do well on it.
type LeaderTrap struct {
	linear
	t int
}

// NewLeaderTrap makes the game. It has no options.
func NewLeaderTrap() *LeaderTrap {
	set, err := convex.NewCube(1, -1, 1)
	if err != nil {
		panic(err) // a constant argument
	}
	return &LeaderTrap{linear: newLinear(set)}
}

// Next implements [Game].
func (g *LeaderTrap) Next(x []float64) (loss.Function, error) {
	if err := checkPoint(x, 1); err != nil {
		return nil, err
	}
	g.t++
	switch {
	case g.t == 1:
		g.f.C[0] = -0.5
	case g.t%2 == 0:
		g.f.C[0] = 1
	default:
		g.f.C[0] = -1
	}
	return &g.f, nil
}

// Restart implements [Game].
func (g *LeaderTrap) Restart() {
	g.t = 0
	g.restart()
}

// LeaderLoss is the loss of follow-the-leader from x_1 = start over rounds ≥ 1 rounds: T − 1 −
// x_1/2. It is a lower bound for that learner only.
func (g *LeaderTrap) LeaderLoss(rounds int, start float64) float64 {
	return float64(rounds-1) - float64(start/2)
}

// DecreasingRate is the sequence on which exponentiated gradient with a decreasing rate has linear
// regret when it is run as mirror descent (Orabona 2019, Remark 6.16): two experts, T/4 rounds with
// the loss (0, 1) and then (1, 0). In the first part the weight of the second expert falls at large
// rates; the small rates of the second part are too slow to restore it. Learners that keep sums
// (AdaHedge, entropic follow-the-regularized-leader) recover at once. It is oblivious and gives no
// lower bound for other learners.
type DecreasingRate struct {
	linear
	rounds, t int
}

// NewDecreasingRate makes the game for a horizon of at least 4 rounds.
func NewDecreasingRate(rounds int) (*DecreasingRate, error) {
	if rounds < 4 {
		return nil, noregret.BadInputf("rounds", "%d: want at least 4, the horizon of this game", rounds)
	}
	set, err := convex.NewSimplex(2)
	if err != nil {
		return nil, err
	}
	return &DecreasingRate{linear: newLinear(set), rounds: rounds}, nil
}

// Next implements [Game].
func (g *DecreasingRate) Next(x []float64) (loss.Function, error) {
	if err := checkPoint(x, 2); err != nil {
		return nil, err
	}
	g.t++
	g.f.C[0], g.f.C[1] = 0, 1
	if g.t > g.rounds/4 {
		g.f.C[0], g.f.C[1] = 1, 0
	}
	return &g.f, nil
}

// Restart implements [Game].
func (g *DecreasingRate) Restart() {
	g.t = 0
	g.restart()
}
