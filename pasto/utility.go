package pasto

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
)

// Utility is a user's own concave objective: U(θ) with gradient DU. Lipschitz and Smooth are G_f
// and L_f, unknown (+Inf) if left out. The functions must be pure and fast: they are called every
// round.
type Utility struct {
	// Name identifies the utility in messages and snapshots. As functions cannot be compared, give
	// each utility its own name.
	Name      string
	Metrics   int
	U         func(theta []float64) float64
	DU        func(dst, theta []float64)
	Lipschitz float64
	Smooth    float64
	// Directions are the good directions of the metrics, for learners that shift estimates by their
	// standard errors; nil is Up for all.
	Directions []Direction
	// Lower and Upper are the box of values on which U and DU are finite; nil is unbounded.
	// Observations outside are errors, and learners keep estimates inside. If all its sides are
	// finite, learners refuse a utility that [CheckConcave] refutes in it. Write √x, which has no
	// gradient at 0, as √(x + ε) with a Lower of 0.
	Lower, Upper []float64
}

// Range implements [Ranged].
func (u *Utility) Range(metric int) (lower, upper float64) {
	lower, upper = math.Inf(-1), math.Inf(1)
	if u.Lower != nil {
		lower = u.Lower[metric]
	}
	if u.Upper != nil {
		upper = u.Upper[metric]
	}
	return lower, upper
}

// Sign implements [Directed].
func (u *Utility) Sign(metric int) float64 {
	if u.Directions == nil {
		return 1
	}
	return u.Directions[metric].Sign()
}

// Label names the utility in error messages; "" if it has no name.
func (u *Utility) Label() string {
	if u == nil || u.Name == "" {
		return ""
	}
	return fmt.Sprintf("utility %q", u.Name)
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
		return noregret.BadInputf("utility", "nil: want an objective")
	case u.Metrics < 1:
		return noregret.BadInputf("utility", "%d metrics: want at least 1", u.Metrics)
	case u.U == nil || u.DU == nil:
		return noregret.BadInputf("utility", "value or gradient is nil: want both")
	case u.Directions != nil && len(u.Directions) != u.Metrics:
		return noregret.BadInputf("utility", "%d directions for %d metrics", len(u.Directions), u.Metrics)
	case u.Lower != nil && len(u.Lower) != u.Metrics || u.Upper != nil && len(u.Upper) != u.Metrics:
		return noregret.BadInputf("utility", "%d lower and %d upper bounds for %d metrics", len(u.Lower),
			len(u.Upper), u.Metrics)
	case !(u.Lipschitz >= 0) || !(u.Smooth >= 0):
		return noregret.BadInputf("utility", "constants %v and %v: want numbers, at least 0", u.Lipschitz, u.Smooth)
	}
	for i := range u.Metrics {
		if lower, upper := u.Range(i); !(lower < upper) {
			return noregret.BadInputf(fmt.Sprintf("utility.lower[%d]", i), "%v: want less than the upper bound, %v",
				lower, upper)
		}
	}
	return nil
}

// String describes the utility; its name and constants stand for its functions.
func (u *Utility) String() string {
	return fmt.Sprintf("utility(%q, metrics=%d, directions=%v, lipschitz=%v, smooth=%v, lower=%v, upper=%v)", u.Name,
		u.Metrics, u.Directions, u.Lipschitz, u.Smooth, u.Lower, u.Upper)
}
