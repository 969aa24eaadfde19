package dp

import (
	"errors"
	"math"
	"sort"
	"testing"

	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/internal/testsize"
)

// TestOracleO1GeneralizedGaussian checks the moments of the norm and of the coordinates, the
// symmetry of signs, and that twice the σ gives exactly twice the noise: with the published scale
// of the Gamma distribution it would be √2.
func TestOracleO1GeneralizedGaussian(t *testing.T) {
	draws := testsize.Of(100_000, 20_000)
	for _, c := range []struct {
		dim          int
		index, sigma float64
	}{{1, 2, 3}, {5, 2, 0.5}, {5, 3, 2}, {4, 11, 1}} {
		g, err := NewUnsafeGeneralizedGaussian(c.dim, c.index, c.sigma, 1)
		if err != nil {
			t.Fatal(err)
		}
		double, err := NewUnsafeGeneralizedGaussian(c.dim, c.index, 2*c.sigma, 1)
		if err != nil {
			t.Fatal(err)
		}
		z, twice := make([]float64, c.dim), make([]float64, c.dim)
		var mean, square, share, positive float64
		n := float64(draws)
		for range draws {
			g.Draw(z)
			double.Draw(twice)
			norm := 0.0
			for j, v := range z {
				if twice[j] != 2*v {
					t.Fatalf("twice sigma gives %g and %g", v, twice[j])
				}
				norm += math.Pow(math.Abs(v), c.index)
			}
			share += math.Pow(math.Abs(z[0]), c.index) / norm / n
			norm = math.Pow(norm, 2/c.index)
			mean += norm / n
			square += norm * norm / n
			if z[0] > 0 {
				positive += 1 / n
			}
		}
		d, v := float64(c.dim), c.sigma*c.sigma
		near(t, "mean", mean, d*v, 5*math.Sqrt(2*d*v*v/n))
		near(t, "variance", square-mean*mean, 2*d*v*v, 5*math.Sqrt((8*d*d+48*d)/n)*v*v*1.5)
		near(t, "share", share, 1/d, 5/math.Sqrt(n))
		near(t, "sign", positive, 0.5, 2.5/math.Sqrt(n))
	}
	// r = 2 is the normal distribution in every coordinate: Kolmogorov and Smirnov.
	g, err := NewUnsafeGeneralizedGaussian(4, 2, 1.5, 2)
	if err != nil {
		t.Fatal(err)
	}
	z, values := make([]float64, 4), make([]float64, draws)
	for i := range values {
		g.Draw(z)
		values[i] = z[2] / 1.5
	}
	sort.Float64s(values)
	distance := 0.0
	for i, v := range values {
		p := stat.NormalBelow(v)
		distance = max(distance, math.Abs(p-float64(i)/float64(draws)), math.Abs(p-float64(i+1)/float64(draws)))
	}
	if limit := 2.2 / math.Sqrt(float64(draws)); distance > limit { // passed with probability 1e-4
		t.Errorf("distance %g from the normal distribution, want at most %g", distance, limit)
	}
}

func TestGeneralizedErrors(t *testing.T) {
	if _, err := NewUnsafeGeneralizedGaussian(0, 2, 1, 1); !errors.Is(err, ErrDimension) {
		t.Errorf("dimension 0: %v, want ErrDimension", err)
	}
	if _, err := NewUnsafeGeneralizedGaussian(2, math.NaN(), 1, 1); !errors.Is(err, ErrNorm) {
		t.Errorf("index NaN: %v, want ErrNorm", err)
	}
	if _, err := NewUnsafeGeneralizedGaussian(2, 2, 0, 1); !errors.Is(err, ErrBound) {
		t.Errorf("sigma 0: %v, want ErrBound", err)
	}
}
