package experiment

import (
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
)

// Sequence is the running mean and variance of one metric of one arm, by Welford's recurrence, and
// a confidence sequence for the mean ([Sequence.Interval]): an interval that holds for all numbers
// of observations at once with probability 1 − alpha, so that it may be looked at after every one.
// The zero Sequence is empty. Its fields are exported to be saved.
type Sequence struct {
	N    int64
	Mean float64
	M2   float64 // Σ (x − Mean)²
}

// Add takes an observation. One that is not finite is refused and changes nothing.
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
	s.Mean += float64(d * (m / (n + m)))
	s.M2 += o.M2 + float64(d*d*(n*m/(n+m)))
	s.N += o.N
}

// merged is Merge for sums from outside: ok is false where the result leaves the range of float64
// or int64.
func (s Sequence) merged(o Sequence) (_ Sequence, ok bool) {
	if s.N > math.MaxInt64-o.N {
		return s, false
	}
	s.Merge(o)
	return s, finite(s.Mean) && finite(s.M2)
}

// fromSums is [FromSums] for the metric: no sums that observations of its kind and range cannot
// have.
func (m *Metric) fromSums(p Sums) (Sequence, error) {
	s, err := FromSums(p.N, p.Sum, p.Squares)
	if err != nil || s.N == 0 {
		return s, err
	}
	low, high := m.interval()
	if slack := float64(1e-9 * (high - low)); !(s.Mean >= low-slack && s.Mean <= high+slack) {
		return s, noregret.BadInputf("sum", "the mean is %v: want a number in [%v, %v]", s.Mean, low, high)
	}
	s.Mean = min(max(s.Mean, low), high)
	// Σ(x − low)(high − x) is at least 0 (Bhatia and Davis 2000).
	n := float64(p.N)
	if most := float64(float64(n*(high-s.Mean)) *
		(s.Mean - low)); s.M2 > float64(most*(1+1e-9))+float64(1e-9*p.Squares) {
		return s, noregret.BadInputf("squares", "%v for %d observations with sum %v: in [%v, %v] it is at most %v",
			p.Squares, p.N,
			p.Sum, low, high, most+float64(s.Mean*p.Sum))
	}
	if m.Kind == "count" && (p.Sum != math.Trunc(p.Sum) || p.Squares != math.Trunc(p.Squares) || p.Squares < p.Sum) {
		return s, noregret.BadInputf("sums", "%v and %v: counts are whole numbers, and their squares at least as large",
			p.Sum,
			p.Squares)
	}
	return s, nil
}

// FromSums is the sequence of n observations with a sum and a sum of squares, as sources that
// aggregate report them. It refuses sums that no observations can have.
func FromSums(n int64, sum, squares float64) (Sequence, error) {
	if n < 0 || n == 0 && (sum != 0 || squares != 0) {
		return Sequence{}, noregret.BadInputf("n",
			"%d observations with sums %v and %v: want at least 1, or none and no sums", n, sum, squares)
	}
	if sum-sum != 0 || squares-squares != 0 || squares < 0 {
		return Sequence{}, noregret.BadInputf("sums",
			"%v and %v: want finite numbers, that of squares at least 0", sum, squares)
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
	return Sequence{n, mean, max(m2, 0)}, nil
}

// Variance is the sample variance, NaN below two observations: it is unknown then, not 0.
func (s *Sequence) Variance() float64 {
	if s.N < 2 {
		return math.NaN()
	}
	return s.M2 / float64(s.N-1)
}

// The asymptotic sequence of observations without a range.
const (
	// tightAt is the number of observations at which it is the tightest, relative to what is
	// possible.
	tightAt = 1000
	// burnIn is the number below which it says nothing: the theorem is one about many.
	burnIn = 200
	// spare is added to the sum of squared deviations of counts: rare ones have shown too few of
	// their variance for long.
	spare = 4
)

// Interval is the confidence sequence at the observations so far, within [low, high], their range;
// alpha is in (0, 1).
//
// Where both ends are finite it is exact: at every alpha and from the first observation on, the
// probability that the true mean is ever outside is at most alpha, for whatever distribution on the
// range, by Hoeffding's and Fan's exponential supermartingales and Ville's inequality (bounded.go
// has the formulas).
//
// Where an end is infinite nothing exact can be had, as one observation in a million may carry the
// mean. Then it is Mean ± √((v + ρ)·(ln((v + ρ)/ρ) + 2·ln(1/α)))/n with v = n·s², the normal
// mixture's boundary (Robbins 1970) with the sample variance: an asymptotic confidence sequence
// (Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas 2024, theorem 2.2), whose level tends to alpha
// as the number at which it begins grows. It begins at 200 observations; before, and while all are
// equal, it is [low, high]. Where low is finite, as counts have it, 4 is added to the sum of
// squared deviations, which says less than the truth while a rare event has not come.
func (s *Sequence) Interval(alpha, low, high float64) (from, to float64) {
	if finite(low) && finite(high) && finite(high-low) {
		return boundedInterval(s, alpha, low, high)
	}
	n, squares := float64(s.N), s.M2
	if finite(low) {
		squares += spare
	}
	if s.N < burnIn || !(squares > 0) {
		return low, high
	}
	v := squares / (n - 1)
	// ρ that is best for v = tightAt·s²: v/(2·ln(1/α) + ln(1 + 2·ln(1/α))), the usual
	// approximation.
	l := float64(-2 * portable.Log(alpha))
	rho := tightAt * v / (l + portable.Log1p(l))
	total := float64(n*v) + rho
	width := math.Sqrt(total*(portable.Log(total/rho)+l)) / n
	return max(s.Mean-width, low), min(s.Mean+width, high)
}
