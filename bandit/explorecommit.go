package bandit

import (
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/stat"
)

// ExploreThenCommit pulls each of d arms m times in turn and then stays with the arm of the lowest
// mean, the first of several (Orabona 2019, Algorithm 10.4). The turns begin with the second arm
// and end with the first, as in the book. [ExploreThenCommitBound] is its guarantee.
//
// Losses are finite numbers of size at most 1e100. A round costs O(1), the commitment O(d), nothing
// is allocated.
type ExploreThenCommit struct {
	// Turns is m, from 1 to 1e9.
	Turns int
}

func (e ExploreThenCommit) plan(int) (*plan, error) {
	if e.Turns < 1 || e.Turns > 1e9 {
		return nil, noregret.BadInputf("turns", "%d: want 1 to 1e9", e.Turns)
	}
	return &plan{
		name: "explore-then-commit", options: fmt.Sprintf(", turns=%d", e.Turns), low: -maxLoss, high: maxLoss,
		fixed:  "explore-then-commit plans its rounds for the arms that it begins with",
		method: commitment{e.Turns},
	}, nil
}

// commitment is the method of [ExploreThenCommit].
type commitment struct{ turns int }

// pick explores the arm with the fewest draws, in turns that begin with the second one. An arm
// counts as explored once it has m losses, or 2m draws: losses may never arrive. Then the lowest
// mean is drawn, for good if every arm has m losses.
func (e commitment) pick(s *state, v *view) int {
	d := len(s.Pulls)
	switch {
	case s.Committed != none && v.allows(s.Committed):
		return s.Committed
	case s.Committed != none:
		return s.lowestArm(v)
	case v.chosen == nil:
		return (s.Rounds + 1) % d
	}
	arm := none
	for i := range d {
		k := (i + 1) % d
		explored := s.Pulls[k] >= e.turns || v.chosen[k] >= 2*e.turns
		if v.allows(k) && !explored && (arm == none || v.chosen[k] < v.chosen[arm]) {
			arm = k
		}
	}
	if arm != none {
		return arm
	}
	return s.lowestArm(v)
}

func (e commitment) renew(*state) {}

func (e commitment) choose(s *state, c *drawn, v *view, _ Rand) {
	*c = drawn{Arm: e.pick(s, v), Propensity: 1}
}

func (e commitment) distribution(s *state, p []float64, v *view) float64 { return one(p, e.pick(s, v)) }

// learn commits once every arm has its losses.
func (e commitment) learn(s *state, c *drawn, _ float64) {
	if s.Committed == none && s.Pulls[c.Arm] == e.turns && slices.Min(s.Pulls) >= e.turns {
		s.Committed = s.lowestArm(lockstep)
	}
}

func (e commitment) valid(s *state) bool {
	return (s.Committed != none) == (slices.Min(s.Pulls) >= e.turns)
}

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
