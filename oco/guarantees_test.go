package oco

import (
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/loss"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/vec"
)

// Bounds and rates against direct evaluations of their formulas: what an inequality between regret
// and bound is too weak to see.

// TestHintIsRemoved: the round after a hinted one plays as if there had been no hint, and its
// hint is 0.
func TestHintIsRemoved(t *testing.T) {
	reg := euclidean(ball(2))
	for _, hints := range [][]float64{{1, 1, -1}, {-3, 0, 2}} {
		l, plain := must(NewOptimisticFTRL(reg, SqrtWeight(1))), must(NewFTRL(reg, nil, SqrtWeight(1)))
		if err := l.Hint(hints); err != nil {
			t.Fatal(err)
		}
		near(t, "x_1 with a hint", l.Predict()[0], -hints[0]*min(1, 2/vec.Norm2(hints)))
		var spent float64
		for k, g := range g4 {
			if k > 0 {
				nearVector(t, "x after the hinted round", l.Predict(), plain.Predict())
				spent += vec.Dot(g, g) / math.Sqrt(float64(k+1))
			} else {
				for i, v := range g {
					spent += (v - hints[i]) * (v - hints[i])
				}
			}
			_, _ = l.Update(g), plain.Update(g)
		}
		near(t, "bound", bound(t, l, []float64{1, 0, 0}), 2*.5+spent/2)
	}
}

// TestGradualWeights: λ_1 = √max(8M², 4L²), and λ_t·λ_{t−1} ≥ 8M², on both sides of the maximum.
func TestGradualWeights(t *testing.T) {
	set := must(convex.NewCube(1, -1, 1))
	for _, c := range []struct{ M, L, want float64 }{
		{10, 1, math.Sqrt(800)},
		{1, 2, 4},
		{0, .5, 1},
		{1, 1, math.Sqrt(8)},
	} {
		l := must(NewGradualFTRL(euclidean(set), c.M, c.L))
		near(t, "λ_1", l.Lambda(), c.want)
		if l.Lambda()*l.Lambda() < 8*c.M*c.M*(1-1e-15) {
			t.Errorf("M = %v: λ_1² = %v is below 8M²", c.M, l.Lambda()*l.Lambda())
		}
	}
	// The a-priori form of Corollary 7.30, L/2 included, on M-smooth losses with gradients within
	// L.
	r := random.New(1, "c14")
	for range 50 {
		M := logUniform(r, 10)
		L := 2.2 * M
		l := must(NewGradualFTRL(euclidean(set), M, L))
		u := []float64{2*r.Float64() - 1}
		var v, regret float64
		centre, last, lastCentre := 0.0, 0.0, 0.0
		for k := range 60 {
			centre = max(-1, min(1, centre+.2*r.NormFloat64()))
			x := l.Predict()[0]
			if k > 0 {
				v += M * M * (centre - lastCentre) * (centre - lastCentre) // gradients at x_{t−1}
			}
			regret += M / 2 * ((x-centre)*(x-centre) - (u[0]-centre)*(u[0]-centre))
			if err := l.UpdateBoth([]float64{M * (x - centre)}, []float64{M * (last - centre)}); err != nil {
				t.Fatal(err)
			}
			last, lastCentre = x, centre
		}
		lambda := math.Sqrt(max(8*M*M, 4*L*L) + v)
		prior := lambda*u[0]*u[0]/2 + L/2 + 4*math.Sqrt(v)
		if b := bound(t, l, u); b > prior || regret > b+1e-12 {
			t.Errorf("M = %v: regret %v, bound %v, a-priori %v", M, regret, b, prior)
		}
	}
}

// TestFTRLProximalBound evaluates the formula of the doc comment in O(T).
func TestFTRLProximalBound(t *testing.T) {
	r := random.New(2, "c7")
	for range 40 {
		d := 1 + r.IntN(5)
		o := FTRLProximalOptions{
			A: logUniform(r, 10), Beta: logUniform(r, 10), L1: logUniform(r, 10),
			L2: logUniform(r, 10),
		}
		l := must(NewFTRLProximal(d, o))
		u := make([]float64, d)
		for i := range u {
			u[i] = r.NormFloat64()
		}
		n := make([]float64, d)
		want := o.L1*convex.L1.Of(u) + (o.Beta/o.A+o.L2)*vec.Dot(u, u)/2
		for range 30 {
			g := gradient(r, "gaussian", 1, u, false)
			for i, v := range l.Predict() {
				after := math.Sqrt(n[i] + g[i]*g[i])
				sigma := (after - math.Sqrt(n[i])) / o.A
				n[i] += g[i] * g[i]
				want += sigma*(u[i]-v)*(u[i]-v)/2 + g[i]*g[i]/((o.Beta+after)/o.A+o.L2)/2
			}
			if err := l.Update(g); err != nil {
				t.Fatal(err)
			}
		}
		near(t, "bound", bound(t, l, u), want)
	}
}

// TestMeanHintVarianceBound has a ψ that is 4-strongly convex in the Euclidean norm: the log
// barrier on [0, ½]^d.
func TestMeanHintVarianceBound(t *testing.T) {
	box := must(convex.NewCube(2, 0, .5))
	reg := must(convex.Restrict(must(convex.NewLogBarrier(2)), box))
	lambda, norm := reg.StrongConvexity()
	if lambda != 4 || norm != convex.Norm(convex.L2) {
		t.Fatalf("λ = %v in %v, want 4 in l2", lambda, norm)
	}
	const c, L, variance = 3., 2., 5.
	l := must(NewMeanHint(reg, c))
	for k := range 7 {
		if err := l.Update([]float64{1, float64(k % 2)}); err != nil {
			t.Fatal(err)
		}
	}
	u := []float64{.25, .5}
	penalty := c * (math.Log(4) - math.Log(2)) // ψ(u) − min ψ with ψ = −Σ ln x, least at (½, ½)
	near(t, "variance bound", must(l.VarianceBound(u, L, variance)),
		penalty+(4*L*L*(1+math.Log(7))+variance)/(2*lambda*c))
}

// TestFTRLCentre: with a centre the penalty is the divergence from it, with entropy, p-norm and
// quadratic maps.
func TestFTRLCentre(t *testing.T) {
	x0, u := []float64{.2, .3, .5}, []float64{.6, .3, .1}
	p15 := must(convex.NewPNorm(3, 1.5))
	for name, c := range map[string]struct {
		reg     convex.Regularizer
		penalty float64
		norm    convex.Norm
		lambda  float64
	}{
		"entropy":   {must(entropyOnSimplex(3)), convex.KL(u, x0), convex.LInf, 1},
		"quadratic": {euclidean(must(convex.NewCube(3, 0, 1))), distanceSquared(u, x0) / 2, convex.L2, 1},
		"p-norm":    {must(convex.Restrict(p15, space(3))), p15.Divergence(u, x0), must(convex.NewLp(3)), .5},
	} {
		l := must(NewFTRL(c.reg, x0, SqrtWeight(2)))
		nearVector(t, name+" x_1", l.Predict(), x0)
		var spent float64
		for k, g := range g4 {
			n := c.norm.Of(g)
			spent += n * n / (2 * math.Sqrt(float64(k+1)))
			if err := l.Update(g); err != nil {
				t.Fatal(err)
			}
		}
		near(t, name+" bound", bound(t, l, u), 2*2*c.penalty+spent/(2*c.lambda))
		near(t, name+" penalty", bound(t, l, u)-bound(t, l, x0), 2*2*c.penalty)
	}
}

// TestPNormTunedRate: the rate α√(p−1)/(L·d^{1/q}·√T), and the a-priori bound ½(‖u‖₁²/α +
// α)·L·√T·√(q−1)·d^{1/q} with its relaxation √(2e·ln d), on losses ±L in all coordinates that push
// away from u.
func TestPNormTunedRate(t *testing.T) {
	const L, rounds = 2., 64
	for _, d := range []int{1, 2, 3, 10, 100} {
		for _, alpha := range []float64{.25, 1, 3} {
			q := 2.
			if d >= 3 {
				q = 2 * math.Log(float64(d))
			}
			p := q / (q - 1)
			eta := alpha * math.Sqrt(p-1) / (L * math.Pow(float64(d), 1/q) * math.Sqrt(rounds))
			l, want := must(NewPNormTuned(d, L, alpha, rounds)), must(NewPNorm(d, p, eta))
			u := make([]float64, d)
			u[d-1] = -alpha
			var regret float64
			for k := range rounds {
				g := make([]float64, d)
				for i, x := range l.Predict() {
					g[i] = math.Copysign(L, x)
					if x == 0 {
						g[i] = L * float64(1-2*((i+k)%2))
					}
					regret += g[i] * (x - u[i])
					if math.Abs(x-want.Predict()[i]) > 1e-12*(1+math.Abs(x)) {
						t.Fatalf("d = %d: x = %v, with the rate of the book %v", d, l.Predict(), want.Predict())
					}
				}
				_, _ = l.Update(g), want.Update(g)
			}
			b := bound(t, l, u)
			prior := (alpha*alpha/alpha + alpha) / 2 * L * math.Sqrt(rounds) * math.Sqrt(q-1) *
				math.Pow(float64(d), 1/q)
			near(t, "bound where all is tight", b, prior)
			if regret > b+1e-9*math.Abs(b) {
				t.Errorf("d = %d: regret %v is above %v", d, regret, b)
			}
			if relaxed := alpha * L * math.Sqrt(rounds) * math.Sqrt(2*math.E*math.Log(float64(d))); d >= 3 &&
				prior > relaxed*(1+1e-12) {
				t.Errorf("d = %d: %v is above √(2e·ln d) %v", d, prior, relaxed)
			}
		}
	}
}

// TestTunedRates: η = √(2·ln d/(L²T)) has √2·L·√(T·ln d), attained by the formula at a vertex
// when all losses are ±L; losses in [0, 1] with η = √(8·ln d/T) have √(T·ln d/2).
func TestTunedRates(t *testing.T) {
	const d, rounds, L = 10, 128, 3.
	p := Problem{
		Set: simplex(d), Rounds: rounds,
		Facts: loss.Facts{
			Lipschitz: math.Inf(1), LipschitzInf: L,
		},
	}
	vertex := make([]float64, d)
	vertex[4] = 1
	for _, name := range []string{"eg", "mirror-descent"} {
		l := must(must(Find(name)).New(p, nil))
		for k := range rounds {
			g := make([]float64, d)
			for i := range g {
				g[i] = L * float64(1-2*((i+k)%2))
			}
			if err := l.Update(g); err != nil {
				t.Fatal(err)
			}
		}
		near(t, name+" bound", bound(t, l, vertex), math.Sqrt2*L*math.Sqrt(rounds*math.Log(d)))
	}
	l := must(NewExponentiatedGradient(d, nil, math.Sqrt(8*math.Log(d)/rounds)))
	var paid float64
	sum := make([]float64, d)
	for range rounds {
		g := make([]float64, d)
		worst := 0 // the likeliest half pays
		for i, x := range l.Predict() {
			if x > l.Predict()[worst] {
				worst = i
			}
			if x >= 1./d {
				g[i] = 1
			}
		}
		g[worst] = 1
		if vec.Sum(g) == d {
			g[d-1] = 0
		}
		paid += vec.Dot(g, l.Predict())
		for i, v := range g {
			sum[i] += v
		}
		if err := l.Update(g); err != nil {
			t.Fatal(err)
		}
	}
	want := math.Sqrt(rounds * math.Log(d) / 2)
	near(t, "bound for losses in [0, 1]", must(l.Bounds(vertex)).Range, want)
	if regret := paid - slices.Min(sum); regret > want {
		t.Errorf("regret %v is above %v", regret, want)
	}
}

// TestScaleFreeHedgeDefaultAlpha: max(4, 2^{−1/4}·√ln d) is 4 for every d that fits in memory (the
// other branch begins at d = e^{16√2}, 6.7e9), with bound (ln d/α + √2·α)·√Q.
func TestScaleFreeHedgeDefaultAlpha(t *testing.T) {
	for _, d := range []int{1, 2, 1000, 1 << 20} {
		l := must(NewScaleFreeHedge(d, 0))
		g, u := make([]float64, d), make([]float64, d)
		g[0], u[d-1] = 3, 1
		if err := l.Update(g); err != nil {
			t.Fatal(err)
		}
		near(t, "bound", bound(t, l, u), 3*(math.Log(float64(d))/4+4*math.Sqrt2))
		if x := l.Predict(); d > 1 { // θ/√Q = (−1, 0, ...)
			near(t, "x", x[0]/x[1], math.Exp(-4))
		}
	}
}

// TestAdaHedgeRecipe: λ_2 = δ_1/α² and Bound = (ψ(u) − min ψ + α²)·λ_{T+1}, for α far from 1.
func TestAdaHedgeRecipe(t *testing.T) {
	for _, alpha := range []float64{.1, .5, 2, 7} {
		l := must(NewAdaFTRL(euclidean(must(convex.NewCube(1, -1, 1))), alpha))
		if err := l.Update([]float64{3}); err != nil { // δ_1 = ⟨g, 0⟩ − min g·x = 3
			t.Fatal(err)
		}
		lambda := 3 / (alpha * alpha)
		near(t, "x_2", l.Predict()[0], max(-1, -3/lambda))
		near(t, "bound", bound(t, l, []float64{.5}), (.125+alpha*alpha)*lambda)
		h := must(NewAdaHedge(3, alpha))
		if err := h.Update([]float64{3, 0, 0}); err != nil { // δ_1 = 1 − 0
			t.Fatal(err)
		}
		near(t, "λ_2", h.Lambda(), 1/(alpha*alpha))
		near(t, "bound", bound(t, h, []float64{0, 1, 0}), (math.Log(3)+alpha*alpha)/(alpha*alpha))
	}
}

// TestSplitBound: regret and bound are the sums of the coordinates'.
func TestSplitBound(t *testing.T) {
	one := func(rate float64) *SubgradientDescent {
		return descent(must(convex.NewCube(1, -1, 1)), nil, Constant(rate))
	}
	split := must(NewSplit(one(.1), one(.2), one(.3)))
	parts := []*SubgradientDescent{one(.1), one(.2), one(.3)}
	u := []float64{.5, -1, 0}
	for _, g := range g4 {
		for i, p := range parts {
			if err := p.Update(g[i : i+1]); err != nil {
				t.Fatal(err)
			}
		}
		if err := split.Update(g); err != nil {
			t.Fatal(err)
		}
	}
	var want float64
	for i, p := range parts {
		want += bound(t, p, u[i:i+1])
	}
	near(t, "bound", bound(t, split, u), want)
}

// TestLosses: the experts' losses are ‖g − h^k‖², of the dual norm given.
func TestLosses(t *testing.T) {
	for _, norm := range []*convex.Lp{convex.L2, convex.LInf, convex.L1} {
		l := must(NewHintExperts(must(NewOptimisticFTRL(euclidean(ball(1)), ConstantWeight(1))), 3, norm))
		experts := must(NewAdaHedge(3, 0))
		r := random.New(3, "r11")
		for _, g := range g4 {
			hints := make([][]float64, 3)
			losses := make([]float64, 3)
			mixed := make([]float64, 3)
			for k := range hints {
				hints[k] = gradient(r, "gaussian", 1, g, false)
				diff := make([]float64, 3)
				for i := range diff {
					diff[i] = g[i] - hints[k][i]
					mixed[i] += experts.Predict()[k] * hints[k][i]
				}
				losses[k] = norm.Of(diff) * norm.Of(diff)
			}
			if err := l.Hints(hints); err != nil {
				t.Fatal(err)
			}
			inner := must(NewOptimisticFTRL(euclidean(ball(1)), ConstantWeight(1)))
			if err := inner.Hint(mixed); err != nil {
				t.Fatal(err)
			}
			if l.Rounds() == 0 {
				nearVector(t, "x_1 of the mixed hint", l.Predict(), inner.Predict())
			}
			nearVector(t, "weights", l.Weights(), experts.Predict())
			_, _ = l.Update(g), experts.Update(losses)
		}
		nearVector(t, "weights", l.Weights(), experts.Predict())
	}
}

// TestSlack: what inexact projections may cost is in the bound, 2(gap + ‖g‖_{S⁻¹}·√(2·gap)) for
// every round played at a projection with a gap, in a set whose projections are iterative.
func TestSlack(t *testing.T) {
	const d, lambda = 4, .01
	set := must(convex.NewCenteredLpBall(d, 3, .2))
	l := must(NewCurvatureFTRL(set, lambda))
	r := random.New(4, "slack")
	s := make([][]float64, d)
	for i := range s {
		s[i] = make([]float64, d)
		s[i][i] = lambda
	}
	var slack, spent float64
	for range 30 {
		g := gradient(r, "gaussian", 1, l.Predict(), false)
		a := gradient(r, "gaussian", 1, l.Predict(), false)
		if gap := l.Gap(); gap > 0 {
			slack += 2 * (gap + math.Sqrt(vec.Dot(g, gauss(s, g))*2*gap))
		}
		for i := range s {
			for j := range s {
				s[i][j] += a[i] * a[j]
			}
		}
		spent += vec.Dot(g, gauss(s, g))
		if err := l.UpdateFactors(g, a); err != nil {
			t.Fatal(err)
		}
	}
	if slack < 1e-6 {
		t.Fatalf("the projections were nearly exact: slack %v", slack)
	}
	u := make([]float64, d)
	if got := bound(t, l, u) - spent/2; math.Abs(got-slack) > 1e-7*spent+1e-3*slack {
		t.Errorf("slack %v in the bound, want %v", got, slack)
	}
}

// TestFTRLBallNorm: the running ‖θ‖² of sparse rounds on a ball survives cancellation.
func TestFTRLBallNorm(t *testing.T) {
	l, dense := must(NewFTRL(euclidean(ball(1)), nil, ConstantWeight(2))),
		must(NewFTRL(euclidean(ball(1)), nil, ConstantWeight(2)))
	r := random.New(5, "ball")
	check := func(what string) {
		t.Helper()
		for i := range 3 {
			if x, y := l.At(i), dense.Predict()[i]; math.Abs(x-y) > 1e-12*max(1, math.Abs(y)) {
				t.Fatalf("%s: At(%d) = %v, dense %v", what, i, x, y)
			}
		}
	}
	for k := range 12000 {
		i := r.IntN(3)
		v := r.NormFloat64()
		switch k % 1000 {
		case 500:
			i, v = 0, 1e9
		case 501:
			i, v = 0, -1e9
		}
		g := make([]float64, 3)
		g[i] = v
		if err := l.UpdateSparse(Sparse{Index: []uint32{uint32(i)}, Value: []float64{v}}); err != nil {
			t.Fatal(err)
		}
		if err := dense.Update(g); err != nil {
			t.Fatal(err)
		}
		if k%1000 < 3 || k%1000 > 498 && k%1000 < 505 {
			check("round")
		}
	}
	check("end")
}
