package convex_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/internal/vec"
	"pgregory.net/rapid"
)

// TestContainsIsRelativeToSize checks the rule of membership: the tolerance is relative to the size
// of the set, wherever the set lies. Regret bounds are relative to the diameter, and a comparator
// far outside the set would break them.
func TestContainsIsRelativeToSize(t *testing.T) {
	const tol = 1e-9
	for _, far := range []float64{0, 1, -1e3, 1e6} {
		for _, size := range []float64{1e-4, 1, 1e4} {
			shift := func(s convex.Set) convex.Set { return must(convex.NewShifted(s, []float64{far, far, far})) }
			for _, tc := range []struct {
				set convex.Set
				at  func(out float64) []float64 // outside by out times the size
			}{
				{
					shift(must(convex.NewCenteredBall(3, size))),
					func(out float64) []float64 { return []float64{far, far - size*(1+out), far} },
				},
				{
					shift(must(convex.NewCenteredLpBall(3, math.Inf(1), size))),
					func(out float64) []float64 { return []float64{far, far, far + size*(1+out)} },
				},
				{
					shift(must(convex.NewCube(3, 0, size))),
					func(out float64) []float64 { return []float64{far - size*out, far, far} },
				},
				{
					shift(must(convex.NewScaledSimplex(3, size))),
					func(out float64) []float64 { return []float64{far + size*(1+out), far - size*out, far} },
				},
				{
					shift(must(convex.NewScaledSimplex(3, size))),
					func(out float64) []float64 { return []float64{far + size/2, far + size*(0.5+out), far} },
				},
				{
					must(convex.NewProduct(must(convex.NewSpace(1)), shift(must(convex.NewCenteredBall(3, size))))),
					func(out float64) []float64 { return []float64{7, far, far - size*(1+out), far} },
				},
			} {
				rounding := 1e-15 * (math.Abs(far) + size) / size
				if x := tc.at(0.1*tol - rounding); !tc.set.Contains(x, tol) {
					t.Errorf("%s does not contain %v, outside by less than the tolerance", tc.set, x)
				}
				if x := tc.at(10*tol + 10*rounding); tc.set.Contains(x, tol) {
					t.Errorf("%s contains %v, outside by more than the tolerance", tc.set, x)
				}
			}
		}
	}
	// A coordinate of width 0 still gets a tolerance for its rounding.
	point := must(convex.NewCube(1, 0.3, 0.3))
	if x := []float64{math.Nextafter(0.3, 1)}; !point.Contains(x, tol) || point.Contains(x, 0) {
		t.Errorf("membership of %v is %v with a tolerance and %v without", x, point.Contains(x, tol),
			point.Contains(x, 0))
	}
	// If a side is infinite, the tolerance is relative to the finite one, or to 1.
	orthant := must(convex.NewOrthant(1))
	if !orthant.Contains([]float64{-1e-10}, tol) || orthant.Contains([]float64{-1e-8}, tol) {
		t.Error("the orthant's tolerance is not 1e-9")
	}
}

// TestSmallCases compares projections, minima and a KL projection with values computed by hand.
func TestSmallCases(t *testing.T) {
	s := must(convex.NewSimplex(3))
	x := make([]float64, 3)
	for _, tc := range []struct{ v, want []float64 }{
		{[]float64{0.5, 0.8, -0.2}, []float64{0.35, 0.65, 0}},
		{[]float64{1, 1, 1}, []float64{1. / 3, 1. / 3, 1. / 3}},
		{[]float64{2, 0, 0}, []float64{1, 0, 0}},
		{[]float64{0.3, 0.2, 0.1}, []float64{0.4333333333, 0.3333333333, 0.2333333333}},
	} {
		s.Project(x, tc.v)
		nearAll(t, "Π_S", x, tc.want, 1e-10)
	}
	value, err := s.Minimize(x, []float64{.5, 0, .5})
	if err != nil || value != 0 || x[1] != 1 {
		t.Errorf("minimum on the simplex: %v at %v (%v)", value, x, err)
	}
	// The minimum of ⟨c, ·⟩ on the unit ball is −‖c‖.
	value, err = must(convex.NewCenteredBall(3, 1)).Minimize(x, []float64{.5, 0, .5})
	if err != nil {
		t.Error(err)
	}
	near(t, "minimum on the ball", value, -.7071067812, 1e-10)
	// KL projection of y > 0 onto the simplex is y/Σy: the argmax at ∇ψ(y).
	m := must(convex.NewNegativeEntropy(3))
	reg := must(convex.Restrict(m, s))
	m.Gradient(x, []float64{1, 2, 5})
	reg.Argmax(x, x)
	nearAll(t, "KL projection", x, []float64{.125, .25, .625}, 1e-15)
}

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
			// The only c with a minimum on a halfspace or affine set: normal at a projected point.
			case 1:
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
					t.Fatalf("%s: the destination was changed", s)
				}
				// unbounded below: moving against c lowers the value forever
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
					t.Fatalf("%s: reported as unbounded along %v, but the values are %v and %v", s, c, at(1e6), at(1e9))
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

// Equal text must mean equal sets, so each pair of these must differ.
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

func TestNoAllocations(t *testing.T) {
	r := newRand(1)
	const d = 6
	v, x := normals(r, d+2, 2), make([]float64, d+2)
	zero := func(name string, call func()) {
		t.Helper()
		call() // allocations of the first call are not counted
		if n := testing.AllocsPerRun(100, call); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	for _, kind := range setKinds {
		s := kind.make(r, d)
		n := s.Dim()
		zero(kind.name+" project", func() { s.Project(x[:n], v[:n]) })
		zero(kind.name+" minimize", func() { _, _ = s.Minimize(x[:n], v[:n]) })
		zero(kind.name+" contains", func() { s.Contains(v[:n], 1e-9) })
		zero(kind.name+" diameter", func() { s.Diameter() })
		if kind.name == "moved product" {
			continue
		}
		w := must(convex.NewMahalanobis(n))
		m := rowMajor(spd(r, n, 3))
		zero(kind.name+" mahalanobis", func() {
			if _, err := w.Project(x[:n], m, v[:n], s, 1e-9); err != nil {
				t.Fatal(err)
			}
		})
	}
	for _, kind := range mapKinds {
		m := kind.make(r, d)
		p, q := positives(r, d), positives(r, d)
		zero(kind.name, func() {
			m.Value(p)
			m.Gradient(x[:d], p)
			m.Inverse(x[:d], q)
			m.Conjugate(q)
			m.Divergence(p, q)
			m.Interior(p)
			m.StrongConvexity()
		})
	}
	for _, kind := range pairKinds() {
		if testsize.Short() {
			break
		}
		m, s := kind.make(r, d)
		reg := must(convex.Restrict(m, s))
		n := s.Dim()
		zero(kind.name, func() {
			reg.Argmax(x[:n], v[:n])
			reg.Conjugate(v[:n])
			reg.Value(x[:n])
			reg.StrongConvexity()
		})
	}
	group := must(convex.NewGroupNorm(2, 4))
	zero("proximal maps", func() {
		convex.ProxL1(x[:d], v[:d], 1)
		convex.ProxL2(x[:d], v[:d], 1)
		convex.ProxSquaredL2(x[:d], v[:d], 1)
		convex.ProxElasticNet(x[:d], v[:d], 1, 2)
		convex.ProxGroup(x[:d], v[:d], group, 1)
		convex.Softmax(x, v)
	})
}
