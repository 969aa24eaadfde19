package convex_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/vec"
)

// TestProjection checks for every set that the projection is a member and no member is nearer
// (Orabona 2019, Proposition 2.11 and Theorem 2.8).
func TestProjection(t *testing.T) {
	for _, kind := range setKinds {
		t.Run(kind.name, rapid.MakeCheck(func(t *rapid.T) {
			r := source(t)
			s := kind.make(r, dim(t))
			d := s.Dim()
			v, v2 := awkward(r, d), awkward(r, d)
			x, again := make([]float64, d), make([]float64, d)
			s.Project(x, v)
			if !s.Contains(x, 0) {
				t.Fatalf("%s: the projection %v of %v is not a member", s, x, v)
			}
			s.Project(again, x)
			if !slices.Equal(again, x) {
				t.Fatalf("%s: projecting %v again gives %v", s, x, again)
			}
			copy(again, v)
			s.Project(again, again)
			if !slices.Equal(again, x) {
				t.Fatalf("%s: in place %v, otherwise %v", s, again, x)
			}
			back := sub(x, v)
			for range 5 {
				y := member(s, r)
				move := sub(y, x)
				scale := (vec.Norm2(v) + vec.Norm2(x) + vec.Norm2(y)) *
					(vec.Norm2(move) + vec.Norm2(back))
				if g := vec.Dot(back, move); g < -1e-12*scale {
					t.Fatalf("%s: ⟨Π(v)−v, y−Π(v)⟩ = %v < 0 at v = %v, Π(v) = %v, y = %v", s, g, v, x, y)
				}
			}
			x2 := make([]float64, d)
			s.Project(x2, v2)
			apart, were := vec.Norm2(sub(x, x2)), vec.Norm2(sub(v, v2))
			if apart > were+1e-12*(vec.Norm2(v)+vec.Norm2(v2)+vec.Norm2(x)) {
				t.Fatalf("%s: projections are %v apart, the points %v", s, apart, were)
			}
		}))
	}
}

func TestMinimize(t *testing.T) {
	for _, kind := range setKinds {
		t.Run(kind.name, rapid.MakeCheck(func(t *rapid.T) {
			r := source(t)
			s := kind.make(r, dim(t))
			d := s.Dim()
			c := awkward(r, d)
			which := r.IntN(4)
			switch which {
			case 0:
				clear(c)
			case 3:
				c = normals(r, d, 1)
			case 1: // the only c with a minimum on a halfspace or affine set: normal at a projected point
				v := awkward(r, d)
				x := make([]float64, d)
				s.Project(x, v)
				c = sub(x, v)
			}
			dst := slices.Repeat([]float64{math.Pi}, d)
			value, err := s.Minimize(dst, c)
			if err != nil {
				if !errors.Is(err, convex.ErrUnbounded) {
					t.Fatal(err)
				}
				if !slices.Equal(dst, slices.Repeat([]float64{math.Pi}, d)) {
					t.Fatalf("%s: the destination was touched", s)
				}
				// unbounded below: going against c lowers the value for ever
				at := func(far float64) float64 {
					x := make([]float64, d)
					for i := range x {
						x[i] = -far * c[i] / vec.Norm2(c)
					}
					s.Project(x, x)
					return vec.Dot(c, x)
				}
				if which == 0 {
					t.Fatalf("%s: no minimum for c = 0", s)
				}
				if which == 3 && !(at(1e9) < at(1e6)-1e-6*math.Abs(at(1e6))) {
					t.Fatalf("%s: said to be unbounded along %v, but %v and %v", s, c, at(1e6), at(1e9))
				}
				return
			}
			if !s.Contains(dst, 1e-12) {
				t.Fatalf("%s: the minimizer %v for %v is not a member", s, dst, c)
			}
			scale := vec.Norm2(c) * (1 + vec.Norm2(dst))
			if g := vec.Dot(c, dst) - value; math.Abs(g) > 1e-12*scale {
				t.Fatalf("%s: value %v, but %v at the point %v, c = %v", s, value, value+g, dst, c)
			}
			for range 5 {
				y := member(s, r)
				if vec.Dot(c, y) < value-1e-11*(scale+vec.Norm2(c)*vec.Norm2(y)) {
					t.Fatalf("%s: minimum %v at %v, but %v at %v, c = %v", s, value, dst, vec.Dot(c, y), y, c)
				}
			}
			in := slices.Clone(c)
			if _, err := s.Minimize(in, in); err != nil || !slices.Equal(in, dst) {
				t.Fatalf("%s: in place %v (%v), otherwise %v", s, in, err, dst)
			}
		}))
	}
}

func TestDiameter(t *testing.T) {
	for _, kind := range setKinds {
		t.Run(kind.name, rapid.MakeCheck(func(t *rapid.T) {
			r := source(t)
			s := kind.make(r, dim(t))
			for range 10 {
				x, y := member(s, r), member(s, r)
				slack := 1e-12 * (vec.Norm2(x) + vec.Norm2(y))
				if got := vec.Norm2(sub(x, y)); got > s.Diameter()*(1+1e-12)+slack {
					t.Fatalf("%s: members %v apart, diameter %v", s, got, s.Diameter())
				}
			}
		}))
	}
	lp := must(convex.NewCenteredLpBall(4, 4, 1.5))
	corner := slices.Repeat([]float64{1e9}, 4)
	lp.Project(corner, corner)
	for _, tc := range []struct {
		s    convex.Set
		want float64
	}{
		{must(convex.NewCenteredBall(3, 1.5)), 3},
		{must(convex.NewL1Ball(3, 1.5)), 3},
		{must(convex.NewCenteredLpBall(3, 1.5, 2)), 4},
		{lp, 2 * vec.Norm2(corner)},
		{must(convex.NewCenteredLpBall(4, math.Inf(1), 1)), 4},
		{must(convex.NewBox([]float64{0, 1, 2}, []float64{1, 3, 4})), 3},
		{must(convex.NewSimplex(3)), math.Sqrt2},
		{must(convex.NewSimplex(1)), 0},
		{must(convex.NewCappedSimplex(4, 0.5, 1)), 1},             // (½,½,0,0) and (0,0,½,½)
		{must(convex.NewCappedSimplex(3, 0.5, 1)), math.Sqrt(.5)}, // (½,½,0) and (0,½,½)
		{must(convex.NewCappedSimplex(3, 1, 1)), math.Sqrt2},
		{must(convex.NewCappedSimplex(2, 0.5, 1)), 0},
		{must(convex.NewProduct(must(convex.NewCube(1, 0, 3)), must(convex.NewCenteredBall(2, 2)))), 5},
		{must(convex.NewOrthant(2)), math.Inf(1)},
		{must(convex.NewSpace(2)), math.Inf(1)},
	} {
		near(t, tc.s.String(), tc.s.Diameter(), tc.want, 1e-12)
	}
}

func TestContains(t *testing.T) {
	for _, tc := range []struct {
		s    convex.Set
		x    []float64
		tol  float64
		want bool
	}{
		{must(convex.NewSimplex(2)), []float64{0.5, 0.5}, 0, true},
		{must(convex.NewSimplex(2)), []float64{0.5, 0.5 + 1e-9}, 0, false},
		{must(convex.NewSimplex(2)), []float64{0.5, 0.5 + 1e-9}, 1e-8, true},
		{must(convex.NewSimplex(2)), []float64{-1e-9, 1 + 1e-9}, 0, false},
		{must(convex.NewSimplex(2)), []float64{-1e-9, 1 + 1e-9}, 1e-8, true},
		{must(convex.NewSimplex(2)), []float64{math.Inf(1), math.Inf(-1)}, 1, false},
		{must(convex.NewCappedSimplex(2, 0.6, 1)), []float64{0.7, 0.3}, 0, false},
		{must(convex.NewCappedSimplex(2, 0.6, 1)), []float64{0.6, 0.4}, 0, true},
		{must(convex.NewCenteredBall(2, 1)), []float64{0.6, 0.8}, 0, true},
		{must(convex.NewCenteredBall(2, 1)), []float64{0.6, 0.8001}, 0, false},
		{must(convex.NewCenteredBall(2, 1)), []float64{0.6, 0.8001}, 1e-3, true},
		{must(convex.NewL1Ball(2, 1)), []float64{-0.5, 0.5}, 0, true},
		{must(convex.NewL1Ball(2, 1)), []float64{-0.5, 0.6}, 0, false},
		{must(convex.NewSpace(1)), []float64{math.Inf(1)}, 0, false},
		{must(convex.NewOrthant(1)), []float64{math.Inf(1)}, 0, false},
		{must(convex.NewOrthant(1)), []float64{-1}, 0.5, false},
		{must(convex.NewHalfspace([]float64{1, 1}, 1)), []float64{1, 0.1}, 0, false},
		{must(convex.NewHalfspace([]float64{1, 1}, 1)), []float64{1, -5}, 0, true},
		{must(convex.NewHalfspace([]float64{1, 1}, 1)), []float64{math.Inf(-1), 0}, 0, false},
	} {
		if got := tc.s.Contains(tc.x, tc.tol); got != tc.want {
			t.Errorf("%s contains %v within %v: %v, want %v", tc.s, tc.x, tc.tol, got, tc.want)
		}
	}
}

func TestOpenBox(t *testing.T) {
	b := must(convex.NewOpenBox([]float64{0, math.Inf(-1)}, []float64{1, 2}))
	x := []float64{-3, 5}
	b.Project(x, x)
	if !(x[0] > 0 && x[0] < 1e-300 && x[1] < 2 && x[1] > 2-1e-15) {
		t.Errorf("projected to %v, want the points next to 0 and 2", x)
	}
	if b.Contains([]float64{0, 0}, 0) || b.Contains([]float64{0.5, 2}, 0) {
		t.Error("the open sides are members")
	}
}

// The image of a projection under x ↦ c·x + x0 is the projection of the image.
func TestMoved(t *testing.T) {
	for _, kind := range setKinds {
		t.Run(kind.name, rapid.MakeCheck(func(t *rapid.T) {
			r := source(t)
			s := kind.make(r, dim(t))
			d := s.Dim()
			c, x0, v := math.Exp(r.NormFloat64()), normals(r, d, 1), normals(r, d, 3)
			m := must(convex.NewShifted(must(convex.NewScaled(s, c)), x0))
			x, moved := make([]float64, d), make([]float64, d)
			s.Project(x, v)
			for i := range v {
				moved[i] = c*v[i] + x0[i]
				x[i] = c*x[i] + x0[i]
			}
			m.Project(moved, moved)
			if g := vec.Norm2(sub(x, moved)); g > 1e-10*(1+vec.Norm2(x)) {
				t.Fatalf("%s: %v, want %v", m, moved, x)
			}
			if math.Abs(m.Diameter()-c*s.Diameter()) > 1e-9*c*s.Diameter() {
				t.Fatalf("diameter %v became %v under scaling by %v", s.Diameter(), m.Diameter(), c)
			}
		}))
	}
}

// Equal text means equal set: every pair of these differs.
func TestStringsDiffer(t *testing.T) {
	long, long2 := make([]float64, 40), make([]float64, 40)
	for i := range long {
		long[i] = float64(i)
		long2[i] = float64(i)
	}
	long2[39] = math.Nextafter(39, 40)
	sets := []convex.Set{
		must(convex.NewSpace(1)), must(convex.NewSpace(2)),
		must(convex.NewCenteredBall(2, 1)), must(convex.NewCenteredBall(3, 1)),
		must(convex.NewCenteredBall(2, 1+1e-15)),
		must(convex.NewL1Ball(2, 1)), must(convex.NewCenteredLpBall(2, 3, 1)), must(convex.NewBall([]float64{1, 0}, 1)),
		must(convex.NewBall(long, 1)), must(convex.NewBall(long2, 1)),
		must(convex.NewOrthant(2)), must(convex.NewCube(2, 0, 1)), must(convex.NewCube(3, 0, 1)),
		must(convex.NewOpenBox([]float64{0, 0}, []float64{1, 1})),
		must(convex.NewBox([]float64{0, 0}, []float64{1, 2})), must(convex.NewBox([]float64{0, 0}, []float64{2, 1})),
		must(convex.NewSimplex(2)), must(convex.NewSimplex(3)), must(convex.NewScaledSimplex(2, 2)),
		must(convex.NewCappedSimplex(2, 0.6, 1)), must(convex.NewCappedSimplex(2, 0.7, 1)),
		must(convex.NewCappedSimplex(2, 0.7, 1.1)),
		must(convex.NewHalfspace([]float64{1, 0}, 1)), must(convex.NewHalfspace([]float64{1, 0}, 2)),
		must(convex.NewProduct(must(convex.NewSimplex(1)), must(convex.NewSimplex(2)))),
		must(convex.NewProduct(must(convex.NewSimplex(2)), must(convex.NewSimplex(1)))),
		must(convex.NewProduct(must(convex.NewProduct(must(convex.NewSimplex(2)))), must(convex.NewSimplex(1)))),
	}
	seen := map[string]bool{}
	for _, s := range sets {
		if seen[s.String()] {
			t.Errorf("two sets are called %s", s)
		}
		seen[s.String()] = true
	}
}

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

// Accuracy is that of the simplex, not of a huge input: v + K·1 has the projection of v.
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
			if _, ok := s.(*convex.Simplex); ok && vec.Norm2(v) < 1e3*sum { // sorting loses its digits beyond that
				want := sortedSimplex(v, sum)
				if g := vec.Norm2(sub(x, want)); g > 1e-12*(sum+vec.Norm2(v)) {
					t.Fatalf("%s: %v, want %v", s, x, want)
				}
			}
		}
	})
}
