package dp

import (
	"errors"
	"math"
	"math/big"
	"testing"

	"github.com/noregret/noregret/internal/testsize"
)

// chiSquare compares counts with probabilities, merging cells with fewer than ten expected draws
// into their neighbours, and fails above the quantile of probability 1 − 1e-6 (Wilson and Hilferty
// 1931).
func chiSquare(t *testing.T, what string, counts []int, probabilities []float64) {
	t.Helper()
	n := 0
	for _, c := range counts {
		n += c
	}
	sum, cells := 0.0, 0
	observed, expected := 0.0, 0.0
	for i := range counts {
		observed += float64(counts[i])
		expected += probabilities[i] * float64(n)
		if expected >= 10 {
			sum += (observed - expected) * (observed - expected) / expected
			cells++
			observed, expected = 0, 0
		}
	}
	sum += (observed - expected) * (observed - expected) / max(expected, 10)
	k := float64(cells)
	limit := k * math.Pow(1-2/(9*k)+4.75*math.Sqrt(2/(9*k)), 3)
	if sum > limit {
		t.Errorf("%s: chi-square %.1f of %d cells, want at most %.1f", what, sum, cells, limit)
	}
}

// discreteCheck draws and compares with P(k) ∝ weight(k) for |k| ≤ reach, in cells of the given
// width.
func discreteCheck(t *testing.T, what string, draws, reach, width int, draw func() int64,
	weight func(k float64) float64,
) {
	t.Helper()
	cells := 2*reach/width + 1
	probabilities, counts := make([]float64, cells), make([]int, cells)
	total := 0.0
	for k := -reach; k <= reach; k++ {
		w := weight(float64(k))
		probabilities[(k+reach)/width] += w
		total += w
	}
	for i := range probabilities {
		probabilities[i] /= total
	}
	for range draws {
		k := draw()
		if k < -int64(reach) || k > int64(reach) {
			t.Fatalf("%s: drew %d", what, k)
		}
		counts[(int(k)+reach)/width]++
	}
	chiSquare(t, what, counts, probabilities)
}

func TestOracleO1DiscreteGaussian(t *testing.T) {
	draws := testsize.Of(200_000, 50_000)
	for _, c := range []struct {
		num, den uint64
		reach    int
	}{{3, 10, 8}, {1, 1, 12}, {10, 1, 40}, {100, 1, 120}, {7, 2, 25}, {999, 1, 400}} {
		g, err := NewDiscreteGaussian(c.num, c.den, WithInsecureDeterministicNoiseForTesting(3))
		if err != nil {
			t.Fatal(err)
		}
		v := float64(c.num) / float64(c.den)
		discreteCheck(t, "variance "+big.NewRat(int64(c.num), int64(c.den)).String(), draws, c.reach, 1, g.Draw,
			func(k float64) float64 { return math.Exp(-k * k / (2 * v)) })
	}
	// An integer σ and the general sampler have the same law.
	s := newSource([]Option{WithInsecureDeterministicNoiseForTesting(4)}, "")
	discreteCheck(t, "variance 9/1 in general", draws, 40, 1, func() int64 { return s.gaussianRatio(9, 1) },
		func(k float64) float64 { return math.Exp(-k * k / 18) })
	// A large σ: cells of a tenth of σ.
	const sigma = 1 << 40
	g, err := NewDiscreteGaussianScale(sigma, WithInsecureDeterministicNoiseForTesting(5))
	if err != nil {
		t.Fatal(err)
	}
	probabilities, counts := make([]float64, 200), make([]int, 200)
	for i := range probabilities {
		z := float64(i-100) / 10
		probabilities[i] = (math.Erf((z+0.1)/math.Sqrt2) - math.Erf(z/math.Sqrt2)) / 2
	}
	squares := 0.0
	for range draws {
		z := float64(g.Draw()) / sigma
		squares += z * z
		counts[int(math.Floor(z*10))+100]++
	}
	chiSquare(t, "large sigma", counts, probabilities)
	near(t, "variance of a large sigma", squares/float64(draws), 1, 5*math.Sqrt(2/float64(draws)))
}

func TestOracleO1DiscreteLaplace(t *testing.T) {
	draws := testsize.Of(200_000, 50_000)
	for _, scale := range []uint64{1, 2, 7, 40} {
		l, err := NewDiscreteLaplace(scale, WithInsecureDeterministicNoiseForTesting(6))
		if err != nil {
			t.Fatal(err)
		}
		discreteCheck(t, "Laplace", draws, int(scale)*30, max(1, int(scale)/4), l.Draw,
			func(k float64) float64 { return math.Exp(-math.Abs(k) / float64(scale)) })
	}
}

// The secure source has the same law, different draws each time, and no seed.
func TestSecureNoise(t *testing.T) {
	g, err := NewDiscreteGaussian(10, 1)
	if err != nil {
		t.Fatal(err)
	}
	if g.Insecure() {
		t.Error("secure noise says that it is insecure")
	}
	discreteCheck(t, "secure", 50_000, 40, 1, g.Draw, func(k float64) float64 { return math.Exp(-k * k / 20) })
	a, _ := NewDiscreteGaussianScale(1 << 50)
	b, _ := NewDiscreteGaussianScale(1 << 50)
	if a.Draw() == b.Draw() {
		t.Error("two secure generators agree")
	}
}

func TestExactBernoulli(t *testing.T) {
	s := newSource([]Option{WithInsecureDeterministicNoiseForTesting(7)}, "")
	n := testsize.Of(400_000, 100_000)
	check := func(what string, p float64, draw func() bool) {
		t.Helper()
		hits := 0
		for range n {
			if draw() {
				hits++
			}
		}
		near(t, what, float64(hits)/float64(n), p, 5*math.Sqrt(p*(1-p)/float64(n))+1e-12)
	}
	check("1/e", 1/math.E, s.expMinusOne)
	check("exp(-1/2)", math.Exp(-0.5), s.expMinusHalf)
	for _, c := range [][2]uint64{
		{0, 1},
		{1, 1},
		{1, 3},
		{7, 10},
		{5, 2},
		{1 << 60, 1 << 61},
		{30, 10},
		{1<<63 + 5, 1 << 62},
	} {
		check("exp", math.Exp(-float64(c[0])/float64(c[1])), func() bool { return s.expMinus(c[0], c[1]) })
		if c[0] <= c[1] {
			r := float64(c[0]) / float64(c[1])
			check("exp of squares", math.Exp(-r*r/2), func() bool { return s.expMinusHalfSquare(c[0], c[1]) })
			check("ratio", r, func() bool { return s.ratio(c[0], c[1]) })
		}
	}
	for _, k := range []uint64{1, 2, 3, 4, 5} {
		check("one in", 1/float64(k), func() bool { return s.oneIn(k) })
	}
	// A modulus just above 2^63 rejects almost half of all words; a biased reduction shows here.
	const m = 1<<63 + 1<<61
	check("below", 0.5, func() bool { return s.below(m) < m/2 })
	check("below, low eighth", 0.125, func() bool { return s.below(m) < m/8 })
}

// The distance in total variation between the discrete Gaussian and the rounded continuous one,
// which has the privacy curve of the continuous one because rounding is post-processing, is below
// 1/(24σ²). Streams in Gaussian differential privacy rest on it.
func TestDiscreteGaussianIsCloseToRounded(t *testing.T) {
	for _, sigma := range []float64{2, 4, 8, 32, 128, 1024} {
		total, reach := 0.0, int(sigma*12)
		for k := -reach; k <= reach; k++ {
			total += math.Exp(-float64(k) * float64(k) / (2 * sigma * sigma))
		}
		distance := 0.0
		for k := -reach; k <= reach; k++ {
			x := math.Abs(float64(k))
			rounded := (math.Erfc((x-0.5)/(sigma*math.Sqrt2)) - math.Erfc((x+0.5)/(sigma*math.Sqrt2))) / 2
			distance += math.Abs(rounded-math.Exp(-x*x/(2*sigma*sigma))/total) / 2
		}
		if bound := roundingDistance(sigma); distance > bound || distance < bound/4 {
			t.Errorf("sigma %g: distance %g, bound %g", sigma, distance, bound)
		}
	}
}

// shiftedBy is the law of Σ D_j·k_j for independent draws k_j of the discrete Gaussian, each
// shifted by D_j if the unit's record is there, from its smallest value on. The privacy loss of all
// draws together, Σ (2·k_j·D_j − D_j²)/(2σ²), is a function of this sum.
func shiftedBy(sigma float64, shifts []int, there bool) (low int, law []float64) {
	law = []float64{1}
	for _, d := range shifts {
		reach := int(sigma * 14)
		one, total := make([]float64, 2*reach+1), 0.0
		for k := range one {
			x := float64(k - reach)
			one[k] = math.Exp(-x * x / (2 * sigma * sigma))
			total += one[k]
		}
		next := make([]float64, len(law)+2*reach*d)
		for i, v := range law {
			for k, w := range one {
				next[i+k*d] += v * w / total
			}
		}
		law = next
		low -= reach * d
		if there {
			low += d * d
		}
	}
	return low, law
}

// The exact δ(ε) of several draws of discrete noise together is never above that of Gaussian noise
// with the same μ plus (1 + e^ε)·N/(24σ²), at values of σ where the difference of the two is large.
// Without the second term it is above for many ε: discrete noise is not Gaussian noise.
func TestDeltaOfComposedDiscreteNoise(t *testing.T) {
	for _, shifts := range [][]int{{1}, {2}, {5}, {1, 1}, {2, 1}, {1, 1, 1, 1}, {3, 2, 1}, {2, 2, 2, 2, 2, 2, 2}} {
		squares := 0.0
		for _, d := range shifts {
			squares += float64(d * d)
		}
		for _, sigma := range []float64{2, 2.7, 5} {
			lowP, p := shiftedBy(sigma, shifts, false)
			lowQ, q := shiftedBy(sigma, shifts, true)
			mu, draws := math.Sqrt(squares)/sigma, float64(len(shifts))
			above, worst := 0, 0.0
			for epsilon := 0.0; epsilon <= 4; epsilon += 0.05 {
				delta := 0.0 // Σ (Q − e^ε·P)⁺
				for i, v := range q {
					if j := lowQ + i - lowP; j >= 0 && j < len(p) {
						v -= math.Exp(epsilon) * p[j]
					}
					delta += max(0, v)
				}
				excess := delta - gaussianDelta(mu, epsilon)
				if excess > 1e-10 {
					above++
				}
				worst = max(worst, excess/(draws*roundingDistance(sigma)*(1+math.Exp(epsilon))))
			}
			t.Logf("shifts %v, sigma %g: %d of 81 curve points above, at most %.3f of the bound", shifts, sigma,
				above, worst)
			if worst > 1 {
				t.Errorf("shifts %v, sigma %g: δ exceeds that of Gaussian noise by %g times the bound", shifts, sigma,
					worst)
			}
			if above == 0 {
				t.Errorf("shifts %v, sigma %g: δ is nowhere above that of Gaussian noise", shifts, sigma)
			}
		}
	}
}

func TestDiscreteErrors(t *testing.T) {
	for _, c := range [][2]uint64{{0, 1}, {1, 0}, {1001, 1}, {1, 1001}, {1 << 62, 3}} {
		if _, err := NewDiscreteGaussian(c[0], c[1]); !errors.Is(err, ErrBound) {
			t.Errorf("variance %d/%d: %v, want ErrBound", c[0], c[1], err)
		}
	}
	for _, sigma := range []uint64{0, 1<<55 + 1} {
		if _, err := NewDiscreteGaussianScale(sigma); !errors.Is(err, ErrBound) {
			t.Errorf("sigma %d: %v, want ErrBound", sigma, err)
		}
		if _, err := NewDiscreteLaplace(sigma); !errors.Is(err, ErrBound) {
			t.Errorf("scale %d: %v, want ErrBound", sigma, err)
		}
	}
}

func BenchmarkDiscreteGaussian(b *testing.B) {
	for name, opts := range map[string][]Option{
		"secure":   nil,
		"insecure": {WithInsecureDeterministicNoiseForTesting(1)},
	} {
		b.Run(name, func(b *testing.B) {
			g, err := NewDiscreteGaussianScale(1<<30, opts...)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				g.Draw()
			}
		})
	}
}
