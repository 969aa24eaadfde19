package experiment

import (
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
)

// Sequence is the running mean and variance of one metric of one arm, by Welford's recurrence, and a
// confidence sequence for the mean: an interval that holds for all numbers of observations at once with
// probability 1 − alpha, so that it may be looked at after every one. The zero Sequence is empty. Its
// fields are exported to be saved.
type Sequence struct {
	N    int64
	Mean float64
	M2   float64 // Σ (x − Mean)²
}

// Add takes an observation. One that is not finite is refused and changes nothing.
func (s *Sequence) Add(x float64) error {
	if x-x != 0 {
		return noregret.Errorf(noregret.BadInput, "observation", "%v: want a finite number", x)
	}
	d := x - s.Mean
	mean := s.Mean + d/float64(s.N+1)
	m2 := s.M2 + float64(d*(x-mean))
	if mean-mean != 0 || m2-m2 != 0 {
		return noregret.Errorf(noregret.BadInput, "observation", "%v: the sums leave the range of float64", x)
	}
	s.N, s.Mean, s.M2 = s.N+1, mean, m2
	return nil
}

// Merge adds the observations of another sequence, as if they had been added one by one, up to rounding
// (Chan, Golub and LeVeque 1979).
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
	s.Mean += float64(d * (m / (n + m)))
	s.M2 += o.M2 + float64(d*d*(n*m/(n+m)))
	s.N += o.N
}

// FromSums is the sequence of n observations with a sum and a sum of squares, as sources that aggregate
// report them. It refuses sums that no observations can have.
func FromSums(n int64, sum, squares float64) (Sequence, error) {
	if n < 0 || n == 0 && (sum != 0 || squares != 0) {
		return Sequence{}, noregret.Errorf(noregret.BadInput, "n", "%d observations with sums %v and %v: want at least 1, or none and no sums", n, sum, squares)
	}
	if sum-sum != 0 || squares-squares != 0 || squares < 0 {
		return Sequence{}, noregret.Errorf(noregret.BadInput, "sums", "%v and %v: want finite numbers, that of squares at least 0", sum, squares)
	}
	if n == 0 {
		return Sequence{}, nil
	}
	mean := sum / float64(n)
	m2 := squares - float64(mean*sum)
	if m2 < -1e-9*squares {
		return Sequence{}, noregret.Errorf(noregret.BadInput, "squares", "%v for %d observations with sum %v: by Cauchy and Schwarz it is at least %v", squares, n, sum, mean*sum)
	}
	return Sequence{n, mean, max(m2, 0)}, nil
}

// Variance is the sample variance, NaN below two observations: it is unknown then, not 0.
func (s *Sequence) Variance() float64 {
	if s.N < 2 {
		return math.NaN()
	}
	return s.M2 / float64(s.N-1)
}

// tightAt is the number of observations at which intervals are the tightest, relative to what is possible.
const tightAt = 1000

// Interval is Mean ± √((v + ρ)·ln((v + ρ)/(ρα²)))/n with v = n·s² and ρ tuned for some thousand
// observations: the normal mixture's boundary (Robbins 1970; Howard, Ramdas, McAuliffe and Sekhon 2021,
// (14)) with the sample variance in place of the true one, which is valid asymptotically (Waudby-Smith,
// Arbour, Sinha, Kennedy and Ramdas 2021). It is clipped to [low, high], the metric's range; below two
// observations it is that range. Alpha is in (0, 1).
func (s *Sequence) Interval(alpha, low, high float64) (from, to float64) {
	v := s.Variance()
	if !(v >= 0) {
		return low, high
	}
	n := float64(s.N)
	// ρ that is best for v = tightAt·s²: v/(2·ln(1/α) + ln(1 + 2·ln(1/α))), the usual approximation.
	l := float64(-2 * portable.Log(alpha))
	rho := tightAt * v / (l + portable.Log1p(l))
	width := 0.0
	if v > 0 {
		total := float64(n*v) + rho
		width = math.Sqrt(total*(portable.Log(total/rho)+l)) / n
	}
	return max(s.Mean-width, low), min(s.Mean+width, high)
}
