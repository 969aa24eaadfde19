package oco

import (
	"math"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/loss"
)

// ktRegret is the closed form of the regret of KT for L = 1 (Orabona and Pál 2016, Corollary 5).
func ktRegret(u float64, t int, epsilon float64) float64 {
	n := float64(t)
	return math.Abs(u)*math.Sqrt(n*math.Log1p(24*n*n*u*u/(epsilon*epsilon))) +
		epsilon*(1-1/(math.E*math.Sqrt(math.Pi*n)))
}

// TestKTFigure91 plays KT on ℓ_t(x) = |x − 10| (Orabona 2019, Figure 9.1): points, wealth and total
// loss to ten digits.
func TestKTFigure91(t *testing.T) {
	l := must(NewKT(1, 1))
	p := must(NewLinearized(l))
	f := must(loss.NewExample([]float64{1}, 10, loss.Absolute{}))
	want := []float64{
		0, .5, 1, 1.875, 3.5, 6.5625, 12.375, 1.2890625, 2.234375, 3.91015625, 6.90625, 12.30175781,
		2.5234375, 4.258300781, 7.254882812, 12.46932983,
	}
	table := map[int][4]float64{ // x_T, wealth after T rounds, Σ loss, closed form of the bound
		10:   {3.91015625, 9.49609375, 71.50390625, 112.2375479},
		20:   {15.3809166, 8.282032013, 112.717968, 166.9336462},
		100:  {7.184448078, 28.95550286, 312.0444971, 413.211757},
		1000: {10.50097728, 72.18388319, 1188.816117, 1470.644231},
	}
	var total, mean float64
	for round := 1; round <= 1000; round++ {
		x := l.Predict()[0]
		mean += x / 1000
		if round <= len(want) {
			near(t, "x", x, want[round-1])
		}
		total += f.Value(l.Predict())
		if err := p.UpdateLoss(f); err != nil {
			t.Fatal(err)
		}
		row, ok := table[round]
		if !ok {
			continue
		}
		near(t, "x_T", x, row[0])
		near(t, "wealth", math.Exp(l.LogWealth()), row[1])
		near(t, "total loss", total, row[2])
		near(t, "closed form", ktRegret(10, round, 1), row[3])
		near(t, "identity of regret and wealth", 1-math.Exp(l.LogWealth())+10*l.coins(), total)
		if b := bound(t, l, []float64{10}); !(total <= b && b <= row[3]) {
			t.Errorf("T = %d: regret %v, bound %v, closed form %v", round, total, b, row[3])
		}
	}
	near(t, "mean point", mean, 9.692297729)
	// Subgradient descent from 0 does badly with most step sizes.
	for eta, want := range map[float64]float64{.003: 8501.5, .3: 316.6, 3: 1516, 30: 15000} {
		d, sum := must(NewLinearized(descent(space(1), nil, Constant(eta)))), 0.0
		for range 1000 {
			sum += f.Value(d.Predict())
			if err := d.UpdateLoss(f); err != nil {
				t.Fatal(err)
			}
		}
		if math.Abs(sum-want) > .05 {
			t.Errorf("descent with the step size %v loses %v, want %v", eta, sum, want)
		}
	}
}

// coins is S, the sum of the coins of a learner that bets with a KTBettor.
func (l *Betting) coins() float64 { return l.bettor.(*KTBettor).state.Coins.value() }

// TestKTClosedForms compares the closed forms of the bound: the one that is known to hold, a
// sharper one with the constant e in the logarithm, and the book's with its factor K ≥ π/2, whose
// values for u = 10 are given to ten digits. Random and adversarial coins stay within all of them.
func TestKTClosedForms(t *testing.T) {
	sharp := func(u float64, t int) float64 {
		n := float64(t)
		return u*math.Sqrt(n*math.Log1p(math.E*n*n*u*u)) + 1 - 1/math.Sqrt(math.E*n)
	}
	book := func(u float64, t int) float64 {
		n := float64(t)
		return u*math.Sqrt(4*n*math.Log1p(math.Sqrt2*u*math.Pi/2*n)) + 1
	}
	for n, want := range map[int]float64{10: 101.8546091, 20: 153.1578025, 100: 385.848569, 1000: 1394.561845} {
		near(t, "the sharper form", sharp(10, n), want)
	}
	r := random.New(10, "closed forms")
	for range 300 {
		n := 1 + r.IntN(500)
		coins := tosses(r, n, r.IntN(2) == 0, 2*r.Float64()-1)
		b, s := kt(1), 0.0
		for _, c := range coins {
			if err := b.Observe(c); err != nil {
				t.Fatal(err)
			}
			s += c
		}
		for _, u := range []float64{0, .01, .3, 1, 10, 300} {
			regret := 1 - math.Exp(b.LogWealth()) + math.Abs(s)*u
			if top := min(sharp(u, n), book(u, n), ktRegret(u, n, 1)); !(regret <= top+1e-9*(1+top)) {
				t.Fatalf("T = %d, S = %v, u = %v: regret %v above %v", n, s, u, regret, top)
			}
		}
	}
}

// TestKTLipschitz: KT for a Lipschitz constant L plays the same points on subgradients times L, and
// its bound is L times as large.
func TestKTLipschitz(t *testing.T) {
	r := random.New(1, "lipschitz")
	a, b := must(NewKT(1, 2)), must(NewKT(8, 2))
	for range 100 {
		g := 2*r.Float64() - .8
		g = min(g, 1)
		if a.Update([]float64{g}) != nil || b.Update([]float64{8 * g}) != nil {
			t.Fatal("refused")
		}
		if a.Predict()[0] != b.Predict()[0] {
			t.Fatalf("points %v and %v", a.Predict(), b.Predict())
		}
	}
	u := []float64{3}
	near(t, "bound", bound(t, b, u), 8*bound(t, a, u))
	if err := a.Update([]float64{1.01}); noregret.CodeOf(err) != noregret.BadInput {
		t.Errorf("a subgradient above L: %v", err)
	}
}

// TestKTOverflow: after a thousand equal subgradients the wealth would leave the range of float64,
// and the round that does it is refused; the learner goes on with others.
func TestKTOverflow(t *testing.T) {
	for _, l := range []Learner{
		must(NewKT(1, 1)),
		must(NewCoordinateKT(1, CoordinateKTOptions{Lipschitz: 1, Epsilon: 1})),
	} {
		refused := 0
		for range 1200 {
			if err := l.Update([]float64{-1}); err != nil {
				refused++
			}
		}
		if x := l.Predict()[0]; refused == 0 || !vec.IsFinite(x) || !(x > 1e290) {
			t.Errorf("%v: %d refused, x = %v", l, refused, x)
		}
		// A loss takes 99.9 % of the wealth.
		if err := l.Update([]float64{1}); err != nil || !(l.Predict()[0] < 1e298) {
			t.Errorf("%v: a loss: %v, x = %v", l, err, l.Predict()[0])
		}
	}
}

// TestKTBoundIsTight plays KT on coins that always agree: the regret against the best u comes near
// the bound, so the bound cannot be much smaller.
func TestKTBoundIsTight(t *testing.T) {
	best := 0.0
	for _, n := range []int{10, 100, 600} {
		l := must(NewKT(1, 1))
		for range n {
			if err := l.Update([]float64{-1}); err != nil {
				t.Fatal(err)
			}
		}
		for e := -5.0; e < 500; e++ {
			u := math.Exp(e)
			regret := 1 - math.Exp(l.LogWealth()) + float64(n)*u
			b := bound(t, l, []float64{u})
			if regret > b*(1+1e-12) {
				t.Fatalf("T = %d, u = %v: regret %v above %v", n, u, regret, b)
			}
			best = max(best, regret/b)
		}
	}
	if best < .5 {
		t.Errorf("the largest ratio of regret and bound is %v", best)
	}
}

// TestCoordinateKTOracle has three rounds of Algorithm 9.3.
func TestCoordinateKTOracle(t *testing.T) {
	l := must(NewCoordinateKT(2, CoordinateKTOptions{Lipschitz: 1, Epsilon: .5}))
	xs, _ := play(t, l, [][]float64{{1, -.5}, {.5, -1}, {-1, .25}})
	nearVector(t, "x_2", xs[1], []float64{-.25, .125})
	nearVector(t, "x_3", xs[2], []float64{-.3125, .3125})
	nearVector(t, "x_4", xs[3], []float64{-.0390625, .1708984375})
	near(t, "wealth", math.Exp(l.LogWealth(0)), .3125)
	near(t, "wealth", math.Exp(l.LogWealth(1)), .546875)
}

// TestCoordinateKTIsCopiesOfKT: the points are those of one KT for each coordinate, zeros included;
// with clocks of their own, of one that skips its zeros. The bound is the sum of theirs, and within
// the closed form of Theorem 9.8 with |u_i| in the logarithm.
func TestCoordinateKTIsCopiesOfKT(t *testing.T) {
	const d = 4
	r := random.New(2, "copies")
	for _, own := range []bool{false, true} {
		l := must(NewCoordinateKT(d, CoordinateKTOptions{Lipschitz: 1.5, Epsilon: .25, OwnClocks: own}))
		var copies []*Betting
		for range d {
			copies = append(copies, must(NewKT(1.5, .25)))
		}
		for round := range 200 {
			for i, c := range copies {
				near(t, "coordinate", l.Predict()[i], c.Predict()[0])
			}
			g := gradient(r, []string{"sparse", "gaussian"}[round%2], round, l.Predict(), true)
			if err := l.Update(g); err != nil {
				t.Fatal(err)
			}
			for i, c := range copies {
				if g[i] == 0 && own {
					continue
				}
				if err := c.Update(g[i : i+1]); err != nil {
					t.Fatal(err)
				}
			}
		}
		u := []float64{1, -3, 0, 100}
		sum, closed := 0.0, 0.0
		for i, c := range copies {
			sum += bound(t, c, u[i:i+1])
			closed += 1.5 * ktRegret(u[i], c.Rounds(), .25)
		}
		near(t, "bound", bound(t, l, u), sum)
		if sum > closed {
			t.Errorf("bound %v above the closed form %v", sum, closed)
		}
	}
}

// sphereDirection is the direction of Example 9.11, with the step size √2/√t.
func sphereDirection(d int) Learner {
	return descent(must(convex.NewCenteredBall(d, 1)), nil, InverseSqrt(math.Sqrt2, 1))
}

// TestMagnitudeDirectionExample911 has five rounds of Example 9.11 and the exact split of its
// regret (Theorem 9.9).
func TestMagnitudeDirectionExample911(t *testing.T) {
	magnitude, direction := must(NewKT(1, 1)), sphereDirection(2)
	l := must(NewMagnitudeDirection(magnitude, direction, convex.L2))
	gs := [][]float64{{-1, 0}, {-.6, -.8}, {0, -1}, {.6, -.8}, {-.8, .6}}
	ws := [][]float64{
		{0, 0}, {1, 0}, {.894427191, .4472135955}, {.5777158612, .8162379456}, {.1103638575, .9938912511},
	}
	zs := []float64{0, 0, .2, .2852198067, .3185834781}
	ss := []float64{0, -.6, -.4472135955, -.3063608397, .5080436646}
	var total, first, second float64
	for k, g := range gs {
		w := direction.Predict()
		nearVector(t, "w", w, ws[k])
		z := magnitude.Predict()[0]
		near(t, "z", z, zs[k])
		near(t, "s", vec.Dot(g, w), ss[k])
		total += vec.Dot(g, l.Predict()) - (3*g[0] + 4*g[1])
		first += vec.Dot(g, w) * (z - 5)
		second += 5 * (vec.Dot(g, w) - (.6*g[0] + .8*g[1]))
		if err := l.Update(g); err != nil {
			t.Fatal(err)
		}
	}
	near(t, "wealth", math.Exp(magnitude.LogWealth()), 1.014968581)
	near(t, "regret", total, 13.38503142)
	near(t, "the magnitude's", first, 4.212685272)
	near(t, "the direction's", second, 9.172346147)
	// The bound at T = 1000 and ‖u‖ = 5.
	n := 1000.0
	near(t, "the closed form", ktRegret(5, 1000, 1)+2*math.Sqrt2*5*math.Sqrt(n), 1159.059341)
}

// TestMagnitudeDirectionExample912 has the direction of Example 9.12 for p = 3/2, and the constants
// of its L1 variant.
func TestMagnitudeDirectionExample912(t *testing.T) {
	l, _, err := lpDirection(3, 1.5, InverseSqrt(math.Sqrt(2*(1.5-1)), 1))
	if err != nil {
		t.Fatal(err)
	}
	xs, _ := play(t, l, [][]float64{{.5, -.5, .25}, {.3, .3, -.9}, {-2, .9, .1}, {-3, 2, 1}})
	nearVector(t, "x_2", xs[1], []float64{-.3889111187, .3889111187, -.09722777968})
	nearVector(t, "x_3", xs[2], []float64{-.6654078324, .1087310398, .1958990542})
	nearVector(t, "x_4", xs[3], []float64{.3821594692, -.1047883246, .2107561051})
	nearVector(t, "x_5", xs[4], []float64{.859198255, -.3454489857, -.006684251313})
	norm := must(convex.NewLp(1.5))
	near(t, "‖x_2‖", norm.Of(xs[1]), .6428203977)
	near(t, "‖x_5‖", norm.Of(xs[4]), 1)
	// For p = 2 it is projected subgradient descent.
	a, _, err := lpDirection(3, 2, InverseSqrt(math.Sqrt2, 1))
	if err != nil {
		t.Fatal(err)
	}
	r := random.New(3, "p = 2")
	b := sphereDirection(3)
	for round := range 50 {
		g := gradient(r, "gaussian", round, a.Predict(), true)
		if a.Update(g) != nil || b.Update(g) != nil {
			t.Fatal("refused")
		}
		nearVector(t, "p = 2", a.Predict(), b.Predict())
	}
	for _, c := range [][3]float64{{10, 4.605170186, 1.277379416}, {1000, 13.815510558, 1.078030446}} {
		q := 2 * math.Log(c[0])
		near(t, "q", q, c[1])
		near(t, "p", q/(q-1), c[2])
		near(t, "d^(1/q)", math.Pow(c[0], 1/q), 1.648721271)
	}
}

// TestMagnitudeDirectionRegret: Theorem 9.9 is an equality, for random learners and losses.
func TestMagnitudeDirectionRegret(t *testing.T) {
	r := random.New(4, "magnitude")
	for range 50 {
		d := 1 + r.IntN(5)
		magnitude, direction := must(NewKT(1.5, 1)), sphereDirection(d)
		l := must(NewMagnitudeDirection(magnitude, direction, convex.L2))
		u := make([]float64, d)
		for i := range u {
			u[i] = 3 * r.NormFloat64()
		}
		n := vec.Norm2(u)
		var total, parts float64
		for round := range 60 {
			g := gradient(r, "gaussian", round, l.Predict(), true)
			s := vec.Dot(g, direction.Predict())
			total += vec.Dot(g, l.Predict()) - vec.Dot(g, u)
			parts += s*(magnitude.Predict()[0]-n) + n*(s-vec.Dot(g, u)/n)
			if err := l.Update(g); err != nil {
				t.Fatal(err)
			}
		}
		near(t, "regret", total, parts)
		near(t, "bound", bound(t, l, u),
			bound(t, magnitude, []float64{n})+n*bound(t, direction, scaledTo(u, 1/n)))
	}
}

// scaledTo is f·u.
func scaledTo(u []float64, f float64) []float64 {
	v := make([]float64, len(u))
	for i, x := range u {
		v[i] = f * x
	}
	return v
}

// TestShiftedProposition913: the regret at u is that of the inner learner at u − x_0, and at x_0 it
// is at most ε.
func TestShiftedProposition913(t *testing.T) {
	r := random.New(5, "shift")
	origin := []float64{4, -2}
	inner := must(NewEuclideanKT(2, 1.5, 1))
	l := must(NewShifted(inner, origin))
	beside := must(NewEuclideanKT(2, 1.5, 1))
	u := []float64{1, 1}
	var shifted, plain, start float64
	for round := range 200 {
		x, y := l.Predict(), beside.Predict()
		nearVector(t, "point", x, []float64{y[0] + 4, y[1] - 2})
		g := gradient(r, "drifting", round, x, true)
		shifted += vec.Dot(g, x) - vec.Dot(g, u)
		start += vec.Dot(g, x) - vec.Dot(g, origin)
		plain += vec.Dot(g, y) - vec.Dot(g, []float64{-3, 3})
		if l.Update(g) != nil || beside.Update(g) != nil {
			t.Fatal("refused")
		}
	}
	near(t, "regret", shifted, plain)
	near(t, "bound", bound(t, l, u), bound(t, beside, []float64{-3, 3}))
	if start > 1.5 {
		t.Errorf("the regret at the origin is %v", start)
	}
}

// TestAddedTheorem914: KT with ε_1 and KT with ε_2 play KT with ε_1 + ε_2; the regret splits for
// every split of u; the bound is the least one, beside the others' at 0.
func TestAddedTheorem914(t *testing.T) {
	r := random.New(6, "added")
	one, two, both := must(NewKT(1.5, .5)), must(NewKT(1.5, 2)), must(NewKT(1.5, 2.5))
	l := must(NewAdded(one, two))
	var total float64
	regrets := [2]float64{}
	for round := range 300 {
		near(t, "point", l.Predict()[0], both.Predict()[0])
		g := gradient(r, "drifting", round, l.Predict(), true)
		total += g[0] * (l.Predict()[0] - 7)
		regrets[0] += g[0] * (one.Predict()[0] - 9)
		regrets[1] += g[0] * (two.Predict()[0] + 2)
		if l.Update(g) != nil || both.Update(g) != nil {
			t.Fatal("refused")
		}
	}
	near(t, "regret", total, regrets[0]+regrets[1])
	u, zero := []float64{7}, []float64{0}
	near(t, "bound", bound(t, l, u), min(bound(t, one, u)+bound(t, two, zero), bound(t, one, zero)+bound(t, two, u)))
}

// TestAddedRefusesWhole: a subgradient that one learner refuses for its size reaches none of them.
func TestAddedRefusesWhole(t *testing.T) {
	first := must(NewEuclideanKT(2, 10, 1))
	second := must(NewCoordinateKT(2, CoordinateKTOptions{Lipschitz: 1, Epsilon: 1}))
	l := must(NewAdded(first, second))
	for range 3 {
		if err := l.Update([]float64{.5, -.5}); err != nil {
			t.Fatal(err)
		}
	}
	before := must(l.MarshalBinary())
	for _, update := range []func() error{
		func() error { return l.Update([]float64{2, 0}) },
		func() error { return l.UpdateSparse(Sparse{Index: []uint32{1}, Value: []float64{2}}) },
	} {
		if err := update(); noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("a subgradient above L∞: %v", err)
		}
	}
	if string(must(l.MarshalBinary())) != string(before) {
		t.Error("the refused round changed a learner")
	}
	if err := l.Update([]float64{1, 0}); err != nil {
		t.Errorf("it does not go on: %v", err)
	}
}

// TestConstrainedReduction: ⟨g, x − u⟩ ≤ ⟨g̃, y − u⟩ for all u in the set, and g̃ is no longer than
// g, in every norm on boxes (Cutkosky 2020).
func TestConstrainedReduction(t *testing.T) {
	r := random.New(7, "reduction")
	outside := 0
	for range 200 {
		d := 1 + r.IntN(4)
		for _, set := range setsFor(r, d) {
			start := pointIn(r, set)
			y := make([]float64, d)
			for i := range y {
				y[i] = start[i] + 3*r.NormFloat64()
			}
			l := must(NewConstrained(must(NewShifted(must(NewEuclideanKT(d, 1.5, 1)), y)), set))
			x := l.Predict()
			if vec.Distance2(x, y) > 1e-6 {
				outside++
			}
			g := gradient(r, "gaussian", 0, x, true)
			if err := l.reduce(g); err != nil {
				t.Fatal(err)
			}
			if vec.Norm2(l.reduced) > vec.Norm2(g)*(1+1e-12) {
				t.Fatalf("%v: ‖g̃‖ = %v above ‖g‖ = %v", set, vec.Norm2(l.reduced), vec.Norm2(g))
			}
			if _, ok := set.(*convex.Box); ok && vec.MaxAbs(l.reduced) > vec.MaxAbs(g) {
				t.Fatalf("%v: ‖g̃‖∞ = %v above ‖g‖∞ = %v", set, vec.MaxAbs(l.reduced), vec.MaxAbs(g))
			}
			for range 5 {
				u := pointIn(r, set)
				var left, right float64
				for i := range u {
					left += g[i] * (x[i] - u[i])
					right += l.reduced[i] * (y[i] - u[i])
				}
				if left > right+1e-9*(1+vec.Norm2(u)+vec.Norm2(y)) {
					t.Fatalf("%v: ⟨g, x − u⟩ = %v above ⟨g̃, y − u⟩ = %v", set, left, right)
				}
			}
		}
	}
	if outside < 500 {
		t.Errorf("%d points were outside", outside)
	}
}
