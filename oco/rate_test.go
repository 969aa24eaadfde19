package oco

import (
	"math"
	"testing"

	"github.com/noregret/noregret/convex"
)

// TestRatesRefuseSigns: two negative constants have a positive quotient.
func TestRatesRefuseSigns(t *testing.T) {
	set := must(convex.NewCube(1, -1, 1))
	for _, rate := range []Rate{
		FixedHorizon(-1, -1, 10), InverseSqrt(-1, -1), FixedHorizon(1, 0, 10), FixedHorizon(1, 1, 0),
		FixedHorizon(0, 1, 3), InverseSqrt(1, math.Inf(1)), FixedHorizon(1, 1, -1),
	} {
		if _, err := NewSubgradientDescent(set, nil, rate); err == nil {
			t.Errorf("%v was accepted", rate)
		}
	}
}
