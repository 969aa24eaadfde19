package dp

import (
	"math"
	"math/bits"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/stat"
)

// gaussianTails is the number of standard deviations after which discrete Gaussian noise is cut
// off, so that sums of it cannot overflow. The probability of a value beyond is below e^−2000.
const gaussianTails = 64

// maxRatio bounds numerator and denominator of a variance that is no square of an integer.
const maxRatio = 1000

// laplace returns u + v·scale with its sign: a draw of the discrete Laplace distribution, P(k) ∝
// exp(−|k|/scale), as two parts (Canonne, Kamath and Steinke 2020, algorithm 2).
func (s *source) laplace(scale uint64) (u, v uint64, negative bool) {
	for {
		u = s.below(scale)
		if !s.expMinus(u, scale) {
			continue
		}
		for v = 0; s.expMinusOne(); {
			v++
		}
		negative = s.coin()
		if u > 0 || v > 0 || !negative {
			return u, v, negative
		}
	}
}

// gaussian returns a draw of the discrete Gaussian distribution, P(k) ∝ exp(−k²/(2σ²)), for an
// integer σ below 2^55, by the rejection algorithm of Karney (2016) on the integers: with |k| = q·σ
// + u the weight is exp(−q²/2)·exp(−q·u/σ)·exp(−(u/σ)²/2), and each factor is sampled exactly in 64
// bits.
func (s *source) gaussian(sigma uint64) int64 {
	if s.fast {
		return int64(math.RoundToEven(float64(sigma) * stat.Normal(s.seeded)))
	}
	for {
		q := uint64(0)
		for s.expMinusHalf() {
			q++
		}
		if q >= gaussianTails || !s.expMinusHalves(q*(q-1)) {
			continue
		}
		u := s.below(sigma)
		if !s.expMinusHalfSquare(u, sigma) || !s.expMinusTimes(q, u, sigma) {
			continue
		}
		k := int64(q*sigma + u)
		switch negative := s.coin(); {
		case !negative:
			return k
		case k != 0: // or 0 would have two signs
			return -k
		}
	}
}

// gaussianRatio is gaussian for the variance num/den, both at most maxRatio.
func (s *source) gaussianRatio(num, den uint64) int64 {
	t := isqrt(num/den) + 1
	for {
		u, v, negative := s.laplace(t)
		if v >= gaussianTails {
			continue
		}
		k := u + v*t
		diff := max(k*t*den, num) - min(k*t*den, num)
		if s.expMinus(diff*diff, 2*t*t*den*num) {
			if negative {
				return -int64(k)
			}
			return int64(k)
		}
	}
}

// isqrt is ⌊√n⌋.
func isqrt(n uint64) uint64 {
	root := uint64(0)
	for bit := uint64(1) << (bits.Len64(n) / 2); bit > 0; bit >>= 1 {
		if high, low := bits.Mul64(root+bit, root+bit); high == 0 && low <= n {
			root += bit
		}
	}
	return root
}

// DiscreteGaussian draws integers k with probability proportional to exp(−k²/(2σ²)), exactly, in
// integer arithmetic with secure randomness (Canonne, Kamath and Steinke 2020). Draws and σ are in
// units of the integer to which they are added. If that moves by at most Δ, of several integers in
// the Euclidean norm, from one data set to its neighbours, the sum costs ρ = Δ²/(2σ²) of zCDP, as
// with the continuous Gaussian.
//
// It has no adjacency and no unit of privacy of its own: whoever adds it must say what Δ is about,
// which is twice the clip for each record under replace-one adjacency and the clip under zero-out
// adjacency ([Protection.Sensitivity]). A [Stream] does all this. Not safe for concurrent use.
type DiscreteGaussian struct {
	random   *source
	sigma    uint64 // 0 if the variance is num/den
	num, den uint64
}

// NewDiscreteGaussian returns the distribution of variance num/den. The ratio must be the square of
// an integer, given with den = 1, or both numbers must be between 1 and 1000. The error is
// ErrBound.
func NewDiscreteGaussian(num, den uint64, opts ...Option) (*DiscreteGaussian, error) {
	g := &DiscreteGaussian{random: newSource(opts, "gaussian"), num: num, den: den}
	root := isqrt(num)
	switch {
	case den == 1 && root >= 1 && root*root == num:
		g.sigma = root
	case num < 1 || den < 1 || num > maxRatio || den > maxRatio:
		return nil, noregret.BadInputf("variance",
			"%d/%d, want the square of an integer or two numbers from 1 to %d: %w",
			num, den, maxRatio, ErrBound)
	}
	return g, nil
}

// NewDiscreteGaussianScale returns the distribution with the integer standard deviation sigma, from
// 1 to 2^55. The error is ErrBound.
func NewDiscreteGaussianScale(sigma uint64, opts ...Option) (*DiscreteGaussian, error) {
	if sigma < 1 || sigma > maxSigma {
		return nil, noregret.BadInputf("sigma", "%d, want 1 to 2^55: %w", sigma, ErrBound)
	}
	return &DiscreteGaussian{random: newSource(opts, "gaussian"), sigma: sigma}, nil
}

// maxSigma is the largest standard deviation in units of the lattice: 64·σ stays below 2^61.
const maxSigma = 1 << 55

// Draw returns one integer. It takes about a fifth of a microsecond for an integer σ and allocates
// nothing; how long exactly depends on secret random bits.
func (g *DiscreteGaussian) Draw() int64 {
	if g.sigma > 0 {
		return g.random.gaussian(g.sigma)
	}
	return g.random.gaussianRatio(g.num, g.den)
}

// Insecure reports whether the noise comes from a seed.
func (g *DiscreteGaussian) Insecure() bool { return g.random.insecure() }

// DiscreteLaplace draws integers k with probability proportional to exp(−|k|/scale), exactly
// (Canonne, Kamath and Steinke 2020). Draws and the scale are in units of the integer to which they
// are added. If that moves by at most Δ, of several integers in the norm l1, from one data set to
// its neighbours, the sum is (Δ/scale, 0)-private.
//
// It has no adjacency and no unit of privacy of its own: see [DiscreteGaussian]. A [Selector] has
// both. Not safe for concurrent use.
type DiscreteLaplace struct {
	random *source
	scale  uint64
}

// NewDiscreteLaplace returns the distribution with the given integer scale, from 1 to 2^53. The
// error is ErrBound.
func NewDiscreteLaplace(scale uint64, opts ...Option) (*DiscreteLaplace, error) {
	if scale < 1 || scale > 1<<53 {
		return nil, noregret.BadInputf("scale", "%d, want 1 to 2^53: %w", scale, ErrBound)
	}
	return &DiscreteLaplace{random: newSource(opts, "laplace"), scale: scale}, nil
}

// Draw returns one integer, of at most 3·2^61 in absolute value: larger ones, which have a
// probability below e^−700, become that.
func (l *DiscreteLaplace) Draw() int64 { return l.random.signedLaplace(l.scale) }

// Insecure reports whether the noise comes from a seed.
func (l *DiscreteLaplace) Insecure() bool { return l.random.insecure() }

// laplaceLimit is where Laplace noise saturates. A sum of a score below 2^61 and noise, saturated
// at 2^62, is the same with and without it, so that it is post-processing and costs nothing.
const laplaceLimit = 3 << 61

func (s *source) signedLaplace(scale uint64) int64 {
	u, v, negative := s.laplace(scale)
	high, low := bits.Mul64(v, scale)
	k := int64(laplaceLimit)
	if high == 0 && low < laplaceLimit && low+u < laplaceLimit {
		k = int64(low + u)
	}
	if negative {
		return -k
	}
	return k
}

// roundingDistance bounds the distance in total variation between the discrete Gaussian of standard
// deviation σ ≥ 2 and the continuous one rounded to the nearest integer, 1/(24σ²). The mass of a
// cell differs from the density φ at its centre by at most 1/24 of the largest |φ″| in the cell.
// The largest values of all cells add up to at most ∫|φ″| and the variation of φ″, 0.97/σ² +
// 1.51/σ³, which is below 1.73/σ²; half of it over 24, and the sum of φ over the integers, which is
// 1 up to e^−78, leave the result.
func roundingDistance(sigma float64) float64 { return 1 / (24 * sigma * sigma) }
