package oco

import (
	"math"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/random"
)

// betAll plays coins and returns the fractions and the wealth after each round. It checks that the
// product and the sum of the winnings agree, and that the wealth stays above 0.
func betAll(t tester, b Bettor, coins []float64) (fractions, wealths []float64) {
	t.Helper()
	game := must(NewBettingGame(b))
	for _, c := range coins {
		fractions = append(fractions, b.Fraction())
		if _, err := game.Toss(c); err != nil {
			t.Fatalf("coin %v: %v", c, err)
		}
		w := math.Exp(b.LogWealth())
		if s := game.Wealth(); !(math.Abs(s-w) <= 1e-10*max(math.Abs(s), 1)) {
			t.Fatalf("after %d rounds the winnings leave %v, the product is %v", game.Rounds(), s, w)
		}
		if !(w > 0) {
			t.Fatalf("the wealth is %v", w)
		}
		wealths = append(wealths, w)
	}
	return fractions, wealths
}

// potential is ln F_t(x) of the KT bettor.
func potential(t int, x float64) float64 {
	n := float64(t)
	a, _ := math.Lgamma((n + 1 + x) / 2)
	b, _ := math.Lgamma((n + 1 - x) / 2)
	c, _ := math.Lgamma(n + 1)
	return n*math.Ln2 + a + b - c - math.Log(math.Pi)
}

func kt(epsilon float64) *KTBettor { return must(NewKTBettor(epsilon)) }

// tosses draws coins: ±1 or continuous, with a bias.
func tosses(r *random.Source, n int, continuous bool, bias float64) []float64 {
	coins := make([]float64, n)
	for t := range coins {
		coins[t] = 1
		if r.Float64() > .5+bias/2 {
			coins[t] = -1
		}
		if continuous {
			coins[t] *= math.Sqrt(r.Float64())
		}
	}
	return coins
}

// TestKTBettorOracles has the book's bettor on short sequences, to ten digits.
func TestKTBettorOracles(t *testing.T) {
	f, w := betAll(t, kt(1), []float64{1, 1, -1, 1})
	nearVector(t, "fractions", f, []float64{0, .5, 2. / 3, .25})
	nearVector(t, "wealth", w, []float64{1, 1.5, .5, .625})
	near(t, "F_4(2)", math.Exp(potential(4, 2)), .625)
	beta, best, err := BestFraction([]float64{1, 1, -1, 1})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "the best fraction", beta, .5)
	near(t, "log-wealth regret", best-math.Log(.625), .993251773)

	f, w = betAll(t, kt(1), []float64{.5, -.25, 1, .75})
	nearVector(t, "fractions of continuous coins", f[:2], []float64{0, .25})
	for k, x := range []float64{0, .25, .078125, .3173828125} {
		before := 1.0
		if k > 0 {
			before = w[k-1]
		}
		near(t, "bet on a continuous coin", f[k]*before, x)
	}
	near(t, "wealth of continuous coins", w[3], 1.253662109375)

	heads := make([]float64, 10)
	for i := range heads {
		heads[i] = 1
	}
	_, w = betAll(t, kt(1), heads)
	near(t, "10 heads", w[9], 180.4257812)
	both := make([]float64, 100)
	for i := range both {
		both[i] = float64(1 - i%2*2)
	}
	_, w = betAll(t, kt(1), both)
	near(t, "50 heads and tails", w[99], .07958923739)
	b := kt(1)
	for range 2000 {
		if err := b.Observe(1); err != nil {
			t.Fatal(err)
		}
	}
	near(t, "2000 heads", b.LogWealth(), 1381.921482)
	if _, err := Bet(b); noregret.CodeOf(err) != noregret.Diverged {
		t.Errorf("the bet of a wealth of exp(1382): %v", err)
	}
}

// TestErratumE8: the ½·ln T + ln 2 of Theorem 9.3 is for coins ±1 only, and the bound on ln Wealth
// has a term ln ε; the book states it for coins in [−1, 1].
func TestErratumE8(t *testing.T) {
	b, halves := kt(1), make([]float64, 100)
	for i := range halves {
		halves[i] = .5
		if err := b.Observe(.5); err != nil {
			t.Fatal(err)
		}
	}
	_, best, _ := BestFraction(halves)
	near(t, "the log-wealth of 100 halves", b.LogWealth(), 21.24046222)
	near(t, "the best in hindsight", best, 40.54651081)
	r := random.New(2, "coins")
	for _, bias := range []float64{0, .1, .5, .9, 1} {
		for _, n := range []int{1, 2, 7, 100, 900} {
			coins := tosses(r, n, false, bias)
			b := kt(3)
			betAll(t, b, coins)
			_, best, _ := BestFraction(coins)
			if lost := math.Log(3) + best - b.LogWealth(); lost > .5*math.Log(float64(n))+math.Ln2+1e-9 {
				t.Errorf("%d coins of bias %v: log-wealth regret %v", n, bias, lost)
			}
		}
	}
}

// TestKTBettorPotential: for ±1 coins the wealth is ε·F_t(S_t), whatever their order; for others it
// is at least that, which is at least (ε/(e√(πt)))·exp(S²/2t), after every round. Doubling ε
// doubles the bets.
func TestKTBettorPotential(t *testing.T) {
	r := random.New(1, "coins")
	for _, continuous := range []bool{false, true} {
		for _, bias := range []float64{0, .2, .6, 1} {
			coins := tosses(r, 500, continuous, bias)
			one, two := kt(1), kt(2)
			s := 0.0
			for k, c := range coins {
				x, y := must(Bet(one)), must(Bet(two))
				if math.Abs(y-2*x) > 1e-12*math.Abs(y) {
					t.Fatalf("the bets are %v and %v", x, y)
				}
				if one.Observe(c) != nil || two.Observe(c) != nil {
					t.Fatal("refused")
				}
				s += c
				f := potential(k+1, s)
				if d := one.LogWealth() - f; d < -1e-9 || !continuous && d > 1e-9 {
					t.Fatalf("round %d: log-wealth %v, potential %v", k+1, one.LogWealth(), f)
				}
				n := float64(k + 1)
				if floor := s*s/(2*n) - 1 - math.Log(math.Pi*n)/2; f < floor-1e-9 {
					t.Fatalf("round %d: potential %v below %v", k+1, f, floor)
				}
			}
		}
	}
}

// TestBestFractionLemma94: for ±1 coins the best log-wealth is at least (Σc)²/(4T), with the closed
// form of its value; BestFraction also stands at the ends, and no other fraction is better.
func TestBestFractionLemma94(t *testing.T) {
	r := random.New(3, "coins")
	for _, bias := range []float64{0, .3, 1, -1} {
		coins := tosses(r, 60, false, bias)
		s, heads := 0.0, 0.0
		for _, c := range coins {
			s += c
			heads += (1 + c) / 2
		}
		beta, best, err := BestFraction(coins)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "the best fraction", beta, s/60)
		if best < s*s/240-1e-12 {
			t.Errorf("best log-wealth %v below %v", best, s*s/240)
		}
		want := 0.0
		for _, a := range []float64{heads, 60 - heads} {
			if a > 0 {
				want += a * math.Log(2*a/60)
			}
		}
		near(t, "its value", best, want)
	}
	for range 50 {
		coins := tosses(r, 1+r.IntN(20), true, 2*r.Float64()-1)
		_, best, _ := BestFraction(coins)
		for k := -10; k <= 10; k++ {
			v := 0.0
			for _, c := range coins {
				v += math.Log1p(float64(k) / 10 * c)
			}
			if v > best+1e-12 {
				t.Fatalf("%v: fraction %v has %v, the best %v", coins, float64(k)/10, v, best)
			}
		}
	}
	if _, _, err := BestFraction([]float64{1.5}); err == nil {
		t.Error("a coin of 1.5 was taken")
	}
}

// TestExponentialBettorOracles has the bettor that loses at most a fixed fraction on short
// sequences.
func TestExponentialBettorOracles(t *testing.T) {
	coins := []float64{1, 1, -1, 1}
	f, w := betAll(t, must(NewExponentialBettor(4, 1)), coins)
	nearVector(t, "fractions", f, []float64{0, .1651404129, .2781854903, .1243530018})
	nearVector(t, "wealth", w, []float64{1, 1.165140413, .8410152559, .9455980275})
	var floors []float64
	s, h := 0.0, 0.0
	for k, c := range coins {
		s += c
		h += 1 / float64(k+1+4)
		floors = append(floors, math.Exp(s*s/(2*float64(k+1+4))-h/2))
	}
	nearVector(t, "F_t(S_t)", floors, []float64{1.0 * floors[0], 1.161834243, .8324906126, .9349503013})
	// The fraction from the potential itself.
	potential := func(t int, x float64) float64 { return math.Exp(x * x / (2 * float64(t+4))) }
	near(t, "β_3", (potential(3, 3)-potential(3, 1))/(potential(3, 3)+potential(3, 1)), f[2])

	both := make([]float64, 100)
	for i := range both {
		both[i] = float64(1 - i%2*2)
	}
	_, w = betAll(t, must(NewExponentialBettor(100, 1)), both)
	near(t, "50 heads and tails", w[99], .7079955478)
	if !(w[99] >= .7079890049 && .7079890049 >= 1/math.Sqrt2) {
		t.Errorf("wealth %v", w[99])
	}
	heads := make([]float64, 10)
	for i := range heads {
		heads[i] = 1
	}
	_, w = betAll(t, must(NewExponentialBettor(10, 1)), heads)
	near(t, "10 heads", w[9], 9.054961263)
}

// TestExponentialBettorStep: (1 + β_t·c)·F_{t−1}(S) ≥ F_t(S + c) for all coins, so the wealth is at
// least F_t(S_t) after every round, also past the horizon.
func TestExponentialBettorStep(t *testing.T) {
	r := random.New(4, "coins")
	for range 20_000 {
		T, round := 1+r.IntN(30), 1+r.IntN(60)
		s := (2*r.Float64() - 1) * float64(round-1)
		c := 2*r.Float64() - 1
		if r.IntN(3) == 0 {
			c = math.Copysign(1, c)
		}
		n := float64(round + T)
		before := 0.0
		if round > 1 {
			before = s * s / (2 * (n - 1))
		}
		left := math.Log1p(math.Tanh(s/n)*c) + before
		if right := (s+c)*(s+c)/(2*n) - 1/(2*n); left < right-1e-12 {
			t.Fatalf("T = %d, round %d, S = %v, c = %v: %v < %v", T, round, s, c, left, right)
		}
	}
	for _, bias := range []float64{0, .4, 1} {
		for _, continuous := range []bool{false, true} {
			b := must(NewExponentialBettor(50, 2))
			s, h := 0.0, 0.0
			for k, c := range tosses(r, 200, continuous, bias) {
				if err := b.Observe(c); err != nil {
					t.Fatal(err)
				}
				s += c
				n := float64(k + 1 + 50)
				h += 1 / n
				if floor := math.Ln2 + s*s/(2*n) - h/2; b.LogWealth() < floor-1e-9 {
					t.Fatalf("round %d: log-wealth %v below %v", k+1, b.LogWealth(), floor)
				}
				if k+1 == 50 && b.LogWealth() < math.Log(2/math.Sqrt2)+s*s/200 {
					t.Errorf("at the horizon: %v", b.LogWealth())
				}
			}
		}
	}
}

// TestExponentialBettorRegret: at the horizon the regret bound is at most |u|·√(2T·ln(1 + 4Tu²/ε²))
// + ε·(1 − 1/√2), whose values are given to ten digits; a wealth of √T at the start is better than
// one of 1.
func TestExponentialBettorRegret(t *testing.T) {
	const rounds, u = 1000, 10.0
	for epsilon, want := range map[float64]float64{1: 1606.482317, math.Sqrt(rounds): 1104.155829} {
		closed := u*math.Sqrt(2*rounds*math.Log1p(4*rounds*u*u/(epsilon*epsilon))) + epsilon*(1-1/math.Sqrt2)
		near(t, "closed form", closed, want)
		l := must(NewBetting(must(NewExponentialBettor(rounds, epsilon)), 1))
		r := random.New(9, "regret")
		for _, c := range tosses(r, rounds, false, .05) {
			if err := l.Update([]float64{-c}); err != nil {
				t.Fatal(err)
			}
		}
		if b := bound(t, l, []float64{u}); !(b <= closed) || b < closed/2 {
			t.Errorf("ε = %v: bound %v, closed form %v", epsilon, b, closed)
		}
	}
}

// TestExponentialConjugateLemma97 has the conjugate's values and upper bounds to ten digits, and
// compares it with a search (Orabona 2019, Lemma 9.7).
func TestExponentialConjugateLemma97(t *testing.T) {
	for _, c := range []struct{ theta, a, b, value, lambert, log float64 }{
		{2, 3, 1, 2.189899415, 3.727980792, 4.547917834},
		{-1.5, 4, .5, 3.002837381, 4.356155354, 5.200724622},
	} {
		near(t, "f*", exponentialConjugate(c.theta, c.a, math.Log(c.b)), c.value)
		if !(c.value <= c.lambert && c.lambert <= c.log) {
			t.Error("the upper bounds are out of order")
		}
		z := c.a * c.theta * c.theta / (c.b * c.b)
		near(t, "its upper bound", math.Abs(c.theta)*math.Sqrt(c.a*math.Log1p(z))-c.b, c.log)
	}
	near(t, "f*(0)", exponentialConjugate(0, 3, 0), -1)
	near(t, "f* of a tiny θ", exponentialConjugate(1e-300, 3, 0), -1)
	r := random.New(5, "conjugate")
	for range 300 {
		theta, a, b := 4*r.NormFloat64(), math.Exp(2*r.NormFloat64()), math.Exp(2*r.NormFloat64())
		got := exponentialConjugate(theta, a, math.Log(b))
		for k := range 400 {
			x := float64(k-200) / 20 * math.Sqrt(a)
			if v := theta*x - b*math.Exp(x*x/(2*a)); v > got+1e-9*math.Abs(got) {
				t.Fatalf("θ = %v, a = %v, b = %v: f* = %v, but %v at %v", theta, a, b, got, v, x)
			}
		}
	}
	if v := exponentialConjugate(math.MaxFloat64, 1e5, -5); math.IsNaN(v) {
		t.Error("f* of the largest float64 is NaN")
	}
}

// TestBettingDuality: Σ g·(x − u) = ε − Wealth + S·u for every bettor (Theorem 9.6), and the regret
// is within ε + Conjugate(u).
func TestBettingDuality(t *testing.T) {
	r := random.New(6, "duality")
	for _, make := range []func() GuaranteedBettor{
		func() GuaranteedBettor { return kt(1.5) },
		func() GuaranteedBettor { return must(NewExponentialBettor(120, 1.5)) },
		func() GuaranteedBettor { return must(NewNewtonBettor(1.5)) },
		func() GuaranteedBettor { return must(NewFixedFractionBettor(.3, 1.5)) },
		func() GuaranteedBettor { return must(NewFixedFractionBettor(-.7, 1.5)) },
		func() GuaranteedBettor { return must(NewFixedFractionBettor(0, 1.5)) },
	} {
		for _, bias := range []float64{-1, -.3, 0, .1, .5, 1} {
			b := make()
			game := must(NewBettingGame(b))
			us := []float64{0, .01, -.01, 1, -1, 30, -30, 1e4}
			regrets := [8]float64{}
			for _, c := range tosses(r, 150, bias != 1, bias) {
				x := must(Bet(b))
				for k, u := range us {
					regrets[k] += -c * (x - u)
				}
				if y := must(game.Toss(c)); x != y {
					t.Fatalf("the bet is %v and then %v", x, y)
				}
			}
			for k, u := range us {
				scale := 1 + math.Abs(u)*150 + game.Wealth()
				if got := game.LinearRegret(u); math.Abs(got-regrets[k]) > 1e-12*scale ||
					math.Abs(got-(1.5-game.Wealth()+game.Coins()*u)) > 1e-12*scale {
					t.Errorf("%v, u = %v: regret %v, by the identity %v", b, u, regrets[k], got)
				}
				if bound := 1.5 + b.Conjugate(u); !(regrets[k] <= bound+1e-12*scale) {
					t.Errorf("%v, bias %v, u = %v: regret %v above %v", b, bias, u, regrets[k], bound)
				}
			}
		}
	}
}

// TestBettorRefusals: coins that are not coins change nothing, and options that make no sense are
// refused.
func TestBettorRefusals(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, b := range []Bettor{
		kt(1), must(NewExponentialBettor(5, 1)), must(NewFixedFractionBettor(.5, 1)), must(NewNewtonBettor(1)),
		must(NewLearnerBettor(must(NewKT(1, 1)), 1)),
	} {
		for _, c := range []float64{1, -.5} {
			if err := b.Observe(c); err != nil {
				t.Fatal(err)
			}
		}
		beta, w := b.Fraction(), b.LogWealth()
		for _, c := range []float64{1.1, -1.1, 1 + 1e-9, nan, inf, -inf} {
			if err := b.Observe(c); noregret.CodeOf(err) != noregret.BadInput {
				t.Errorf("%v took the coin %v: %v", b, c, err)
			}
		}
		if b.Fraction() != beta || b.LogWealth() != w {
			t.Errorf("%v: a refused coin changed it", b)
		}
		if err := b.Observe(1 + 1e-13); err != nil {
			t.Errorf("%v: a coin above 1 by rounding: %v", b, err)
		}
	}
	for _, v := range []float64{0, -1, nan, inf} {
		if _, err := NewKTBettor(v); err == nil {
			t.Errorf("a KT bettor with %v", v)
		}
		if _, err := NewExponentialBettor(3, v); err == nil {
			t.Errorf("an exponential bettor with %v", v)
		}
		if _, err := NewBetting(kt(1), v); err == nil {
			t.Errorf("a Lipschitz constant of %v", v)
		}
	}
	for _, v := range []float64{1, -1, 2, nan, inf} {
		if _, err := NewFixedFractionBettor(v, 1); err == nil {
			t.Errorf("a fraction of %v", v)
		}
	}
	if _, err := NewExponentialBettor(0, 1); err == nil {
		t.Error("a horizon of 0")
	}
	if _, err := NewBetting(nil, 1); err == nil {
		t.Error("no bettor")
	}
	if _, err := NewBettingGame(nil); err == nil {
		t.Error("a game without a bettor")
	}
	if _, err := NewLearnerBettor(must(NewEuclideanKT(2, 1, 1)), 1); err == nil {
		t.Error("a learner of two dimensions")
	}
}

// TestLearnerBettor: betting the points of KT gives KT's bets, and a learner that bets more than
// the wealth is refused.
func TestLearnerBettor(t *testing.T) {
	r := random.New(7, "both ways")
	for _, bias := range []float64{0, .5} {
		a, b := kt(2), must(NewLearnerBettor(must(NewKT(1, 2)), 2))
		for _, c := range tosses(r, 200, true, bias) {
			near(t, "fraction", b.Fraction(), a.Fraction())
			if a.Observe(c) != nil || b.Observe(c) != nil {
				t.Fatal("refused")
			}
		}
		near(t, "log-wealth", b.LogWealth(), a.LogWealth())
	}
	greedy := must(NewLearnerBettor(descent(space(1), nil, Constant(10)), 1))
	if err := greedy.Observe(1); err != nil { // bets 0
		t.Fatal(err)
	}
	if err := greedy.Observe(-1); noregret.CodeOf(err) != noregret.BadInput { // bets 10 of 1
		t.Errorf("a bet above the wealth: %v", err)
	}
}

func TestBettorSnapshots(t *testing.T) {
	r := random.New(8, "snapshots")
	for _, make := range []func() Bettor{
		func() Bettor { return kt(1.5) },
		func() Bettor { return must(NewExponentialBettor(9, 1.5)) },
		func() Bettor { return must(NewNewtonBettor(1.5)) },
		func() Bettor { return must(NewFixedFractionBettor(.3, 1.5)) },
	} {
		a, b := make(), make()
		for _, c := range tosses(r, 30, true, .2) {
			if err := a.Observe(c); err != nil {
				t.Fatal(err)
			}
		}
		data := must(a.(Snapshotter).MarshalBinary())
		if err := b.(Snapshotter).UnmarshalBinary(data); err != nil {
			t.Fatal(err)
		}
		if b.(Snapshotter).UnmarshalBinary(flip(data, len(data)/2)) == nil {
			t.Error("a damaged snapshot was taken")
		}
		if kt(9).UnmarshalBinary(data) == nil {
			t.Error("the snapshot of another bettor was taken")
		}
		for _, c := range tosses(r, 30, true, .2) {
			if a.Fraction() != b.Fraction() || a.LogWealth() != b.LogWealth() {
				t.Fatal("a restored bettor differs")
			}
			if a.Observe(c) != nil || b.Observe(c) != nil {
				t.Fatal("refused")
			}
		}
		if n := testing.AllocsPerRun(20, func() { _, _ = Bet(a); _ = a.Observe(.25) }); n != 0 {
			t.Errorf("%v: %v allocations a round", a, n)
		}
	}
}
