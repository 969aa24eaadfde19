package drifting

import (
	"fmt"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/confident"
	"github.com/noregret/noregret/pasto/internal/mixed"
)

// Kind says how a [Learner] forgets.
type Kind string

const (
	// Restart begins anew after every Rounds rounds: the restarting procedure of Besbes, Gur and
	// Zeevi ("Non-stationary Stochastic Optimization", Operations Research 63, 2015). Between two
	// restarts the learner is a fresh one, bit for bit.
	Restart Kind = "restart"
	// Discount multiplies the weight of what is known by 1 − Rate in each round.
	Discount Kind = "discount"
	// Window lets the last Rounds rounds count, and up to a 64th more.
	Window Kind = "window"
	// Detect begins an arm anew when a detector of package changepoint reports a change of its
	// metrics.
	Detect Kind = "detector"
	// Adaptive chooses among discounts of rates 0 and 2⁻¹⁰ to 2⁻³ by how well each has predicted
	// the values of the rounds so far. All of them learn from the same served rounds.
	Adaptive Kind = "adaptive"
)

// Kinds lists the kinds.
func Kinds() []Kind { return []Kind{Restart, Discount, Window, Detect, Adaptive} }

// Detectors lists the names of the detectors that [Detect] takes.
func Detectors() []string { return []string{"cusum", "page-hinkley", "adwin", "kswin"} }

// Options say how a [Learner] forgets.
type Options struct {
	Kind Kind
	// Rounds is the interval of Restart or the length of Window, from 1 to 100,000; 0 otherwise.
	Rounds int
	// Rate is that of Discount, above 0 and below 1; 0 otherwise.
	Rate float64
	// Detector is the name of the detector of Detect, one of [Detectors]; "" otherwise.
	Detector string
}

// MostRounds bounds Options.Rounds.
const MostRounds = 100_000

func (d *Options) validate() error {
	rounds, rate := d.Kind == Restart || d.Kind == Window, d.Kind == Discount
	switch {
	case !slices.Contains(Kinds(), d.Kind):
		return noregret.BadInputf("drift", "%q: want one of %q", d.Kind, Kinds())
	case rounds && (d.Rounds < 1 || d.Rounds > MostRounds):
		return noregret.BadInputf("drift rounds", "%d: want 1 to %d", d.Rounds, MostRounds)
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

// Learner is the default learner for means that change: a [confident.Learner] of which a part of
// what it has observed no longer counts. What it serves is computed by the same rules from what
// still counts, so that bounds and promises are those of as many units as are left. The change test
// of that learner goes on looking for arms that have changed (ChangeThreshold of its options),
// except that [Detect] takes its place.
//
// Promise is about means that do not change within the memory: between two restarts, of all arms or
// of one, all rounds hold the guardrails together with the stated probability, and with the other
// kinds those of a memory. A discounted past counts for no more units than its weights sum to, and
// so for fewer than its sampling error is worth.
//
// [Discount] and [Adaptive] cost a round O(K·M), and O(K²) up to 512 arms, Adaptive nine times that
// and nine times the memory. [Window] keeps its rounds, and learns from all of them again in one of
// 64 rounds. A Learner is not safe for concurrent use.
type Learner struct {
	*confident.Learner
	in        confident.Inside
	options   Options
	d         state
	metrics   int
	models    []*mixed.Model // the candidates of Adaptive
	skip      []bool         // K: arms that some candidate does not know
	losses    []float64
	triggers  []trigger // one of Restart, K·M of Detect
	residuals []float64 // K: the largest of the round
	alarmed   []int
	text      string
}

// state is the state of a [Learner]. That of the learner that it embeds is in it in snapshots only.
type state struct {
	Learner    confident.State
	Others     []mixed.State // of Adaptive, without the first candidate, which is the learner's
	LogWeights []float64     // of Adaptive
	Leader     int
	Kept       []keptRound // of Window
	Extra      int         // how many rounds beyond the window the statistics have
	Triggers   [][]byte
	Events     []Event // the last mostEvents
	Count      int     // of all events
	Variation  variation
}

// Event says when and why something was forgotten at once.
type Event struct {
	// Round is the round at whose end it happened.
	Round int
	// Arms are the arms that were begun anew; none stands for all.
	Arms []int
	// Cause is "interval", the name of a detector, "change" for the change test of the learner,
	// "unserved" for arms of which a discount has left nothing, "told" by [Learner.Begin], or
	// "memory" where Adaptive has chosen another one.
	Cause string
	// Statistic is the largest standardized residual of the arms in the round where a detector is
	// the cause, the number of rounds of the memory where the cause is "memory" (0 for all), and
	// otherwise 0.
	Statistic float64
}

// mostEvents is the number of events that are kept.
const mostEvents = 100

// New makes the default learner on K arms, of these options, for means that change.
func New(f pasto.Objective, arms int, o confident.Options, d Options) (*Learner, error) {
	if err := d.validate(); err != nil {
		return nil, err
	}
	if d.Kind == Detect {
		o.ChangeThreshold = 0
	}
	inner, err := confident.New(f, arms, o)
	if err != nil {
		return nil, err
	}
	l := &Learner{Learner: inner, in: inner.Inside(mixed.Key{}), options: d, metrics: f.Dim()}
	l.text = fmt.Sprintf("%s, drift %+v", inner, d)
	if d.Kind == Adaptive {
		l.d.Others, l.d.LogWeights = make([]mixed.State, candidates-1), make([]float64, candidates)
		for i := range l.d.Others {
			l.d.Others[i].Grow(arms, l.metrics)
		}
	}
	if l.triggers, err = l.newTriggers(arms); err != nil {
		return nil, err
	}
	l.prepare()
	return l, nil
}

// prepare makes what the state does not hold, for the state's number of arms.
func (l *Learner) prepare() {
	arms := l.Arms()
	l.skip, l.residuals = make([]bool, arms), make([]float64, arms)
	l.d.Variation.grow(arms)
	switch l.options.Kind {
	case Adaptive:
		l.models = l.models[:0]
		for i := range candidates {
			l.models = append(l.models, mixed.New(l.in.Model().Problem, l.candidate(i)))
			l.models[i].Scored = true
		}
		l.follow(l.d.Leader)
	case Detect:
		l.in.Model().Residual = l.detect
	}
}

// Observe implements [pasto.Learner]: see [confident.Learner.Observe].
func (l *Learner) Observe(obs []pasto.Observation) error {
	obs, err := l.in.Check(obs)
	if err != nil {
		return err
	}
	s := l.in.State()
	s.T++
	l.d.Variation.add(l.in, obs)
	changed := 0
	switch l.options.Kind {
	case Adaptive:
		changed = l.adapt(obs)
	case Window:
		changed = l.slide(obs)
	case Discount:
		if lost := l.in.Model().Discount(1-l.options.Rate, s.Active); len(lost) > 0 {
			l.happened(lost, "unserved", 0)
		}
		fallthrough
	default:
		changed = l.take(obs)
	}
	l.in.End(changed)
	if memory := l.Memory(); l.options.Kind != Restart && memory > 0 {
		s.Next = min(s.Next, s.T+max(int(memory/pace), 1))
	}
	if l.options.Kind == Restart {
		if due, _ := l.triggers[0].Add(0); due {
			l.in.Restart()
			l.happened(nil, "interval", 0)
		}
	}
	return nil
}

// pace is the number of times in its memory that a learner solves at least.
const pace = 20

// take takes a round, and returns how many arms were begun anew after it.
func (l *Learner) take(obs []pasto.Observation) (changed int) {
	clear(l.residuals)
	l.alarmed = l.alarmed[:0]
	l.in.Model().Observe(obs)
	arms, cause, statistic := l.in.Model().Changed(), "change", 0.0
	if len(l.alarmed) > 0 {
		arms, cause = l.alarmed, l.options.Detector
		for _, k := range arms {
			statistic = max(statistic, l.residuals[k])
		}
		l.in.Model().Begin(arms)
		for _, t := range l.triggers {
			t.Reset()
		}
	}
	if len(arms) > 0 {
		l.happened(arms, cause, statistic)
	}
	return len(arms)
}

// Begin begins arms anew that are known to have changed, from outside. It returns an error of code
// bad_input, and changes nothing, for an arm that does not exist.
func (l *Learner) Begin(arms []int) error {
	for _, k := range arms {
		if k < 0 || k >= l.Arms() {
			return noregret.BadInputf("arm", "%d is unknown: want one of 0 to %d", k, l.Arms()-1)
		}
	}
	if len(arms) == 0 {
		return nil
	}
	if l.models == nil {
		l.in.Model().Begin(arms)
	}
	for _, m := range l.models {
		m.Begin(arms)
	}
	l.happened(arms, "told", 0)
	l.in.End(len(arms))
	return nil
}

// happened keeps an event.
func (l *Learner) happened(arms []int, cause string, statistic float64) {
	if len(l.d.Events) == mostEvents {
		l.d.Events = slices.Delete(l.d.Events, 0, 1)
	}
	l.d.Count++
	l.d.Events = append(l.d.Events, Event{l.Rounds(), slices.Clone(arms), cause, statistic})
}

// Events returns the last hundred events, the oldest first, and how many there have been in all.
func (l *Learner) Events() (last []Event, count int) {
	return slices.Clone(l.d.Events), l.d.Count
}

// Memory returns the number of rounds that what is known now is worth: the sum of their weights.
func (l *Learner) Memory() float64 {
	s, rate := l.in.State(), l.options.Rate
	switch l.options.Kind {
	case Restart:
		return float64(s.T - s.Began)
	case Window:
		return float64(min(s.T, l.options.Rounds))
	case Adaptive:
		rate = candidateRate(l.d.Leader)
	case Detect:
		most := 0.0
		for k, active := range s.Active {
			if active {
				most = max(most, l.in.Model().Rounds(k))
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
func (l *Learner) Drift() Options { return l.options }

// String describes the learner and its options in one line.
func (l *Learner) String() string { return l.text }

// AddArm implements [pasto.Roster]: see [confident.Learner.AddArm].
func (l *Learner) AddArm() (int, error) {
	for i := range l.d.Others {
		l.d.Others[i].Grow(l.Arms()+1, l.metrics)
	}
	k, err := l.Learner.AddArm()
	if err != nil {
		return k, err
	}
	if l.options.Kind == Detect {
		more, err := l.newTriggers(1)
		if err != nil {
			return k, err
		}
		l.triggers = append(l.triggers, more...)
	}
	l.prepare()
	return k, nil
}

// MarshalBinary implements [pasto.Learner].
func (l *Learner) MarshalBinary() ([]byte, error) {
	d := l.d
	d.Learner = *l.in.State()
	for _, t := range l.triggers {
		b, err := t.MarshalBinary()
		if err != nil {
			return nil, err
		}
		d.Triggers = append(d.Triggers, b)
	}
	return l.in.Seal(l.text, &d)
}

// UnmarshalBinary implements [pasto.Learner].
func (l *Learner) UnmarshalBinary(data []byte) error {
	var d state
	if err := l.in.Open(data, l.text, &d); err != nil {
		return err
	}
	arms := len(d.Learner.Active)
	if !l.fits(&d, arms) {
		return snapshot.Bad("damaged: its parts do not fit %d arms and %d metrics, or each other", arms, l.metrics)
	}
	triggers, err := l.newTriggers(arms)
	if err != nil {
		return err
	}
	if len(d.Triggers) != len(triggers) {
		return snapshot.Bad("damaged: %d triggers for %d arms and %d metrics", len(d.Triggers), arms, l.metrics)
	}
	for i, b := range d.Triggers {
		if err := triggers[i].UnmarshalBinary(b); err != nil {
			return err
		}
	}
	s := d.Learner
	d.Learner, d.Triggers = confident.State{}, nil
	l.d, l.triggers = d, triggers
	l.in.Resume(s)
	l.prepare()
	return nil
}

// fits reports whether d, without its triggers, is a state that the learner can be in with so many
// arms.
func (l *Learner) fits(d *state, arms int) bool {
	s, discounts := &d.Learner, l.options.Kind == Discount || l.options.Kind == Adaptive
	if len(d.Others) != len(l.d.Others) || d.Leader < 0 || d.Leader > len(d.Others) {
		return false
	}
	leader := &s.Model
	for i := range d.Others {
		if !d.Others[i].Fits(arms, l.metrics, s.T, true) {
			return false
		}
		if d.Leader == i+1 {
			leader = &d.Others[i]
		}
	}
	if !s.Fits(arms, l.metrics, discounts, leader) || len(d.LogWeights) != len(l.d.LogWeights) ||
		len(d.Events) > mostEvents || d.Count < len(d.Events) || !d.Variation.fits(arms) || d.Extra < 0 ||
		d.Extra > len(d.Kept) || l.options.Kind != Window && len(d.Kept) > 0 {
		return false
	}
	return !slices.ContainsFunc(d.Kept, func(r keptRound) bool { return !r.fits(arms, l.metrics) }) &&
		!slices.ContainsFunc(d.LogWeights, func(v float64) bool { return !(v <= 0) || v < -1e6 })
}
