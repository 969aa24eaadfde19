package oco

import (
	"math"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/loss"
	"pgregory.net/rapid"
)

// What the tests of this package share.

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-9*max(1, math.Abs(want))) {
		t.Errorf("%s = %.12g, want %.12g", what, got, want)
	}
}

func nearVector(t *testing.T, what string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s has %d values, want %d", what, len(got), len(want))
	}
	for i := range got {
		if !(math.Abs(got[i]-want[i]) <= 1e-9*max(1, math.Abs(want[i]))) {
			t.Errorf("%s = %.11v, want %.11v", what, got, want)
			return
		}
	}
}

// g4 is four linear losses with the sum (.5, 0, .5). The expected points, losses and bounds on it,
// on guesses and on cls3 were computed by an independent program in double precision, to ten
// digits.
var g4 = [][]float64{{1, -.5, .25}, {-.75, 1, .5}, {.5, .5, -1}, {-.25, -1, .75}}

// play runs a learner on linear losses and returns x_1, ..., x_{T+1} and the total loss.
func play(t *testing.T, l Learner, gs [][]float64) (xs [][]float64, total float64) {
	t.Helper()
	for _, g := range gs {
		x := append([]float64(nil), l.Predict()...)
		xs = append(xs, x)
		total += vec.Dot(g, x)
		if err := l.Update(g); err != nil {
			t.Fatal(err)
		}
	}
	return append(xs, append([]float64(nil), l.Predict()...)), total
}

// bound returns the bound at u and checks that the linear regret is below it.
func bound(t *testing.T, l Learner, u []float64) float64 {
	t.Helper()
	b, err := l.(Bounder).Bound(u)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func ball(r float64) *convex.Ball   { return must(convex.NewCenteredBall(3, r)) }
func space(d int) *convex.Space     { return must(convex.NewSpace(d)) }
func simplex(d int) *convex.Simplex { return must(convex.NewSimplex(d)) }
func euclidean(s convex.Set) convex.Regularizer {
	return must(convex.Restrict(must(convex.NewQuadratic(s.Dim())), s))
}
func inverseSqrt(t int) float64 { return 1 / math.Sqrt(float64(t)) }
func descent(s convex.Set, x []float64, r Rate) *SubgradientDescent {
	return must(NewSubgradientDescent(s, x, r))
}

var (
	bestInBall = []float64{-math.Sqrt2 / 2, 0, -math.Sqrt2 / 2}
	guesses    = []float64{.2, .9, .4, .7}
)

// guess plays the number-guessing game with a loss of one dimension and returns points and total
// loss.
func guess(t *testing.T, l Learner, f func(y float64) loss.Function) (xs []float64, total float64) {
	t.Helper()
	p := must(NewLinearized(l))
	for _, y := range guesses {
		x := l.Predict()
		xs = append(xs, x[0])
		total += f(y).Value(x)
		if err := p.UpdateLoss(f(y)); err != nil {
			t.Fatal(err)
		}
	}
	return append(xs, l.Predict()[0]), total
}

func squareGuess(y float64) loss.Function { return must(loss.NewSquaredDistance([]float64{y})) }
func absoluteGuess(y float64) loss.Function {
	return must(loss.NewExample([]float64{1}, y, loss.Absolute{}))
}

// leader is follow-the-leader for squared distances on sets that contain the mean.
func leader(set convex.Set, start []float64) *ExactFTRL {
	return must(
		NewExactFTRL(must(NewListMinimizer("mean", set, nil,
			func(dst []float64, t int, losses []loss.Function, _ loss.Function) (float64, error) {
				copy(dst, start)
				if t > 1 {
					clear(dst)
					for _, f := range losses {
						for i, v := range f.(*loss.SquaredDistance).C {
							dst[i] += v / float64(t-1)
						}
					}
				}
				return 0, nil
			}))))
}

// same plays two learners on one sequence of linear losses and compares their points.
func same(t *rapid.T, what string, a, b Learner, gs [][]float64, tolerance float64) {
	t.Helper()
	for round, g := range gs {
		x, y := a.Predict(), b.Predict()
		for i := range x {
			if !(math.Abs(x[i]-y[i]) <= tolerance*max(1, math.Abs(x[i]))) {
				t.Fatalf("%s: round %d: %v and %v", what, round+1, x, y)
			}
		}
		if err := a.Update(g); err != nil {
			t.Fatal(err)
		}
		if err := b.Update(g); err != nil {
			t.Fatal(err)
		}
	}
}

func drawSequence(t *rapid.T, dims, rounds int) (r *random.Source, gs [][]float64) {
	r, d, n, kind := drawGame(t, dims, rounds)
	for round := range n {
		gs = append(gs, gradient(r, kind, round, make([]float64, d), true))
	}
	return r, gs
}

// gauss solves a·x = b by elimination with pivoting.
func gauss(a [][]float64, b []float64) []float64 {
	n := len(b)
	m := make([][]float64, n)
	for i := range a {
		m[i] = append(append([]float64(nil), a[i]...), b[i])
	}
	for k := range n {
		p := k
		for i := k; i < n; i++ {
			if math.Abs(m[i][k]) > math.Abs(m[p][k]) {
				p = i
			}
		}
		m[k], m[p] = m[p], m[k]
		for i := range n {
			if i == k {
				continue
			}
			f := m[i][k] / m[k][k]
			for j := k; j <= n; j++ {
				m[i][j] -= f * m[k][j]
			}
		}
	}
	x := make([]float64, n)
	for i := range x {
		x[i] = m[i][n] / m[i][i]
	}
	return x
}

func init() { testsize.Rapid(25) }
