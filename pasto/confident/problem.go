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
	hard      bool         // it has hard guardrails
	guards    []int        // the metrics of these
	options   Options
	about     mixed.Problem // what the statistics must know of the metrics
	sign      []float64     // of each metric's good direction
	relative  []bool        // of each metric: a contrast with the control arm
	caution   []float64     // of each metric
	low, high []float64     // range of each metric as the objective sees it
}

// newProblem takes what there is to know about the metrics from the objective.
func newProblem(f pasto.Objective, o Options) *problem {
	m, p := f.Dim(), &problem{objective: f, options: o}
	p.goals, _ = f.(*pasto.Goals)
	p.hard = p.goals != nil && p.goals.HasHard()
	for _, v := range []*[]float64{&p.sign, &p.caution, &p.about.Width, &p.about.Low, &p.low, &p.high} {
		*v = make([]float64, m)
	}
	p.relative, p.about.Ignored, p.about.Positive = make([]bool, m), make([]bool, m), make([]bool, m)
	p.about.Hard = make([]bool, m)
	p.about.Control, p.about.Threshold, p.about.Without = o.Control, o.ChangeThreshold, o.without
	p.about.Sign, p.about.Relative = p.sign, p.relative
	for i := range m {
		p.sign[i], p.caution[i] = 1, o.Caution
		p.low[i], p.high[i] = math.Inf(-1), math.Inf(1)
		if d, ok := f.(pasto.Directed); ok {
			p.sign[i] = d.Sign(i)
		}
		if b, ok := f.(pasto.Ranged); ok {
			p.low[i], p.high[i] = b.Range(i)
		}
		if w := p.high[i] - p.low[i]; !math.IsInf(w, 1) {
			p.about.Width[i], p.about.Low[i] = w, p.low[i]
		}
		if p.goals == nil {
			continue
		}
		x := &p.goals.Metrics()[i]
		p.about.Ignored[i] = x.Role == pasto.Report
		p.about.Width[i], p.about.Low[i] = x.Upper-x.Lower, x.Lower
		p.about.Positive[i] = x.HasRange() && x.Lower == 0 && (!x.Relative || o.Control >= 0)
		p.relative[i] = x.Relative && o.Control >= 0
		if p.about.Hard[i] = x.Hard; x.Hard {
			p.caution[i] = o.HardCaution
			p.guards = append(p.guards, i)
		}
	}
	return p
}

// promised reports whether what is served must hold the hard guardrails.
func (p *problem) promised() bool {
	return p.hard && p.options.Control >= 0 && p.options.Hold == Served
}

// estimates are the statistics as the objective sees them.
type estimates struct {
	*problem
	model *mixed.Model
	s     State
}

// seen returns the estimate of metric i of arm k as the objective sees it, with its squared error.
// The error that all arms have in common counts where the level of the metric matters to the
// objective: not for primary metrics of a weighted sum, and not for contrasts.
func (e *estimates) seen(k, i int) (value, square float64) {
	if e.relative[i] {
		return e.model.Contrast(k, i, e.goals.Metrics()[i].Threshold)
	}
	if square = e.model.Square(k, i); e.goals == nil || e.goals.Metrics()[i].Role == pasto.Guardrail {
		square += e.model.Level(i)
	}
	return e.model.Mean(k, i), square
}
