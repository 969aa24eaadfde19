package box

import "github.com/noregret/noregret/internal/stat"

// firstPrimes are the bases of Halton's sequence.
func firstPrimes(n int) []int {
	list := make([]int, 0, n)
	for v := 2; len(list) < n; v++ {
		prime := true
		for _, q := range list {
			if v%q == 0 {
				prime = false
				break
			}
			if q*q > v {
				break
			}
		}
		if prime {
			list = append(list, v)
		}
	}
	return list
}

// quasi is point n of Halton's sequence.
func (c *Learner) quasi(n int) []float64 {
	x := make([]float64, len(c.lower))
	for i := range x {
		f := 1.0
		for rest := n; rest > 0; rest /= c.primes[i] {
			f /= float64(c.primes[i])
			x[i] += float64(f * float64(rest%c.primes[i]))
		}
	}
	return x
}

// candidates are points to compare with the nodes: in turn the next quasi-random point and a
// perturbation of an atom of the mixtures, of the present width and of an eighth of it. Points that
// are left on the box's edge by half of the perturbations are there in every such plan.
func (c *Learner) candidates() [][]float64 {
	var atoms []int
	for k := range c.s.Points {
		if c.s.Planned && (c.s.Down[k] > 0 || c.s.Up[k] > 0) {
			atoms = append(atoms, k)
		}
	}
	list := make([][]float64, 0, c.options.Candidates)
	for i := range c.options.Candidates {
		if i%2 == 0 || len(atoms) == 0 {
			c.s.Halton++
			list = append(list, c.quasi(c.s.Halton))
			continue
		}
		width := c.s.Width
		if i/2/len(atoms)%2 == 1 {
			width /= 8
		}
		x := append([]float64{}, c.s.Points[atoms[i/2%len(atoms)]]...)
		for j := range x {
			x[j] = min(max(x[j]+float64(width*stat.Normal(&c.s.Random)), 0), 1)
		}
		list = append(list, x)
	}
	return list
}
