package compare

import (
	"slices"

	"github.com/noregret/noregret/confseq"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/vec"
)

// Sequence compares the arms, and all that was served, with the control's units of the same
// versions in one metric. Its confidence sequences hold at all times at once, unlike the estimates
// of a [Store], whose standard errors are those of one look.
type Sequence struct {
	// Metric is the metric's index.
	Metric int `json:"metric"`
	// Served compares the units of all other arms together.
	Served confseq.Contrast `json:"served"`
	// Arms are the contrasts by arm; the control's is with itself. Later arms may be missing.
	Arms []confseq.Contrast `json:"arms"`
}

// Version compares the arms of one version in a metric, by the sums of its units by arm. Deviations
// of a metric with a range are measured from the centre, which must have been known before the
// version began; NaN stands for the mean of its units. Without units of the control and of another
// arm nothing is compared. O(K).
func Version(d *definition.Definition, metric, control int, arms []Stats, centre float64) *Sequence {
	out := &Sequence{Metric: metric, Arms: make([]confseq.Contrast, len(arms))}
	group := grouping(d, metric, control, arms, centre)
	own := group(&arms[control])
	if !(own.N > 0) {
		return out
	}
	rest, r := NewStats(d), d.RatioIndex(metric)
	for k := range arms {
		switch {
		case k == control:
		case r >= 0:
			rest.Pairs[r].Merge(arms[k].Pairs[r])
		default:
			rest.Metrics[metric].Merge(arms[k].Metrics[metric])
		}
	}
	others := group(&rest)
	if !(others.N > 0) {
		return out
	}
	out.Served.AddServed(others, own)
	units := own.N
	for k := range arms {
		if k != control {
			units += group(&arms[k]).N
		}
	}
	for k := range arms {
		if k == control {
			out.Arms[k].AddControl(own, units)
		} else {
			out.Arms[k].AddArm(group(&arms[k]), own, units)
		}
	}
	return out
}

// grouping returns what makes a group of the units of an arm.
func grouping(d *definition.Definition, metric, control int, arms []Stats, centre float64) func(*Stats) confseq.Group {
	if r := d.RatioIndex(metric); r >= 0 {
		ratio, _ := arms[control].Pairs[r].Ratio()
		return func(a *Stats) confseq.Group { return a.Pairs[r].GroupOf(ratio) }
	}
	if !vec.IsFinite(d.Width(metric)) {
		return func(a *Stats) confseq.Group { return a.Metrics[metric].Group() }
	}
	if !vec.IsFinite(centre) {
		var all confseq.Sequence
		for k := range arms {
			all.Merge(arms[k].Metrics[metric])
		}
		centre = all.Mean
	}
	return func(a *Stats) confseq.Group { return a.Metrics[metric].GroupAround(centre) }
}

// Merge adds the versions of o, of the same metric. O(K).
func (x *Sequence) Merge(o *Sequence) {
	x.Served.Merge(&o.Served)
	for len(x.Arms) < len(o.Arms) {
		x.Arms = append(x.Arms, confseq.Contrast{})
	}
	for k := range o.Arms {
		x.Arms[k].Merge(&o.Arms[k])
	}
}

// Copy returns a copy that shares nothing with x.
func (x *Sequence) Copy() Sequence {
	return Sequence{Metric: x.Metric, Served: x.Served, Arms: slices.Clone(x.Arms)}
}

// Sequences are the comparisons of some metrics by the versions whose window has closed. Verdicts
// on guardrails, lifts, stops and reports all read them; each closed version is added once. The
// zero value compares no metric. Invariant: ascending by metric, each metric once.
type Sequences []Sequence

// Watch makes the metrics, ascending, those that are compared. What is known of metrics that were
// compared before stays; the others begin without any version.
func (x *Sequences) Watch(metrics []int) {
	var out Sequences
	for _, m := range metrics {
		s := Sequence{Metric: m}
		if of := x.Of(m); of != nil {
			s = *of
		}
		out = append(out, s)
	}
	*x = out
}

// Watches reports whether these metrics, ascending, are compared and no others.
func (x Sequences) Watches(metrics []int) bool {
	return slices.EqualFunc(x, metrics, func(s Sequence, m int) bool { return s.Metric == m })
}

// Of returns the comparison of a metric, nil if it is not compared.
func (x Sequences) Of(metric int) *Sequence {
	i, ok := slices.BinarySearchFunc(x, metric, func(s Sequence, m int) int { return s.Metric - m })
	if !ok {
		return nil
	}
	return &x[i]
}

// Add adds a version in metrics, ascending, whose window has closed; of returns its comparison in
// one. Metrics that are not compared are left out.
func (x Sequences) Add(metrics []int, of func(metric int) *Sequence) {
	for i := range x {
		if _, ok := slices.BinarySearch(metrics, x[i].Metric); ok {
			x[i].Merge(of(x[i].Metric))
		}
	}
}

// Copy returns a copy that shares nothing with x.
func (x Sequences) Copy() Sequences {
	out := slices.Clone(x)
	for i := range out {
		out[i] = out[i].Copy()
	}
	return out
}
