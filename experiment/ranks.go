package experiment

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/policy"
)

// The kinds of events of units that are known by an identifier of the client's instead of a token,
// and that may be decided for among some of the arms.
const (
	// KindRank reports a decision: [RankEvent].
	KindRank = "rank"
	// KindActivate reports that a deferred decision was used: [ActivateEvent].
	KindActivate = "activate"
	// KindReward reports the value of the only goal: [RewardEvent].
	KindReward = "reward"
)

// RankEvent is the payload of [KindRank].
type RankEvent struct {
	Experiment string    `json:"experiment"`
	Item       UnitEvent `json:"item"`
	// Among are the indices of the arms that were allowed, empty if all were. The propensity is
	// that among them.
	Among []int `json:"among,omitempty"`
	// Redrawn is [policy.Choice.Redrawn]: the unit is not learned from.
	Redrawn bool `json:"redrawn,omitempty"`
	// Deferred leaves the exposure to an activation. Without one the unit never counts.
	Deferred bool `json:"deferred,omitempty"`
}

// ActivateEvent is the payload of [KindActivate].
type ActivateEvent struct {
	Experiment string `json:"experiment"`
	Unit       string `json:"u"` // the unit's hash, 16 hexadecimal digits
}

// RewardEvent is the payload of [KindReward].
type RewardEvent struct {
	Experiment string  `json:"experiment"`
	Unit       string  `json:"u"`
	Value      float64 `json:"value"`
}

// ranks are the ranked units whose attribution window is open, in the order of their events. A
// reward finds the decision of its unit here.
type ranks struct {
	Unit       u64s `json:"unit"`
	Version    u64s `json:"version"`
	Arm        u32s `json:"arm"` // with the bits below
	Propensity f64s `json:"propensity"`
	Time       u64s `json:"time"` // of the decision, in milliseconds since 1970
	// Contexts are those of the units whose exposure waits, by the unit's hash, for contextual
	// policies.
	Contexts map[string]json.RawMessage `json:"contexts,omitempty"`
	// Among are the arms that those of them allowed that did not allow all, in order.
	Among map[string]u32s `json:"among,omitempty"`
	// Redrawn counts the units that were exposed to an arm drawn again.
	Redrawn int64 `json:"redrawn"`

	dropped int            // the number of rows that were dropped
	index   map[uint64]int // the row of a unit, plus dropped
	bytes   int            // of the contexts and the allowed arms
	pending int64          // the rows whose exposure waits
}

// maxContexts bounds the bytes of the contexts of deferred units in an experiment. Tests lower it.
var maxContexts = 64 << 20

// amongBytes is the memory of an allowed arm of a deferred unit.
const amongBytes = 4

// keepAmong keeps the arms that a deferred unit allowed, nil for all.
func (x *ranks) keepAmong(unit string, among []uint32) {
	if among == nil {
		return
	}
	if x.Among == nil {
		x.Among = map[string]u32s{}
	}
	x.Among[unit] = among
	x.bytes += amongBytes * len(among)
}

// keepContext keeps the context of a deferred unit.
func (x *ranks) keepContext(unit string, context json.RawMessage) {
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
func (x *ranks) dropContext(unit string) {
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
// arms were allowed.
const (
	pendingBit = 1 << 31
	redrawnBit = 1 << 30
	maskedBit  = 1 << 29
	armBits    = maskedBit - 1
)

func (x *ranks) copy() *ranks {
	if x == nil {
		return nil
	}
	y := *x
	y.Unit, y.Version, y.Arm = slices.Clone(x.Unit), slices.Clone(x.Version), slices.Clone(x.Arm)
	y.Propensity, y.Time, y.Contexts = slices.Clone(x.Propensity), slices.Clone(x.Time), maps.Clone(x.Contexts)
	y.Among = maps.Clone(x.Among)
	return &y
}

// restore rebuilds the index of rows that were copied or read, and checks that the columns fit.
func (x *ranks) restore() error {
	if x == nil {
		return nil
	}
	n := len(x.Unit)
	if len(x.Version) != n || len(x.Arm) != n || len(x.Propensity) != n || len(x.Time) != n {
		return noregret.BadInputf("snapshot", "the columns of the ranked units do not fit")
	}
	x.dropped, x.index, x.bytes = 0, make(map[uint64]int, n), 0
	for _, context := range x.Contexts {
		x.bytes += len(context)
	}
	for _, among := range x.Among {
		x.bytes += amongBytes * len(among)
	}
	x.pending = 0
	for i, u := range x.Unit {
		x.index[u] = i
		x.pending += int64(x.Arm[i] >> 31)
	}
	return nil
}

// find returns the row of a unit, or -1.
func (x *ranks) find(unit uint64) int {
	if x == nil {
		return -1
	}
	if i, ok := x.index[unit]; ok {
		return i - x.dropped
	}
	return -1
}

// expire drops the rows whose window has closed.
func (x *ranks) expire(now, window int64) {
	n := 0
	for x != nil && n < len(x.Time) && now-int64(x.Time[n])*int64(time.Millisecond) > window {
		x.pending -= int64(x.Arm[n] >> 31)
		if u := x.Unit[n]; x.index[u] == x.dropped+n {
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
	x.dropped += n
}

// rewind moves back the times that were recorded while the clock was ahead.
func (x *ranks) rewind(now int64) {
	if x == nil {
		return
	}
	latest := uint64(max(now, 0) / int64(time.Millisecond))
	for i := range x.Time {
		x.Time[i] = min(x.Time[i], latest)
	}
}

// item returns the decision of a row, with its context if that is kept.
func (x *ranks) item(row int) UnitEvent {
	unit := policy.FormatUnit(x.Unit[row])
	return UnitEvent{
		Version: x.Version[row], Arm: int(x.Arm[row] & armBits), Propensity: x.Propensity[row], Unit: unit,
		Time: int64(x.Time[row]), Context: x.Contexts[unit],
	}
}

// ranker applies the events of ranked units.
type ranker struct{ *experimentState }

// rank records a decision and, unless it is deferred, its exposure.
func (x ranker) rank(p *RankEvent, now int64) (api.ItemStatus, error) {
	e := &p.Item
	unit, ok := policy.ParseUnit(e.Unit)
	running := x.rounds.policy
	switch {
	case !ok:
		return api.Rejected, noregret.BadInputf("unit", "%q: want 16 hexadecimal digits", e.Unit)
	case e.Version > running.Version:
		return api.Rejected, noregret.BadInputf("version", "%d: the latest version is %d", e.Version,
			running.Version)
	case e.Arm < 0 || e.Arm >= len(x.roster.Arms):
		return api.Rejected, noregret.BadInputf("arm", "%d: there are %d arms", e.Arm, len(x.roster.Arms))
	case e.Time < 0 || e.Time > math.MaxInt64/int64(time.Millisecond):
		return api.Rejected, noregret.BadInputf("time", "%d is not one from 1970 on", e.Time)
	case now-e.Time*int64(time.Millisecond) > int64(x.roster.def.AttributionWindow):
		return api.Late, policy.Expired
	case x.Ranks.find(unit) >= 0:
		return api.Duplicate, nil
	case x.Ranks != nil && int64(len(x.Ranks.Unit)) >= x.roster.def.OpenTokens:
		return api.Rejected, noregret.BadInputf("open_tokens",
			"%d ranked units wait for feedback already, the maximum in the definition", len(x.Ranks.Unit))
	case p.Deferred && x.Ranks != nil && x.Ranks.bytes+len(e.Context)+amongBytes*len(p.Among) > maxContexts:
		return api.Rejected, noregret.BadInputf("open_tokens",
			"the contexts of the deferred units have %d bytes already, %d at most", x.Ranks.bytes, maxContexts)
	}
	among, err := p.among(len(x.roster.Arms))
	if err != nil {
		return api.Rejected, err
	}
	if _, err := x.goal(); err != nil {
		return api.Rejected, err
	}
	arm := uint32(e.Arm)
	if p.Redrawn {
		arm |= redrawnBit
	}
	if among != nil {
		arm |= maskedBit
	}
	if p.Deferred {
		arm |= pendingBit
	} else if status, err := x.expose(e, arm, among, now); status == api.Late || status == api.Rejected {
		return status, err
	}
	if x.Ranks == nil {
		x.Ranks = &ranks{index: map[uint64]int{}}
	}
	r := x.Ranks
	r.index[unit] = r.dropped + len(r.Unit)
	r.Unit, r.Version, r.Arm = append(r.Unit, unit), append(r.Version, e.Version), append(r.Arm, arm)
	r.Propensity, r.Time = append(r.Propensity, e.Propensity), append(r.Time, uint64(e.Time))
	if p.Deferred {
		r.pending++
		r.keepContext(e.Unit, e.Context)
		if !p.Redrawn {
			r.keepAmong(e.Unit, among)
		}
	}
	r.countRedrawn(arm)
	return api.Accepted, nil
}

// countRedrawn counts an exposed unit if it was drawn again.
func (x *ranks) countRedrawn(arm uint32) {
	if arm&(redrawnBit|pendingBit) == redrawnBit {
		x.Redrawn++
	}
}

// expose counts the exposure of a ranked unit. One that was drawn again is only counted as such:
// statistics of the version are of units that got the arm of its mixture. Where arms were excluded,
// the numbers of units by arm say nothing about the sample ratio.
func (x ranker) expose(e *UnitEvent, arm uint32, among []uint32, now int64) (api.ItemStatus, error) {
	if arm&redrawnBit != 0 {
		return api.Accepted, nil
	}
	in := x.joinInput(now)
	in.among = among
	status, err := x.joiner.expose(in, e)
	x.joiner.Exposures.Add(status, 1)
	return status, err
}

// among returns the arms that were allowed, nil if all were. It returns an error unless they are
// indices of the arms in order.
func (p *RankEvent) among(arms int) ([]uint32, error) {
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

// errUnranked is the result of events for units that were not ranked, or too long ago.
var errUnranked = noregret.BadInputf("unit", "not ranked, or its attribution window has closed")

// activate exposes a deferred unit.
func (x ranker) activate(p *ActivateEvent, now int64) (api.ItemStatus, error) {
	unit, _ := policy.ParseUnit(p.Unit)
	row := x.Ranks.find(unit)
	if row < 0 {
		return api.Late, errUnranked
	}
	if x.Ranks.Arm[row]&pendingBit == 0 {
		return api.Duplicate, nil
	}
	arm, e := x.Ranks.Arm[row]&^pendingBit, x.Ranks.item(row)
	status, err := x.expose(&e, arm, x.Ranks.Among[e.Unit], now)
	if status == api.Accepted || status == api.Duplicate {
		x.Ranks.Arm[row] = arm
		x.Ranks.pending--
		x.Ranks.dropContext(e.Unit)
		x.Ranks.countRedrawn(arm)
	}
	return status, err
}

// reward records the value of the goal.
func (x ranker) reward(p *RewardEvent, now int64) (api.ItemStatus, error) {
	metric, err := x.goal()
	if err != nil {
		return api.Rejected, err
	}
	if err := x.roster.checkValue(metric, p.Value); err != nil {
		return api.Rejected, err
	}
	unit, _ := policy.ParseUnit(p.Unit)
	row := x.Ranks.find(unit)
	if row < 0 {
		return api.Late, errUnranked
	}
	if x.Ranks.Arm[row]&redrawnBit != 0 {
		return api.Accepted, nil
	}
	e := x.Ranks.item(row)
	e.Metrics, e.Context = map[string]float64{metric: p.Value}, nil
	return x.joiner.feedback(x.joinInput(now), &e)
}

// goal returns the metric that rewards are values of.
func (x ranker) goal() (string, error) { return RewardMetric(x.roster.def) }

// RewardMetric returns the metric that rewards of [KindReward] are values of: the only goal of the
// objective, which must go up. The error says what else the objective is.
func RewardMetric(d *definition.Definition) (string, error) {
	if d.Objective == nil || len(d.Objective.Goals) != 1 {
		n := 0
		if d.Objective != nil {
			n = len(d.Objective.Goals)
		}
		return "", noregret.BadInputf("objective.goals", "%d goals: a reward needs exactly one; report the metrics of "+
			"others by the token of a decision", n)
	}
	m := d.Metric(d.Objective.Goals[0].Metric)
	switch {
	case m.Kind == "ratio":
		return "", noregret.BadInputf("objective.goals[0].metric",
			"%q is a ratio: a reward is one number, of a metric "+
				"of kind mean or count", m.Name)
	case m.Direction == "down":
		return "", noregret.BadInputf("objective.goals[0].metric", "%q is to go down: a larger reward is better, so "+
			"the goal must have direction up", m.Name)
	}
	return m.Name, nil
}

// rankEvent applies an event of a ranked unit.
func (s *State) rankEvent(e Event) Outcome {
	apply := func(name string, kind string, f func(x ranker) (api.ItemStatus, error)) Outcome {
		return s.with(name, func(x *experimentState) Outcome {
			if x.Private != nil {
				return Outcome{Err: errPrivateSums}
			}
			status, err := f(ranker{x})
			item := api.ItemResult{Status: status}
			if err != nil {
				item.Error = err.Error()
			}
			if kind == KindReward {
				x.joiner.Feedback.Add(status, 1)
			}
			return Outcome{Items: []api.ItemResult{item}}
		})
	}
	var rank RankEvent
	var activate ActivateEvent
	var reward RewardEvent
	to := map[string]any{KindRank: &rank, KindActivate: &activate, KindReward: &reward}[e.Kind]
	if err := e.open(to); err != nil {
		return Outcome{Err: err}
	}
	switch e.Kind {
	case KindRank:
		return apply(rank.Experiment, e.Kind, func(x ranker) (api.ItemStatus, error) {
			return x.rank(&rank, s.time)
		})
	case KindActivate:
		return apply(activate.Experiment, e.Kind, func(x ranker) (api.ItemStatus, error) {
			return x.activate(&activate, s.time)
		})
	}
	return apply(reward.Experiment, e.Kind, func(x ranker) (api.ItemStatus, error) {
		return x.reward(&reward, s.time)
	})
}

// Ranked is the decision of a ranked unit.
type Ranked struct {
	Version    uint64
	Arm        int
	Propensity float64
}

// Ranked returns the decision of a ranked unit whose window is open. O(1).
func (s *State) Ranked(name string, unit uint64) (r Ranked, ok bool) {
	x := s.live[name]
	if x == nil {
		return Ranked{}, false
	}
	row := x.Ranks.find(unit)
	if row < 0 {
		return Ranked{}, false
	}
	e := x.Ranks.item(row)
	return Ranked{e.Version, e.Arm, e.Propensity}, true
}
