package oco

import (
	"math"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/loss"
	"pgregory.net/rapid"
)

func TestGuessing(t *testing.T) {
	unit := must(convex.NewCube(1, 0, 1))
	half := []float64{.5}
	xs, total := guess(t, descent(unit, half, FixedHorizon(1, 2, 4)), squareGuess)
	nearVector(t, "squared losses", xs, []float64{.5, .35, .625, .5125, .60625})
	near(t, "squared losses: the loss", total, .47828125)
	xs, total = guess(t, descent(unit, half, FixedHorizon(1, 1, 4)), absoluteGuess)
	nearVector(t, "absolute losses", xs, []float64{.5, 0, .5, 0, .5})
	near(t, "absolute losses: the loss", total, 2)
	l := descent(unit, half, Adaptive(math.Sqrt2/2))
	xs, total = guess(t, l, squareGuess)
	nearVector(t, "the adaptive rate", xs, []float64{.5, 0, .6708203932, .4767169414, .6328017799})
	near(t, "the adaptive rate: loss", total, 1.0231990096)
	near(t, "the adaptive rate: bound", bound(t, l, []float64{.55}), 2.8610473742)
	near(t, "L* bound", LStarBound(2, 1, .29), 11.0463092423)
}

func TestBallDescent(t *testing.T) {
	l := descent(ball(1), nil, Constant(.5))
	xs, total := play(t, l, g4)
	nearVector(t, "x_2", xs[1], []float64{-.5, .25, -.125})
	nearVector(t, "x_3", xs[2], []float64{-.125, -.25, -.375})
	nearVector(t, "x_4", xs[3], []float64{-.375, -.5, .125})
	nearVector(t, "x_5", xs[4], []float64{-.25, 0, -.25})
	near(t, "loss", total, 1.4375)
	near(t, "regret", total+.7071067812, 2.1446067812)
	near(t, "bound", bound(t, l, bestInBall), 2.5625)

	l = descent(ball(1), nil, InverseSqrt(2, 1.5))
	xs, total = play(t, l, g4)
	nearVector(t, "rate 1/√t: x_5", xs[4], []float64{-.3574129284, -.1815772900, -.4236929357})
	near(t, "rate 1/√t: loss", total, 2.3720280503)
	near(t, "rate 1/√t: bound", bound(t, l, bestInBall), 5.8484376298)

	l = descent(ball(1), nil, Adaptive(math.Sqrt2))
	xs, total = play(t, l, g4)
	nearVector(t, "adaptive rate: x_2", xs[1], []float64{-.8728715609, .4364357805, -.2182178902})
	nearVector(t, "adaptive rate: x_5", xs[4], []float64{-.4602481793, -.1266767692, -.3848860097})
	near(t, "the adaptive rate: loss", total, 2.1542936283)
	near(t, "the adaptive rate: bound", bound(t, l, bestInBall), 7.0710678119)
}

func TestUnbounded(t *testing.T) {
	l := descent(space(3), nil, FixedHorizon(1, 1.5, 4))
	xs, total := play(t, l, g4)
	nearVector(t, "x_5", xs[4], []float64{-1. / 6, 0, -1. / 6})
	near(t, "loss", total, .9583333333)
	near(t, "regret", total+.5, 1.4583333333)
	// The a-priori bound ½L(‖u‖²+1)√T is 2.25; the one with the subgradients seen is below.
	if b := bound(t, l, []float64{-.5, 0, -.5}); b > 2.25 || b < total+.5 {
		t.Errorf("bound %v, want from the regret to 2.25", b)
	}
	if err := l.Update(g4[0]); err == nil {
		t.Error("a round after the horizon was accepted")
	}
}

// TestEqualLearners plays learners that implement the same algorithm in different ways on one
// sequence.
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
				same(t, "mirror descent with ½‖x‖² is descent",
					must(NewMirrorDescent(euclidean(set), nil, rate, math.Inf(1))),
					descent(set, nil, rate), gs, 1e-12)
			}
		}
		whole := space(d)
		same(t, "descent is FTRL on ℝ^d", descent(whole, nil, Constant(eta)),
			must(NewFTRL(euclidean(whole), nil, ConstantWeight(1/eta))), gs, 1e-9)
		for _, rate := range []Rate{Constant(eta), StronglyConvex(eta)} {
			same(t, "proximal FTRL is descent on ℝ^d", must(NewProximalFTRL(whole, nil, rate)),
				descent(whole, nil, rate), gs, 1e-9)
		}
		// ProximalFTRL takes rates on R^d that descent refuses; a huge ball stands for R^d.
		huge := must(convex.NewCenteredBall(d, 1e6))
		same(t, "proximal FTRL is descent with 1/√t", must(NewProximalFTRL(whole, nil, InverseSqrt(eta, 1))),
			descent(huge, nil, InverseSqrt(eta, 1)), gs, 1e-9)
		same(t, "proximal FTRL is descent with 1/√Q", must(NewProximalFTRL(whole, nil, Adaptive(eta))),
			descent(huge, nil, Adaptive(eta)),
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
			same(t, "the p-norm algorithm is mirror descent", must(NewPNorm(d, p, .1)),
				must(NewMirrorDescent(pmap, nil, Constant(.1), math.Inf(1))), gs, 1e-6)
		}
		same(t, "the p-norm algorithm with p = 2 is descent", must(NewPNorm(d, 2, eta)),
			descent(whole, nil, Constant(eta)), gs, 1e-9)
		entropy := must(entropyOnSimplex(d))
		eg := func() Learner { return must(NewExponentiatedGradient(d, nil, .3)) }
		same(t, "exponentiated gradient is FTRL with entropy", eg(), must(NewFTRL(entropy, nil, ConstantWeight(1/.3))),
			gs, 1e-12)
		same(t, "exponentiated gradient is mirror descent", eg(),
			must(NewMirrorDescent(entropy, nil, Constant(.3), math.Inf(1))),
			gs, 1e-9)
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

func TestNotDescent(t *testing.T) { // Orabona 2019, Example 6.1
	lin := func(c ...float64) loss.Function { return must(loss.NewLinear(c)) }
	f := must(loss.NewMax(lin(-1, 0), lin(1, -1), lin(1, 1)))
	for _, eta := range []float64{.1, 1, 2} {
		near(t, "f(x−ηg)", f.Value([]float64{1 - eta, -eta}), 1)
	}
	if f.Value([]float64{1 - 2.1, -2.1}) <= 1 {
		t.Error("a longer step does not increase f")
	}
	h := must(loss.NewMax(must(loss.NewSquaredDistance([]float64{0, -1})),
		must(loss.NewSquaredDistance([]float64{0, 1}))))
	near(t, "f(1,0)", h.Value([]float64{1, 0}), 2)
	near(t, "along (2,2)", h.Value([]float64{1 - .2, -.2}), 2+8*.01)
	if h.Value([]float64{1 - .2, 0}) >= 2 {
		t.Error("f decreases along (2, 0)")
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

// TestLStarNeedsSmoothness shows why the L* bound requires smoothness on the whole space: l(x) = x
// on [0, 1] has M = 0 and a minimum of 0 there, so that the bound is 0 against u = 0, but the
// regret is not. ½x² with M = 1 and the same minimum, smooth and nonnegative everywhere, obeys it.
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

// TestLStar: x − √(ax + b) ≤ c implies x ≤ a + c + 2√(b + ac), where the factor 2 can be 1 but not
// less than ½. With it, the L* bound of Theorem 4.21 holds on runs with nonnegative smooth losses.
func TestLStar(t *testing.T) {
	tightest := math.Inf(1)
	rapid.Check(t, func(t *rapid.T) {
		r, d, n, _ := drawGame(t, 6, 100)
		a, b, c := logUniform(r, 1e3), logUniform(r, 1e3), logUniform(r, 1e3)
		x := c + (a+math.Sqrt(a*a+4*(a*c+b)))/2 // the largest x of the premise
		if gap := x - math.Sqrt(a*x+b) - c; math.Abs(gap) > 1e-9*x {
			t.Fatalf("x − √(ax+b) − c = %v at x = %v", gap, x)
		}
		tightest = min(tightest, (a+c+math.Sqrt(b+a*c)-x)/x)
		if x > (a+c+math.Sqrt(b+a*c))*(1+1e-12) {
			t.Fatalf("x = %v is above %v", x, a+c+math.Sqrt(b+a*c))
		}
		set := must(convex.NewCenteredBall(d, 1))
		l := must(NewLinearized(descent(set, nil, Adaptive(math.Sqrt2))))
		var fs []loss.Function
		var paid, M float64
		centre := pointIn(r, set)
		noise := logUniform(r, 100)
		for range n {
			z := make([]float64, d)
			for i := range z {
				z[i] = r.NormFloat64()
			}
			M = max(M, vec.Dot(z, z)) // ½(⟨z,x⟩−y)² is ‖z‖²-smooth on all of ℝ^d
			f := must(loss.NewExample(z, vec.Dot(z, centre)+.01*noise*r.NormFloat64(), loss.Squared{}))
			fs = append(fs, f)
			paid += f.Value(l.Predict())
			if err := l.UpdateLoss(f); err != nil {
				t.Fatal(err)
			}
		}
		for _, u := range append(comparators(r, set, make([]float64, d)), centre) {
			var best float64
			for _, f := range fs {
				best += f.Value(u)
			}
			if limit := LStarBound(M, 2, best); paid-best > limit {
				t.Fatalf("regret %v is above the L* bound %v", paid-best, limit)
			}
			if sharp := 16*M + 4*math.Sqrt(M*best); paid-best > sharp {
				t.Fatalf("regret %v is above the L* bound %v with factor 2", paid-best, sharp)
			}
		}
	})
	if tightest > .1 {
		t.Errorf("no draw came near the bound: %v", tightest)
	}
}

// TestOracle: the best rate in hindsight, ‖u−x_1‖/√Q_T, has regret at most ‖u−x_1‖·√Q_T on
// subgradients that do not depend on the points.
func TestOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, gs := drawSequence(t, 6, 60)
		d := len(gs[0])
		var q float64
		for _, g := range gs {
			q += vec.Dot(g, g)
		}
		if q == 0 {
			return
		}
		u := make([]float64, d)
		for i := range u {
			u[i] = r.NormFloat64()
		}
		l := descent(space(d), nil, Constant(vec.Norm2(u)/math.Sqrt(q)))
		var regret float64
		for _, g := range gs {
			regret += vec.Dot(g, l.Predict()) - vec.Dot(g, u)
			if err := l.Update(g); err != nil {
				t.Fatal(err)
			}
		}
		if b := vec.Norm2(u) * math.Sqrt(q); regret > b*(1+1e-9) {
			t.Fatalf("regret %v is above %v", regret, b)
		}
		if b := must(l.Bound(u)); math.Abs(b-vec.Norm2(u)*math.Sqrt(q)) > 1e-9*b {
			t.Fatalf("the bound is %v, want %v", b, vec.Norm2(u)*math.Sqrt(q))
		}
	})
}

// TestConjugateOfBound: Regret_T(u) ≤ ψ_T(u) for all u iff Σ⟨g, x⟩ ≤ −ψ_T*(−Σg), here with ψ_T the
// bound of descent with a constant rate as a function of ‖u‖.
func TestConjugateOfBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		_, gs := drawSequence(t, 6, 60)
		const eta = .3
		l := descent(space(len(gs[0])), nil, Constant(eta))
		var paid, q float64
		sum := make([]float64, len(gs[0]))
		for _, g := range gs {
			paid += vec.Dot(g, l.Predict())
			q += vec.Dot(g, g)
			for i, v := range g {
				sum[i] += v
			}
			if err := l.Update(g); err != nil {
				t.Fatal(err)
			}
		}
		// ψ_T(u) = ‖u‖²/(2η) + ηQ/2 has ψ_T*(θ) = η‖θ‖²/2 − ηQ/2.
		if right := -(eta*vec.Dot(sum, sum)/2 - eta*q/2); paid > right+1e-9*(1+math.Abs(right)) {
			t.Fatalf("loss %v is above %v", paid, right)
		}
	})
}
