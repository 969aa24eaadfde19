package oco

import (
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/loss"
	"pgregory.net/rapid"
)

func TestExponentiatedGradient(t *testing.T) {
	l := must(NewExponentiatedGradient(3, nil, .5))
	xs, total := play(t, l, g4)
	nearVector(t, "x_2", xs[1], []float64{.2187230696, .4630367420, .3182401884})
	nearVector(t, "x_5", xs[4], []float64{.3045043424, .3909913152, .3045043424})
	near(t, "loss", total, .7986193746)
	vertex := []float64{0, 1, 0}
	b := must(l.Bounds(vertex))
	near(t, "bound", b.Infinity, 3.1972245773)
	if !math.IsInf(b.Local, 1) {
		t.Errorf("local-norm bound %v for subgradients with negative values", b.Local)
	}
	shifted := make([][]float64, len(g4))
	for i, g := range g4 {
		for _, v := range g {
			shifted[i] = append(shifted[i], v+1)
		}
	}
	l = must(NewExponentiatedGradient(3, nil, .5))
	ys, _ := play(t, l, shifted)
	for i := range ys {
		nearVector(t, "x after a shift", ys[i], xs[i])
	}
	b = must(l.Bounds(vertex))
	near(t, "L∞ bound", b.Infinity, 5.5253495773)
	near(t, "local-norm bound", b.Local, 4.1222469690)

	xs, total = play(t, descent(simplex(3), []float64{1. / 3, 1. / 3, 1. / 3}, Constant(.5)), g4)
	nearVector(t, "OSD x_2", xs[1], []float64{0, .6875, .3125})
	nearVector(t, "OSD x_5", xs[4], []float64{.2916666667, .4791666667, .2291666667})
	near(t, "OSD loss", total, 1.703125)
}

// TestTunedRates: η = √(2·ln d/(L²T)) has √2·L·√(T·ln d), attained by the formula at a vertex
// when all losses are ±L; losses in [0, 1] with η = √(8·ln d/T) have √(T·ln d/2).
func TestTunedRates(t *testing.T) {
	const d, rounds, L = 10, 128, 3.
	p := Problem{
		Set: simplex(d), Rounds: rounds,
		Facts: loss.Facts{
			Lipschitz: math.Inf(1), LipschitzInf: L,
		},
	}
	vertex := make([]float64, d)
	vertex[4] = 1
	for _, name := range []string{"eg", "mirror-descent"} {
		l := must(must(Find(name)).New(p, nil))
		for k := range rounds {
			g := make([]float64, d)
			for i := range g {
				g[i] = L * float64(1-2*((i+k)%2))
			}
			if err := l.Update(g); err != nil {
				t.Fatal(err)
			}
		}
		near(t, name+" bound", bound(t, l, vertex), math.Sqrt2*L*math.Sqrt(rounds*math.Log(d)))
	}
	l := must(NewExponentiatedGradient(d, nil, math.Sqrt(8*math.Log(d)/rounds)))
	var paid float64
	sum := make([]float64, d)
	for range rounds {
		g := make([]float64, d)
		worst := 0 // the half with the larger weight pays
		for i, x := range l.Predict() {
			if x > l.Predict()[worst] {
				worst = i
			}
			if x >= 1./d {
				g[i] = 1
			}
		}
		g[worst] = 1
		if vec.Sum(g) == d {
			g[d-1] = 0
		}
		paid += vec.Dot(g, l.Predict())
		for i, v := range g {
			sum[i] += v
		}
		if err := l.Update(g); err != nil {
			t.Fatal(err)
		}
	}
	want := math.Sqrt(rounds * math.Log(d) / 2)
	near(t, "bound for losses in [0, 1]", must(l.Bounds(vertex)).Range, want)
	if regret := paid - slices.Min(sum); regret > want {
		t.Errorf("regret %v is above %v", regret, want)
	}
}

func TestInvariantToShift(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, gs := drawSequence(t, 8, 50)
		d := len(gs[0])
		for _, make := range []func() Learner{
			func() Learner { return must(NewExponentiatedGradient(d, nil, .5)) },
			func() Learner { return must(NewEntropicFTRL(d, 3, 1)) },
			func() Learner { return must(NewAdaHedge(d, 1)) },
		} {
			a, b := make(), make()
			for round, g := range gs {
				c := 3 * r.NormFloat64()
				h := append([]float64(nil), g...)
				for i := range h {
					h[i] += c
				}
				for i, x := range a.Predict() {
					if math.Abs(x-b.Predict()[i]) > 1e-9 {
						t.Fatalf("%v: round %d: %v, and %v after shifts", a, round+1, a.Predict(), b.Predict())
					}
				}
				_, _ = a.Update(g), b.Update(h)
			}
		}
	})
	// ScaleFreeHedge is not invariant: its Q depends on the shift.
	a, b := must(NewScaleFreeHedge(2, 4)), must(NewScaleFreeHedge(2, 4))
	_, _ = a.Update([]float64{1, -1}), b.Update([]float64{11, 9})
	if a.Predict()[0] == b.Predict()[0] {
		t.Error("scale-free Hedge was invariant to a shift")
	}
}
