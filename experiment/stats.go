package experiment

import (
	"slices"

	"github.com/noregret/noregret/confseq"
	"github.com/noregret/noregret/experiment/definition"
)

// armStats are the statistics of an arm, or of a part of its traffic.
type armStats struct {
	Units   int64              `json:"units"`
	Metrics []confseq.Sequence `json:"metrics"` // by metric; those of ratios stay empty
	Pairs   []confseq.Pair     `json:"pairs"`   // by ratio
}

func newArmStats(d *definition.Definition) armStats {
	return armStats{Metrics: make([]confseq.Sequence, len(d.Metrics)), Pairs: make([]confseq.Pair, len(d.Ratios()))}
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

func (a *armStats) copy() armStats {
	return armStats{a.Units, slices.Clone(a.Metrics), slices.Clone(a.Pairs)}
}

func copyStats(a []armStats) []armStats {
	out := make([]armStats, len(a))
	for i := range a {
		out[i] = a[i].copy()
	}
	return out
}
