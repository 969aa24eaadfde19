package optimize

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"testing/synctest"

	gonum "gonum.org/v1/gonum/optimize"
	"gonum.org/v1/gonum/optimize/functions"
)

// gonumLBFGS is the reference: the same method with gonum's arithmetic and line search.
func gonumLBFGS() gonum.Method {
	return &gonum.LBFGS{Store: lbfgsMemory, Linesearcher: &gonum.MoreThuente{}}
}

// minimize runs a method and checks that no goroutine is left: synctest.Test waits for all of them
// and fails if one is blocked.
func minimize(t *testing.T, p gonum.Problem, start []float64, threshold float64, m gonum.Method) (
	r *gonum.Result, err error,
) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		r, err = gonum.Minimize(p, start, &gonum.Settings{
			GradientThreshold: threshold, MajorIterations: 2000, Converger: gonum.NeverTerminate{},
		}, m)
	})
	return r, err
}

func TestLBFGSOnFunctions(t *testing.T) {
	type function interface {
		Func(x []float64) float64
		Grad(grad, x []float64)
	}
	for _, c := range []struct {
		f     function
		start []float64
	}{
		{functions.ExtendedRosenbrock{}, []float64{-1.2, 1}},
		{functions.ExtendedRosenbrock{}, []float64{-120, 100, 50}},
		{functions.ExtendedRosenbrock{}, []float64{-1.2, 1, -1.2, 1, -1.2, 1, -1.2, 1}},
		{functions.ExtendedPowellSingular{}, []float64{3, -1, 0, 3, 3, -1, 0, 3}},
		{functions.Beale{}, []float64{1, 1}},
		{functions.BrownBadlyScaled{}, []float64{1, 1}},
		{functions.BrownAndDennis{}, []float64{25, 5, -5, -1}},
		{functions.Wood{}, []float64{-3, -1, -3, -1}},
		{functions.HelicalValley{}, []float64{-1, 0, 0}},
		{functions.Trigonometric{}, []float64{0.2, 0.2, 0.2, 0.2, 0.2}},
		{functions.VariablyDimensioned{}, []float64{0.5, 0, 0.3, 0.2}},
		{functions.PenaltyI{}, []float64{1, 2, 3, 4}},
	} {
		t.Run(fmt.Sprintf("%T%v", c.f, len(c.start)), func(t *testing.T) {
			p := gonum.Problem{Func: c.f.Func, Grad: c.f.Grad}
			want, err := minimize(t, p, c.start, 1e-7, gonumLBFGS())
			if err != nil {
				t.Log("gonum:", err)
			}
			got, err := minimize(t, p, c.start, 1e-7, new(LBFGS))
			if err != nil || got.Status != gonum.GradientThreshold {
				t.Fatal(got.Status, err)
			}
			if !(got.F <= want.F+1e-8*max(1, math.Abs(want.F))) {
				t.Errorf("ended at %v, gonum at %v", got.F, want.F)
			}
		})
	}
}

// A strongly convex quadratic has a single, known minimum.
func TestLBFGSOnQuadratic(t *testing.T) {
	const d = 50
	p := gonum.Problem{
		Func: func(x []float64) float64 {
			sum := 0.0
			for i, v := range x {
				sum += float64(i*i+1) / 2 * (v - float64(i)) * (v - float64(i))
			}
			return sum
		},
		Grad: func(g, x []float64) {
			for i, v := range x {
				g[i] = float64(i*i+1) * (v - float64(i))
			}
		},
	}
	r, err := minimize(t, p, make([]float64, d), 1e-9, new(LBFGS))
	if err != nil || r.Status != gonum.GradientThreshold {
		t.Fatal(r.Status, err)
	}
	for i, v := range r.X {
		if math.Abs(v-float64(i)) > 1e-9 {
			t.Errorf("coordinate %d is %v", i, v)
		}
	}

	// With the inverse Hessian the first step ends there, whatever its scale is with the second.
	for scale, most := range map[float64]int{1: 2, 0.01: 3, 100: 3} {
		r, err := minimize(t, p, make([]float64, d), 1e-9, &LBFGS{Precondition: func(v []float64) {
			for i := range v {
				v[i] *= scale / float64(i*i+1)
			}
		}})
		if err != nil || r.Status != gonum.GradientThreshold || r.MajorIterations > most {
			t.Errorf("scale %v: %v, %v after %d iterations, want %d at most",
				scale, r.Status, err, r.MajorIterations, most)
		}
	}
}

// A start at the minimum ends at once. A threshold that rounding makes unreachable ends in a
// failure of the line search, with the best point kept. A function without a minimum ends at the
// limit of iterations.
func TestLBFGSEnds(t *testing.T) {
	square := gonum.Problem{
		Func: func(x []float64) float64 { return 1 + x[0]*x[0]/3 + x[1]*x[1]*7 },
		Grad: func(g, x []float64) { g[0], g[1] = x[0]*2/3, x[1]*14 },
	}
	r, err := minimize(t, square, []float64{0, 0}, 0, new(LBFGS))
	if err != nil || r.Status != gonum.GradientThreshold {
		t.Error("at the minimum:", r.Status, err)
	}
	// Values are rounded at 1e-9 and the gradient never falls below 1e-5: near the minimum no
	// descent can be found.
	rough := square
	rough.Grad = func(g, x []float64) {
		square.Grad(g, x)
		g[0], g[1] = g[0]+math.Copysign(1e-5, g[0]), g[1]+math.Copysign(1e-5, g[1])
	}
	rough.Func = func(x []float64) float64 { return math.Round(square.Func(x)*1e9) / 1e9 }
	r, err = minimize(t, rough, []float64{5, -3}, 1e-300, new(LBFGS))
	if r.Status != gonum.Failure || !errors.Is(err, gonum.ErrLinesearcherFailure) {
		t.Error("at the limit of the arithmetic:", r.Status, err)
	}
	if math.Abs(r.X[0]) > 1e-3 || math.Abs(r.X[1]) > 1e-3 {
		t.Error("at the limit of the arithmetic: ended at", r.X)
	}
	upward := gonum.Problem{ // the gradient points the wrong way
		Func: square.Func,
		Grad: func(g, x []float64) { square.Grad(g, x); g[0], g[1] = -g[0], -g[1] },
	}
	r, err = minimize(t, upward, []float64{1, 1}, 1e-9, new(LBFGS))
	if r.Status != gonum.Failure || !errors.Is(err, gonum.ErrLinesearcherFailure) || r.X[0] != 1 || r.X[1] != 1 {
		t.Error("with a wrong gradient:", r.Status, err, r.X)
	}
	unbounded := gonum.Problem{
		Func: func(x []float64) float64 { return -x[0] },
		Grad: func(g, _ []float64) { g[0] = -1 },
	}
	if r, err = minimize(t, unbounded, []float64{0}, 1e-9, new(LBFGS)); r.Status == gonum.GradientThreshold {
		t.Error("without a minimum:", r.Status, err)
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		p := gonum.Problem{Func: func([]float64) float64 { return bad }, Grad: func(g, _ []float64) { g[0] = 1 }}
		r, err = minimize(t, p, []float64{0}, 1e-9, new(LBFGS))
		if r.Status != gonum.Failure || !errors.Is(err, errStart) {
			t.Errorf("a start of value %v: %v, %v", bad, r.Status, err)
		}
	}
	// The domain ends at 1: steps beyond it are cut.
	wall := gonum.Problem{
		Func: func(x []float64) float64 { return -100*x[0] - math.Log(1-x[0]) },
		Grad: func(g, x []float64) { g[0] = -100 + 1/(1-x[0]) },
	}
	if r, err = minimize(t, wall, []float64{0}, 1e-6, new(LBFGS)); err != nil || math.Abs(r.X[0]-0.99) > 1e-8 {
		t.Error("with a wall:", r.Status, err, r.X)
	}
}

// The driver may end the run at any task, for instance by an error of the problem.
func TestLBFGSIsEnded(t *testing.T) {
	for limit := 1; limit < 30; limit++ {
		calls := 0
		f := functions.ExtendedRosenbrock{}
		gone := errors.New("the data are gone")
		p := gonum.Problem{
			Func: func(x []float64) float64 { calls++; return f.Func(x) },
			Grad: f.Grad,
			Status: func() (gonum.Status, error) {
				if calls >= limit {
					return gonum.Failure, gone
				}
				return gonum.NotTerminated, nil
			},
		}
		if r, err := minimize(t, p, []float64{-1.2, 1}, 1e-9, new(LBFGS)); !errors.Is(err, gone) || calls != limit {
			t.Errorf("after %d evaluations: %v, %v", calls, r.Status, err)
		}
	}
}
