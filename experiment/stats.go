package experiment

import (
	"slices"

	"github.com/noregret/noregret/confseq"
)

// armStats is what is known of an arm, or of a part of its traffic.
type armStats struct {
	Units   int64              `json:"units"`
	Metrics []confseq.Sequence `json:"metrics"` // by metric; those of ratios stay empty
	Pairs   []confseq.Pair     `json:"pairs"`   // by ratio
}

func newArmStats(d *Definition) armStats {
	return armStats{Metrics: make([]confseq.Sequence, len(d.Metrics)), Pairs: make([]confseq.Pair, len(d.ratios()))}
}

func (a *armStats) merge(o *armStats) {
	a.Units += o.Units
	for i := range a.Metrics {
		a.Metrics[i].Merge(o.Metrics[i])
	}
	for i := range a.Pairs {
		a.Pairs[i].Merge(o.Pairs[i])
	}
}

func (a *armStats) clone() armStats {
	return armStats{a.Units, slices.Clone(a.Metrics), slices.Clone(a.Pairs)}
}

func cloneStats(a []armStats) []armStats {
	out := make([]armStats, len(a))
	for i := range a {
		out[i] = a[i].clone()
	}
	return out
}

// ratio is a ratio metric by the indices of its parts.
type ratio struct{ metric, numerator, denominator int }

// ratios lists the ratio metrics in their order.
func (d *Definition) ratios() []ratio {
	var out []ratio
	for i := range d.Metrics {
		if m := &d.Metrics[i]; m.Kind == "ratio" {
			out = append(out, ratio{i, d.metricIndex(m.Numerator), d.metricIndex(m.Denominator)})
		}
	}
	return out
}

// ratioIndex is the index of a metric among the ratios, or -1.
func (d *Definition) ratioIndex(metric int) int {
	if d.Metrics[metric].Kind != "ratio" {
		return -1
	}
	for i, r := range d.ratios() {
		if r.metric == metric {
			return i
		}
	}
	return -1
}
