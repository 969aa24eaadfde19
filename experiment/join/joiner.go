package join

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/pages"
	"github.com/noregret/noregret/policy"
)

// Joiner matches exposures, feedback and sums with the open policy versions of an experiment. Its
// exported fields are its state, which a snapshot has as JSON; only its methods change them, but
// for what a private experiment releases ([Joiner.Arms]). Create it with [New]. It is not safe for
// concurrent use.
type Joiner struct {
	// Versions are the open ones, the oldest first; the last one runs, and all others are sealed.
	// Their versions ascend. A snapshot has them beside the Joiner.
	Versions []*Version `json:"-"`
	// Arms are the sums by arm of all versions, the open ones included, and Holdout those of the
	// units held back. Those of a private experiment count units only: their metrics have what was
	// released.
	Arms    []compare.Stats `json:"arms"`
	Holdout compare.Stats   `json:"held"`
	// Early are the known values of metrics with a default, by arm and metric, of all versions;
	// lists end at the last one with a value.
	Early [][]Early `json:"early,omitempty"`
	// RoundSeen is the number of units exposed in the running round.
	RoundSeen int64 `json:"round_seen"`
	// Feedback and Exposures count the items by their result.
	Feedback  api.Counts `json:"feedback"`
	Exposures api.Counts `json:"exposures"`
	// Again counts the values of metrics that the unit had already.
	Again int64 `json:"again"`
	// Sources are the senders of sums, ascending by name, that reported since the oldest open
	// version began.
	Sources []Source `json:"sources,omitempty"`
	// Ratio is the test of the sample ratio.
	Ratio Ratio `json:"ratio"`
	// Kept are the decisions of units that report without a token.
	Kept Decisions `json:"kept,omitzero"`
	// Returns measures how returning units raise variances.
	Returns Returns `json:"returns,omitzero"`
	// Bounded bounds what a unit contributes to a private experiment, nil for another one.
	Bounded *Contributions `json:"bounded,omitempty"`

	memory *pages.Pool // of the versions' rows
	// Scratch, of the item at hand.
	open   int64 // units that wait
	vector []float64
	row    Row
}

// Input is what a Joiner reads beside an event and its own state. It changes nothing of it.
type Input struct {
	// Definition is the experiment's.
	Definition *definition.Definition
	// Policy is the one in force: it has the number of the running version and round, the arms, the
	// control, and which units are held back.
	Policy *policy.Policy
	// Encoder encodes contexts, nil unless the policy is contextual.
	Encoder *policy.Encoder
	// Now is the time of the event, in nanoseconds since 1970.
	Now int64
}

// Result is the result of an event: those of its items, in their order, and how many units began to
// wait for feedback.
type Result struct {
	Items  []api.ItemResult
	Opened int64
}

// Source is a sender of aggregates: its last sequence number, and the running version when that
// arrived.
type Source struct {
	Name    string `json:"name"`
	Last    uint64 `json:"last"`
	Version uint64 `json:"version,omitempty"`
}

// New returns a Joiner without versions or arms. Units that wait use the pool, nil for memory
// without a bound.
func New(memory *pages.Pool, d *definition.Definition) *Joiner {
	x := &Joiner{memory: memory, Holdout: compare.NewStats(d)}
	if d.Privacy != nil {
		x.Bounded = &Contributions{}
	}
	return x
}

// AddArm adds an arm, which the next version may serve.
func (x *Joiner) AddArm(d *definition.Definition) { x.Arms = append(x.Arms, compare.NewStats(d)) }

// Units is the number of units that were exposed and not held back.
func (x *Joiner) Units() (n int64) {
	for i := range x.Arms {
		n += x.Arms[i].Units
	}
	return n
}

// Start says what a version serves when it begins.
type Start struct {
	Version, Round uint64
	// Stream is the version that began the stream of draws in which the version draws its units.
	Stream uint64
	// Mixture are the exact shares by arm, Control is the control arm, or -1, and Hold the share of
	// units outside the experiment, in 2^-64ths.
	Mixture []float64
	Control int
	Hold    uint64
	// Learnable is whether the units are learned from, Blind whether a contextual experiment serves
	// the mixture whatever the contexts.
	Learnable, Blind bool
}

// Begin begins the next version. The running one must be sealed.
func (x *Joiner) Begin(d *definition.Definition, s Start, now int64) {
	v := newVersion(x.memory, d, s.Mixture)
	v.Version, v.Round, v.Begun, v.Learnable, v.Hold = s.Version, s.Round, now, s.Learnable, s.Hold
	v.Blind = d.Contextual() && s.Blind
	for m := range d.Metrics {
		v.Centre = append(v.Centre, math.NaN())
		if s.Control >= 0 && x.Arms[s.Control].Metrics[m].N > 0 {
			v.Centre[m] = x.Arms[s.Control].Metrics[m].Mean
		}
	}
	x.Ratio.begin(v, s.Stream)
	x.Versions = append(x.Versions, v)
}

// Seal ends the running version: units are no longer decided under it. It does nothing before the
// first version.
func (x *Joiner) Seal(now int64) {
	if len(x.Versions) > 0 {
		x.Running().Sealed = now
	}
}

// Running returns the running version.
func (x *Joiner) Running() *Version { return x.Versions[len(x.Versions)-1] }

// Version returns an open version, or nil. O(1) for the latest ones.
func (x *Joiner) Version(v uint64) *Version {
	for _, c := range slices.Backward(x.Versions) {
		if c.Version == v {
			return c
		}
	}
	return nil
}

// Used reports whether anything was reported under the running version.
func (x *Joiner) Used() bool {
	v := x.Running()
	return v.used() || slices.ContainsFunc(x.Sources, func(s Source) bool { return s.Version == v.Version })
}

// Open returns the number of units that wait for feedback. O(versions that wait).
func (x *Joiner) Open() (n int64) {
	for _, v := range x.Versions {
		n += int64(v.rows.len())
	}
	return n
}

// Terms returns the number of coordinates of contexts that wait for feedback, and of the numbers
// that say which arms were allowed. O(versions that wait).
func (x *Joiner) Terms() (n int) {
	for _, v := range x.Versions {
		n += len(v.Weight) + v.Masks.numbers()
	}
	return n
}

// Waits reports whether a unit waits for feedback under a version, so that a report of it needs no
// further memory.
func (x *Joiner) Waits(version, unit uint64) bool {
	v := x.Version(version)
	return v != nil && v.rows.find(unit) >= 0
}

// LastSequence returns the last sequence number of a source of sums, false if the source is
// unknown.
func (x *Joiner) LastSequence(source string) (last uint64, known bool) {
	i, known := x.source(source)
	if !known {
		return 0, false
	}
	return x.Sources[i].Last, true
}

// source returns the place of a source, or where it would be.
func (x *Joiner) source(name string) (i int, known bool) {
	return slices.BinarySearchFunc(x.Sources, name, func(s Source, name string) int {
		return strings.Compare(s.Name, name)
	})
}

// Expose applies an event of exposures. Items by unit keep a decision, or expose a kept one.
func (x *Joiner) Expose(in *Input, p *Units) (Result, error) {
	return x.items(p, &x.Exposures, func(e *Unit) (api.ItemStatus, error) {
		switch {
		case e.Kept != nil:
			return x.keep(in, e)
		case e.Version == 0:
			return x.activate(in, e)
		}
		status, err := x.expose(in, e, nil)
		x.Exposures.Add(status, 1)
		return status, err
	})
}

// Report applies an event of feedback.
func (x *Joiner) Report(in *Input, p *Units) (Result, error) {
	counts := &x.Feedback
	if x.Bounded != nil {
		counts = &api.Counts{} // how much feedback there is, is not published
	}
	return x.items(p, counts, func(e *Unit) (api.ItemStatus, error) {
		report := x.report
		if e.ByUnit() {
			report = x.reportKept
		}
		status, err := report(in, e)
		counts.Add(status, 1)
		return status, err
	})
}

// items applies the items of an event one by one.
func (x *Joiner) items(p *Units, counts *api.Counts, one func(e *Unit) (api.ItemStatus, error)) (Result, error) {
	if x.Bounded != nil && slices.ContainsFunc(p.Items, func(e Unit) bool { return e.ByUnit() }) {
		return Result{}, errUnbounded
	}
	x.open = x.Open()
	o := Result{Items: make([]api.ItemResult, len(p.Items)), Opened: -x.open}
	x.touch(p)
	for i := range p.Items {
		status, err := one(&p.Items[i])
		o.Items[i].Status = status
		if err != nil {
			o.Items[i].Error = err.Error()
		}
	}
	if p.Rejected > 0 {
		counts.Add(api.Rejected, p.Rejected)
	}
	o.Opened += x.open
	return o, nil
}

// find returns the version and the row of an item that counts for some time after its decision,
// adding the row if necessary. Without a version it returns why there is none.
func (x *Joiner) find(in *Input, e *Unit, window time.Duration) (*Version, int, api.ItemStatus, error) {
	unit, ok := policy.ParseUnit(e.Unit)
	if !ok {
		return nil, 0, api.Rejected, noregret.BadInputf("unit", "%q: want 16 hexadecimal digits", e.Unit)
	}
	if e.Version > in.Policy.Version {
		return nil, 0, api.Rejected, noregret.BadInputf("version", "%d: the latest version is %d", e.Version,
			in.Policy.Version)
	}
	v, decided := x.Version(e.Version), e.Time*int64(time.Millisecond)
	switch {
	case in.Now-decided > int64(window):
		return nil, 0, api.Late, policy.Expired
	case v == nil:
		return nil, 0, api.Late, errClosed(e.Version)
	case v.Sealed > 0 && decided > v.Sealed+int64(in.Definition.Grace()):
		return nil, 0, api.Late, noregret.BadInputf("version",
			"it was decided more than %v after version %d had ended", in.Definition.Grace(), e.Version)
	}
	if e.Arm < 0 || e.Arm >= len(v.Mixture) {
		return nil, 0, api.Rejected, noregret.BadInputf("arm", "%d: version %d has %d arms", e.Arm, e.Version,
			len(v.Mixture))
	}
	if i := v.rows.find(unit); i >= 0 {
		return v, i, api.Accepted, nil
	}
	if x.open >= in.Definition.OpenTokens {
		return nil, 0, api.Rejected, noregret.BadInputf("open_tokens",
			"%d units wait for feedback already, the maximum in the definition", x.open)
	}
	slot := e.Arm
	if in.Policy.HeldBackBy(v.Hold, unit) {
		slot = len(v.Mixture)
	}
	x.open++
	return v, v.add(unit, slot), api.Accepted, nil
}

// errClosed is the result of items that come after their version.
func errClosed(version uint64) error {
	return noregret.BadInputf("version", "the window of version %d has closed", version)
}

// touch prepares the memory of an event's units: see [pages.Table.Touch].
func (x *Joiner) touch(p *Units) {
	var of *Version
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
			if of = x.Version(e.Version); of == nil {
				continue
			}
		}
		if unit, ok := policy.ParseUnit(e.Unit); ok && of.rows.index != nil {
			places = append(places, of.rows.index.first(unit))
		}
	}
	touch()
}

// encode returns the vector of a unit's context, nil if the version, which may be unknown, does not
// look at it. The next call overwrites it.
func (x *Joiner) encode(in *Input, v *Version, context json.RawMessage) ([]float64, error) {
	if in.Encoder == nil {
		if len(context) > 0 {
			return nil, noregret.BadInputf("context", "the policy %s does not look at it: want none",
				in.Definition.Policy.Kind)
		}
		return nil, nil
	}
	if v != nil && v.Blind {
		return nil, nil
	}
	out, err := in.Encoder.Encode(x.vector, context)
	if err == nil {
		x.vector = out
	}
	return out, err
}

// expose counts an exposed unit, once per version, until the window of a metric has closed. Among
// are the arms that were allowed, nil if all were.
func (x *Joiner) expose(in *Input, e *Unit, among []uint32) (api.ItemStatus, error) {
	vector, err := x.encode(in, x.Version(e.Version), e.Context)
	if err != nil {
		return api.Rejected, err
	}
	if more := len(vector) + len(among); more > 0 {
		if n := x.Terms(); n+more > openTerms {
			return api.Rejected, noregret.BadInputf("open_tokens",
				"the contexts and the allowed arms of the units that wait for feedback "+
					"are %d numbers already, %d at most", n, openTerms)
		}
	}
	shortest, _ := in.Definition.Windows()
	if v := x.Version(e.Version); v != nil && v.Matured != 0 {
		return api.Late, errClosed(e.Version)
	}
	v, at, status, err := x.find(in, e, shortest)
	if v == nil {
		if err == policy.Expired && ownWindows(in.Definition) {
			err = noregret.BadInputf("", "the token is older than %v, the shortest window of the metrics", shortest)
		}
		return status, err
	}
	r := &x.row
	if v.rows.read(at, r); r.Seen() {
		return api.Duplicate, nil
	}
	r.state |= seenBit
	slot := r.Slot()
	if x.Bounded != nil && x.Bounded.admit(in.Definition.Privacy.UnitContribution, v, r) {
		r.mask |= countedBit
	}
	v.rows.write(at, r)
	if vector != nil && slot < len(v.Mixture) {
		v.contexts.set(at, vector, e.Propensity)
	}
	if among != nil && slot < len(v.Mixture) {
		v.Masks = v.Masks.set(at, among)
	}
	x.countUnits(in, v, slot, 1, among != nil)
	for m := range in.Definition.Metrics { // feedback that came first
		if x.Bounded == nil && r.Has(m) {
			x.arrive(in.Definition, v, slot, m, r.Values[m])
		}
	}
	return api.Accepted, nil
}

// arrive records the value of an exposed unit once both the exposure and the value are known. The
// value counts now if the metric has no default, else when the window has closed.
func (x *Joiner) arrive(d *definition.Definition, v *Version, slot, metric int, value float64) {
	if d.Metrics[metric].Default == nil {
		x.count(v, slot, metric, value)
	} else if e, ok := earlyValue(d, metric, value); ok {
		x.addEarly(v, slot, metric, e)
	}
}

// sums returns the places of a slot's sums: those of a version and of all versions. What is added
// to the one is added to the other, here and nowhere else.
func (x *Joiner) sums(v *Version, slot int) [2]*compare.Stats {
	if slot == len(v.Mixture) {
		return [2]*compare.Stats{&v.Stats[slot], &x.Holdout}
	}
	return [2]*compare.Stats{&v.Stats[slot], &x.Arms[slot]}
}

// count adds a value of an exposed unit.
func (x *Joiner) count(v *Version, slot, metric int, value float64) {
	v.changes++
	for _, s := range x.sums(v, slot) {
		// Values are in range, so that the sums cannot leave that of float64.
		_ = s.Metrics[metric].Add(value)
	}
}

// addEarly adds known values of an arm in a metric with a default.
func (x *Joiner) addEarly(v *Version, slot, metric int, e Early) {
	if slot == len(v.Mixture) {
		return
	}
	x.Early = addEarly(x.Early, slot, metric, e)
	if v.changes++; len(v.Test.Masked) == 0 {
		v.Early = addEarly(v.Early, slot, metric, e)
	}
}

// countUnits counts exposed units of a slot. Masked is whether not all arms were allowed for them.
func (x *Joiner) countUnits(in *Input, v *Version, slot int, n int64, masked bool) {
	switch {
	case slot == len(v.Mixture):
	case in.Encoder != nil: // shares are by context
	case masked:
		v.freezeEarly()
		v.Test.skip(slot, n, len(v.Mixture))
	default:
		x.Ratio.add(v, slot, n)
	}
	v.changes++
	for _, s := range x.sums(v, slot) {
		s.Units += n
	}
	if v.Round == in.Policy.Round {
		x.RoundSeen += n
	}
}

// report records a unit's metrics, each once, as long as their windows are open.
func (x *Joiner) report(in *Input, e *Unit) (api.ItemStatus, error) {
	var space [8]string
	names, d := e.names(space[:0]), in.Definition
	if x.Bounded != nil && len(names) > 0 {
		return x.reportBounded(in, e, names)
	}
	for _, name := range names {
		if err := d.CheckValue(name, e.Metrics[name]); err != nil {
			return api.Rejected, err
		}
	}
	if len(names) == 0 {
		return api.Rejected, noregret.BadInputf("metrics", "none: at least one of %s is required", d.Reportable())
	}
	v, at, status, err := x.find(in, e, longestOf(d, names))
	if v == nil {
		if err == policy.Expired && ownWindows(d) {
			err = uncounted(status, nil, names)
		}
		return status, err
	}
	r := &x.row
	v.rows.read(at, r)
	status = api.Duplicate
	var again, late []string
	for _, name := range names {
		m := d.MetricIndex(name)
		switch {
		case r.Has(m):
			again = append(again, name)
			continue
		case v.Closed(m) || in.Now-e.Time*int64(time.Millisecond) > int64(d.Window(m)):
			late = append(late, name)
			continue
		}
		status = api.Accepted
		r.mask |= 1 << m
		r.Values[m] = d.Metrics[m].Count(e.Metrics[name])
		if r.Seen() {
			x.arrive(d, v, r.Slot(), m, r.Values[m])
		}
	}
	if status == api.Accepted {
		v.rows.write(at, r)
	}
	x.Again += int64(len(again))
	if status != api.Accepted && len(again) == 0 {
		status = api.Late
	}
	return status, uncounted(status, again, late)
}

// longestOf returns the longest window of the named metrics.
func longestOf(d *definition.Definition, names []string) (w time.Duration) {
	for _, name := range names {
		w = max(w, d.Window(d.MetricIndex(name)))
	}
	return w
}

// ownWindows reports whether a metric has another window than the attribution window.
func ownWindows(d *definition.Definition) bool {
	shortest, longest := d.Windows()
	all := time.Duration(d.AttributionWindow)
	return shortest != all || longest != all
}

// uncounted says which metrics of an item did not count, nil where the status says it: those that
// the unit had reported again, and those whose windows have closed.
func uncounted(status api.ItemStatus, again, late []string) error {
	var why []string
	if status == api.Accepted && len(again) > 0 {
		why = append(why, "reported before, the first value stays: "+strings.Join(again, ", "))
	}
	if len(late) > 0 {
		why = append(why, "late, the window has closed: "+strings.Join(late, ", "))
	}
	if len(why) == 0 {
		return nil
	}
	return noregret.BadInputf("metrics", "%s", strings.Join(why, "; "))
}

// EndEvent evaluates the test of the sample ratio, whose evidence must not depend on the order
// within an event.
func (x *Joiner) EndEvent(d *definition.Definition) { x.Ratio.evaluate(d.Stickiness, x.Versions) }

// Closed are metrics of a version whose window has closed: nothing of them changes any more. The
// rows of the version can be read until [Version.Release].
type Closed struct {
	*Version
	// Metrics are the metrics whose window has closed now, ascending. Those of a shorter window
	// have come before.
	Metrics []int
	// Last is whether no window is open any more.
	Last bool
	// Maturity has the counts: of orphans with the last window only, of missing values those of
	// Metrics.
	Maturity
	// All are the sums of all arms. Those of metrics whose window is open are not complete.
	All compare.Stats
	// Masked are the sums of the units that did not allow all arms, nil without such units or where
	// these sums would leave the range of float64; only of bandits.
	Masked *MaskedSums
}

// Matures returns the time at which the window of a metric has closed for all units of a sealed
// version.
func Matures(d *definition.Definition, v *Version, metric int) int64 {
	return v.Sealed + int64(d.Grace()) + int64(d.Window(metric))
}

// next returns the version with the window that closes first, the metrics of that window as bits,
// and when it closes; nil if no version is sealed. Of windows that close at once, those of the
// oldest version come first, in the order of their lengths. As versions are sealed in order, those
// of which a metric's window has closed are the oldest ones. O(metrics·log versions).
func (x *Joiner) next(d *definition.Definition) (v *Version, metrics uint64, at int64) {
	sealed := x.Versions[:max(len(x.Versions)-1, 0)]
	for m := range d.Metrics {
		i := 0
		if len(sealed) > 0 && sealed[0].Closed(m) {
			i, _ = slices.BinarySearchFunc(sealed, false, func(v *Version, _ bool) int {
				if v.Closed(m) {
					return -1
				}
				return 1
			})
		}
		if i == len(sealed) || sealed[i].Sealed == 0 {
			continue
		}
		of := sealed[i]
		switch t := Matures(d, of, m); {
		case v == nil || t < at || t == at && of.Version < v.Version:
			v, metrics, at = of, 1<<m, t
		case of == v && t == at:
			metrics |= 1 << m
		}
	}
	return v, metrics, at
}

// Due reports whether a window has closed: whether [Joiner.Close] returns one.
func (x *Joiner) Due(d *definition.Definition, now int64) bool {
	v, _, at := x.next(d)
	return v != nil && at <= now
}

// Close closes the window of some metrics of a version that has closed first, nil for none. Their
// values count from now on if they have a default or are ratios. With the last window the version
// itself is closed: senders whose last report precedes every open version are dropped, as are kept
// decisions whose window has closed: a repeated report of theirs would be late. It costs O(rows).
func (x *Joiner) Close(d *definition.Definition, now int64) *Closed {
	shortest, longest := d.Windows()
	x.Kept.expire(now, shortest, longest)
	v, metrics, at := x.next(d)
	if v == nil || at > now {
		return nil
	}
	v.Matured |= metrics
	out := &Closed{Version: v, Last: v.Matured == 1<<len(d.Metrics)-1, All: compare.NewStats(d)}
	for m := range d.Metrics {
		if metrics&(1<<m) != 0 {
			out.Metrics = append(out.Metrics, m)
		}
	}
	if out.Last {
		x.Ratio.mature(d.Stickiness, x.Versions, v)
		x.Versions = x.Versions[1:]
		x.Sources = slices.DeleteFunc(x.Sources, func(s Source) bool { return s.Version < x.Versions[0].Version })
	}
	if x.Bounded != nil {
		out.Missing = make([]int64, len(d.Metrics)) // what is missing is not published
		for i := range v.Stats {
			out.Units += v.Stats[i].Units
		}
	} else {
		out.Maturity = x.mature(d, v, out)
		x.Returns.observe(d, v, out.Metrics)
		if d.Bandit() {
			out.Masked = v.masked(d)
		}
	}
	for k := range v.Mixture {
		out.All.Merge(&v.Stats[k])
	}
	return out
}

// mature closes metrics of a version's rows: it fills in defaults and completes ratios.
func (x *Joiner) mature(d *definition.Definition, v *Version, of *Closed) Maturity {
	out := Maturity{Units: v.Sums.Units, Missing: make([]int64, len(d.Metrics))}
	for _, m := range of.Metrics {
		out.Missing[m] = v.Sums.Missing[m]
	}
	ratios := d.Ratios()
	for _, r := range v.rows.all() {
		if !r.Seen() {
			if of.Last {
				out.Orphans += r.reported()
			}
			continue
		}
		out.Units++
		slot := r.Slot()
		for _, m := range of.Metrics {
			if d.Metrics[m].Kind == "ratio" {
				continue
			}
			given, missing := r.Has(m), d.Metrics[m].Default
			if !given {
				out.Missing[m]++
			}
			if missing == nil {
				continue
			}
			if !given {
				r.Values[m] = *missing
				r.mask |= 1 << m
			}
			x.count(v, slot, m, r.Values[m])
			if e, ok := earlyValue(d, m, r.Values[m]); ok && !given {
				x.addEarly(v, slot, m, e)
			}
		}
		for j, q := range ratios {
			if slices.Contains(of.Metrics, q.Metric) && r.Has(q.Numerator) && r.Has(q.Denominator) {
				for _, s := range x.sums(v, slot) {
					s.Pairs[j].Add(r.Values[q.Numerator], r.Values[q.Denominator])
				}
			}
		}
	}
	v.changes++
	for slot := range v.Later {
		for _, s := range x.sums(v, slot) {
			s.MergeMetrics(d, of.Metrics, &v.Later[slot])
		}
	}
	return out
}

// Rewind moves back the times that were recorded while the clock was ahead.
func (x *Joiner) Rewind(now int64) {
	for _, v := range x.Versions {
		v.Begun, v.Sealed = min(v.Begun, now), min(v.Sealed, now)
	}
	x.Kept.rewind(now)
}

// Release gives back the memory of the rows. The Joiner is not used afterwards.
func (x *Joiner) Release() {
	for _, v := range x.Versions {
		v.rows.release()
	}
}

// Copy returns a copy that can be read and written to a snapshot. It shares the pages of the rows
// with x until one of them changes them.
func (x *Joiner) Copy() *Joiner {
	y := *x
	y.Versions = make([]*Version, len(x.Versions))
	for i, v := range x.Versions {
		y.Versions[i] = v.copy()
	}
	y.Arms, y.Holdout, y.Early = compare.CopyStats(x.Arms), x.Holdout.Copy(), copyEarly(x.Early)
	y.Sources, y.Ratio, y.Kept = slices.Clone(x.Sources), x.Ratio.copy(), x.Kept.copy()
	y.Returns, y.Bounded = x.Returns.copy(), x.Bounded.copy()
	y.vector, y.row = nil, Row{}
	return &y
}

// Fork returns an independent copy, to which events can be applied.
func (x *Joiner) Fork() *Joiner {
	y := x.Copy()
	for i, v := range y.Versions {
		v.rows.search(&x.Versions[i].rows)
	}
	_ = y.Kept.restore() // the columns are those of x, which fit
	return y
}

// Restore prepares a Joiner that was read from a snapshot, whose versions and their rows are
// beside it, and returns an error unless they fit each other and the definition.
func (x *Joiner) Restore(memory *pages.Pool, d *definition.Definition, versions []*Version, rows []*Columns) error {
	x.memory, x.Versions = memory, versions
	fits := x.Holdout.Fits(d) && (x.Bounded != nil) == (d.Privacy != nil) && len(x.Early) <= len(x.Arms) &&
		x.Bounded.fits()
	for k := range x.Arms {
		fits = fits && x.Arms[k].Fits(d)
	}
	if !fits {
		return noregret.BadInputf("snapshot", "the sums of experiment %q do not fit its definition", d.Name)
	}
	for i, v := range versions {
		if v == nil {
			return noregret.BadInputf("snapshot", "experiment %q has a version without its units", d.Name)
		}
		if err := v.Restore(memory, d, rows[i]); err != nil {
			return err
		}
		if len(v.Mixture) > len(x.Arms) {
			return noregret.BadInputf("snapshot", "version %d has %d arms of %d", v.Version, len(v.Mixture),
				len(x.Arms))
		}
	}
	x.Returns.measure()
	return x.Kept.restore()
}
