package regret_test

import (
	"math"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/loss"
	"github.com/noregret/noregret/regret"
)

// TestShapeMinimize compares the closed form with a grid, for all kinds of shapes.
func TestShapeMinimize(t *testing.T) {
	r := random.New(1, "shape")
	for range 3000 {
		s := regret.Shape{Low: r.Float64() - 1, High: r.Float64()}
		if r.IntN(3) > 0 {
			s.Curvature = 2 * r.Float64()
		}
		if r.IntN(3) > 0 {
			s.Wall = 2 * r.Float64()
		}
		slope := 6*r.Float64() - 3
		if r.IntN(10) == 0 {
			slope = 0
		}
		f := &regret.Tilt{Shape: s, Slope: slope, Offset: 1}
		x := s.Minimize(slope, -1, 1)
		for i := range 201 {
			y := float64(i)/100 - 1
			if v := f.Value([]float64{y}); v < f.Value([]float64{x})-1e-12 {
				t.Fatalf("%+v with slope %v: %v at %v, %v at the minimizer %v", s, slope, v, y, f.Value([]float64{x}),
					x)
			}
		}
	}
}

// TestTiltSummary compares the summary with the sum of the losses, and its best point with others.
func TestTiltSummary(t *testing.T) {
	r := random.New(2, "tilts")
	shape := regret.Shape{Curvature: 0.5, Wall: 1, Low: -0.5, High: 0.25}
	set := must(convex.NewCube(1, -2, 2))
	s := regret.NewTiltSummary(shape)
	var losses []loss.Function
	for n := range 50 {
		u, best := []float64{4*r.Float64() - 2}, []float64{0}
		least, gap, err := s.Best(best, set)
		if err != nil || gap != 0 {
			t.Fatal(err, gap)
		}
		var at, lowest float64
		for _, f := range losses {
			at += f.Value(u)
			lowest += f.Value(best)
		}
		if math.Abs(s.Loss(u)-at) > 1e-12*(1+math.Abs(at)) || math.Abs(least-lowest) > 1e-12*(1+math.Abs(at)) ||
			least > at+1e-12 {
			t.Fatalf("after %d: %v, want %v; least %v, want %v", n, s.Loss(u), at, least, lowest)
		}
		f := &regret.Tilt{Shape: shape, Slope: 4*r.Float64() - 2, Offset: r.Float64()}
		losses = append(losses, f)
		if err := s.Add(f); err != nil {
			t.Fatal(err)
		}
	}
	other := regret.Tilt{Shape: regret.Shape{Curvature: 1}}
	if s.Add(&other) == nil || s.Add(&loss.Linear{C: []float64{1}}) == nil {
		t.Error("a loss of another shape was accepted")
	}
	line := must(convex.NewSpace(1))
	flat := regret.NewTiltSummary(regret.Shape{})
	if err := flat.Add(&regret.Tilt{Slope: 1}); err != nil {
		t.Fatal(err)
	}
	if v, _, err := flat.Best([]float64{0}, line); err != nil || !math.IsInf(v, -1) {
		t.Errorf("the least of x on the line is %v, %v", v, err)
	}
	if _, _, err := flat.Best([]float64{0, 0}, must(convex.NewSpace(2))); err == nil {
		t.Error("a set of two dimensions was accepted")
	}
}
