package guard

import (
	"math"
	"slices"

	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/experiment/join"
)

// Evidence is what guardrails are judged by: the definition, the sums of all arms with those of the
// versions that are open, and the comparisons of the versions whose window has closed. Create a new
// one for each event: it keeps the comparisons of all versions once they are asked for.
type Evidence struct {
	Definition *definition.Definition
	// Control is the index of the control arm, -1 without one.
	Control int
	// Initial is the number of arms that the experiment began with.
	Initial int
	// Joined has the sums of the arms and the open versions. It is only read.
	Joined *join.Joiner
	// Closed are the comparisons with the control by closed versions.
	Closed compare.Sequences
	// Cache has the comparisons of the open versions and the arms' bounds as far as they are known,
	// nil for none. It is written only where Fold is set.
	Cache *Cache
	// Fold is whether an event is being applied.
	Fold bool

	all []*compare.Sequence // of all versions, by index in Closed; nil until one is asked for
}

// Cache keeps what is costly to compute of versions that are open and of arms. Nothing depends on
// it but time. The zero value is empty.
type Cache struct {
	open   map[uint64]*opened
	bounds [][]armBound // by guardrail and arm
}

// opened is what is known of an open version as long as its sums are the same.
type opened struct {
	changes  uint64
	compared []*compare.Sequence           // by index in Closed, nil where unknown
	early    [][][len(earlyRatios)]float64 // by index in [States.Early], nil where unknown
}

// Forget drops what is kept of guardrails and versions, which is needed when the definition has
// changed.
func (x *Cache) Forget() { *x = Cache{} }

// Close drops what is kept of a version whose window has closed.
func (x *Cache) Close(version uint64) { delete(x.open, version) }

// opened returns what is kept of an open version.
func (e *Evidence) opened(v *join.Version) *opened {
	empty := &opened{changes: v.Changes()}
	if e.Cache == nil {
		return empty
	}
	if kept := e.Cache.open[v.Version]; kept != nil && kept.changes == empty.changes {
		return kept
	}
	if e.Fold {
		if e.Cache.open == nil {
			e.Cache.open = map[uint64]*opened{}
		}
		e.Cache.open[v.Version] = empty
	}
	return empty
}

// Inflation are the factors by which returning units raise variances.
func (e *Evidence) Inflation() compare.Inflation { return e.Joined.Returns.Factors() }

// inflated is the factor of a metric.
func (e *Evidence) inflated(metric int) float64 { return e.Inflation().Of(e.Definition, metric) }

// Stats returns the sums of an arm over all versions.
func (e *Evidence) Stats(k int) *compare.Stats { return &e.Joined.Arms[k] }

// control returns the sums of the control arm, nil without one.
func (e *Evidence) control() *compare.Stats {
	if e.Control < 0 {
		return nil
	}
	return e.Stats(e.Control)
}

// Compared returns the comparison of a metric over all versions, the open ones included. The metric
// must be one that the definition compares.
func (e *Evidence) Compared(metric int) *compare.Sequence {
	i := slices.IndexFunc(e.Closed, func(s compare.Sequence) bool { return s.Metric == metric })
	if e.all == nil {
		e.all = make([]*compare.Sequence, len(e.Closed))
	}
	if e.all[i] == nil {
		all := e.Closed[i].Copy()
		for _, v := range e.Joined.Versions {
			if !v.Closed(metric) {
				all.Merge(e.ofVersion(v, i))
			}
		}
		e.all[i] = &all
	}
	return e.all[i]
}

// ofVersion returns the comparison of an open version, by its index in Closed.
func (e *Evidence) ofVersion(v *join.Version, i int) *compare.Sequence {
	kept := e.opened(v)
	if i < len(kept.compared) && kept.compared[i] != nil {
		return kept.compared[i]
	}
	of := Compare(e.Definition, e.Control, v, e.Closed[i].Metric)
	if e.Fold {
		if len(kept.compared) != len(e.Closed) {
			kept.compared = make([]*compare.Sequence, len(e.Closed))
		}
		kept.compared[i] = of
	}
	return of
}

// Compare returns the comparison of a version's arms with the control in a metric.
func Compare(d *definition.Definition, control int, v *join.Version, metric int) *compare.Sequence {
	centre := math.NaN()
	if metric < len(v.Centre) {
		centre = v.Centre[metric]
	}
	return compare.Version(d, metric, control, v.Stats[:len(v.Mixture)], centre)
}

// Part returns arm k's part of a probability that is divided among all arms: the initial arms share
// half of it equally, the i-th later one has 1/(i(i+1)) of the other half. The sum never exceeds
// the whole, however many arms are added.
func (e *Evidence) Part(alpha float64, k int) float64 {
	half := alpha / 2
	if k < e.Initial {
		return half / float64(e.Initial)
	}
	i := float64(k - e.Initial + 1)
	return half / float64(i*(i+1))
}

// servedAlpha is the part of a guardrail's alpha for the sequence of what was served. The arms'
// sequences share the rest.
const servedAlpha = 0.8

// armAlpha returns arm k's part of what the arms' sequences share of a guardrail's alpha. If early
// values count ([lowerRate]), their bounds get as much as the sequences.
func (e *Evidence) armAlpha(g *definition.Guardrail, k int) float64 {
	alpha := float64((1 - servedAlpha) * g.Alpha)
	if e.watchesEarly(g) {
		alpha /= 2
	}
	return e.Part(alpha, k)
}
