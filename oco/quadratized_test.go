package oco

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/loss"
	"pgregory.net/rapid"
)

func TestQuadratized(t *testing.T) {
	xs, _ := play(t, must(NewQuadratizedFTRL(space(3), nil, 2)), g4)
	nearVector(t, "quadratized FTRL", xs[4], []float64{-.3645833333, .0416666667, -.1770833333})
	ys, _ := play(t, descent(space(3), nil, StronglyConvex(2)), g4)
	for i := range xs {
		nearVector(t, "quadratized FTRL and descent", xs[i], ys[i])
	}
	xs, _ = play(t, must(NewQuadratizedFTRL(ball(.2), nil, 2)), g4)
	nearVector(t, "quadratized FTRL in a ball", xs[4], []float64{-.1652853913, -.0210785534, -.1106184162})
	xs, _ = play(t, descent(ball(.2), nil, StronglyConvex(2)), g4)
	nearVector(t, "descent in a ball", xs[4], []float64{-.0304029348, -.0642509659, -.0741799321})
}

// TestStronglyConvex: Corollary 7.6, f(x) − f(x*) ≤ ‖g‖²/(2μ), and Lemma 7.5, f(x) − f(y) ≤ ⟨g,
// x−y⟩ + ‖g−g'‖²/(2μ) with g ∈ ∂f(y) and g' ∈ ∂f(x), for (μ/2)‖x‖² and a loss with kinks.
func TestStronglyConvex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, d, _, _ := drawGame(t, 6, 2)
		mu := logUniform(r, 10)
		draw := func() []float64 {
			x := make([]float64, d)
			for i := range x {
				x[i] = r.NormFloat64()
			}
			return x
		}
		// Σ w_i·|x_i − c_i| + (μ/2)‖x‖² has its minimum at clip(c_i, ±w_i/μ).
		w, c, least := draw(), draw(), make([]float64, d)
		f := func(x []float64) (s float64, g []float64) {
			g = make([]float64, d)
			for i, v := range x {
				s += math.Abs(w[i])*math.Abs(v-c[i]) + mu/2*v*v
				g[i] = mu * v
				if v != c[i] {
					g[i] += math.Abs(w[i]) * math.Copysign(1, v-c[i])
				}
			}
			return s, g
		}
		for i := range least {
			least[i] = max(-math.Abs(w[i])/mu, min(math.Abs(w[i])/mu, c[i]))
		}
		bottom, _ := f(least)
		x, y := draw(), draw()
		fx, gx := f(x)
		if limit := vec.Dot(gx, gx) / (2 * mu); fx-bottom > limit*(1+1e-12)+1e-12 {
			t.Fatalf("Corollary 7.6: %v > %v", fx-bottom, limit)
		}
		for _, phi := range []loss.Scalar{loss.HingeLoss{}, loss.LogisticLoss{}, loss.SquaredHingeLoss{}} {
			h := must(loss.NewRidge(must(loss.NewExample(draw(), 1, phi)), mu))
			g, other := make([]float64, d), make([]float64, d)
			h.Subgradient(g, y)
			h.Subgradient(other, x)
			var inner float64
			for i := range g {
				inner += g[i] * (x[i] - y[i])
			}
			if limit := inner + distanceSquared(g,
				other)/(2*mu); h.Value(x)-h.Value(y) > limit+1e-12*(1+math.Abs(limit)) {
				t.Fatalf("Lemma 7.5 for %T: %v > %v", phi, h.Value(x)-h.Value(y), limit)
			}
			if h.Value(x)-h.Value(y) < inner-1e-12*(1+math.Abs(inner)) {
				t.Fatalf("%T: not above its tangent", phi)
			}
		}
	})
}
