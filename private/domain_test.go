package private

import (
	"errors"
	"math"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/internal/vec"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func normals(r *random.Source, d int) []float64 {
	x := make([]float64, d)
	for j := range x {
		x[j] = stat.Normal(r)
	}
	return x
}

var exponents = []float64{1, 1.1, 1.5, 2, 3, math.Inf(1)}

// TestOracleO2Minimize: the minimum over a ball is −R‖g‖_q at a point of norm R, no random point of
// any domain is better, and the scale of g does not matter.
func TestOracleO2Minimize(t *testing.T) {
	r := random.New(1, "test")
	for _, dim := range []int{1, 2, 5, 40} {
		var domains []*Domain
		for _, p := range exponents {
			domains = append(domains, must(NewBall(dim, p, 2)))
		}
		domains = append(domains, must(NewSimplex(dim)))
		lower, upper := make([]float64, dim), make([]float64, dim)
		var vertices [][]float64
		for j := range lower {
			lower[j], upper[j] = -r.Float64(), r.Float64()
			vertices = append(vertices, normals(r, dim))
		}
		domains = append(domains, must(NewBox(lower, upper)), must(NewPolytope(vertices, 2)))
		for _, domain := range domains {
			v, other, scaled := make([]float64, dim), make([]float64, dim), make([]float64, dim)
			for range 20 {
				g := normals(r, dim)
				domain.Minimize(v, g)
				least := vec.Dot(v, g)
				if domain.kind == isBall {
					norm := must(convex.NewLp(domain.p)).Of(v)
					if math.Abs(norm/2-1) > 1e-12 {
						t.Errorf("%v: the minimizer has norm %v", domain, norm)
					}
					if want := -2 * domain.dual.Of(g); math.Abs(least/want-1) > 1e-12 {
						t.Errorf("%v: minimum %v, want %v", domain, least, want)
					}
				}
				for range 50 { // the minimizer of a random direction is an extreme point
					domain.Minimize(other, normals(r, dim))
					if vec.Dot(other, g) < least-1e-12*(1+math.Abs(least)) {
						t.Fatalf("%v: %v is better than the minimizer %v of %v", domain, other, v, g)
					}
				}
				for j, x := range g {
					scaled[j] = math.Ldexp(x, 900)
				}
				domain.Minimize(other, scaled)
				for j := range v {
					if math.Abs(other[j]-v[j]) > 1e-12 {
						t.Fatalf("%v: %v for the scaled vector, want %v", domain, other, v)
					}
				}
			}
		}
	}
}

// TestMinimizeOfZero pins the points at a zero gradient, which must be fixed in advance.
func TestMinimizeOfZero(t *testing.T) {
	for _, c := range []struct {
		domain *Domain
		want   []float64
	}{
		{must(NewBall(2, 1, 3)), []float64{0, 0}},
		{must(NewBall(2, 1.5, 3)), []float64{0, 0}},
		{must(NewBall(2, math.Inf(1), 3)), []float64{0, 0}},
		{must(NewSimplex(2)), []float64{1, 0}},
		{must(NewBox([]float64{-1, 2}, []float64{5, 3})), []float64{-1, 2}},
		{must(NewPolytope([][]float64{{4, 5}, {1, 1}}, 1)), []float64{4, 5}},
	} {
		got := []float64{9, 9}
		c.domain.Minimize(got, []float64{0, 0})
		if got[0] != c.want[0] || got[1] != c.want[1] {
			t.Errorf("%v: %v, want %v", c.domain, got, c.want)
		}
	}
}

// TestMinimizeTies pins the points where some coordinates of the gradient are 0.
func TestMinimizeTies(t *testing.T) {
	for _, c := range []struct {
		domain *Domain
		want   [3]float64
	}{
		{must(NewBall(3, 1, 3)), [3]float64{-3, 0, 0}},
		{must(NewBall(3, 1.5, 1)), [3]float64{-0.6299605, 0, 0.6299605}},
		{must(NewBall(3, math.Inf(1), 3)), [3]float64{-3, 3, 3}},
		{must(NewSimplex(3)), [3]float64{0, 0, 1}},
		{must(NewBox([]float64{-1, 2, 0}, []float64{5, 3, 1})), [3]float64{-1, 3, 1}},
	} {
		got := make([]float64, 3)
		c.domain.Minimize(got, []float64{1, 0, -1})
		for j, w := range c.want {
			if math.Abs(got[j]-w) > 1e-6 {
				t.Errorf("%v: %v, want %v", c.domain, got, c.want)
			}
		}
	}
}

// TestDiameter compares D with the largest distance of minimizers of random directions.
func TestDiameter(t *testing.T) {
	r := random.New(2, "test")
	for _, domain := range []*Domain{
		must(NewBall(3, 1, 2)), must(NewBall(3, 1.5, 2)), must(NewBall(3, math.Inf(1), 2)), must(NewSimplex(3)),
		must(NewBox([]float64{-1, 0, 2}, []float64{0, 5, 3})),
		must(NewPolytope([][]float64{{0, 0, 1}, {3, 0, 0}, {0, 0, 1}, {0, 4, 0}}, 2)),
	} {
		norm := must(convex.NewLp(domain.p))
		largest, radius := 0.0, 0.0
		v, w, difference := make([]float64, 3), make([]float64, 3), make([]float64, 3)
		for range 5000 {
			g := normals(r, 3)
			domain.Minimize(v, g)
			if domain.kind == isBall {
				vec.Scale(g, -1)
			} else {
				g = normals(r, 3)
			}
			domain.Minimize(w, g)
			for j := range v {
				difference[j] = v[j] - w[j]
			}
			largest, radius = max(largest, norm.Of(difference)), max(radius, norm.Of(v))
		}
		if math.Abs(largest/domain.Diameter()-1) > 1e-9 || math.Abs(radius/domain.Radius()-1) > 1e-9 {
			t.Errorf("%v: diameter %v and radius %v, want %v and %v", domain, domain.Diameter(), domain.Radius(),
				largest, radius)
		}
	}
}

// TestVertices: the list of vertices holds the minimizer of every direction.
func TestVertices(t *testing.T) {
	r := random.New(3, "test")
	polytope := must(NewPolytope([][]float64{{0, 0, 1}, {3, 0, 0}, {0, 0, 1}, {0, 4, 0}}, 2))
	if n := polytope.Vertices(); n != 3 {
		t.Errorf("%d vertices, want 3: one occurs twice", n)
	}
	for _, domain := range []*Domain{must(NewBall(3, 1, 2)), must(NewSimplex(3)), polytope} {
		v, w := make([]float64, 3), make([]float64, 3)
		for range 100 {
			g := normals(r, 3)
			domain.Minimize(v, g)
			best := math.Inf(1)
			for k := range domain.Vertices() {
				domain.writeVertex(w, k)
				best = min(best, vec.Dot(w, g))
			}
			if math.Abs(best-vec.Dot(v, g)) > 1e-12 {
				t.Fatalf("%v: the best vertex has %v, the minimizer %v", domain, best, vec.Dot(v, g))
			}
		}
	}
	if n := must(NewBall(3, 2, 1)).Vertices(); n != 0 {
		t.Errorf("a Euclidean ball has %d vertices", n)
	}
}

// TestDomainEdges holds the refusals of domains.
func TestDomainEdges(t *testing.T) {
	for _, c := range []struct {
		name string
		make func() (*Domain, error)
		want error
	}{
		{"a dimension beyond memory", func() (*Domain, error) { return NewBall(1<<40, 2, 1) }, nil},
		{"dimension 0", func() (*Domain, error) { return NewBall(0, 2, 1) }, dp.ErrDimension},
		{"simplex of dimension 0", func() (*Domain, error) { return NewSimplex(0) }, dp.ErrDimension},
		{"p below 1", func() (*Domain, error) { return NewBall(2, 0.5, 1) }, dp.ErrNorm},
		{"p NaN", func() (*Domain, error) { return NewBall(2, math.NaN(), 1) }, dp.ErrNorm},
		{"radius 0", func() (*Domain, error) { return NewBall(2, 2, 0) }, dp.ErrBound},
		{"radius NaN", func() (*Domain, error) { return NewBall(2, 2, math.NaN()) }, dp.ErrBound},
		{"radius +Inf", func() (*Domain, error) { return NewBall(2, 2, math.Inf(1)) }, dp.ErrBound},
		{"open box", func() (*Domain, error) { return NewBox([]float64{0}, []float64{math.Inf(1)}) }, dp.ErrBound},
		{"point", func() (*Domain, error) { return NewBox([]float64{1}, []float64{1}) }, dp.ErrBound},
		{"no vertices", func() (*Domain, error) { return NewPolytope(nil, 1) }, dp.ErrDimension},
		{"vertices of two dimensions", func() (*Domain, error) {
			return NewPolytope([][]float64{{1}, {1, 2}}, 1)
		}, dp.ErrDimension},
		{"vertex NaN", func() (*Domain, error) { return NewPolytope([][]float64{{math.NaN()}}, 1) }, dp.ErrBound},
		{"start outside", func() (*Domain, error) {
			return must(NewBall(2, 2, 1)).WithStart([]float64{1, 1})
		}, dp.ErrBound},
		{"start outside the simplex", func() (*Domain, error) {
			return must(NewSimplex(2)).WithStart([]float64{0, 0})
		}, dp.ErrBound},
		{"start NaN", func() (*Domain, error) {
			return must(NewBall(1, 2, 1)).WithStart([]float64{math.NaN()})
		}, dp.ErrBound},
		{"start of another dimension", func() (*Domain, error) {
			return must(NewBall(2, 2, 1)).WithStart([]float64{0})
		}, dp.ErrDimension},
	} {
		if _, err := c.make(); err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", c.name, err, c.want)
		}
	}
	if s := must(NewSimplex(4)).Start(); s[0] != 0.25 || s[3] != 0.25 {
		t.Errorf("the simplex starts at %v, want the barycentre", s)
	}
	if d := must(must(NewBall(2, 1, 1)).WithStart([]float64{0, 1})); d.Start()[1] != 1 {
		t.Errorf("start %v", d.Start())
	}
	// Dimension 1: all balls are the same interval.
	for _, p := range exponents {
		d, v := must(NewBall(1, p, 2)), []float64{0}
		if d.Minimize(v, []float64{3}); v[0] != -2 || d.Diameter() != 4 || d.Vertices() != 2 {
			t.Errorf("p = %v: minimizer %v, diameter %v, %d vertices", p, v[0], d.Diameter(), d.Vertices())
		}
	}
}
