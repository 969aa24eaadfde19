package convex_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/internal/vec"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

// TestRegularizersFar takes θ to 1e9 for every pair: the argmax stays a member of the set, and no
// other member is better by more than rounding.
func TestRegularizersFar(t *testing.T) {
	for _, kind := range pairKinds() {
		t.Run(kind.name, rapid.MakeCheck(func(t *rapid.T) {
			r := source(t)
			if testsize.Of(0, r.IntN(2)) != 0 {
				return // a part of the draws is enough under the race detector
			}
			m, s := kind.make(r, rapid.IntRange(1, 8).Draw(t, "d"))
			reg, err := convex.Restrict(m, s)
			if err != nil {
				t.Fatal(err)
			}
			theta := farther(r, s.Dim())
			if strings.Contains(kind.name, "entropy on space") || strings.Contains(kind.name, "entropy on orthant") {
				for i, v := range theta { // the maximizer e^θ is beyond float64 for θ > 709
					theta[i] = min(v, 700)
				}
			}
			x := make([]float64, s.Dim())
			reg.Argmax(x, theta)
			if !s.Contains(x, 1e-14) {
				t.Fatalf("%s: the argmax %v of %v is not a member", reg, x, theta)
			}
			for k := range 8 {
				v := member(s, r)
				switch k {
				case 0: // the best member if ψ is negligible
					c := make([]float64, len(theta))
					vec.AddScaled(c, -1, theta)
					if _, err := s.Minimize(v, c); err != nil {
						continue
					}
				case 1:
					s.Project(v, theta)
				}
				if f := r.Float64(); k > 3 {
					for i := range v {
						v[i] = x[i] + f*(v[i]-x[i])
					}
				}
				if math.IsInf(m.Value(v), 1) {
					continue
				}
				gain, size := 0.0, 1+math.Abs(m.Value(x))+math.Abs(m.Value(v))
				for i, c := range theta {
					gain += c * (v[i] - x[i])
					size += math.Abs(c) * (math.Abs(v[i]) + math.Abs(x[i]))
				}
				if gain -= m.Value(v) - m.Value(x); gain > 1e-11*size {
					t.Fatalf("%s: the member %v is better by %v than the argmax %v of %v", reg, v, gain, x, theta)
				}
			}
		}))
	}
}

// TestArgmaxByHand compares iterates of Hedge, of the p-norm algorithm and of lazily projected
// gradient descent that are one argmax with values computed independently.
func TestArgmaxByHand(t *testing.T) {
	simplex := must(convex.Restrict(must(convex.NewNegativeEntropy(3)), must(convex.NewSimplex(3))))
	pnorm := must(convex.Restrict(must(convex.NewPNorm(3, 1.5)), must(convex.NewSpace(3))))
	nearL1 := must(convex.Restrict(must(convex.NewPNorm(3, convex.NearL1(3))), must(convex.NewSpace(3))))
	ball := must(convex.Restrict(must(convex.NewQuadratic(3)), must(convex.NewCenteredBall(3, .5))))
	for _, tc := range []struct {
		name  string
		reg   convex.Regularizer
		theta []float64
		want  []float64
	}{
		{"Hedge x_2", simplex, []float64{-.5, .25, -.125}, []float64{.2187230696, .4630367420, .3182401884}},
		{"Hedge x_5", simplex, []float64{-.25, 0, -.25}, []float64{.3045043424, .3909913152, .3045043424}},
		{"p-norm x_2", pnorm, []float64{-.25, .125, -.0625}, []float64{-.2392722756, .0598180689, -.0149545172}},
		{"p-norm x_5", pnorm, []float64{-.125, 0, -.125}, []float64{-.0992125657, 0, -.0992125657}},
		{"p-norm with q = 2 ln 3", nearL1, []float64{-.125, 0, -.125}, []float64{-.1174598191, 0, -.1174598191}},
		{"lazy projection x_5", ball, []float64{-.5, 0, -.5}, []float64{-.3535533906, 0, -.3535533906}},
	} {
		x := make([]float64, 3)
		tc.reg.Argmax(x, tc.theta)
		nearAll(t, tc.name, x, tc.want, 1e-9)
	}
}

func positiveBox(r *rand.Rand, d int) convex.Set {
	a, b := make([]float64, d), make([]float64, d)
	for i := range a {
		a[i] = max(0, 0.3*r.NormFloat64())
		b[i] = a[i] + math.Exp(r.NormFloat64())
	}
	return must(convex.NewBox(a, b))
}

func scaledSimplex(r *rand.Rand, d int) convex.Set {
	return must(convex.NewScaledSimplex(d, math.Exp(r.NormFloat64())))
}

func cappedSimplex(r *rand.Rand, d int) convex.Set {
	return must(convex.NewCappedSimplex(d, (1.1+3*r.Float64())/float64(d), 1))
}

// floored has lower bounds above 0 and caps.
func floored(r *rand.Rand, d int) convex.Set {
	lower, upper := positives(r, d), make([]float64, d)
	least, most := 0.0, 0.0
	for i := range lower {
		upper[i] = lower[i] + math.Exp(r.NormFloat64())
		least, most = least+lower[i], most+upper[i]
	}
	return must(convex.NewBoundedSimplex(lower, upper, least+(0.1+0.8*r.Float64())*(most-least)))
}

func simplices(r *rand.Rand, d int) convex.Set {
	if d <= 1 {
		return must(convex.NewProduct(must(convex.NewSimplex(1))))
	}
	return must(convex.NewProduct(must(convex.NewScaledSimplex(2, 2)), scaledSimplex(r, max(d, 2))))
}

func boxAndSimplex(r *rand.Rand, d int) convex.Set {
	if d == 1 {
		return must(convex.NewProduct(positiveBox(r, 1)))
	}
	return must(convex.NewProduct(positiveBox(r, 1), scaledSimplex(r, d-1)))
}

type pairKind struct {
	name string
	make func(r *rand.Rand, d int) (convex.MirrorMap, convex.Set)
}

func pairKinds() []pairKind {
	var out []pairKind
	add := func(mapName, setName string, m func(*rand.Rand, int) convex.MirrorMap, s func(*rand.Rand, int) convex.Set) {
		out = append(out, pairKind{
			mapName + " on " + setName,
			func(r *rand.Rand, d int) (convex.MirrorMap, convex.Set) {
				set := s(r, d)
				return m(r, set.Dim()), set
			},
		})
	}
	for _, kind := range setKinds {
		add("quadratic", kind.name, func(_ *rand.Rand, d int) convex.MirrorMap {
			return must(convex.NewQuadratic(d))
		}, kind.make)
		if !strings.Contains(kind.name, "product") {
			add("matrix", kind.name, func(r *rand.Rand, d int) convex.MirrorMap {
				return must(convex.NewMatrixQuadratic(spd(r, d, 4)))
			}, kind.make)
		}
		if !strings.Contains(kind.name, "l") && kind.name != "affine" || strings.HasPrefix(kind.name, "ball") ||
			strings.Contains(kind.name, "simplex") || kind.name == "halfspace" {
			add("diagonal", kind.name, func(r *rand.Rand, d int) convex.MirrorMap {
				return must(convex.NewDiagonalQuadratic(positives(r, d)))
			},
				func(r *rand.Rand, d int) convex.Set {
					if strings.Contains(kind.name, "product") {
						return simplices(r, d)
					}
					return kind.make(r, d)
				})
		}
	}
	positive := map[string]func(*rand.Rand, int) convex.Set{
		"simplex": scaledSimplex, "box": positiveBox, "simplices": simplices, "box and simplex": boxAndSimplex,
	}
	entropies := map[string]func(*rand.Rand, int) convex.Set{
		"capped simplex": cappedSimplex, "floored simplex": floored,
		"space":   func(_ *rand.Rand, d int) convex.Set { return must(convex.NewSpace(d)) },
		"orthant": func(_ *rand.Rand, d int) convex.Set { return must(convex.NewOrthant(d)) },
	}
	for _, m := range mapKinds {
		if !m.positive {
			continue
		}
		for name, s := range positive {
			add(m.name, name, m.make, s)
		}
		if !m.negative {
			for name, s := range entropies {
				add(m.name, name, m.make, s)
			}
		}
	}
	add("diagonal", "ball and box", func(r *rand.Rand, d int) convex.MirrorMap {
		return must(convex.NewDiagonalQuadratic(positives(r, d)))
	}, func(r *rand.Rand, d int) convex.Set {
		return must(convex.NewProduct(must(convex.NewCenteredBall(d, math.Exp(r.NormFloat64()))), positiveBox(r, 2)))
	})
	add("p-norm", "space", mapKinds[3].make, func(_ *rand.Rand, d int) convex.Set { return must(convex.NewSpace(d)) })
	out = append(out, pairKind{"p-norm on its ball", func(r *rand.Rand, d int) (convex.MirrorMap, convex.Set) {
		p := 1.1 + 0.9*r.Float64()
		return must(convex.NewPNorm(d, p)), must(convex.NewCenteredLpBall(d, p, math.Exp(r.NormFloat64())))
	}})
	slices.SortFunc(out, func(a, b pairKind) int { return strings.Compare(a.name, b.name) })
	return out
}

// TestRegularizers checks for every pair that the argmax is a member and no member is better
// (Orabona 2019, Theorem 2.8), that the conjugate is attained and no member exceeds it, that ψ is
// λ-strongly convex between members, and the conjugate of aψ + b (Lemma 5.8).
func TestRegularizers(t *testing.T) {
	t.Run("l1 product", func(t *testing.T) { // two simplices of sum 1 and 2: λ = 1/(1+2)
		p := must(convex.NewProduct(must(convex.NewSimplex(2)), must(convex.NewScaledSimplex(2, 2))))
		l, n := must(convex.Restrict(must(convex.NewNegativeEntropy(4)), p)).StrongConvexity()
		near(t, "λ in "+n.String(), l, 1./3, 1e-15)
	})
	for _, kind := range pairKinds() {
		t.Run(kind.name, rapid.MakeCheck(func(t *rapid.T) {
			r := source(t)
			m, s := kind.make(r, rapid.IntRange(1, 8).Draw(t, "d"))
			reg, err := convex.Restrict(m, s)
			if err != nil {
				t.Fatal(err)
			}
			d := s.Dim()
			theta := normals(r, d, math.Pow(10, float64(r.IntN(4)-2)))
			x := make([]float64, d)
			reg.Argmax(x, theta)
			if !s.Contains(x, 1e-14) {
				t.Fatalf("%s: argmax %v is not a member", reg, x)
			}
			in := slices.Clone(theta)
			reg.Argmax(in, in)
			if !slices.Equal(in, x) {
				t.Fatalf("%s: in place %v, otherwise %v", reg, in, x)
			}
			value := vec.Dot(theta, x) - m.Value(x)
			scale := 1 + math.Abs(vec.Dot(theta, x)) + math.Abs(m.Value(x))
			if g := reg.Conjugate(theta) - value; math.Abs(g) > 1e-11*scale {
				t.Fatalf("%s: conjugate %v, at the argmax %v", reg, value+g, value)
			}
			rest := sub(theta, gradient(m, x))
			interior := m.Interior(x) // an e^θ may have underflowed to 0
			center := make([]float64, d)
			reg.Argmax(center, make([]float64, d))
			near(t, "min", reg.Min(), m.Value(center), 1e-11)
			lambda, norm := reg.StrongConvexity()
			for range 6 {
				v := member(s, r)
				if f := r.Float64(); f < 0.9 {
					for i := range v {
						v[i] += f * (center[i] - v[i])
					}
				}
				if kind.name != "p-norm on space" && math.IsInf(reg.Value(v), 1) {
					continue // outside the domain of the map
				}
				if got := vec.Dot(theta, v) -
					m.Value(v); got > value+1e-10*(scale+vec.Norm2(theta)*vec.Norm2(v)+math.Abs(m.Value(v))) {
					t.Fatalf("%s: %v at %v, but %v at the argmax %v of %v", reg, got, v, value, x, theta)
				}
				if m.Value(v) < reg.Min()-1e-10*(1+math.Abs(reg.Min())) {
					t.Fatalf("%s: min %v, but %v at %v", reg, reg.Min(), m.Value(v), v)
				}
				move := sub(v, x)
				if !interior {
					continue
				}
				size := vec.Norm2(rest) + vec.Norm2(theta) + vec.Norm2(gradient(m, x))
				if g := vec.Dot(rest, move); g > 1e-9*size*vec.Norm2(move)+1e-11*scale {
					t.Fatalf("%s: ⟨θ−∇ψ(x), v−x⟩ = %v > 0 for x = %v, v = %v, θ = %v", reg, g, x, v, theta)
				}
				if b, l := m.Divergence(v, x), norm.Of(move); b < lambda/2*l*l*(1-1e-9)-1e-14 {
					t.Fatalf("%s: B(v;x) = %v < %v/2·%v²", reg, b, lambda, l)
				}
			}
			// Orabona 2019, Lemma 5.8: (aψ+b)*(θ) = aψ*(θ/a) − b, attained at ∇ψ*(θ/a)
			a, b := 0.5+r.Float64(), r.NormFloat64()
			quotient := make([]float64, d)
			for i := range theta {
				quotient[i] = theta[i] / a
			}
			conjugate := a*reg.Conjugate(quotient) - b
			reg.Argmax(quotient, quotient)
			at := vec.Dot(theta, quotient) - (a*m.Value(quotient) + b)
			if math.Abs(conjugate-at) > 1e-10*(1+math.Abs(at)+math.Abs(a*m.Value(quotient))) {
				t.Fatalf("%s: scaled conjugate %v, value at its argmax %v", reg, conjugate, at)
			}
			if other := vec.Dot(theta, x) - (a*m.Value(x) + b); other > conjugate+1e-10*scale {
				t.Fatalf("%s: scaled conjugate %v, but %v elsewhere", reg, conjugate, other)
			}
		}))
	}
}

// TestRegularizerForms compares with closed forms: the entropy on a simplex with softmax and LSE,
// and ½‖x‖² on a ball with ½‖θ‖²−½dist².
func TestRegularizerForms(t *testing.T) {
	theta := []float64{0.3, -1, 2}
	x := make([]float64, 3)
	reg := must(convex.Restrict(must(convex.NewNegativeEntropy(3)), must(convex.NewSimplex(3))))
	reg.Argmax(x, theta)
	sum := math.Exp(.3) + math.Exp(-1) + math.Exp(2)
	nearAll(t, "softmax", x, []float64{math.Exp(.3) / sum, math.Exp(-1) / sum, math.Exp(2) / sum}, 1e-15)
	near(t, "LSE", reg.Conjugate(theta), math.Log(sum), 1e-15)
	near(t, "min", reg.Min(), -math.Log(3), 1e-15)
	if l, n := reg.StrongConvexity(); l != 1 || n != convex.Norm(convex.L1) {
		t.Errorf("strong convexity %v in %s, want 1 in l1", l, n)
	}
	if !math.IsInf(reg.Value([]float64{0.5, 0.5, 0.5}), 1) {
		t.Error("a finite value off the simplex")
	}
	ball := must(convex.NewBall([]float64{1, 1, 1}, 0.5))
	reg = must(convex.Restrict(must(convex.NewQuadratic(3)), ball))
	reg.Argmax(x, theta)
	dist := vec.Norm2(sub(x, theta))
	near(t, "½‖θ‖²−½dist²", reg.Conjugate(theta), 0.5*vec.Dot(theta, theta)-0.5*dist*dist, 1e-14)
	// The step of INF (Audibert and Bubeck 2009) with q = ½ has x_i = (Λ+ηG_i)^{−2}; the weights
	// after 4 rounds.
	for q, want := range map[float64][]float64{
		.5:   {0.07086744405, 0.5972669428, 0.3318656132},
		.75:  {0.07092493083, 0.5771502033, 0.3519248659},
		.999: {0.05374216627, 0.5785169319, 0.3677409018},
	} {
		reg = must(convex.Restrict(must(convex.NewTsallis(3, q)), must(convex.NewSimplex(3))))
		total, eta := make([]float64, 3), 0.5
		losses := [][]float64{{.6, .2, .9}, {.4, .1, .8}, {1, .3, .5}, {.7, 0, .2}}
		step := make([]float64, 3)
		for round, arm := range []int{0, 1, 2, 0} {
			for i := range step {
				step[i] = -eta * total[i]
			}
			reg.Argmax(x, step)
			total[arm] += losses[round][arm] / x[arm]
		}
		for i := range step {
			step[i] = -eta * total[i]
		}
		reg.Argmax(x, step)
		nearAll(t, "INF", x, want, 1e-9)
		near(t, "min", reg.Min(), (1-math.Pow(3, 1-q))/(1-q), 1e-11)
	}
}

func TestRestrictRefuses(t *testing.T) {
	box := must(convex.NewCube(2, -1, 1))
	for _, tc := range []struct {
		m    convex.MirrorMap
		s    convex.Set
		want string
	}{
		{must(convex.NewQuadratic(3)), box, "dimension 3"},
		{nil, box, "want both"},
		{must(convex.NewQuadratic(2)), nil, "want both"},
		{
			must(convex.NewNegativeEntropy(2)), must(convex.NewCenteredBall(2, 1)),
			"want one of these sets: Space, Simplex",
		},
		{must(convex.NewNegativeEntropy(2)), must(convex.NewCube(2, -1, 0)), "has no exact oracle on"},
		{
			must(convex.NewNegativeEntropy(2)),
			must(convex.NewShifted(must(convex.NewSimplex(2)), []float64{-.1, 0})), "has no exact oracle on",
		},
		{must(convex.NewPNorm(2, 1.5)), box, "Space, a centered Ball"},
		{must(convex.NewPNorm(2, 1.5)), must(convex.NewCenteredBall(2, 1)), "Space, a centered Ball"},
		{must(convex.NewPNorm(2, 1.5)), must(convex.NewLpBall([]float64{1, 0}, 1.5, 1)), "Space, a centered Ball"},
		{must(convex.NewTsallis(2, .5)), must(convex.NewSpace(2)), "Simplex, Box"},
		{must(convex.NewLogBarrier(2)), must(convex.NewOrthant(2)), "finite upper sides"},
		{must(convex.NewDiagonalQuadratic([]float64{1, 2})), must(convex.NewL1Ball(2, 1)), "Space, Box"},
		{
			must(convex.NewMatrixQuadratic(mat.NewSymDense(2, []float64{2, 0, 0, 1}))),
			plain{must(convex.NewSpace(2))},
			"any bounded set",
		},
	} {
		_, err := convex.Restrict(tc.m, tc.s)
		if noregret.CodeOf(err) != noregret.BadInput || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v on %v: %v, want an error with %q", tc.m, tc.s, err, tc.want)
		}
	}
}
