package compare

import "math"

// A store of many arms has the sums of the contrasts with one arm only, its base: of each arm
// Σh for the weights h = w·w_0/(w + w_0), and Σh²/w_0, by which the variance 1/Σh of its contrast
// is a part of its own and one that it shares with others, Σ(h²/w_0)/(Σh)².

// narrow ends the comparison of all pairs.
func (s *Store) narrow() {
	var c Contrasts
	for i := range s.metrics {
		m := &s.metrics[i]
		m.base = 0
		if s.free {
			m.base = s.widest(m, 0)
		}
		to := shape{parts: m.shape.parts}
		for j := range m.memories {
			x := &m.memories[j]
			c.base, c.pool = m.base, nil
			c.solve(m.shape, x, s.arms, m.rounds)
			c.between(x, s.arms, m.rounds)
			x.v = c.beside(to, m.shape, x, s.arms)
		}
		m.shape = to
	}
	s.pairs = false
}

// beside returns the numbers of a memory of pairs that has been solved, as contrasts with the base.
func (e *Contrasts) beside(to, from shape, m *memory, arms int) []float64 {
	v := make([]float64, to.arm(arms))
	copy(v, m.v[:to.head()])
	copy(v[atS:], e.rest[:to.products()])
	copy(v[atS+to.products():], e.rounds[:to.products()])
	for k := range arms {
		copy(v[to.arm(k):], m.v[from.arm(k):from.arm(k)+1+to.parts])
	}
	v[to.row(e.base)] = e.mass
	copy(v[to.common(e.base, 0):], e.sums[:to.parts])
	shared, all := make([]float64, len(e.index)), 0.0
	for a, k := range e.index {
		for _, j := range e.index {
			if j != k {
				shared[a] += e.plain(k, j)
			}
		}
		all += shared[a]
	}
	for a, k := range e.index {
		part := 0.0 // of rank one: Cov_jk = s_j·s_k
		if all > 0 {
			part = min(shared[a]*(shared[a]/all), e.unit[k])
		}
		e.put(v, to, k, e.unit[k], part, [2]float64{e.x[k], e.y[k]})
	}
	return v
}

// put writes the contrast d of arm k with the base, its variance and the part of that which it
// shares with others, into the numbers v of a memory.
func (e *Contrasts) put(v []float64, s shape, k int, variance, shared float64, d [2]float64) {
	h := 1 / variance
	v[s.row(k)], v[s.row(k)+1] = h, float64(float64(shared*h)*h)
	for i, q := 0, 0; i < s.parts; i++ {
		v[s.score(k, i)] = float64(h * d[i])
		for j := i; j < s.parts; j++ {
			v[atS+q] += float64(float64(h*d[i]) * d[j])
			q++
		}
	}
}

// rebase makes the arm of a round that has the most units, of those that are compared already, that
// which others are compared with, where the base has less than a quarter of its units.
func (m *metric) rebase(round []weighted, arms int) {
	known := func(k int) bool { return m.memories[0].v[m.shape.row(k)] > leastWeight }
	base, next, most := 0.0, -1, 0.0
	for i := range round {
		o := &round[i]
		switch {
		case o.w == 0:
		case o.arm == m.base:
			base = o.n
		case next < 0, known(o.arm) && !known(next), known(o.arm) == known(next) && o.n > most:
			next, most = o.arm, o.n
		}
	}
	if next < 0 || base >= most/4 || base > 0 && !known(next) {
		return
	}
	var c Contrasts
	for i := range m.memories {
		x := &m.memories[i]
		c.base, c.pool = m.base, nil
		c.solve(m.shape, x, arms, m.rounds)
		c.move(x, next)
	}
	m.base = next
}

// move makes the contrasts of a memory, which has been solved, those with another arm. Without a
// contrast of that all are lost.
func (e *Contrasts) move(m *memory, to int) {
	s := e.shape
	copy(m.v[atS:], e.rest[:s.products()])
	mass, level := m.v[s.row(e.base)], [2]float64{}
	for part := range s.parts {
		level[part] = m.v[s.common(e.base, part)]
		m.v[s.common(e.base, part)] = 0
	}
	for k := range e.Known {
		m.v[s.row(k)], m.v[s.row(k)+1] = 0, 0
		for part := range s.parts {
			m.v[s.score(k, part)] = 0
		}
	}
	d := [2]float64{e.x[to], e.y[to]}
	between := m.v[atS+s.products():]
	if !e.Known[to] || !(mass > 0) {
		clear(between[:s.products()])
		m.v[atSS] = 0
		return
	}
	for i, q := 0, 0; i < s.parts; i++ { // Σw·(u + d)(u + d)'
		for j := i; j < s.parts; j++ {
			between[q] += float64(level[i]*d[j]) + float64(level[j]*d[i]) + float64(float64(mass*d[i])*d[j])
			q++
		}
	}
	m.v[s.row(to)] = mass
	for part := range s.parts {
		m.v[s.common(to, part)] = level[part] + float64(mass*d[part])
	}
	own := max(e.own[to], math.SmallestNonzeroFloat64)
	for _, k := range e.index {
		if k != to {
			e.put(m.v, s, k, max(e.own[k], 0)+own, own, [2]float64{e.x[k] - d[0], e.y[k] - d[1]})
		}
	}
	e.put(m.v, s, e.base, e.unit[to], own, [2]float64{-d[0], -d[1]})
}
