package convex_test

import (
	"math"
	"math/rand/v2"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/internal/vec"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

func init() { testsize.Rapid(30) }

// must returns the value of a constructor that is not expected to fail.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// reporter is what testing.T and rapid.T share here.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
}

func near(t reporter, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol*math.Max(1, math.Abs(want))) && got != want {
		t.Errorf("%s = %.12g, want %.12g", what, got, want)
	}
}

func nearAll(t reporter, what string, got, want []float64, tol float64) {
	t.Helper()
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= tol*math.Max(1, math.Abs(want[i]))) {
			t.Errorf("%s = %.12g, want %.12g", what, got, want)
			return
		}
	}
}

// source draws a seed and returns a generator for it, so that vectors are cheap and a failure can
// be replayed.
func source(t *rapid.T) *rand.Rand {
	return rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 7))
}

func normals(r *rand.Rand, d int, scale float64) []float64 {
	x := make([]float64, d)
	for i := range x {
		x[i] = scale * r.NormFloat64()
	}
	return x
}

// awkward is a vector with a random scale, ties, zeros and now and then a single huge or tiny
// coordinate.
func awkward(r *rand.Rand, d int) []float64 {
	x := normals(r, d, math.Pow(10, float64(r.IntN(9)-4)))
	for i := range x {
		switch r.IntN(8) {
		case 0:
			x[i] = 0
		case 1:
			x[i] = x[0]
		case 2:
			x[i] = math.Round(x[i])
		}
	}
	if r.IntN(4) == 0 {
		x[r.IntN(d)] *= 1e6
	}
	return x
}

func positives(r *rand.Rand, d int) []float64 {
	x := make([]float64, d)
	for i := range x {
		x[i] = math.Exp(r.NormFloat64())
	}
	return x
}

func spd(r *rand.Rand, d int, logCondition float64) *mat.SymDense {
	s := mat.NewSymDense(d, nil)
	for i := range d {
		s.SetSym(i, i, math.Exp(-logCondition*r.Float64()))
	}
	for range d {
		g := normals(r, d, 1)
		s.SymRankOne(s, math.Exp(-logCondition*r.Float64()), mat.NewVecDense(d, g))
	}
	return s
}

func rowMajor(s *mat.SymDense) []float64 {
	d := s.SymmetricDim()
	out := make([]float64, d*d)
	for i := range d {
		for j := range d {
			out[i*d+j] = s.At(i, j)
		}
	}
	return out
}

// setKinds makes a random set of each kind in ℝ^d.
var setKinds = []struct {
	name string
	make func(r *rand.Rand, d int) convex.Set
}{
	{"space", func(_ *rand.Rand, d int) convex.Set { return must(convex.NewSpace(d)) }},
	{"ball", func(r *rand.Rand, d int) convex.Set {
		return must(convex.NewCenteredBall(d, math.Exp(r.NormFloat64())))
	}},
	{"ball off center", func(r *rand.Rand, d int) convex.Set {
		return must(convex.NewBall(awkward(r, d), math.Exp(3*r.NormFloat64())))
	}},
	{"l1 ball", func(r *rand.Rand, d int) convex.Set { return must(convex.NewL1Ball(d, math.Exp(r.NormFloat64()))) }},
	{"l1 ball off center", func(r *rand.Rand, d int) convex.Set {
		return must(convex.NewLpBall(normals(r, d, 2), 1, 0.5))
	}},
	{"linf ball", func(r *rand.Rand, d int) convex.Set {
		return must(convex.NewLpBall(normals(r, d, 2), math.Inf(1), math.Exp(r.NormFloat64())))
	}},
	{"lp ball, p < 2", func(r *rand.Rand, d int) convex.Set {
		return must(convex.NewLpBall(normals(r, d, 1), 1.05+0.9*r.Float64(), math.Exp(r.NormFloat64())))
	}},
	{"lp ball, p > 2", func(r *rand.Rand, d int) convex.Set {
		return must(convex.NewCenteredLpBall(d, 2.05+8*r.Float64(), math.Exp(r.NormFloat64())))
	}},
	{"box", func(r *rand.Rand, d int) convex.Set {
		a, b := normals(r, d, 1), normals(r, d, 1)
		for i := range a {
			a[i], b[i] = min(a[i], b[i]), max(a[i], b[i])
			if r.IntN(6) == 0 {
				b[i] = a[i]
			}
		}
		return must(convex.NewBox(a, b))
	}},
	{"box with infinite sides", func(r *rand.Rand, d int) convex.Set {
		a, b := normals(r, d, 1), normals(r, d, 1)
		for i := range a {
			a[i], b[i] = min(a[i], b[i]), max(a[i], b[i])
			if r.IntN(2) == 0 {
				a[i] = math.Inf(-1)
			}
			if r.IntN(2) == 0 {
				b[i] = math.Inf(1)
			}
		}
		return must(convex.NewBox(a, b))
	}},
	{"open box", func(_ *rand.Rand, d int) convex.Set {
		b := must(convex.NewCube(d, 0, 1))
		lower, upper := b.Sides()
		return must(convex.NewOpenBox(lower, upper))
	}},
	{"orthant", func(_ *rand.Rand, d int) convex.Set { return must(convex.NewOrthant(d)) }},
	{"simplex", func(_ *rand.Rand, d int) convex.Set { return must(convex.NewSimplex(d)) }},
	{"scaled simplex", func(r *rand.Rand, d int) convex.Set {
		return must(convex.NewScaled(must(convex.NewSimplex(d)), math.Exp(3*r.NormFloat64())))
	}},
	{"capped simplex", func(r *rand.Rand, d int) convex.Set {
		return must(convex.NewCappedSimplex(d, (1+3*r.Float64())/float64(d), 1))
	}},
	{"bounded simplex", func(r *rand.Rand, d int) convex.Set {
		a, b := normals(r, d, 1), normals(r, d, 1)
		least, most := 0.0, 0.0
		for i := range a {
			a[i], b[i] = min(a[i], b[i]), max(a[i], b[i])
			least, most = least+a[i], most+b[i]
		}
		f := r.Float64()
		return must(convex.NewBoundedSimplex(a, b, least+f*(most-least)))
	}},
	{"shifted simplex", func(r *rand.Rand, d int) convex.Set {
		return must(convex.NewShifted(must(convex.NewSimplex(d)), normals(r, d, 1)))
	}},
	{"halfspace", func(r *rand.Rand, d int) convex.Set {
		return must(convex.NewHalfspace(normals(r, d, 1), r.NormFloat64()))
	}},
	{"affine", func(r *rand.Rand, d int) convex.Set {
		k := 1 + r.IntN(d)
		return must(convex.NewAffine(mat.NewDense(k, d, normals(r, k*d, 1)), normals(r, k, 1)))
	}},
	{"product", func(r *rand.Rand, d int) convex.Set {
		if d == 1 {
			return must(convex.NewProduct(must(convex.NewCube(1, -1, 2))))
		}
		return must(convex.NewProduct(
			must(convex.NewCenteredBall(1, 2)), must(convex.NewScaledSimplex(d-1, 1+r.Float64()))))
	}},
	{"moved product", func(r *rand.Rand, d int) convex.Set {
		p := must(convex.NewProduct(must(convex.NewOrthant(1)), must(convex.NewL1Ball(d, 1))))
		s := must(convex.NewScaled(p, 0.5+r.Float64()))
		return must(convex.NewShifted(s, normals(r, d+1, 1)))
	}},
}

// member is a random point of the set.
func member(s convex.Set, r *rand.Rand) []float64 {
	x := awkward(r, s.Dim())
	if r.IntN(2) == 0 {
		x = normals(r, s.Dim(), 1)
	}
	s.Project(x, x)
	return x
}

func sub(x, y []float64) []float64 {
	out := make([]float64, len(x))
	for i := range x {
		out[i] = x[i] - y[i]
	}
	return out
}

func dim(t *rapid.T) int { return rapid.IntRange(1, 12).Draw(t, "d") }

// plain hides the type of a set, as a set of another package would be.
type plain struct{ convex.Set }

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 11)) }

// farther returns a θ up to 1e9: all of one size, of many sizes, or in clusters that are far apart
// but narrow within.
func farther(r *rand.Rand, d int) []float64 {
	theta := normals(r, d, 1)
	switch size := math.Pow(10, 9*r.Float64()); r.IntN(3) {
	case 0:
		vec.Scale(theta, size)
	case 1:
		for i := range theta {
			theta[i] *= math.Pow(10, 9*r.Float64())
		}
	default:
		for i := range theta {
			theta[i] += float64(size * float64(r.IntN(3)-1))
		}
	}
	for i := range theta {
		theta[i] = max(-1e9, min(theta[i], 1e9))
	}
	return theta
}

func refuse[T any](_ T, err error) error { return err }
