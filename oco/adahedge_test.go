package oco

import (
	"math"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/vec"
)

// TestAdaHedgeFirstRate: λ_2 = δ_1/α² is at most 2‖g_1‖∞/α², and not the printed 2α‖g_1‖∞.
func TestAdaHedgeFirstRate(t *testing.T) {
	const alpha = .5
	l := must(NewAdaHedge(2, alpha))
	if err := l.Update([]float64{1, -1}); err != nil {
		t.Fatal(err)
	}
	near(t, "λ_2", l.Lambda(), 4)
	if l.Lambda() > 2/(alpha*alpha) || l.Lambda() <= 2*alpha {
		t.Errorf("λ_2 = %v, want it between the printed 2α = %v and 2/α² = %v", l.Lambda(), 2*alpha, 2/(alpha*alpha))
	}
}

func TestHedge(t *testing.T) {
	best := []float64{0, 1, 0}
	l := must(NewEntropicFTRL(3, 1, DefaultEntropicAlpha(3)))
	xs, total := play(t, l, g4)
	nearVector(t, "entropic FTRL: x_2", xs[1], []float64{.1729190624, .5256057954, .3014751422})
	nearVector(t, "entropic FTRL: x_5", xs[4], []float64{.3063616912, .3872766177, .3063616912})
	near(t, "entropic FTRL: loss", total, .9092235471)
	if b := bound(t, l, best); b > 4.1925882959 || b < total {
		t.Errorf("entropic FTRL: bound %v, want from %v to the a-priori 4.19", b, total)
	}
	near(t, "entropic FTRL: a-priori bound", 2*math.Sqrt(4*math.Log(3)), 4.1925882959)

	s := must(NewScaleFreeHedge(3, 4))
	xs, total = play(t, s, g4)
	nearVector(t, "scale-free Hedge: x_2", xs[1], []float64{.0023556331, .9503302117, .0473141552})
	nearVector(t, "scale-free Hedge: x_5", xs[4], []float64{.2119415576, .5761168848, .2119415576})
	near(t, "scale-free Hedge: loss", total, 2.0917158254)
	near(t, "scale-free Hedge: bound", bound(t, s, best), 11.8630146433)

	for _, lead := range []bool{false, true} {
		a := must(NewAdaHedge(3, DefaultAdaHedgeAlpha(3)))
		if lead { // a first round of equal losses
			if err := a.Update([]float64{2, 2, 2}); err != nil {
				t.Fatal(err)
			}
			if a.Lambda() != 0 {
				t.Errorf("λ_2 = %v after equal losses, want 0", a.Lambda())
			}
		}
		total = 0
		for i, g := range g4 {
			x := a.Predict()
			if i == 1 {
				nearVector(t, "AdaHedge: x_2", x, []float64{1. / 13, 9. / 13, 3. / 13})
			}
			total += vec.Dot(g, x)
			before := a.Lambda()
			if err := a.Update(g); err != nil {
				t.Fatal(err)
			}
			near(t, "δ", (a.Lambda()-before)*math.Log(3), []float64{.75, .2791442871, .2692771096, .2268308584}[i])
			near(t, "λ", a.Lambda(), []float64{.6826794200, .9367675000, 1.1818740880, 1.3883444331}[i])
		}
		nearVector(t, "AdaHedge: x_5", a.Predict(), []float64{.2912453016, .4175093968, .2912453016})
		near(t, "AdaHedge: loss", total, 1.2923740967)
		near(t, "AdaHedge: bound", bound(t, a, best), 3.0505045102)
		if !lead {
			near(t, "AdaHedge: a-priori bound", must(a.PriorBound(best)), 9.0320427711)
		}
	}
	x := []float64{.5, .3, .2}
	g := []float64{1, -.5, .25}
	theta := []float64{math.Log(.5), math.Log(.3), math.Log(.2)}
	near(t, "δ", mixabilityGap(x, g, theta, 1), .2188572582)
	tiny := []float64{1e-9, -.5e-9, .25e-9}
	if d := mixabilityGap(x, tiny, theta, 1); math.Abs(d/2.1375000002e-19-1) > 1e-9 {
		t.Errorf("δ of tiny losses = %v, want 2.1375000002e-19", d)
	}
}

// TestAdaHedgeRecipe: λ_2 = δ_1/α² and Bound = (ψ(u) − min ψ + α²)·λ_{T+1}, for α far from 1.
func TestAdaHedgeRecipe(t *testing.T) {
	for _, alpha := range []float64{.1, .5, 2, 7} {
		l := must(NewAdaFTRL(euclidean(must(convex.NewCube(1, -1, 1))), alpha))
		if err := l.Update([]float64{3}); err != nil { // δ_1 = ⟨g, 0⟩ − min g·x = 3
			t.Fatal(err)
		}
		lambda := 3 / (alpha * alpha)
		near(t, "x_2", l.Predict()[0], max(-1, -3/lambda))
		near(t, "bound", bound(t, l, []float64{.5}), (.125+alpha*alpha)*lambda)
		h := must(NewAdaHedge(3, alpha))
		if err := h.Update([]float64{3, 0, 0}); err != nil { // δ_1 = 1 − 0
			t.Fatal(err)
		}
		near(t, "λ_2", h.Lambda(), 1/(alpha*alpha))
		near(t, "bound", bound(t, h, []float64{0, 1, 0}), (math.Log(3)+alpha*alpha)/(alpha*alpha))
	}
}

func TestLeadingEqualLosses(t *testing.T) {
	l := must(NewAdaHedge(3, DefaultAdaHedgeAlpha(3)))
	for range 5 {
		if err := l.Update([]float64{.1, .1, .1}); err != nil {
			t.Fatal(err)
		}
	}
	if l.Lambda() != 0 {
		t.Errorf("λ = %v after equal losses, want exactly 0", l.Lambda())
	}
	if err := l.Update([]float64{1, 0, 0}); err != nil {
		t.Fatal(err)
	}
	if !vec.IsFinite(vec.MaxAbs(l.Predict())) {
		t.Errorf("x = %v", l.Predict())
	}
}
