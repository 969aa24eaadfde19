package convex_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/vec"
)

// mapKinds makes a random map of each kind on ℝ^d; positive maps live on the positive orthant,
// negative ones have a conjugate for θ < 0 only.
var mapKinds = []struct {
	name               string
	positive, negative bool
	make               func(r *rand.Rand, d int) convex.MirrorMap
}{
	{"quadratic", false, false, func(_ *rand.Rand, d int) convex.MirrorMap { return must(convex.NewQuadratic(d)) }},
	{"diagonal", false, false, func(r *rand.Rand, d int) convex.MirrorMap {
		return must(convex.NewDiagonalQuadratic(positives(r, d)))
	}},
	{"matrix", false, false, func(r *rand.Rand, d int) convex.MirrorMap {
		return must(convex.NewMatrixQuadratic(spd(r, d, 3)))
	}},
	{"p-norm", false, false, func(r *rand.Rand, d int) convex.MirrorMap {
		return must(convex.NewPNorm(d, 1.1+0.9*r.Float64()))
	}},
	{"p-norm near l1", false, false, func(_ *rand.Rand, d int) convex.MirrorMap {
		return must(convex.NewPNorm(d, convex.NearL1(d+20)))
	}},
	{"negative entropy", true, false, func(_ *rand.Rand, d int) convex.MirrorMap {
		return must(convex.NewNegativeEntropy(d))
	}},
	{"unnormalized entropy", true, false, func(_ *rand.Rand, d int) convex.MirrorMap {
		return must(convex.NewUnnormalizedEntropy(d))
	}},
	{"tsallis", true, true, func(r *rand.Rand, d int) convex.MirrorMap {
		return must(convex.NewTsallis(d, 0.1+0.8*r.Float64()))
	}},
	{"log barrier", true, true, func(_ *rand.Rand, d int) convex.MirrorMap { return must(convex.NewLogBarrier(d)) }},
}

func forMaps(t *testing.T, check func(t *rapid.T, r *rand.Rand, m convex.MirrorMap, point func() []float64)) {
	for _, kind := range mapKinds {
		t.Run(kind.name, rapid.MakeCheck(func(t *rapid.T) {
			r := source(t)
			d := dim(t)
			m := kind.make(r, d)
			check(t, r, m, func() []float64 {
				if kind.positive {
					return positives(r, d)
				}
				x := normals(r, d, 1)
				for i := range x { // not at the kinks of the p-norms' second derivative
					x[i] += math.Copysign(0.01, x[i])
				}
				return x
			})
		}))
	}
}

func gradient(m convex.MirrorMap, x []float64) []float64 {
	g := make([]float64, len(x))
	m.Gradient(g, x)
	return g
}

func TestInverseOfGradient(t *testing.T) {
	forMaps(t, func(t *rapid.T, _ *rand.Rand, m convex.MirrorMap, point func() []float64) {
		x := point()
		if !m.Interior(x) {
			t.Fatalf("%v is not interior to %s", x, m)
		}
		y := gradient(m, x)
		m.Inverse(y, y) // in place
		if g := vec.Norm2(sub(x, y)); g > 1e-9*vec.Norm2(x) {
			t.Fatalf("%s: (∇ψ)⁻¹(∇ψ(x)) = %v, x = %v", m, y, x)
		}
		in := slices.Clone(x)
		m.Gradient(in, in)
		if !slices.Equal(in, gradient(m, x)) {
			t.Fatalf("%s: the gradient in place differs", m)
		}
	})
}

func TestGradientByDifferences(t *testing.T) {
	forMaps(t, func(t *rapid.T, _ *rand.Rand, m convex.MirrorMap, point func() []float64) {
		x := point()
		g := gradient(m, x)
		for i := range x {
			h := 1e-4 * math.Abs(x[i])
			up, down := slices.Clone(x), slices.Clone(x)
			up[i] += h
			down[i] -= h
			got := (m.Value(up) - m.Value(down)) / (up[i] - down[i])
			if math.Abs(got-g[i]) > 1e-5*(1+math.Abs(g[i])+math.Abs(m.Value(x))/math.Abs(x[i])*1e-3) {
				t.Fatalf("%s: ∂ψ/∂x_%d = %v at %v, by differences %v", m, i, g[i], x, got)
			}
		}
	})
}

func TestFenchelYoung(t *testing.T) {
	forMaps(t, func(t *rapid.T, _ *rand.Rand, m convex.MirrorMap, point func() []float64) {
		x, y := point(), point()
		theta := gradient(m, y)
		scale := 1 + math.Abs(m.Value(x)) + math.Abs(m.Value(y)) + vec.Norm2(theta)*(vec.Norm2(x)+vec.Norm2(y))
		if g := m.Value(y) + m.Conjugate(theta) - vec.Dot(theta, y); math.Abs(g) > 1e-11*scale {
			t.Fatalf("%s: ψ(y) + ψ*(∇ψ(y)) − ⟨∇ψ(y),y⟩ = %v", m, g)
		}
		// For any other x the difference is the divergence.
		g := m.Value(x) + m.Conjugate(theta) - vec.Dot(theta, x)
		if b := m.Divergence(x, y); math.Abs(g-b) > 1e-11*scale {
			t.Fatalf("%s: ψ(x) + ψ*(∇ψ(y)) − ⟨∇ψ(y),x⟩ = %v, B(x;y) = %v", m, g, b)
		}
	})
}

func TestDivergence(t *testing.T) {
	forMaps(t, func(t *rapid.T, r *rand.Rand, m convex.MirrorMap, point func() []float64) {
		x, y, z := point(), point(), point()
		b := m.Divergence(x, y)
		move := sub(x, y)
		direct := m.Value(x) - m.Value(y) - vec.Dot(gradient(m, y), move)
		scale := 1 + math.Abs(m.Value(x)) + math.Abs(m.Value(y)) + vec.Norm2(gradient(m, y))*vec.Norm2(move)
		if math.Abs(b-direct) > 1e-11*scale {
			t.Fatalf("%s: B = %v, by definition %v", m, b, direct)
		}
		if m.Divergence(x, x) != 0 {
			t.Fatalf("%s: B(x;x) = %v", m, m.Divergence(x, x))
		}
		lambda, norm := m.StrongConvexity()
		if d := norm.Of(move); b < lambda/2*d*d*(1-1e-12) || lambda == 0 && b < 0 {
			t.Fatalf("%s: B = %v < λ/2·%v²", m, b, d)
		}
		// Lemma 6.6: B(z;x) + B(x;y) − B(z;y) = ⟨∇ψ(y) − ∇ψ(x), z − x⟩
		left := m.Divergence(z, x) + b - m.Divergence(z, y)
		right := vec.Dot(sub(gradient(m, y), gradient(m, x)), sub(z, x))
		size := 1 + m.Divergence(z, x) + b + m.Divergence(z, y) +
			(vec.Norm2(gradient(m, x))+vec.Norm2(gradient(m, y)))*vec.Norm2(sub(z, x))
		if math.Abs(left-right) > 1e-11*size {
			t.Fatalf("%s: three points: %v, want %v", m, left, right)
		}
		// Near y the definition has no digits left; the divergence is ½⟨∇ψ(x)−∇ψ(y), x−y⟩ up to the
		// third order.
		for i := range x {
			x[i] = y[i] * (1 + 1e-7*r.NormFloat64())
		}
		move = sub(x, y)
		b = m.Divergence(x, y)
		want := 0.5 * vec.Dot(sub(gradient(m, x), gradient(m, y)), move)
		noise := 1e-15 * vec.Norm2(gradient(m, y)) * vec.Norm2(move)
		if math.Abs(b-want) > 1e-5*want+10*noise {
			t.Fatalf("%s: B = %v near y, want %v", m, b, want)
		}
	})
}

// TestKL holds KL to Pinsker's inequality on the simplex, KL ≥ ½‖x−y‖₁², and to known values.
func TestKL(t *testing.T) {
	x, y := []float64{.5, .3, .2}, []float64{.2, .2, .6}
	near(t, "KL(x;y)", convex.KL(x, y), 0.3600624406, 1e-10)
	near(t, "KL(y;x)", convex.KL(y, x), 0.3948162052, 1e-10)
	near(t, "½l1²", 0.5*math.Pow(convex.L1.Of(sub(x, y)), 2), 0.32, 1e-12)
	rapid.Check(t, func(t *rapid.T) {
		r := source(t)
		d := rapid.IntRange(2, 9).Draw(t, "d")
		s := must(convex.NewSimplex(d))
		x, y := member(s, r), member(s, r)
		for i := range y {
			y[i] = (y[i] + 0.01/float64(d)) / 1.01
		}
		if l := convex.L1.Of(sub(x, y)); convex.KL(x, y) < 0.5*l*l*(1-1e-12) {
			t.Fatalf("KL(%v; %v) = %v < ½·%v²", x, y, convex.KL(x, y), l)
		}
	})
	if got := convex.KL([]float64{1, 0}, []float64{0.5, 0.5}); math.Abs(got-math.Ln2) > 1e-15 {
		t.Errorf("0 ln 0 is not 0: %v", got)
	}
	if got := convex.KL([]float64{1, 1}, []float64{1, 0}); !math.IsInf(got, 1) {
		t.Errorf("KL with y_i = 0 < x_i is %v", got)
	}
	if got := convex.KL([]float64{1 + 1e-12}, []float64{1}); math.Abs(got/5e-25-1) > 1e-3 {
		t.Errorf("KL(1+1e-12; 1) = %v, want 5e-25", got)
	}
}

func TestDomains(t *testing.T) {
	for _, m := range []convex.MirrorMap{
		must(convex.NewNegativeEntropy(2)), must(convex.NewUnnormalizedEntropy(2)), must(convex.NewTsallis(2, .5)),
		must(convex.NewLogBarrier(2)),
	} {
		if !math.IsInf(m.Value([]float64{1, -0.1}), 1) || m.Interior([]float64{1, 0}) || !m.Interior([]float64{1, 2}) {
			t.Errorf("%s: wrong domain", m)
		}
		if !math.IsInf(m.Divergence([]float64{1, 1}, []float64{1, 0}), 1) {
			t.Errorf("%s: divergence from the boundary is %v", m, m.Divergence([]float64{1, 1}, []float64{1, 0}))
		}
	}
	for _, m := range []convex.MirrorMap{must(convex.NewTsallis(2, .5)), must(convex.NewLogBarrier(2))} {
		if !math.IsInf(m.Conjugate([]float64{-1, 0.5}), 1) {
			t.Errorf("%s: conjugate of a positive θ is %v", m, m.Conjugate([]float64{-1, 0.5}))
		}
	}
	if !math.IsInf(must(convex.NewLogBarrier(1)).Value([]float64{0}), 1) {
		t.Error("the barrier at 0 is finite")
	}
	near(t, "0 ln 0", must(convex.NewNegativeEntropy(2)).Value([]float64{0, 1}), 0, 0)
}

// TestConjugateOfExp: the conjugate of e^x is θ ln θ − θ for θ > 0, 0 at 0 and +Inf below, here
// against a supremum by search.
func TestConjugateOfExp(t *testing.T) {
	m := must(convex.NewUnnormalizedEntropy(1)) // its value is the conjugate of e^x, as its conjugate is e^θ
	for _, theta := range []float64{0, 0.2, 1, 2.5} {
		best := math.Inf(-1)
		for x := -40.0; x < 5; x += 1e-4 {
			best = max(best, theta*x-math.Exp(x))
		}
		near(t, "conjugate of e^x", m.Value([]float64{theta}), best, 1e-7)
	}
	if !math.IsInf(m.Value([]float64{-1}), 1) {
		t.Error("the conjugate of e^x is finite below 0")
	}
	near(t, "e^1", m.Conjugate([]float64{1}), math.E, 1e-15)
}

// TestConjugateOnBall: on the unit ball the conjugate of ½‖x‖² is ½‖θ‖² up to 1 and ‖θ‖−½ beyond,
// not the minimum of the two, which is -½ at 0.
func TestConjugateOnBall(t *testing.T) {
	reg := must(convex.Restrict(must(convex.NewQuadratic(2)), must(convex.NewCenteredBall(2, 1))))
	near(t, "at 0", reg.Conjugate([]float64{0, 0}), 0, 0)
	near(t, "inside", reg.Conjugate([]float64{0.3, 0.4}), 0.125, 1e-15)
	near(t, "outside", reg.Conjugate([]float64{3, 4}), 4.5, 1e-15)
	reg = must(convex.Restrict(must(convex.NewQuadratic(2)), must(convex.NewCenteredBall(2, 2))))
	near(t, "radius 2", reg.Conjugate([]float64{3, 4}), 2*5-2, 1e-15)
}

// TestDualMaps: the factor of the gradient of ½‖x‖_p² is ‖x‖_p^{2−p}.
func TestDualMaps(t *testing.T) {
	m := must(convex.NewPNorm(2, 1.5))
	y := make([]float64, 2)
	m.Gradient(y, []float64{1, 2})
	nearAll(t, "dualmap_1.5", y, []float64{1.5643723389, 2.2123565783}, 1e-10)
	m.Inverse(y, []float64{1, 2})
	nearAll(t, "dualmap_3", y, []float64{0.4807498568, 1.9229994271}, 1e-10)
	near(t, "‖·‖^{2−p}", math.Sqrt(must(convex.NewLp(1.5)).Of([]float64{1, 2})), 1.5643723389, 1e-10)
	m.Gradient(y, []float64{0, 0})
	nearAll(t, "at 0", y, []float64{0, 0}, 0)
	m.Gradient(y, []float64{1e200, -2e200})
	nearAll(t, "huge", []float64{y[0] / 1e200, y[1] / 1e200}, []float64{1.5643723389, -2.2123565783}, 1e-10)
}

// TestTsallisValues compares values with ones computed independently, and the limit q → 1 with the
// negative entropy.
func TestTsallisValues(t *testing.T) {
	x := []float64{.2, .3, .5}
	for q, want := range map[float64]float64{.5: -1.404085868, .9: -1.091939818, .999: -1.030249843} {
		near(t, "ψ_q", must(convex.NewTsallis(3, q)).Value(x), want, 1e-9)
	}
	near(t, "q → 1", must(convex.NewTsallis(3, 1-1e-12)).Value([]float64{.25, .25, .5}), -1.5*math.Ln2, 1e-9)
	near(t, "Shannon", must(convex.NewNegativeEntropy(3)).Value(x), -1.029653014, 1e-9)
}
