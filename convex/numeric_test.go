package convex_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/internal/vec"
	"pgregory.net/rapid"
)

// quartic is Σ(x_i⁴/4 + x_i²/2): 1-strongly convex, and its gradient has no bounded slope.
type quartic struct{ d int }

func (q quartic) Dim() int { return q.d }

func (q quartic) Value(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += float64(v*v)*float64(v*v)/4 + float64(v*v)/2
	}
	return sum
}

func (q quartic) Gradient(dst, x []float64) {
	for i, v := range x {
		dst[i] = float64(v*v*v) + v
	}
}

func (q quartic) String() string { return fmt.Sprintf("quartic(%d)", q.d) }

// TestNumericArgmax compares the numeric oracle, which sees values and gradients only, with the
// exact one of every pair on a bounded set, and holds it to its stated accuracy.
func TestNumericArgmax(t *testing.T) {
	for _, kind := range pairKinds() {
		t.Run(kind.name, rapid.MakeCheck(func(t *rapid.T) {
			r := source(t)
			if testsize.Of(0, r.IntN(2)) != 0 {
				return // a part of the draws is enough under the race detector
			}
			m, s := kind.make(r, rapid.IntRange(1, 8).Draw(t, "d"))
			if math.IsInf(s.Diameter(), 1) {
				return
			}
			exact := must(convex.Restrict(m, s))
			// The matrices have an arbitrary condition number, so no accuracy is promised.
			matrix := strings.HasPrefix(kind.name, "matrix")
			reg, err := convex.Restrict(must(convex.NewMap(m, 0, nil)), s)
			if matrix && noregret.CodeOf(err) == noregret.Diverged {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			theta := normals(r, s.Dim(), math.Pow(10, float64(r.IntN(5)-2)))
			x, want := make([]float64, s.Dim()), make([]float64, s.Dim())
			gap := reg.(convex.Certified).ArgmaxGap(x, theta)
			exact.Argmax(want, theta)
			scale := math.Abs(m.Value(x)) + math.Abs(vec.Dot(theta, x))
			// The gradient of a p-norm is not Lipschitz where a coordinate is 0.
			most := 1e-10*scale + 1e-15*(vec.Norm2(theta)+vec.Norm2(gradient(m, x)))*s.Diameter()
			if !matrix && !strings.HasPrefix(kind.name, "p-norm") && !(gap <= most) && !(gap < 1e-15) {
				t.Fatalf("%s: the gap at %v is %v, want %v", reg, x, gap, most)
			}
			if !s.Contains(x, 1e-14) {
				t.Fatalf("%s: %v is not a member", reg, x)
			}
			short := (vec.Dot(theta, want) - m.Value(want)) - (vec.Dot(theta, x) - m.Value(x))
			if short > gap+1e-13*(1+scale+vec.Norm2(theta)*vec.Norm2(x)) {
				t.Fatalf("%s: the objective at %v is %v below that at %v, and the gap says %v", reg, x, short, want,
					gap)
			}
			if value := vec.Dot(theta, x) - m.Value(x); math.Abs(reg.Conjugate(theta)-value) > 1e-14*(scale+1) {
				t.Fatalf("%s: the conjugate is %v, at the argmax it is %v", reg, reg.Conjugate(theta), value)
			}
			reg.Argmax(theta, theta)
			if !slices.Equal(theta, x) {
				t.Fatalf("%s: in place %v, otherwise %v", reg, theta, x)
			}
		}))
	}
}

func TestNumericRefuses(t *testing.T) {
	barrier := must(convex.NewLogBarrier(2))
	flat := must(convex.NewMap(quartic{2}, 0, nil))
	var x [2]float64
	if flat.Inverse(x[:], []float64{1, 2}); x[0] == x[0] || flat.Conjugate([]float64{1, 2}) == 0 {
		t.Errorf("the inverse of a map that is not known to be strongly convex is %v, want NaN", x)
	}
	for _, tc := range []struct {
		err  error
		want string
	}{
		{refuse(convex.NewMap(nil, 1, nil)), "the function is nil"},
		{refuse(convex.NewMap(quartic{0}, 1, nil)), "the dimension is 0"},
		{refuse(convex.NewMap(quartic{1}, -1, nil)), "the strong convexity is -1"},
		{refuse(convex.NewMap(quartic{1}, math.NaN(), nil)), "the strong convexity is NaN"},
		{refuse(convex.Restrict(flat, must(convex.NewOrthant(2)))), "want Space or a bounded set"},
		{refuse(convex.Restrict(flat, must(convex.NewSpace(2)))), "not known to be strongly convex in l2"},
		{
			refuse(convex.Restrict(must(convex.NewMap(barrier, 0, nil)), must(convex.NewCube(2, -2, -1)))),
			"no point of box(-2x2, -1x2) was found in the interior of the domain of log-barrier(2)",
		},
	} {
		if noregret.CodeOf(tc.err) != noregret.BadInput || !strings.Contains(tc.err.Error(), tc.want) {
			t.Errorf("%v, want a BadInput with %q", tc.err, tc.want)
		}
	}
	// The gradient of |x| does not tend to 0 at its minimum, so a method for smooth functions
	// cannot certify it.
	_, err := convex.Restrict(must(convex.NewMap(kinked{quartic{2}}, 0, nil)), must(convex.NewCube(2, -1, 2)))
	if noregret.CodeOf(err) != noregret.Diverged || !strings.Contains(err.Error(), "too steep") {
		t.Errorf("a function with a kink: %v, want it refused", err)
	}
}

// kinked is Σ|x_i − 0.3|, which is not a mirror map.
type kinked struct{ quartic }

func (kinked) Dim() int { return 2 }

func (kinked) Value(x []float64) float64 { return math.Abs(x[0]-0.3) + math.Abs(x[1]-0.3) }

func (kinked) Gradient(dst, x []float64) {
	for i := range dst {
		dst[i] = math.Copysign(1, x[i]-0.3)
	}
}

func TestNumericAllocations(t *testing.T) {
	testsize.NoRace(t) // a sync.Pool drops a quarter of its values under the race detector
	reg := must(convex.Restrict(must(convex.NewMap(quartic{4}, 1, nil)), must(convex.NewCenteredBall(4, 1))))
	entropy := must(convex.Restrict(must(convex.NewMap(must(convex.NewNegativeEntropy(4)), 0, nil)),
		must(convex.NewSimplex(4))))
	x, theta := make([]float64, 4), []float64{1, -40, 3, 0}
	if n := testing.AllocsPerRun(20, func() {
		reg.Argmax(x, theta)
		reg.Conjugate(theta)
		reg.Map().Divergence(x, theta)
		entropy.Argmax(x, theta)
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}
