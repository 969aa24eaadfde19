package convex_test

import (
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/vec"
	"pgregory.net/rapid"
)

// sortedSimplex is the projection by sorting (Held, Wolfe and Crowder 1974).
func sortedSimplex(v []float64, s float64) []float64 {
	u := slices.Clone(v)
	slices.Sort(u)
	slices.Reverse(u)
	sum, tau := 0.0, 0.0
	for j, x := range u {
		sum += x
		if t := (sum - s) / float64(j+1); x > t {
			tau = t
		}
	}
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = max(x-tau, 0)
	}
	return out
}

func TestSimplexAgainstSorting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := source(t)
		d := rapid.IntRange(1, 300).Draw(t, "d")
		s := must(convex.NewScaledSimplex(d, math.Exp(r.NormFloat64())))
		v := awkward(r, d)
		if r.IntN(3) == 0 { // geometric: the active set shrinks one by one
			for i := range v {
				v[i] = math.Pow(0.7, float64(i))
			}
		}
		x := make([]float64, d)
		s.Project(x, v)
		want := sortedSimplex(v, s.Sum())
		if g := vec.Norm2(sub(x, want)); g > 1e-12*(s.Sum()+vec.Norm2(v)) {
			t.Fatalf("%v, want %v", x, want)
		}
	})
}

// The error is relative to the simplex and not to a huge input: v + K·1 has the projection of v.
func TestSimplexShift(t *testing.T) {
	s := must(convex.NewSimplex(3))
	x := make([]float64, 3)
	s.Project(x, []float64{1<<40 + 0.5, 1<<40 + 0.75, 1 << 40})
	nearAll(t, "shifted", x, []float64{0.375, 0.625, 0}, 1e-15)
	c := must(convex.NewCappedSimplex(3, 0.5, 1))
	c.Project(x, []float64{1<<40 + 0.5, 1<<40 + 0.75, 1 << 40})
	nearAll(t, "shifted", x, []float64{0.5, 0.5, 0}, 1e-15)
	c = must(convex.NewCappedSimplex(3, 0.5625, 1))
	c.Project(x, []float64{1<<40 + 0.5, 1<<40 + 0.75, 1 << 40})
	nearAll(t, "shifted", x, []float64{0.4375, 0.5625, 0}, 1e-15)
}

func TestTies(t *testing.T) {
	x := make([]float64, 3)
	for _, tc := range []struct {
		s    convex.Set
		c    []float64
		want []float64
	}{
		{must(convex.NewSimplex(3)), []float64{2, 1, 1}, []float64{0, 1, 0}},
		{must(convex.NewL1Ball(3, 2)), []float64{1, -3, 3}, []float64{0, 2, 0}},
		{must(convex.NewCube(3, -1, 2)), []float64{0, 1, -1}, []float64{-1, -1, 2}},
		{must(convex.NewCappedSimplex(3, 0.75, 1)), []float64{1, 1, 1}, []float64{0.75, 0.25, 0}},
		{must(convex.NewCappedSimplex(3, 0.75, 1)), []float64{1, 0, -1}, []float64{0, 0.25, 0.75}},
		{must(convex.NewCenteredBall(3, 5)), []float64{0, -3, 4}, []float64{0, 3, -4}},
		{must(convex.NewOrthant(3)), []float64{0, 1, 2}, []float64{0, 0, 0}},
	} {
		if _, err := tc.s.Minimize(x, tc.c); err != nil {
			t.Fatal(err)
		}
		nearAll(t, tc.s.String(), x, tc.want, 1e-15)
	}
}

func FuzzThresholds(f *testing.F) {
	f.Add(0.5, 0.8, -0.2, 1.0)
	f.Add(1e300, -1e300, 1e-300, 1e-9)
	f.Add(1.0, 1.0, 1.0, 3.0)
	f.Add(1e15, 1e15+2, 0.1, 0.25)
	// The caps are finer than the spacing of v.
	f.Add(3.333333333332973e+14, 9.99999999999965e+14, 98.1, 48.824999999999996)
	f.Fuzz(func(t *testing.T, a, b, c, sum float64) {
		v := []float64{a, b, c, -a, b / 3}
		for _, x := range v {
			if math.IsNaN(x) || math.Abs(x) > 1e300 {
				t.Skip()
			}
		}
		if !(sum > 1e-12 && sum < 1e12) {
			t.Skip()
		}
		x := make([]float64, len(v))
		for _, s := range []convex.Set{
			must(convex.NewScaledSimplex(len(v), sum)), must(convex.NewL1Ball(len(v), sum)),
			must(convex.NewCappedSimplex(len(v), sum/2, sum)),
		} {
			s.Project(x, v)
			if !s.Contains(x, 0) {
				t.Fatalf("%s: %v of %v is not a member", s, x, v)
			}
			// Projection by sorting loses accuracy beyond 1e3·sum.
			if _, ok := s.(*convex.Simplex); ok && vec.Norm2(v) < 1e3*sum {
				want := sortedSimplex(v, sum)
				if g := vec.Norm2(sub(x, want)); g > 1e-12*(sum+vec.Norm2(v)) {
					t.Fatalf("%s: %v, want %v", s, x, want)
				}
			}
		}
	})
}
