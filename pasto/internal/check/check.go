// Package check holds the checks of arguments and observations that the packages of pasto share.
package check

import (
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/vec"
)

// Limits of the input.
const (
	// Largest is the largest absolute value of a metric, a mean or a side of a box.
	Largest = 1e100
	// MostRelative is the largest absolute threshold of a relative guardrail.
	MostRelative = 1e6
	// SmallestSize and LargestSize bound the size of a group.
	SmallestSize = 1e-9
	LargestSize  = 1e15
)

// Vector returns an error if v does not have n finite values.
func Vector(place string, v []float64, n int) error {
	if len(v) != n {
		return noregret.BadInputf(place, "%d values: want %d", len(v), n)
	}
	for i, x := range v {
		if !vec.IsFinite(x) {
			return noregret.BadInputf(fmt.Sprintf("%s[%d]", place, i), "%v: want a finite number", x)
		}
	}
	return nil
}

// NonNegative reports whether v has n finite values of at least 0.
func NonNegative(v []float64, n int) bool {
	return Vector("", v, n) == nil && !slices.ContainsFunc(v, func(x float64) bool { return x < 0 })
}

// AtMost reports whether x ≤ y, or is above it by no more than the rounding of running sums.
func AtMost(x, y float64) bool { return x <= float64(y*(1+1e-6)) }

// Gradient returns an error if the gradient d of the objective f at θ is not finite.
func Gradient(f any, theta, d []float64) error {
	for i, v := range d {
		if !vec.IsFinite(v) {
			return noregret.BadInputf("objective",
				"%s: its gradient at θ = %v has component %d = %v: want finite numbers", Name(f),
				theta, i, v)
		}
	}
	return nil
}

// Name is how error messages refer to the objective f: by its label, if it has a method Label that
// returns one, else by its type.
func Name(f any) string {
	if l, ok := f.(interface{ Label() string }); ok && l.Label() != "" {
		return l.Label()
	}
	return fmt.Sprintf("%T", f)
}

// Zeros returns a slice of n zeros. It reuses the memory of v if its capacity suffices.
func Zeros[T any](v []T, n int) []T {
	v = slices.Grow(v[:0], n)[:n]
	clear(v)
	return v
}

// Mixture returns an error if p is not a distribution over n arms to within 1e-9.
func Mixture(place string, p []float64, n int) error {
	if err := Vector(place, p, n); err != nil {
		return err
	}
	sum := 0.0
	for k, v := range p {
		if v < 0 {
			return noregret.BadInputf(fmt.Sprintf("%s[%d]", place, k), "%v: want a share, at least 0", v)
		}
		sum += v
	}
	if math.Abs(sum-1) > 1e-9 {
		return noregret.BadInputf(place, "it sums to %v: want 1 within 1e-9", sum)
	}
	return nil
}
