package oco

import (
	"math"
	"testing"
)

func TestPNorm(t *testing.T) {
	l := must(NewPNorm(3, 1.5, .25))
	xs, total := play(t, l, g4)
	nearVector(t, "x_2", xs[1], []float64{-.2392722756, .0598180689, -.0149545172})
	nearVector(t, "x_5", xs[4], []float64{-.0992125657, 0, -.0992125657})
	near(t, "loss", total, .6178788420)
	near(t, "bound", bound(t, l, []float64{-1, 0, 0}), 3.2158301871)
	q := 2 * math.Log(3)
	near(t, "q", q, 2.1972245773)
	xs, total = play(t, must(NewPNorm(3, q/(q-1), .25)), g4)
	nearVector(t, "q=2ln3 x_5", xs[4], []float64{-.1174598191, 0, -.1174598191})
	near(t, "q=2ln3 loss", total, .6846458464)
}

// TestPNormTunedRate: the rate α√(p−1)/(L·d^{1/q}·√T), and the a-priori bound ½(‖u‖₁²/α +
// α)·L·√T·√(q−1)·d^{1/q} with its relaxation √(2e·ln d), on losses ±L in all coordinates that push
// away from u.
func TestPNormTunedRate(t *testing.T) {
	const L, rounds = 2., 64
	for _, d := range []int{1, 2, 3, 10, 100} {
		for _, alpha := range []float64{.25, 1, 3} {
			q := 2.
			if d >= 3 {
				q = 2 * math.Log(float64(d))
			}
			p := q / (q - 1)
			eta := alpha * math.Sqrt(p-1) / (L * math.Pow(float64(d), 1/q) * math.Sqrt(rounds))
			l, want := must(NewPNormTuned(d, L, alpha, rounds)), must(NewPNorm(d, p, eta))
			u := make([]float64, d)
			u[d-1] = -alpha
			var regret float64
			for k := range rounds {
				g := make([]float64, d)
				for i, x := range l.Predict() {
					g[i] = math.Copysign(L, x)
					if x == 0 {
						g[i] = L * float64(1-2*((i+k)%2))
					}
					regret += g[i] * (x - u[i])
					if math.Abs(x-want.Predict()[i]) > 1e-12*(1+math.Abs(x)) {
						t.Fatalf("d = %d: x = %v, with the rate of the book %v", d, l.Predict(), want.Predict())
					}
				}
				_, _ = l.Update(g), want.Update(g)
			}
			b := bound(t, l, u)
			prior := (alpha*alpha/alpha + alpha) / 2 * L * math.Sqrt(rounds) * math.Sqrt(q-1) *
				math.Pow(float64(d), 1/q)
			near(t, "bound where every step is tight", b, prior)
			if regret > b+1e-9*math.Abs(b) {
				t.Errorf("d = %d: regret %v is above %v", d, regret, b)
			}
			if relaxed := alpha * L * math.Sqrt(rounds) * math.Sqrt(2*math.E*math.Log(float64(d))); d >= 3 &&
				prior > relaxed*(1+1e-12) {
				t.Errorf("d = %d: %v is above √(2e·ln d) %v", d, prior, relaxed)
			}
		}
	}
}

// TestPNormHorizon checks that a rate tuned for a number of rounds allows no further round.
func TestPNormHorizon(t *testing.T) {
	l := must(NewPNormTuned(3, 1, 1, 2))
	for range 2 {
		if err := l.Update([]float64{1, 0, 0}); err != nil {
			t.Fatal(err)
		}
	}
	if l.Update([]float64{1, 0, 0}) == nil || l.UpdateSparse(Sparse{Index: []uint32{0}, Value: []float64{1}}) == nil ||
		l.Rounds() != 2 {
		t.Error("a round beyond the horizon was played")
	}
}
