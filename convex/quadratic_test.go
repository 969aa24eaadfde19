package convex_test

import (
	"testing"

	"github.com/noregret/noregret/convex"
)

// TestConjugateOnBall: on the unit ball the conjugate of ½‖x‖² is ½‖θ‖² up to 1 and ‖θ‖−½ beyond,
// not the minimum of the two, which is -½ at 0.
func TestConjugateOnBall(t *testing.T) {
	reg := must(convex.Restrict(must(convex.NewQuadratic(2)), must(convex.NewCenteredBall(2, 1))))
	near(t, "at 0", reg.Conjugate([]float64{0, 0}), 0, 0)
	near(t, "inside", reg.Conjugate([]float64{0.3, 0.4}), 0.125, 1e-15)
	near(t, "outside", reg.Conjugate([]float64{3, 4}), 4.5, 1e-15)
	reg = must(convex.Restrict(must(convex.NewQuadratic(2)), must(convex.NewCenteredBall(2, 2))))
	near(t, "radius 2", reg.Conjugate([]float64{3, 4}), 2*5-2, 1e-15)
}
