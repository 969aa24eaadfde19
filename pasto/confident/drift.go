package confident

import (
	"fmt"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/mixed"
	"github.com/noregret/noregret/pasto/internal/round"
)

// DriftKind says how a [Drifting] learner forgets.
type DriftKind string

const (
	// Restart begins anew after every Rounds rounds: the restarting procedure of Besbes, Gur and
	// Zeevi ("Non-stationary Stochastic Optimization", Operations Research 63, 2015). Between two
	// restarts the learner is a fresh one, bit for bit.
	Restart DriftKind = "restart"
	// Discount multiplies the weight of what is known by 1 − Rate in each round.
	Discount DriftKind = "discount"
	// Window lets the last Rounds rounds count, and up to a 64th more.
	Window DriftKind = "window"
	// Detect begins an arm anew when a detector of package changepoint reports a change of its
	// metrics.
	Detect DriftKind = "detector"
	// Adaptive chooses among discounts of rates 0 and 2⁻¹⁰ to 2⁻³ by how well each has predicted
	// the values of the rounds so far. All of them learn from the same served rounds.
	Adaptive DriftKind = "adaptive"
)

// DriftKinds lists the kinds.
func DriftKinds() []DriftKind { return []DriftKind{Restart, Discount, Window, Detect, Adaptive} }

// Detectors lists the names of the detectors that [Detect] takes.
func Detectors() []string { return []string{"cusum", "page-hinkley", "adwin", "kswin"} }

// Drift are the parameters of [NewDrifting].
type Drift struct {
	Kind DriftKind
	// Rounds is the interval of Restart or the length of Window, from 1 to 100,000; 0 otherwise.
	Rounds int
	// Rate is that of Discount, above 0 and below 1; 0 otherwise.
	Rate float64
	// Detector is the name of the detector of Detect, one of [Detectors]; "" otherwise.
	Detector string
}

// MostDriftRounds bounds Drift.Rounds.
const MostDriftRounds = 100_000

func (d *Drift) validate() error {
	rounds, rate := d.Kind == Restart || d.Kind == Window, d.Kind == Discount
	switch {
	case !slices.Contains(DriftKinds(), d.Kind):
		return noregret.BadInputf("drift", "%q: want one of %q", d.Kind, DriftKinds())
	case rounds && (d.Rounds < 1 || d.Rounds > MostDriftRounds):
		return noregret.BadInputf("drift rounds", "%d: want 1 to %d", d.Rounds, MostDriftRounds)
	case !rounds && d.Rounds != 0:
		return noregret.BadInputf("drift rounds", "%d with kind %s: only restart and window have rounds", d.Rounds,
			d.Kind)
	case rate && !(d.Rate > 0 && d.Rate < 1):
		return noregret.BadInputf("drift rate", "%v: want a number above 0 and below 1", d.Rate)
	case !rate && d.Rate != 0:
		return noregret.BadInputf("drift rate", "%v with kind %s: only discount has a rate", d.Rate, d.Kind)
	case d.Kind == Detect && !slices.Contains(Detectors(), d.Detector):
		return noregret.BadInputf("drift detector", "%q: want one of %q", d.Detector, Detectors())
	case d.Kind != Detect && d.Detector != "":
		return noregret.BadInputf("drift detector", "%q with kind %s: only detector has one", d.Detector, d.Kind)
	}
	return nil
}

// Drifting is the default learner for means that change: a [Learner] of which a part of what it has
// observed no longer counts. What it serves is computed by the same rules from what still counts,
// so that bounds and promises are those of as many units as are left. The change test of the
// [Learner] goes on looking for arms that have changed (Options.ChangeThreshold), except that
// [Detect] takes its place.
//
// [Learner.Promise] is about means that do not change within the memory: between two restarts, of
// all arms or of one, all rounds hold the guardrails together with the stated probability, and with
// the other kinds those of a memory. A discounted past counts for no more units than its weights
// sum to, and so for fewer than its sampling error is worth.
//
// [Discount] and [Adaptive] cost a round O(K·M), and O(K²) up to 512 arms, Adaptive nine times that
// and nine times the memory. [Window] keeps its rounds, and learns from all of them again in one of
// 64 rounds. A Drifting learner is not safe for concurrent use.
type Drifting struct {
	*Learner
	drift     Drift
	d         driftState
	models    []*mixed.Model // the candidates of Adaptive
	skip      []bool         // K: arms that some candidate does not know
	losses    []float64
	triggers  []trigger // one of Restart, K·M of Detect
	residuals []float64 // K: the largest of the round
	alarmed   []int
	text      string
}

// driftState is the state of a [Drifting] learner beside that of its [Learner].
type driftState struct {
	Learner    state
	Others     []mixed.State // of Adaptive, without the first candidate, which is the learner's
	LogWeights []float64     // of Adaptive
	Leader     int
	Kept       []keptRound // of Window
	Extra      int         // how many rounds beyond the window the statistics have
	Triggers   [][]byte
	Events     []DriftEvent // the last mostEvents
	Count      int          // of all events
	Variation  variation
}

// DriftEvent says when and why something was forgotten at once.
type DriftEvent struct {
	// Round is the round at whose end it happened.
	Round int
	// Arms are the arms that were begun anew; none stands for all.
	Arms []int
	// Cause is "interval", the name of a detector, "change" for the change test of the [Learner],
	// "unserved" for arms of which a discount has left nothing, "told" by [Drifting.Begin], or
	// "memory" where Adaptive has chosen another one.
	Cause string
	// Statistic is the largest standardized residual of the arms in the round where a detector is
	// the cause, the number of rounds of the memory where the cause is "memory" (0 for all), and
	// otherwise 0.
	Statistic float64
}

// mostEvents is the number of events that are kept.
const mostEvents = 100

// NewDrifting makes the default learner on K arms for means that change.
func NewDrifting(f pasto.Objective, arms int, o Options, d Drift) (*Drifting, error) {
	if err := d.validate(); err != nil {
		return nil, err
	}
	if d.Kind == Detect {
		o.ChangeThreshold = 0
	}
	l, err := New(f, arms, o)
	if err != nil {
		return nil, err
	}
	l.checker.Noisy = false
	x := &Drifting{Learner: l, drift: d}
	x.text = fmt.Sprintf("%s, drift %+v", l.text, d)
	if d.Kind == Adaptive {
		x.d.Others, x.d.LogWeights = make([]mixed.State, candidates-1), make([]float64, candidates)
		for i := range x.d.Others {
			x.d.Others[i].Grow(arms, f.Dim())
		}
	}
	return x, x.prepare()
}

// prepare makes what the state does not hold, for the state's number of arms.
func (l *Drifting) prepare() error {
	arms := l.Arms()
	l.skip, l.residuals = make([]bool, arms), make([]float64, arms)
	l.d.Variation.grow(arms)
	switch l.drift.Kind {
	case Adaptive:
		l.models = l.models[:0]
		for i := range candidates {
			l.models = append(l.models, mixed.New(l.about, l.candidate(i)))
			l.models[i].Scored = true
		}
		l.follow(l.d.Leader)
	case Restart:
		if len(l.triggers) == 0 {
			return l.addTriggers(1)
		}
	case Detect:
		l.model.Residual = l.detect
		return l.addTriggers(arms * len(l.sign))
	}
	return nil
}

// Observe implements [pasto.Learner]: see [Learner.Observe].
func (l *Drifting) Observe(obs []pasto.Observation) error {
	obs, _, err := l.checker.Check(l.objective, obs, l.s.T+1, l.s.Serving, l.s.Active)
	if err != nil {
		return err
	}
	s := &l.s
	before := s.Unobserved
	s.T++
	l.d.Variation.add(l, obs)
	changed := 0
	switch l.drift.Kind {
	case Adaptive:
		changed = l.adapt(obs)
	case Window:
		changed = l.slide(obs)
	case Discount:
		if lost := l.model.Discount(1-l.drift.Rate, s.Active); len(lost) > 0 {
			l.happened(lost, "unserved", 0)
		}
		fallthrough
	default:
		changed = l.take(obs)
	}
	l.countUnobserved()
	l.replan(before, changed)
	if memory := l.Memory(); l.drift.Kind != Restart && memory > 0 {
		s.Next = min(s.Next, s.T+max(int(memory/pace), 1))
	}
	if l.drift.Kind == Restart {
		if due, _ := l.triggers[0].Add(0); due {
			l.restart()
			l.happened(nil, "interval", 0)
		}
	}
	return nil
}

// pace is the number of times in its memory that a learner solves at least.
const pace = 20

// take takes a round, and returns how many arms were begun anew after it.
func (l *Drifting) take(obs []pasto.Observation) (changed int) {
	clear(l.residuals)
	l.alarmed = l.alarmed[:0]
	l.model.Observe(obs)
	arms, cause, statistic := l.model.Changed(), "change", 0.0
	if len(l.alarmed) > 0 {
		arms, cause = l.alarmed, l.drift.Detector
		for _, k := range arms {
			statistic = max(statistic, l.residuals[k])
		}
		l.model.Begin(arms)
		for _, t := range l.triggers {
			t.Reset()
		}
	}
	if len(arms) > 0 {
		l.happened(arms, cause, statistic)
	}
	return len(arms)
}

// countUnobserved counts the active arms without data.
func (l *Drifting) countUnobserved() {
	l.s.Unobserved = 0
	for k, active := range l.s.Active {
		if active && l.model.Rounds(k) == 0 {
			l.s.Unobserved++
		}
	}
}

// restart makes the learner a fresh one.
func (l *Drifting) restart() {
	s := newState(l.Arms(), len(l.sign), l.options.Control)
	for k, active := range l.s.Active {
		if !active {
			s.Active[k] = false
			s.Live--
			s.Unobserved--
		}
	}
	for k, active := range s.Active {
		if !active {
			for _, p := range s.mixtures() {
				round.Drop(*p, k, s.Active)
			}
		}
	}
	s.T, s.Began, s.Next, s.Found = l.s.T, l.s.T, l.s.T, l.s.Found
	l.s = s
	l.workspace()
	l.plan.solve()
	l.mix()
}

// Begin begins arms anew that are known to have changed, from outside. It returns an error of code
// bad_input, and changes nothing, for an arm that does not exist.
func (l *Drifting) Begin(arms []int) error {
	for _, k := range arms {
		if k < 0 || k >= l.Arms() {
			return noregret.BadInputf("arm", "%d is unknown: want one of 0 to %d", k, l.Arms()-1)
		}
	}
	if len(arms) == 0 {
		return nil
	}
	models := l.models
	if models == nil {
		models = append(models, l.model)
	}
	for _, m := range models {
		m.Begin(arms)
	}
	before := l.s.Unobserved
	l.countUnobserved()
	l.happened(arms, "told", 0)
	l.replan(before, len(arms))
	return nil
}

// happened keeps an event.
func (l *Drifting) happened(arms []int, cause string, statistic float64) {
	if len(l.d.Events) == mostEvents {
		l.d.Events = slices.Delete(l.d.Events, 0, 1)
	}
	l.d.Count++
	l.d.Events = append(l.d.Events, DriftEvent{l.s.T, slices.Clone(arms), cause, statistic})
}

// Events returns the last hundred events, the oldest first, and how many there have been in all.
func (l *Drifting) Events() (last []DriftEvent, count int) {
	return slices.Clone(l.d.Events), l.d.Count
}

// Memory returns the number of rounds that what is known now is worth: the sum of their weights.
func (l *Drifting) Memory() float64 {
	s, rate := &l.s, l.drift.Rate
	switch l.drift.Kind {
	case Restart:
		return float64(s.T - s.Began)
	case Window:
		return float64(min(s.T, l.drift.Rounds))
	case Adaptive:
		rate = candidateRate(l.d.Leader)
	case Detect:
		most := 0.0
		for k, active := range s.Active {
			if active {
				most = max(most, l.model.Rounds(k))
			}
		}
		return most
	}
	return DiscountedRounds(rate, s.T)
}

// DiscountedRounds returns the sum of the weights of so many rounds whose weight falls by rate, in
// [0, 1), each round.
func DiscountedRounds(rate float64, rounds int) float64 {
	if rate == 0 {
		return float64(rounds)
	}
	return (1 - power(1-rate, rounds)) / rate
}

// Drift returns how the learner forgets.
func (l *Drifting) Drift() Drift { return l.drift }

// String describes the learner and its options in one line.
func (l *Drifting) String() string { return l.text }

// AddArm implements [pasto.Roster]: see [Learner.AddArm].
func (l *Drifting) AddArm() (int, error) {
	for i := range l.d.Others {
		l.d.Others[i].Grow(l.Arms()+1, len(l.sign))
	}
	k, err := l.Learner.AddArm()
	if err != nil {
		return k, err
	}
	return k, l.prepare()
}

// MarshalBinary implements [pasto.Learner].
func (l *Drifting) MarshalBinary() ([]byte, error) {
	d := l.d
	d.Learner, d.Triggers = l.s, nil
	for _, t := range l.triggers {
		b, err := t.MarshalBinary()
		if err != nil {
			return nil, err
		}
		d.Triggers = append(d.Triggers, b)
	}
	return snapshot.Seal(round.SnapshotMagic, l.text+stateFormat+round.Identity(l.objective), &d)
}

// UnmarshalBinary implements [pasto.Learner].
func (l *Drifting) UnmarshalBinary(data []byte) error {
	var d driftState
	if err := snapshot.Open(data, round.SnapshotMagic, l.text+stateFormat+round.Identity(l.objective), &d); err != nil {
		return checkFormat(data, err)
	}
	fresh, err := NewDrifting(l.objective, max(len(d.Learner.Active), 1), l.optionsFor(len(d.Learner.Active)), l.drift)
	if err != nil {
		return err
	}
	if !d.fits(fresh) {
		return snapshot.Bad("damaged: its parts do not fit %d arms and %d metrics, or each other",
			len(d.Learner.Active),
			len(l.sign))
	}
	for i, b := range d.Triggers {
		if err := fresh.triggers[i].UnmarshalBinary(b); err != nil {
			return err
		}
	}
	fresh.s, fresh.options = d.Learner, l.options
	d.Learner, d.Triggers = state{}, nil
	fresh.d, fresh.Learner.text, fresh.text = d, l.Learner.text, l.text
	fresh.workspace()
	fresh.guard.slack = fresh.guard.slack[:0]
	*l = *fresh
	return l.prepare()
}

// optionsFor returns the options for so many arms: caps are of the first ones.
func (l *Drifting) optionsFor(arms int) Options {
	o := l.options
	if o.Caps != nil {
		for len(o.Caps) < arms {
			o.Caps = append(o.Caps[:len(o.Caps):len(o.Caps)], 1)
		}
		o.Caps = o.Caps[:arms]
	}
	return o
}

// fits reports whether d is the state of a learner such as the given fresh one.
func (d *driftState) fits(l *Drifting) bool {
	s, arms, m := &d.Learner, l.Arms(), len(l.sign)
	discounts := l.drift.Kind == Discount || l.drift.Kind == Adaptive
	if !s.fits(arms, m, discounts) || len(d.Others) != len(l.d.Others) || len(d.LogWeights) != len(l.d.LogWeights) ||
		d.Leader < 0 || d.Leader > len(d.Others) || len(d.Triggers) != len(l.triggers) || len(d.Events) > mostEvents ||
		d.Count < len(d.Events) || !d.Variation.fits(arms) || d.Extra < 0 || d.Extra > len(d.Kept) {
		return false
	}
	for i := range d.Others {
		if !d.Others[i].Fits(arms, m, s.T, true) {
			return false
		}
	}
	if l.drift.Kind != Window && len(d.Kept) > 0 {
		return false
	}
	return !slices.ContainsFunc(d.Kept, func(r keptRound) bool { return !r.fits(arms, m) }) &&
		!slices.ContainsFunc(d.LogWeights, func(v float64) bool { return !(v <= 0) || v < -1e6 })
}
