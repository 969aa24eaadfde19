package dp

import (
	"errors"
	"math"

	"github.com/noregret/noregret"
)

// The errors of the package. An error that is returned wraps one of them, with the value and the
// place of the fault; compare with [errors.Is].
var (
	// ErrEpsilon means that a privacy parameter ε, ρ or μ is zero, negative, infinite or NaN. Code
	// without privacy uses [NewZeroStream] and says so; it does not pass an infinite ε.
	ErrEpsilon = errors.New("epsilon, rho and mu must be positive and finite")
	// ErrDelta means that δ lies outside (0, 1). Only a selector with a pure budget has δ = 0.
	ErrDelta = errors.New("delta must lie strictly between 0 and 1")
	// ErrHorizon means that the number of steps is outside 1 to [MaxHorizon], or that all declared
	// steps are done. The state is unchanged.
	ErrHorizon = errors.New("the horizon allows no such step")
	// ErrNorm means that a norm is not supported or that an index of a norm is below 1 or NaN.
	ErrNorm = errors.New("the norm must be l1, l2 or l-infinity, and an index of a norm at least 1")
	// ErrBound means that a bound (clip, radius, scale) is not positive and finite.
	ErrBound = errors.New("a bound must be positive and finite")
	// ErrDimension means that a dimension is below 1, or that a vector has another one than
	// declared. The state is unchanged.
	ErrDimension = errors.New("the dimension does not match")
	// ErrLattice means that no lattice fits: its spacing is too coarse for the clip bound, or so
	// fine that sums or noise could overflow 64 bits.
	ErrLattice = errors.New("the lattice does not fit")
	// ErrBudgetExceeded means that a charge is larger than what remains of an account. Nothing was
	// reserved.
	ErrBudgetExceeded = errors.New("the privacy budget is exceeded")
	// ErrSole means that a ledger that is to have one account for all runs has another one.
	ErrSole = errors.New("the ledger has one account for all its runs")
	// ErrUnitMismatch means that a charge and an account, or two charges, differ in adjacency, in
	// the unit of privacy or in accounting, so that they do not add up.
	ErrUnitMismatch = errors.New("the protections differ and their costs do not add up")
	// ErrInsecureRNG means that a mechanism with deterministic noise asked a production ledger for
	// budget.
	ErrInsecureRNG = errors.New("deterministic noise protects nobody and cannot touch a production ledger")
	// ErrClosed means that a stream or a run is closed.
	ErrClosed = errors.New("closed")
	// ErrEpoch means that another writer has changed the ledger or holds the run. The loser stops.
	ErrEpoch = errors.New("another writer has taken over")
)

// checkEpsilon refuses a privacy parameter that is not positive and finite.
func checkEpsilon(name string, v float64) error {
	if !(v > 0) || math.IsInf(v, 1) {
		return noregret.BadInputf(name, "%g: %w", v, ErrEpsilon)
	}
	return nil
}

// checkDelta refuses a δ outside (0, 1).
func checkDelta(delta float64) error {
	if !(delta > 0 && delta < 1) {
		return noregret.BadInputf("delta", "%g: %w", delta, ErrDelta)
	}
	return nil
}

// checkBound refuses a bound that is not positive and finite.
func checkBound(name string, v float64) error {
	if !(v > 0) || math.IsInf(v, 1) {
		return noregret.BadInputf(name, "%g: %w", v, ErrBound)
	}
	return nil
}

// checkHorizon refuses a horizon outside 1 to MaxHorizon.
func checkHorizon(n int64) error {
	if n < 1 || n > MaxHorizon {
		return noregret.BadInputf("horizon", "%d steps, want 1 to %d: %w", n, int64(MaxHorizon), ErrHorizon)
	}
	return nil
}

// checkDim refuses a dimension below 1.
func checkDim(dim int) error {
	if dim < 1 {
		return noregret.BadInputf("dimension", "%d, want at least 1: %w", dim, ErrDimension)
	}
	return nil
}

// MaxHorizon is the largest number of steps that a mechanism may be declared for, 2^40.
const MaxHorizon = 1 << 40
