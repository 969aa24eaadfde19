package optimum

import (
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/simplex"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/check"
)

// guardrails is the linear program over mixtures whose rows are guardrails of an objective.
type guardrails struct {
	lp      simplex.Program
	problem simplex.Problem
	rows    int
	metrics []int // of each row
	gain    []float64
	prices  []float64 // of each row
}

// newGuardrails makes the program of the guardrails of g that take selects, with gains of 0.
func newGuardrails(g *pasto.Goals, means *pasto.Table, take func(m *pasto.Metric) bool) *guardrails {
	r := &guardrails{}
	r.init(g, take)
	r.reset(g, means, take)
	return r
}

// init sets the number of rows and resets the scales of earlier programs.
func (r *guardrails) init(g *pasto.Goals, take func(m *pasto.Metric) bool) {
	rows := 0
	for i := range g.Metrics() {
		if m := &g.Metrics()[i]; m.Role == pasto.Guardrail && take(m) {
			rows++
		}
	}
	r.rows = rows
	r.lp.Init(rows)
}

// reset makes r a new program. It reuses the memory of r.
func (r *guardrails) reset(g *pasto.Goals, means *pasto.Table, take func(m *pasto.Metric) bool) {
	p := &r.problem
	p.Points, p.Rows, p.Values, r.metrics = means.Arms(), p.Rows[:0], p.Values[:0], r.metrics[:0]
	p.Values = slices.Grow(p.Values, r.rows*means.Arms())
	for i := range g.Metrics() {
		m := &g.Metrics()[i]
		if m.Role != pasto.Guardrail || !take(m) {
			continue
		}
		r.metrics = append(r.metrics, i)
		p.Rows = append(p.Rows, simplex.Row{
			Sign: m.Direction.Sign(), Limit: m.Limit(), Slack: m.Tolerance(), Margin: m.Slack,
		})
		for k := range means.Arms() {
			p.Values = append(p.Values, means.Arm(k)[i])
		}
	}
	r.prices = check.Zeros(r.prices, len(r.metrics))
	r.gain = check.Zeros(r.gain, means.Arms())
	r.lp.Reset(p)
}

// setObjective sets the gains to ⟨d, μ_k⟩.
func (r *guardrails) setObjective(means *pasto.Table, d []float64) {
	for k := range r.gain {
		r.gain[k] = vec.Dot(means.Arm(k), d)
	}
	r.lp.SetObjective(r.gain)
}

// feasible is [simplex.Program.Feasible].
func (r *guardrails) feasible() (bool, error) {
	ok, err := r.lp.Feasible()
	return ok, ill(err)
}

// metricPrices writes the dual prices to dst, one for each metric, and returns the bound that they
// certify.
func (r *guardrails) metricPrices(dst []float64) (bound float64) {
	clear(dst)
	bound = r.lp.Prices(r.prices)
	for j, i := range r.metrics {
		dst[i] = r.prices[j]
	}
	return bound
}

// least describes the mixture of least violation, after feasible has reported false.
func (r *guardrails) least(g *pasto.Goals, means *pasto.Table) *Infeasible {
	e := &Infeasible{Mixture: r.lp.Solution(nil)}
	theta := make([]float64, means.Metrics())
	means.Mean(theta, e.Mixture)
	for _, i := range r.metrics {
		m := &g.Metrics()[i]
		if v := m.Violation(theta[i]); v > 0 {
			e.Violation += v
			e.Metrics = append(e.Metrics, m.Name)
			e.By = append(e.By, v)
		}
	}
	return e
}

// ill wraps the error of a linear program that could not be solved.
func ill(err error) error {
	if err == nil {
		return nil
	}
	return noregret.BadInputf("means", "the linear program of the guardrails is too ill-conditioned: %w", err)
}
