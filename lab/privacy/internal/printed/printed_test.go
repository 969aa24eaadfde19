package printed

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/private"
)

// TestOracleO1Generalized: the squared length of the generalized Gaussian has mean dσ² and variance
// 2dσ⁴, and the share of a coordinate has mean 1/d.
func TestOracleO1Generalized(t *testing.T) {
	const n, sigma = 40000, 3.0
	for _, r := range []float64{2, 3, 11} {
		for _, d := range []int{1, 5, 20} {
			source := random.New(1, "test")
			z := make([]float64, d)
			mean, square, share := 0.0, 0.0, 0.0
			for range n {
				Generalized(source, z, r, sigma)
				sum := 0.0
				for _, v := range z {
					sum += portable.Pow(math.Abs(v), r)
				}
				length := portable.Pow(sum, 2/r)
				mean += length / n
				square += length * length / n
				share += portable.Pow(math.Abs(z[0]), r) / sum / n
			}
			dd := float64(d)
			want, spread := dd*sigma*sigma, 2*dd*math.Pow(sigma, 4)
			if math.Abs(mean-want) > 5*math.Sqrt(spread/n) {
				t.Errorf("r=%v, d=%d: mean %v, want %v", r, d, mean, want)
			}
			if v := square - mean*mean; math.Abs(v/spread-1) > 0.15 {
				t.Errorf("r=%v, d=%d: variance %v, want %v", r, d, v, spread)
			}
			if math.Abs(share-1/dd) > 0.01 {
				t.Errorf("r=%v, d=%d: share %v, want %v", r, d, share, 1/dd)
			}
		}
	}
}

// TestPrintedConstants pins what the paper prints: an exponent below 1 for d = 5, σ₊ of formula
// (3.2) for n = 10^4, ε = 1, δ = 1e-4, and noise with the scale √σ₊ for the misprint of the Gamma
// distribution, which scales with √ of the data's unit and so can protect no unit.
func TestPrintedConstants(t *testing.T) {
	c := Calibration{Dim: 5, P: 1.5, Horizon: 10000, Epsilon: 1, Delta: 1e-4, Increment: 1}
	if r := c.Exponent(); math.Abs(r-0.6094) > 1e-4 {
		t.Errorf("exponent %v", r)
	}
	if s := c.Scale(1); math.Abs(s-146.5) > 0.1 {
		t.Errorf("σ₊ = %v, want 146.5", s)
	}
	c.P = 2
	large := c
	large.Increment = 100
	literal, typo := spread(UnsafeLiteral(large, 1))/spread(UnsafeLiteral(c, 1)), spread(UnsafeTypo(large, 1))/
		spread(UnsafeTypo(c, 1))
	if math.Abs(literal/100-1) > 1e-9 || math.Abs(typo/10-1) > 1e-9 {
		t.Errorf("noise for increments 100 times as large is %v times as large, with the misprint %v", literal, typo)
	}
}

// spread is the largest coordinate of the noise of the first step.
func spread(n *UnsafeNoise) float64 {
	largest := 0.0
	for _, v := range n.Next() {
		largest = max(largest, math.Abs(v))
	}
	return largest
}

// TestPrefixNoise: the noise of a prefix is the sum of the slots of its set bits, of which the ones
// that stay set do not change.
func TestPrefixNoise(t *testing.T) {
	n := UnsafeLiteral(Calibration{Dim: 1, P: 2, Horizon: 100, Epsilon: 1, Delta: 0.01, Increment: 1}, 1)
	values := []float64{0}
	for range 100 {
		values = append(values, n.Next()[0])
	}
	slots := map[int]float64{}
	for i := 1; i <= 100; i++ {
		low := i & -i
		slots[i] = values[i] - values[i-low] // the node of the steps i−low+1 to i
	}
	for i, v := range values[1:] {
		sum := 0.0
		for rest := i + 1; rest > 0; rest &= rest - 1 {
			sum += slots[rest]
		}
		if math.Abs(sum-v) > 1e-9*math.Abs(v)+1e-9 {
			t.Errorf("step %d: %v, the nodes sum to %v", i+1, v, sum)
		}
	}
}

// TestUnsafeRun: without noise the run is DP-TOFW without noise, for several step scales.
func TestUnsafeRun(t *testing.T) {
	domain, err := private.NewBall(3, 1.5, 1)
	if err != nil {
		t.Fatal(err)
	}
	source := random.New(2, "test")
	var xs [][]float64
	var ys []float64
	for range 300 {
		xs = append(xs, []float64{source.Float64() / 2, source.Float64() / 2, source.Float64() / 2})
		ys = append(ys, source.Float64())
	}
	for _, scale := range []float64{0.5, 1, 2} {
		p := private.NewProblem(domain, private.Squared(), 2, 2, 300)
		p.StepScale, p.Clip = scale, 200
		l, err := private.NewNonPrivateTOFW(p)
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range xs {
			if err := l.Step(x, ys[i]); err != nil {
				t.Fatal(err)
			}
		}
		for j, v := range UnsafeRun(p, nil, xs, ys) {
			if math.Abs(v-l.Theta()[j]) > 1e-4 {
				t.Errorf("scale %v: %v, the learner has %v", scale, v, l.Theta()[j])
			}
		}
	}
}
