package join

import (
	"slices"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/column"
	"github.com/noregret/noregret/policy"
)

// Contributions bounds the number of decisions by which a unit contributes to a private experiment.
// Which ones count depends on exposures only, which are public.
type Contributions struct {
	// Unit and Used are the units with decisions that count and the number of these decisions. Both
	// have the same length, and no unit is there twice.
	Unit column.Uint64s `json:"unit"`
	Used column.Uint32s `json:"used"`
	// Excess counts the exposures beyond the contribution of their units.
	Excess int64 `json:"excess"`
	// Ended is set when nothing more is released: no further decision counts.
	Ended bool `json:"ended,omitempty"`

	index map[uint64]int // of Unit; nil if it must be made
}

func (x *Contributions) fits() bool { return x == nil || len(x.Unit) == len(x.Used) }

// copy returns a copy. The index is made again when it is needed.
func (x *Contributions) copy() *Contributions {
	if x == nil {
		return nil
	}
	return &Contributions{Unit: slices.Clone(x.Unit), Used: slices.Clone(x.Used), Excess: x.Excess, Ended: x.Ended}
}

// admit decides whether the feedback of a newly exposed row counts: the unit has contributed to
// fewer decisions than it may. It counts those that do.
func (x *Contributions) admit(most int, v *Version, r *Row) bool {
	if x.Ended || !v.Learnable || r.Slot() == len(v.Mixture) || v.Counted >= definition.MostPrivate {
		return false
	}
	if x.index == nil {
		x.index = make(map[uint64]int, len(x.Unit))
		for i, u := range x.Unit {
			x.index[u] = i
		}
	}
	i, known := x.index[r.Unit]
	if !known {
		i = len(x.Unit)
		x.index[r.Unit] = i
		x.Unit, x.Used = append(x.Unit, r.Unit), append(x.Used, 0)
	}
	if int(x.Used[i]) >= most {
		x.Excess++
		return false
	}
	x.Used[i]++
	v.Counted++
	return true
}

// errUnbounded is the result of aggregates and of decisions that are kept in a private experiment.
var errUnbounded = noregret.BadInputf("experiment", "private: report units one by one, with their tokens, so "+
	"that the contribution of each is bounded")

// reportBounded records the feedback of a unit of a private experiment. Nothing that others see
// depends on it: it makes no row, values outside their range count as its ends, and it is not
// counted. The result does not depend on earlier feedback either, as whoever decides for a unit
// gets a token of it and may report: a repeated value is accepted, and the first one counts.
func (x *Joiner) reportBounded(in *Input, e *Unit, names []string) (api.ItemStatus, error) {
	d := in.Definition
	for _, name := range names {
		if m := d.Metric(name); m == nil || m.Kind == "ratio" || e.Metrics[name] != e.Metrics[name] {
			return api.Rejected, noregret.BadInputf("metrics."+name, "not a metric: want one of %s", d.Reportable())
		}
	}
	unit, ok := policy.ParseUnit(e.Unit)
	if v := x.Version(e.Version); ok && v != nil && v.rows.find(unit) < 0 {
		return api.Rejected, noregret.BadInputf("unit", "its exposure has not been reported: a private experiment "+
			"takes feedback of exposed units only")
	}
	v, at, status, err := x.find(in, e, time.Duration(d.AttributionWindow))
	if v == nil {
		return status, err
	}
	r := &x.row
	v.rows.read(at, r)
	for _, name := range names {
		m := d.MetricIndex(name)
		if r.Has(m) {
			continue
		}
		r.mask |= 1 << m
		r.Values[m] = d.Metrics[m].Count(e.Metrics[name])
	}
	v.rows.write(at, r)
	return api.Accepted, nil
}
