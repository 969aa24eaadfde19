package pasto

import (
	"fmt"
	"math"
)

// Utility is a user's own concave objective: U(θ) with gradient DU. Lipschitz and Smooth are G_f and L_f;
// 0 means unknown (+Inf). Check it with [CheckConcave]. The functions must be pure and fast: they are
// called every round.
type Utility struct {
	// Name is what messages and snapshots call it: functions cannot be compared, so give each its own.
	Name      string
	Metrics   int
	U         func(theta []float64) float64
	DU        func(dst, theta []float64)
	Lipschitz float64
	Smooth    float64
	// Directions are the metrics' good ones, for learners that move estimates by their errors; nil means Up
	// for all.
	Directions []Direction
}

// Sign implements [Directed].
func (u *Utility) Sign(metric int) float64 {
	if u.Directions == nil {
		return 1
	}
	return u.Directions[metric].sign()
}

// Dim implements [Objective].
func (u *Utility) Dim() int { return u.Metrics }

// Value implements [Objective].
func (u *Utility) Value(theta []float64) float64 { return u.U(theta) }

// Gradient implements [Objective].
func (u *Utility) Gradient(dst, theta []float64) { u.DU(dst, theta) }

// Constants implements [Objective].
func (u *Utility) Constants(_, _ []float64) (lipschitz, smooth float64) {
	lipschitz, smooth = u.Lipschitz, u.Smooth
	if lipschitz == 0 {
		lipschitz = math.Inf(1)
	}
	if smooth == 0 {
		smooth = math.Inf(1)
	}
	return lipschitz, smooth
}

// Validate implements [Objective].
func (u *Utility) Validate() error {
	switch {
	case u == nil:
		return bad("utility", "nil: want an objective")
	case u.Metrics < 1:
		return bad("utility", "it is of %d metrics: want at least 1", u.Metrics)
	case u.U == nil || u.DU == nil:
		return bad("utility", "value or gradient is nil: want both")
	case u.Directions != nil && len(u.Directions) != u.Metrics:
		return bad("utility", "it has %d directions for %d metrics", len(u.Directions), u.Metrics)
	case !(u.Lipschitz >= 0) || !(u.Smooth >= 0):
		return bad("utility", "constants %v and %v: want numbers, at least 0", u.Lipschitz, u.Smooth)
	}
	return nil
}

// String describes the utility: its name and constants stand for its functions.
func (u *Utility) String() string {
	return fmt.Sprintf("utility(%q, metrics=%d, directions=%v, lipschitz=%v, smooth=%v)", u.Name, u.Metrics, u.Directions, u.Lipschitz, u.Smooth)
}
