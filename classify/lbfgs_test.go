package classify

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"testing/synctest"

	"gonum.org/v1/gonum/optimize"
	"gonum.org/v1/gonum/optimize/functions"

	"github.com/noregret/noregret/internal/random"
)

// gonumLBFGS is the oracle: the same method with gonum's arithmetic and line search.
func gonumLBFGS() optimize.Method {
	return &optimize.LBFGS{Store: lbfgsMemory, Linesearcher: &optimize.MoreThuente{}}
}

// minimize runs a method and sees to it that it leaves no goroutine behind: synctest.Test waits for
// all of them and fails when one is stuck.
func minimize(t *testing.T, p optimize.Problem, start []float64, threshold float64, m optimize.Method) (
	r *optimize.Result, err error,
) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		r, err = optimize.Minimize(p, start, &optimize.Settings{
			GradientThreshold: threshold, MajorIterations: 2000, Converger: optimize.NeverTerminate{},
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
			p := optimize.Problem{Func: c.f.Func, Grad: c.f.Grad}
			want, err := minimize(t, p, c.start, 1e-7, gonumLBFGS())
			if err != nil {
				t.Log("gonum:", err)
			}
			got, err := minimize(t, p, c.start, 1e-7, new(lbfgs))
			if err != nil || got.Status != optimize.GradientThreshold {
				t.Fatal(got.Status, err)
			}
			if !(got.F <= want.F+1e-8*max(1, math.Abs(want.F))) {
				t.Errorf("ended at %v, gonum at %v", got.F, want.F)
			}
		})
	}
}

// On logistic regressions of random conditioning the minimum is gonum's, and takes as many passes.
func TestLBFGSOnLogisticRegression(t *testing.T) {
	src := random.New(8, "lbfgs")
	var ours, theirs int
	for round := range 24 {
		n, d := 60+src.IntN(300), 2+src.IntN(12)
		stretch := math.Exp(4 * src.Float64())
		weight := make([]float64, d)
		for i := range weight {
			weight[i] = 2 * src.NormFloat64()
		}
		xs := make([]Example, n)
		for k := range xs {
			x := Example{Weight: 1 + float64(src.IntN(3))}
			z := src.NormFloat64() - 1
			for i := range d {
				v := src.NormFloat64() * math.Pow(stretch, float64(i)/float64(d))
				x.Index, x.Value = append(x.Index, uint32(i)), append(x.Value, float32(v))
				z += v * weight[i] / stretch
			}
			x.Positive = k == 0 || (k > 1 && z > 0)
			xs[k] = x
		}
		lin := newDescent(&Config{Dim: d, BiasFeature: 1, Radius: math.Inf(1)})
		problem := func() *logisticProblem {
			return &logisticProblem{
				ctx: context.Background(), data: asData(t, xs), lin: lin, kPos: 3, kNeg: 1,
				lambda: 1e-4,
			}
		}
		p := problem()
		got, err := p.solve(make([]float64, d+1), 2000, 1e-9)
		if err != nil || !got.converged {
			t.Fatalf("round %d: %+v, %v", round, got, err)
		}
		q := problem()
		want, err := minimize(t, q.asProblem(), make([]float64, d+1), 1e-9, gonumLBFGS())
		if err != nil {
			t.Logf("round %d: gonum: %v", round, err)
		}
		p.evaluate(got.w)
		if math.Abs(p.value-want.F) > 1e-13 {
			t.Errorf("round %d: ended at %v, gonum at %v", round, p.value, want.F)
		}
		for i := range got.w {
			if math.Abs(got.w[i]-want.X[i]) > 1e-4*max(1, math.Abs(want.X[i])) {
				t.Errorf("round %d: weight %d is %v, with gonum %v", round, i, got.w[i], want.X[i])
			}
		}
		// Passes are compared at the precision that Fit asks for, which gonum reaches too.
		p, q = problem(), problem()
		if _, err := p.solve(make([]float64, d+1), 2000, 1e-6); err != nil {
			t.Fatal(err)
		}
		if _, err := minimize(t, q.asProblem(), make([]float64, d+1), 1e-6, gonumLBFGS()); err != nil {
			t.Logf("round %d: gonum: %v", round, err)
		}
		ours, theirs = ours+p.passes, theirs+q.passes
	}
	t.Logf("%d passes, gonum %d", ours, theirs)
	if float64(ours) > 1.1*float64(theirs) {
		t.Errorf("%d passes in all, gonum %d: want no more than a tenth more", ours, theirs)
	}
}

// A strongly convex quadratic has one minimum, which is known.
func TestLBFGSOnQuadratic(t *testing.T) {
	const d = 50
	p := optimize.Problem{
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
	r, err := minimize(t, p, make([]float64, d), 1e-9, new(lbfgs))
	if err != nil || r.Status != optimize.GradientThreshold {
		t.Fatal(r.Status, err)
	}
	for i, v := range r.X {
		if math.Abs(v-float64(i)) > 1e-9 {
			t.Errorf("coordinate %d is %v", i, v)
		}
	}
}

// At the start's minimum there is nothing to do, a threshold below what the arithmetic can reach
// ends in a failure of the line search with the best point kept, and a function without a minimum
// ends at the limit of iterations.
func TestLBFGSEnds(t *testing.T) {
	square := optimize.Problem{
		Func: func(x []float64) float64 { return 1 + x[0]*x[0]/3 + x[1]*x[1]*7 },
		Grad: func(g, x []float64) { g[0], g[1] = x[0]*2/3, x[1]*14 },
	}
	r, err := minimize(t, square, []float64{0, 0}, 0, new(lbfgs))
	if err != nil || r.Status != optimize.GradientThreshold {
		t.Error("at the minimum:", r.Status, err)
	}
	// Values are rounded at 1e-9 and the gradient never falls below 1e-5: near the minimum no
	// descent is to be found.
	rough := square
	rough.Grad = func(g, x []float64) {
		square.Grad(g, x)
		g[0], g[1] = g[0]+math.Copysign(1e-5, g[0]), g[1]+math.Copysign(1e-5, g[1])
	}
	rough.Func = func(x []float64) float64 { return math.Round(square.Func(x)*1e9) / 1e9 }
	r, err = minimize(t, rough, []float64{5, -3}, 1e-300, new(lbfgs))
	if r.Status != optimize.Failure || !errors.Is(err, optimize.ErrLinesearcherFailure) {
		t.Error("at the limit of the arithmetic:", r.Status, err)
	}
	if math.Abs(r.X[0]) > 1e-3 || math.Abs(r.X[1]) > 1e-3 {
		t.Error("at the limit of the arithmetic: ended at", r.X)
	}
	upward := optimize.Problem{ // the gradient points the wrong way
		Func: square.Func,
		Grad: func(g, x []float64) { square.Grad(g, x); g[0], g[1] = -g[0], -g[1] },
	}
	r, err = minimize(t, upward, []float64{1, 1}, 1e-9, new(lbfgs))
	if r.Status != optimize.Failure || !errors.Is(err, optimize.ErrLinesearcherFailure) || r.X[0] != 1 || r.X[1] != 1 {
		t.Error("with a wrong gradient:", r.Status, err, r.X)
	}
	unbounded := optimize.Problem{
		Func: func(x []float64) float64 { return -x[0] },
		Grad: func(g, _ []float64) { g[0] = -1 },
	}
	if r, err = minimize(t, unbounded, []float64{0}, 1e-9, new(lbfgs)); r.Status == optimize.GradientThreshold {
		t.Error("without a minimum:", r.Status, err)
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		p := optimize.Problem{Func: func([]float64) float64 { return bad }, Grad: func(g, _ []float64) { g[0] = 1 }}
		r, err = minimize(t, p, []float64{0}, 1e-9, new(lbfgs))
		if r.Status != optimize.Failure || !errors.Is(err, errStart) {
			t.Errorf("a start of value %v: %v, %v", bad, r.Status, err)
		}
	}
	// The domain ends at 1: steps beyond it are cut.
	wall := optimize.Problem{
		Func: func(x []float64) float64 { return -100*x[0] - math.Log(1-x[0]) },
		Grad: func(g, x []float64) { g[0] = -100 + 1/(1-x[0]) },
	}
	if r, err = minimize(t, wall, []float64{0}, 1e-6, new(lbfgs)); err != nil || math.Abs(r.X[0]-0.99) > 1e-8 {
		t.Error("with a wall:", r.Status, err, r.X)
	}
}

// The driver may end the run at any task; a problem's error is one of these ways.
func TestLBFGSIsEnded(t *testing.T) {
	for limit := 1; limit < 30; limit++ {
		calls := 0
		f := functions.ExtendedRosenbrock{}
		gone := errors.New("the data are gone")
		p := optimize.Problem{
			Func: func(x []float64) float64 { calls++; return f.Func(x) },
			Grad: f.Grad,
			Status: func() (optimize.Status, error) {
				if calls >= limit {
					return optimize.Failure, gone
				}
				return optimize.NotTerminated, nil
			},
		}
		if r, err := minimize(t, p, []float64{-1.2, 1}, 1e-9, new(lbfgs)); !errors.Is(err, gone) || calls != limit {
			t.Errorf("after %d evaluations: %v, %v", calls, r.Status, err)
		}
	}
}

// The cubic's minimum, against cubics whose minimum is known.
func TestCubicMinimum(t *testing.T) {
	src := random.New(9, "cubic")
	for range 1000 {
		// f = k(s-r)²(s-q) + c with r its minimum, k > 0 and q < r
		k, q := 0.1+src.Float64(), src.NormFloat64()
		r := q + 0.1 + src.Float64()
		f := func(s float64) trial {
			return trial{s, k * (s - r) * (s - r) * (s - q), k * (s - r) * (2*(s-q) + (s - r))}
		}
		a, b := r-src.Float64(), r+src.Float64()
		for _, pair := range [][2]float64{{a, b}, {b, a}} {
			if got := cubicMinimum(f(pair[0]), f(pair[1])); math.Abs(got-r) > 1e-6 {
				t.Errorf("from %v and %v: %v, want %v", pair[0], pair[1], got, r)
			}
		}
	}
}

// Every step that is taken meets the conditions, along functions of one variable on which line
// searches are tested (Moré and Thuente 1994, 5.1 to 5.3), from first steps of 1e-3 to 1e3.
func TestLineSearchConditions(t *testing.T) {
	for name, phi := range map[string]func(s float64) (f, g float64){
		"5.1": func(s float64) (f, g float64) {
			const b = 2
			return -s / (s*s + b), (s*s - b) / ((s*s + b) * (s*s + b))
		},
		"5.2": func(s float64) (f, g float64) {
			const b = 0.004
			return math.Pow(s+b, 5) - 2*math.Pow(s+b, 4), 5*math.Pow(s+b, 4) - 8*math.Pow(s+b, 3)
		},
		"log": func(s float64) (f, g float64) { return -10*s - math.Log(3-s), -10 + 1/(3-s) },
		"exp": func(s float64) (f, g float64) { return math.Exp(s-20) - s, math.Exp(s-20) - 1 },
	} {
		for _, step := range []float64{1e-3, 1e-1, 1, 10, 1000} {
			f0, g0 := phi(0)
			l := newLineSearch(f0, g0, step)
			for {
				f, g := phi(l.step)
				s := l.step
				if l.judge(f, g) {
					if f > f0+1e-4*s*g0 || math.Abs(g) > -0.9*g0 {
						t.Errorf("%s from %v: took %v", name, step, s)
					}
					break
				}
				if l.trials >= mostTrials {
					t.Errorf("%s from %v: no step found, now at %v", name, step, l.step)
					break
				}
			}
		}
	}
}
