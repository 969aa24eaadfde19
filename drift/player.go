package drift

import (
	"fmt"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/bandit"
	"github.com/noregret/noregret/forget"
)

// Player restarts a bandit algorithm. The loss of the arm drawn goes to the algorithm and to the
// trigger. Restarted every Δ rounds, an algorithm with expected regret c·√n on n rounds has against
// the best arms of all rounds the expected regret ⌈T/Δ⌉·c·√Δ + 2Δ·V, where V is the sum over the
// rounds of the largest change of an arm's mean loss (Besbes, Gur and Zeevi, "Stochastic
// multi-armed-bandit problem with non-stationary rewards", 2014).
//
// It is a [bandit.Algorithm] itself. It adds O(1) to a round and allocates nothing, except that a
// restart makes a player.
type Player struct{ r *Restarter[bandit.Algorithm] }

// NewPlayer restarts players that the function makes. All have the same number of arms.
func NewPlayer(trigger forget.Trigger, make func() (bandit.Algorithm, error)) (*Player, error) {
	if make == nil {
		return nil, noregret.BadInputf("make", "nil: want a function")
	}
	arms := 0
	r, err := NewRestarter(trigger, func(int) (bandit.Algorithm, error) {
		p, err := make()
		if err != nil {
			return nil, err
		}
		if p == nil || arms > 0 && p.Arms() != arms {
			return nil, noregret.BadInputf("make", "the player is nil or has another number of arms: want %d arms",
				arms)
		}
		arms = p.Arms()
		return p, nil
	})
	if err != nil {
		return nil, err
	}
	return &Player{r}, nil
}

// Arms implements [bandit.Algorithm].
func (p *Player) Arms() int { return p.r.Learner().Arms() }

// Draw implements [bandit.Algorithm].
func (p *Player) Draw(r bandit.Rand) int { return p.r.Learner().Draw(r) }

// Update implements [bandit.Algorithm]. If a restart fails it returns that error from then on.
func (p *Player) Update(arm int, loss float64) error {
	if err := p.r.Check(loss); err != nil {
		return err
	}
	if err := p.r.Learner().Update(arm, loss); err != nil {
		return err
	}
	_, err := p.r.End(loss)
	return err
}

// Learner is the player of the current batch, for instance for its probabilities.
func (p *Player) Learner() bandit.Algorithm { return p.r.Learner() }

// Batch is the number of restarts so far.
func (p *Player) Batch() int { return p.r.Batch() }

// Rounds is the number of rounds that have ended.
func (p *Player) Rounds() int { return p.r.Rounds() }

// String describes the player in one line.
func (p *Player) String() string {
	return fmt.Sprintf("restarted(%s, %s)", textOf(p.r.Learner()), textOf(p.r.trigger))
}

// MarshalBinary implements [bandit.Algorithm].
func (p *Player) MarshalBinary() ([]byte, error) { return p.r.MarshalBinary() }

// UnmarshalBinary implements [bandit.Algorithm].
func (p *Player) UnmarshalBinary(data []byte) error { return p.r.UnmarshalBinary(data) }
