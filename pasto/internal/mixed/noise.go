package mixed

import (
	"math"
	"slices"

	"github.com/noregret/noregret/pasto/internal/round"
)

// noise is what rounds tell about the effects that their arms have in common, of variance τ², and
// about variances of units that the scatter exceeds. For û_kt = μ_k + u_t + e the mean product of
// the deviations of two arms of a round is τ².
type noise struct {
	Across   []float64 `of:"metric,signed"` // Σ over rounds of products of two arms' deviations, weighted by size
	Null     []float64 `of:"metric"`        // the variance of Across if there were no effects
	Pairs    float64   // Σ of the weights of the products
	Compared bool      // a round had several arms
	Excess   []float64 `of:"metric"` // Σ weight·(squared innovation / variance of units)
	ExcessOf []float64 `of:"metric"` // Σ weight
}

// surely is how many standard errors, as it would have without any effects, Across must be above 0
// for effects to count as shown.
const surely = 3

// shown reports whether τ² of metric i is surely above 0.
func (n *noise) shown(i int) bool { return n.Across[i] > float64(surely*math.Sqrt(n.Null[i])) }

// mostNoise bounds variances, so that their squares do not overflow.
const mostNoise = 1e140

// fewestPairs is what the products must be worth, in rounds of many equal groups, to tell τ²: those
// of a few units beside thousands say next to nothing.
const fewestPairs = 0.9

// tau returns τ² of metric i; 0 while the products are worth less than fewestPairs.
func (n *noise) tau(i int) float64 {
	if n.Pairs < fewestPairs {
		return 0
	}
	return max(n.Across[i]/n.Pairs, 0)
}

// dispersion returns by how many times the scatter between rounds exceeds the variances of units in
// metric i, by as much as is shown by two standard errors, at least 1.
func (n *noise) dispersion(i int) float64 {
	free := n.ExcessOf[i] + poolWeight
	return max((n.Excess[i]+poolWeight)/free-float64(2*math.Sqrt(2/free)), 1)
}

// manyUnits is the number of units of a group from which its mean may be taken for normal.
const manyUnits = 300

// addExcess adds the innovations of a round, of which s knows nothing yet.
func (n *noise) addExcess(s *moments, r *roundSums) {
	for _, a := range r.known {
		x := &r.arms[a]
		if x.weight == 0 || s.Standing[x.Arm] == 0 {
			continue
		}
		w := x.weight / (x.weight + manyUnits)
		for i, q := range x.square {
			if v := s.variance(x.Arm, i); s.unitsKnown(x.Arm, i) && v > 0 {
				n.Excess[i] += float64(w * (q / v))
				n.ExcessOf[i] += w
			}
		}
	}
}

// addProducts adds the products of the deviations of two arms in a round, of which s knows nothing
// yet.
func (n *noise) addProducts(s *moments, r *roundSums, noisy *released) {
	m, size, each := len(n.Across), 0.0, 0.0
	if n.Compared = n.Compared || len(r.arms) > 1; len(r.known) < 2 {
		return
	}
	for _, a := range r.known {
		x := &r.arms[a]
		if math.IsInf(slices.Max(x.sigma), 1) {
			return
		}
		if x.share = x.Size; len(x.Units) > 0 {
			x.share *= x.Size / (x.Size + manyUnits)
		}
		size += x.share
	}
	for _, a := range r.known {
		x := &r.arms[a]
		x.share /= size
		each += float64(x.share * x.share)
	}
	n.Pairs += 1 - each
	for i := range m {
		sum, own, variance, squared := 0.0, 0.0, 0.0, 0.0
		for _, a := range r.known {
			x := &r.arms[a]
			d := float64(x.share * (x.Mean[i] - s.Mean[x.Arm*m+i]))
			square := float64(x.sigma[i]*(1/x.Size+1/s.Weight[x.Arm])) + noisy.between(s, x, i)
			v := min(float64(float64(x.share*x.share)*square), mostNoise)
			sum += d
			own += float64(d * d)
			variance += v
			squared += float64(v * v)
		}
		n.Across[i] += float64(sum*sum) - own
		n.Null[i] = min(n.Null[i]+float64(2*max(float64(variance*variance)-squared, 0)), round.MostThird)
	}
}
