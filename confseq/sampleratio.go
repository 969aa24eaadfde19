package confseq

import (
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
)

// SampleRatio is a sequential test that counts by arm follow given shares: the sample-ratio test of
// experiments, valid at every number of units. Its evidence is the probability of the counts when
// the shares are Dirichlet around the given ones, over their probability under the given shares, a
// martingale under the null hypothesis (Lindon and Malek 2022). It depends on the counts alone, not
// on their order, so units can be added one by one or in sums. Make one with [NewSampleRatio]. Its
// fields are exported to be saved. It is not safe for concurrent use.
type SampleRatio struct {
	Shares []float64 // the null hypothesis
	Prior  []float64 // the Dirichlet's parameters by arm
	Mass   float64   // their sum
	Counts []int64
	Units  int64   // the sum of the counts
	LogE   float64 // ln of the evidence so far
	Worst  float64 // the largest LogE that P has seen, at least 0
}

// NewSampleRatio tests the given shares, at least 0 with a sum of 1 within 1e-9. Prior, above 0, is
// the concentration: the number of units for each arm that the Dirichlet is worth. Small values
// find large deviations soon, large ones small deviations; 50 is a good choice.
func NewSampleRatio(shares []float64, prior float64) (*SampleRatio, error) {
	if !(prior > 0 && prior <= 1e9) {
		return nil, noregret.BadInputf("prior", "%v: want a number in (0, 1e9]", prior)
	}
	s := &SampleRatio{Counts: make([]int64, len(shares))}
	total := 0.0
	for k, p := range shares {
		if !(p >= 0 && p <= 1) {
			return nil, noregret.BadInputf("shares", "share %d is %v: want a number in [0, 1]", k, p)
		}
		total += p
		if p > 0 {
			s.Mass += prior
		}
	}
	if !(math.Abs(total-1) <= 1e-9) {
		return nil, noregret.BadInputf("shares", "sum %v: want 1", total)
	}
	for _, p := range shares {
		s.Shares = append(s.Shares, p)
		s.Prior = append(s.Prior, float64(p*s.Mass))
	}
	return s, nil
}

// Add counts n units of an arm. It returns an error, and counts nothing, if the arm does not exist
// or has no share, or if n is negative. O(1).
func (s *SampleRatio) Add(arm int, n int64) error {
	if arm < 0 || arm >= len(s.Shares) || !(s.Shares[arm] > 0) {
		return noregret.BadInputf("arm", "%d: want one of the %d arms, with a share above 0", arm, len(s.Shares))
	}
	if n < 0 || n > math.MaxInt64-s.Units {
		return noregret.BadInputf("units", "%d: want a number of units, at least 0", n)
	}
	s.LogE += LogEvidence(s.Prior[arm], s.Mass, s.Shares[arm], s.Counts[arm], s.Units, n)
	s.Counts[arm] += n
	s.Units += n
	return nil
}

// P looks at the evidence and returns a p-value that is valid at all times: while the shares hold,
// it is ever below alpha with probability at most alpha (Ville's inequality). It never rises. Units
// that are reported together are added before the next look, since their order may be the
// reporter's.
func (s *SampleRatio) P() float64 {
	s.Worst = max(s.Worst, s.LogE)
	return min(1, portable.Exp(-s.Worst))
}

// LogEvidence returns by how much n more units of an arm raise the logarithm of the evidence of
// [SampleRatio]. The Dirichlet has the parameter prior for the arm and mass in all; share, above 0,
// is the arm's share under the null hypothesis; count and units are the units so far, of the arm
// and in all. Evidence with other priors, or from several samples, can be computed with it.
func LogEvidence(prior, mass, share float64, count, units, n int64) float64 {
	if n <= 0 {
		return 0
	}
	return logRising(prior+float64(count), n) - logRising(mass+float64(units), n) -
		float64(float64(n)*portable.Log(share))
}

// LogSum is ln(e^a + e^b): the logarithm of the sum of two pieces of evidence.
func LogSum(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	return a + portable.Log1p(portable.Exp(b-a))
}

// logRising is ln(x·(x+1)···(x+n−1)) = ln Γ(x+n) − ln Γ(x) for x > 0 and n ≥ 1.
func logRising(x float64, n int64) float64 {
	sum := 0.0
	for ; n > 0 && (n < 16 || x < 16); n-- {
		sum += portable.Log(x)
		x++
	}
	if n == 0 {
		return sum
	}
	// Stirling's series at both ends, x ≥ 16: the first term left out is below 1e-12.
	m := float64(n)
	y := x + m
	series := func(z float64) float64 {
		w := 1 / float64(z*z)
		return (1.0/12 - float64(w*(1.0/360-float64(w*(1.0/1260-float64(w/1680)))))) / z
	}
	return sum + float64((x-0.5)*portable.Log1p(m/x)) + float64(m*(portable.Log(y)-1)) + (series(y) - series(x))
}
