package box

import (
	"math"

	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/round"
	"github.com/noregret/noregret/pasto/optimum"

	"github.com/noregret/noregret/internal/vec"
)

// surfaces fits one surface for each metric to the nodes that have been served; refit looks for the
// better kernels. It is nil while the noise is not known, and where a factorization fails.
func (c *Learner) surfaces(refit bool) []*surface {
	e := &c.s.Evidence
	if !(e.freedom() > 0) {
		return nil
	}
	var nodes []int
	var points [][]float64
	for k, n := range e.Size {
		if n > 0 {
			nodes, points = append(nodes, k), append(points, c.s.Points[k])
		}
	}
	list := make([]*surface, c.objective.Dim())
	for i := range list {
		mean, noise := e.estimates(nodes, i)
		if mean == nil {
			return nil
		}
		if refit {
			list[i] = fit(c.s.Kernel[i], points, mean, noise)
		} else {
			list[i], _ = newSurface(c.s.Kernel[i], points, mean, noise)
		}
		if list[i] == nil {
			return nil
		}
	}
	return list
}

// tables are the surfaces' means and standard errors at points.
func (c *Learner) tables(surfaces []*surface, points [][]float64) (means, errors *pasto.Table) {
	means, errors = round.NewTable(len(points), len(surfaces)), round.NewTable(len(points), len(surfaces))
	row := make([]float64, len(surfaces[0].points))
	for k, x := range points {
		for i, g := range surfaces {
			v, sd := g.at(x, row)
			means.Arm(k)[i], errors.Arm(k)[i] = v+c.s.Evidence.Origin[i], sd
		}
	}
	return means, errors
}

// moved is the table of the first n means, moved by errors times z, of each metric, in the metric's
// good direction, as far as its range goes.
func (c *Learner) moved(means, errors *pasto.Table, n int, z func(metric int) float64) *pasto.Table {
	t := round.NewTable(n, means.Metrics())
	for k := range n {
		for i, v := range means.Arm(k) {
			v += float64(float64(c.sign[i]*z(i)) * errors.Arm(k)[i])
			t.Arm(k)[i] = min(max(v, c.low[i]), c.high[i])
		}
	}
	return t
}

// hardMetric reports whether metric i is a hard guardrail.
func (c *Learner) hardMetric(i int) bool { return c.hard != nil && c.hard.Metrics()[i].Hard }

// value is the objective without its hard guardrails.
func (c *Learner) value(theta []float64) float64 {
	if c.hard != nil {
		return c.hard.Reward(theta)
	}
	return c.objective.Value(theta)
}

// solution is a mixture over a table, and its value there. It is feasible unless no mixture holds
// the hard guardrails, and then that of least violation.
type solution struct {
	mixture  []float64
	value    float64
	feasible bool
}

// solve maximizes the objective over the mixtures of a table. It is nil where that fails.
func (c *Learner) solve(t *pasto.Table) *solution {
	s := &solution{feasible: true}
	if c.hard != nil {
		var w optimum.HardSolver
		feasible, err := w.Maximize(c.hard, t, float64(1e-9*w.Spread(c.hard, t)), 10_000)
		if err != nil {
			return nil
		}
		if s.feasible = feasible; feasible {
			s.mixture = w.Best.Mixture
		} else {
			s.mixture = w.LeastViolation()
		}
	} else {
		best, top := -1, math.Inf(-1)
		for k := range t.Arms() {
			if v := c.objective.Value(t.Arm(k)); v > top {
				best, top = k, v
			}
		}
		if best < 0 || math.IsInf(top, 1) {
			return nil
		}
		s.mixture = make([]float64, t.Arms())
		s.mixture[best] = 1
		w := optimum.NewSolver(c.objective, t)
		w.SolveToTolerance(s.mixture, 1e-6, 400)
		if w.Err != nil {
			return nil
		}
		optimum.ReduceSupport(t, s.mixture)
	}
	theta := make([]float64, t.Metrics())
	t.Mean(theta, s.mixture)
	s.value = c.value(theta)
	if !vec.IsFinite(s.value) {
		return nil
	}
	return s
}

// cautions are the parts of the hard guardrails' caution that are tried in turn.
var cautions = []float64{1, 0.75, 0.5, 0.25, 0.125, 0}

// cautious solves for the mixture to deploy, over the first n points, with as much of the hard
// guardrails' caution as is feasible, and returns that part.
func (c *Learner) cautious(means, errors *pasto.Table, n int) (s *solution, part float64) {
	for _, part = range cautions {
		s = c.solve(c.moved(means, errors, n, func(i int) float64 {
			if c.hardMetric(i) {
				return -float64(part * c.options.HardCaution)
			}
			return -c.options.Caution
		}))
		if s == nil || s.feasible {
			break
		}
	}
	return s, part
}

// optimistic solves for the mixture to learn by: goals and soft guardrails take the optimism, hard
// guardrails z standard errors of the good direction.
func (c *Learner) optimistic(means, errors *pasto.Table, n int, z float64) *solution {
	return c.solve(c.moved(means, errors, n, func(i int) float64 {
		if c.hardMetric(i) {
			return z
		}
		return c.options.Optimism
	}))
}
