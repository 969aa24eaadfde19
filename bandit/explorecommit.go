package bandit

import (
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/stat"
)

// ExploreThenCommit pulls each of d arms m times in turn and then stays with the arm of the lowest
// mean, the first of several (Orabona 2019, Algorithm 10.4). The turns begin with the second arm
// and end with the first, as in the book. [ExploreThenCommitBound] is its guarantee.
//
// Losses are finite numbers of size at most 1e100. A round costs O(1), the commitment O(d), nothing
// is allocated. Not safe for concurrent use.
type ExploreThenCommit struct {
	averages
	turns int
}

// NewExploreThenCommit returns the algorithm with m = turns pulls of each arm. It returns an error
// of code bad_input if there is no arm, or turns is not from 1 to 1e9.
func NewExploreThenCommit(arms, turns int) (*ExploreThenCommit, error) {
	if err := checkArms(arms); err != nil {
		return nil, err
	}
	if turns < 1 || turns > 1e9 {
		return nil, noregret.BadInputf("turns", "%d: want 1 to 1e9", turns)
	}
	e := &ExploreThenCommit{turns: turns}
	e.setUp(e, arms, -maxLoss, maxLoss, "explore-then-commit", fmt.Sprintf(", turns=%d", turns))
	return e, nil
}

func (e *ExploreThenCommit) renewed(int) core { return nil }

func (e *ExploreThenCommit) add() error {
	return noregret.BadInputf("arm", "explore-then-commit plans its rounds for the arms that it begins with")
}

// pick explores the arm with the fewest draws, in turns that begin with the second one. An arm
// counts as explored once it has m losses, or 2m draws: losses may never arrive. Then the lowest
// mean is drawn, for good if every arm has m losses.
func (e *ExploreThenCommit) pick(v *view, t int, _ Rand) int {
	d := e.Arms()
	switch {
	case e.s.Committed != none && v.allows(e.s.Committed):
		return e.s.Committed
	case e.s.Committed != none:
		return e.lowestArm(v)
	case v.chosen == nil:
		return t % d
	}
	arm := none
	for i := range d {
		k := (i + 1) % d
		explored := e.s.Pulls[k] >= e.turns || v.chosen[k] >= 2*e.turns
		if v.allows(k) && !explored && (arm == none || v.chosen[k] < v.chosen[arm]) {
			arm = k
		}
	}
	if arm != none {
		return arm
	}
	return e.lowestArm(v)
}

// Update ends the round, see [Player]. The last round of exploration settles the commitment.
func (e *ExploreThenCommit) Update(arm int, loss float64) error {
	if err := e.averages.Update(arm, loss); err != nil {
		return err
	}
	e.settle(arm)
	return nil
}

func (e *ExploreThenCommit) learn(c *drawn, loss float64) error {
	if err := e.averages.learn(c, loss); err != nil {
		return err
	}
	e.settle(c.Arm)
	return nil
}

// settle commits once every arm has its losses, the last of them for this arm.
func (e *ExploreThenCommit) settle(arm int) {
	if e.s.Committed == none && e.s.Pulls[arm] == e.turns && slices.Min(e.s.Pulls) >= e.turns {
		e.s.Committed = e.lowestArm(lockstep)
	}
}

// UnmarshalBinary restores a snapshot, see [Player].
func (e *ExploreThenCommit) UnmarshalBinary(data []byte) error {
	last, unseen := e.averages.s, e.unseen
	if err := e.averages.UnmarshalBinary(data); err != nil {
		return err
	}
	if committed := e.s.Committed != none; committed != (slices.Min(e.s.Pulls) >= e.turns) {
		e.s, e.unseen = last, unseen
		return snapshot.Bad("damaged: the commitment does not fit the rounds")
	}
	return nil
}

// Probabilities is 1 for the arm of the round, see [Randomized].
func (e *ExploreThenCommit) Probabilities() []float64 { return e.certain() }

// ExploreThenCommitTurns returns the number of pulls m of each of two arms with the gap Δ > 0 that
// minimizes the bound for T rounds with σ-subgaussian losses:
//
//	m = ⌈(4σ²/Δ²)·ln(T·Δ²/(4σ²))⌉, at least 1 and at most ⌊T/2⌋
//
// (Orabona 2019, section 10.2.2).
func ExploreThenCommitTurns(gap float64, rounds int, sigma float64) int {
	v := 4 * square(sigma/gap)
	m := math.Ceil(v * portable.Log(float64(rounds)/v))
	return max(min(int(max(min(m, 1e9), 1)), rounds/2), 1)
}

// ExploreThenCommitTwoArmBound bounds the pseudo-regret of two arms with [ExploreThenCommitTurns]:
// min(Δ·T, (4σ²/Δ)·(1 + max(ln(T·Δ²/(4σ²)), 0)) + Δ) (Orabona 2019, section 10.2.2).
func ExploreThenCommitTwoArmBound(gap float64, rounds int, sigma float64) float64 {
	if gap == 0 {
		return 0
	}
	v := 4 * square(sigma/gap)
	explored := float64(float64(v*gap)*(1+max(portable.Log(float64(rounds)/v), 0))) + gap
	return min(float64(gap*float64(rounds)), explored)
}

// ExploreThenCommitBound bounds the pseudo-regret after T ≥ m·d rounds with the gaps Δ_i and
// σ-subgaussian losses:
//
//	m·Σ Δ_i + (T − m·d)·Σ Δ_i·exp(−m·Δ_i²/(4σ²))
//
// (Orabona 2019, Theorem 10.12).
func ExploreThenCommitBound(gaps []float64, turns, rounds int, sigma float64) float64 {
	m, explored, wrong := float64(turns), 0.0, 0.0
	for _, g := range gaps {
		explored += g
		wrong += float64(g * portable.Exp(-float64(m*square(g/(2*sigma)))))
	}
	return float64(m*explored) + float64((float64(rounds)-float64(m*float64(len(gaps))))*wrong)
}

// ExploreThenCommitGaussian returns the probability of the wrong commitment and the exact
// pseudo-regret after T ≥ 2m rounds for two arms with normal losses of the standard deviation σ and
// the gap Δ:
//
//	P = Φ(−Δ·√(m/2)/σ), regret = m·Δ + (T − 2m)·Δ·P
func ExploreThenCommitGaussian(gap float64, turns, rounds int, sigma float64) (wrong, regret float64) {
	m := float64(turns)
	wrong = stat.NormalBelow(-gap * math.Sqrt(m/2) / sigma)
	return wrong, float64(m*gap) + float64((float64(rounds)-float64(2*m))*float64(gap*wrong))
}
