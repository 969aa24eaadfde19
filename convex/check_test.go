package convex_test

import (
	"math"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"gonum.org/v1/gonum/mat"
)

func TestConstructorsRefuse(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	simplex := must(convex.NewSimplex(2))
	indefinite := mat.NewSymDense(2, []float64{1, 2, 2, 1})
	for _, tc := range []struct {
		err  error
		want string
	}{
		{refuse(convex.NewSpace(0)), "space: the dimension is 0, want at least 1"},
		{refuse(convex.NewCenteredBall(-1, 1)), "the dimension is -1"},
		{refuse(convex.NewBall(nil, 1)), "the dimension is 0"},
		{refuse(convex.NewBall([]float64{0}, 0)), "the radius is 0, want a finite number above 0"},
		{refuse(convex.NewBall([]float64{0}, nan)), "the radius is NaN"},
		{refuse(convex.NewBall([]float64{0}, inf)), "the radius is +Inf"},
		{refuse(convex.NewBall([]float64{0, nan}, 1)), "center[1] is NaN, want a finite number"},
		{refuse(convex.NewLpBall([]float64{0}, 0.5, 1)), "the exponent is 0.5, want at least 1"},
		{refuse(convex.NewL1Ball(2, -1)), "the radius is -1"},
		{refuse(convex.NewBox([]float64{0}, []float64{1, 2})), "upper has length 2, want 1"},
		{
			refuse(convex.NewBox([]float64{0, 2}, []float64{1, 1})),
			"lower[1] is 2 and upper[1] is 1, want lower at most upper",
		},
		{refuse(convex.NewBox([]float64{nan}, []float64{1})), "lower[0] is NaN"},
		{refuse(convex.NewBox([]float64{inf}, []float64{inf})), "lower[0] is +Inf, want a finite number or -Inf"},
		{refuse(convex.NewBox([]float64{-inf}, []float64{-inf})), "upper[0] is -Inf, want a finite number or +Inf"},
		{refuse(convex.NewOpenBox([]float64{1}, []float64{1})), "no number is between lower[0] = 1 and upper[0] = 1"},
		{refuse(convex.NewOrthant(0)), "the dimension is 0"},
		{refuse(convex.NewSimplex(0)), "simplex: the dimension is 0"},
		{refuse(convex.NewScaledSimplex(2, -1)), "the sum is -1"},
		{refuse(convex.NewCappedSimplex(2, 0.4, 1)), "the upper sides sum to 0.8, want the sum at most that"},
		{refuse(convex.NewCappedSimplex(2, nan, 1)), "the cap is NaN"},
		{
			refuse(convex.NewBoundedSimplex([]float64{1, 1}, []float64{2, 2}, 1)),
			"the lower sides sum to 2, want the sum at least that",
		},
		{refuse(convex.NewBoundedSimplex([]float64{-inf, 1}, []float64{2, 2}, 1)), "lower[0] is -Inf"},
		{refuse(convex.NewBoundedSimplex([]float64{0}, []float64{2}, inf)), "the sum is +Inf"},
		{refuse(convex.NewHalfspace([]float64{0, 0}, 1)), "the norm of a is 0"},
		{refuse(convex.NewHalfspace([]float64{1, inf}, 1)), "a[1] is +Inf"},
		{refuse(convex.NewHalfspace([]float64{1}, nan)), "b is NaN"},
		{refuse(convex.NewAffine(mat.NewDense(2, 2, []float64{1, 1, 2, 2}), []float64{1, 3})), "row 1 contradicts"},
		{refuse(convex.NewAffine(mat.NewDense(1, 2, []float64{0, 0}), []float64{1})), "row 0 contradicts"},
		{refuse(convex.NewAffine(mat.NewDense(1, 2, []float64{0, nan}), []float64{1})), "A[0][1] is NaN"},
		{refuse(convex.NewAffine(mat.NewDense(1, 2, nil), []float64{1, 2})), "b has length 2, want 1"},
		{refuse(convex.NewAffine(nil, nil)), "the matrix is nil"},
		{refuse(convex.NewProduct()), "there are 0 sets"},
		{refuse(convex.NewProduct(simplex, nil)), "sets[1] is nil"},
		{refuse(convex.NewProduct(plain{must(convex.NewSpace(2))})), "want one with the method Attains"},
		{refuse(convex.NewScaled(simplex, 0)), "the scale is 0"},
		{refuse(convex.NewScaled(plain{simplex}, 2)), "want one with the method Moved"},
		{refuse(convex.NewShifted(simplex, []float64{1})), "the shift has length 1, want 2"},
		{refuse(convex.NewShifted(simplex, []float64{1, nan})), "the shift[1] is NaN"},
		{refuse(convex.NewShifted(nil, []float64{1})), "the set is nil"},
		{refuse(convex.NewLp(nan)), "the exponent is NaN"},
		{refuse(convex.NewGroupNorm()), "there are 0 blocks"},
		{refuse(convex.NewGroupNorm(1, 0)), "sizes[1] is 0"},
		{refuse(convex.NewDiagonalNorm([]float64{1, -2})), "a[1] is -2"},
		{refuse(convex.NewMatrixNorm(indefinite)), "not positive definite"},
		{refuse(convex.NewMatrixNorm(nil)), "the matrix is empty"},
		{refuse(convex.NewQuadratic(0)), "the dimension is 0"},
		{refuse(convex.NewDiagonalQuadratic([]float64{0})), "a[0] is 0"},
		{refuse(convex.NewMatrixQuadratic(mat.NewSymDense(1, []float64{nan}))), "entry [0][0] is NaN"},
		{refuse(convex.NewMatrixQuadratic(indefinite)), "not positive definite"},
		{refuse(convex.NewNegativeEntropy(0)), "the dimension is 0"},
		{refuse(convex.NewUnnormalizedEntropy(0)), "the dimension is 0"},
		{refuse(convex.NewPNorm(2, 1)), "the exponent is 1, want above 1 and at most 2"},
		{refuse(convex.NewPNorm(2, 2.5)), "the exponent is 2.5"},
		{refuse(convex.NewTsallis(2, 1)), "the exponent is 1, want above 0 and below 1"},
		{refuse(convex.NewLogBarrier(0)), "the dimension is 0"},
		{refuse(convex.NewMahalanobis(0)), "the dimension is 0"},
		{refuse(convex.NewMahalanobis(60_000)), "mahalanobis: dimension 60000 needs 134 GiB of memory, want at most " +
			"8 GiB"},
		{refuse(convex.NewMahalanobis(1 << 24)), "dimension 16777216 needs 10 PiB"},
		{refuse(convex.NewCube(1<<30-1, 0, 1)), "box: dimension 1073741823 needs 32 GiB of memory"},
		{refuse(convex.NewOrthant(1<<30 - 1)), "needs 32 GiB of memory"},
		{refuse(convex.NewCappedSimplex(1<<29, 1, 1)), "capped simplex: dimension 536870912 needs 20 GiB"},
		{
			refuse(convex.Restrict(must(convex.NewNegativeEntropy(1<<30)), must(convex.NewSimplex(1<<30)))),
			"restrict: dimension 1073741824 needs 16 GiB of memory",
		},
	} {
		if noregret.CodeOf(tc.err) != noregret.BadInput || !strings.Contains(tc.err.Error(), tc.want) {
			t.Errorf("%v, want a BadInput with %q", tc.err, tc.want)
		}
	}
}
