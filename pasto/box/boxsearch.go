package box

import (
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/round"
	"github.com/noregret/noregret/pasto/optimum"
)

// column is the state of a search: the score of each active node in a direction of the metrics, its
// squared standard error, and the process fitted to the scores, nil if none fits. Scores are in
// units that keep their squares finite.
type column struct {
	nodes        []int
	score, noise []float64
	unit         float64 // of the scores
	process      *process
	// lack is the least violation of the hard guardrails by a mixture of the nodes, 0 if one holds
	// them.
	lack float64
}

// enormous is the largest size of scores in unit 1.
const enormous = 1e60

// unit returns the unit of the scores in direction d at θ: 1, or a bound on the scores if they are
// enormous.
func (c *Learner) unit(d, theta []float64) float64 {
	size := 0.0
	for k := range c.learner.Arms() {
		for i, v := range c.learner.Mean(k) {
			size = max(size, math.Abs(d[i])*(math.Abs(v)+math.Abs(theta[i])))
		}
	}
	if size > enormous {
		return size
	}
	return 1
}

// score makes the column in direction d at θ, in which node k has the score ⟨d, V̂_k − θ⟩.
func (c *Learner) score(d, theta []float64) *column {
	l, m := c.learner, c.objective.Dim()
	x := &column{unit: c.unit(d, theta)}
	for i := range d {
		d[i] /= x.unit
	}
	level, scale := vec.Dot(d, theta), 0.0
	var points [][]float64
	for k := range l.Arms() {
		mean := l.Mean(k)
		if mean == nil {
			continue
		}
		v := 0.0
		for i := range m {
			v += float64(float64(d[i]*d[i]) * l.SquaredError(k, i))
		}
		a := vec.Dot(d, mean) - level
		x.nodes, points, x.score, x.noise = append(x.nodes, k), append(points, c.c.Points[k]), append(x.score, a),
			append(x.noise, v)
		scale += float64(a * a)
	}
	if !(scale > 0) { // one node: the scale of the noise is the only one known
		for _, v := range x.noise {
			scale += v
		}
	}
	scale = max(scale/float64(len(x.score)), 1e-280)
	top := math.Inf(-1)
	for _, length := range []float64{0.1, 0.2, 0.4, 0.8, 1.6} {
		if g, like := fit(points, x.score, x.noise, scale, length); like > top {
			x.process, top = g, like
		}
	}
	return x
}

// price makes the column for the linear program over the nodes' estimates whose rows are the
// guardrails that take selects. Its direction is d = ∇reward + Σ_j ν_j·∇y_j with the dual prices ν:
// adding points whose scores are at most s raises the best reward by at most s (to first order, if
// the reward is not linear). If no mixture of the nodes holds the guardrails, ν are the prices of
// the least violation and d leaves the reward out: adding such points lowers the violation by at
// most s.
func (c *Learner) price(g *pasto.Goals, take func(*pasto.Metric) bool) (*column, error) {
	m := g.Dim()
	part := round.NewTable(0, m)
	for k := range c.learner.Arms() {
		if mean := c.learner.Mean(k); mean != nil {
			part.Append(mean)
		}
	}
	d, theta := make([]float64, m), make([]float64, m)
	least, prices, err := optimum.LeastViolation(g, part, take)
	if err != nil {
		return nil, err
	}
	lack := 0.0
	if least == nil {
		h, w := g.Harden(take), new(optimum.HardSolver)
		feasible, err := w.Maximize(h, part, float64(1e-9*w.Spread(h, part)), 10_000)
		if err != nil {
			return nil, err
		}
		if !feasible {
			return nil, noregret.BadInputf("guardrails", "no mixture holds them")
		}
		part.Mean(theta, w.Best.Mixture)
		h.Gradient(d, theta)
		prices = w.Best.Prices
	} else {
		part.Mean(theta, least.Mixture)
		lack = least.Violation
	}
	for i, v := range prices {
		d[i] += float64(v * g.Metrics()[i].Direction.Sign())
	}
	x := c.score(d, theta)
	x.lack = lack
	return x, nil
}

// plan makes steps 1 and 2 of a search. It returns nil if the linear program cannot be solved.
func (c *Learner) plan() *column {
	if g, ok := c.objective.(*pasto.Goals); ok && g.HasHard() {
		x, err := c.price(g, func(m *pasto.Metric) bool { return m.Hard })
		if err != nil {
			return nil // too ill-conditioned
		}
		return x
	}
	m := c.objective.Dim()
	theta, d := make([]float64, m), make([]float64, m)
	for k, w := range c.learner.Deployed() {
		if w > 0 {
			for i, v := range c.learner.Mean(k) {
				theta[i] += float64(w * v)
			}
		}
	}
	c.objective.Gradient(d, theta)
	return c.score(d, theta)
}

// search makes steps 1 to 4.
func (c *Learner) search() {
	best := c.plan()
	if best == nil || best.process == nil {
		return
	}
	x, promise := c.candidate(best, &c.c.Halton, &c.c.Random, c.c.Width)
	c.c.Gap = promise
	if best.lack > 0 { // promise and gap are in units of the violation
		if promise <= 0 {
			return
		}
	} else if promise <= c.options.Tolerance {
		c.c.Done = c.options.Stop
		return
	}
	if !c.makeRoom(best.nodes, best.score, best.noise) {
		return
	}
	c.c.Points = append(c.c.Points, x)
	_, _ = c.learner.AddArm() // the error is always nil
	c.c.Width = max(c.c.Width/2, 1.0/64)
}

// candidate returns the point of largest mean + 2·sd, and that sum, among quasi-random points,
// which continue from halton, and perturbations of the mixture's atoms.
func (c *Learner) candidate(best *column, halton *int, r *random.SplitMix64, width float64) (x []float64,
	promise float64,
) {
	g := best.process
	var atoms []int
	for k, w := range c.learner.Deployed() {
		if w > 0 {
			atoms = append(atoms, k)
		}
	}
	row := make([]float64, len(g.points))
	promise = math.Inf(-1)
	for i := range c.options.Candidates {
		var z []float64
		if i%2 == 0 || len(atoms) == 0 {
			*halton++
			z = c.quasi(*halton)
		} else {
			z = append([]float64{}, c.c.Points[atoms[i/2%len(atoms)]]...)
			for j := range z {
				z[j] = min(max(z[j]+float64(width*stat.Normal(r)), 0), 1)
			}
		}
		mean, sd := g.at(z, row)
		if v := mean + 2*sd; v > promise {
			x, promise = z, v
		}
	}
	return x, float64(promise * best.unit)
}

// Infeasible reports whether the guardrails, hard or not, can be held. It returns nil if some
// mixture of the nodes served so far holds them by the estimates V̂, otherwise the least violation
// of such a mixture. Sure reports that estimates moved by three standard errors in the good
// direction could not hold them either, and that no other point seems able to: it compares as many
// candidates as a search, by Gaussian processes of the nodes' scores at two standard deviations
// above their mean. So sure is an estimate, which can be wrong if metrics vary strongly between
// nodes. It changes nothing. O(n³ + C·n²) for n nodes and C candidates.
func (c *Learner) Infeasible() (least *optimum.Infeasible, sure bool) {
	if least, sure = c.learner.InfeasibleServed(); !sure {
		return least, false
	}
	g := c.objective.(*pasto.Goals)
	x, err := c.price(g, func(*pasto.Metric) bool { return true })
	if err != nil || x.lack == 0 || x.process == nil {
		return least, false
	}
	for i := range g.Metrics() { // a point has to make up for the violation beyond the slack
		if m := &g.Metrics()[i]; m.Role == pasto.Guardrail {
			x.lack -= m.Tolerance()
		}
	}
	halton, r := 0, random.SplitMix64(0)
	for _, width := range []float64{0.25, 1.0 / 64} {
		if _, promise := c.candidate(x, &halton, &r, width); promise >= x.lack {
			return least, false
		}
	}
	return least, true
}

// makeRoom retires clearly inferior nodes, the worst first, until one more fits. It reports whether
// one fits.
func (c *Learner) makeRoom(nodes []int, score, noise []float64) bool {
	for c.learner.ActiveArms() >= c.options.MaxNodes {
		worst, low := -1, 0.0
		for i, k := range nodes {
			if !c.learner.Active(k) || c.learner.Deployed()[k] >= 1/float64(10*c.options.MaxNodes) {
				continue
			}
			if v := score[i] + 2*math.Sqrt(noise[i]); v < low {
				worst, low = k, v
			}
		}
		if worst < 0 || c.learner.RetireArm(worst) != nil {
			return false
		}
	}
	return true
}
