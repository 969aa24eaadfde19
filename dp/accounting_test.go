package dp

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"
)

func must(t *testing.T) func(v float64, err error) float64 {
	return func(v float64, err error) float64 {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s = %.7g, want %.7g ± %g", what, got, want, tolerance)
	}
}

// The table of calibrations: noise per sensitivity by the analytic Gaussian mechanism, and ρ by the
// sharp and the simple conversion.
func TestOracleO5CalibrationTable(t *testing.T) {
	must := must(t)
	for _, c := range []struct{ epsilon, delta, sigma, sharp, simple, digits float64 }{
		{0.1, 1e-4, 24.5081, 0.000648, 0.000270, 1e-4},
		{1, 1e-4, 3.18570, 0.040633, 0.025763, 1e-5},
		{1, 1e-6, 4.22468, 0.024356, 0.017469, 1e-5},
		{4, 1e-4, 0.95872, 0.46463, 0.35970, 1e-5},
		{8, 1e-4, 0.54308, 1.4776, 1.24028, 1e-5},
	} {
		near(t, "sigma", 1/must(GaussianMu(c.epsilon, c.delta)), c.sigma, c.digits/2*1.02)
		unit := 1e-6
		if c.epsilon > 1 {
			unit = 1e-5
		}
		if c.epsilon > 4 {
			unit = 1e-4
		}
		near(t, "sharp rho", must(Rho(c.epsilon, c.delta)), c.sharp, unit/2*1.02)
		near(t, "simple rho", must(SimpleRho(c.epsilon, c.delta)), c.simple, unit/2*1.02)
	}
}

// The largest ε that Lemma 2.1 of Han et al., σ² = 2·ln(1/δ)·s²/ε², certifies: by the sharp
// conversion of zCDP, and exactly.
func TestOracleO5RangeOfTheClassicalCalibration(t *testing.T) {
	must := must(t)
	for _, c := range []struct{ delta, sharp, exact float64 }{
		{1e-2, 4.14, 6.24},
		{1e-3, 4.63, 6.97},
		{1e-4, 4.99, 7.52},
		{1e-5, 5.28, 7.96},
		{1e-6, 5.52, 8.33},
		{1e-9, 6.08, 9.19},
	} {
		log := math.Log(1 / c.delta)
		last := func(certified func(epsilon float64) float64) float64 {
			low, high := 0.5, 30.0
			for range 60 {
				if mid := (low + high) / 2; certified(mid) <= mid {
					low = mid
				} else {
					high = mid
				}
			}
			return low
		}
		near(t, "sharp range", last(func(e float64) float64 {
			return must(RhoEpsilon(e*e/(4*log), c.delta))
		}), c.sharp+0.005, 0.005) // the table is truncated
		near(t, "exact range", last(func(e float64) float64 {
			return must(GaussianEpsilon(e/math.Sqrt(2*log), c.delta))
		}), c.exact+0.005, 0.005)
	}
	// At (1, 1e-4) the calibration has a true ε of 0.71, and 0.80 by zCDP.
	log := math.Log(1e4)
	near(t, "certified", must(RhoEpsilon(1/(4*log), 1e-4)), 0.80, 0.005)
	near(t, "exact", must(GaussianEpsilon(1/math.Sqrt(2*log), 1e-4)), 0.71, 0.005)
}

// The composition of 10^4 rounds of Theorem 3.4's noise, and the constants of the corrected scales.
func TestOracleO5Composition(t *testing.T) {
	must := must(t)
	const n, delta = 10000, 1e-4
	log, harmonic := math.Log(1/delta), harmonicNumber(n)
	near(t, "H_n", harmonic, 9.7876, 5e-5)
	actual, proof := make([]float64, n), make([]float64, n)
	squares := [2]float64{}
	for i := range actual {
		s := float64(i + 1)
		actual[i] = math.Sqrt(s) / (2 * (s + 1) * math.Sqrt(math.Log(n)*log))
		proof[i] = 1 / (2 * math.Sqrt(s*math.Log(n)*log))
		squares[0] += actual[i] * actual[i]
		squares[1] += proof[i] * proof[i]
	}
	near(t, "sum of squares", squares[0], 0.02400, 5e-6)
	near(t, "sum of squares", squares[1], 0.02884, 6e-6)
	near(t, "zCDP, simple", must(SimpleRhoEpsilon(squares[0]/2, delta)), 0.677, 6e-4)
	near(t, "zCDP, simple", must(SimpleRhoEpsilon(squares[1]/2, delta)), 0.743, 6e-4)
	near(t, "zCDP, sharp", must(RhoEpsilon(squares[0]/2, delta)), 0.508, 6e-4)
	near(t, "zCDP, sharp", must(RhoEpsilon(squares[1]/2, delta)), 0.562, 6e-4)
	// 0.506 and 0.554 with a coarser choice of the order.
	near(t, "Rényi of pure", must(ComposePure(actual, delta)), 0.5047, 6e-5)
	near(t, "Rényi of pure", must(ComposePure(proof, delta)), 0.5523, 6e-5)
	near(t, "bounded range, simple", must(SimpleRhoEpsilon(squares[0]/8, delta)), 0.335, 3e-3)
	near(t, "bounded range, sharp", must(RhoEpsilon(squares[0]/8, delta)), 0.235, 6e-4)

	for _, c := range []struct{ epsilon, laplace, selection float64 }{
		{0.1, 86.9, 43.4}, {0.5, 20.5, 10.2}, {1, 10.98, 5.49}, {2, 5.93, 2.96}, {4, 3.25, 1.62}, {8, 1.82, 0.91},
	} {
		rho := must(Rho(c.epsilon, delta))
		near(t, "Laplace", math.Sqrt(harmonic/(2*rho)), c.laplace, 0.06)
		near(t, "exponential", math.Sqrt(harmonic/(8*rho)), c.selection, 0.06)
	}
}

func harmonicNumber(n int64) float64 {
	sum := 0.0
	for i := n; i >= 1; i-- {
		sum += 1 / float64(i)
	}
	return sum
}

// The privacy curve of Gaussian noise by numerical integration of max(0, p − e^ε·q).
func TestGaussianDeltaByIntegration(t *testing.T) {
	must := must(t)
	for _, mu := range []float64{0.02, 0.3, 1, 3, 8} {
		for _, epsilon := range []float64{0, 0.01, 0.5, 2, 10} {
			const steps = 400_000
			low, high := -12.0, 12+mu
			h := (high - low) / steps
			sum := 0.0
			for i := range steps {
				x := low + (float64(i)+0.5)*h
				p, q := normalDensity(x-mu), normalDensity(x)
				sum += max(0, p-math.Exp(epsilon)*q) * h
			}
			if got := must(GaussianDelta(mu, epsilon)); math.Abs(got-sum) > 1e-8*(sum+1e-4) {
				t.Errorf("delta(%g; %g) = %g, integral %g", epsilon, mu, got, sum)
			}
		}
	}
	if got := must(GaussianDelta(100, 1)); got != 1 {
		t.Errorf("delta(1; 100) = %g, want 1", got)
	}
	if got := must(GaussianDelta(1, 5000)); got != 0 {
		t.Errorf("delta(5000; 1) = %g, want 0", got)
	}
}

// δ falls in ε and rises in the cost, round trips return to their start from the sound side, and
// the sharp conversion lies between the exact curve of the Gaussian and the simple one.
func TestOracleO5MonotoneAndRoundTrips(t *testing.T) {
	must := must(t)
	rapid.Check(t, func(rt *rapid.T) {
		epsilon := math.Exp(rapid.Float64Range(-6, 3).Draw(rt, "ln epsilon"))
		delta := math.Exp(rapid.Float64Range(-30, -1).Draw(rt, "ln delta"))
		mu, rho := must(GaussianMu(epsilon, delta)), must(Rho(epsilon, delta))
		if got := must(GaussianDelta(mu, epsilon)); got > delta*(1+2e-9) || got < delta*(1-1e-4) {
			rt.Errorf("delta(mu(%g, %g)) = %g", epsilon, delta, got)
		}
		if got := must(GaussianEpsilon(mu, delta)); got > epsilon*(1+2e-9) || got < epsilon*(1-1e-4) {
			rt.Errorf("epsilon(mu(%g, %g)) = %g", epsilon, delta, got)
		}
		if rho <= 0 {
			return // δ is so large that the conversion at the orders tried certifies nothing
		}
		if got := must(RhoEpsilon(rho, delta)); got > epsilon*(1+2e-9)+1e-12 || got < epsilon*(1-1e-4) {
			rt.Errorf("epsilon(rho(%g, %g)) = %g", epsilon, delta, got)
		}
		if must(GaussianDelta(mu, epsilon*1.1)) > delta || must(RhoDelta(rho, epsilon*1.1)) > delta {
			rt.Errorf("delta rises with epsilon at (%g, %g)", epsilon, delta)
		}
		if got := must(RhoDelta(rho, epsilon)); got > delta*(1+1e-6) {
			rt.Errorf("delta(rho(%g, %g)) = %g", epsilon, delta, got)
		}
		simple := must(SimpleRho(epsilon, delta))
		if simple > rho*(1+1e-6) || rho > mu*mu/2*(1+1e-6) {
			rt.Errorf("at (%g, %g): simple %g, sharp %g, Gaussian %g", epsilon, delta, simple, rho, mu*mu/2)
		}
		if got := must(SimpleRhoEpsilon(simple, delta)); math.Abs(got-epsilon) > epsilon*1e-8 {
			rt.Errorf("simple round trip of (%g, %g) = %g", epsilon, delta, got)
		}
	})
}

// The Rényi curve of randomized response, and its limit ε for large orders.
func TestPureRenyi(t *testing.T) {
	for _, epsilon := range []float64{1e-3, 0.1, 1, 3} {
		p := math.Exp(epsilon) / (1 + math.Exp(epsilon))
		for _, a := range []float64{1.5, 2, 7, 40} {
			want := math.Log(math.Pow(p, a)*math.Pow(1-p, 1-a)+math.Pow(1-p, a)*math.Pow(p, 1-a)) / (a - 1)
			if got := PureRenyi(epsilon, a); math.Abs(got-want) > 1e-9*want+1e-13 {
				t.Errorf("divergence of order %g at %g = %g, want %g", a, epsilon, got, want)
			}
		}
		near(t, "limit", PureRenyi(epsilon, 1e9), epsilon, 1e-6)
	}
	if !math.IsNaN(PureRenyi(1, 1)) || !math.IsNaN(PureRenyi(0, 2)) {
		t.Error("order 1 or epsilon 0 is not NaN")
	}
}

func TestAccountingErrors(t *testing.T) {
	for _, bad := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1)} {
		for name, f := range map[string]func() (float64, error){
			"GaussianMu":      func() (float64, error) { return GaussianMu(bad, 1e-5) },
			"Rho":             func() (float64, error) { return Rho(bad, 1e-5) },
			"SimpleRho":       func() (float64, error) { return SimpleRho(bad, 1e-5) },
			"GaussianEpsilon": func() (float64, error) { return GaussianEpsilon(bad, 1e-5) },
			"GaussianDelta":   func() (float64, error) { return GaussianDelta(bad, 1) },
			"RhoEpsilon":      func() (float64, error) { return RhoEpsilon(bad, 1e-5) },
			"RhoDelta":        func() (float64, error) { return RhoDelta(bad, 1) },
			"ComposePure":     func() (float64, error) { return ComposePure([]float64{1, bad}, 0) },
		} {
			if _, err := f(); !errors.Is(err, ErrEpsilon) {
				t.Errorf("%s(%g): %v, want ErrEpsilon", name, bad, err)
			}
		}
	}
	for _, bad := range []float64{0, 1, -1, 2, math.NaN()} {
		for name, f := range map[string]func() (float64, error){
			"GaussianMu":      func() (float64, error) { return GaussianMu(1, bad) },
			"GaussianEpsilon": func() (float64, error) { return GaussianEpsilon(1, bad) },
			"Rho":             func() (float64, error) { return Rho(1, bad) },
			"SimpleRho":       func() (float64, error) { return SimpleRho(1, bad) },
			"RhoEpsilon":      func() (float64, error) { return RhoEpsilon(1, bad) },
		} {
			if _, err := f(); !errors.Is(err, ErrDelta) {
				t.Errorf("%s(δ = %g): %v, want ErrDelta", name, bad, err)
			}
		}
	}
}

// For an ε far below δ the best order of the conversion is near 1/δ, and ρ → e·δ²/2. The inverse
// finds it too. A ρ that 64 bits cannot hold is an error, not a negative cost.
func TestRhoOfTinyEpsilon(t *testing.T) {
	check := must(t)
	for _, c := range []struct{ epsilon, delta float64 }{{1e-9, 1e-10}, {1e-12, 1e-9}, {1e-15, 1e-12}, {1e-30, 1e-20}} {
		r := check(Rho(c.epsilon, c.delta))
		low := math.E / 2 * c.delta * c.delta
		if high := (c.epsilon + c.delta) * (c.epsilon + c.delta); !(r >= low*(1-1e-6)) || r > 20*high {
			t.Errorf("Rho(%g, %g) = %g, want from %g to %g", c.epsilon, c.delta, r, low, 20*high)
		}
		if back := check(RhoEpsilon(r, c.delta)); back > c.epsilon {
			t.Errorf("ρ = %g costs ε = %g, want at most %g", r, back, c.epsilon)
		}
		if b, err := ZCDPBudget(c.epsilon, c.delta); err != nil || b.Rho() != r {
			t.Errorf("the budget (%g, %g) is %v, %v", c.epsilon, c.delta, b, err)
		}
	}
	if r, err := Rho(1e-200, 1e-200); !errors.Is(err, ErrDelta) {
		t.Errorf("Rho(1e-200, 1e-200) = %g, %v, want ErrDelta", r, err)
	}
}

// For a tiny μ both terms of δ are nearly equal: δ(0; μ) = 2Φ(μ/2) − 1 = μ·(1 − μ²/24 + …)/√(2π),
// and with the ratio z = ε/μ, δ = μ·(φ(z) − z·Φ(−z)) up to a factor 1 + O(μ).
func TestGaussianDeltaOfTinyMu(t *testing.T) {
	check := must(t)
	for _, mu := range []float64{1e-3, 1.01e-5, 0.99e-5, 1e-6, 1e-8, 1e-10, 1e-20, 1e-200} {
		want := mu / math.Sqrt(2*math.Pi) * (1 - mu*mu/24)
		if got := check(GaussianDelta(mu, 0)); !(got >= want*(1+1e-10)) || got > want*(1+2e-9) {
			t.Errorf("δ(0; %g) = %g, want %g rounded up", mu, got, want)
		}
		for _, z := range []float64{0.5, 1, 3} {
			below := math.Erfc(z/math.Sqrt2) / 2
			want := mu * (math.Exp(-z*z/2)/math.Sqrt(2*math.Pi) - z*below)
			near(t, "δ", check(GaussianDelta(mu, z*mu))/want, 1, 2e-9+4*mu)
		}
	}
	for _, epsilon := range []float64{1e-8, 1e-12, 1e-27, 1e-100} {
		for _, delta := range []float64{1e-12, 1e-30, 1e-200} {
			mu := check(GaussianMu(epsilon, delta))
			if got := check(GaussianDelta(mu, epsilon)); got > delta || got < delta*(1-1e-4) {
				t.Errorf("μ = %g for (%g, %g) has δ = %g", mu, epsilon, delta, got)
			}
		}
	}
}
