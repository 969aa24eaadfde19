package experiment

import (
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/policy"
)

// joiner joins exposures, feedback and sums of units, within the window of each version.
type joiner struct {
	cohorts         []*cohort     // the oldest first; the last one runs
	RoundSeen       int64         `json:"round_seen"` // units exposed in the running round
	Feedback        policy.Counts `json:"feedback"`
	Exposures       policy.Counts `json:"exposures"`
	Orphans         int64         `json:"orphans"`
	Matured         int64         `json:"matured"` // units
	Missing         []int64       `json:"missing"` // by metric
	DuplicateValues int64         `json:"again"`   // values of metrics that the unit had already
	Sources         []source      `json:"sources"`
	Ratio           ratioTest     `json:"ratio"`
}

// source is one that sends aggregates: the last sequence number, and the running version when it
// came.
type source struct {
	Name    string `json:"name"`
	Last    uint64 `json:"last"`
	Version uint64 `json:"version,omitempty"`
}

// running returns the cohort of the running version.
func (j *joiner) running() *cohort { return j.cohorts[len(j.cohorts)-1] }

// unitsEvent applies exposures or feedback.
func (j *joiner) unitsEvent(r *roster, running *policy.Policy, kind string, p *UnitsEvent, now int64) Outcome {
	counts, one := &j.Feedback, j.feedback
	if kind == KindExposures {
		counts, one = &j.Exposures, j.expose
	}
	o := Outcome{Items: make([]policy.ItemResult, len(p.Items))}
	for i := range p.Items {
		status, err := one(r, running, &p.Items[i], now)
		o.Items[i].Status = status
		if err != nil {
			o.Items[i].Error = err.Error()
		}
		counts.Add(status, 1)
	}
	if p.Rejected > 0 {
		counts.Add(policy.Rejected, p.Rejected)
	}
	return o
}

// row finds what a token stands for, or makes it.
func (j *joiner) row(r *roster, running *policy.Policy, e *UnitEvent, now int64) (*cohort, int, policy.ItemStatus,
	error,
) {
	unit, ok := policy.ParseUnit(e.Unit)
	if !ok {
		return nil, 0, policy.Rejected, noregret.BadInputf("unit", "%q: want 16 hexadecimal digits", e.Unit)
	}
	if e.Version > running.Version {
		return nil, 0, policy.Rejected, noregret.BadInputf("version", "%d: the latest version is %d", e.Version,
			running.Version)
	}
	c, decided := j.cohortOf(e.Version), e.Time*int64(time.Millisecond)
	switch {
	case now-decided > int64(r.def.AttributionWindow):
		return nil, 0, policy.Late, policy.Expired
	case c == nil:
		return nil, 0, policy.Late, noregret.BadInputf("version", "the window of version %d has closed", e.Version)
	case c.Sealed > 0 && decided > c.Sealed+r.grace():
		return nil, 0, policy.Late, noregret.BadInputf("version",
			"it was decided more than %v after version %d had ended",
			time.Duration(r.grace()), e.Version)
	}
	if e.Arm < 0 || e.Arm >= len(c.Mixture) {
		return nil, 0, policy.Rejected, noregret.BadInputf("arm", "%d: version %d has %d arms", e.Arm, e.Version,
			len(c.Mixture))
	}
	if i := c.find(unit); i >= 0 {
		return c, i, policy.Accepted, nil
	}
	if open := j.open(); open >= r.def.OpenTokens {
		return nil, 0, policy.Rejected, noregret.BadInputf("open_tokens",
			"%d units wait for feedback already, which is the definition's bound", open)
	}
	slot := e.Arm
	if running.HeldBack(unit) {
		slot = len(c.Mixture)
	}
	return c, c.add(unit, slot), policy.Accepted, nil
}

// expose counts a unit, once for each version.
func (j *joiner) expose(r *roster, running *policy.Policy, e *UnitEvent, now int64) (policy.ItemStatus, error) {
	c, row, status, err := j.row(r, running, e, now)
	if c == nil {
		return status, err
	}
	if c.seen(row) {
		return policy.Duplicate, nil
	}
	c.Slot[row] |= seenBit
	slot := c.slot(row)
	j.countUnits(r, running, c, slot, 1)
	for m := range r.def.Metrics { // feedback that came first
		if c.Mask[row]&(1<<m) != 0 && r.def.Metrics[m].Default == nil {
			r.count(c, slot, m, c.Values[row*c.width+m])
		}
	}
	return policy.Accepted, nil
}

// countUnits counts exposed units of a slot.
func (j *joiner) countUnits(r *roster, running *policy.Policy, c *cohort, slot int, n int64) {
	if slot < len(c.Mixture) {
		j.Ratio.add(c, slot, n)
	}
	c.Stats[slot].Units += n
	r.stats(c, slot).Units += n
	if c.Round == running.Round {
		j.RoundSeen += n
	}
}

// feedback joins a unit's metrics, each once.
func (j *joiner) feedback(r *roster, running *policy.Policy, e *UnitEvent, now int64) (policy.ItemStatus, error) {
	names := slices.Sorted(maps.Keys(e.Metrics))
	for _, name := range names {
		if err := r.checkValue(name, e.Metrics[name]); err != nil {
			return policy.Rejected, err
		}
	}
	if len(names) == 0 {
		return policy.Rejected, noregret.BadInputf("metrics", "none: want at least one of %s", r.def.Reportable())
	}
	c, row, status, err := j.row(r, running, e, now)
	if c == nil {
		return status, err
	}
	status = policy.Duplicate
	var again []string
	for _, name := range names {
		m := r.def.MetricIndex(name)
		if c.Mask[row]&(1<<m) != 0 {
			again = append(again, name)
			continue
		}
		status = policy.Accepted
		c.Mask[row] |= 1 << m
		c.Values[row*c.width+m] = e.Metrics[name]
		if c.seen(row) && r.def.Metrics[m].Default == nil {
			r.count(c, c.slot(row), m, e.Metrics[name])
		}
	}
	j.DuplicateValues += int64(len(again))
	if status == policy.Accepted && len(again) > 0 {
		err = noregret.BadInputf("metrics", "reported before, the first value stays: %s", strings.Join(again, ", "))
	}
	return status, err
}

func (x *roster) checkValue(name string, v float64) error {
	m := x.def.Metric(name)
	if m == nil {
		return noregret.BadInputf("metrics."+name, "not a metric: want one of %s", x.def.Reportable())
	}
	low, high := m.Interval()
	switch {
	case m.Kind == "ratio":
		return noregret.BadInputf("metrics."+name, "it is a ratio: report its parts %s and %s", m.Numerator,
			m.Denominator)
	case !(v >= low && v <= high):
		return noregret.BadInputf("metrics."+name, "%v: want a number in [%v, %v]", v, low, high)
	case m.Kind == "count" && v != math.Trunc(v):
		return noregret.BadInputf("metrics."+name, "%v: a count is a whole number", v)
	}
	return nil
}

// cohortOf is the open cohort of a version, or nil.
func (j *joiner) cohortOf(v uint64) *cohort {
	for _, c := range slices.Backward(j.cohorts) {
		if c.Version == v {
			return c
		}
	}
	return nil
}

// open is the number of units that wait for feedback.
func (j *joiner) open() (n int64) {
	for _, c := range j.cohorts {
		n += int64(c.rows())
	}
	return n
}

// grace is how long after a version's end units may still be decided for under it: by the service
// while the event that ends the version is being made durable, and by a copy of its policy. A 20th
// of the attribution window; at least five seconds, as a disk or a network may take that, or the
// window if that is shorter; and at most a minute.
func (x *roster) grace() int64 {
	w := int64(x.def.AttributionWindow)
	return min(max(w/20, min(w, int64(5*time.Second))), int64(time.Minute))
}

// matures is when a cohort's window has closed for every unit that may have been decided for under
// it.
func (x *roster) matures(c *cohort) int64 {
	return c.Sealed + x.grace() + int64(x.def.AttributionWindow)
}

// maxOpen is the number of versions that may wait at once before rounds wait, too, such that their
// statistics have at most 200,000 cells of an arm and a metric, but 16 at least and 1024 at most.
func (x *roster) maxOpen() int {
	cells := (len(x.Arms) + 1) * (len(x.def.Metrics) + 2*len(x.def.Ratios()))
	return min(max(openCells/cells, leastOpen), mostOpen)
}
