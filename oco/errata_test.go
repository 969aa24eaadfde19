package oco

import (
	"math"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/loss"
)

// Corrected constants, each with a run that refutes the printed one, and the guarantees of
// online-to-batch conversion as expectations.

// sample is a data set to draw from; F is the mean loss on it.
type sample struct {
	z [][]float64
	y []float64
}

// drawSample makes n examples with ‖z‖ ≤ radius, labels from a noisy linear rule.
func drawSample(seed uint64, n, d int, radius float64) sample {
	r := random.New(seed, "oco/batch/data")
	var s sample
	for range n {
		z := make([]float64, d)
		for i := range z {
			z[i] = r.NormFloat64()
		}
		scale := radius * (.3 + .7*r.Float64()) / vec.Norm2(z)
		for i := range z {
			z[i] *= scale
		}
		y := math.Copysign(1, z[0]+.3*radius*r.NormFloat64())
		s.z, s.y = append(s.z, z), append(s.y, y)
	}
	return s
}

func (s sample) loss(k int, phi loss.Scalar, ridge float64) loss.Function {
	return must(loss.NewRidge(must(loss.NewExample(s.z[k], s.y[k], phi)), ridge))
}

func (s sample) risk(x []float64, phi loss.Scalar, ridge float64) (total float64) {
	for k := range s.z {
		total += s.loss(k, phi, ridge).Value(x) / float64(len(s.z))
	}
	return total
}

// least is a point of nearly least risk, by averaged subgradient descent.
func (s sample) least(phi loss.Scalar, ridge, radius float64) []float64 {
	d := len(s.z[0])
	l := must(NewAveraging(descent(must(convex.NewCenteredBall(d, radius)), nil, Adaptive(radius)), UniformAlpha()))
	g, h := make([]float64, d), make([]float64, d)
	for range 3000 {
		clear(g)
		for k := range s.z {
			s.loss(k, phi, ridge).Subgradient(h, l.Predict())
			for i, v := range h {
				g[i] += v / float64(len(s.z))
			}
		}
		if err := l.Update(g); err != nil {
			panic(err)
		}
	}
	return must(l.Average())
}

// expectation plays T draws from the sample for every seed and returns the mean risk of the
// average, with its standard error.
func (s sample) expectation(t *testing.T, seeds, rounds int, phi loss.Scalar, ridge float64, learner func() Learner,
	alpha Alpha,
) (mean, se float64) {
	t.Helper()
	var square float64
	for seed := range uint64(seeds) {
		r := random.New(seed+1, "oco/batch")
		l := must(NewAveraging(learner(), alpha))
		p := must(NewLinearized(l))
		for range rounds {
			if err := p.UpdateLoss(s.loss(r.IntN(len(s.z)), phi, ridge)); err != nil {
				t.Fatal(err)
			}
		}
		f := s.risk(must(l.Average()), phi, ridge)
		mean += f / float64(seeds)
		square += f * f / float64(seeds)
	}
	return mean, math.Sqrt(max(square-mean*mean, 0) / float64(seeds-1))
}

// TestGuarantees: E F(x̄) − F(u) within the a-priori bounds of Examples 3.2, 3.3, 3.4 and 4.12,
// on three data sets and for 300 seeds, up to four standard errors; u is near the best, and 0, and
// a random point.
func TestGuarantees(t *testing.T) {
	const seeds, d, radius = 300, 3, 2.
	for data := range uint64(3) {
		s := drawSample(data+1, 12, d, radius)
		for _, T := range []int{1, 10, 100} {
			root, logT := math.Sqrt(float64(T)), math.Log(float64(T))
			check := func(name string, phi loss.Scalar, ridge, ball float64, l func() Learner, alpha Alpha,
				slack func(u2 float64) float64,
			) {
				t.Helper()
				mean, se := s.expectation(t, seeds, T, phi, ridge, l, alpha)
				near := s.least(phi, ridge, ball)
				for _, u := range [][]float64{near, make([]float64, d), {.5, -.25, .25}} {
					if limit := s.risk(u, phi, ridge) + slack(vec.Dot(u, u)); mean > limit+4*se {
						t.Errorf("%s, data %d, T = %d: E F = %v ± %v is above %v", name, data+1, T, mean, se, limit)
					}
				}
			}
			plain := func() Learner { return descent(space(d), nil, Constant(1/(radius*root))) }
			sqrt := func(u2 float64) float64 { return radius * (u2 + 1) / (2 * root) }
			check("Ex 3.2", loss.HingeLoss{}, 0, 20, plain, UniformAlpha(), sqrt)
			check("Ex 3.4", loss.LogisticLoss{}, 0, 20, plain, UniformAlpha(), sqrt)
			check("Ex 3.3", loss.HingeLoss{}, 0, 20, func() Learner {
				return descent(space(d), nil, Constant(1))
			}, InverseSqrtAlpha(radius),
				func(u2 float64) float64 { return radius * (u2 + 1 + logT) / (4*math.Sqrt(float64(T+1)) - 4) })
			const lambda = .5
			for name, c := range map[string]struct {
				phi  loss.Scalar
				ball float64
			}{
				"svm": {loss.HingeLoss{}, 1 / math.Sqrt(lambda)},
				"rlr": {loss.LogisticLoss{}, math.Sqrt(2 * math.Ln2 / lambda)},
			} {
				disk := must(convex.NewCenteredBall(d, c.ball))
				K := lambda*c.ball + radius
				check("Ex 4.12 uniform "+name, c.phi, lambda, c.ball, func() Learner {
					return descent(disk, nil, StronglyConvex(lambda))
				},
					UniformAlpha(), func(float64) float64 { return K * K * (1 + logT) / (2 * lambda * float64(T)) })
				check("Ex 4.12 weighted "+name, c.phi, lambda, c.ball, func() Learner {
					return descent(disk, nil, RateFunc("2/(λt(t+1))", func(t int) float64 {
						return 2 / (lambda * float64(t) * float64(t+1))
					}))
				}, LinearAlpha(), func(float64) float64 { return 2 * K * K / (lambda * float64(T+1)) })
			}
		}
	}
}

// TestAverageNormalization: in Example 3.3 the average is divided by Σα: the sum itself, as
// printed, breaks the guarantee. Its denominator is 4√(T+1) − 4 ≤ 2·Σ1/√t; the printed 4√T + 1 − 4
// is another number.
func TestAverageNormalization(t *testing.T) {
	s := sample{z: [][]float64{{1}, {1}, {1}, {1}}, y: []float64{1, 1, 1, -1}} // F is least at 1, where it is ½
	const T, R = 400, 1.
	l := func() Learner { return descent(space(1), nil, Constant(1)) }
	limit := .5 + R*(1+1+math.Log(T))/(4*math.Sqrt(T+1)-4)
	mean, se := s.expectation(t, 200, T, loss.HingeLoss{}, 0, l, InverseSqrtAlpha(R))
	if mean > limit+4*se {
		t.Errorf("E F(x̄) = %v ± %v is above %v", mean, se, limit)
	}
	a := must(NewAveraging(l(), InverseSqrtAlpha(R)))
	p := must(NewLinearized(a))
	r := random.New(1, "e7")
	var total float64
	for k := range T {
		total += 1 / (R * math.Sqrt(float64(k+1)))
		if err := p.UpdateLoss(s.loss(r.IntN(4), loss.HingeLoss{}, 0)); err != nil {
			t.Fatal(err)
		}
	}
	near(t, "Σα", a.state.Total.value(), total)
	x := must(a.Average())[0]
	if f := s.risk([]float64{x}, loss.HingeLoss{}, 0); f > limit {
		t.Errorf("F(x̄) = %v is above %v", f, limit)
	}
	if f := s.risk([]float64{x * total}, loss.HingeLoss{}, 0); f < 2*limit {
		t.Errorf("F(Σ α·x) = %v does not refute %v", f, limit)
	}
	// The guarantee is ½(‖u‖² + 1 + ln T)·R over Σ1/√t, which 2√(T+1) − 2 is below, and tight up to
	// 1.
	for k, sum := 1, 0.; k <= 1000; k++ {
		sum += inverseSqrt(k)
		right := 4*math.Sqrt(float64(k+1)) - 4
		if 2*sum < right || 2*sum > right+1.1 {
			t.Fatalf("T = %d: 2Σ1/√t = %v, 4√(T+1)−4 = %v", k, 2*sum, right)
		}
		if printed := 4*math.Sqrt(float64(k)) + 1 - 4; math.Abs(printed-right) < .01 {
			t.Fatalf("T = %d: the printed denominator %v is the right one", k, printed)
		}
	}
}

// TestAdaHedgeFirstRate: λ_2 = δ_1/α² is at most 2‖g_1‖∞/α², and not the printed 2α‖g_1‖∞.
func TestAdaHedgeFirstRate(t *testing.T) {
	const alpha = .5
	l := must(NewAdaHedge(2, alpha))
	if err := l.Update([]float64{1, -1}); err != nil {
		t.Fatal(err)
	}
	near(t, "λ_2", l.Lambda(), 4)
	if l.Lambda() > 2/(alpha*alpha) || l.Lambda() <= 2*alpha {
		t.Errorf("λ_2 = %v, want it between the printed 2α = %v and 2/α² = %v", l.Lambda(), 2*alpha, 2/(alpha*alpha))
	}
}

// TestCompositeFactor: the regularizer of the composite learner is L·√t·(ψ − min ψ), and the bound
// has L with ψ: √T·(ψ(u) − min ψ) + L·√T without it is refuted by a constant loss and a far u.
func TestCompositeFactor(t *testing.T) {
	const L, T = 4., 400
	l := must(NewCompositeFTRL(space(1), L, 0))
	for k := 1; k <= T; k++ {
		near(t, "x", l.Predict()[0], float64(k-1)*L/(L*math.Sqrt(float64(k))))
		if err := l.Update([]float64{-L}); err != nil {
			t.Fatal(err)
		}
	}
	u := math.Sqrt(T)
	regret := L * T * u
	for k := 1; k <= T; k++ {
		regret -= L * float64(k-1) / math.Sqrt(float64(k))
	}
	if b := bound(t, l, []float64{u}); regret > b || b > L*math.Sqrt(T)*(u*u/2+1) {
		t.Errorf("regret %v, bound %v, want them in order below the a-priori %v", regret, b, L*math.Sqrt(T)*(u*u/2+1))
	}
	if printed := math.Sqrt(T)*u*u/2 + L*math.Sqrt(T); regret <= printed {
		t.Errorf("regret %v does not refute %v, without L in front of ψ", regret, printed)
	}
}

// TestVarianceBoundLambda: the terms of the variance bound are over 2λ; without it a first round on
// a wide interval, with a light regularizer, refutes it.
func TestVarianceBoundLambda(t *testing.T) {
	const D, c, T = 100., .01, 2
	l := must(NewMeanHint(euclidean(must(convex.NewCube(1, -D, D))), c))
	var regret float64
	for range T {
		regret += l.Predict()[0] + D
		if err := l.Update([]float64{1}); err != nil {
			t.Fatal(err)
		}
	}
	u := []float64{-D}
	corrected := must(l.VarianceBound(u, 1, 0))
	near(t, "corrected bound", corrected, c*D*D/2+4*(1+math.Log(T))/(2*c))
	if regret > corrected {
		t.Errorf("regret %v is above the corrected bound %v", regret, corrected)
	}
	if printed := c*D*D/2 + 4*(1+math.Log(T)); regret <= printed {
		t.Errorf("regret %v does not refute %v, without 1/(2λ)", regret, printed)
	}
}

// TestGradualConstants: the constant of Corollary 7.30 is L/2 and not the printed ¼, which one
// round refutes; the weights start at √max(8M², 4L²).
func TestGradualConstants(t *testing.T) {
	const L, M = 8., 100.
	set := must(convex.NewCube(1, -1, 1))
	l := must(NewGradualFTRL(euclidean(set), 0, L))
	regret := L * (l.Predict()[0] + .5)
	if err := l.Update([]float64{L}); err != nil {
		t.Fatal(err)
	}
	u := []float64{-.5}
	psi := .125 * 2 * L // λ_1 = 2L
	near(t, "bound", bound(t, l, u), psi+L/2)
	if regret > bound(t, l, u) {
		t.Errorf("regret %v is above %v", regret, bound(t, l, u))
	}
	if regret <= psi+.25 {
		t.Errorf("regret %v does not refute the printed %v", regret, psi+.25)
	}
	near(t, "λ_1²", math.Pow(must(NewGradualFTRL(euclidean(set), M, L)).Lambda(), 2), 8*M*M)
	near(t, "λ_1² for L² above 2M²", math.Pow(must(NewGradualFTRL(euclidean(set), 1, L)).Lambda(), 2), 4*L*L)
}
