package printed

import (
	"math"
	"math/bits"

	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/private"
)

// UnsafeNoise is the noise of the tree of the paper's Algorithm 5, kept as one vector per level.
type UnsafeNoise struct {
	draw   func(dst []float64)
	t      uint64
	levels [][]float64
	sum    []float64
}

// Calibration holds what the printed formula (3.2) depends on.
type Calibration struct {
	// Dim is d, P is p, and Horizon is n.
	Dim     int
	P       float64
	Horizon int64
	// Epsilon and Delta are the claim.
	Epsilon, Delta float64
	// Increment is βD + L.
	Increment float64
}

// Exponent is the printed exponent of the norm, min{q−1, ln d−1} for p < 2, which may be below 1.
func (c Calibration) Exponent() float64 {
	if c.P >= 2 {
		return 2
	}
	return min(c.P/(c.P-1)-1, portable.Log(float64(c.Dim))-1)
}

// Scale is σ₊ of formula (3.2), 8(h+1)²κ·ln((h+1)/δ)·(βD+L)²/ε² for σ₊², with the given κ.
func (c Calibration) Scale(kappa float64) float64 {
	nodes := float64(bits.Len64(uint64(c.Horizon-1)) + 1) // h + 1
	return math.Sqrt(8*kappa*portable.Log(nodes/c.Delta)) * nodes * c.Increment / c.Epsilon
}

// kappa is the printed κ: min{q−1, e²(ln d−1)} for p < 2, d^(1−2/p) otherwise.
func (c Calibration) kappa() float64 {
	if c.P >= 2 {
		return portable.Pow(float64(c.Dim), 1-2/c.P)
	}
	return min(c.P/(c.P-1)-1, math.E*math.E*(portable.Log(float64(c.Dim))-1))
}

// UnsafeLiteral returns the noise of (3.2) with the printed exponent and a sampler with the second
// moment σ₊².
func UnsafeLiteral(c Calibration, seed uint64) *UnsafeNoise {
	scale := c.Scale(c.kappa())
	if c.P >= 2 {
		scale /= portable.Pow(float64(c.Dim), 0.5-1/c.P)
	}
	return newNoise(c, scale, seed)
}

// UnsafeTypo returns the noise with the printed scale of the Gamma distribution, 2σ₊ in place of
// 2σ₊². It is the reading that reproduces the paper's Table 5.1, with D = 2 for a diameter of 4 and
// without κ for p ≥ 2.
func UnsafeTypo(c Calibration, seed uint64) *UnsafeNoise {
	kappa := 1.0
	if c.P < 2 {
		kappa = c.kappa()
	}
	return newNoise(c, math.Sqrt(c.Scale(kappa)), seed)
}

func newNoise(c Calibration, scale float64, seed uint64) *UnsafeNoise {
	source := random.New(seed, "private/printed")
	exponent := c.Exponent()
	n := &UnsafeNoise{
		levels: make([][]float64, bits.Len64(uint64(c.Horizon))), sum: make([]float64, c.Dim),
		draw: func(dst []float64) { Generalized(source, dst, exponent, scale) },
	}
	for l := range n.levels {
		n.levels[l] = make([]float64, c.Dim)
	}
	return n
}

// Next returns the noise of the next prefix sum. The slice is overwritten by the next call.
func (n *UnsafeNoise) Next() []float64 {
	n.t++
	low := bits.TrailingZeros64(n.t)
	for l := range low {
		clear(n.levels[l])
	}
	n.draw(n.levels[low])
	clear(n.sum)
	for l, level := range n.levels {
		if n.t>>l&1 == 1 {
			vec.AddScaled(n.sum, 1, level)
		}
	}
	return n.sum
}

// Generalized writes a vector with density proportional to exp(−‖z‖_r²/(2σ²)) to dst: the square of
// its length has the Gamma distribution with shape d/2 and scale 2σ², its direction the cone
// measure of the sphere of ‖·‖_r. For r < 1 the direction is drawn by the same formula, although
// ‖·‖_r is no norm.
func Generalized(source *random.Source, dst []float64, r, sigma float64) {
	if r == 2 {
		for j := range dst {
			dst[j] = sigma * stat.Normal(source)
		}
		return
	}
	length := sigma * math.Sqrt(2*stat.Gamma(source, float64(len(dst))/2))
	sum := 0.0
	for j := range dst {
		u := stat.Gamma(source, 1/r)
		sum += u
		dst[j] = portable.Pow(u, 1/r)
		if source.Uint64()&1 == 1 {
			dst[j] = -dst[j]
		}
	}
	vec.Scale(dst, length/portable.Pow(sum, 1/r))
}

// UnsafeRun is the paper's Algorithm 1 in floating point, without clipping, on rows of features. It
// returns the last point. A nil noise is the algorithm without privacy.
func UnsafeRun(p private.Problem, noise *UnsafeNoise, features [][]float64, labels []float64) []float64 {
	dim := p.Domain.Dim()
	theta, previous, sum := p.Domain.Start(), p.Domain.Start(), make([]float64, dim)
	noisy, vertex := make([]float64, dim), make([]float64, dim)
	for i, x := range features {
		t := float64(i + 1)
		current := p.Loss.Slope(vec.Dot(x, theta), labels[i])
		before := p.Loss.Slope(vec.Dot(x, previous), labels[i])
		vec.AddScaled(sum, float64((t+1)*current)-float64(t*before), x)
		copy(noisy, sum)
		if noise != nil {
			vec.AddScaled(noisy, 1, noise.Next())
		}
		p.Domain.Minimize(vertex, noisy)
		copy(previous, theta)
		eta := min(1, p.StepScale/(t+1))
		for j, v := range vertex {
			theta[j] += float64(eta * (v - theta[j]))
		}
	}
	return theta
}
