package confident

import (
	"math"

	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/mixed"
)

// problem is the objective with the options: what does not change.
type problem struct {
	objective pasto.Objective
	goals     *pasto.Goals // the objective, if it is such
	guards    []int        // the metrics of its hard guardrails
	options   Options
	about     mixed.Problem // what the statistics must know
	metrics   []metric
}

// metric is what there is to know about a metric.
type metric struct {
	*mixed.Metric
	caution  float64
	from, to float64 // its range as the objective sees it
}

// newProblem takes what there is to know about the metrics from the objective.
func newProblem(f pasto.Objective, o Options) *problem {
	p := &problem{objective: f, options: o}
	p.about = mixed.Problem{Control: o.Control, Threshold: o.ChangeThreshold, Without: o.without}
	p.about.Metrics = make([]mixed.Metric, f.Dim())
	p.goals, _ = f.(*pasto.Goals)
	for i := range p.about.Metrics {
		x := metric{&p.about.Metrics[i], o.Caution, math.Inf(-1), math.Inf(1)}
		x.Sign = 1
		if d, ok := f.(pasto.Directed); ok {
			x.Sign = d.Sign(i)
		}
		if b, ok := f.(pasto.Ranged); ok {
			x.from, x.to = b.Range(i)
		}
		if w := x.to - x.from; !math.IsInf(w, 1) {
			x.Low, x.Width = x.from, w
		}
		if p.goals != nil {
			g := &p.goals.Metrics()[i]
			x.Ignored, x.Hard, x.Relative = g.Role == pasto.Report, g.Hard, g.Relative && o.Control >= 0
			x.Positive = g.HasRange() && g.Lower == 0 && (!g.Relative || o.Control >= 0)
			x.Low, x.Width = g.Lower, g.Upper-g.Lower
		}
		if x.Hard {
			x.caution = o.HardCaution
			p.guards = append(p.guards, i)
		}
		p.metrics = append(p.metrics, x)
	}
	p.about.Recheck = !p.promised()
	return p
}

// promised reports whether what is served must hold the hard guardrails.
func (p *problem) promised() bool {
	return len(p.guards) > 0 && p.options.Control >= 0 && p.options.Hold == Served
}

// estimates are the statistics as the objective sees them.
type estimates struct {
	*problem
	model *mixed.Model
	s     State
}

// suspected returns how much worse metric i of arm k may have become, as it seemed in a round
// without others: 0 or less in its good direction.
func (e *estimates) suspected(k, i int) float64 {
	return min(float64(e.metrics[i].Sign*e.model.Suspects.Change[k*len(e.metrics)+i]), 0)
}

// seen returns the estimate of metric i of arm k as the objective sees it, with its squared error.
// The error that all arms have in common counts where the level of the metric matters to the
// objective: not for primary metrics of a weighted sum, and not for contrasts.
func (e *estimates) seen(k, i int) (value, square float64) {
	if e.metrics[i].Relative {
		return e.model.Contrast(k, i, e.goals.Metrics()[i].Threshold)
	}
	if square = e.model.Square(k, i); e.goals == nil || e.goals.Metrics()[i].Role == pasto.Guardrail {
		square += e.model.Level(i)
	}
	return e.model.Mean(k, i), square
}
