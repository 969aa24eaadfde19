package policy

import (
	"math"
	"sync"

	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/vec"
)

// scratch is the memory of one call of Distribution.
type scratch struct {
	p, scores, widths, hazards []float64 // one number for each arm
	work                       []float64 // one for each coordinate
	contenders                 []int
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// grow makes room for arms and coordinates.
func (s *scratch) grow(arms, dim int) {
	if cap(s.contenders) < arms {
		all := make([]float64, 4*arms)
		s.p, s.scores, s.widths, s.hazards = all[:arms], all[arms:2*arms], all[2*arms:3*arms], all[3*arms:]
		s.contenders = make([]int, 0, arms)
	}
	s.p, s.scores, s.widths, s.hazards = s.p[:arms], s.scores[:arms], s.widths[:arms], s.hazards[:arms]
	if cap(s.work) < dim {
		s.work = make([]float64, dim)
	}
	s.work = s.work[:dim]
}

// Distribution returns the probability of each arm given x, a vector of the encoder, or any other
// of its length with coordinates of size at most 1e60. It reuses dst if that has room, and then
// allocates nothing. It returns an error of code bad_input if l is not prepared or x is not such a
// vector.
//
// The probabilities of lin-thompson are those of a quadrature. With σ_k = Alpha·w_k, but at least
// 1e-6 of the largest,
//
//	P(k is best) = ∫ φ((z−s_k)/σ_k)/σ_k · Π_{j≠k} Φ((z−s_j)/σ_j) dz
//
// from the largest s_j − 5σ_j on. An arm contributes up to s_k + 5σ_k. The interval is cut, from
// the left, into cells as wide as the smallest σ_j of the arms that are not past that point; each
// cell has the three nodes of Gauss and Legendre. A node counts nothing where the product of all Φ
// is below 1e-12. The results are divided by their sum. They are within 1e-4 of the integrals,
// which the tests measure; what is drawn and logged is the quadrature's, so propensities are exact
// in any case. If all σ_k are 0, the arms of the greatest score share.
//
// Each arm costs O(d) for each coordinate of x that is not 0, and lin-thompson some 10 to 50
// nanoseconds for each node of each arm in contention, with 30 nodes if the σ_k are alike.
func (l *Linear) Distribution(dst, x []float64) ([]float64, error) {
	if err := l.check(x); err != nil {
		return nil, err
	}
	s := scratches.Get().(*scratch)
	s.grow(len(l.Arms), len(x))
	p := zeros(dst, len(l.Arms))
	l.score(s.scores, s.widths, s.work, x)
	l.rule().distribute(p, s, l.allowed)
	scratches.Put(s)
	return p, nil
}

// rule returns the rule of a contextual policy.
func (l *Linear) rule() Rule { return Rule{l.Kind, l.Alpha, l.Gamma, l.Floor} }

// The reach of an arm in its deviations, and the least deviation relative to the largest.
const reach, leastDeviation = 5, 1e-6

// thompson writes the probability that each arm is best. s.widths are the deviations σ.
func thompson(p []float64, s *scratch, allowed []bool) {
	largest := vec.MaxAbs(s.widths)
	if largest == 0 {
		greedy(p, s.scores, allowed)
		return
	}
	from, to := math.Inf(-1), math.Inf(-1)
	for k, m := range s.scores {
		if allowed[k] {
			s.widths[k] = max(s.widths[k], float64(leastDeviation*largest))
			from = max(from, m-float64(reach*s.widths[k]))
			to = max(to, m+float64(reach*s.widths[k]))
		}
	}
	s.contenders = s.contenders[:0]
	for k, m := range s.scores {
		if allowed[k] && m+float64(reach*s.widths[k]) > from {
			s.contenders = append(s.contenders, k)
		}
	}
	if len(s.contenders) == 1 {
		p[s.contenders[0]] = 1
		return
	}
	for z := from; z < to; {
		cell := to - z
		for _, k := range s.contenders {
			if z < s.scores[k]+float64(reach*s.widths[k]) {
				cell = min(cell, s.widths[k])
			}
		}
		next := z + cell
		if !(next > z) { // the deviations are below the precision of the scores
			break
		}
		half := float64(cell / 2)
		s.addCell(p, z+half, half)
		z = next
	}
	total := vec.Sum(p)
	if !(total > 0) {
		clear(p)
		greedy(p, s.scores, allowed)
		return
	}
	for k := range p {
		p[k] /= total
	}
}

// negligible is the value of a product of distribution functions from which on a node counts
// nothing.
const negligible = 1e-12

// The nodes of Gauss and Legendre on [−1, 1] are 0 and ±√(3/5), with the weights 8/9 and 5/9.
var gaussNode = math.Sqrt(0.6)

// addCell adds the integral over [middle−half, middle+half].
func (s *scratch) addCell(p []float64, middle, half float64) {
	s.addNode(p, middle-float64(half*gaussNode), float64(half*5)/9)
	s.addNode(p, middle, float64(half*8)/9)
	s.addNode(p, middle+float64(half*gaussNode), float64(half*5)/9)
}

// addNode adds weight times the integrand of each contender at z, which is the product of all
// distribution functions times the contender's density over its distribution function.
func (s *scratch) addNode(p []float64, z, weight float64) {
	product := weight
	for _, k := range s.contenders {
		u := (z - s.scores[k]) / s.widths[k]
		if u > reach {
			s.hazards[k] = 0
			continue
		}
		density, below := portable.Normal(u)
		s.hazards[k] = density / float64(below*s.widths[k])
		if product *= below; product < float64(negligible*weight) {
			return
		}
	}
	for _, k := range s.contenders {
		p[k] += float64(product * s.hazards[k])
	}
}
