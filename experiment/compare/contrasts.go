package compare

import (
	"math"

	"github.com/noregret/noregret/internal/linalg"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/vec"
)

// Level is the level of the control, or of the pool of all arms without one.
type Level struct {
	// Known reports whether there is one.
	Known bool
	// X and Y are the means of the parts of a unit's value; Y is 0 for plain metrics.
	X, Y float64
	// Mean is X − c·Y.
	Mean float64
	// Units and Rounds are the two standard errors of Mean: σ/√Σn of the units, and τ·√Σn_t²/Σn_t
	// of the rounds, whose levels scatter by τ in the memory of all rounds.
	Units, Rounds float64
}

// Contrasts are the estimates of a metric in one memory, and a workspace for others: a second use
// on as many arms allocates nothing. [Store.Contrasts] writes them.
type Contrasts struct {
	// Known reports by arm whether its contrast is known. The control's is, if it has units.
	Known []bool
	// Delta are the contrasts of x − c·y with the control, or without one with the pool of all
	// arms, and Variance those of Delta; 0 and +Inf where unknown.
	Delta, Variance []float64
	// Scatter is φ, at least 1: how much more arms scatter within rounds than their units let
	// expect.
	Scatter float64
	// Level is that of what Delta is beside.
	Level Level

	shape shape
	base  int       // the arm that the sums are beside
	pool  []float64 // the shares of the arms in the pool, empty with a control
	x, y  []float64
	unit  []float64 // variances by arm at φ = 1
	aged  float64   // the factor of the variances of a discounted past
	// beside the base only: the parts of unit, the root of that which arms share
	shared, own []float64
	free        float64    // F
	rest        [3]float64 // S − b'δ by product
	sums        [2]float64 // Σ s_t·u_t by part, of the adjusted levels u_t of rounds
	rounds      [3]float64 // Σ s_t·u_t² by product
	mass, mass2 float64    // Σ s_t and Σ s_t², of the weights of rounds
	seen        int        // the rounds of the metric
	units       float64
	spread      float64   // √Σn_t²/Σn_t
	sigma       float64   // the variance of a unit
	root        []float64 // by arm, of the factors of variances; nil for ones
	tau         float64
	index       []int // of known arms without the base
	position    []int // of arms in index, −1 for others
	link        []float64
	factor      []float64
	inverse     []float64 // rows of R⁻ᵀ: the product of two rows is an entry of the inverse
	work, even  []float64
}

// scatterPrior is the number of degrees of freedom by which φ is drawn towards 1.
const scatterPrior = 20

// Combine makes the contrasts those of x − c·y. It costs O(K).
func (e *Contrasts) Combine(c float64) {
	combine := func(p [3]float64) float64 {
		return p[0] - float64(float64(2*c)*p[1]) + float64(float64(c*c)*p[2])
	}
	arms := float64(len(e.index) + 1)
	rest := max(combine(e.rest), 0)
	scatter := (rest + scatterPrior) / (max(e.free-arms+1, 0) + scatterPrior)
	if e.free > 0 {
		scatter -= math.Sqrt(2 / e.free)
	}
	e.Scatter = max(scatter, 1)
	for k, known := range e.Known {
		e.Delta[k], e.Variance[k] = 0, math.Inf(1)
		if known {
			e.Delta[k] = e.x[k] - float64(c*e.y[k])
			r := e.rootOf(k)
			e.Variance[k] = float64(float64(e.variance()*e.unit[k]) * float64(r*r))
		}
	}
	e.Level.Mean = e.Level.X - float64(c*e.Level.Y)
	e.Level.Units = float64(math.Sqrt(float64(e.sigma*e.aged)/e.units) * e.rootOf(e.base))
	// DerSimonian and Laird's estimate of the variance between rounds (1986), from which one
	// standard error of its noise is taken off: few rounds would often seem to scatter.
	sum := e.sums[0] - float64(c*e.sums[1])
	q, t := combine(e.rounds)-float64(sum*(sum/e.mass)), float64(e.seen)
	e.tau = 0
	if room := e.mass - e.mass2/e.mass; e.seen > 1 && room > 0 {
		e.tau = math.Sqrt(max(q-(t-1)-math.Sqrt(2*(t-1)), 0) / room)
	}
	e.Level.Rounds = float64(e.tau * e.spread)
}

// Means returns the means of the parts of a unit's value in arm k: the control's level and the
// arm's contrast with it; y is 0 for plain metrics. Ok is false where they are not known.
func (e *Contrasts) Means(k int) (x, y float64, ok bool) {
	if !e.Known[k] || !e.Level.Known {
		return 0, 0, false
	}
	return e.Level.X + e.x[k], e.Level.Y + e.y[k], true
}

// setFactors takes the factors of the arms' variances.
func (e *Contrasts) setFactors(factors []float64) {
	e.root = e.root[:0]
	for _, f := range factors {
		e.root = append(e.root, math.Sqrt(f))
	}
}

// rootOf is the root of the factor of arm k.
func (e *Contrasts) rootOf(k int) float64 {
	if len(e.root) == 0 {
		return 1
	}
	return e.root[k]
}

// variance is the factor of L⁻¹.
func (e *Contrasts) variance() float64 { return float64(e.Scatter * e.aged) }

// Covariance returns the covariance of the contrasts of two known arms with a control. O(K).
func (e *Contrasts) Covariance(j, k int) float64 {
	if j == e.base || k == e.base {
		return 0
	}
	if !e.shape.pairs && j == k {
		return e.Variance[k]
	}
	return float64(float64(e.rootOf(j)*e.rootOf(k)) * float64(e.variance()*e.plain(j, k)))
}

// plain is the entry of L⁻¹ of two arms that are not the base.
func (e *Contrasts) plain(j, k int) float64 {
	if !e.shape.pairs {
		return float64(e.shared[j] * e.shared[k])
	}
	a, b := e.position[j], e.position[k]
	from, n := max(a, b), len(e.index)
	dot := vec.Dot(e.inverse[a*n+from:(a+1)*n], e.inverse[b*n+from:(b+1)*n])
	return float64(float64(e.link[a]*e.link[b]) * dot)
}

// Product writes Σp for the covariance Σ of the contrasts; unknown arms have none. With the rows of
// R⁻ᵀ it costs O(K²), and O(K) where arms are compared with one of them only.
func (e *Contrasts) Product(dst, p []float64) {
	if len(e.root) == 0 && len(e.pool) == 0 {
		e.product(dst, p, e.variance())
		return
	}
	e.even = zeros(e.even, len(p))
	sum := 0.0
	for k, v := range p {
		if e.Known[k] {
			e.even[k] = float64(v * e.rootOf(k))
			sum += e.even[k]
		}
	}
	// Contrasts with the pool q are M'x for M = I − q1' and x those with the base.
	for k, q := range e.pool {
		e.even[k] -= float64(q * sum)
	}
	e.product(dst, e.even, e.variance())
	of := 0.0
	for k, q := range e.pool {
		of += float64(q * dst[k])
	}
	for k := range dst {
		if e.Known[k] {
			dst[k] = float64((dst[k] - of) * e.rootOf(k))
		}
	}
}

// product writes L⁻¹p times a factor, of the contrasts with the base.
func (e *Contrasts) product(dst, p []float64, factor float64) {
	clear(dst)
	n := len(e.index)
	if !e.shape.pairs {
		sum := 0.0
		for _, k := range e.index {
			sum += float64(e.shared[k] * p[k])
		}
		for _, k := range e.index {
			own := e.own[k]
			dst[k] = float64(factor * (float64(own*p[k]) + float64(e.shared[k]*sum)))
		}
		return
	}
	v := zeros(e.work, n)
	e.work = v
	for a, k := range e.index {
		if q := float64(p[k] * e.link[a]); q != 0 {
			vec.AddScaled(v[a:], q, e.inverse[a*n+a:(a+1)*n])
		}
	}
	for a, k := range e.index {
		dst[k] = float64(float64(factor*e.link[a]) * vec.Dot(e.inverse[a*n+a:(a+1)*n], v[a:]))
	}
}

// centre makes the contrasts with the base those with the pool.
func (e *Contrasts) centre() {
	if len(e.pool) == 0 {
		return
	}
	sum := 0.0
	for k := range e.pool {
		if !e.Known[k] {
			e.pool[k] = 0
		}
		sum += e.pool[k]
	}
	var x, y float64
	for k := range e.pool {
		if e.pool[k] /= sum; !(sum > 0) {
			e.pool[k] = 0
		}
		x += float64(e.pool[k] * e.x[k])
		y += float64(e.pool[k] * e.y[k])
	}
	e.even = zeros(e.even, len(e.pool))
	e.product(e.even, e.pool, 1)
	of := 0.0
	for k, q := range e.pool {
		of += float64(q * e.even[k])
	}
	for k := range e.pool {
		if e.Known[k] {
			e.x[k] -= x
			e.y[k] -= y
			e.unit[k] = max(e.unit[k]-float64(2*e.even[k])+of, 0)
		}
	}
	e.Level.X += x
	e.Level.Y += y
}

// zeros returns n zeros, in the memory of v if that is large enough.
func zeros[T any](v []T, n int) []T {
	if cap(v) < n {
		return make([]T, n)
	}
	v = v[:n]
	clear(v)
	return v
}

// solve writes the estimates of memory m after a number of rounds. What lies between rounds comes
// from the longest memory, by between. Combine must follow.
//
// With weights f^i for a round i rounds ago the contrasts are L⁻¹b for L = Σ f^i·L_i, and their
// covariance L⁻¹(Σ f^2i·L_i)L⁻¹. For n rounds that are alike this is (1 + f^n)/(1 + f)·L⁻¹: about
// half of L⁻¹, as a discounted past has units of twice as many rounds as its weights sum to.
func (e *Contrasts) solve(s shape, m *memory, arms, rounds int) {
	e.shape, e.aged = s, (1+portable.Pow(m.keep, float64(rounds)))/(1+m.keep)
	e.Known, e.Delta, e.Variance = zeros(e.Known, arms), zeros(e.Delta, arms), zeros(e.Variance, arms)
	e.x, e.y, e.unit = zeros(e.x, arms), zeros(e.y, arms), zeros(e.unit, arms)
	e.index, e.position, e.link = e.index[:0], zeros(e.position, arms), e.link[:0]
	for k := range e.position {
		e.position[k] = -1
	}
	if s.pairs {
		e.solvePairs(m, arms)
	} else {
		e.solveBeside(m, arms)
	}
	e.free = m.v[atF]
	e.rest = [3]float64{}
	part := func(i int) []float64 {
		if i == 0 {
			return e.x
		}
		return e.y
	}
	for i, q := 0, 0; i < s.parts; i++ {
		for j := i; j < s.parts; j++ {
			e.rest[q] = m.v[atS+q]
			for _, k := range e.index {
				e.rest[q] -= float64(m.v[s.score(k, i)] * part(j)[k])
			}
			q++
		}
	}
	e.writeLevel(m, arms)
}

// writeLevel writes the control's level.
func (e *Contrasts) writeLevel(m *memory, arms int) {
	s, l := e.shape, &e.Level
	*l, e.units = Level{}, 0
	for k := range arms {
		if k != e.base && !e.Known[k] {
			continue // nothing tells its units from its contrast
		}
		n := m.v[s.arm(k)]
		e.units += n
		l.X += m.v[s.level(k, 0)] - float64(n*e.x[k])
		if s.parts == 2 {
			l.Y += m.v[s.level(k, 1)] - float64(n*e.y[k])
		}
	}
	e.spread = 0
	if l.Known = e.Known[e.base] && e.units > 0; l.Known {
		l.X /= e.units
		l.Y /= e.units
		e.spread = math.Sqrt(m.v[atNN]) / e.units
	}
}

// between writes the scatter of the rounds' adjusted levels in memory m, at the contrasts of e.
func (e *Contrasts) between(m *memory, arms, rounds int) {
	s := e.shape
	e.seen, e.mass, e.mass2 = rounds, 0, m.v[atSS]
	e.sums, e.rounds = [2]float64{}, [3]float64{}
	copy(e.rounds[:s.products()], m.v[atS+s.products():])
	if !s.pairs {
		e.mass = m.v[s.row(e.base)]
		for part := range s.parts {
			e.sums[part] = m.v[s.common(e.base, part)]
		}
		return
	}
	parts := [2][]float64{e.x, e.y}
	for j := range arms {
		w := 0.0 // Σ w_j
		row := m.v[s.row(j):]
		for k := range arms {
			at := 0.0
			if k <= j {
				at = row[k]
			} else {
				at = m.v[s.row(k)+j]
			}
			w += at
			e.rounds[0] += float64(at * float64(e.x[j]*e.x[k]))
			if s.parts == 2 {
				e.rounds[1] += float64(at * float64(e.x[j]*e.y[k]))
				e.rounds[2] += float64(at * float64(e.y[j]*e.y[k]))
			}
		}
		e.mass += w
		for part := range s.parts {
			e.sums[part] += m.v[s.common(j, part)] - float64(w*parts[part][j])
		}
		cx := m.v[s.common(j, 0)]
		e.rounds[0] -= float64(float64(2*cx) * e.x[j])
		if s.parts == 2 {
			cy := m.v[s.common(j, 1)]
			e.rounds[1] -= float64(cx*e.y[j]) + float64(cy*e.x[j])
			e.rounds[2] -= float64(float64(2*cy) * e.y[j])
		}
	}
}

// solveBeside writes the contrasts of each arm with the base alone.
func (e *Contrasts) solveBeside(m *memory, arms int) {
	s := e.shape
	e.shared, e.own = zeros(e.shared, arms), zeros(e.own, arms)
	e.Known[e.base] = m.v[s.row(e.base)] > 0
	for k := range arms {
		h := m.v[s.row(k)]
		if k == e.base || !(h > leastWeight) {
			continue
		}
		e.Known[k], e.unit[k] = true, 1/h
		e.shared[k] = math.Sqrt(m.v[s.row(k)+1]) / h
		e.own[k] = e.unit[k] - float64(e.shared[k]*e.shared[k])
		e.index = append(e.index, k)
		e.x[k] = m.v[s.score(k, 0)] / h
		if s.parts == 2 {
			e.y[k] = m.v[s.score(k, 1)] / h
		}
	}
}

// leastPivot is the share of an arm's comparisons that must not be explained by those of others.
const leastPivot = 1e-9

// leastWeight is what counts as no comparison: a discounted past fades for ever.
const leastWeight = 1e-120

// solvePairs writes the contrasts by least squares of arms beside rounds.
func (e *Contrasts) solvePairs(m *memory, arms int) {
	s := e.shape
	if e.Known[e.base] = m.pair(s, e.base, e.base) > 0; !e.Known[e.base] {
		return
	}
	e.connect(m, arms)
	for {
		e.index = e.index[:0]
		for k := range arms {
			if k != e.base && e.Known[k] {
				e.index = append(e.index, k)
			}
		}
		if e.factorize(m, arms) {
			break
		}
		least := -1 // rounding hides an arm: the one of fewest comparisons goes
		for a := range e.index {
			if least < 0 || e.link[a] > e.link[least] {
				least = a
			}
		}
		e.Known[e.index[least]] = false
	}
	n := len(e.index)
	e.inverse = zeros(e.inverse, n*n)
	for a := range n {
		x := e.inverse[a*n : (a+1)*n]
		x[a] = 1
		for i := a; i < n; i++ {
			row := e.factor[i*n : (i+1)*n]
			x[i] /= row[i]
			vec.AddScaled(x[i+1:], -x[i], row[i+1:])
		}
		e.position[e.index[a]] = a
		e.unit[e.index[a]] = float64(float64(e.link[a]*e.link[a]) * vec.Dot(x[a:], x[a:]))
	}
	for part := range s.parts {
		d := zeros(e.work, n)
		e.work = d
		for a, k := range e.index {
			d[a] = float64(m.v[s.score(k, part)] * e.link[a])
		}
		linalg.SolveRT(e.factor, n, d)
		linalg.SolveR(e.factor, n, d)
		to := e.x
		if part == 1 {
			to = e.y
		}
		for a, k := range e.index {
			to[k] = float64(d[a] * e.link[a])
		}
	}
}

// connect finds the arms that comparisons link with the base.
func (e *Contrasts) connect(m *memory, arms int) {
	for changed := true; changed; {
		changed = false
		for k := range arms {
			if e.Known[k] {
				continue
			}
			for j := range arms {
				if j != k && e.Known[j] && m.pair(e.shape, j, k) > leastWeight {
					e.Known[k], changed = true, true
					break
				}
			}
		}
	}
}

// pair is W_jk.
func (m *memory) pair(s shape, j, k int) float64 {
	if j < k {
		j, k = k, j
	}
	return m.v[s.row(j)+k]
}

// factorize factors L for the arms of the index, scaled to a diagonal of ones, and reports whether
// it is away from singular.
func (e *Contrasts) factorize(m *memory, arms int) bool {
	s, n := e.shape, len(e.index)
	e.link = zeros(e.link, n)
	for a, k := range e.index {
		sum := 0.0
		row := m.v[s.row(k):]
		for j := range arms {
			switch {
			case j < k:
				sum += row[j]
			case j > k:
				sum += m.v[s.row(j)+k]
			}
		}
		e.link[a] = 1 / math.Sqrt(sum)
	}
	e.factor = zeros(e.factor, n*n)
	for a, k := range e.index {
		e.factor[a*n+a] = 1
		for b := a + 1; b < n; b++ {
			w := m.v[s.row(e.index[b])+k]
			e.factor[a*n+b] = -float64(w * float64(e.link[a]*e.link[b]))
		}
	}
	return linalg.FactorizeAbove(e.factor, n, leastPivot)
}
