package bandit

import (
	"math"
	"slices"

	"github.com/noregret/noregret/internal/portable"
)

// winner computes the probability that each of several independent continuous variables is the
// lowest of all,
//
//	p_k = ∫ f_k(x)·Π_{j≠k} (1 − F_j(x)) dx
//
// by Gauss-Legendre quadrature on panels that are no wider than what the narrowest density there
// needs. The distribution functions F_j are integrals of the densities over the same panels. A
// panel costs O(n) densities at each node; the panels are some 15 for one variable and fewer than
// the sum over several of them.
type winner struct {
	marginal []marginal
	end      float64   // beyond it some variable is below with certainty
	f        []float64 // densities at the nodes of a panel, a row for each variable
	survival []float64 // 1 − F_j at the nodes
	scratch  []float64
}

// marginal is one of the variables.
type marginal struct {
	arm               int
	low, high, spread float64 // it is in [low, high], of this standard deviation
	below             float64 // F at the start of the panel
	share             float64 // p_k so far
}

func (w *winner) reset() { w.marginal, w.end = w.marginal[:0], math.Inf(1) }

// add adds the variable of an arm, whose mass is in [low, high] and whose density is smooth over a
// standard deviation.
func (w *winner) add(arm int, low, high, deviation float64) {
	w.marginal = append(w.marginal, marginal{arm: arm, low: low, high: high, spread: deviation})
	w.end = min(w.end, high)
}

const (
	nodes = 10
	// panelWidth is that of a panel in standard deviations of the narrowest density.
	panelWidth = 1.5
	// maxPanels limits the work where the scales of variables differ by more than float64 holds.
	maxPanels = 1 << 20
)

// probabilities writes p_k to p[arm] for every variable and returns a bound on the error: by how
// much the sum differs from 1 before the division by it, and at least 1e-12.
func (w *winner) probabilities(p []float64, density func(arm int, x float64) float64) float64 {
	m := w.marginal
	if len(m) == 1 {
		p[m[0].arm] = 1
		return 0
	}
	n := len(m) * nodes
	w.f, w.survival = slices.Grow(w.f[:0], n)[:n], slices.Grow(w.survival[:0], n)[:n]
	w.scratch = slices.Grow(w.scratch[:0], len(m)+1)[:len(m)+1]
	x := math.Inf(1)
	for i := range m {
		x = min(x, m[i].low)
	}
	for range maxPanels {
		if !(x < w.end) {
			break
		}
		next := w.panelEnd(x)
		if !(next > x) {
			break
		}
		w.integrate(x, next, density)
		x = next
	}
	sum := 0.0
	for i := range m {
		sum += m[i].share
	}
	if !(sum > 0.5) { // the densities are narrower than float64 resolves
		first := 0
		for i := range m {
			if m[i].high < m[first].high {
				first = i
			}
		}
		p[m[first].arm] = 1
		return 1
	}
	for i := range m {
		p[m[i].arm] = m[i].share / sum
	}
	return max(math.Abs(sum-1), 1e-12)
}

// panelEnd returns the end of the panel that begins at x.
func (w *winner) panelEnd(x float64) float64 {
	end := w.end
	for i := range w.marginal {
		if m := &w.marginal[i]; m.low <= x && x < m.high {
			end = min(end, x+float64(panelWidth*m.spread))
		}
	}
	for { // a narrower density may begin within the panel
		start := end
		for i := range w.marginal {
			if m := &w.marginal[i]; m.low > x && m.low < start && float64(panelWidth*m.spread) < end-x {
				start = m.low
			}
		}
		if start == end {
			return end
		}
		end = start
	}
}

// integrate adds the integrals over a panel.
func (w *winner) integrate(from, to float64, density func(arm int, x float64) float64) {
	half, m := (to-from)/2, w.marginal
	for j := range m {
		f, s := w.f[j*nodes:(j+1)*nodes], w.survival[j*nodes:(j+1)*nodes]
		mass := 0.0
		if m[j].low < to && from < m[j].high {
			for i := range f {
				f[i] = density(m[j].arm, from+float64(half*(1+legendre.x[i])))
				mass += float64(legendre.w[i] * f[i])
			}
		} else {
			clear(f)
		}
		for i := range s {
			sum := 0.0
			if mass > 0 {
				for k, v := range f {
					sum += float64(legendre.below[i][k] * v)
				}
			}
			s[i] = max(1-m[j].below-float64(half*sum), 0)
		}
		m[j].below = min(m[j].below+float64(half*mass), 1)
	}
	for i := range nodes {
		after := w.scratch // after[j] is the product over the variables from j on
		after[len(m)] = 1
		for j := len(m) - 1; j >= 0; j-- {
			after[j] = float64(after[j+1] * w.survival[j*nodes+i])
		}
		before := float64(half * legendre.w[i])
		for j := range m {
			m[j].share += float64(float64(before*after[j+1]) * w.f[j*nodes+i])
			before *= w.survival[j*nodes+i]
		}
	}
}

// legendre is the Gauss-Legendre rule on [−1, 1]: nodes, weights, and the integrals from −1 to node
// i of the polynomial that is 1 at node k and 0 at the others.
var legendre = func() (rule struct {
	x, w  [nodes]float64
	below [nodes][nodes]float64
},
) {
	// P_0 to P_(nodes+1) at x, and the derivative of P_nodes.
	polynomials := func(x float64) (p [nodes + 2]float64, slope float64) {
		p[0], p[1] = 1, x
		for n := 1; n <= nodes; n++ {
			p[n+1] = (float64(float64(float64(2*n+1)*x)*p[n]) - float64(float64(n)*p[n-1])) / float64(n+1)
		}
		return p, float64(nodes * (float64(x*p[nodes]) - p[nodes-1]) / (float64(x*x) - 1))
	}
	var at [nodes][nodes + 2]float64
	for i := range nodes {
		cos, _ := portable.Turn((float64(nodes-i) - 0.25) / (2*nodes + 1)) // the argument over 2π
		for range 10 {
			p, slope := polynomials(cos)
			cos -= p[nodes] / slope
		}
		p, slope := polynomials(cos)
		at[i], rule.x[i] = p, cos
		rule.w[i] = 2 / float64((1-float64(cos*cos))*float64(slope*slope))
	}
	for i := range nodes {
		for k := range nodes {
			sum := rule.x[i] + 1
			for n := 1; n < nodes; n++ {
				sum += float64(at[k][n] * (at[i][n+1] - at[i][n-1]))
			}
			rule.below[i][k] = float64(rule.w[k] / 2 * sum)
		}
	}
	return rule
}()
