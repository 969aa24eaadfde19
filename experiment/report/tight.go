package report

import (
	"slices"

	"github.com/noregret/noregret/confseq"
	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/column"
)

// Tight says where the confidence sequences of lifts are tightest, for each metric that is compared
// with the control, ascending. A report needs it beside the comparisons, as it must be fixed as
// soon as there is enough data.
type Tight []TightMetric

// TightMetric says where the sequences of a metric are tightest.
type TightMetric struct {
	Metric int `json:"metric"`
	// Arms is the sum of squares at which a sequence without a range is tightest, by arm; Served is
	// the same for what was served. They are 0 until there is enough data to fix them.
	Arms   column.Float64s `json:"tight"`
	Served float64         `json:"tight_served"`
}

// Copy returns a copy that shares nothing with x.
func (x Tight) Copy() Tight {
	out := slices.Clone(x)
	for i := range out {
		out[i].Arms = slices.Clone(out[i].Arms)
	}
	return out
}

// Watch has an entry for each metric that a definition compares. It keeps the entries that exist.
func (x *Tight) Watch(d *definition.Definition) {
	var out Tight
	for _, m := range d.ComparedMetrics() {
		l := TightMetric{Metric: m}
		if i := x.of(m); i >= 0 {
			l = (*x)[i]
		}
		out = append(out, l)
	}
	*x = out
}

// Watches reports whether the entries are of the metrics that a definition compares.
func (x Tight) Watches(d *definition.Definition) bool {
	return slices.EqualFunc(x, d.ComparedMetrics(), func(l TightMetric, m int) bool { return l.Metric == m })
}

// of returns the index of a metric, or -1.
func (x Tight) of(metric int) int {
	return slices.IndexFunc(x, func(l TightMetric) bool { return l.Metric == metric })
}

// Fix fixes where sequences with enough data are tightest. It is to be called when a version ends,
// with its comparison in addition to those that have closed, and when its window has closed.
func (x Tight) Fix(arms int, of func(metric int) *compare.Sequence) {
	for i := range x {
		l := &x[i]
		if len(l.Arms) == arms && l.Served > 0 && !slices.Contains(l.Arms, 0) {
			continue
		}
		s := of(l.Metric)
		for len(l.Arms) < len(s.Arms) {
			l.Arms = append(l.Arms, 0)
		}
		for k := range s.Arms {
			if l.Arms[k] == 0 {
				l.Arms[k] = liftTight(&s.Arms[k])
			}
		}
		if l.Served == 0 {
			l.Served = liftTight(&s.Served)
		}
	}
}

// A sequence is tightest when a lift of liftSought is about to be detected, but at no less than the
// current sum of squares and at no more than liftLatest times it. It is fixed after liftUnits
// units.
const (
	liftSought = 0.05
	liftLatest = 100
	liftUnits  = 200
)

// liftTight returns the sum of squares at which a contrast's sequence is tightest, 0 if there is
// too little data.
func liftTight(c *confseq.Contrast) float64 {
	v, gap := c.Own+c.Zero, float64(liftSought*c.Level)
	if c.Units < liftUnits || !(v > 0) {
		return 0
	}
	if wanted := float64(9*v) * (v / float64(gap*gap)); wanted < liftLatest*v {
		return max(wanted, v)
	}
	return liftLatest * v
}
