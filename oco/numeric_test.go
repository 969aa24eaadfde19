package oco

import (
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/internal/vec"
)

// steepPotential is ½xᵀAx for a rotated A with eigenvalues from 1 to a condition, as a function
// that a user of package convex might write.
type steepPotential struct {
	a    [][]float64
	flat []float64 // the eigenvector of eigenvalue 1
}

func newSteepPotential(r *random.Source, d int, condition float64) steepPotential {
	q := make([][]float64, d) // orthonormal rows, by Gram and Schmidt
	for i := range q {
		q[i] = make([]float64, d)
		for j := range q[i] {
			q[i][j] = r.NormFloat64()
		}
		for _, p := range q[:i] {
			vec.AddScaled(q[i], -vec.Dot(p, q[i]), p)
		}
		n := vec.Norm2(q[i])
		for j := range q[i] {
			q[i][j] /= n
		}
	}
	p := steepPotential{make([][]float64, d), q[0]}
	for i := range p.a {
		p.a[i] = make([]float64, d)
		for k := range q {
			vec.AddScaled(p.a[i], math.Pow(condition, float64(k)/float64(d-1))*q[k][i], q[k])
		}
	}
	return p
}

func (p steepPotential) Dim() int       { return len(p.a) }
func (p steepPotential) String() string { return "steep" }

func (p steepPotential) Value(x []float64) float64 {
	v := 0.0
	for i, row := range p.a {
		v += x[i] * vec.Dot(row, x) / 2
	}
	return v
}

func (p steepPotential) Gradient(dst, x []float64) {
	x = slices.Clone(x)
	for i, row := range p.a {
		dst[i] = vec.Dot(row, x)
	}
}

// TestNumericOracleBound plays with a map so steep that its numeric Argmax misses the maximum by
// much. What it misses must be in the bound: without it the regret of 186 was above a bound of 83.
func TestNumericOracleBound(t *testing.T) {
	testsize.NoRace(t)
	const d, n = 12, 300
	for _, condition := range []float64{1, 1e6} {
		r := random.New(1, "steep")
		p := newSteepPotential(r, d, condition)
		psi := must(convex.NewMap(p, 1, convex.L2))
		for _, set := range []convex.Set{must(convex.NewCenteredBall(d, 1))} {
			reg, err := convex.Restrict(psi, set)
			if err != nil {
				continue // refused, which is sound
			}
			for name, l := range map[string]Learner{
				"ftrl":   must(NewFTRL(reg, nil, ConstantWeight(2*math.Sqrt(n)))),
				"mirror": must(NewMirrorDescent(reg, nil, Constant(1/(2*math.Sqrt(n))), 0)),
			} {
				r, paid, sum := random.New(2, "steep"), 0.0, make([]float64, d)
				g := make([]float64, d)
				for range n {
					for i := range g {
						g[i] = r.NormFloat64() + 2*p.flat[i]
					}
					paid += vec.Dot(g, l.Predict())
					vec.AddScaled(sum, 1, g)
					if err := l.Update(g); err != nil {
						t.Fatal(err)
					}
				}
				u := make([]float64, d) // ψ(u) is small
				vec.AddScaled(u, -.9, p.flat)
				regret, b := paid-vec.Dot(sum, u), bound(t, l, u)
				if !(regret <= b*(1+1e-9)) {
					t.Errorf("%s on %v, condition %v: regret %v, bound %v", name, set, condition, regret, b)
				}
				if exact := psi.Value(u)*2*math.Sqrt(n) + float64(n*d)/math.Sqrt(n); condition == 1 && b > exact*1.01 {
					t.Errorf("%s on %v: bound %v, with an exact oracle some %v", name, set, b, exact)
				}
			}
		}
	}
}

// TestNumericOracleRefused: learners whose bound does not count the gap refuse a numeric oracle.
func TestNumericOracleRefused(t *testing.T) {
	psi := must(convex.NewMap(newSteepPotential(random.New(1, "steep"), 3, 10), 1, convex.L2))
	reg := must(convex.Restrict(psi, must(convex.NewCenteredBall(3, 1))))
	for name, f := range map[string]func() error{
		"adaftrl":    func() error { _, err := NewAdaFTRL(reg, 1); return err },
		"gradual":    func() error { _, err := NewGradualFTRL(reg, 1, 1); return err },
		"optimistic": func() error { _, err := NewOptimisticFTRL(reg, ConstantWeight(1)); return err },
		"optimistic mirror": func() error {
			_, err := NewOptimisticMirrorDescent(reg, nil, Constant(1), 0)
			return err
		},
	} {
		if f() == nil {
			t.Errorf("%s takes a numeric oracle", name)
		}
	}
}
