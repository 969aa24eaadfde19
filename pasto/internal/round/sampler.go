package round

import (
	"sort"

	"github.com/noregret/noregret/pasto"
)

// Sampler draws arms from a distribution by its cumulative sums.
type Sampler struct {
	cum   []float64
	ready bool
}

// Reset tells the sampler that the distribution has changed since the last draw.
func (s *Sampler) Reset() { s.ready = false }

func (s *Sampler) prepare(p []float64) {
	if s.ready {
		return
	}
	if len(s.cum) != len(p) {
		s.cum = make([]float64, len(p))
	}
	sum := 0.0
	for k, v := range p {
		sum += v
		s.cum[k] = sum
	}
	s.ready = true
}

// find returns the first arm of positive share whose cumulative sum is above x.
func (s *Sampler) find(x float64) int {
	n := len(s.cum)
	k := sort.Search(n, func(i int) bool { return s.cum[i] > x })
	if k == n { // x is the total, by rounding: the last arm of positive share
		total := s.cum[n-1]
		k = sort.Search(n, func(i int) bool { return s.cum[i] >= total })
	}
	return k
}

// Draw fills arms with draws from p, which is the same from one call of Reset to the next.
func (s *Sampler) Draw(r pasto.Rand, p []float64, arms []int, scheme pasto.Scheme) {
	s.prepare(p)
	total := s.cum[len(s.cum)-1]
	if scheme == pasto.IID {
		for i := range arms {
			arms[i] = s.find(float64(r.Float64() * total))
		}
		return
	}
	u := r.Float64()
	for i := range arms {
		arms[i] = s.find(float64((u + float64(i)) / float64(len(arms)) * total))
	}
	for i := len(arms) - 1; i > 0; i-- {
		j := int(r.Float64() * float64(i+1))
		arms[i], arms[j] = arms[j], arms[i]
	}
}
