package report

import (
	"errors"
	"math"
	"slices"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/confseq"
	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/experiment/guard"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/optimum"
)

// PriceUnit returns what the slack of a soft guardrail is divided by, so that its price is that of
// the definition: the size of the mean of a reference for a change or a limit of 0, and for another
// limit of a ratio that of the denominator's. It is 1 for hard guardrails, and while there is no
// mean but 0. The reference is that of [Reference], nil for none.
func PriceUnit(d *definition.Definition, g *definition.Guardrail, reference *compare.Stats) float64 {
	limit, _, relative, _ := g.Limit()
	m, unit := d.MetricIndex(g.Metric), 0.0
	r := d.RatioIndex(m)
	own := relative || limit == 0
	switch {
	case g.Hard || reference == nil || r < 0 && !own:
	case r < 0:
		unit = math.Abs(reference.Metrics[m].Mean)
	case own:
		unit = math.Abs(reference.Pairs[r].X)
	default:
		unit = math.Abs(reference.Pairs[r].Y)
	}
	if unit == 0 {
		return 1
	}
	return unit
}

// Reference returns the sums that prices of soft guardrails are in units of: those of the control
// arm, or without one, which has the index -1, of all arms.
func Reference(d *definition.Definition, arms []compare.Stats, control int) *compare.Stats {
	if control >= 0 {
		return &arms[control]
	}
	all := compare.NewStats(d)
	for k := range arms {
		all.Merge(&arms[k])
	}
	return &all
}

// GoalVector writes an arm's goal vector: the means of the goals and the slacks of the guardrails,
// those of soft ones in the units of their prices. Control is nil without a control arm; reference
// has the means for the units of prices, nil for none. It returns false if a value is unobserved.
func GoalVector(dst []float64, d *definition.Definition, a, control, reference *compare.Stats) bool {
	n := len(d.Objective.Goals)
	for i, g := range d.Objective.Goals {
		s := &a.Metrics[d.MetricIndex(g.Metric)]
		if s.N == 0 {
			return false
		}
		dst[i] = s.Mean
	}
	for i := range d.Guardrails {
		g := &d.Guardrails[i]
		z, _, ok := guard.SlackOf(d, g, a, control)
		if !ok {
			return false
		}
		dst[n+i] = z / PriceUnit(d, g, reference)
	}
	return true
}

// Values are what arms and mixtures are worth by comparisons within versions.
type Values struct {
	goals, priced *pasto.Goals
	// Means are the goal vectors of the arms, and Known says which are known.
	Means [][]float64
	Known []bool
}

// Values estimates what the arms are worth: their means are the level of the control, or without
// one of the pool of all arms, and the contrasts with it by the versions that are learned from,
// those that are open included, within the metrics' ranges ([compare.Store]). It returns nil
// without an objective, or where arms do not compare. It costs O(K³ + K²·versions that are open)
// per metric.
func (x *Facts) Values() *Values {
	if x.Goals == nil || x.Store == nil {
		return nil
	}
	out := &Values{goals: x.Goals, priced: x.Priced}
	d, stats := x.definition(), x.estimated()
	var control *compare.Stats
	if k := x.Evidence.Control; k >= 0 {
		control = &stats[k]
	}
	reference := Reference(d, x.Evidence.Joined.Arms, x.Evidence.Control)
	for k := range stats {
		dst := make([]float64, x.Goals.Dim())
		out.Known = append(out.Known, GoalVector(dst, d, &stats[k], control, reference))
		out.Means = append(out.Means, dst)
	}
	return out
}

// whole returns the store of all versions that are learned from, those that are open included. Of a
// private experiment the open versions are not known.
func (x *Facts) whole() *compare.Store {
	e := x.Evidence
	all := x.Store
	for _, v := range e.Joined.Versions {
		if !v.Learnable || e.Definition.Privacy != nil {
			continue
		}
		if all == x.Store {
			all = all.Copy()
		}
		open := slices.DeleteFunc(e.Definition.MetricIndices(), v.Closed)
		all.AddVersion(e.Definition, open, e.Control, v.Stats[:len(v.Mixture)], e.Inflation())
	}
	return all
}

// estimated returns the arms' means of the judged metrics as the sums of one unit each. Means that
// are not known are left out.
func (x *Facts) estimated() []compare.Stats {
	d := x.definition()
	out := make([]compare.Stats, len(x.Arms))
	for k := range out {
		out[k] = compare.NewStats(d)
	}
	within := func(m int, v float64) float64 { return min(max(v, d.Lowest(m)), d.Highest(m)) }
	var c compare.Contrasts
	s := x.whole()
	for _, m := range d.JudgedMetrics() {
		s.Contrasts(&c, m, 0, 0)
		for k := range out {
			a, b, ok := c.Means(compare.Index(x.Evidence.Control, k))
			if !ok {
				continue
			}
			if r := d.RatioIndex(m); r >= 0 {
				parts := d.Ratios()[r]
				out[k].Pairs[r] = confseq.Pair{N: 1, X: within(parts.Numerator, a), Y: within(parts.Denominator, b)}
			} else {
				out[k].Metrics[m] = confseq.Sequence{N: 1, Mean: within(m, a)}
			}
		}
	}
	return out
}

// Of returns the objective of a mixture, nil where x is, or if arms without a mean have a share of
// 0.1 or more in all.
func (x *Values) Of(p []float64) *float64 {
	if x == nil {
		return nil
	}
	theta, total := make([]float64, x.goals.Dim()), 0.0
	for k, w := range p {
		if w > 0 && x.Known[k] {
			total += w
		}
	}
	if !(total > 0.9) { // else too much is unknown
		return nil
	}
	for k, w := range p {
		if w > 0 && x.Known[k] {
			for i, u := range x.Means[k] {
				theta[i] += float64(w / total * u)
			}
		}
	}
	return known(x.priced.Value(theta))
}

// Version is a policy version of an experiment: its shares and the units that were exposed.
type Version struct {
	Version uint64
	Shares  []float64
	Units   int64
}

// Regret computes the regret against the best single arm, in total and per unit up to each version,
// by the values. It returns nil where there are none.
func (x *Facts) Regret(values *Values, history []Version) (*api.Regret, map[uint64]*float64) {
	if values == nil {
		return nil, nil
	}
	r := &api.Regret{}
	best, arm, held := math.Inf(-1), -1, false
	for k, means := range values.Means {
		if !values.Known[k] || !x.Arms[k].Active {
			continue
		}
		// arms that hold the hard guardrails come first
		v, holds := x.Priced.Value(means), vec.IsFinite(x.Goals.Value(means))
		if holds && !held || holds == held && v > best {
			best, arm, held = v, k, holds
		}
	}
	if arm < 0 {
		return r, nil
	}
	r.BestSingle.Arm, r.BestSingle.Value = x.Arms[arm].Name, known(best)
	r.Mixture = values.Of(x.Mixture)
	sum, course := 0.0, make(map[uint64]*float64, len(history))
	for i := range history {
		v := &history[i]
		if value := values.Of(v.Shares); value != nil && v.Units > 0 {
			sum += float64(*value * float64(v.Units))
			r.Units += v.Units
			course[v.Version] = known(best - sum/float64(r.Units))
		}
	}
	if r.Units > 0 {
		average := sum / float64(r.Units)
		r.Average, r.PerUnit, r.Total = known(average), known(best-average),
			known(float64((best-average)*float64(r.Units)))
	}
	return r, course
}

// Optimum returns a solver for the best mixture of the active arms at the values, with a
// certificate: no mixture is better by more than its Gap. It returns nil without values, and the
// solver returns nil if no mixture holds the hard guardrails. The solver may take long; it reads
// nothing that changes.
func (x *Facts) Optimum(values *Values) (solve func() (*optimum.Optimum, error), err error) {
	var arms []int
	for k := range x.Arms {
		if values != nil && values.Known[k] && x.Arms[k].Active {
			arms = append(arms, k)
		}
	}
	if len(arms) == 0 {
		return nil, nil
	}
	t, err := pasto.NewTable(len(arms), x.Goals.Dim())
	if err != nil {
		return nil, err
	}
	for i, k := range arms {
		copy(t.Arm(i), values.Means[k])
	}
	goals, all := x.Goals, len(x.Arms)
	return func() (*optimum.Optimum, error) {
		o, err := optimum.Maximize(goals, t, optimum.Options{Tolerance: 1e-6, Iterations: 10_000})
		if _, impossible := errors.AsType[*optimum.Infeasible](err); impossible {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		p := make([]float64, all)
		for i, k := range arms {
			p[k] = o.Mixture[i]
		}
		o.Mixture = p
		return o, nil
	}, nil
}
