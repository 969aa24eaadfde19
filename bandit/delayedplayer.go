package bandit

import (
	"fmt"

	"github.com/noregret/noregret"
)

// DelayedPlayer is an [Algorithm] of the caller's own that [Delayed] can play: one whose choices do
// not wait for their losses. A [Player] needs no such methods.
type DelayedPlayer interface {
	Algorithm
	// Choose draws an arm among the allowed ones, nil for all, and returns it with its propensity,
	// or NaN if that takes Distribution to compute. It begins no round: any number of choices may
	// wait for their losses. Another arm, or a propensity outside (0, 1], is an error of
	// [Delayed.Choose].
	Choose(r Rand, allowed []bool) (arm int, propensity float64)
	// Distribution writes the propensity of each arm to p, which has the length Arms.
	Distribution(p []float64, allowed []bool)
	// Learn takes the loss of a choice. It returns an error of code bad_input, and changes nothing,
	// if the loss is outside the range of the algorithm.
	Learn(o Outcome) error
}

// LossReplacer is a [DelayedPlayer] that does not leave out a loss that is lost, as a player on
// estimates must not.
type LossReplacer interface {
	// LearnLost takes the mean of the losses learned so far, NaN before the first, in the place of
	// a loss that will not come, and reports whether it has learned from it. Loss of the outcome is
	// 0.
	LearnLost(o Outcome, mean float64) bool
}

// Outcome is what came of a choice.
type Outcome struct {
	Arm int
	// Propensity is the one that Choose returned, 0 if that was NaN.
	Propensity float64
	// Allowed are the arms that were allowed, nil if all were. The player must not keep it.
	Allowed []bool
	Loss    float64
}

// outside is a player of the caller's own.
type outside struct {
	DelayedPlayer
	allowed []bool
	awake   []uint64
}

// core is what [Delayed] needs of a player: the parts of a round, which Draw and Update join.
type core interface {
	Algorithm
	// pending is the arm of a round that Draw has begun, none outside of a round.
	pending() int
	// choose draws an arm and writes to c what learn needs to know of the draw. Propensity is NaN
	// if it takes distribution to compute it.
	choose(c *drawn, v *view, r Rand)
	// distribution writes the distribution of choose to p and returns a bound on its error.
	distribution(p []float64, v *view) (bound float64)
	// learn ends a round. It returns an error of code bad_input, and changes nothing, if the loss
	// is outside the range of the algorithm.
	learn(c *drawn, loss float64) error
	// lose ends a round whose loss is lost, given the mean loss of the rounds learned, NaN if there
	// is none. It reports whether the player put another number in the place of the loss.
	lose(c *drawn, mean float64) bool
	// add adds an arm, or returns why the algorithm cannot.
	add() error
	// renewed returns a new player of this number of arms with the same options, nil if the
	// algorithm cannot add arms.
	renewed(arms int) core
}

// newCore returns what Delayed needs of a player.
func newCore(p Algorithm) (core, error) {
	switch p := p.(type) {
	case core:
		return p, nil
	case DelayedPlayer:
		if n := p.Arms(); n < 1 || n > maxArms {
			return nil, noregret.BadInputf("player", "%T has %d arms: want 1 to %d", p, n, maxArms)
		}
		return &outside{DelayedPlayer: p}, nil
	}
	return nil, noregret.BadInputf("player", "%T: want a *bandit.Player, or a DelayedPlayer", p)
}

func (o *outside) pending() int { return none }

func (o *outside) choose(c *drawn, v *view, r Rand) {
	*c = drawn{}
	c.Arm, c.Propensity = o.Choose(r, v.allowed)
	if v.allowed != nil {
		o.awake = setBits(o.awake[:0], v.allowed)
		c.Allowed = o.awake
	}
}

// check returns an error for a draw that no player may make.
func (o *outside) check(c *drawn, v *view) error {
	switch {
	case c.Arm < 0 || c.Arm >= o.Arms() || !v.allows(c.Arm):
		return noregret.BadInputf("player", "%T chose arm %d, which is not allowed", o.DelayedPlayer, c.Arm)
	case c.Propensity <= 0 || c.Propensity > 1+1e-9:
		return noregret.BadInputf("player", "%T chose arm %d by the propensity %v: want a number in (0, 1], or NaN",
			o.DelayedPlayer, c.Arm, c.Propensity)
	}
	return nil
}

func (o *outside) distribution(p []float64, v *view) float64 {
	o.Distribution(p, v.allowed)
	return 0
}

// outcome is what came of a draw.
func (o *outside) outcome(c *drawn, loss float64) Outcome {
	out := Outcome{Arm: c.Arm, Propensity: c.Propensity, Loss: loss}
	if len(c.Allowed) > 0 {
		o.allowed = o.allowed[:0]
		for k := range o.Arms() {
			o.allowed = append(o.allowed, k>>6 < len(c.Allowed) && hasBit(c.Allowed, k))
		}
		out.Allowed = o.allowed
	}
	return out
}

func (o *outside) learn(c *drawn, loss float64) error { return o.Learn(o.outcome(c, loss)) }

func (o *outside) lose(c *drawn, mean float64) bool {
	r, ok := o.DelayedPlayer.(LossReplacer)
	return ok && r.LearnLost(o.outcome(c, 0), mean)
}

func (o *outside) add() error {
	if a, ok := o.DelayedPlayer.(interface{ AddArm() error }); ok {
		return a.AddArm()
	}
	return noregret.BadInputf("arm", "%T cannot add arms: it has no method AddArm", o.DelayedPlayer)
}

func (o *outside) renewed(int) core { return nil }

// String describes the player.
func (o *outside) String() string {
	if s, ok := o.DelayedPlayer.(fmt.Stringer); ok {
		return s.String()
	}
	return fmt.Sprintf("%T(arms=%d)", o.DelayedPlayer, o.Arms())
}
