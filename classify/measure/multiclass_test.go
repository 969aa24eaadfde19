package measure

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/noregret/noregret"
)

func distance(a, b []float64) float64 {
	var sum float64
	for k := range a {
		sum += (a[k] - b[k]) * (a[k] - b[k])
	}
	return math.Sqrt(sum)
}

// With two classes each measure is the two-class one: value, extension, conjugate, projection and
// optimal dual.
func TestMulticlassReducesToTwoClasses(t *testing.T) {
	two := []Concave{Min{}, HMean{}, QMean{}, GMean{}, BalancedAccuracy()}
	for i, m := range multiclassConcaves {
		rapid.Check(t, func(rt *rapid.T) {
			a := rapid.Float64Range(-6, 6).Draw(rt, "a")
			b := rapid.Float64Range(-6, 6).Draw(rt, "b")
			if rapid.Bool().Draw(rt, "small") {
				a, b = a/20, b/20
			}
			limit := rapid.Float64Range(0.6, 5).Draw(rt, "limit")
			al, be := two[i].Project(a, b, limit)
			got := make([]float64, 2)
			m.Project(got, []float64{a, b}, limit)
			if d := distance(got, []float64{al, be}); !(d <= 1e-9) {
				rt.Fatalf("%s: projection of (%v, %v), limit %v, is %v, want (%v, %v)", m.Name(), a, b, limit, got, al,
					be)
			}
			if g, w := m.Conjugate(got), two[i].Conjugate(al, be); !(math.Abs(g-w) <= 1e-9) {
				rt.Fatalf("%s: conjugate %v, want %v", m.Name(), g, w)
			}
			if g, w := m.Extended([]float64{a, b}, limit),
				two[i].Extended(a, b, limit); !(math.Abs(g-w) <= 1e-12*(1+math.Abs(w))) {
				rt.Fatalf("%s: extension at (%v, %v) is %v, want %v", m.Name(), a, b, g, w)
			}
			u, v := (a+6.1)/12.2, (b+6.1)/12.2
			if g, w := m.Of([]float64{u, v}), two[i].Of(u, v); !(math.Abs(g-w) <= 1e-14) {
				rt.Fatalf("%s at (%v, %v) is %v, want %v", m.Name(), u, v, g, w)
			}
			m.OptimalDual(got, []float64{u, v})
			al, be = two[i].OptimalDual(u, v)
			if d := distance(got, []float64{al, be}); !(d <= 1e-12*(1+al+be)) {
				rt.Fatalf("%s: optimal dual at (%v, %v) is %v, want (%v, %v)", m.Name(), u, v, got, al, be)
			}
		})
		d1, _ := two[i].ConjugateGradient()
		if m.ConjugateGradient() != d1 && m.Name() != "macro_recall" {
			t.Errorf("%s: conjugate gradient %v, want %v", m.Name(), m.ConjugateGradient(), d1)
		}
		if g, w := m.DualRadius(2), two[i].DualRadius(); !(math.Abs(g-w) <= 1e-15 || g == w) {
			t.Errorf("%s: dual radius %v, want %v", m.Name(), g, w)
		}
	}
}

// inRegion reports whether x is in the (capped) dual region, up to tol.
func inRegion(m MulticlassConcave, x []float64, limit, tol float64) bool {
	c := float64(len(x))
	var sum, roots, square, logs float64
	for _, v := range x {
		if v < -tol || (v > limit+tol && m.Name() == "gmean") {
			return false
		}
		sum += v
		roots += math.Sqrt(max(v, 0))
		square += v * v
		logs += math.Log(max(v, 0) * c)
	}
	switch m.Name() {
	case "min":
		return math.Abs(sum-1) <= tol
	case "qmean":
		return math.Sqrt(square) <= 1/math.Sqrt(c)+tol
	case "hmean":
		return roots >= math.Sqrt(c)-tol && math.Sqrt(square) <= c+tol
	case "gmean":
		return logs >= -tol
	default:
		return distance(x, fill(len(x), 1/c)) <= tol
	}
}

func fill(n int, v float64) []float64 {
	x := make([]float64, n)
	for k := range x {
		x[k] = v
	}
	return x
}

// regionMember draws a point of A, about half the time on its boundary, without calling Project.
func regionMember(m MulticlassConcave, r *rand.Rand, c int, limit float64) []float64 {
	x := make([]float64, c)
	for {
		var sum float64
		for k := range x {
			x[k] = r.ExpFloat64()
			if r.IntN(4) == 0 {
				x[k] *= 1e-3
			}
			sum += x[k]
		}
		for k := range x {
			x[k] /= sum // on the simplex
		}
		grow := 1 + float64(r.IntN(2))*r.Float64()*float64(c)
		switch m.Name() {
		case "qmean":
			f := 1 / math.Sqrt(float64(c)) / norm(x)
			for k := range x {
				x[k] *= f * math.Sqrt(r.Float64())
			}
		case "hmean":
			var roots float64
			for _, v := range x {
				roots += math.Sqrt(v)
			}
			for k := range x {
				x[k] *= grow * float64(c) / (roots * roots)
			}
		case "gmean":
			var logs float64
			for _, v := range x {
				logs += math.Log(v * float64(c))
			}
			for k := range x {
				x[k] *= grow * math.Exp(-logs/float64(c))
			}
		case "macro_recall":
			return fill(c, 1/float64(c))
		}
		if inRegion(m, x, limit, 1e-13) {
			return x
		}
	}
}

// For 3 to 7 classes the projection lies in A, is idempotent and satisfies ⟨a - Π(a), x - Π(a)⟩ ≤ 0
// for x in A.
func TestMulticlassProjectionIsExact(t *testing.T) {
	for _, m := range multiclassConcaves {
		rapid.Check(t, func(t *rapid.T) {
			c := rapid.IntRange(3, 7).Draw(t, "classes")
			scale := rapid.SampledFrom([]float64{0.3, 1, 6, 30}).Draw(t, "scale")
			a := rapid.SliceOfN(rapid.Float64Range(-scale, scale), c, c).Draw(t, "a")
			limit := rapid.Float64Range(0.7, 5).Draw(t, "limit")
			r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
			p, again := make([]float64, c), make([]float64, c)
			m.Project(p, a, limit)
			if !inRegion(m, p, limit, 1e-12) {
				t.Fatalf("%s: projection of %v is %v, not in A", m.Name(), a, p)
			}
			m.Project(again, p, limit)
			if d := distance(p, again); !(d <= 1e-12) {
				t.Fatalf("%s: not idempotent: %v goes to %v", m.Name(), p, again)
			}
			for range 50 {
				x := regionMember(m, r, c, limit)
				var ip float64
				for k := range x {
					ip += (a[k] - p[k]) * (x[k] - p[k])
				}
				if ip > 1e-11*(1+norm(a)) {
					t.Fatalf("%s: variational inequality broken by %g at %v → %v, limit %v, member %v", m.Name(), ip, a,
						p, limit, x)
				}
			}
		})
	}
}

// At three classes ⟨∇Ψ(u), u⟩ - Ψ*(∇Ψ(u)) = Ψ(u), ∇Ψ(u) lies in A, and no
// other member does better.
func TestMulticlassSupergradients(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	const limit = 1e9
	for _, m := range multiclassConcaves {
		al, u := make([]float64, 3), make([]float64, 3)
		for range 500 {
			for k := range u {
				u[k] = 0.05 + 0.95*r.Float64()
			}
			m.OptimalDual(al, u)
			if !inRegion(m, al, limit, 1e-12) {
				t.Errorf("%s: ∇Ψ%v = %v is not in A", m.Name(), u, al)
			}
			value := -m.Conjugate(al)
			for k := range u {
				value += al[k] * u[k]
			}
			near(t, m.Name()+" by its supergradient", value, m.Of(u), 1e-12)
			near(t, m.Name()+" extended", m.Extended(u, limit), m.Of(u), 1e-12)
			x := regionMember(m, r, 3, limit)
			other := -m.Conjugate(x)
			for k := range u {
				other += x[k] * u[k]
			}
			if other < m.Of(u)-1e-11 {
				t.Errorf("%s: member %v gives %v at %v, below Ψ = %v", m.Name(), x, other, u, m.Of(u))
			}
		}
	}
}

// The extension is the minimum over A also at negative rewards: it is attained at the projection of
// -n·u for large n, and never undercut.
func TestMulticlassExtension(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	const limit = 2.5
	for _, m := range multiclassConcaves {
		al, u, far := make([]float64, 4), make([]float64, 4), make([]float64, 4)
		for range 300 {
			for k := range u {
				u[k] = 2*r.Float64() - 1.2
				// The minimiser of ⟨α, u - ∇Ψ*⟩ over A is the limit of projections of -n(u - ∇Ψ*).
				far[k] = -1e6 * (u[k] - m.ConjugateGradient())
			}
			m.Project(al, far, limit)
			value := -m.Conjugate(al)
			for k := range u {
				value += al[k] * u[k]
			}
			near(t, m.Name()+" extended", value, m.Extended(u, limit), 1e-4)
		}
	}
}

// Values at recalls (.3, .8, .5), and the projections that catch the wrong order of clipping and
// scaling.
func TestMulticlassPinned(t *testing.T) {
	u := []float64{.3, .8, .5}
	for i, want := range []float64{.3, 3 / (1/.3 + 1/.8 + 2), 1 - math.Sqrt((.49+.04+.25)/3), math.Cbrt(.12), 1.6 / 3} {
		near(t, multiclassConcaves[i].Name(), multiclassConcaves[i].Of(u), want, 1e-14)
	}
	p := make([]float64, 3)
	MulticlassQMean{}.Project(p, []float64{-3, 3, 4}, 0)
	near(t, "Q-mean", distance(p, []float64{0, .6 / math.Sqrt(3), .8 / math.Sqrt(3)}), 0, 1e-15)
	MulticlassMin{}.Project(p, []float64{.9, .4, -2}, 0)
	near(t, "min", distance(p, []float64{.75, .25, 0}), 0, 1e-15)
	MulticlassHMean{}.Project(p, []float64{4, -1, 3}, 0)
	near(t, "H-mean beyond the ball", distance(p, []float64{2.4, 0, 1.8}), 0, 1e-15)
	for _, m := range multiclassConcaves {
		m.InitialDual(p)
		if !inRegion(m, p, 9, 1e-15) || p[0] != 1./3 {
			t.Errorf("%s: initial dual %v", m.Name(), p)
		}
		if m.Of([]float64{0, 1, 1}) > 0.7 || m.Of([]float64{1, 1, 1}) != 1 {
			t.Errorf("%s: wrong at a corner", m.Name())
		}
	}
	if !math.IsNaN(MulticlassHMean{}.Of([]float64{0, math.NaN()})) ||
		!math.IsNaN(MulticlassMin{}.Of([]float64{1, math.NaN()})) ||
		!math.IsNaN(MulticlassGMean{}.Of([]float64{0, math.NaN()})) {
		t.Error("an empty class must give NaN")
	}
	// A large common offset must not cost the projection on the simplex any digits.
	MulticlassMin{}.Project(p, []float64{1e12 + .5, 1e12 + .25, 1e12}, 0)
	near(t, "offset", distance(p, []float64{.5 + 1./12, .25 + 1./12, 1. / 12}), 0, 1e-15)
}

func TestMulticlassAllocations(t *testing.T) {
	a, dst := make([]float64, 20), make([]float64, 20)
	r := rand.New(rand.NewPCG(1, 1))
	for _, m := range multiclassConcaves {
		if n := testing.AllocsPerRun(100, func() {
			for k := range a {
				a[k] = 2*r.Float64() - 1
			}
			m.Project(dst, a, 3)
		}); n != 0 {
			t.Errorf("%s: %v allocations", m.Name(), n)
		}
	}
}

func TestParseMulticlass(t *testing.T) {
	for _, name := range MulticlassNames() {
		if m, err := ParseMulticlass(name); err != nil || m.Name() != name {
			t.Errorf("%s: %v, %v", name, m, err)
		}
	}
	for _, name := range []string{"macro_f1", "micro_f1", "accuracy", "mcc", ""} {
		if _, err := ParseMulticlass(name); noregret.CodeOf(err) != noregret.Usage {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestMulticlassConfusion(t *testing.T) {
	c, err := NewMulticlassConfusion(3)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range [][2]int{{0, 0}, {0, 1}, {1, 1}, {1, 1}, {1, 2}, {2, 0}} {
		c.Add(e[0], e[1], 2)
	}
	r := c.Recalls(nil)
	near(t, "recalls", distance(r, []float64{.5, 2. / 3, 0}), 0, 1e-15)
	near(t, "accuracy", c.Accuracy(), .5, 0)
	if got, want := c.OneVsRest(nil)[1], (Confusion{TP: 4, FN: 2, FP: 2, TN: 4}); got != want {
		t.Errorf("one versus rest: %v, want %v", got, want)
	}
	// F₁ of the classes: 2/(2+1+1), 4/(4+1+1), 0.
	near(t, "macro-F₁", c.Macro(FBeta{B: 1}, UndefinedIsZero), (.5+2./3)/3, 1e-15)
	d := c.Clone()
	c.Reset()
	if c.Count(0, 0) != 0 || d.Count(0, 0) != 2 {
		t.Error("Clone must be independent of Reset")
	}
	if _, err := NewMulticlassConfusion(1 << 20); noregret.CodeOf(err) != noregret.BadInput {
		t.Errorf("a million classes: %v, want the memory that they need", err)
	}
	if _, err := NewMulticlassConfusion(1); noregret.CodeOf(err) != noregret.Usage {
		t.Errorf("one class: %v", err)
	}
}

// The two-class confusions are the sums of the counts, and the slopes of every measure are the
// differences of its values when one count changes.
func TestOneVsRestAndSlopes(t *testing.T) {
	names := append(MultiNames(false), "macro_mcc", "macro_kappa", "macro_f2", "macro_jaccard")
	names = slices.DeleteFunc(names, func(name string) bool { return name == "macro_M" })
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 6).Draw(t, "classes")
		c, _ := NewMulticlassConfusion(n)
		total := 0.0
		for k := range n {
			for j := range n {
				w := rapid.Float64Range(.1, 20).Draw(t, "weight")
				total += w
				c.Add(k, j, w)
			}
		}
		for class, got := range c.OneVsRest(nil) {
			var want Confusion
			for k := range n {
				for j := range n {
					want.Add(k == class, j == class, c.Count(k, j))
				}
			}
			for _, d := range []float64{got.TP - want.TP, got.FN - want.FN, got.FP - want.FP, got.TN - want.TN} {
				if math.Abs(d) > 1e-12*total {
					t.Fatalf("class %d: %v, want %v", class, got, want)
				}
			}
		}
		for _, name := range names {
			m, err := ParseMulti(name, false)
			if err != nil {
				t.Fatal(err)
			}
			h := 1e-6 * total
			value := func(k, j int, by float64) float64 {
				d := c.Clone()
				d.Add(k, j, by)
				return m.OfPresentClasses(d)
			}
			for i, s := range m.Slopes(c, h) {
				k, j := i/n, i%n
				up, down := (value(k, j, h)-value(k, j, 0))/h, (value(k, j, 0)-value(k, j, -h))/h
				if !(s >= min(up, down)-1e-4/total && s <= max(up, down)+1e-4/total) {
					t.Fatalf("%s: the slope by count %d,%d is %v, want %v to %v", name, k, j, s, down, up)
				}
			}
		}
	})
}

// A class without examples has counts of 0 and no slope.
func TestSlopesWithoutExamples(t *testing.T) {
	c, _ := NewMulticlassConfusion(3)
	c.Add(0, 0, .1)
	c.Add(0, 0, .2)
	c.Add(1, 1, .3)
	if b := c.OneVsRest(nil)[2]; b.TP != 0 || b.FN != 0 || b.FP != 0 {
		t.Errorf("the class without examples has %+v", b)
	}
	for _, name := range []string{"min", "hmean", "qmean", "gmean", "macro_recall"} {
		m, err := ParseMulti(name, false)
		if err != nil {
			t.Fatal(err)
		}
		s := m.Slopes(c, 1e-6)
		if s[6] != 0 || s[7] != 0 || s[8] != 0 {
			t.Errorf("%s: %v", name, s)
		}
	}
}

// BenchmarkSlopes is of many classes.
func BenchmarkSlopes(b *testing.B) {
	const n = 100
	c, _ := NewMulticlassConfusion(n)
	for k := range n {
		for j := range n {
			c.Add(k, j, float64(1+(k*j)%7))
		}
	}
	m, _ := ParseMulti("macro_f1", false)
	for b.Loop() {
		_ = m.Slopes(c, 1)
	}
}

func TestMultilabelConfusion(t *testing.T) {
	c := MultilabelConfusion{{TP: 3, FN: 1, FP: 2, TN: 10}, {TP: 1, FN: 4, FP: 0, TN: 11}}
	near(t, "micro-F₂", c.Micro(FBeta{B: 2}), 5*4/(5*4+4*5+2.), 1e-15)
	near(t, "macro-F₁", c.Macro(FBeta{B: 1}, UndefinedIsNaN), (6./9+2./6)/2, 1e-15)
}

func ExampleMulticlassConcave() {
	m := MulticlassHMean{}
	alpha := make([]float64, 3)
	m.Project(alpha, []float64{0.5, -0.2, 0.1}, 0)
	var roots float64
	for _, a := range alpha {
		roots += math.Sqrt(a)
	}

	fmt.Printf("%.6f\n", m.Of([]float64{0.9, 0.6, 0.3}))
	fmt.Printf("%.6f\n", roots)
	// Output:
	// 0.490909
	// 1.732051
}

func BenchmarkMulticlassProject(b *testing.B) {
	for _, m := range multiclassConcaves {
		b.Run(m.Name(), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 1))
			a, dst := make([]float64, 10), make([]float64, 10)
			for b.Loop() {
				m.InitialDual(a)
				a[r.IntN(10)] -= 0.1 * r.Float64()
				m.Project(dst, a, 10)
			}
		})
	}
}
