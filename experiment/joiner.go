package experiment

import (
	"slices"
	"strings"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/internal/pages"
	"github.com/noregret/noregret/policy"
)

// joiner matches exposures, feedback and sums with policy versions, within the window of each
// version.
type joiner struct {
	cohorts   []*cohort   // the oldest first; the last one runs
	memory    *pages.Pool // of their rows
	RoundSeen int64       `json:"round_seen"` // units exposed in the running round
	Feedback  api.Counts  `json:"feedback"`
	Exposures api.Counts  `json:"exposures"`
}

// joinInput is the joiner's input beside an event: the arms, the running policy, the time, and the
// parts that record its results.
type joinInput struct {
	*roster
	running *policy.Policy
	health  *health
	senders *senders
	ratio   *ratioTest
	private *privateSums // nil unless the experiment is private
	kept    *decisions
	now     int64
	among   []uint32 // the arms that were allowed, nil if all were
	open    int64    // units that wait
	row     row      // that of one unit, for its memory
}

// joinInput returns the joiner's input at a time.
func (x *experimentState) joinInput(now int64) *joinInput {
	return &joinInput{
		roster: &x.roster, running: x.rounds.policy, health: &x.health, senders: &x.senders, ratio: &x.Ratio, now: now,
		private: x.Private, kept: x.Kept, open: x.joiner.open(),
	}
}

// senders are the sources of aggregates, in the order of their names.
type senders struct {
	Sources []source `json:"sources"`
}

func (x *senders) copy() senders { return senders{slices.Clone(x.Sources)} }

// source is a sender of aggregates: its last sequence number, and the running version when that
// arrived.
type source struct {
	Name    string `json:"name"`
	Last    uint64 `json:"last"`
	Version uint64 `json:"version,omitempty"`
}

// running returns the cohort of the running version.
func (x *joiner) running() *cohort { return x.cohorts[len(x.cohorts)-1] }

// unitsEvent applies exposures or feedback.
func (x *joiner) unitsEvent(in *joinInput, kind string, p *UnitsEvent) Outcome {
	counts, one, byUnit := &x.Feedback, x.feedback, x.feedbackKept
	if kind == KindExposures {
		counts, one, byUnit = &x.Exposures, x.expose, x.exposeKept
	}
	if in.private != nil {
		if slices.ContainsFunc(p.Items, func(e UnitEvent) bool { return e.ByUnit() }) {
			return Outcome{Err: errPrivateSums}
		}
		if kind == KindFeedback {
			counts = &api.Counts{} // how much feedback there is, is not published
		}
	}
	o := Outcome{Items: make([]api.ItemResult, len(p.Items)), Opened: -in.open}
	x.touch(p)
	for i := range p.Items {
		e := &p.Items[i]
		apply := one
		if e.ByUnit() {
			apply = byUnit
		}
		status, err := apply(in, e)
		o.Items[i].Status = status
		if err != nil {
			o.Items[i].Error = err.Error()
		}
		if kind == KindFeedback || !e.ByUnit() { // exposeKept counts
			counts.Add(status, 1)
		}
	}
	if p.Rejected > 0 {
		counts.Add(api.Rejected, p.Rejected)
	}
	o.Opened += in.open
	return o
}

// row returns the cohort and the row of an event's token, adding the row if necessary.
func (x *joiner) row(in *joinInput, e *UnitEvent) (*cohort, int, api.ItemStatus, error) {
	unit, ok := policy.ParseUnit(e.Unit)
	if !ok {
		return nil, 0, api.Rejected, noregret.BadInputf("unit", "%q: want 16 hexadecimal digits", e.Unit)
	}
	if e.Version > in.running.Version {
		return nil, 0, api.Rejected, noregret.BadInputf("version", "%d: the latest version is %d", e.Version,
			in.running.Version)
	}
	c, decided := x.cohortOf(e.Version), e.Time*int64(time.Millisecond)
	switch {
	case in.now-decided > int64(in.def.AttributionWindow):
		return nil, 0, api.Late, policy.Expired
	case c == nil:
		return nil, 0, api.Late, noregret.BadInputf("version", "the window of version %d has closed", e.Version)
	case c.Sealed > 0 && decided > c.Sealed+int64(in.def.Grace()):
		return nil, 0, api.Late, noregret.BadInputf("version",
			"it was decided more than %v after version %d had ended",
			in.def.Grace(), e.Version)
	}
	if e.Arm < 0 || e.Arm >= len(c.Mixture) {
		return nil, 0, api.Rejected, noregret.BadInputf("arm", "%d: version %d has %d arms", e.Arm, e.Version,
			len(c.Mixture))
	}
	if i := c.find(unit); i >= 0 {
		return c, i, api.Accepted, nil
	}
	if in.open >= in.def.OpenTokens {
		return nil, 0, api.Rejected, noregret.BadInputf("open_tokens",
			"%d units wait for feedback already, the maximum in the definition", in.open)
	}
	slot := e.Arm
	if in.running.HeldBackBy(c.Hold, unit) {
		slot = len(c.Mixture)
	}
	in.open++
	return c, c.add(unit, slot), api.Accepted, nil
}

// touch prepares the memory of an event's units: see [pages.Table.Touch].
func (x *joiner) touch(p *UnitsEvent) {
	var of *cohort
	var places []int
	touch := func() {
		if len(places) > 1 {
			of.rows.index.slots.Touch(places)
		}
		places = places[:0]
	}
	for i := range p.Items {
		e := &p.Items[i]
		if of == nil || of.Version != e.Version {
			touch()
			if of = x.cohortOf(e.Version); of == nil {
				continue
			}
		}
		if unit, ok := policy.ParseUnit(e.Unit); ok && of.rows.index != nil {
			places = append(places, of.rows.index.first(unit))
		}
	}
	touch()
}

// expose counts an exposed unit, once per version.
func (x *joiner) expose(in *joinInput, e *UnitEvent) (api.ItemStatus, error) {
	vector, err := in.encode(x.cohortOf(e.Version), e.Context)
	if err != nil {
		return api.Rejected, err
	}
	if more := len(vector) + len(in.among); more > 0 {
		if n := x.terms(); n+more > openTerms {
			return api.Rejected, noregret.BadInputf("open_tokens",
				"the contexts and the allowed arms of the units that wait for feedback "+
					"are %d numbers already, %d at most", n, openTerms)
		}
	}
	c, at, status, err := x.row(in, e)
	if c == nil {
		return status, err
	}
	r := &in.row
	if c.rows.read(at, r); r.seen() {
		return api.Duplicate, nil
	}
	r.state |= seenBit
	c.rows.write(at, r)
	slot := r.slot()
	if vector != nil && slot < len(c.Mixture) {
		c.contexts.set(at, vector, e.Propensity)
	}
	if in.among != nil && slot < len(c.Mixture) {
		c.Masks = c.Masks.set(at, in.among)
	}
	x.countUnits(in, c, slot, 1)
	if in.private != nil {
		if in.private.expose(in, c, r) {
			c.rows.write(at, r)
		}
		return api.Accepted, nil
	}
	for m := range in.def.Metrics { // feedback that came first
		if r.has(m) {
			in.arrive(c, slot, m, r.values[m])
		}
	}
	return api.Accepted, nil
}

// arrive records the value of an exposed unit once both the exposure and the value are known. The
// value counts now if the metric has no default, else when the window has closed.
func (x *roster) arrive(c *cohort, slot, metric int, v float64) {
	if x.def.Metrics[metric].Default == nil {
		x.count(c, slot, metric, v)
	} else {
		earlyView{x}.add(c, slot, metric, v)
	}
}

// countUnits counts exposed units of a slot.
func (x *joiner) countUnits(in *joinInput, c *cohort, slot int, n int64) {
	switch {
	case slot == len(c.Mixture):
	case in.encoder != nil: // shares are by context
	case in.among != nil:
		c.Test.skip(slot, n, len(c.Mixture))
	default:
		in.ratio.add(c, slot, n)
	}
	c.Stats[slot].Units += n
	in.stats(c, slot).Units += n
	earlyContrastView{in.roster}.expose(c, slot, n)
	if c.Round == in.running.Round {
		x.RoundSeen += n
	}
}

// feedback records a unit's metrics, each once.
func (x *joiner) feedback(in *joinInput, e *UnitEvent) (api.ItemStatus, error) {
	var space [8]string
	names := e.names(space[:0])
	if in.private != nil && len(names) > 0 {
		return x.privateFeedback(in, e, names)
	}
	for _, name := range names {
		if err := in.def.CheckValue(name, e.Metrics[name]); err != nil {
			return api.Rejected, err
		}
	}
	if len(names) == 0 {
		return api.Rejected, noregret.BadInputf("metrics", "none: at least one of %s is required",
			in.def.Reportable())
	}
	c, at, status, err := x.row(in, e)
	if c == nil {
		return status, err
	}
	r := &in.row
	c.rows.read(at, r)
	status = api.Duplicate
	var again []string
	for _, name := range names {
		m := in.def.MetricIndex(name)
		if r.has(m) {
			again = append(again, name)
			continue
		}
		status = api.Accepted
		r.mask |= 1 << m
		r.values[m] = in.def.Metrics[m].Count(e.Metrics[name])
		if r.seen() {
			in.arrive(c, r.slot(), m, r.values[m])
		}
	}
	if status == api.Accepted {
		c.rows.write(at, r)
	}
	in.health.DuplicateValues += int64(len(again))
	if status == api.Accepted && len(again) > 0 {
		err = noregret.BadInputf("metrics", "reported before, the first value stays: %s", strings.Join(again, ", "))
	}
	return status, err
}

// cohortOf returns the open cohort of a version, or nil.
func (x *joiner) cohortOf(v uint64) *cohort {
	for _, c := range slices.Backward(x.cohorts) {
		if c.Version == v {
			return c
		}
	}
	return nil
}

// release gives back the memory of the cohorts' rows. The joiner is not used afterwards.
func (x *joiner) release() {
	for _, c := range x.cohorts {
		c.rows.release()
	}
}

// open returns the number of units that wait for feedback.
func (x *joiner) open() (n int64) {
	for _, c := range x.cohorts {
		n += int64(c.rows.len())
	}
	return n
}

// matures returns the time at which the window of a cohort has closed for all its units.
func (x *roster) matures(c *cohort) int64 {
	return c.Sealed + int64(x.def.Grace()) + int64(x.def.AttributionWindow)
}

// maxOpen returns the number of versions that may wait for their windows before rounds wait, too.
// It limits their statistics to 200,000 cells of arm and metric, within 16 to 1024 versions.
func (x *roster) maxOpen() int {
	cells := (len(x.Arms) + 1) * (len(x.def.Metrics) + 2*len(x.def.Ratios()))
	return min(max(openCells/cells, leastOpen), mostOpen)
}
