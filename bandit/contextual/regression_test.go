package contextual

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/linalg"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/internal/testsize"
)

func normals(r *random.Source, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = stat.Normal(r)
	}
	return x
}

// direct is the same regression by its definition.
type direct struct {
	a, b, u []float64 // A, Σwyx, Σwx
	yy, yu  float64
	uu      float64
}

func newDirect(dim int, lambda float64) *direct {
	d := &direct{a: make([]float64, dim*dim), b: make([]float64, dim), u: make([]float64, dim)}
	for i := range dim {
		d.a[i*dim+i] = lambda
	}
	return d
}

func (d *direct) observe(x []float64, y, w float64) {
	for i := range x {
		for j := range x {
			d.a[i*len(x)+j] += w * x[i] * x[j]
		}
		d.b[i] += w * y * x[i]
		d.u[i] += w * x[i]
	}
	d.yy += w * y * y
	d.yu += w * y
	d.uu += w
}

// solve returns A⁻¹v.
func (d *direct) solve(v []float64) []float64 {
	out := append([]float64(nil), v...)
	linalg.SolveDefinite(append([]float64(nil), d.a...), out, len(v))
	return out
}

func inner(x, y []float64) float64 {
	s := 0.0
	for i := range x {
		s += x[i] * y[i]
	}
	return s
}

func near(a, b, tolerance float64) bool {
	return math.Abs(a-b) <= tolerance*(1+math.Abs(a)+math.Abs(b))
}

func TestRegression(t *testing.T) {
	r := random.New(1, "regression")
	for range testsize.Of(200, 50) {
		dim, lambda := 1+r.IntN(9), math.Exp(3*stat.Normal(r))
		g, want, w := newRegression(dim, lambda), newDirect(dim, lambda), newWorkspace(dim)
		for range r.IntN(60) {
			x := normals(r, dim)
			for i := range x {
				if r.Float64() < 0.3 {
					x[i] = 0
				}
			}
			y, weight := stat.Normal(r), math.Exp(stat.Normal(r))
			g.observe(w, x, y, weight)
			want.observe(x, y, weight)
		}
		theta, unit := want.solve(want.b), want.solve(want.u)
		for i := range theta {
			if !near(g.Mean[i], theta[i], 1e-9) || !near(g.Unit[i], unit[i], 1e-9) {
				t.Fatalf("θ = %v and %v, want %v and %v", g.Mean, g.Unit, theta, unit)
			}
		}
		x := normals(r, dim)
		if got, want := g.width(w, x), math.Sqrt(inner(x, want.solve(x))); !near(got, want, 1e-9) {
			t.Fatalf("width %v, want %v", got, want)
		}
		for _, c := range [][2]float64{
			{g.YY, want.yy - inner(want.b, theta)},
			{g.YU, want.yu - inner(want.b, unit)},
			{g.UU, want.uu - inner(want.u, unit)},
			{g.Sum, want.yu},
			{g.Weight, want.uu},
		} {
			if !near(c[0], c[1], 1e-9) {
				t.Fatalf("sum %v, want %v", c[0], c[1])
			}
		}
		if !g.valid(dim) || g.valid(dim+1) {
			t.Fatal("valid is wrong")
		}
	}
}

// TestRegressionDrift compares with one factorization after many updates of badly scaled vectors:
// rounding errors must not accumulate.
func TestRegressionDrift(t *testing.T) {
	r, dim := random.New(2, "drift"), 6
	g, want, w := newRegression(dim, 1), newDirect(dim, 1), newWorkspace(dim)
	theta := normals(r, dim)
	for range testsize.Of(300_000, 30_000) {
		x := normals(r, dim)
		x[0], x[1] = 1, x[1]*1000
		x[2] = x[3] + 0.01*x[2] // nearly collinear
		y := inner(x, theta) + stat.Normal(r)
		g.observe(w, x, y, 1)
		want.observe(x, y, 1)
	}
	for i, v := range want.solve(want.b) {
		if math.Abs(g.Mean[i]-v) > 1e-8*math.Abs(v) {
			t.Errorf("θ[%d] = %v, want %v", i, g.Mean[i], v)
		}
	}
	for i := range dim {
		e := make([]float64, dim)
		e[i] = 1
		got, want := g.width(w, e), math.Sqrt(want.solve(e)[i])
		if math.Abs(got-want) > 1e-8*want {
			t.Errorf("width of coordinate %d: %v, want %v", i, got, want)
		}
	}
}
