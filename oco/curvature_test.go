package oco

import (
	"math"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/linalg"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/vec"
	"pgregory.net/rapid"
)

// TestSlack checks that the bound includes the cost of inexact projections: 2(gap +
// ‖g‖_{S⁻¹}·√(2·gap)) for every round played at a projection with a gap, on a set whose projections
// are iterative.
func TestSlack(t *testing.T) {
	const d, lambda = 4, .01
	set := must(convex.NewCenteredLpBall(d, 3, .2))
	l := must(NewCurvatureFTRL(set, lambda))
	r := random.New(4, "slack")
	s := make([][]float64, d)
	for i := range s {
		s[i] = make([]float64, d)
		s[i][i] = lambda
	}
	var slack, spent float64
	for range 30 {
		g := gradient(r, "gaussian", 1, l.Predict(), false)
		a := gradient(r, "gaussian", 1, l.Predict(), false)
		if gap := l.Gap(); gap > 0 {
			slack += 2 * (gap + math.Sqrt(vec.Dot(g, gauss(s, g))*2*gap))
		}
		for i := range s {
			for j := range s {
				s[i][j] += a[i] * a[j]
			}
		}
		spent += vec.Dot(g, gauss(s, g))
		if err := l.UpdateFactors(g, a); err != nil {
			t.Fatal(err)
		}
	}
	if slack < 1e-6 {
		t.Fatalf("the projections were nearly exact, slack %v: the test is too weak", slack)
	}
	u := make([]float64, d)
	if got := bound(t, l, u) - spent/2; math.Abs(got-slack) > 1e-7*spent+1e-3*slack {
		t.Errorf("slack %v in the bound, want %v", got, slack)
	}
}

func TestLogDeterminant(t *testing.T) {
	zs := [][]float64{{1, .5}, {-.5, 1}, {.25, -1}, {1, 1}}
	c := linalg.NewCholesky(2, 1)
	var total float64
	for _, z := range zs {
		before := c.LogDet()
		c.Add(append([]float64(nil), z...))
		s := c.InverseSquare(append([]float64(nil), z...))
		near(t, "1 − det/det", 1-math.Exp(before-c.LogDet()), s)
		total += s
	}
	near(t, "Σ zᵀS⁻¹z", total, 1.8804207414)
	near(t, "ln det", c.LogDet(), 2.6038464236)
}

// TestCholesky compares the updated factor with direct solves (Gaussian elimination).
func TestCholesky(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, gs := drawSequence(t, 6, 60)
		d := len(gs[0])
		s := make([][]float64, d)
		for i := range s {
			s[i] = make([]float64, d)
			s[i][i] = .5
		}
		c := linalg.NewCholesky(d, .5)
		for _, g := range gs {
			c.Add(append([]float64(nil), g...))
			for i := range s {
				for j := range s {
					s[i][j] += g[i] * g[j]
				}
			}
		}
		b := make([]float64, d)
		for i := range b {
			b[i] = r.NormFloat64()
		}
		want := gauss(s, b)
		c.Solve(b)
		for i := range b {
			if math.Abs(b[i]-want[i]) > 1e-9*max(1, vec.MaxAbs(want)) {
				t.Fatalf("the solution is %v, want %v", b, want)
			}
		}
	})
}

// TestCurvature plays losses ½‖x − c‖²_A with A = Σ a_k·a_kᵀ, whose quadratic bounds are exact,
// and compares with the minimizers of the surrogates' sum, solved directly.
func TestCurvature(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, d, n, _ := drawGame(t, 5, 40)
		lambda := math.Exp(r.NormFloat64())
		l := must(NewCurvatureFTRL(space(d), lambda))
		s := make([][]float64, d)
		for i := range s {
			s[i] = make([]float64, d)
			s[i][i] = lambda
		}
		b := make([]float64, d)
		u := make([]float64, d)
		for i := range u {
			u[i] = r.NormFloat64()
		}
		var regret, size float64
		for range n {
			x := append([]float64(nil), l.Predict()...)
			want := gauss(s, b)
			for i := range x {
				if math.Abs(x[i]-want[i]) > 1e-8*max(1, vec.MaxAbs(want)) {
					t.Fatalf("x = %v, want %v", x, want)
				}
			}
			c := make([]float64, d)
			for i := range c {
				c[i] = r.NormFloat64()
			}
			factors := [][]float64{gradient(r, "gaussian", 1, x, false), gradient(r, "sparse", 1, x, false)}
			g := make([]float64, d)
			for _, a := range factors {
				var px, pu float64
				for i := range a {
					px += a[i] * (x[i] - c[i])
					pu += a[i] * (u[i] - c[i])
				}
				regret += px*px/2 - pu*pu/2
				size += px*px + pu*pu
				ax := vec.Dot(a, x)
				for i := range a {
					g[i] += px * a[i]
					b[i] += a[i] * ax
					for j := range a {
						s[i][j] += a[i] * a[j]
					}
				}
			}
			for i := range g {
				b[i] -= g[i]
			}
			if err := l.UpdateFactors(g, factors...); err != nil {
				t.Fatal(err)
			}
		}
		if bound := must(l.Bound(u)); regret > bound+1e-9*math.Abs(bound)+1e-12*size {
			t.Fatalf("regret %v is above the bound %v", regret, bound)
		}
	})
}
