package join

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/internal/column"
	"github.com/noregret/noregret/policy"
)

// Kept says that the service keeps a decision until its window closes, so that its unit is enough
// to report on it: an item of exposures or feedback without a version is about the kept decision of
// its unit.
type Kept struct {
	// Among are the indices of the arms that were allowed, empty if all were. The propensity is
	// that among them.
	Among []int `json:"among,omitempty"`
	// Redrawn is [policy.Choice.Redrawn]: the unit is not learned from.
	Redrawn bool `json:"redrawn,omitempty"`
	// Deferred leaves the exposure to a later item without a version. Without one before the
	// shortest window of a metric has passed, the unit never counts, and can be decided anew.
	Deferred bool `json:"deferred,omitempty"`
}

// ByUnit reports whether an item keeps a decision or is about a kept one.
func (e *Unit) ByUnit() bool { return e.Kept != nil || e.Version == 0 }

// Decisions are the kept decisions whose attribution window is open, in the order of their events.
// Each unit has at most one that is not lapsed. The columns have the same length.
type Decisions struct {
	Unit       column.Uint64s  `json:"unit"`
	Version    column.Uint64s  `json:"version"`
	Arm        column.Uint32s  `json:"arm"` // with the bits below
	Propensity column.Float64s `json:"propensity"`
	Time       column.Uint64s  `json:"time"` // of the decision, in milliseconds since 1970
	// Contexts are those of the units whose exposure waits, by the unit's hash, for contextual
	// policies.
	Contexts map[string]json.RawMessage `json:"contexts,omitempty"`
	// Among are the arms that those of them allowed that did not allow all, in order.
	Among map[string]column.Uint32s `json:"among,omitempty"`
	// Redrawn counts the units that were exposed to an arm drawn again.
	Redrawn int64 `json:"redrawn"`

	dropped int            // the number of rows that were dropped
	index   map[uint64]int // the row of a unit, plus dropped
	bytes   int            // of the contexts and the allowed arms
	pending int64          // the rows whose exposure waits
	waited  int            // the exposure of no earlier row waits
}

// maxContexts bounds the bytes of the contexts of deferred units in an experiment.
const maxContexts = 64 << 20

// amongBytes is the memory of an allowed arm of a deferred unit.
const amongBytes = 4

// keepAmong keeps the arms that a deferred unit allowed, nil for all.
func (x *Decisions) keepAmong(unit string, among []uint32) {
	if among == nil {
		return
	}
	if x.Among == nil {
		x.Among = map[string]column.Uint32s{}
	}
	x.Among[unit] = among
	x.bytes += amongBytes * len(among)
}

// keepContext keeps the context of a deferred unit.
func (x *Decisions) keepContext(unit string, context json.RawMessage) {
	if len(context) == 0 {
		return
	}
	if x.Contexts == nil {
		x.Contexts = map[string]json.RawMessage{}
	}
	x.Contexts[unit] = context
	x.bytes += len(context)
}

// dropContext drops the context of a unit and the arms that it allowed, if they are kept.
func (x *Decisions) dropContext(unit string) {
	if among, ok := x.Among[unit]; ok {
		x.bytes -= amongBytes * len(among)
		delete(x.Among, unit)
	}
	if context, ok := x.Contexts[unit]; ok {
		x.bytes -= len(context)
		delete(x.Contexts, unit)
	}
}

// Bits of an arm in a row: the exposure waits for an activation; the arm was drawn again; not all
// arms were allowed; the exposure waited until it could no longer count, so that the unit has no
// decision.
const (
	pendingBit = 1 << 31
	redrawnBit = 1 << 30
	maskedBit  = 1 << 29
	lapsedBit  = 1 << 28
	armBits    = lapsedBit - 1
)

// IsZero reports whether nothing was kept, so that a snapshot leaves it out.
func (x Decisions) IsZero() bool { return len(x.Unit) == 0 && x.Redrawn == 0 }

// copy returns a copy. Its units can be found after restore.
func (x *Decisions) copy() Decisions {
	y := *x
	y.Unit, y.Version, y.Arm = slices.Clone(x.Unit), slices.Clone(x.Version), slices.Clone(x.Arm)
	y.Propensity, y.Time, y.Contexts = slices.Clone(x.Propensity), slices.Clone(x.Time), maps.Clone(x.Contexts)
	y.Among = maps.Clone(x.Among)
	return y
}

// restore rebuilds the index of rows that were copied or read, and checks that the columns fit.
func (x *Decisions) restore() error {
	n := len(x.Unit)
	if len(x.Version) != n || len(x.Arm) != n || len(x.Propensity) != n || len(x.Time) != n {
		return noregret.BadInputf("snapshot", "the columns of the kept decisions do not fit")
	}
	x.dropped, x.index, x.bytes = 0, make(map[uint64]int, n), 0
	for _, context := range x.Contexts {
		x.bytes += len(context)
	}
	for _, among := range x.Among {
		x.bytes += amongBytes * len(among)
	}
	x.pending, x.waited = 0, 0
	for i, u := range x.Unit {
		if x.Arm[i]&lapsedBit == 0 {
			x.index[u] = i
		}
		x.pending += int64(x.Arm[i] >> 31)
	}
	return nil
}

// find returns the row of a unit, or -1.
func (x *Decisions) find(unit uint64) int {
	if i, ok := x.index[unit]; ok {
		return i - x.dropped
	}
	return -1
}

// expire drops the rows whose longest window has closed, and the decisions whose exposure waits
// although the shortest one has closed: they can no longer be exposed.
func (x *Decisions) expire(now int64, shortest, longest time.Duration) {
	older := func(n int, window time.Duration) bool {
		return n < len(x.Time) && now-int64(x.Time[n])*int64(time.Millisecond) > int64(window)
	}
	for shortest < longest && older(x.waited, shortest) {
		if n := x.waited; x.Arm[n]&pendingBit != 0 {
			x.Arm[n] = x.Arm[n]&^pendingBit | lapsedBit
			x.pending--
			delete(x.index, x.Unit[n])
			x.dropContext(policy.FormatUnit(x.Unit[n]))
		}
		x.waited++
	}
	n := 0
	for older(n, longest) {
		x.pending -= int64(x.Arm[n] >> 31)
		if u := x.Unit[n]; x.find(u) == n {
			delete(x.index, u)
			x.dropContext(policy.FormatUnit(u))
		}
		n++
	}
	if n == 0 {
		return
	}
	x.Unit, x.Version, x.Arm = x.Unit[n:], x.Version[n:], x.Arm[n:]
	x.Propensity, x.Time = x.Propensity[n:], x.Time[n:]
	x.dropped, x.waited = x.dropped+n, max(x.waited-n, 0)
}

// rewind moves back the times that were recorded while the clock was ahead.
func (x *Decisions) rewind(now int64) {
	latest := uint64(max(now, 0) / int64(time.Millisecond))
	for i := range x.Time {
		x.Time[i] = min(x.Time[i], latest)
	}
}

// item returns the decision of a row, with its context if that is kept.
func (x *Decisions) item(row int) Unit {
	unit := policy.FormatUnit(x.Unit[row])
	return Unit{
		Version: x.Version[row], Arm: int(x.Arm[row] & armBits), Propensity: x.Propensity[row], Unit: unit,
		Time: int64(x.Time[row]), Context: x.Contexts[unit],
	}
}

// keep records a decision and, unless it is deferred, its exposure.
func (x *Joiner) keep(in *Input, e *Unit) (api.ItemStatus, error) {
	unit, ok := policy.ParseUnit(e.Unit)
	k := &x.Kept
	shortest, _ := in.Definition.Windows()
	switch {
	case !ok:
		return api.Rejected, noregret.BadInputf("unit", "%q: want 16 hexadecimal digits", e.Unit)
	case e.Version > in.Policy.Version:
		return api.Rejected, noregret.BadInputf("version", "%d: the latest version is %d", e.Version,
			in.Policy.Version)
	case e.Arm < 0 || e.Arm >= len(in.Policy.Arms):
		return api.Rejected, noregret.BadInputf("arm", "%d: there are %d arms", e.Arm, len(in.Policy.Arms))
	case e.Time < 0 || e.Time > math.MaxInt64/int64(time.Millisecond):
		return api.Rejected, noregret.BadInputf("time", "%d is not one from 1970 on", e.Time)
	case in.Now-e.Time*int64(time.Millisecond) > int64(shortest):
		return api.Late, policy.Expired
	case k.find(unit) >= 0:
		return api.Duplicate, nil
	case int64(len(k.Unit)) >= in.Definition.OpenTokens:
		return api.Rejected, noregret.BadInputf("open_tokens",
			"%d ranked units wait for feedback already, the maximum in the definition", len(k.Unit))
	case e.Kept.Deferred && k.bytes+len(e.Context)+amongBytes*len(e.Kept.Among) > maxContexts:
		return api.Rejected, noregret.BadInputf("open_tokens",
			"the contexts of the deferred units have %d bytes already, %d at most", k.bytes, maxContexts)
	}
	among, err := e.Kept.among(len(in.Policy.Arms))
	if err != nil {
		return api.Rejected, err
	}
	arm := uint32(e.Arm)
	if e.Kept.Redrawn {
		arm |= redrawnBit
	}
	if among != nil {
		arm |= maskedBit
	}
	if e.Kept.Deferred {
		arm |= pendingBit
	} else if status, err := x.exposeDrawn(in, e, arm, among); status == api.Late || status == api.Rejected {
		return status, err
	}
	if k.index == nil {
		k.index = map[uint64]int{}
	}
	k.index[unit] = k.dropped + len(k.Unit)
	k.Unit, k.Version, k.Arm = append(k.Unit, unit), append(k.Version, e.Version), append(k.Arm, arm)
	k.Propensity, k.Time = append(k.Propensity, e.Propensity), append(k.Time, uint64(e.Time))
	if e.Kept.Deferred {
		k.pending++
		k.keepContext(e.Unit, e.Context)
		if !e.Kept.Redrawn {
			k.keepAmong(e.Unit, among)
		}
	}
	k.countRedrawn(arm)
	return api.Accepted, nil
}

// countRedrawn counts an exposed unit if it was drawn again.
func (x *Decisions) countRedrawn(arm uint32) {
	if arm&(redrawnBit|pendingBit) == redrawnBit {
		x.Redrawn++
	}
}

// exposeDrawn counts the exposure of a kept decision. One that was drawn again is only counted as
// such: statistics of the version are of units that got the arm of its mixture. Where arms were
// excluded, the numbers of units by arm say nothing about the sample ratio.
func (x *Joiner) exposeDrawn(in *Input, e *Unit, arm uint32, among []uint32) (api.ItemStatus, error) {
	if arm&redrawnBit != 0 {
		return api.Accepted, nil
	}
	status, err := x.expose(in, e, among)
	x.Exposures.Add(status, 1)
	return status, err
}

// among returns the arms that were allowed, nil if all were. It returns an error unless they are
// indices of the arms in order.
func (p *Kept) among(arms int) ([]uint32, error) {
	if len(p.Among) == 0 {
		return nil, nil
	}
	out := make([]uint32, len(p.Among))
	for i, k := range p.Among {
		if k < 0 || k >= arms || i > 0 && k <= p.Among[i-1] {
			return nil, noregret.BadInputf("among", "%v: want indices of the %d arms in order", p.Among, arms)
		}
		out[i] = uint32(k)
	}
	return out, nil
}

// The results of items without a version whose unit has no kept decision: see [Decisions.expire].
var (
	errNotPending = noregret.BadInputf("unit", "not ranked, or longer ago than the shortest window of the metrics")
	errNotKept    = noregret.BadInputf("unit", "not ranked, not exposed within the shortest window of the metrics, or "+
		"the longest has closed")
)

// activate exposes the kept decision of an item's unit.
func (x *Joiner) activate(in *Input, item *Unit) (api.ItemStatus, error) {
	unit, _ := policy.ParseUnit(item.Unit)
	k := &x.Kept
	row := k.find(unit)
	if row < 0 {
		return api.Late, errNotPending
	}
	if k.Arm[row]&pendingBit == 0 {
		return api.Duplicate, nil
	}
	arm, e := k.Arm[row]&^pendingBit, k.item(row)
	status, err := x.exposeDrawn(in, &e, arm, k.Among[e.Unit])
	if status == api.Accepted || status == api.Duplicate {
		k.Arm[row] = arm
		k.pending--
		k.dropContext(e.Unit)
		k.countRedrawn(arm)
	}
	return status, err
}

// reportKept records the metrics of a unit whose decision is kept.
func (x *Joiner) reportKept(in *Input, item *Unit) (api.ItemStatus, error) {
	for _, name := range item.names(nil) {
		if err := in.Definition.CheckValue(name, item.Metrics[name]); err != nil {
			return api.Rejected, err
		}
	}
	unit, _ := policy.ParseUnit(item.Unit)
	row := x.Kept.find(unit)
	if row < 0 {
		return api.Late, errNotKept
	}
	if x.Kept.Arm[row]&redrawnBit != 0 {
		return api.Accepted, nil
	}
	e := x.Kept.item(row)
	e.Metrics, e.Context = item.Metrics, nil
	return x.report(in, &e)
}

// KeptArm returns the arm of the decision that is kept for a unit, false if none is. O(1).
func (x *Decisions) KeptArm(unit uint64) (arm int, ok bool) {
	row := x.find(unit)
	if row < 0 {
		return 0, false
	}
	return int(x.Arm[row] & armBits), true
}

// Size returns the number of the kept decisions, that of those whose exposure waits, and the bytes
// of their contexts and allowed arms. O(1).
func (x *Decisions) Size() (kept, pending, bytes int64) {
	return int64(len(x.Unit)), x.pending, int64(x.bytes)
}
