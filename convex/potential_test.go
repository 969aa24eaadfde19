package convex_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/vec"
	"pgregory.net/rapid"
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
		// Near y the definition loses all its digits; the divergence is ½⟨∇ψ(x)−∇ψ(y), x−y⟩ up to
		// the third order.
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

// TestPotential plays a map that has values and gradients only through every method.
func TestPotential(t *testing.T) {
	m := must(convex.NewMap(quartic{3}, 1, nil))
	theta := []float64{-10, 0.5, 2} // x³ + x = θ at −2, 0.4238537991, 1
	want := []float64{-2, 0.42385379907, 1}
	x := make([]float64, 3)
	m.Inverse(x, theta)
	nearAll(t, "inverse", x, want, 1e-7)
	near(t, "conjugate", m.Conjugate(theta), vec.Dot(theta, want)-quartic{3}.Value(want), 1e-10)
	free := must(convex.Restrict(m, must(convex.NewSpace(3))))
	if gap := free.(convex.Certified).ArgmaxGap(x, theta); gap > 1e-10 {
		t.Errorf("the gap on ℝ³ is %v", gap)
	}
	nearAll(t, "argmax", x, want, 1e-7)
	box := must(convex.Restrict(m, must(convex.NewCube(3, -1, 0.5))))
	box.Argmax(x, theta)
	nearAll(t, "argmax on a cube", x, []float64{-1, 0.42385379907, 0.5}, 1e-7)
	if l, n := box.StrongConvexity(); l != 1 || n != convex.Norm(convex.L2) {
		t.Errorf("strong convexity %v in %s, want 1 in l2", l, n)
	}
	near(t, "min", box.Min(), 0, 1e-20)
	if !m.Interior(x) || m.Interior([]float64{0, math.NaN(), 0}) || m.String() != "quartic(3)" {
		t.Errorf("interior %v, name %s", m.Interior(x), m)
	}
	y := []float64{-1.5, 0.25, 1.5}
	bregman := 0.0
	for i, v := range x {
		w := y[i]
		bregman += (v*v*v*v-w*w*w*w)/4 + (v*v-w*w)/2 - (w*w*w+w)*(v-w)
	}
	near(t, "divergence", m.Divergence(x, y), bregman, 1e-12)
	copy(y, x)
	y[0] += 1e-9 // ½(1 + 3x²)·1e-18
	if b := m.Divergence(x, y); math.Abs(b-2e-18) > 1e-23 {
		t.Errorf("divergence of near points: %v, want 2e-18", b)
	}
}

// foreign stands for a mirror map of another package.
type foreign struct{ convex.MirrorMap }

func TestForeignMaps(t *testing.T) {
	entropy := foreign{must(convex.NewNegativeEntropy(3))}
	simplex := must(convex.NewSimplex(3))
	x, theta := make([]float64, 3), []float64{1, -30, 2}
	want := make([]float64, 3)
	convex.Softmax(want, theta)
	reg := must(convex.Restrict(entropy, simplex))
	gap := reg.(convex.Certified).ArgmaxGap(x, theta)
	if gap > 1e-11 {
		t.Errorf("the gap is %v", gap)
	}
	nearAll(t, "softmax", x, want, 1e-6)
	// The map is strongly convex on the simplex only; its constant on ℝ^d does not matter.
	own := must(convex.NewMap(must(convex.NewNegativeEntropy(3)), 1, convex.L1))
	if l, n := must(convex.Restrict(own, simplex)).StrongConvexity(); l != 1 || n != convex.Norm(convex.L1) {
		t.Errorf("strong convexity %v in %s, want 1 in l1", l, n)
	}
	// The log barrier has no minimum on ℝ³.
	barrier := must(convex.NewMap(must(convex.NewLogBarrier(3)), 1, convex.L1))
	if l, _ := must(convex.Restrict(barrier, simplex)).StrongConvexity(); l != 1 {
		t.Errorf("strong convexity %v, want 1", l)
	}
	// On ℝ^d the map's own inverse is exact.
	quadratic := foreign{must(convex.NewDiagonalQuadratic([]float64{1, 2, 4}))}
	free := must(convex.Restrict(quadratic, must(convex.NewSpace(3))))
	free.Argmax(x, theta)
	nearAll(t, "inverse", x, []float64{1, -15, 0.5}, 0)
	if l, n := free.StrongConvexity(); l != 1 || !strings.HasPrefix(n.String(), "diagonal") {
		t.Errorf("strong convexity %v in %s, want the map's own", l, n)
	}
}
