package convex_test

import (
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/internal/vec"
	"pgregory.net/rapid"
)

// intersections are intersections in dimension 3.
func intersections() []*convex.Intersection {
	cube := must(convex.NewCube(3, -1, 1))
	ball := must(convex.NewBall([]float64{.5, 0, 0}, 1))
	plane := must(convex.NewHalfspace([]float64{1, 2, -1}, .5))
	other := must(convex.NewHalfspace([]float64{-1, 1, 1}, .25))
	return []*convex.Intersection{
		must(convex.NewIntersection(cube)),
		must(convex.NewIntersection(cube, plane)),
		must(convex.NewIntersection(cube, plane, other)),
		must(convex.NewIntersection(cube, ball)),
		must(convex.NewIntersection(ball, plane, other)),
		must(convex.NewIntersection(must(convex.NewSimplex(3)), must(convex.NewHalfspace([]float64{1, 0, -1}, .2)))),
	}
}

// TestIntersectionProject: the projection x of v is in the set, and ⟨v − x, z − x⟩ ≤ 0 for all z of
// the set, which characterises it.
func TestIntersectionProject(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := random.New(rapid.Uint64().Draw(t, "seed"), "project")
		size := rapid.SampledFrom([]float64{.1, 1, 10, 100}).Draw(t, "size")
		for _, set := range intersections() {
			v, x, z := make([]float64, 3), make([]float64, 3), make([]float64, 3)
			for i := range v {
				v[i] = size * r.NormFloat64()
			}
			set.Project(x, v)
			if !set.Contains(x, 1e-10) {
				t.Fatalf("%v: the projection %v of %v is outside", set, x, v)
			}
			for range 30 {
				for i := range z {
					z[i] = 2 * r.NormFloat64()
				}
				set.Project(z, z)
				angle := 0.0
				for i := range z {
					angle += (v[i] - x[i]) * (z[i] - x[i])
				}
				if angle > 1e-7*(1+size) {
					t.Fatalf("%v: %v is not the projection of %v: %v is nearer, by %v", set, x, v, z, angle)
				}
			}
			copy(z, x)
			if set.Project(z, z); vec.MaxDistance(z, x) > 1e-11 {
				t.Fatalf("%v: %v moves to %v", set, x, z)
			}
			in := []float64{.3, .3, .4}
			if set.Contains(in, 0) {
				if set.Project(z, in); !slices.Equal(z, in) {
					t.Fatalf("%v: a point of the set moves from %v to %v", set, in, z)
				}
			}
		}
	})
}

// TestIntersectionMinimize: no point of the set is lower, and a polytope's minimum is that of its
// vertices.
func TestIntersectionMinimize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := random.New(rapid.Uint64().Draw(t, "seed"), "minimize")
		c := []float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}
		x, z := make([]float64, 3), make([]float64, 3)
		for _, set := range intersections() {
			least := must(set.Minimize(x, c))
			if !set.Contains(x, 1e-9) || math.Abs(least-vec.Dot(c, x)) > 1e-12 {
				t.Fatalf("%v: minimum %v at %v", set, least, x)
			}
			for range 50 {
				for i := range z {
					z[i] = 2*r.NormFloat64() - 3*c[i]
				}
				if set.Project(z, z); vec.Dot(c, z) < least-1e-6 {
					t.Fatalf("%v: %v at %v, below %v at %v", set, vec.Dot(c, z), z, least, x)
				}
			}
		}
		// {x ≥ 0, x ≤ 1, x_1 + x_2 ≤ 1} has the vertices 0, e_1, e_2.
		set := must(convex.NewIntersection(must(convex.NewCube(2, 0, 1)),
			must(convex.NewHalfspace([]float64{1, 1}, 1))))
		want := min(0, c[0], c[1])
		if least := must(set.Minimize(x[:2], c[:2])); math.Abs(least-want) > 1e-9 {
			t.Fatalf("minimum %v of %v, want %v", least, c[:2], want)
		}
	})
}

func TestIntersectionMoves(t *testing.T) {
	set := intersections()[4]
	moved := must(convex.NewShifted(must(convex.NewScaled(set, 2)), []float64{1, -1, 3}))
	r := random.New(3, "moves")
	for range 100 {
		x := []float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}
		y := []float64{2*x[0] + 1, 2*x[1] - 1, 2*x[2] + 3}
		set.Project(x, x)
		moved.Project(y, y)
		for i, shift := range []float64{1, -1, 3} {
			if math.Abs(y[i]-2*x[i]-shift) > 1e-9 {
				t.Fatalf("%v of the moved set, %v of the set", y, x)
			}
		}
	}
	if set.Diameter() != 2 || set.Dim() != 3 || len(set.Factors()) != 3 {
		t.Errorf("diameter %v, dimension %d, %d factors", set.Diameter(), set.Dim(), len(set.Factors()))
	}
	if moved.String() == set.String() {
		t.Error("two sets have the same text")
	}
}

func TestIntersectionRefuses(t *testing.T) {
	line := must(convex.NewCube(1, 0, 1))
	for name, sets := range map[string][]convex.Set{
		"none": nil, "nil": {line, nil}, "dimensions": {line, must(convex.NewCube(2, 0, 1))},
		"empty": {line, must(convex.NewCube(1, 2, 3))},
	} {
		if _, err := convex.NewIntersection(sets...); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	cone := must(convex.NewIntersection(must(convex.NewHalfspace([]float64{1, 1}, 0)),
		must(convex.NewHalfspace([]float64{1, -1}, 0))))
	x := []float64{7, 7}
	if _, err := cone.Minimize(x, []float64{1, 0}); err != convex.ErrUnbounded || x[0] != 7 {
		t.Errorf("error %v, point %v", err, x)
	}
	if v, err := cone.Minimize(x, []float64{0, 0}); v != 0 || err != nil || !cone.Contains(x, 1e-12) {
		t.Errorf("minimum %v of 0 at %v: %v", v, x, err)
	}
	if w := must(convex.NewInterior(cone)); !math.IsInf(w.Inradius(), 1) {
		t.Errorf("a cone has the inradius %v", w.Inradius())
	}
	flat := must(convex.NewIntersection(must(convex.NewSimplex(2)), must(convex.NewCube(2, 0, 1))))
	if _, err := convex.NewInterior(flat); err == nil {
		t.Error("a flat set was accepted")
	}
}

func TestIntersectionAllocatesNothing(t *testing.T) {
	testsize.NoRace(t) // a sync.Pool drops a quarter of its values under the race detector
	for _, set := range intersections() {
		x, c := make([]float64, 3), []float64{1, -2, .5}
		if n := testing.AllocsPerRun(20, func() {
			x[0], x[1], x[2] = 5, -3, 2
			set.Project(x, x)
			_, _ = set.Minimize(x, c)
		}); n > 0.5 {
			t.Errorf("%v: %v allocations", set, n)
		}
	}
}

// TestIntersectionConcurrently: goroutines that share a set compute what one alone does.
func TestIntersectionConcurrently(t *testing.T) {
	set := intersections()[4]
	project := func(seed uint64) (sum float64) {
		r := random.New(seed, "concurrent")
		x, c := make([]float64, 3), make([]float64, 3)
		for range 10 {
			for i := range x {
				x[i], c[i] = 3*r.NormFloat64(), r.NormFloat64()
			}
			set.Project(x, x)
			sum += vec.Sum(x) + must(set.Minimize(x, c))
		}
		return sum
	}
	results := make(chan [2]float64, 8)
	for seed := range uint64(8) {
		go func() { results <- [2]float64{float64(seed), project(seed)} }()
	}
	for range 8 {
		got := <-results
		if want := project(uint64(got[0])); got[1] != want {
			t.Errorf("seed %v: %v, alone %v", got[0], got[1], want)
		}
	}
}
