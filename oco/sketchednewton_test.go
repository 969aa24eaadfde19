package oco

import (
	"math"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/linalg"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/vec"
)

// TestSketchedNewtonExact: a sketch large enough for all directions is the matrix itself, and the
// step is that of the textbook.
func TestSketchedNewtonExact(t *testing.T) {
	const d, mu, lambda = 4, .7, .3
	for _, set := range []convex.Set{space(d), must(convex.NewCenteredBall(d, .2))} {
		l := must(NewSketchedNewtonStep(set, mu, lambda, d))
		r := random.New(2, "sketched")
		s, x, p := make([]float64, d*d), make([]float64, d), make([]float64, d)
		for i := range d {
			s[i*d+i] = lambda
		}
		project := must(convex.NewMahalanobis(d))
		for k := range 50 {
			nearVector(t, "x", l.Predict(), x)
			g := gradient(r, "gaussian", k, x, false)
			if err := l.Update(g); err != nil {
				t.Fatal(err)
			}
			for i := range d {
				for j := range d {
					s[i*d+j] += mu * g[i] * g[j]
				}
			}
			f := linalg.Cholesky{D: d, R: append([]float64(nil), s...)}
			f.Factorize(s)
			copy(p, g)
			f.Solve(p)
			for i := range x {
				x[i] -= p[i]
			}
			if _, err := project.Project(x, s, x, set, 1e-12); err != nil {
				t.Fatal(err)
			}
		}
		if l.Removed() != 0 {
			t.Errorf("%v was subtracted", l.Removed())
		}
	}
}

// TestSketchedNewtonWide plays in a high dimension for far more rounds than the sketch has
// directions. Memory does not grow, the regret is within the bound, and the bound is within its
// a-priori form.
func TestSketchedNewtonWide(t *testing.T) {
	const d, m, mu, rounds = 1500, 4, .5, 100
	set := must(convex.NewCenteredBall(d, 1))
	l := must(NewSketchedNewtonStep(set, mu, 1, m))
	r := random.New(3, "wide")
	var rows []played
	var trace, tail float64
	for range rounds {
		g := make([]float64, d)
		for range 20 {
			g[r.IntN(d)] = r.NormFloat64() / 5
		}
		for i := range 3 { // the directions that matter
			g[i] = 2 * r.NormFloat64()
			trace += mu * g[i] * g[i]
		}
		tail += mu * (vec.Dot(g, g) - g[0]*g[0] - g[1]*g[1] - g[2]*g[2])
		rows = append(rows, played{x: append([]float64(nil), l.Predict()...), g: g})
		if err := l.Update(g); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(l.state.Sketch.Basis.Q); n > 2*m*d {
		t.Errorf("the basis has %d numbers for %d directions", n, 2*m)
	}
	c := contender{along: mu}
	u := make([]float64, d)
	u[0], u[1] = .6, -.8
	b := bound(t, l, u)
	if regret, size := c.regret(rows, u); regret > b+1e-9*size {
		t.Errorf("regret %v is above the bound %v", regret, b)
	}
	prior := .5 + m/mu*math.Log1p((trace+tail)/(2*m)) + m/(mu*(m+1-3))*tail // k = 3
	if b > prior {
		t.Errorf("the bound %v is above its a-priori form %v", b, prior)
	}
}

func TestSketchedNewtonRefuses(t *testing.T) {
	for name, set := range map[string]convex.Set{
		"box": must(convex.NewCube(2, 0, 1)), "ball elsewhere": must(convex.NewBall([]float64{1, 0}, 1)),
	} {
		if _, err := NewSketchedNewtonStep(set, 1, 1, 2); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	for _, size := range []int{-1, 0, denseUpTo + 1} {
		if _, err := NewSketchedNewtonStep(space(2), 1, 1, size); err == nil {
			t.Errorf("size %d was accepted", size)
		}
	}
	if _, err := NewSketchedNewtonStep(nil, 1, 1, 1); err == nil {
		t.Error("no set was accepted")
	}
}
