package convex_test

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/vec"
)

// For every set: the certificate holds, nothing is better, and the specialised solvers agree with
// the general one.
func TestMahalanobis(t *testing.T) {
	for _, kind := range setKinds {
		t.Run(kind.name, rapid.MakeCheck(func(t *rapid.T) {
			r := source(t)
			set := kind.make(r, rapid.IntRange(1, 10).Draw(t, "d"))
			d := set.Dim()
			if kind.name == "moved product" {
				set = must(convex.NewProduct(must(convex.NewCenteredBall(1, 1)), must(convex.NewL1Ball(d-1, 2))))
			}
			w := must(convex.NewMahalanobis(d))
			s := rowMajor(spd(r, d, []float64{1, 3, 8}[r.IntN(3)]))
			c := normals(r, d, math.Pow(10, float64(r.IntN(3)-1)))
			x := make([]float64, d)
			const tol = 1e-9
			gap, err := w.Project(x, s, c, set, tol)
			if err != nil {
				t.Fatalf("%s: %v (gap %v)", set, err, gap)
			}
			if !set.Contains(x, 1e-14) {
				t.Fatalf("%s: %v is not a member", set, x)
			}
			objective := func(y []float64) float64 {
				z := sub(y, c)
				sum := 0.0
				for i := range z {
					sum += z[i] * vec.Dot(s[i*d:(i+1)*d], z)
				}
				return sum / 2
			}
			at := objective(x)
			scale := objective(make([]float64, d)) + at
			for range 8 {
				y := member(set, r)
				for _, f := range []float64{1, 0.1, 1e-3} {
					for i := range y {
						y[i] = x[i] + f*(y[i]-x[i])
					}
					if v := objective(y); v < at-gap-1e-12*(scale+v) {
						t.Fatalf("%s: objective %v, but %v at %v; gap %v", set, at, v, y, gap)
					}
				}
			}
			in := slices.Clone(c)
			if _, err := w.Project(in, s, in, set, tol); err != nil || !slices.Equal(in, x) {
				t.Fatalf("%s: in place %v (%v), otherwise %v", set, in, err, x)
			}
			if !math.IsInf(set.Diameter(), 1) && r.IntN(4) == 0 {
				other := make([]float64, d)
				gap2, err := w.Project(other, s, c, plain{set}, 1e-7)
				if noregret.CodeOf(err) != "" && noregret.CodeOf(err) != noregret.Diverged {
					t.Fatal(err)
				}
				if math.Abs(objective(other)-at) > gap+gap2+1e-12*scale {
					t.Fatalf("%s: objective %v, by the general method %v with gap %v", set, at, objective(other), gap2)
				}
			}
		}))
	}
}

// With S = I it is the Euclidean projection; a diagonal S is the diagonal quadratic.
func TestMahalanobisSpecialCases(t *testing.T) {
	for _, kind := range setKinds {
		t.Run(kind.name, rapid.MakeCheck(func(t *rapid.T) {
			r := source(t)
			set := kind.make(r, rapid.IntRange(1, 6).Draw(t, "d"))
			d := set.Dim()
			if kind.name == "moved product" {
				return // unbounded, and without a direct solver
			}
			s := make([]float64, d*d)
			for i := range d {
				s[i*d+i] = 2
			}
			c := normals(r, d, 2)
			x, want := make([]float64, d), make([]float64, d)
			if _, err := must(convex.NewMahalanobis(d)).Project(x, s, c, set, 1e-10); err != nil {
				t.Fatal(err)
			}
			set.Project(want, c)
			if g := vec.Norm2(sub(x, want)); g > 3e-5*(1+vec.Norm2(want)) {
				t.Fatalf("%s: %v, want %v", set, x, want)
			}
		}))
	}
}

// TestOnlineNewtonStep plays four rounds of the online Newton step with λ = 1, μ = ½, on ℝ³ and on
// the ball of radius ¼, and compares with values computed independently.
func TestOnlineNewtonStep(t *testing.T) {
	g4 := [][]float64{{1, -.5, .25}, {-.75, 1, .5}, {.5, .5, -1}, {-.25, -1, .75}}
	for _, tc := range []struct {
		set  convex.Set
		x5   []float64
		loss float64
	}{
		{must(convex.NewSpace(3)), []float64{-.4717938019, -.1037515450, -.2103070778}, 1.6154562223},
		{must(convex.NewCenteredBall(3, .25)), []float64{-.2006065915, -.0324178736, -.1456230645}, .5928392924},
	} {
		w := must(convex.NewMahalanobis(3))
		s := []float64{1, 0, 0, 0, 1, 0, 0, 0, 1}
		b, x := make([]float64, 3), make([]float64, 3)
		loss := 0.0
		for _, g := range g4 {
			loss += vec.Dot(g, x)
			f := 0.5*vec.Dot(g, x) - 1
			for i := range g {
				b[i] += f * g[i]
				for j := range g {
					s[i*3+j] += 0.5 * g[i] * g[j]
				}
			}
			if _, err := w.Argmax(x, s, b, tc.set, 1e-13); err != nil {
				t.Fatal(err)
			}
		}
		nearAll(t, "x_5", x, tc.x5, 1e-9)
		near(t, "loss", loss, tc.loss, 1e-9)
	}
}

func TestMahalanobisRefuses(t *testing.T) {
	w := must(convex.NewMahalanobis(2))
	eye := []float64{1, 0, 0, 1}
	box := must(convex.NewCube(2, 0, 1))
	for name, call := range map[string]func() error{
		"short vector": func() error {
			_, err := w.Project(make([]float64, 2), eye, []float64{1}, box, 1e-9)
			return err
		},
		"short matrix": func() error {
			_, err := w.Project(make([]float64, 2), eye[:3], []float64{1, 1}, box, 1e-9)
			return err
		},
		"other dimension": func() error {
			_, err := w.Project(make([]float64, 2), eye, []float64{1, 1}, must(convex.NewSpace(3)), 1)
			return err
		},
		"no set": func() error { _, err := w.Project(make([]float64, 2), eye, []float64{1, 1}, nil, 1); return err },
		"NaN": func() error {
			_, err := w.Project(make([]float64, 2), eye, []float64{1, math.NaN()}, box, 1e-9)
			return err
		},
		"NaN in the matrix": func() error {
			_, err := w.Argmax(make([]float64, 2), []float64{1, 0, 0, math.NaN()}, []float64{1, 1}, box, 1e-9)
			return err
		},
		"indefinite": func() error {
			_, err := w.Argmax(make([]float64, 2), []float64{1, 2, 2, 1}, []float64{1, 1}, box, 1e-9)
			return err
		},
		"unbounded, foreign": func() error {
			_, err := w.Argmax(make([]float64, 2), []float64{1, 0, 0, 2}, []float64{3, 3},
				plain{must(convex.NewHalfspace([]float64{1, 1}, 1))}, 1e-9)
			return err
		},
	} {
		if err := call(); noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The reduction to tridiagonal form against a dense matrix of a larger dimension.
	d := 40
	r := newRand(3)
	s := spd(r, d, 6)
	c := normals(r, d, 3)
	x := make([]float64, d)
	gap, err := must(convex.NewMahalanobis(d)).Project(x, rowMajor(s), c, must(convex.NewBall(normals(r, d, 1), 0.7)),
		1e-11)
	if err != nil {
		t.Errorf("gap %v: %v", gap, err)
	}
	var inverse mat.VecDense
	if err := inverse.SolveVec(s, mat.NewVecDense(d, slices.Clone(c))); err != nil {
		t.Fatal(err)
	}
	must(convex.NewMatrixQuadratic(s)).Inverse(x, c)
	nearAll(t, "S⁻¹c", x, inverse.RawVector().Data, 1e-8)
}

// TestMahalanobisTinyOffDiagonal reduces a matrix whose off-diagonal entries are too small to be
// inverted.
func TestMahalanobisTinyOffDiagonal(t *testing.T) {
	m, err := convex.NewMahalanobis(3)
	if err != nil {
		t.Fatal(err)
	}
	ball, err := convex.NewCenteredBall(3, 0.3)
	if err != nil {
		t.Fatal(err)
	}
	const tiny = 5e-324
	s := []float64{2, 3 * tiny, 4 * tiny, 3 * tiny, 2, 0, 4 * tiny, 0, 2}
	x := make([]float64, 3)
	gap, err := m.Argmax(x, s, []float64{0, 3, 4}, ball, 1e-10)
	if err != nil || !(gap <= 1e-10) || math.Abs(x[1]-0.18) > 1e-12 || math.Abs(x[2]-0.24) > 1e-12 {
		t.Errorf("%v, gap %v, %v: want [0 0.18 0.24]", x, gap, err)
	}
}

// TestMahalanobisProducts projects on products with unbounded factors: the certified gap is within
// the tolerance, and no nearby point is better.
func TestMahalanobisProducts(t *testing.T) {
	r := random.New(1, "products")
	whole, _ := convex.NewSpace(2)
	ball, _ := convex.NewCenteredBall(3, 0.5)
	half, _ := convex.NewHalfspace([]float64{1, 2}, -1)
	box, _ := convex.NewBox([]float64{0, math.Inf(-1)}, []float64{1, 0})
	for _, sets := range [][]convex.Set{{whole, ball}, {ball, half}, {box, ball, whole}, {half, box}} {
		set, err := convex.NewProduct(sets...)
		if err != nil {
			t.Fatal(err)
		}
		d := set.Dim()
		m, err := convex.NewMahalanobis(d)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			s, c, x := make([]float64, d*d), make([]float64, d), make([]float64, d)
			for i := range d {
				s[i*d+i] = 1
				c[i] = 3 * r.NormFloat64()
			}
			for range d {
				v := make([]float64, d)
				for i := range v {
					v[i] = r.NormFloat64()
				}
				for i := range d {
					for j := range d {
						s[i*d+j] += v[i] * v[j]
					}
				}
			}
			gap, err := m.Project(x, s, c, set, 1e-8)
			if err != nil {
				t.Fatalf("%v: gap %v: %v", set, gap, err)
			}
			if !set.Contains(x, 1e-12) {
				t.Fatalf("%v: %v is outside", set, x)
			}
			value := func(x []float64) (v float64) {
				for i := range d {
					for j := range d {
						v += (x[i] - c[i]) * s[i*d+j] * (x[j] - c[j]) / 2
					}
				}
				return v
			}
			best := value(x)
			for k := range 50 {
				y := make([]float64, d)
				for i := range y {
					y[i] = x[i] + r.NormFloat64()*math.Pow(10, -float64(k%5))
				}
				set.Project(y, y)
				if v := value(y); v < best-gap-1e-9*best {
					t.Fatalf("%v: %v at %v is below %v, certified to %v", set, v, y, best, gap)
				}
			}
		}
	}
}
