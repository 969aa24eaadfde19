package linalg

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/vec"
)

// definite returns S = FᵀF + I/10 for a random F.
func definite(r *random.Source, n int) []float64 {
	f, s := normals(r, n*n), make([]float64, n*n)
	for i := range n {
		for j := range n {
			for k := range n {
				s[i*n+j] += f[k*n+i] * f[k*n+j]
			}
		}
		s[i*n+i] += 0.1
	}
	return s
}

func normals(r *random.Source, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = r.NormFloat64()
	}
	return x
}

func near(t *testing.T, what string, got, want []float64, tol float64) {
	t.Helper()
	for i, v := range want {
		if !(math.Abs(got[i]-v) <= tol*(1+math.Abs(v))) {
			t.Fatalf("%s: coordinate %d is %v, want %v", what, i, got[i], v)
		}
	}
}

func clone(x []float64) []float64 { return append([]float64(nil), x...) }

// solve is the reference: elimination on the augmented matrix, with a check of the residual.
func solve(t *testing.T, s, b []float64) []float64 {
	t.Helper()
	n := len(b)
	a := make([]float64, 0, n*(n+1))
	for i := range n {
		a = append(append(a, s[i*n:(i+1)*n]...), b[i])
	}
	x, back := make([]float64, n), make([]float64, n)
	if !SolveAugmented(x, a, n, 1e-300) {
		t.Fatal("SolveAugmented found the matrix singular")
	}
	MulSymmetric(back, s, x)
	near(t, "Sx", back, b, 1e-8)
	return x
}

func TestFactorize(t *testing.T) {
	r := random.New(1, "factorize")
	for n := range 14 {
		s, b := definite(r, n), normals(r, n)
		f := clone(s)
		for i := range n { // only the upper triangle is read
			for j := range i {
				f[i*n+j] = math.NaN()
			}
		}
		if !Factorize(f, n) || !ValidFactor(f, n) {
			t.Fatalf("a positive definite matrix of dimension %d has no factor", n)
		}
		for i := range n {
			for j := range n {
				v := 0.0
				for k := range n {
					v += f[k*n+i] * f[k*n+j]
				}
				if math.Abs(v-s[i*n+j]) > 1e-12*float64(n)*(1+math.Abs(s[i*n+j])) || i > j && f[i*n+j] != 0 {
					t.Fatalf("RᵀR[%d][%d] is %v, want %v", i, j, v, s[i*n+j])
				}
			}
		}
		want := solve(t, s, b)
		x := clone(b)
		SolveRT(f, n, x)
		SolveR(f, n, x)
		near(t, "S⁻¹b", x, want, 1e-8)
		y, m := clone(b), clone(s)
		SolveDefinite(m, y, n)
		near(t, "SolveDefinite", y, want, 1e-8)
	}
}

func TestFactorizeRefuses(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		name  string
		a     []float64
		share float64
		want  bool
	}{
		{"identity", []float64{1, 0, 0, 1}, 0, true},
		{"indefinite", []float64{1, 2, 2, 1}, 0, false},
		{"singular", []float64{1, 1, 1, 1}, 0, false},
		{"negative", []float64{-1}, 0, false},
		{"zero", []float64{0}, 0, false},
		{"infinite", []float64{inf, 0, 0, 1}, 0, false},
		{"not a number", []float64{1, nan, nan, 1}, 0, false},
		{"nearly singular", []float64{1, 1, 1, 1 + 1e-12}, 0, true},
		{"nearly singular, with a share", []float64{1, 1, 1, 1 + 1e-12}, 1e-11, false},
		{"away from singular, with a share", []float64{1, 1, 1, 1 + 1e-9}, 1e-11, true},
		{"nearly singular in the middle", []float64{1, 1, 0, 1, 1 + 1e-12, 0, 0, 0, 1}, 1e-11, false},
	} {
		n := int(math.Sqrt(float64(len(c.a))))
		if got := FactorizeAbove(c.a, n, c.share); got != c.want {
			t.Errorf("%s: FactorizeAbove is %v, want %v", c.name, got, c.want)
		}
	}
}

// TestFactorizeBits compares the factor with the row-by-row form of textbooks bit for bit, because
// learners' states depend on the bits.
func TestFactorizeBits(t *testing.T) {
	r := random.New(2, "bits")
	const n = 9
	s := definite(r, n)
	lower, pivots := make([]float64, n*n), make([]float64, n)
	for i := range n {
		for j := range i + 1 {
			v := s[i*n+j]
			for k := range j {
				v -= float64(lower[i*n+k] * lower[j*n+k])
			}
			if i == j {
				lower[i*n+i], pivots[i] = math.Sqrt(v), v
			} else {
				lower[i*n+j] = v / lower[j*n+j]
			}
		}
	}
	if !Factorize(s, n) {
		t.Fatal("no factor")
	}
	for i := range n {
		for j := range i + 1 {
			want := lower[i*n+j]
			if i == j {
				want = pivots[i] / want // √v and v/√v may differ in the last bit
			}
			if s[j*n+i] != want {
				t.Fatalf("R[%d][%d] is %v, want %v", j, i, s[j*n+i], want)
			}
		}
	}
}

func TestCholeskyAdd(t *testing.T) {
	r := random.New(3, "add")
	for _, n := range []int{1, 2, 7} {
		c := NewCholesky(n, 0.5)
		s := make([]float64, n*n)
		for i := range n {
			s[i*n+i] = 0.5
		}
		for range 30 {
			v := normals(r, n)
			v[0] = float64(r.IntN(2)) * v[0] // vectors that begin with a zero take a shortcut
			for i := range n {
				for j := range n {
					s[i*n+j] += v[i] * v[j]
				}
			}
			c.Add(v)
		}
		if !c.Valid(n) || c.Valid(n+1) {
			t.Fatalf("Valid is %v and, for another dimension, %v", c.Valid(n), c.Valid(n+1))
		}
		b := normals(r, n)
		want := solve(t, s, b)
		x := clone(b)
		c.Solve(x)
		near(t, "S⁻¹b", x, want, 1e-9)
		if got, want := c.InverseSquare(clone(b)), vec.Dot(b, want); math.Abs(got-want) > 1e-9*(1+want) {
			t.Errorf("bᵀS⁻¹b is %v, want %v", got, want)
		}
		fresh := NewCholesky(n, 1)
		if !fresh.Factorize(s) || math.Abs(fresh.LogDet()-c.LogDet()) > 1e-9 {
			t.Errorf("ln det S is %v by updates and %v factored anew", c.LogDet(), fresh.LogDet())
		}
	}
}

func TestTridiagonal(t *testing.T) {
	r := random.New(4, "tridiagonal")
	for _, n := range []int{1, 2, 3, 8, 15} {
		s, theta := definite(r, n), normals(r, n)
		tri, work := NewTridiagonal(n), make([]float64, n)
		tri.Factor(s, work)
		x := clone(theta)
		tri.MulQT(x)
		if math.Abs(vec.Norm2(x)-vec.Norm2(theta)) > 1e-12*vec.Norm2(theta) {
			t.Fatalf("Qᵀ changes the norm %v to %v", vec.Norm2(theta), vec.Norm2(x))
		}
		tri.SolveShifted(x, work, 0.25)
		tri.MulQ(x)
		shifted := clone(s)
		for i := range n {
			shifted[i*n+i] += 0.25
		}
		near(t, "(S + νI)⁻¹θ", x, solve(t, shifted, theta), 1e-9)

		free := solve(t, s, theta)
		for _, radius := range []float64{vec.Norm2(free) * 2, vec.Norm2(free) / 3, vec.Norm2(free) / 1e6} {
			x, z, w := clone(theta), make([]float64, n), make([]float64, n)
			tri.MinimizeOnBall(x, radius, z, w, work)
			if norm := vec.Norm2(x); norm > radius*(1+1e-12) {
				t.Fatalf("the minimizer has norm %v, want at most %v", norm, radius)
			}
			MulSymmetric(z, s, x) // θ − Sx = νx with ν ≥ 0, and 0 inside
			vec.Scale(z, -1)
			vec.AddScaled(z, 1, theta)
			nu := vec.Dot(z, x) / vec.Dot(x, x)
			vec.AddScaled(z, -nu, x)
			if inside := vec.Norm2(free) < radius; nu < -1e-9 || inside && nu > 1e-9 ||
				vec.Norm2(z) > 1e-9*vec.Norm2(theta) {
				t.Fatalf("the multiplier is %v and the rest of the gradient %v", nu, z)
			}
		}
	}
}

func TestSolveAugmentedRefuses(t *testing.T) {
	dst := []float64{7, 7}
	for _, a := range [][]float64{{1, 2, 3, 2, 4, 5}, {0, 0, 1, 0, 1, 1}, {math.NaN(), 1, 1, 1, 1, 1}} {
		if SolveAugmented(dst, a, 2, 1e-14) || dst[0] != 7 {
			t.Errorf("a singular system has the solution %v", dst)
		}
	}
	a := []float64{0, 2, 6, 3, 0, 12} // needs the pivot of the second row
	if !SolveAugmented(dst, a, 2, 1e-14) || dst[0] != 4 || dst[1] != 3 {
		t.Errorf("the solution is %v, want 4 and 3", dst)
	}
}

func TestNullVector(t *testing.T) {
	r := random.New(5, "null")
	for range 200 {
		rows, cols := 1+r.IntN(6), 1+r.IntN(7)
		a := normals(r, rows*cols)
		if rows > 1 && r.IntN(3) == 0 { // dependent rows
			copy(a[cols:2*cols], a[:cols])
		}
		rank := min(rows, cols)
		if rows > 1 && a[0] == a[cols] {
			rank = min(rows-1, cols)
		}
		was := clone(a)
		z, order := make([]float64, cols), make([]int, cols)
		if got := NullVector(z, a, rows, cols, order, 1e-13); got != (rank < cols) {
			t.Fatalf("%d×%d of rank %d: NullVector is %v", rows, cols, rank, got)
		} else if !got {
			if !vec.IsZero(z) {
				t.Fatalf("the vector is %v, want 0", z)
			}
			continue
		}
		if vec.IsZero(z) {
			t.Fatal("the vector is 0")
		}
		for i := range rows {
			if v := vec.Dot(was[i*cols:(i+1)*cols], z); math.Abs(v) > 1e-9*vec.Norm2(z) {
				t.Fatalf("Az[%d] is %v for z = %v, want 0", i, v, z)
			}
		}
	}
}

// TestAllocations guards the hot paths of second-order learners.
func TestAllocations(t *testing.T) {
	const n = 8
	r := random.New(6, "allocations")
	s, theta := definite(r, n), normals(r, n)
	c, tri := NewCholesky(n, 1), NewTridiagonal(n)
	x, z, w, p := clone(theta), make([]float64, n), make([]float64, n), make([]float64, n)
	if got := testing.AllocsPerRun(10, func() {
		copy(x, theta)
		c.Add(x)
		copy(x, theta)
		c.Solve(x)
		_ = c.Factorize(s)
		tri.Factor(s, w)
		copy(x, theta)
		tri.MinimizeOnBall(x, 0.1, z, w, p)
	}); got != 0 {
		t.Errorf("%v allocations, want 0", got)
	}
}
