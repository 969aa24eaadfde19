package oco

import (
	"math"
	"testing"

	"github.com/noregret/noregret/loss"

	"pgregory.net/rapid"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/vec"
)

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

// TestOracle: the rate ‖u−x_1‖/√Q_T of hindsight has regret at most ‖u−x_1‖·√Q_T, on subgradients
// that do not depend on the points.
func TestOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, gs := drawSequence(t, 6, 60)
		d := len(gs[0])
		var q float64
		for _, g := range gs {
			q += vec.Dot(g, g)
		}
		if q == 0 {
			return
		}
		u := make([]float64, d)
		for i := range u {
			u[i] = r.NormFloat64()
		}
		l := descent(space(d), nil, Constant(vec.Norm2(u)/math.Sqrt(q)))
		var regret float64
		for _, g := range gs {
			regret += vec.Dot(g, l.Predict()) - vec.Dot(g, u)
			if err := l.Update(g); err != nil {
				t.Fatal(err)
			}
		}
		if b := vec.Norm2(u) * math.Sqrt(q); regret > b*(1+1e-9) {
			t.Fatalf("regret %v is above %v", regret, b)
		}
		if b := must(l.Bound(u)); math.Abs(b-vec.Norm2(u)*math.Sqrt(q)) > 1e-9*b {
			t.Fatalf("the bound is %v, want %v", b, vec.Norm2(u)*math.Sqrt(q))
		}
	})
}

// TestConjugateOfBound: Regret_T(u) ≤ ψ_T(u) for all u iff Σ⟨g, x⟩ ≤ −ψ_T*(−Σg), here with ψ_T the
// bound of descent with a constant rate as a function of ‖u‖.
func TestConjugateOfBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		_, gs := drawSequence(t, 6, 60)
		const eta = .3
		l := descent(space(len(gs[0])), nil, Constant(eta))
		var paid, q float64
		sum := make([]float64, len(gs[0]))
		for _, g := range gs {
			paid += vec.Dot(g, l.Predict())
			q += vec.Dot(g, g)
			for i, v := range g {
				sum[i] += v
			}
			if err := l.Update(g); err != nil {
				t.Fatal(err)
			}
		}
		// ψ_T(u) = ‖u‖²/(2η) + ηQ/2 has ψ_T*(θ) = η‖θ‖²/2 − ηQ/2.
		if right := -(eta*vec.Dot(sum, sum)/2 - eta*q/2); paid > right+1e-9*(1+math.Abs(right)) {
			t.Fatalf("loss %v is above %v", paid, right)
		}
	})
}

// TestSinglePoint: on a set of one point everybody stays there.
func TestSinglePoint(t *testing.T) {
	p := Problem{
		Set: must(convex.NewBox([]float64{.3, -1}, []float64{.3, -1})), Rounds: 20,
		Facts: loss.Facts{
			Lipschitz: 2, LipschitzInf: 2, StrongConvexity: 1, ExpConcavity: .1, SquaredDistance: true,
		},
	}
	r := random.New(3, "point")
	played := 0
	for _, e := range Learners() {
		l, err := e.New(p, nil)
		if err != nil {
			continue
		}
		played++
		for range 20 {
			if err := l.Update(gradient(r, "gaussian", 1, l.Predict(), true)); err != nil {
				t.Fatalf("%s: %v", e.Name, err)
			}
			if x := l.Predict(); x[0] != .3 || x[1] != -1 {
				t.Fatalf("%s plays %v", e.Name, x)
			}
		}
		if b := bound(t, l, []float64{.3, -1}); b < 0 {
			t.Errorf("%s: bound %v", e.Name, b)
		}
	}
	if played < 12 {
		t.Errorf("%d learners play on a single point", played)
	}
}
