package private

import (
	"errors"
	"math"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/internal/random"
)

// TestRegularity pins the corrected constants: for d ≤ 7 and p < 2 the exponent is 2.
func TestRegularity(t *testing.T) {
	for _, c := range []struct {
		dim                   int
		p, exponent, kappa, e float64
	}{
		{5, 1.5, 2, 1.709976, 1e-6},
		{5, 1, 2, 5, 1e-12},
		{7, 1.1, 2, 4.914, 1e-3},
		{1, 1.5, 2, 1, 0},
		{20, 1.5, 3, 2, 1e-12},
		{10, 2, 2, 1, 0},
		{10, math.Inf(1), 2, 10, 1e-12},
		{1000, 1, 12.73, 34.72, 0.01},
		{1000, 1.5, 3, 2, 1e-9},
		{100, 1.1, 8.07, 9.58, 0.01},
		{3, 1, 2, 3, 1e-12},
		{2, 1, 2, 2, 1e-12},
		{8, 3, 2, 2, 1e-12},
	} {
		got := must(NewRegularity(c.dim, c.p))
		if math.Abs(got.Exponent-c.exponent) > 0.01 || math.Abs(got.Kappa-c.kappa) > c.e {
			t.Errorf("d=%d, p=%v: %v, want exponent %v and κ %v", c.dim, c.p, got, c.exponent, c.kappa)
		}
	}
	for d := 2; d <= 7; d++ {
		for _, p := range []float64{1, 1.01, 1.2, 1.5, 1.9, 1.99} {
			if r := must(NewRegularity(d, p)); r.Exponent != 2 {
				t.Errorf("d=%d, p=%v: exponent %v, want 2", d, p, r.Exponent)
			}
		}
	}
	if _, err := NewRegularity(0, 2); !errors.Is(err, dp.ErrDimension) {
		t.Error(err)
	}
	if _, err := NewRegularity(2, math.NaN()); !errors.Is(err, dp.ErrNorm) {
		t.Error(err)
	}
}

// TestRegularityIsSmooth checks on random vectors that ½‖·‖₊² is κ₊-smooth and that ‖·‖₊ is between
// ‖·‖_q and √(κ/κ₊)·‖·‖_q.
func TestRegularityIsSmooth(t *testing.T) {
	r := random.New(7, "test")
	for _, d := range []int{2, 5, 8, 50} {
		for _, p := range exponents {
			c := must(NewRegularity(d, p))
			norm, dual := must(convex.NewLp(c.Exponent)), must(convex.NewLp(p)).Dual()
			square := func(x []float64) float64 { v := c.Factor * norm.Of(x); return v * v }
			x, y, sum, gap := make([]float64, d), make([]float64, d), make([]float64, d), make([]float64, d)
			for range 200 {
				// ‖x+y‖² + ‖x−y‖² ≤ 2‖x‖² + 2κ₊‖y‖², the smoothness inequality at both ends.
				copy(x, normals(r, d))
				copy(y, normals(r, d))
				for j := range x {
					sum[j], gap[j] = x[j]+y[j], x[j]-y[j]
				}
				if square(sum)+square(gap) > (2*square(x)+2*c.KappaPlus*square(y))*
					(1+1e-12) {
					t.Fatalf("d=%d, p=%v: %v is not smooth", d, p, c)
				}
				q := dual.Of(x)
				if s := square(x); s < q*q*(1-1e-12) || s > c.Kappa/c.KappaPlus*q*q*(1+1e-12) {
					t.Fatalf("d=%d, p=%v: ‖x‖₊² = %v, ‖x‖_q² = %v, %v", d, p, s, q*q, c)
				}
			}
		}
	}
}

// TestNormalNorm compares the bound on E‖Z‖_q with means, which it must not miss by more than
// two fifths.
func TestNormalNorm(t *testing.T) {
	r := random.New(8, "test")
	for _, d := range []int{1, 10, 100} {
		for _, q := range []float64{1, 2, 3, 11, math.Inf(1)} {
			norm := must(convex.NewLp(q))
			mean := 0.0
			for range 2000 {
				mean += norm.Of(normals(r, d)) / 2000
			}
			if b := normalNorm(d, q); b < mean*0.97 || b > mean*1.4 {
				t.Errorf("d=%d, q=%v: bound %v, mean %v", d, q, b, mean)
			}
		}
	}
	for x, want := range map[float64]float64{0.5: 0.5723649429247, 1: 0, 2: 0, 10: 12.801827480081} {
		if got := logGamma(x); math.Abs(got-want) > 1e-9 {
			t.Errorf("ln Γ(%v) = %v, want %v", x, got, want)
		}
	}
}

// TestBounds pins the bounds against numbers computed by hand from their formulas.
func TestBounds(t *testing.T) {
	b := BoundParameters{
		Dim: 1, Horizon: 100, Diameter: 2, Lipschitz: 1, Smoothness: 1, Deviation: 2, Kappa: 1, Alpha: 0.1,
	}
	if err := b.Check(); err != nil {
		t.Fatal(err)
	}
	// c(α/n) = √(2e) + 8√(4·ln 2000) = 2.331644 + 44.111632; C₁ = 2·46.443276·2·4 = 743.0924; C₂ =
	// 2 + 2.
	if got, want := b.Risk(100), (2+2*743.0924*10+4*math.Log(100))/100; math.Abs(got/want-1) > 1e-5 {
		t.Errorf("risk %v, want %v", got, want)
	}
	// c(α) = 2.331644 + 8√(4·ln 20) = 2.331644 + 27.693089; 2·30.024733·4/10.
	if got := b.GradientError(99); math.Abs(got-24.019786) > 1e-4 {
		t.Errorf("gradient error %v", got)
	}
	sum := 0.0
	for i := int64(1); i <= 100; i++ {
		sum += b.Risk(i)
	}
	if r := b.Regret(100); r < sum || r > 1.2*sum {
		t.Errorf("regret %v, the risks sum to %v", r, sum)
	}
	b.Levels, b.NoiseScale, b.Dim = 3, 5, 4
	// λ = ln(2·3/0.1) = 4.094345; 15·√(4 + 2√(4·4.094345) + 8.188689) = 15·4.503...
	want := 24.019786 + 15*math.Sqrt(4+2*math.Sqrt(4*4.0943446)+2*4.0943446)/100
	if got := b.GradientError(99); math.Abs(got-want) > 1e-4 {
		t.Errorf("gradient error with noise %v, want %v", got, want)
	}
	// Strongly convex: 18/(γ²μ)·(C₁²/(t+1) + C₂²ln²n/(t+1)²), whose sum over t is below its bound.
	_, c1, c2 := b.coefficients()
	log := math.Log(100.0)
	if got, want := b.StrongRisk(9, 2, 0.5), 36*(c1*c1/10+c2*c2*log*log/100); math.Abs(got/want-1) > 1e-9 {
		t.Errorf("strongly convex: %v, want %v", got, want)
	}
	sum = 0
	for i := int64(1); i <= 1000; i++ {
		sum += b.StrongRisk(i, 2, 0.5)
	}
	if r := b.StrongRegret(1000, 2, 0.5); r < sum || r > 1.3*sum {
		t.Errorf("strongly convex regret %v, the risks sum to %v", r, sum)
	}
	b.Alpha = 1
	if err := b.Check(); !errors.Is(err, dp.ErrBound) {
		t.Error(err)
	}
	b.Alpha, b.Kappa = 0.5, math.NaN()
	if err := b.Check(); !errors.Is(err, dp.ErrBound) {
		t.Error(err)
	}
}

// TestBoundsHold compares the bounds with the errors of a private learner whose risk is known: half
// the squared loss, features ±e_j, F(θ) = ‖θ − θ*‖²/(2d).
func TestBoundsHold(t *testing.T) {
	const d, n = 3, 2000
	truth := []float64{0.5, -0.3, 0}
	p := NewProblem(must(NewBall(d, 2, 1)), HalfSquared(), 1, 1, n)
	c := must(p.Constants())
	l := must(NewTOFW(p, testNoise(1)))
	b := BoundParameters{
		Dim: d, Horizon: n, Diameter: 2, Lipschitz: c.Lipschitz, Smoothness: c.Smoothness, Deviation: 2 * c.Lipschitz,
		Kappa: 1, Levels: 1, Alpha: 0.01,
	}
	r := random.New(9, "test")
	regret := 0.0
	before := make([]float64, d)
	for i := int64(1); i <= n; i++ {
		copy(before, l.Theta())
		x := make([]float64, d)
		j := r.IntN(d)
		x[j] = float64(1 - 2*r.IntN(2))
		if err := l.Step(x, x[j]*truth[j]); err != nil {
			t.Fatal(err)
		}
		b.NoiseScale = l.Deviation(i)
		distance, risk := 0.0, 0.0
		for k, s := range l.Sum() {
			gradient := (before[k] - truth[k]) / d
			distance += (s/float64(i+1) - gradient) * (s/float64(i+1) - gradient)
			risk += (before[k] - truth[k]) * (before[k] - truth[k]) / (2 * d)
		}
		regret += risk
		if math.Sqrt(distance) > b.GradientError(i) {
			t.Fatalf("step %d: gradient error %v, bound %v", i, math.Sqrt(distance), b.GradientError(i))
		}
		b.NoiseScale = l.Deviation(n - 1) // at least that of every step
		if i > 1 && risk > b.Risk(i) || regret > b.Regret(i) {
			t.Fatalf("step %d: risk %v and regret %v, bounds %v and %v", i, risk, regret, b.Risk(i), b.Regret(i))
		}
	}
}
