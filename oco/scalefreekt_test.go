package oco

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
)

// realPotential is F(S, G) = 2^G·B((G+1+S)/2, (G+1−S)/2)/π of [ScaleFreeKT].
func realPotential(s, g float64) float64 {
	a, _ := math.Lgamma((g + 1 + s) / 2)
	b, _ := math.Lgamma((g + 1 - s) / 2)
	c, _ := math.Lgamma(g + 1)
	return math.Exp(g*math.Ln2+a+b-c) / math.Pi
}

// TestScaleFreeKTPotential checks the steps of the proof in the doc comment of ScaleFreeKT: F(S, G)
// grows by at most 1 + β·c, with equality for ±1; h·(F(θ/h, G/h) − 1) falls in h; and F is at least
// exp(S²/(2G))/√(2π(G+1)).
func TestScaleFreeKTPotential(t *testing.T) {
	r := random.New(1, "potential")
	for range 20_000 {
		g := 60 * r.Float64() * r.Float64()
		s := g * (2*r.Float64() - 1)
		f, beta := realPotential(s, g), s/(g+1)
		near(t, "F(0,0)", realPotential(0, 0), 1)
		for _, c := range []float64{1, -1, 2*r.Float64() - 1, 1e-3 * r.Float64()} {
			next := realPotential(s+c, g+math.Abs(c))
			if allowed := f * (1 + beta*c); !(next <= allowed*(1+1e-11)) {
				t.Fatalf("F(%v, %v) after the coin %v is %v, above %v", s, g, c, next, allowed)
			}
			if math.Abs(c) == 1 {
				near(t, "after a whole coin", next, f*(1+beta*c))
			}
		}
		h := 1 + 3*r.Float64()
		if rest := h * (realPotential(s/h, g/h) - 1); !(rest <= f-1+1e-11*(1+f)) {
			t.Fatalf("S = %v, G = %v: h(F−1) rises from %v to %v at h = %v", s, g, f-1, rest, h)
		}
		if least := math.Exp(s*s/(2*g)) / math.Sqrt(2*math.Pi*(g+1)); g > 0 && !(f >= least) {
			t.Fatalf("F(%v, %v) = %v, below %v", s, g, f, least)
		}
	}
}

// TestScaleFreeKTByHand plays two coordinates with a scale that rises, by the formulas of the doc
// comment in plain arithmetic, and checks the wealth after every round: it is above its lower
// bound, and in units of the subgradient it is what has been won plus ε·h.
func TestScaleFreeKTByHand(t *testing.T) {
	const epsilon = 0.25
	l := must(NewScaleFreeKT(2, epsilon))
	r := random.New(2, "by hand")
	type hand struct{ theta, mass, h, won float64 }
	var hands [2]hand
	for round := range 2000 {
		g := []float64{r.NormFloat64() * math.Exp(2*r.NormFloat64()), 0}
		if round%3 == 0 {
			g[1] = -1.5 + r.Float64()
		}
		x := l.Predict()
		for i := range hands {
			k := &hands[i]
			want := 0.0
			if k.h > 0 {
				want = k.theta / (k.mass + k.h) * (epsilon + k.won/k.h)
			}
			near(t, "point", x[i], want)
			if k.h == 0 {
				k.h = math.Abs(g[i])
			}
			clipped := max(min(g[i], k.h), -k.h)
			k.won -= clipped * want
			k.theta -= clipped
			k.mass += math.Abs(clipped)
			k.h = max(k.h, math.Abs(g[i]))
		}
		if err := l.Update(g); err != nil {
			t.Fatal(err)
		}
		for i, k := range hands {
			s := l.state.Stakes[i]
			if k.h == 0 {
				continue
			}
			near(t, "wealth", s.Wealth, epsilon+k.won/k.h)
			if least := epsilon * realPotential(k.theta/k.h, k.mass/k.h); !(s.Wealth >= least*(1-1e-9)) {
				t.Fatalf("round %d: the wealth %v is below %v", round, s.Wealth, least)
			}
		}
		if t.Failed() {
			t.Fatalf("in round %d", round)
		}
	}
}

// TestScaleFreeKTOfSigns: for subgradients ±h the learner is CoordinateKT with L = h, whose doc
// comment has the book's formulas, and its points do not depend on h.
func TestScaleFreeKTOfSigns(t *testing.T) {
	r := random.New(3, "signs")
	kt := must(NewCoordinateKT(3, CoordinateKTOptions{Lipschitz: 1, Epsilon: .5, OwnClocks: true}))
	a, b := must(NewScaleFreeKT(3, .5)), must(NewScaleFreeKT(3, .5))
	for range 500 {
		g, scaled := make([]float64, 3), make([]float64, 3)
		for i := range g {
			g[i] = float64(r.IntN(3) - 1)
			scaled[i] = math.Ldexp(g[i], 300-300*i)
		}
		for i, x := range a.Predict() {
			near(t, "point", x, kt.Predict()[i])
			if y := b.At(i); x != y {
				t.Fatalf("the scale changes the point from %v to %v", x, y)
			}
		}
		for l, v := range map[Learner][]float64{kt: g, a: g, b: scaled} {
			if err := l.Update(v); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestScaleFreeKTRefuses: a round after which the wealth is too large is refused whole.
func TestScaleFreeKTRefuses(t *testing.T) {
	l := must(NewScaleFreeKT(2, 1e298))
	g := []float64{-1, 1}
	for range 4 {
		if err := l.Update(g); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	for range 2000 {
		before := must(l.MarshalBinary())
		if err = l.Update(g); err != nil {
			if string(must(l.MarshalBinary())) != string(before) {
				t.Error("a refused round has changed the learner")
			}
			break
		}
	}
	if err == nil {
		t.Error("the wealth grows without end")
	}
	large := must(NewScaleFreeKT(1, 1))
	for k, ok := range []bool{true, false, true} {
		if err := large.Update([]float64{[]float64{5e307, 1.4e308, 0}[k]}); (err == nil) != ok {
			t.Errorf("subgradient %d near the largest float64: %v", k, err)
		}
	}
	for _, epsilon := range []float64{0, -1, math.NaN(), math.Inf(1), 1e300} {
		if _, err := NewScaleFreeKT(1, epsilon); err == nil {
			t.Errorf("an epsilon of %v is not refused", epsilon)
		}
	}
}
