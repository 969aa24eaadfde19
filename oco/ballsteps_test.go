package oco

import (
	"bytes"
	"math"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/vec"
)

// TestBallSteps compares the projections that keep the reduced matrix with those that reduce it in
// every round, on centred and shifted balls, with factors and multiples of the identity. It
// restores in the middle.
func TestBallSteps(t *testing.T) {
	for _, d := range []int{2, 7, 24} {
		r := random.New(uint64(d), "ball steps")
		center := make([]float64, d)
		for i := range center {
			center[i] = r.NormFloat64()
		}
		for _, set := range []convex.Set{must(convex.NewCenteredBall(d, .1)), must(convex.NewBall(center, .3))} {
			fresh := func() *CurvatureFTRL {
				l := must(newCurvatureFTRL(set, .5, false))
				l.setBalls(1)
				return l
			}
			l, plain := fresh(), must(newCurvatureFTRL(set, .5, false))
			for k := range 60 {
				g := gradient(r, "gaussian", k, center, false)
				a := gradient(r, "gaussian", k, center, false)
				for _, p := range []*CurvatureFTRL{l, plain} {
					var err error
					switch k % 5 {
					case 4:
						err = p.updateCurved(g, .7)
					case 3:
						err = p.UpdateFactors(g)
					case 2:
						err = p.UpdateFactors(g, a, g)
					default:
						err = p.UpdateFactors(g, a)
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				x, y := l.Predict(), plain.Predict()
				for i := range x {
					if math.Abs(x[i]-y[i]) > 1e-6 {
						t.Fatalf("%v, round %d: %v, reduced in every round %v", set, k+1, x, y)
					}
				}
				if !set.Contains(x, 0) {
					t.Fatalf("%v: %v is outside", set, x)
				}
				if gap := l.Gap(); gap > 1e-8 {
					t.Fatalf("%v: the gap is %v", set, gap)
				}
				if k%7 == 0 {
					other := fresh()
					data := must(l.MarshalBinary())
					if err := other.UnmarshalBinary(data); err != nil {
						t.Fatal(err)
					}
					if !bytes.Equal(data, must(other.MarshalBinary())) {
						t.Fatal("a restored learner's snapshot differs")
					}
					if k%2 == 0 { // the restored learner replaces the original
						l, other = other, l
					}
					h := gradient(r, "gaussian", k, center, false)
					for _, p := range []*CurvatureFTRL{l, other, plain} {
						if err := p.UpdateFactors(h, h); err != nil {
							t.Fatal(err)
						}
					}
					x, y := l.Predict(), other.Predict()
					for i := range x {
						if math.Float64bits(x[i]) != math.Float64bits(y[i]) {
							t.Fatalf("%v: a restored learner continues to %v, the original to %v", set, y, x)
						}
					}
				}
			}
			u := make([]float64, d)
			copy(u, l.Predict())
			if b, c := bound(t, l, u), bound(t, plain, u); math.Abs(b-c) > 1e-6*c {
				t.Errorf("%v: the bound is %v, reduced in every round %v", set, b, c)
			}
		}
	}
}

// TestBallStepsAreCheap counts reductions: one in many rounds, and none in most. The textbook form
// reduces the matrix in every round.
func TestBallStepsAreCheap(t *testing.T) {
	const d = 80
	l := must(NewOnlineNewtonStep(must(convex.NewCenteredBall(d, .05)), 1, 1))
	r := random.New(1, "cheap")
	reductions, before := 0, -1
	for k := range 100 {
		g := gradient(r, "gaussian", k, make([]float64, d), false)
		if err := l.Update(g); err != nil {
			t.Fatal(err)
		}
		if vec.Norm2(l.Predict()) < .05*(1-1e-9) {
			t.Fatalf("round %d: no projection was needed", k+1)
		}
		n := l.state.Ball.Count
		if n <= before || before < 0 {
			reductions++
		}
		before = n
	}
	if want := 100/mostFactors(d) + 2; reductions > want {
		t.Errorf("%d reductions in 100 rounds, want at most %d", reductions, want)
	}
}

// BenchmarkNewtonOnBall times a round of the online Newton step on a ball with a projection.
func BenchmarkNewtonOnBall(b *testing.B) {
	const d = 300
	l := must(NewOnlineNewtonStep(must(convex.NewCenteredBall(d, .05)), 1, 1))
	r := random.New(1, "ball")
	gs := make([][]float64, 64)
	for k := range gs {
		gs[k] = gradient(r, "gaussian", k, make([]float64, d), false)
	}
	k := 0
	for b.Loop() {
		if err := l.Update(gs[k%len(gs)]); err != nil {
			b.Fatal(err)
		}
		k++
	}
}
