package stat

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/noregret/noregret/internal/random"
)

func TestNormalBelow(t *testing.T) {
	for z := -8.0; z <= 8; z += 0.25 {
		want := 0.5 * math.Erfc(-z/math.Sqrt2)
		if got := NormalBelow(z); math.Abs(got-want) > 1e-15 {
			t.Errorf("at %v: %v, want %v", z, got, want)
		}
	}
}

// The quantile at z is the least count whose distribution function reaches Φ(z).
func TestBinomialQuantile(t *testing.T) {
	for _, c := range []struct {
		n     int64
		p     float64
		slack float64
	}{{1, 0.3, 0}, {20, 0.5, 0}, {100, 0.02, 0}, {1000, 0.003, 0}, {100, 0.9, 0}, {20_000, 0.02, 1}, {1e6, 0.05, 1}} {
		law := distuv.Binomial{N: float64(c.n), P: c.p}
		for z := -3.0; z <= 3; z += 0.37 {
			got, u := BinomialQuantile(z, c.n, c.p), NormalBelow(z)
			if law.CDF(got+c.slack) < u-1e-9 || law.CDF(got-1-c.slack) >= u+1e-9 {
				t.Errorf("n %d, p %v, z %v: %v, whose distribution function is %v, want the first at %v", c.n, c.p, z,
					got, law.CDF(got), u)
			}
		}
	}
	if got := BinomialQuantile(1, 10, 0) + BinomialQuantile(1, 10, 1); got != 10 {
		t.Errorf("certain events: %v, want 10", got)
	}
}

func TestPoissonMoments(t *testing.T) {
	r := random.New(1, "poisson")
	for _, mean := range []float64{0.3, 5, 60, 500} {
		const n = 20_000
		sum, square := 0.0, 0.0
		for range n {
			x := Poisson(r, mean)
			sum += x
			square += (x - mean) * (x - mean)
		}
		if got := sum / n; math.Abs(got-mean) > 5*math.Sqrt(mean/n) {
			t.Errorf("mean %v, want %v", got, mean)
		}
		if got := square / n; math.Abs(got/mean-1) > 5*math.Sqrt((2+1/mean)/n) {
			t.Errorf("variance %v, want %v", got, mean)
		}
	}
}

// TestNormalAbove compares with published quantiles, and with the probability itself.
func TestNormalAbove(t *testing.T) {
	for _, c := range []struct{ p, z, within float64 }{
		{0.5, 0, 1e-9},
		{0.025, 1.959963984540054, 1e-12},
		{1e-6, 4.753424308822899, 1e-9},
		{1e-10, 6.361340902404056, 1e-4},
	} {
		if z := NormalAbove(c.p); math.Abs(z-c.z) > c.within {
			t.Errorf("NormalAbove(%v) = %v, want %v", c.p, z, c.z)
		}
	}
	for _, p := range []float64{9e-13, 1e-15, 1e-300} { // Mills' ratio: P(Z > z) < φ(z)/z
		z := NormalAbove(p)
		if math.Exp(-z*z/2)/math.Sqrt(2*math.Pi)/z > p {
			t.Errorf("NormalAbove(%v) = %v is too small", p, z)
		}
	}
}
