package private

import (
	"errors"
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/internal/memory"
)

// ErrBusy means that another goroutine is inside the learner. The call changed nothing; a learner
// serves one goroutine at a time, because the order of its steps is part of what it releases.
var ErrBusy = errors.New("another step is running")

// ErrLoss means that a loss has no finite constant of smoothness, so that its increments grow with
// the number of steps, and that the caller did not accept a bias by stating a clip bound.
var ErrLoss = errors.New("the loss is not smooth")

// ErrWarmUp means that the rounds of a bandit do not cover its warm-up.
var ErrWarmUp = errors.New("the warm-up is longer than the game")

// ErrRound means that a choice and its reward do not alternate.
var ErrRound = errors.New("each round is a choice and then its reward")

// vectors is a number of vectors that every learner keeps.
const vectors = 16

func checkDim(d int) error {
	if d < 1 {
		return noregret.BadInputf("dimension", "%d, want at least 1: %w", d, dp.ErrDimension)
	}
	return memory.Check("domain", fmt.Sprintf("dimension %d", d), vectors*float64(d))
}

func checkExponent(p float64) error {
	if !(p >= 1) {
		return noregret.BadInputf("norm", "exponent %v, want at least 1 (+Inf is allowed): %w", p, dp.ErrNorm)
	}
	return nil
}

func checkPositive(name string, v float64) error {
	if !(v > 0) || math.IsInf(v, 1) {
		return noregret.BadInputf(name, "%v, want a finite number above 0: %w", v, dp.ErrBound)
	}
	return nil
}

func checkNonNegative(name string, v float64) error {
	if !(v >= 0) || math.IsInf(v, 1) {
		return noregret.BadInputf(name, "%v, want a finite number, at least 0: %w", v, dp.ErrBound)
	}
	return nil
}

func checkHorizon(n int64) error {
	if n < 1 || n > dp.MaxHorizon {
		return noregret.BadInputf("horizon", "%d records, want 1 to %d: %w", n, int64(dp.MaxHorizon), dp.ErrHorizon)
	}
	return nil
}
