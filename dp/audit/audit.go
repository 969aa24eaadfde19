package audit

import (
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/internal/stat"
)

// A Trial runs the mechanism once, on the first of two neighbouring data sets or on the second one,
// and returns a statistic of its releases alone. It is larger where the observer believes in the
// second. The number of the run is a seed for tests.
type Trial func(run uint64, second bool) (statistic float64, err error)

// A Result is the outcome of an audit.
type Result struct {
	// Runs is the number of runs on each data set.
	Runs int
	// FalsePositives is how often the observer took the first data set for the second one, and
	// FalseNegatives how often the second one for the first.
	FalsePositives, FalseNegatives int
	// Mu estimates the privacy loss μ of Gaussian differential privacy, and MuLow is a lower bound
	// that holds with the stated confidence. It is negative if the observer did worse than by
	// chance.
	Mu, MuLow float64
}

// Epsilon returns the ε that the lower bound proves for the given δ: every claim of a smaller one
// is false. It is 0 if the bound proves nothing.
func (r Result) Epsilon(delta float64) (float64, error) {
	if r.MuLow <= 0 {
		return 0, nil
	}
	return dp.GaussianEpsilon(r.MuLow, delta)
}

// Refutes reports whether the audit proves that a mechanism with the claim of (ε, δ) is broken.
func (r Result) Refutes(epsilon, delta float64) (bool, error) {
	claim, err := dp.GaussianMu(epsilon, delta)
	return r.MuLow > claim, err
}

// Run makes the given number of runs on each data set, guesses the second one where the statistic
// is above the threshold, and bounds both error rates from above with the given confidence each
// (Clopper and Pearson 1934). A threshold must not be chosen after the statistics are known.
func Run(trial Trial, runs int, threshold, confidence float64) (Result, error) {
	if runs < 1 || !(confidence > 0.5 && confidence < 1) {
		return Result{}, noregret.BadInputf("audit", "%d runs with confidence %g, want one or more and 0.5 to 1",
			runs, confidence)
	}
	r := Result{Runs: runs}
	for i := range runs {
		first, err := trial(uint64(2*i), false)
		if err != nil {
			return r, err
		}
		second, err := trial(uint64(2*i+1), true)
		if err != nil {
			return r, err
		}
		if first > threshold {
			r.FalsePositives++
		}
		if !(second > threshold) {
			r.FalseNegatives++
		}
	}
	n := float64(runs)
	half := func(k int) float64 { return min(max(float64(k), 0.5), n-0.5) / n }
	r.Mu = quantile(1-half(r.FalsePositives)) + quantile(1-half(r.FalseNegatives))
	r.MuLow = quantile(1-Upper(r.FalsePositives, runs, confidence)) +
		quantile(1-Upper(r.FalseNegatives, runs, confidence))
	return r, nil
}

// Upper returns the upper confidence bound of Clopper and Pearson (1934) for a probability of which
// k successes in n trials are known: the p with P(Binomial(n, p) ≤ k) = 1 − confidence.
func Upper(k, n int, confidence float64) float64 { return stat.BinomialUpper(k, n, confidence) }

// quantile is the inverse of the normal distribution function.
func quantile(p float64) float64 {
	if p <= 0 {
		return math.Inf(-1)
	}
	low, high := -40.0, 40.0
	for range 80 {
		mid := (low + high) / 2
		if stat.NormalBelow(mid) < p {
			low = mid
		} else {
			high = mid
		}
	}
	return (low + high) / 2
}

// Stream returns the strongest known attack on a stream of prefix sums, of which fresh makes a new
// one for every run, in dimension 1 or more with 2^k steps: only the first record differs, −C
// against +C in the first coordinate, and all others are null. The statistic is the mean of the
// releases at powers of two, which are the noisy nodes that contain the first record, each with
// noise of its own; for Doubling it is the first release, as its record lies in a segment of one
// step. The right threshold is 0.
func Stream(fresh func(run uint64) (*dp.Stream, error)) Trial {
	return func(run uint64, second bool) (float64, error) {
		s, err := fresh(run)
		if err != nil {
			return 0, err
		}
		defer s.Close()
		g, out := make([]float64, s.Dim()), make([]float64, s.Dim())
		g[0] = -s.Lattice().Clip()
		if second {
			g[0] = -g[0]
		}
		sum := 0.0
		for t := int64(1); t <= s.Horizon(); t++ {
			if err := s.Add(g, out); err != nil {
				return 0, err
			}
			g[0] = 0
			if t&(t-1) == 0 {
				sum += out[0]
			}
			if s.Kind() == dp.Doubling {
				break
			}
		}
		return sum, nil
	}
}
