package bandit

import (
	"encoding"
	"math"

	"github.com/noregret/noregret"
)

// Player is a bandit algorithm on losses. A round has two steps: Draw chooses an arm, Update takes
// the loss of that arm. A reward r in [0, L] is the loss L − r.
type Player interface {
	// Arms is the number of arms, d.
	Arms() int
	// Draw chooses the arm of the round. It takes its randomness from r, which may be nil if the
	// algorithm is deterministic. A second call in a round returns the same arm and takes nothing
	// from r.
	Draw(r Rand) int
	// Update ends the round with the loss of the arm drawn. It returns an error of code bad_input,
	// and changes nothing, if no arm has been drawn, another one has, or the loss is outside the
	// range of the algorithm. An excess of 1e-12 of the range is cut off.
	Update(arm int, loss float64) error
	// A snapshot restores into a player with the same options, which then continues bit for bit.
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}

// Randomized is a [Player] that knows the exact distribution of its draws.
type Randomized interface {
	Player
	// Probabilities is the distribution that Draw draws the arm of the round from: the propensities
	// to log. The slice is valid until the next Update, and the caller must not change it.
	Probabilities() []float64
}

const playerMagic = "noregret-bandit-player-2\n"

// maxArms limits the memory that a constructor may take.
const maxArms = 1 << 24

// none is the pending arm before the draw.
const none = -1

// checkArms returns an error unless 1 ≤ arms ≤ maxArms.
func checkArms(arms int) error {
	if arms < 1 || arms > maxArms {
		return noregret.BadInputf("arms", "%d: want 1 to %d", arms, maxArms)
	}
	return nil
}

// checkPositive returns an error unless value is in [1e-100, 1e100].
func checkPositive(place string, value float64) error {
	if !(value >= 1e-100 && value <= 1e100) {
		return noregret.BadInputf(place, "%v: want a number from 1e-100 to 1e100", value)
	}
	return nil
}

// checkTurn returns an error unless arm is the one drawn in the current round.
func checkTurn(arm, pending int) error {
	switch {
	case pending == none:
		return noregret.BadInputf("arm", "%d has a loss, but no arm has been drawn in this round", arm)
	case arm != pending:
		return noregret.BadInputf("arm", "%d has a loss, but arm %d was drawn", arm, pending)
	}
	return nil
}

// checkLoss returns the loss of an arm, cut off at the ends of its range. It returns an error if
// the loss is outside by more than 1e-12 of limit.
func checkLoss(loss, low, limit float64, arm, round int) (float64, error) {
	slack := float64(1e-12 * limit)
	if !(loss >= low-slack && loss <= limit+slack) {
		return 0, noregret.BadInputf("loss", "%v of arm %d in round %d: want a number from %v to %v", loss, arm, round,
			low, limit)
	}
	return min(max(loss, low), limit), nil
}

// sample returns the smallest i with p_1 + ... + p_i > u, and the last i with p_i > 0 if rounding
// leaves none.
func sample(p []float64, u float64) int {
	sum, last := 0.0, 0
	for i, x := range p {
		if x == 0 {
			continue
		}
		last = i
		if sum += x; sum > u {
			break
		}
	}
	return last
}

// finite reports whether all numbers are finite.
func finite(x []float64) bool {
	for _, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}
