package oco

import (
	"math"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/loss"
)

// Runs on small data whose points and bounds were computed by an independent program in double
// precision, to ten digits. Nk in a test's name numbers the run.

func TestFollowTheLeaderGuessing(t *testing.T) {
	unit := must(convex.NewCube(1, 0, 1))
	half := []float64{.5}
	for name, l := range map[string]Learner{
		"mean leader":             must(NewMeanLeader(unit, half)),
		"descent with 1/(2t)": descent(unit, half, StronglyConvex(2)),
		"descent by RateFunc": descent(unit, half, RateFunc("1/(2t)", func(t int) float64 {
			return 1 / (2 * float64(t))
		})),
		"quadratized FTRL":  must(NewQuadratizedFTRL(unit, half, 2)),
		"descent by curvature": descent(unit, half, StronglyConvex(0)),
		"mirror descent":  must(NewMirrorDescent(euclidean(unit), half, StronglyConvex(2), 0)),
		"proximal FTRL with 1/(2t)": must(NewProximalFTRL(space(1), half, RateFunc("1/(2t)", func(t int) float64 {
			return 1 / (2 * float64(t))
		}))),
		"exact leader": leader(unit, half),
	} {
		xs, total := guess(t, l, squareGuess)
		nearVector(t, name, xs, []float64{.5, .2, .55, .5, .55})
		near(t, name+" loss", total, .6425)
		near(t, name+" regret", total-.29, .3525)
	}
	l := must(NewMeanLeader(unit, half))
	_, total := guess(t, l, squareGuess)
	if b := bound(t, l, []float64{.55}); b < total-.29 || b > 2.3862943611 {
		t.Errorf("Bound = %v, want from the regret %v to 1 + ln 4", b, total-.29)
	}
	near(t, "4+4ln4", 4+4*math.Log(4), 9.5451774445)
	near(t, "1+ln4", 1+math.Log(4), 2.3862943611)
}

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
		t.Error("a round after the horizon was taken")
	}
}

func TestAdaGrad(t *testing.T) {
	box := must(convex.NewBox([]float64{-1, 0, -.5}, []float64{1, 2, .5}))
	l := must(NewAdaGrad(box, []float64{0, 1, 0}))
	xs, total := play(t, l, g4)
	nearVector(t, "x_2", xs[1], []float64{-1, 2, -.5})
	nearVector(t, "x_3", xs[2], []float64{-.1514718626, .7350889359, -.5})
	nearVector(t, "x_4", xs[3], []float64{-.6766975940, .1577386667, .1172133998})
	nearVector(t, "x_5", xs[4], []float64{-.4184987043, 1.0521658577, -.2700849348})
	near(t, "loss", total, 2.8911543183)
	near(t, "bound", bound(t, l, []float64{-1, 0, -.5}), 10.2816109743)

	thin := must(convex.NewBox([]float64{-1, .75, -.5}, []float64{1, .75, .5}))
	ys, _ := play(t, must(NewAdaGrad(thin, []float64{0, .75, 0})), g4)
	for i, y := range ys {
		if y[1] != .75 || y[0] != xs[i][0] || y[2] != xs[i][2] {
			t.Errorf("x_%d = %v on a box of no width in the second coordinate, %v on one of width 2", i+1, y, xs[i])
		}
	}
}

var cls3 = []struct {
	z []float64
	y float64
}{{[]float64{1, 0}, 1}, {[]float64{.6, .8}, 1}, {[]float64{-1, 0}, -1}}

// batch runs a conversion on cls3 in the drawn order 1, 2, 3, 2 and returns x_5.
func batch(t *testing.T, l Learner, phi loss.Scalar, ridge float64) []float64 {
	t.Helper()
	p := must(NewLinearized(l))
	for _, k := range []int{0, 1, 2, 1} {
		f := must(loss.NewRidge(must(loss.NewExample(cls3[k].z, cls3[k].y, phi)), ridge))
		if err := p.UpdateLoss(f); err != nil {
			t.Fatal(err)
		}
	}
	return l.Predict()
}

func risk(x []float64, phi loss.Scalar, ridge float64) float64 {
	var s float64
	for _, c := range cls3 {
		s += must(loss.NewRidge(must(loss.NewExample(c.z, c.y, phi)), ridge)).Value(x) / 3
	}
	return s
}

func TestOnlineToBatch(t *testing.T) {
	check := func(name string, base Learner, alpha Alpha, phi loss.Scalar, ridge float64, x5, mean []float64,
		f float64,
	) {
		t.Helper()
		l := must(NewAveraging(base, alpha))
		nearVector(t, name+" x_5", batch(t, l, phi, ridge), x5)
		avg := must(l.Average())
		nearVector(t, name+" average", avg, mean)
		near(t, name+" F", risk(avg, phi, ridge), f)
	}
	check("Ex 3.2", descent(space(2), nil, Constant(.5)), UniformAlpha(), loss.HingeLoss{}, 0,
		[]float64{1.3, .4}, []float64{.65, .2}, .3833333333)
	check("Ex 3.3", descent(space(2), nil, Constant(1)), InverseSqrtAlpha(1), loss.HingeLoss{}, 0,
		[]float64{1.4242640687, .5656854249}, []float64{.8050180048, .2188725966}, .2439517034)
	check("Ex 3.4", descent(space(2), nil, Constant(.5)), UniformAlpha(), loss.LogisticLoss{}, 0,
		[]float64{.7038644117, .3358104281}, []float64{.3073871709, .0925140309}, .5582293028)
	disk := must(convex.NewCenteredBall(2, 2))
	check("Ex 4.12 uniform", descent(disk, nil, StronglyConvex(.5)), UniformAlpha(), loss.HingeLoss{}, .5,
		[]float64{.8, .4}, []float64{.9166666667, 0}, .415625)
	// α_t = t and η_t = 2/(λt(t+1)) = 1/Σ_{i≤t} λi applied to t·g.
	check("Ex 4.12 weighted", descent(disk, nil, RateFunc("2/(λt(t+1))", func(t int) float64 {
		return 2 / (.5 * float64(t) * float64(t+1))
	})), LinearAlpha(), loss.HingeLoss{}, .5, []float64{1.28, .64}, []float64{1.1333333333, 0}, .4277777778)

	any := must(NewAnytime(descent(space(2), nil, Constant(.5)), UniformAlpha()))
	p := must(NewLinearized(any))
	var w []float64
	for i, k := range []int{0, 1, 2, 1} {
		if i == 3 {
			w = append(w, any.Predict()...)
		}
		if err := p.UpdateLoss(must(loss.NewExample(cls3[k].z, cls3[k].y, loss.HingeLoss{}))); err != nil {
			t.Fatal(err)
		}
	}
	nearVector(t, "anytime w_4", w, []float64{.65, .2})
}

func TestSlackFormulas(t *testing.T) {
	near(t, "the slack of high probability", must(HighProbabilitySlack(1000, .05)), .1717877633)
	near(t, "the slack of validation", must(ValidationSlack(500, 500, .05)), .3980650711)
	n := must(SampleComplexity(func(t int) float64 { return math.Sqrt(float64(t)) }, .05, .1))
	good := func(t int) bool { return 1/math.Sqrt(float64(t))+must(HighProbabilitySlack(t, .05)) <= .1 }
	if !good(n) || good(n-1) {
		t.Errorf("SampleComplexity = %d is not the least", n)
	}
}

func TestExponentiatedGradient(t *testing.T) {
	l := must(NewExponentiatedGradient(3, nil, .5))
	xs, total := play(t, l, g4)
	nearVector(t, "x_2", xs[1], []float64{.2187230696, .4630367420, .3182401884})
	nearVector(t, "x_5", xs[4], []float64{.3045043424, .3909913152, .3045043424})
	near(t, "loss", total, .7986193746)
	vertex := []float64{0, 1, 0}
	b := must(l.Bounds(vertex))
	near(t, "bound", b.Infinity, 3.1972245773)
	if !math.IsInf(b.Local, 1) {
		t.Errorf("local-norm bound %v for subgradients with negative values", b.Local)
	}
	shifted := make([][]float64, len(g4))
	for i, g := range g4 {
		for _, v := range g {
			shifted[i] = append(shifted[i], v+1)
		}
	}
	l = must(NewExponentiatedGradient(3, nil, .5))
	ys, _ := play(t, l, shifted)
	for i := range ys {
		nearVector(t, "x after a shift", ys[i], xs[i])
	}
	b = must(l.Bounds(vertex))
	near(t, "L∞ bound", b.Infinity, 5.5253495773)
	near(t, "local-norm bound", b.Local, 4.1222469690)

	xs, total = play(t, descent(simplex(3), []float64{1. / 3, 1. / 3, 1. / 3}, Constant(.5)), g4)
	nearVector(t, "OSD x_2", xs[1], []float64{0, .6875, .3125})
	nearVector(t, "OSD x_5", xs[4], []float64{.2916666667, .4791666667, .2291666667})
	near(t, "OSD loss", total, 1.703125)
}

func TestPNorm(t *testing.T) {
	l := must(NewPNorm(3, 1.5, .25))
	xs, total := play(t, l, g4)
	nearVector(t, "x_2", xs[1], []float64{-.2392722756, .0598180689, -.0149545172})
	nearVector(t, "x_5", xs[4], []float64{-.0992125657, 0, -.0992125657})
	near(t, "loss", total, .6178788420)
	near(t, "bound", bound(t, l, []float64{-1, 0, 0}), 3.2158301871)
	q := 2 * math.Log(3)
	near(t, "q", q, 2.1972245773)
	xs, total = play(t, must(NewPNorm(3, q/(q-1), .25)), g4)
	nearVector(t, "q=2ln3 x_5", xs[4], []float64{-.1174598191, 0, -.1174598191})
	near(t, "q=2ln3 loss", total, .6846458464)
}

func TestLazyAndGreedy(t *testing.T) {
	xs, _ := play(t, descent(ball(.5), nil, Constant(1)), g4)
	nearVector(t, "descent", xs[4], []float64{.0653381924, .4030013473, -.2886534855})
	xs, _ = play(t, must(NewFTRL(euclidean(ball(.5)), nil, ConstantWeight(1))), g4)
	nearVector(t, "FTRL", xs[4], []float64{-.3535533906, 0, -.3535533906})
	for name, l := range map[string]Learner{
		"descent r=100": descent(ball(100), nil, Constant(1)),
		"FTRL r=100": must(NewFTRL(euclidean(ball(100)), nil, ConstantWeight(1))),
	} {
		xs, _ = play(t, l, g4)
		nearVector(t, name, xs[4], []float64{-.5, 0, -.5})
	}
}

func TestFTRL(t *testing.T) {
	l := must(NewFTRL(euclidean(ball(1)), nil, SqrtWeight(1)))
	xs, total := play(t, l, g4)
	nearVector(t, "x_2", xs[1], []float64{-.7071067812, .3535533906, -.1767766953})
	// x_5 divides by √5; with the book's √4 it would be (-.25, 0, -.25).
	nearVector(t, "x_5", xs[4], []float64{-.2236067977, 0, -.2236067977})
	near(t, "loss", total, 1.6995014798)
	near(t, "bound", bound(t, l, bestInBall), 3.1363282223)

	xs, total = play(t, descent(ball(1), nil, RateFunc("1/sqrt(t)", inverseSqrt)), g4)
	nearVector(t, "descent: x_5", xs[4], []float64{-.5062166096, -.0593461353, -.3694210116})
	near(t, "descent: loss", total, 1.9684800780)
	l = must(NewFTRL(euclidean(space(3)), nil, SqrtWeight(1.5)))
	_, total = play(t, l, g4)
	near(t, "R³ loss", total, 1.1330009865)
	if b := bound(t, l, []float64{-.5, 0, -.5}); b > 3.75 || b < total+.5 {
		t.Errorf("bound %v, want from the regret %v to 3.75", b, total+.5)
	}
}

func TestHedge(t *testing.T) {
	best := []float64{0, 1, 0}
	l := must(NewEntropicFTRL(3, 1, 0))
	xs, total := play(t, l, g4)
	nearVector(t, "entropic FTRL: x_2", xs[1], []float64{.1729190624, .5256057954, .3014751422})
	nearVector(t, "entropic FTRL: x_5", xs[4], []float64{.3063616912, .3872766177, .3063616912})
	near(t, "entropic FTRL: loss", total, .9092235471)
	if b := bound(t, l, best); b > 4.1925882959 || b < total {
		t.Errorf("entropic FTRL: bound %v, want from %v to the a-priori 4.19", b, total)
	}
	near(t, "entropic FTRL: a-priori bound", 2*math.Sqrt(4*math.Log(3)), 4.1925882959)

	s := must(NewScaleFreeHedge(3, 4))
	xs, total = play(t, s, g4)
	nearVector(t, "scale-free Hedge: x_2", xs[1], []float64{.0023556331, .9503302117, .0473141552})
	nearVector(t, "scale-free Hedge: x_5", xs[4], []float64{.2119415576, .5761168848, .2119415576})
	near(t, "scale-free Hedge: loss", total, 2.0917158254)
	near(t, "scale-free Hedge: bound", bound(t, s, best), 11.8630146433)

	for _, lead := range []bool{false, true} {
		a := must(NewAdaHedge(3, 0))
		if lead { // a first round of equal losses
			if err := a.Update([]float64{2, 2, 2}); err != nil {
				t.Fatal(err)
			}
			if a.Lambda() != 0 {
				t.Errorf("λ_2 = %v after equal losses, want 0", a.Lambda())
			}
		}
		total = 0
		for i, g := range g4 {
			x := a.Predict()
			if i == 1 {
				nearVector(t, "AdaHedge: x_2", x, []float64{1. / 13, 9. / 13, 3. / 13})
			}
			total += vec.Dot(g, x)
			before := a.Lambda()
			if err := a.Update(g); err != nil {
				t.Fatal(err)
			}
			near(t, "δ", (a.Lambda()-before)*math.Log(3), []float64{.75, .2791442871, .2692771096, .2268308584}[i])
			near(t, "λ", a.Lambda(), []float64{.6826794200, .9367675000, 1.1818740880, 1.3883444331}[i])
		}
		nearVector(t, "AdaHedge: x_5", a.Predict(), []float64{.2912453016, .4175093968, .2912453016})
		near(t, "AdaHedge: loss", total, 1.2923740967)
		near(t, "AdaHedge: bound", bound(t, a, best), 3.0505045102)
		if !lead {
			near(t, "AdaHedge: a-priori bound", must(a.PriorBound(best)), 9.0320427711)
		}
	}
	x := []float64{.5, .3, .2}
	g := []float64{1, -.5, .25}
	theta := []float64{math.Log(.5), math.Log(.3), math.Log(.2)}
	near(t, "δ", mixabilityGap(x, g, theta, 1), .2188572582)
	tiny := []float64{1e-9, -.5e-9, .25e-9}
	if d := mixabilityGap(x, tiny, theta, 1); math.Abs(d/2.1375000002e-19-1) > 1e-9 {
		t.Errorf("δ of tiny losses = %v, want 2.1375000002e-19", d)
	}
}

func TestQuadratized(t *testing.T) {
	xs, _ := play(t, must(NewQuadratizedFTRL(space(3), nil, 2)), g4)
	nearVector(t, "quadratized FTRL", xs[4], []float64{-.3645833333, .0416666667, -.1770833333})
	ys, _ := play(t, descent(space(3), nil, StronglyConvex(2)), g4)
	for i := range xs {
		nearVector(t, "quadratized FTRL and descent", xs[i], ys[i])
	}
	xs, _ = play(t, must(NewQuadratizedFTRL(ball(.2), nil, 2)), g4)
	nearVector(t, "quadratized FTRL in a ball", xs[4], []float64{-.1652853913, -.0210785534, -.1106184162})
	xs, _ = play(t, descent(ball(.2), nil, StronglyConvex(2)), g4)
	nearVector(t, "descent in a ball", xs[4], []float64{-.0304029348, -.0642509659, -.0741799321})
}

func TestComposite(t *testing.T) {
	l := must(NewCompositeFTRL(space(3), 1.5, .1))
	xs, total := play(t, l, g4)
	nearVector(t, "x_2", xs[1], []float64{-.3771236166, .1414213562, -.0235702260})
	nearVector(t, "x_3", xs[2], []float64{0, -.0769800359, -.1732050808})
	nearVector(t, "x_4", xs[3], []float64{-.1166666667, -.2, 0})
	nearVector(t, "x_5", xs[4], []float64{0, 0, 0})
	near(t, "loss", total, .7763606852)
	for _, x := range xs[:4] {
		total += .1 * convex.L1.Of(x)
	}
	near(t, "loss with penalty", total, .8872573834)
	xs, _ = play(t, must(NewCompositeFTRL(space(3), 1.5, 100)), g4)
	for _, x := range xs {
		nearVector(t, "x with a huge penalty", x, []float64{0, 0, 0})
	}
}

func TestProximal(t *testing.T) {
	xs, total := play(t, must(NewProximalFTRL(ball(1), nil, Adaptive(math.Sqrt2))), g4)
	nearVector(t, "x_5", xs[4], []float64{-.6928430573, -.0083362317, -.4434251561})
	near(t, "loss", total, 2.0404511038)
	xs, _ = play(t, must(NewProximalFTRL(space(3), nil, Adaptive(1))), g4)
	nearVector(t, "R³ x_5", xs[4], []float64{-.5811027697, .0382550780, -.3360700477})
	f := must(NewFTRLProximal(3, FTRLProximalOptions{A: .5, Beta: 1, L1: .1}))
	xs, total = play(t, f, g4)
	nearVector(t, "L1 x_2", xs[1], []float64{-.225, .1333333333, -.06})
	nearVector(t, "L1 x_5", xs[4], []float64{-.1121264161, 0, -.1467976614})
	near(t, "L1 loss", total, .6446282014)
}

func TestOptimistic(t *testing.T) {
	// ψ = ‖x‖² is twice ½‖x‖².
	l := must(NewOptimisticFTRL(euclidean(space(3)), ConstantWeight(2)))
	var total float64
	for i, g := range g4 {
		if i > 0 {
			if err := l.Hint(g4[i-1]); err != nil {
				t.Fatal(err)
			}
		}
		switch i {
		case 1:
			nearVector(t, "x_2", l.Predict(), []float64{-1, .5, -.25})
		case 3:
			nearVector(t, "x_4", l.Predict(), []float64{-.625, -.75, .625})
		}
		total += vec.Dot(g, l.Predict())
		if err := l.Update(g); err != nil {
			t.Fatal(err)
		}
	}
	u := []float64{-.5, 0, -.5}
	near(t, "loss", total, 2.875)
	near(t, "bound", bound(t, l, u), 4.65625)

	m := must(NewMeanHint(euclidean(space(3)), 2))
	xs, total := play(t, m, g4)
	nearVector(t, "mean hint: x_3", xs[2], []float64{-.1875, -.375, -.5625})
	nearVector(t, "mean hint: x_4", xs[3], []float64{-.5, -.6666666667, .1666666667})
	near(t, "mean hint: loss", total, 2.3229166667)
	near(t, "mean hint: bound", bound(t, m, u), 3.3758680556)
	near(t, "Σ‖g−hint‖²", 4*(bound(t, m, u)-.5), 11.5034722222)
	near(t, "variance bound", must(m.VarianceBound(u, 2, 6.125)), .5+(16*(1+math.Log(4))+6.125)/4)
}

func TestGradual(t *testing.T) {
	set := must(convex.NewCube(1, -1, 1))
	l := must(NewGradualFTRL(euclidean(set), 1, 2))
	var total float64
	for i, a := range []float64{.5, .6, .4, .5} {
		near(t, "λ", l.Lambda(), []float64{4, 4, 4.0012498047, 4.0062451248}[i])
		near(t, "x", l.Predict()[0], []float64{0, .25, .2999062939, .2621375826}[i])
		f := must(loss.NewExample([]float64{1}, a, loss.Squared{}))
		total += f.Value(l.Predict())
		if err := l.UpdateLoss(f); err != nil {
			t.Fatal(err)
		}
	}
	near(t, "loss", total, .2195486398)
	near(t, "Σv", l.state.Change.value(), .06)

	for _, rounds := range []int{4, 1000} {
		l := must(NewGradualFTRL(euclidean(set), 1, 2))
		var regret float64
		for range rounds {
			x := l.Predict()[0]
			regret += (x - .5) * (x - .5)
			if err := l.UpdateLoss(must(loss.NewExample([]float64{1}, .5, loss.Squared{}))); err != nil {
				t.Fatal(err)
			}
		}
		near(t, "linear regret", regret, map[int]float64{4: .41015625, 1000: .48}[rounds])
		// λψ(u) + ‖g_1‖²/λ = .5 + .0625; the a-priori form is λψ(u) + L/2 = 1.5.
		near(t, "bound", bound(t, l, []float64{.5}), .5625)
	}
}

func TestOnlineNewtonStep(t *testing.T) {
	l := must(NewOnlineNewtonStep(space(3), .5, 1))
	var xs [][]float64
	var total float64
	for i, g := range g4 {
		x := append([]float64(nil), l.Predict()...)
		xs = append(xs, x)
		total += vec.Dot(g, x)
		before := l.state.Spent.value()
		if err := l.Update(g); err != nil {
			t.Fatal(err)
		}
		near(t, "gᵀS⁻¹g", l.state.Spent.value()-before,
			[]float64{.7924528302, .8339635614, .8435985987, .6536094200}[i])
	}
	xs = append(xs, l.Predict())
	nearVector(t, "x_2", xs[1], []float64{-.6037735849, .3018867925, -.1509433962})
	nearVector(t, "x_5", xs[4], []float64{-.4717938019, -.1037515450, -.2103070778})
	near(t, "loss", total, 1.6154562223)
	zero := []float64{0, 0, 0}
	near(t, "sum", 2*must(l.SharpBound(zero)), 3.1236244102)
	near(t, "log det", 2*bound(t, l, zero), 3.9752938073)

	in := must(NewOnlineNewtonStep(ball(.25), .5, 1))
	xs, total = play(t, in, g4)
	nearVector(t, "ball x_5", xs[4], []float64{-.2006065915, -.0324178736, -.1456230645})
	near(t, "ball loss", total, .5928392924)
}

func TestVovkAzouryWarmuth(t *testing.T) {
	zs := [][]float64{{1, .5}, {-.5, 1}, {.25, -1}, {1, 1}}
	ys := []float64{1, -.5, .75, .25}
	l := must(NewVovkAzouryWarmuth(2, 1))
	if _, err := l.Prediction(); err == nil {
		t.Error("a prediction before the features")
	}
	var total float64
	for i, z := range zs {
		if err := l.Features(z); err != nil {
			t.Fatal(err)
		}
		if err := l.Features(zs[0]); err == nil {
			t.Error("features of a round were changed")
		}
		nearVector(t, "x", l.Predict(), [][]float64{
			{0, 0}, {.4444444444, .2222222222}, {.5450733753, .0419287212}, {.4936416185, -.2635838150},
		}[i])
		p := must(l.Prediction())
		near(t, "prediction", p, []float64{0, 0, .0943396226, .2300578035}[i])
		near(t, "s/(1+s)", (l.state.Shrink-1)/l.state.Shrink,
			[]float64{.5555555556, .5555555556, .3207547170, .4485549133}[i])
		total += (p - ys[i]) * (p - ys[i]) / 2
		var err error
		if i%2 == 0 {
			err = l.UpdateLabel(ys[i])
		} else {
			err = l.Update([]float64{(p - ys[i]) * z[0], (p - ys[i]) * z[1]})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	near(t, "loss", total, .8401441108)
	u := []float64{.5583815029, -.2161849711}
	near(t, "bound at ridge", bound(t, l, u), .6307147497)
	near(t, "bound at least squares", bound(t, l, []float64{.8426966292, -.3483146067}), .8671821645)
	nearVector(t, "ridge", l.Predict(), u)
}
