package stat

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/noregret/noregret/internal/random"
)

// For z from 2 to 3 Wallace's approximation is within a tenth of the exact quantile from three
// degrees of freedom on, within a hundredth from 20 on, and above it below three.
func TestStudent(t *testing.T) {
	for _, z := range []float64{2, 2.5, 3} {
		for _, n := range []float64{1, 2, 3, 5, 10, 20, 100, 1e4} {
			exact := distuv.StudentsT{Sigma: 1, Nu: n}.Quantile(distuv.UnitNormal.CDF(z))
			got := Student(z, n)
			within := .1
			if n >= 20 {
				within = .01
			}
			switch {
			case n < 3 && got < exact:
				t.Errorf("z = %v, n = %v: %v is below the quantile %v", z, n, got, exact)
			case n >= 3 && math.Abs(got/exact-1) > within:
				t.Errorf("z = %v, n = %v: %v, the quantile is %v", z, n, got, exact)
			}
		}
	}
	if v := Student(2, 1e12); v != 2 {
		t.Errorf("with 1e12 degrees of freedom the quantile is %v, want the normal one", v)
	}
	for _, n := range []float64{0, -1, math.NaN()} {
		if v := Student(2, n); !math.IsInf(v, 1) {
			t.Errorf("n = %v: %v", n, v)
		}
	}
	if v := Student(1e3, .1); !math.IsInf(v, 1) {
		t.Errorf("on overflow the quantile is %v", v)
	}
}

// Draws have the moments of the normal distribution, and the same bits on every machine.
func TestNormal(t *testing.T) {
	r := random.New(1, "normal")
	const n = 200_000
	var sum [5]float64
	within := 0
	for range n {
		x, p := Normal(r), 1.0
		for k := range sum {
			sum[k] += p / n
			p *= x
		}
		if math.Abs(x) < 1.959964 {
			within++
		}
	}
	for k, want := range []float64{1, 0, 1, 0, 3} {
		if math.Abs(sum[k]-want) > .05 {
			t.Errorf("moment %d is %v, want %v", k, sum[k], want)
		}
	}
	if share := float64(within) / n; math.Abs(share-.95) > .003 {
		t.Errorf("%v of the draws are within the 95 %% interval", share)
	}
	s := random.SplitMix64(1)
	for i, want := range []uint64{0x3fdb7c251a5470cc, 0x3fdd368fe72bb620, 0xbfd4eaec1cb11224} {
		if got := math.Float64bits(Normal(&s)); got != want {
			t.Errorf("draw %d is %#x, want %#x", i, got, want)
		}
	}
}

// The mean and the variance of the Gamma distribution of scale 1 are its shape.
func TestGamma(t *testing.T) {
	for _, shape := range []float64{0.3, 1, 4.5} {
		const n = 40000
		r := random.New(3, "gamma")
		sum, squares := 0.0, 0.0
		for range n {
			x := Gamma(r, shape)
			sum += x
			squares += x * x
		}
		mean := sum / n
		variance := squares/n - mean*mean
		// The variance of the variance of a sample is (μ₄ − σ⁴)/n with μ₄ = 3·shape² + 6·shape.
		if d := math.Abs(mean-shape) / math.Sqrt(shape/n); d > 5 {
			t.Errorf("shape %v: mean %v, %.1f standard errors off", shape, mean, d)
		}
		if d := math.Abs(variance-shape) / math.Sqrt((2*shape*shape+6*shape)/n); d > 5 {
			t.Errorf("shape %v: variance %v, %.1f standard errors off", shape, variance, d)
		}
	}
}
