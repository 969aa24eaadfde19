package oco

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/linalg"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/loss"
)

// Exact identities between learners (Ik in a test's name) and lemmas of the theory (Tk), on random
// data.

// same plays two learners on one sequence of linear losses and compares their points.
func same(t *rapid.T, what string, a, b Learner, gs [][]float64, tolerance float64) {
	t.Helper()
	for round, g := range gs {
		x, y := a.Predict(), b.Predict()
		for i := range x {
			if !(math.Abs(x[i]-y[i]) <= tolerance*max(1, math.Abs(x[i]))) {
				t.Fatalf("%s: round %d: %v and %v", what, round+1, x, y)
			}
		}
		if err := a.Update(g); err != nil {
			t.Fatal(err)
		}
		if err := b.Update(g); err != nil {
			t.Fatal(err)
		}
	}
}

func drawSequence(t *rapid.T, dims, rounds int) (r *random.Source, gs [][]float64) {
	r, d, n, kind := drawGame(t, dims, rounds)
	for round := range n {
		gs = append(gs, gradient(r, kind, round, make([]float64, d), true))
	}
	return r, gs
}

// TestEqualLearners plays learners that are the same algorithm by another road on one sequence.
func TestEqualLearners(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, gs := drawSequence(t, 8, 50)
		d := len(gs[0])
		eta := math.Exp(r.NormFloat64())
		rates := []Rate{Constant(eta), InverseSqrt(eta, 1), Adaptive(eta)}
		for _, set := range setsFor(r, d) {
			for _, rate := range rates {
				if math.IsInf(set.Diameter(), 1) && !rate.anyClosedSet() {
					continue
				}
				same(t, "mirror descent with ½‖x‖² is descent", must(NewMirrorDescent(euclidean(set), nil, rate, 0)),
					descent(set, nil, rate), gs, 1e-12)
			}
		}
		whole := space(d)
		same(t, "descent is FTRL on ℝ^d", descent(whole, nil, Constant(eta)),
			must(NewFTRL(euclidean(whole), nil, ConstantWeight(1/eta))), gs, 1e-9)
		for _, rate := range []Rate{Constant(eta), StronglyConvex(eta)} {
			same(t, "proximal FTRL is descent on ℝ^d", must(NewProximalFTRL(whole, nil, rate)), descent(whole, nil, rate), gs, 1e-9)
		}
		// ProximalFTRL takes rates on R^d that descent refuses; a huge ball stands for R^d.
		huge := must(convex.NewCenteredBall(d, 1e6))
		same(t, "proximal FTRL is descent with 1/√t", must(NewProximalFTRL(whole, nil, InverseSqrt(eta, 1))),
			descent(huge, nil, InverseSqrt(eta, 1)), gs, 1e-9)
		same(t, "proximal FTRL is descent with 1/√Q", must(NewProximalFTRL(whole, nil, Adaptive(eta))), descent(huge, nil, Adaptive(eta)),
			gs, 1e-9)
		same(t, "quadratized FTRL is descent on ℝ^d", must(NewQuadratizedFTRL(whole, nil, .5)),
			descent(whole, nil, StronglyConvex(.5)), gs, 1e-12)
		same(t, "composite FTRL without a penalty is FTRL", must(NewCompositeFTRL(whole, 2, 0)),
			must(NewFTRL(euclidean(whole), nil, SqrtWeight(2))), gs, 1e-12)
		same(t, "optimistic FTRL without hints is FTRL", must(NewOptimisticFTRL(euclidean(whole), SqrtWeight(2))),
			must(NewFTRL(euclidean(whole), nil, SqrtWeight(2))), gs, 1e-12)
		p := 1 + .99*r.Float64() + .005
		pmap := must(convex.Restrict(must(convex.NewPNorm(d, p)), whole))
		if p > 1.2 { // the dual exponent is at most 6
			same(t, "the p-norm algorithm is FTRL", must(NewPNorm(d, p, .1)),
				must(NewMirrorDescent(pmap, nil, Constant(.1), 0)), gs, 1e-6)
		}
		same(t, "the p-norm algorithm with p = 2 is descent", must(NewPNorm(d, 2, eta)), descent(whole, nil, Constant(eta)), gs, 1e-9)
		entropy := must(entropyOnSimplex(d))
		eg := func() Learner { return must(NewExponentiatedGradient(d, nil, .3)) }
		same(t, "exponentiated gradient is FTRL with entropy", eg(), must(NewFTRL(entropy, nil, ConstantWeight(1/.3))), gs, 1e-12)
		same(t, "exponentiated gradient is mirror descent", eg(), must(NewMirrorDescent(entropy, nil, Constant(.3), 0)), gs, 1e-9)
		if d > 1 {
			box := must(convex.NewCube(d, -.5, .7))
			var ones []Learner
			for range d {
				ones = append(ones, descent(must(convex.NewCube(1, -.5, .7)), nil, Adaptive(1.2*math.Sqrt2/2)))
			}
			split := must(NewSplit(ones...))
			same(t, "AdaGrad is a split of adaptive descent", must(NewAdaGrad(box, nil)), split, gs, 1e-12)
		}
	})
}

func TestInvariantToShift(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, gs := drawSequence(t, 8, 50)
		d := len(gs[0])
		for _, make := range []func() Learner{
			func() Learner { return must(NewExponentiatedGradient(d, nil, .5)) },
			func() Learner { return must(NewEntropicFTRL(d, 3, 1)) },
			func() Learner { return must(NewAdaHedge(d, 1)) },
		} {
			a, b := make(), make()
			for round, g := range gs {
				c := 3 * r.NormFloat64()
				h := append([]float64(nil), g...)
				for i := range h {
					h[i] += c
				}
				for i, x := range a.Predict() {
					if math.Abs(x-b.Predict()[i]) > 1e-9 {
						t.Fatalf("%v: round %d: %v, and %v after shifts", a, round+1, a.Predict(), b.Predict())
					}
				}
				_, _ = a.Update(g), b.Update(h)
			}
		}
	})
	// ScaleFreeHedge is not invariant: its Q depends on the shift.
	a, b := must(NewScaleFreeHedge(2, 0)), must(NewScaleFreeHedge(2, 0))
	_, _ = a.Update([]float64{1, -1}), b.Update([]float64{11, 9})
	if a.Predict()[0] == b.Predict()[0] {
		t.Error("scale-free Hedge did not see a shift")
	}
}

func TestPermutation(t *testing.T) {
	r := random.New(8, "permute")
	perm := r.Perm(5)
	permute := func(v []float64) []float64 {
		w := make([]float64, len(v))
		for i, p := range perm {
			w[p] = v[i]
		}
		return w
	}
	p := Problem{
		Rounds: 40,
		Facts: loss.Facts{
			Lipschitz: lipschitz, LipschitzInf: lipschitz, StrongConvexity: 1, ExpConcavity: .1, SquaredDistance: true,
		},
	}
	for _, set := range []convex.Set{
		space(5), simplex(5), must(convex.NewCube(5, -1, 1)),
		must(convex.NewCenteredBall(5, 1)),
	} {
		p.Set = set
		for _, e := range Learners() {
			a, err := e.New(p, nil)
			if err != nil || e.Name == "linear-leader" { // ties go to the lowest index
				continue
			}
			b := must(e.New(p, nil))
			for round := range 40 {
				g := gradient(r, "gaussian", round, a.Predict(), true)
				x, y := permute(a.Predict()), b.Predict()
				for i := range x {
					if math.Abs(x[i]-y[i]) > 1e-9 {
						t.Fatalf("%s on %v: round %d: %v, permuted %v", e.Name, set, round+1, x, y)
					}
				}
				if err := a.Update(g); err != nil {
					t.Fatal(err)
				}
				if err := b.Update(permute(g)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

func TestAlpha(t *testing.T) {
	a := must(NewAveraging(descent(space(2), nil, Constant(1)), InverseSqrtAlpha(1)))
	b := must(NewAveraging(descent(space(2), nil, Constant(4)), InverseSqrtAlpha(4)))
	batch(t, a, loss.HingeLoss{}, 0)
	batch(t, b, loss.HingeLoss{}, 0)
	nearVector(t, "average", must(a.Average()), must(b.Average()))
}

// TestRegretEquality checks Lemma 7.1 on exact FTRL in one dimension, with ψ_t = √t·x²/2 and
// squared losses, minimizers in closed form.
func TestRegretEquality(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := random.New(rapid.Uint64().Draw(t, "seed"), "c1")
		n := rapid.IntRange(1, 40).Draw(t, "T")
		psi := func(k int, x float64) float64 { return math.Sqrt(float64(k)) * x * x / 2 }
		l := must(NewExactFTRL(must(NewQuadraticMinimizer(space(1), SqrtWeight(1)))))
		u := []float64{r.NormFloat64()}
		var losses []loss.Function
		F := func(k int, x []float64) float64 { // ψ_k + Σ_{i<k} l_i
			s := psi(k, x[0])
			for _, f := range losses[:k-1] {
				s += f.Value(x)
			}
			return s
		}
		var regret, right float64
		for k := 1; k <= n; k++ {
			x := []float64{l.Predict()[0]}
			f := must(loss.NewExample([]float64{r.NormFloat64()}, r.NormFloat64(), loss.Squared{}))
			losses = append(losses, f)
			regret += f.Value(x) - f.Value(u)
			if err := l.UpdateLoss(f); err != nil {
				t.Fatal(err)
			}
			next := []float64{l.Predict()[0]}
			term := F(k, x) - F(k+1, next) + f.Value(x)
			right += term
			// Stability (L 7.7): λ_t = Σz² + √t over the past.
			g := make([]float64, 1)
			f.Subgradient(g, x)
			lambda := math.Sqrt(float64(k))
			for _, h := range losses[:k-1] {
				lambda += h.(*loss.Example).Z[0] * h.(*loss.Example).Z[0]
			}
			if limit := g[0]*g[0]/(2*lambda) + psi(k, next[0]) - psi(k+1, next[0]); term > limit+1e-12 {
				t.Fatalf("round %d: stability %v is above %v", k, term, limit)
			}
		}
		last := []float64{l.Predict()[0]}
		right += psi(n+1, u[0]) + F(n+1, last) - F(n+1, u) // min ψ_1 = 0
		if math.Abs(regret-right) > 1e-9*(1+math.Abs(regret)) {
			t.Fatalf("regret %v, the right side of the equality %v", regret, right)
		}
	})
}

func TestOneStep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, gs := drawSequence(t, 8, 20)
		d := len(gs[0])
		for _, set := range setsFor(r, d) {
			if math.IsInf(set.Diameter(), 1) {
				continue
			}
			l := descent(set, nil, InverseSqrt(1, 1))
			u := comparators(r, set, gs[0])[0]
			for round, g := range gs {
				x := append([]float64(nil), l.Predict()...)
				if err := l.Update(g); err != nil {
					t.Fatal(err)
				}
				eta := inverseSqrt(round + 1)
				left := eta * (vec.Dot(g, x) - vec.Dot(g, u))
				right := (distanceSquared(x, u)-distanceSquared(l.Predict(), u))/2 + eta*eta*vec.Dot(g, g)/2
				if left > right+1e-12*(1+distanceSquared(x, u)) {
					t.Fatalf("one step on %v: %v > %v", set, left, right)
				}
			}
		}
	})
}

func TestMirrorStep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, gs := drawSequence(t, 8, 20)
		d := len(gs[0])
		reg := must(entropyOnSimplex(d))
		l := must(NewMirrorDescent(reg, nil, Constant(.3), 0))
		u := comparators(r, reg.Set(), gs[0])[0]
		for _, g := range gs {
			x := append([]float64(nil), l.Predict()...)
			if err := l.Update(g); err != nil {
				t.Fatal(err)
			}
			left := .3 * (vec.Dot(g, x) - vec.Dot(g, u))
			right := convex.KL(u, x) - convex.KL(u, l.Predict()) + .3*.3*vec.MaxAbs(g)*vec.MaxAbs(g)/2
			if left > right+1e-12 {
				t.Fatalf("one step: %v > %v", left, right)
			}
		}
	})
}

// TestSums: the sums and recursions that the theorems of adaptive rates rest on.
func TestSums(t *testing.T) {
	var inverse, harmonic float64
	for k := 1; k <= 100; k++ {
		inverse += inverseSqrt(k)
		harmonic += 1 / float64(k)
	}
	near(t, "2√101−2", 2*math.Sqrt(101)-2, 18.0997512422)
	near(t, "Σ1/√t", inverse, 18.5896038248)
	near(t, "H_100", harmonic, 5.1873775176)
	near(t, "1+ln 100", 1+math.Log(100), 5.6051701860)
	rapid.Check(t, func(t *rapid.T) {
		r := random.New(rapid.Uint64().Draw(t, "seed"), "sums")
		var q squares
		var left, exact float64
		b, c := r.ExpFloat64(), r.ExpFloat64()
		var delta float64
		for range 50 {
			a := math.Abs(r.NormFloat64()) * math.Exp(3*r.NormFloat64())
			if r.IntN(4) == 0 {
				a = 0
			}
			q.addScalar(a)
			exact += a * a
			if root := q.root(); root > 0 {
				left += a * a / root
			}
			rise := b * a
			if delta > 0 {
				rise = min(rise, c*a*a/(2*delta))
			}
			delta += rise * r.Float64()
		}
		if left > 2*q.root()*(1+1e-12) {
			t.Fatalf("Σ q_t/√Q_t: %v > %v", left, 2*q.root())
		}
		if delta > math.Sqrt((b*b+c)*exact)*(1+1e-12) {
			t.Fatalf("the recursion: %v > %v", delta, math.Sqrt((b*b+c)*exact))
		}
		if math.Abs(q.value()-exact) > 1e-12*exact {
			t.Fatalf("Q = %v, want %v", q.value(), exact)
		}
	})
}

func TestSquaresRange(t *testing.T) {
	for _, order := range [][]float64{{1e-300, 1, 1e200}, {1e200, 1, 1e-300}, {1e-320, 1e-320}, {1e308, 1e308}} {
		var q squares
		want := 0.0
		for _, x := range order {
			q.addScalar(x)
			want = math.Hypot(want, x)
		}
		if got := q.root(); math.Abs(got-want) > 1e-12*want {
			t.Errorf("√Σ of %v = %v, want %v", order, got, want)
		}
	}
}

func TestLogDeterminant(t *testing.T) {
	zs := [][]float64{{1, .5}, {-.5, 1}, {.25, -1}, {1, 1}}
	c := linalg.NewCholesky(2, 1)
	var total float64
	for _, z := range zs {
		before := c.LogDet()
		c.Add(append([]float64(nil), z...))
		s := c.InverseSquare(append([]float64(nil), z...))
		near(t, "1 − det/det", 1-math.Exp(before-c.LogDet()), s)
		total += s
	}
	near(t, "Σ zᵀS⁻¹z", total, 1.8804207414)
	near(t, "ln det", c.LogDet(), 2.6038464236)
}

// TestCholesky compares the updated factor with direct solves (Gaussian elimination).
func TestCholesky(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, gs := drawSequence(t, 6, 60)
		d := len(gs[0])
		s := make([][]float64, d)
		for i := range s {
			s[i] = make([]float64, d)
			s[i][i] = .5
		}
		c := linalg.NewCholesky(d, .5)
		for _, g := range gs {
			c.Add(append([]float64(nil), g...))
			for i := range s {
				for j := range s {
					s[i][j] += g[i] * g[j]
				}
			}
		}
		b := make([]float64, d)
		for i := range b {
			b[i] = r.NormFloat64()
		}
		want := gauss(s, b)
		c.Solve(b)
		for i := range b {
			if math.Abs(b[i]-want[i]) > 1e-9*max(1, vec.MaxAbs(want)) {
				t.Fatalf("the solution is %v, want %v", b, want)
			}
		}
	})
}

// gauss solves a·x = b by elimination with pivoting.
func gauss(a [][]float64, b []float64) []float64 {
	n := len(b)
	m := make([][]float64, n)
	for i := range a {
		m[i] = append(append([]float64(nil), a[i]...), b[i])
	}
	for k := range n {
		p := k
		for i := k; i < n; i++ {
			if math.Abs(m[i][k]) > math.Abs(m[p][k]) {
				p = i
			}
		}
		m[k], m[p] = m[p], m[k]
		for i := range n {
			if i == k {
				continue
			}
			f := m[i][k] / m[k][k]
			for j := k; j <= n; j++ {
				m[i][j] -= f * m[k][j]
			}
		}
	}
	x := make([]float64, n)
	for i := range x {
		x[i] = m[i][n] / m[i][i]
	}
	return x
}

func TestNotDescent(t *testing.T) { // Orabona 2019, Example 6.1
	lin := func(c ...float64) loss.Function { return must(loss.NewLinear(c)) }
	f := must(loss.NewMax(lin(-1, 0), lin(1, -1), lin(1, 1)))
	for _, eta := range []float64{.1, 1, 2} {
		near(t, "f(x−ηg)", f.Value([]float64{1 - eta, -eta}), 1)
	}
	if f.Value([]float64{1 - 2.1, -2.1}) <= 1 {
		t.Error("a longer step does not go up")
	}
	h := must(loss.NewMax(must(loss.NewSquaredDistance([]float64{0, -1})),
		must(loss.NewSquaredDistance([]float64{0, 1}))))
	near(t, "f(1,0)", h.Value([]float64{1, 0}), 2)
	near(t, "along (2,2)", h.Value([]float64{1 - .2, -.2}), 2+8*.01)
	if h.Value([]float64{1 - .2, 0}) >= 2 {
		t.Error("along (2, 0) it goes down")
	}
	// Subgradient descent keeps its promise on f all the same, with the subgradient (1, 1) at (1,
	// 0).
	l := descent(must(convex.NewCenteredBall(2, 2)), []float64{1, 0}, Constant(.05))
	var paid float64
	for range 500 {
		x := l.Predict()
		paid += f.Value(x)
		g := make([]float64, 2)
		f.Subgradient(g, x)
		if err := l.Update(g); err != nil {
			t.Fatal(err)
		}
	}
	if b := bound(t, l, []float64{0, 0}); paid > b+1e-9*math.Abs(b) {
		t.Errorf("regret %v against 0 is above the bound %v", paid, b)
	}
}

func TestHintExperts(t *testing.T) {
	reg := euclidean(must(convex.NewCenteredBall(3, 1)))
	run := func(hints func(t int) [][]float64, k int) (regret float64, l *HintExperts) {
		l = must(NewHintExperts(must(NewOptimisticFTRL(reg, ConstantWeight(1))), k, convex.L2))
		r := random.New(1, "hints")
		sum := make([]float64, 3)
		for round := range 400 {
			if h := hints(round); h != nil {
				if err := l.Hints(h); err != nil {
					t.Fatal(err)
				}
			}
			g := []float64{math.Sin(float64(round) / 30), math.Cos(float64(round) / 30), .01 * r.NormFloat64()}
			regret += vec.Dot(g, l.Predict())
			for i, v := range g {
				sum[i] += v
			}
			if err := l.Update(g); err != nil {
				t.Fatal(err)
			}
		}
		u := make([]float64, 3)
		least, err := reg.Set().Minimize(u, sum)
		if err != nil {
			t.Fatal(err)
		}
		if b := bound(t, l, u); regret-least > b {
			t.Errorf("regret %v is above the bound %v", regret-least, b)
		}
		return regret - least, l
	}
	perfect := func(t int) []float64 { return []float64{math.Sin(float64(t) / 30), math.Cos(float64(t) / 30), 0} }
	bad := func(t int) []float64 { return []float64{-math.Sin(float64(t) / 30), 1, 1} }
	without, _ := run(func(int) [][]float64 { return nil }, 2)
	with, l := run(func(t int) [][]float64 { return [][]float64{bad(t), perfect(t)} }, 2)
	if w := l.Weights(); w[1] < .99 {
		t.Errorf("the weights are %v: the good hints should have won", w)
	}
	if with > without/4 {
		t.Errorf("regret %v with a good strategy among two, %v without hints", with, without)
	}
}

func TestLeadingEqualLosses(t *testing.T) {
	l := must(NewAdaHedge(3, 0))
	for range 5 {
		if err := l.Update([]float64{.1, .1, .1}); err != nil {
			t.Fatal(err)
		}
	}
	if l.Lambda() != 0 {
		t.Errorf("λ = %v after equal losses, want exactly 0", l.Lambda())
	}
	if err := l.Update([]float64{1, 0, 0}); err != nil {
		t.Fatal(err)
	}
	if !finite(vec.MaxAbs(l.Predict())) {
		t.Errorf("x = %v", l.Predict())
	}
}

// TestAdaGradPrintedConstants finds that the printed constants are not those of the algorithm: rate
// √(2D)/(2√q) is not homogeneous, and the corrected bound is below (3/2)·D·√Q.
func TestAdaGradPrintedConstants(t *testing.T) {
	set := must(convex.NewCube(1, -4, 4))
	printed := Adaptive(math.Sqrt(2*8) / 2)
	right := Adaptive(8 * math.Sqrt2 / 2)
	a, b := descent(set, nil, right), descent(set, nil, printed)
	scaledSet := must(convex.NewCube(1, -4000, 4000))
	c, e := descent(scaledSet, nil, Adaptive(8000*math.Sqrt2/2)), descent(scaledSet, nil, Adaptive(math.Sqrt(2*8000)/2))
	differ := false
	r := random.New(2, "e12")
	for range 20 {
		if math.Abs(c.Predict()[0]/1000-a.Predict()[0]) > 1e-9 {
			t.Fatal("the rate of Theorem 4.14 is not homogeneous in D")
		}
		differ = differ || math.Abs(e.Predict()[0]/1000-b.Predict()[0]) > 1e-3
		g := []float64{r.NormFloat64()}
		for _, l := range []Learner{a, b, c, e} {
			if err := l.Update(g); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !differ {
		t.Error("the printed rate is homogeneous here: the test tells nothing")
	}
	root := a.state.Rate.Q.root()
	near(t, "bound", bound(t, a, []float64{0}), math.Sqrt2*8*root)
}

// TestLStarNeedsSmoothness is why the L* bound asks for smoothness on the whole space: l(x) = x on [0, 1] has M = 0
// and a minimum of 0 there, so that the bound reads 0 against u = 0, but the run pays. ½x² with M =
// 1 and the same minimum, smooth and nonnegative everywhere, obeys it.
func TestLStarNeedsSmoothness(t *testing.T) {
	for _, smooth := range []bool{false, true} {
		l := descent(must(convex.NewCube(1, 0, 1)), []float64{1}, Adaptive(math.Sqrt2/2))
		var paid, steps float64
		for range 50 {
			x := l.Predict()[0]
			g := 1.
			paid += x
			if smooth {
				paid += x*x/2 - x
				g = x
			}
			if err := l.Update([]float64{g}); err != nil {
				t.Fatal(err)
			}
			steps += math.Abs(l.Predict()[0] - x)
		}
		if b := bound(t, l, []float64{0}); paid > b {
			t.Errorf("regret %v is above the bound %v of the run", paid, b)
		}
		switch {
		case smooth && paid > LStarBound(1, 1, 0):
			t.Errorf("smooth on ℝ: regret %v is above the L* bound %v", paid, LStarBound(1, 1, 0))
		case !smooth && (LStarBound(0, 1, 0) != 0 || paid < 1.29 || steps < 1):
			t.Errorf("regret %v does not refute the bound of a loss that is smooth near the set only", paid)
		}
	}
}

// TestMeanHintBoundScales needs the factor L² of the corrected bound: equal losses with a large
// gradient refute the printed ψ(u) + 4 + 4·ln T + variance.
func TestMeanHintBoundScales(t *testing.T) {
	const L, rounds = 50, 6
	l := must(NewMeanHint(euclidean(must(convex.NewCube(1, -1, 1))), 1))
	var paid float64
	for range rounds {
		paid += L * l.Predict()[0]
		if err := l.Update([]float64{L}); err != nil {
			t.Fatal(err)
		}
	}
	u := []float64{-1}
	regret := paid + L*rounds
	if corrected := must(l.VarianceBound(u, L, 0)); regret > corrected {
		t.Errorf("regret %v is above the corrected bound %v", regret, corrected)
	}
	if printed := .5 + 4 + 4*math.Log(rounds); regret <= printed {
		t.Errorf("regret %v does not refute the printed bound %v", regret, printed)
	}
}
