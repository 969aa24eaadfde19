package compare

import (
	"slices"

	"github.com/noregret/noregret/confseq"
	"github.com/noregret/noregret/experiment/definition"
)

// Stats are the sums of one arm's units, or of a part of them: of a policy version, or of all
// versions. The JSON form is part of the state of an experiment. The zero value has no metrics;
// create it with [NewStats].
type Stats struct {
	// Units is the number of exposed units.
	Units int64 `json:"units"`
	// Metrics has the values by the definition's metric. Those of ratios stay empty.
	Metrics []confseq.Sequence `json:"metrics"`
	// Pairs has the two parts of each ratio, in the order of [definition.Definition.Ratios].
	Pairs []confseq.Pair `json:"pairs"`
}

// NewStats returns empty sums for the metrics of a definition.
func NewStats(d *definition.Definition) Stats {
	return Stats{Metrics: make([]confseq.Sequence, len(d.Metrics)), Pairs: make([]confseq.Pair, len(d.Ratios()))}
}

// CopyStats copies a list of sums; the copies share nothing with it.
func CopyStats(list []Stats) []Stats {
	out := make([]Stats, len(list))
	for i := range list {
		out[i] = list[i].Copy()
	}
	return out
}

// Copy returns a copy that shares nothing with s.
func (s *Stats) Copy() Stats {
	return Stats{s.Units, slices.Clone(s.Metrics), slices.Clone(s.Pairs)}
}

// Merge adds the sums of other units, which have the same metrics.
func (s *Stats) Merge(other *Stats) {
	s.Units += other.Units
	for i := range s.Metrics {
		s.Metrics[i].Merge(other.Metrics[i])
	}
	for i := range s.Pairs {
		s.Pairs[i].Merge(other.Pairs[i])
	}
}

// MergeMetrics adds the values of other units in some metrics, and not the units.
func (s *Stats) MergeMetrics(d *definition.Definition, metrics []int, other *Stats) {
	for _, m := range metrics {
		if r := d.RatioIndex(m); r >= 0 {
			s.Pairs[r].Merge(other.Pairs[r])
		} else {
			s.Metrics[m].Merge(other.Metrics[m])
		}
	}
}

// Fits reports whether the sums have the metrics and the ratios of a definition.
func (s *Stats) Fits(d *definition.Definition) bool {
	return len(s.Metrics) == len(d.Metrics) && len(s.Pairs) == len(d.Ratios())
}

// Mean returns the number of units with a value of a metric, and their mean. The mean of a ratio is
// the ratio of the means of its parts. If the denominator is too small for a finite ratio, n is 0.
func (s *Stats) Mean(d *definition.Definition, metric int) (n int64, mean float64) {
	if r := d.RatioIndex(metric); r >= 0 {
		p := &s.Pairs[r]
		if mean, ok := p.Ratio(); ok {
			return p.N, mean
		}
		return 0, 0
	}
	return s.Metrics[metric].N, s.Metrics[metric].Mean
}

// Observations returns the observations by which a metric is held to a limit: the values
// themselves, or, for a ratio of x to y, those of x − limit·y. [definition.Definition.Span] is the
// interval of one of them.
func (s *Stats) Observations(d *definition.Definition, metric int, limit float64) confseq.Sequence {
	if r := d.RatioIndex(metric); r >= 0 {
		return s.Pairs[r].Contrast(limit)
	}
	return s.Metrics[metric]
}
