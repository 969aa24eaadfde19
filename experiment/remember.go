package experiment

import (
	"slices"

	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/internal/column"
)

// roundStats are the statistics of a version from which a policy has learned, or of several, kept
// to train a new learner when the definition changes. Those of a metric are added when its window
// has closed.
type roundStats struct {
	Stats []compare.Stats `json:"stats"` // by arm
	// Mixture are the propensities by arm, only of bandits.
	Mixture column.Float64s `json:"mixture,omitempty"`
	// Masked are the sums of units that did not allow all arms, only of bandits. Copies of the
	// state share them, so that they are replaced and never changed.
	Masked *join.MaskedSums `json:"masked,omitempty"`
	// Version is the version, of several the last one, as long as a window of it is open, 0 then.
	// Merged is whether there are several; it is set only if a window of one was open when they
	// were put together.
	Version uint64 `json:"version,omitempty"`
	Merged  bool   `json:"merged,omitempty"`
}

// remember keeps the statistics of a version from which a policy has learned. If there are too
// many, it merges the two oldest.
func (x *learning) remember(d *definition.Definition, of *roundStats, c *join.Closed) {
	round := roundStats{Stats: compare.CopyStats(of.Stats)}
	if d.Bandit() {
		round.Mixture, round.Masked = slices.Clone(of.Mixture), of.Masked
	}
	if !c.Last {
		round.Version = c.Version.Version
		round.leaveOpen(d, c)
	}
	x.Recent = append(x.Recent, round)
	if len(x.Recent) > keepRecent {
		a, b := &x.Recent[0], &x.Recent[1]
		a.Masked = mergeMasked(a, b, len(d.Metrics))
		a.Mixture = mergeMixtures(a, b)
		for len(a.Stats) < len(b.Stats) {
			a.Stats = append(a.Stats, compare.NewStats(d))
		}
		for k := range b.Stats {
			a.Stats[k].Merge(&b.Stats[k])
		}
		a.Version = max(a.Version, b.Version)
		a.Merged = a.Version > 0
		x.Recent = slices.Delete(x.Recent, 1, 2)
	}
}

// leaveOpen leaves out the sums of metrics whose window is open.
func (x *roundStats) leaveOpen(d *definition.Definition, c *join.Closed) {
	var closed []int
	masked := x.Masked.Copy()
	for m := range d.Metrics {
		if c.Version.Closed(m) {
			closed = append(closed, m)
			continue
		}
		if masked != nil {
			for k := range masked.Arms {
				masked.Arms[k].Metrics[m] = join.MaskedMetric{}
			}
		}
	}
	x.Masked = masked
	for k := range x.Stats {
		s := compare.NewStats(d)
		s.Units = x.Stats[k].Units
		s.MergeMetrics(d, closed, &x.Stats[k])
		x.Stats[k] = s
	}
}

// rememberLater adds the metrics of a version whose window has closed since a policy learned from
// it. It does nothing if no policy has.
func (x *learning) rememberLater(d *definition.Definition, c *join.Closed) {
	if !c.Learned || len(x.Recent) == 0 {
		return
	}
	i := slices.IndexFunc(x.Recent, func(r roundStats) bool { return r.Version == c.Version.Version })
	if i < 0 { // it has been put together with others
		if i = 0; !x.Recent[0].Merged {
			return
		}
	}
	r := &x.Recent[i]
	arms := c.Arms()
	for k := range arms {
		r.Stats[k].MergeMetrics(d, c.Metrics, &arms[k])
	}
	masked := c.Masked
	if r.Merged && r.Masked != nil {
		of := roundStats{Stats: arms, Mixture: c.Mixture, Masked: c.Masked}
		masked = join.NewMaskedSums(len(r.Masked.Arms), len(d.Metrics))
		of.mergeWeighted(masked, len(d.Metrics))
	}
	if r.Masked != nil && masked != nil {
		r.Masked = r.Masked.Copy()
		r.Masked.AddMetrics(c.Metrics, masked)
	}
	if c.Last && r.Version == c.Version.Version {
		r.Version, r.Merged = 0, false
	}
}
