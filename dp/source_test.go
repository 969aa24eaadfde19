package dp

import (
	"math"
	"testing"
)

// TestFastNoise: fast noise has the mean and the variance of the discrete Gaussian, repeats with
// its seed, and says that it is insecure.
func TestFastNoise(t *testing.T) {
	const n, sigma = 100000, 1 << 20
	a, err := NewDiscreteGaussianScale(sigma, WithInsecureFastNoiseForTesting(1))
	if err != nil {
		t.Fatal(err)
	}
	b, err := NewDiscreteGaussianScale(sigma, WithInsecureFastNoiseForTesting(1))
	if err != nil {
		t.Fatal(err)
	}
	mean, square := 0.0, 0.0
	for range n {
		v := a.Draw()
		if b.Draw() != v {
			t.Fatal("two sources with one seed differ")
		}
		x := float64(v) / sigma
		mean += x / n
		square += x * x / n
	}
	if math.Abs(mean) > 5/math.Sqrt(n) || math.Abs(square-1) > 5*math.Sqrt(2.0/n) {
		t.Errorf("mean %v, variance %v", mean, square)
	}
	l, err := NewLattice(DefaultLatticeConfig(2, 10, L2, 1))
	if err != nil {
		t.Fatal(err)
	}
	budget, err := ZCDPBudget(1, 1e-5)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewStream(StreamConfig{Kind: Tree, Lattice: l, Batch: 1, Protection: PerRecord(), Budget: budget},
		WithInsecureFastNoiseForTesting(1))
	if err != nil {
		t.Fatal(err)
	}
	if !a.Insecure() || s.Private() || !s.Charge().Insecure || s.Statement().Private {
		t.Error("fast noise does not say that it is insecure")
	}
}
