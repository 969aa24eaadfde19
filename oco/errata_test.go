package oco

import (
	"math"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/vec"
)

// The errata of Orabona (2019), chapter 9 and the appendix, in the order of the book: each test
// shows that the corrected statement holds, and that the printed one fails where it says something
// else.

// bettorAfter is a bettor after coins.
func bettorAfter(t *testing.T, b GuaranteedBettor, coins []float64) GuaranteedBettor {
	t.Helper()
	for _, c := range coins {
		if err := b.Observe(c); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// signs are coins +1, then coins −1.
func signs(heads, tails int) (coins []float64) {
	for range heads {
		coins = append(coins, 1)
	}
	for range tails {
		coins = append(coins, -1)
	}
	return coins
}

// TestErratumE6 is for Example 9.1: for ‖u‖ = 100 the bound of the step size α = 1 is 50 times that
// of α = 100, 5000.5·√T against 100·√T; the book says 100 times.
func TestErratumE6(t *testing.T) {
	const rounds = 400
	var bounds [2]float64
	for k, alpha := range []float64{1, 100} {
		l := descent(space(1), nil, FixedHorizon(alpha, 1, rounds))
		for range rounds {
			if err := l.Update([]float64{1}); err != nil {
				t.Fatal(err)
			}
		}
		bounds[k] = bound(t, l, []float64{100}) / math.Sqrt(rounds)
	}
	near(t, "α = 1", bounds[0], 5000.5)
	near(t, "α = 100", bounds[1], 100)
	near(t, "the ratio", bounds[0]/bounds[1], 50.005)
}

// TestErratumE7 is for section 9.1: the wealth after t rounds is ε times the product of 1 + β_i·c_i
// over i ≤ t; the book stops at t − 1.
func TestErratumE7(t *testing.T) {
	b := kt(3)
	product, before := 3.0, 3.0
	for _, c := range []float64{.5, -.25, 1, 1} {
		before = product
		product *= 1 + b.Fraction()*c
		bettorAfter(t, b, []float64{c})
	}
	near(t, "wealth", math.Exp(b.LogWealth()), product)
	if math.Abs(product-before) < .1 {
		t.Error("the last round does not tell the two apart")
	}
}

// TestErratumE9 is for Lemma 9.4 and Theorem 9.5: their exponent is (Σc)²/(4T) once, without a sum
// over t around it. Three heads show it for the lemma, and the missing ln ε of the theorem.
func TestErratumE9(t *testing.T) {
	heads := signs(3, 0)
	_, best, err := BestFraction(heads)
	if err != nil {
		t.Fatal(err)
	}
	if right, printed := 9./12, 3*9./12; best < right || best >= printed {
		t.Errorf("the best log-wealth of three heads is %v, want at least %v and below %v", best, right, printed)
	}
	// For a bettor that begins with little, a bound on ln Wealth without ln ε is above it.
	const epsilon = 1e-3
	floor := 9./12 - math.Log(3)/2 - math.Log(math.Pi/2)
	if log := bettorAfter(t, kt(epsilon), heads).LogWealth(); log < math.Log(epsilon)+floor || log >= floor {
		t.Errorf("log-wealth %v from %v, want at least ln ε + %v", log, epsilon, floor)
	}
}

// TestErratumE10 is for section 9.2.1: the K of the regret bound there is a factor of the wealth,
// e^K of the K that Theorem 9.5 subtracts from its logarithm. The smallest K to subtract from the
// potential is ln(π/2), and so the factor is π/2. Read as the factor, ln(π/2) promises more than
// the bettor has.
func TestErratumE10(t *testing.T) {
	add := math.Log(math.Pi / 2)
	for n := 1; n <= 200; n++ {
		for x := 0.0; x <= float64(n); x += .25 {
			floor := x*x/float64(4*n) - math.Log(float64(n))/2 - add
			if v := potential(n, x); v < floor-1e-12 {
				t.Fatalf("ln F_%d(%v) = %v, below %v", n, x, v, floor)
			}
		}
	}
	near(t, "ln F_1(0)", potential(1, 0), -add)
	w := math.Exp(bettorAfter(t, kt(1), signs(1000, 1000)).LogWealth())
	if right, wrong := 1/(math.Pi/2*math.Sqrt(2000)), 1/(add*math.Sqrt(2000)); w < right || w >= wrong {
		t.Errorf("wealth %v, want at least %v and below %v", w, right, wrong)
	}
}

// TestErratumE11 is for Lemma 9.7: f(x) = b·exp(x²/(2a)) has all of ℝ for its domain, so that f* is
// even. On x ≥ 0, as printed, f* would be −b for every negative θ.
func TestErratumE11(t *testing.T) {
	near(t, "f*(−1.5)", exponentialConjugate(-1.5, 4, math.Log(.5)), 3.002837381)
	near(t, "f*(1.5)", exponentialConjugate(1.5, 4, math.Log(.5)), 3.002837381)
}

// TestErratumE12 is for Theorem 9.8: the logarithm has |u_i|, not u_i². With 530 heads among
// 1,000 coins the regret at u = 0.01 is above the bound with u_i².
func TestErratumE12(t *testing.T) {
	const u, n = .01, 1000.
	l := must(NewCoordinateKT(1, CoordinateKTOptions{Lipschitz: 1, Epsilon: 1}))
	regret := 0.0
	for k := range 1000 {
		c := 1 - 2*float64(k%2)
		if k%34 == 1 { // 30 times, where it was −1
			c = 1
		}
		regret -= c * (l.Predict()[0] - u)
		if err := l.Update([]float64{-c}); err != nil {
			t.Fatal(err)
		}
	}
	with := func(size float64) float64 {
		return u*math.Sqrt(4*n*math.Log1p(math.Sqrt2*size*math.Pi/2*n)) + 1
	}
	if right, printed := with(u), with(u*u); regret > right || regret <= printed {
		t.Errorf("regret %v: the bound with |u| is %v, with u² %v", regret, right, printed)
	}
	if b := bound(t, l, []float64{u}); regret > b {
		t.Errorf("regret %v above Bound, %v", regret, b)
	}
}

// TestErratumE13 is for Examples 9.11 and 9.12: with the step size that the book prints,
// √(2D)/(2√t) in place of √2·D/(2√t) for D = 2, the points of the first rounds are others; for the
// p-norm the right factor is √(2(p−1))·D/2.
func TestErratumE13(t *testing.T) {
	right, printed := sphereDirection(2), descent(must(convex.NewCenteredBall(2, 1)), nil, InverseSqrt(1, 1))
	lp, _, err := lpDirection(2, 2, InverseSqrt(math.Sqrt(2*(2-1)), 1))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []Learner{right, printed, lp} {
		if err := l.Update([]float64{-.3, -.4}); err != nil {
			t.Fatal(err)
		}
	}
	nearVector(t, "right", right.Predict(), []float64{.3 * math.Sqrt2, .4 * math.Sqrt2})
	nearVector(t, "p = 2", lp.Predict(), right.Predict())
	nearVector(t, "printed", printed.Predict(), []float64{.3, .4})
}

// TestErratumE14 is for the comparison after Example 9.11: the regularizer is (√t/(2α))·‖x‖², with
// the norm squared. Only then is the bound √T·(‖u‖²/(2α) + α), up to the one constant that the
// book's proof rounds up.
func TestErratumE14(t *testing.T) {
	const rounds = 2500
	l := must(NewFTRL(euclidean(space(1)), nil, SqrtWeight(1)))
	for range rounds {
		if err := l.Update([]float64{1}); err != nil {
			t.Fatal(err)
		}
	}
	for _, u := range []float64{0, 1, 2, 8} {
		if b, closed := bound(t, l, []float64{u}), math.Sqrt(rounds)*(u*u/2+1); !(b <= closed) || b < closed-1 {
			t.Errorf("u = %v: bound %v, want %v", u, b, closed)
		}
	}
}

// TestErratumE15 is for Theorem 9.14: the regret of the sum is that of the parts for every split of
// u, the same number for all. The least one is among the bounds.
func TestErratumE15(t *testing.T) {
	r := random.New(5, "splits")
	one, two := must(NewEuclideanKT(2, 1.5, 1)),
		must(NewCoordinateKT(2, CoordinateKTOptions{Lipschitz: 1.5, Epsilon: 1}))
	l := must(NewAdded(one, two))
	u := []float64{2, -1}
	splits := [][]float64{{2, -1}, {0, 0}, {5, 7}}
	regrets, bounds, total := make([]float64, 3), make([]float64, 3), 0.0
	for round := range 100 {
		g := gradient(r, "gaussian", round, l.Predict(), true)
		total += vec.Dot(g, l.Predict()) - vec.Dot(g, u)
		for k, v := range splits {
			regrets[k] += vec.Dot(g, one.Predict()) - vec.Dot(g, v) +
				vec.Dot(g, two.Predict()) - (g[0]*(u[0]-v[0]) + g[1]*(u[1]-v[1]))
		}
		if err := l.Update(g); err != nil {
			t.Fatal(err)
		}
	}
	for k, v := range splits {
		near(t, "regret of a split", regrets[k], total)
		bounds[k] = bound(t, one, v) + bound(t, two, []float64{u[0] - v[0], u[1] - v[1]})
	}
	if bounds[0] == bounds[1] || bounds[2] <= bounds[0] {
		t.Errorf("bounds of the splits %v", bounds)
	}
	near(t, "Bound", bound(t, l, u), min(bounds[0], bounds[1]))
}

// TestErratumE16 is for Remark 9.16: the function that turns KL into regret is nondecreasing, so
// that the bound for fewer experts is larger; the book says non-increasing.
func TestErratumE16(t *testing.T) {
	l := expertBettor(20, ExpertBettingOptions{Range: 1})
	r := random.New(2, "mass")
	for range 50 {
		g := make([]float64, 20)
		for i := range g {
			g[i] = r.Float64()
		}
		if err := l.Update(g); err != nil {
			t.Fatal(err)
		}
	}
	last := math.Inf(1)
	for k := 1; k <= 20; k++ {
		b := must(l.QuantileBound(float64(k) / 20))
		if !(b < last) {
			t.Errorf("the bound for %d of 20 experts is %v, for one less %v", k, b, last)
		}
		last = b
	}
}

// TestErratumE17 is for section 9.6: g_t is a vector of losses, and the coin of an expert is the
// loss paid less its own. The book calls them rewards, which would give the weight to the worst.
// This is also the sign that the remark beside the proof of Theorem 9.17 flips (E18).
func TestErratumE17(t *testing.T) {
	l := expertBettor(3, ExpertBettingOptions{Range: 1})
	for range 5 {
		if err := l.Update([]float64{.1, .5, .9}); err != nil {
			t.Fatal(err)
		}
	}
	if x := l.Predict(); !(x[0] > x[1] && x[1] >= x[2] && l.state.Coins[0] > 0 && l.state.Coins[2] <= 0) {
		t.Errorf("weights %v and coins %v after losses 0.1, 0.5, 0.9", x, l.state.Coins)
	}
}

// TestErratumE18 is for the proof of Theorem 9.17, whose sums run over the d experts with weights
// x_{t,i}: the sum of π_i·c_i·x_i is at most 0 in every round, for the coins a − g_i.
func TestErratumE18(t *testing.T) {
	r := random.New(3, "sum")
	prior := []float64{.1, .2, .3, .4}
	l := expertBettor(4, ExpertBettingOptions{Range: 1, Prior: prior})
	for range 200 {
		bets := make([]float64, 4)
		for i := range bets {
			bets[i] = l.state.Coins[i] / float64(l.state.T+1) * math.Exp(l.LogWealth(i))
		}
		before := append([]float64(nil), l.state.Coins...)
		if err := l.Update([]float64{r.Float64(), r.Float64(), r.Float64(), r.Float64()}); err != nil {
			t.Fatal(err)
		}
		s := 0.0
		for i, p := range prior {
			s += p * (l.state.Coins[i] - before[i]) * bets[i]
		}
		if s > 1e-12 {
			t.Fatalf("Σ π_i·c_i·x_i = %v", s)
		}
	}
}

// TestErratumE19 is for the proof of (9.8): it needs ln(1 + β·c) − ln F_t(S + c), which is concave
// in c, so that the two coins ±1 are the worst. With the printed plus it is not.
func TestErratumE19(t *testing.T) {
	const n, s = 20., 3. // n = t + T
	log := func(sign, c float64) float64 {
		return math.Log1p(math.Tanh(s/n)*c) + sign*(s+c)*(s+c)/(2*n)
	}
	least, below := min(log(-1, 1), log(-1, -1)), 0
	for k := -99; k < 100; k++ {
		c := float64(k) / 100
		if log(-1, c) < least-1e-15 {
			t.Errorf("at the coin %v it is %v, below %v at the ends", c, log(-1, c), least)
		}
		if middle := (log(1, c-.01) + log(1, c+.01)) / 2; log(1, c) < middle {
			below++
		}
	}
	if below == 0 {
		t.Error("with the plus it is concave too")
	}
	near(t, "the two ends", log(-1, 1), log(-1, -1))
}

// TestErratumE20 is for the end of the same proof: the wealth at the horizon is at least
// (ε·√2/2)·exp(S²/(4T)). The book has exp(S²/(2T)) and no ε, which ten heads refute.
func TestErratumE20(t *testing.T) {
	const epsilon, n = .5, 10.
	w := math.Exp(bettorAfter(t, must(NewExponentialBettor(n, epsilon)), signs(n, 0)).LogWealth())
	near(t, "wealth", w, epsilon*9.054961263)
	right, printed := epsilon*math.Sqrt2/2*math.Exp(n/4), math.Sqrt2/2*math.Exp(n/2)
	if w < right || w >= printed {
		t.Errorf("wealth %v, want at least %v and below %v", w, right, printed)
	}
}

// TestErratumE37 is for the proof of Theorem A.2: its b is e − 1, for which b/(1+b) is exactly the
// factor 1 − 1/e of ln(1 + b); the book prints 1.71825.
func TestErratumE37(t *testing.T) {
	gap := func(b float64) float64 { return b/(1+b) - (1-1/math.E)*math.Log1p(b) }
	if v := gap(math.E - 1); math.Abs(v) > 1e-15 {
		t.Errorf("at e − 1 the two sides differ by %v", v)
	}
	if v := gap(1.71825); math.Abs(v) < 1e-7 {
		t.Errorf("at 1.71825 they differ by %v only", v)
	}
	// Theorem A.1 for C = e: W0(x) ≤ ln((x + C)/(1 + ln C)).
	near(t, "Theorem A.1", math.Log((10+math.E)/(1+1)), 1.849893292)
	if w := portable.LambertW0(10); w > 1.849893292 {
		t.Errorf("W0(10) = %v", w)
	}
}

// TestErratumE38 is for Theorem A.3: the maximizer of θx − b·exp(x²/(2a)) is
// sign(θ)·√(a·W0(aθ²/b²)); the book leaves a and the argument of W0 out. The two upper bounds
// follow from W0 ≤ ln(1 + z).
func TestErratumE38(t *testing.T) {
	const theta, a, b = 2., 3., 1.
	w := portable.LambertW0(a * theta * theta / (b * b))
	x := math.Sqrt(a * w)
	near(t, "the maximizer", x, 2.363990396)
	value := func(x float64) float64 { return theta*x - b*math.Exp(x*x/(2*a)) }
	near(t, "its value", value(x), exponentialConjugate(theta, a, math.Log(b)))
	if printed := math.Sqrt(portable.LambertW0(theta * theta)); value(printed) > value(x)-.1 {
		t.Errorf("the printed maximizer %v has the value %v, the right one %v", printed, value(printed), value(x))
	}
	near(t, "upper bound with W0", theta*math.Sqrt(a*w)-b, 3.727980792)
	near(t, "for θ = −1.5", 1.5*math.Sqrt(4*portable.LambertW0(4*1.5*1.5/.25))-.5, 4.356155354)
}
