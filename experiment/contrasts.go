package experiment

import (
	"math"
	"slices"

	"github.com/noregret/noregret/confseq"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/vec"
)

// contrasts compare the arms, and what is served, with the control's units of the same versions in
// one metric.
type contrasts struct {
	Metric int                `json:"metric"`
	Served confseq.Contrast   `json:"served"`
	Arms   []confseq.Contrast `json:"arms"` // the control's is with itself
}

func (x *contrasts) merge(o *contrasts) {
	x.Served.Merge(&o.Served)
	for len(x.Arms) < len(o.Arms) {
		x.Arms = append(x.Arms, confseq.Contrast{})
	}
	for k := range o.Arms {
		x.Arms[k].Merge(&o.Arms[k])
	}
}

func copyContrasts(a []contrasts) []contrasts {
	out := slices.Clone(a)
	for i := range out {
		out[i].Arms = slices.Clone(out[i].Arms)
	}
	return out
}

// watch adds contrasts for each metric with a relative guardrail and keeps those that exist.
func (x *guards) watch(d *definition.Definition) {
	var out []contrasts
	for _, m := range d.RelativeMetrics() {
		c := contrasts{Metric: m}
		if i := contrastOf(x.Contrasts, m); i >= 0 {
			c = x.Contrasts[i]
		}
		out = append(out, c)
	}
	x.Contrasts = out
}

// watches reports whether the contrasts are those of the definition's relative guardrails.
func (x *guards) watches(d *definition.Definition) bool {
	return slices.EqualFunc(x.Contrasts, d.RelativeMetrics(), func(c contrasts, m int) bool { return c.Metric == m })
}

// contrastOf returns the index of a metric's contrasts, or -1.
func contrastOf(a []contrasts, metric int) int {
	return slices.IndexFunc(a, func(c contrasts) bool { return c.Metric == metric })
}

// closeVersion adds a version whose window has closed.
func (x *guards) closeVersion(r *roster, c *cohort) {
	for i := range x.Contrasts {
		of := r.contrast(c, x.Contrasts[i].Metric)
		x.Contrasts[i].merge(&of)
	}
}

// centres returns the values from which the next version's deviations are measured, by metric: the
// control's means so far, NaN if unknown.
func (x *guards) centres(r *roster) f64s {
	out := make(f64s, len(r.def.Metrics))
	for m := range out {
		out[m] = math.NaN()
		if s := r.controlStats(); s != nil && s.Metrics[m].N > 0 {
			out[m] = s.Metrics[m].Mean
		}
	}
	return out
}

// contrast compares the arms of a version.
func (x *roster) contrast(c *cohort, metric int) contrasts {
	out := contrasts{Metric: metric, Arms: make([]confseq.Contrast, len(c.Mixture))}
	group, all := x.groups(c, metric)
	control := group(&c.Stats[x.Control])
	if !(control.N > 0) {
		return out
	}
	var rest armStats
	units := control.N
	for k := range c.Mixture {
		if k == x.Control {
			continue
		}
		units += group(&c.Stats[k]).N
		all(&rest, &c.Stats[k])
	}
	others := group(&rest)
	if !(others.N > 0) {
		return out // nothing to compare
	}
	out.Served.AddServed(others, control)
	for k := range c.Mixture {
		if k == x.Control {
			out.Arms[k].AddControl(control, units)
		} else {
			out.Arms[k].AddArm(group(&c.Stats[k]), control, units)
		}
	}
	return out
}

// groups returns a function that makes a group of an arm's statistics in a metric, and one that
// adds an arm's statistics to a sum for it.
func (x *roster) groups(c *cohort, metric int) (group func(*armStats) confseq.Group, add func(sum, a *armStats)) {
	if r := x.def.RatioIndex(metric); r >= 0 {
		ratio, _ := c.Stats[x.Control].Pairs[r].Ratio()
		return func(a *armStats) confseq.Group { return a.Pairs[r].GroupOf(ratio) },
			func(sum, a *armStats) {
				if sum.Pairs == nil {
					sum.Pairs = make([]confseq.Pair, r+1)
				}
				sum.Pairs[r].Merge(a.Pairs[r])
			}
	}
	add = func(sum, a *armStats) {
		if sum.Metrics == nil {
			sum.Metrics = make([]confseq.Sequence, metric+1)
		}
		sum.Metrics[metric].Merge(a.Metrics[metric])
	}
	if !vec.IsFinite(x.def.Width(metric)) {
		return func(a *armStats) confseq.Group { return a.Metrics[metric].Group() }, add
	}
	centre := math.NaN()
	if metric < len(c.Centre) {
		centre = c.Centre[metric]
	}
	if !vec.IsFinite(centre) {
		var all armStats
		for k := range c.Mixture {
			add(&all, &c.Stats[k])
		}
		centre = all.Metrics[metric].Mean
	}
	return func(a *armStats) confseq.Group { return a.Metrics[metric].GroupAround(centre) }, add
}

// guardInput is the evidence on the guardrails: the arms, and the contrasts of all versions.
type guardInput struct {
	*roster
	contrasts []contrasts
	inflation []float64 // by metric, nil without returning units
}

// guardInput adds the contrasts of the open versions. Only code that applies events may pass keep,
// which caches them.
func (x *experimentState) guardInput(keep bool) *guardInput {
	in := &guardInput{
		roster: &x.roster, contrasts: copyContrasts(x.guards.Contrasts),
		inflation: x.guards.Returns.factor,
	}
	for _, c := range x.joiner.cohorts {
		of := c.contrasts
		if of == nil && len(x.guards.Contrasts) > 0 {
			for i := range x.guards.Contrasts {
				of = append(of, x.roster.contrast(c, x.guards.Contrasts[i].Metric))
			}
			if keep {
				c.contrasts = of
			}
		}
		for i := range of {
			in.contrasts[i].merge(&of[i])
		}
	}
	return in
}

func (in *guardInput) contrastOf(metric int) int { return contrastOf(in.contrasts, metric) }

// inflated returns the factor by which returning units raise the variance of a metric.
func (in *guardInput) inflated(metric int) float64 {
	if in.inflation == nil {
		return 1
	}
	if r := in.def.RatioIndex(metric); r >= 0 {
		parts := in.def.Ratios()[r]
		return max(in.inflation[parts.Numerator], in.inflation[parts.Denominator])
	}
	return in.inflation[metric]
}
