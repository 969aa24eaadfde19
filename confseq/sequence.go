package confseq

import (
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/vec"
)

// Sequence holds the running mean and variance of one variable, by Welford's recurrence, and gives
// a confidence sequence for the mean: [Sequence.Interval] holds for all numbers of observations at
// once with probability 1 − alpha, so it may be looked at after each. The zero Sequence is empty.
// Its fields are exported to be saved. It is not safe for concurrent use.
type Sequence struct {
	N    int64
	Mean float64
	M2   float64 // Σ (x − Mean)²
	// Low and High are the smallest and the largest observation. Of sums they are bounds.
	Low  float64
	High float64
}

// Repeated returns the sequence of n observations of the same value.
func Repeated(n int64, x float64) Sequence {
	if n < 1 {
		return Sequence{}
	}
	return Sequence{N: n, Mean: x, Low: x, High: x}
}

// Add adds an observation. It returns an error, and changes nothing, if the observation or the sums
// are not finite.
func (s *Sequence) Add(x float64) error {
	if x-x != 0 {
		return noregret.BadInputf("observation", "%v: want a finite number", x)
	}
	d := x - s.Mean
	mean := s.Mean + d/float64(s.N+1)
	m2 := s.M2 + float64(d*(x-mean))
	if mean-mean != 0 || m2-m2 != 0 {
		return noregret.BadInputf("observation", "%v: the sums leave the range of float64", x)
	}
	s.Low, s.High = widen(s.N, s.Low, s.High, x, x)
	s.N, s.Mean, s.M2 = s.N+1, mean, m2
	return nil
}

// Merge adds the observations of another sequence, as if they had been added one by one, up to
// rounding (Chan, Golub and LeVeque 1979).
func (s *Sequence) Merge(o Sequence) {
	if o.N == 0 {
		return
	}
	if s.N == 0 {
		*s = o
		return
	}
	n, m := float64(s.N), float64(o.N)
	d := o.Mean - s.Mean
	s.Low, s.High = widen(s.N, s.Low, s.High, o.Low, o.High)
	s.Mean += float64(d * (m / (n + m)))
	s.M2 += o.M2 + float64(d*d*(n*m/(n+m)))
	s.N += o.N
}

// Merged returns the sequence with the observations of another one. It returns false if the result
// leaves the range of float64 or int64.
func (s Sequence) Merged(o Sequence) (_ Sequence, ok bool) {
	if s.N > math.MaxInt64-o.N {
		return s, false
	}
	s.Merge(o)
	return s, vec.IsFinite(s.Mean) && vec.IsFinite(s.M2)
}

// FromSums returns the sequence of n observations with the given sum and sum of squares. It returns
// an error if no observations can have these sums.
func FromSums(n int64, sum, squares float64) (Sequence, error) {
	if n < 0 || n == 0 && (sum != 0 || squares != 0) {
		return Sequence{}, noregret.BadInputf("n",
			"%d observations with sums %v and %v: want at least 1, or none and no sums", n, sum, squares)
	}
	if sum-sum != 0 || squares-squares != 0 || squares < 0 {
		return Sequence{}, noregret.BadInputf("sums",
			"%v and %v: want finite numbers, the sum of squares at least 0", sum, squares)
	}
	if n == 0 {
		return Sequence{}, nil
	}
	mean := sum / float64(n)
	m2 := squares - float64(mean*sum)
	if m2 < -1e-9*squares {
		return Sequence{}, noregret.BadInputf("squares",
			"%v for %d observations with sum %v: by Cauchy and Schwarz it is at least %v", squares, n, sum, mean*sum)
	}
	m2 = max(m2, 0)
	// No observation is further from the mean than this (Samuelson 1968).
	far := math.Sqrt(m2 / float64(n) * float64(n-1))
	return Sequence{N: n, Mean: mean, M2: m2, Low: mean - far, High: mean + far}, nil
}

// widen returns the extremes of n observations, from low to high, and of others.
func widen(n int64, low, high, from, to float64) (float64, float64) {
	if n == 0 {
		return from, to
	}
	return min(low, from), max(high, to)
}

// Farthest returns the largest distance of an observation from c, or a bound for it. It returns 0
// if the extremes are unknown, that is, both 0 though there are deviations.
func (s *Sequence) Farthest(c float64) float64 {
	if !(s.High > s.Low) && s.M2 > 0 {
		return 0
	}
	return max(s.High-c, c-s.Low, 0)
}

// Variance is the sample variance, NaN below two observations: it is unknown then, not 0.
func (s *Sequence) Variance() float64 {
	if s.N < 2 {
		return math.NaN()
	}
	return s.M2 / float64(s.N-1)
}

// Constants of the asymptotic sequence, for observations without a range.
const (
	// tightAt is the number of observations at which the sequence is tightest relative to the best
	// possible.
	tightAt = 1000
	// burnIn is the number of observations below which the interval is trivial, because the theorem
	// is asymptotic.
	burnIn = 200
	// spare is added to the sum of squared deviations of counts, because the sample variance of
	// rare counts is too small for a long time.
	spare = 4
	// dominant is the largest share of the sum of squared deviations that one observation may have.
	dominant = 1.0 / 20
)

// Interval returns the confidence sequence at the observations so far, within [low, high], the
// range of an observation; alpha is in (0, 1). O(1), about a microsecond.
//
// If both ends are finite it is exact: at every alpha and from the first observation on, the
// probability that the true mean is ever outside is at most alpha, for every distribution on the
// range, by Hoeffding's and Fan's exponential supermartingales and Ville's inequality (bounded.go
// has the formulas).
//
// If an end is infinite no exact interval exists, because one observation in a million may
// determine the mean. Then it is Mean ± √((v + ρ)·(ln((v + ρ)/ρ) + 2·ln(1/α)))/n with v = n·s², the
// normal mixture's boundary (Robbins 1970) with the sample variance s²: an asymptotic confidence
// sequence (Waudby-Smith et al. 2024, Theorem 2.2), whose level tends to alpha as the number of
// observations at which it begins grows. It begins when there are 200 observations of which none
// has more than a 20th of the sum of squared deviations (Noether's condition): a mean that depends
// on few observations, such as that of revenue, is far from normal, and its sample variance is too
// small until the largest values have occurred. Before that, and while all observations are equal,
// it is [low, high]. For [FromSums] only a bound on the largest deviation is known, so at least 20
// batches are needed. If low is finite, as for counts, 4 is added to the sum of squared deviations,
// which understates the variance while a rare event has not occurred.
func (s *Sequence) Interval(alpha, low, high float64) (from, to float64) {
	if vec.IsFinite(low) && vec.IsFinite(high) && vec.IsFinite(high-low) {
		return boundedInterval(s, alpha, low, high)
	}
	n, squares := float64(s.N), s.M2
	if vec.IsFinite(low) {
		squares += spare
	}
	far := s.Farthest(s.Mean)
	if s.N < burnIn || !(squares > 0) || float64(far*far) > float64(dominant*squares) {
		return low, high
	}
	v := squares / (n - 1)
	width := mixtureRadius(float64(n*v), tightAt*v, float64(-2*portable.Log(alpha))) / n
	return max(s.Mean-width, low), min(s.Mean+width, high)
}
