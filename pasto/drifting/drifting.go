package drifting

import (
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/forget"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/confident"
	"github.com/noregret/noregret/pasto/internal/mixed"
)

// MostRounds bounds the rounds of an interval and of a window.
const MostRounds = 100_000

// checkRule returns an error unless a learner can forget by the rule. It learns everything anew, or
// single arms: there are no steps to keep, and no old learner that serves meanwhile.
func checkRule(r forget.Rule) error {
	switch {
	case r.Kind == forget.None:
		return noregret.BadInputf("forget", "%s: want a rule that forgets something", r)
	case r.Rounds > MostRounds:
		return noregret.BadInputf("rounds", "%d: want 1 to %d", r.Rounds, MostRounds)
	case r.Kind == forget.Adaptive && r.Rounds != 0, r.Mode == forget.Steps, r.Warm != 0:
		return noregret.BadInputf("forget", "%s: want adaptive alone, and restarts in full without warm", r)
	}
	return r.Validate()
}

// Learner is the default learner for means that change: a [confident.Learner] of which a part of
// what it has observed no longer counts. What it serves is computed by the same rules from what
// still counts, so that bounds and promises are those of as many units as are left. The change test
// of that learner goes on looking for arms that have changed (ChangeThreshold of its options),
// except that [forget.Detector] takes its place.
//
// Promise is about means that do not change within the memory: between two restarts, of all arms or
// of one, all rounds hold the guardrails together with the stated probability, and with the other
// kinds those of a memory. A discounted past counts for no more units than its weights sum to, and
// so for fewer than its sampling error is worth.
//
// [forget.Restart] begins anew after the interval: between two restarts the learner is a fresh one,
// bit for bit. [forget.Window] keeps its rounds and up to a 64th more, and learns from all of them
// again in one of 64 rounds. [forget.Detector] has one detector for each metric of each arm, and
// begins the arms anew whose metrics have changed. [forget.Adaptive] chooses among discounts of
// rates 0 and 2⁻¹⁰ to 2⁻³ by how well each has predicted the values of the rounds so far; all of
// them learn from the same served rounds. A discount costs a round O(K·M), and O(K²) up to 512
// arms, and Adaptive nine times that and nine times the memory. A Learner is not safe for
// concurrent use.
type Learner struct {
	*confident.Learner
	in        confident.Inside
	rule      forget.Rule
	d         state
	metrics   int
	models    []*mixed.Model // the candidates of Adaptive
	skip      []bool         // K: arms that some candidate does not know
	losses    []float64
	memory    *forget.Memory // with K·M series of residuals
	residuals []float64      // K: the largest of the round
	alarmed   []int
	text      string
}

// state is the state of a [Learner]. That of the learner that it embeds is in it in snapshots only.
type state struct {
	Learner    confident.State
	Others     []mixed.State // of Adaptive, without the first candidate, which is the learner's
	LogWeights []float64     // of Adaptive
	Leader     int
	Kept       []keptRound        // of Window
	Memory     forget.MemoryState // in snapshots
	Variation  variation
}

// New makes the default learner on K arms, of these options, for means that change. It returns an
// error of code bad_input for a rule by which it cannot forget: that of [forget.None], or restarts
// that keep something.
func New(f pasto.Objective, arms int, o confident.Options, r forget.Rule) (*Learner, error) {
	if err := checkRule(r); err != nil {
		return nil, err
	}
	if r.Kind == forget.Detector {
		o.ChangeThreshold = 0
	}
	inner, err := confident.New(f, arms, o)
	if err != nil {
		return nil, err
	}
	l := &Learner{Learner: inner, in: inner.Inside(mixed.Key{}), rule: r, metrics: f.Dim()}
	l.text = fmt.Sprintf("%s, forgets by %s", inner, r)
	if r.Kind == forget.Adaptive {
		l.d.Others, l.d.LogWeights = make([]mixed.State, candidates-1), make([]float64, candidates)
		for i := range l.d.Others {
			l.d.Others[i].Grow(arms, l.metrics)
		}
	}
	if l.memory, err = forget.NewMemory(r, arms*l.metrics); err != nil {
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
	switch l.rule.Kind {
	case forget.Adaptive:
		l.models = l.models[:0]
		for i := range candidates {
			l.models = append(l.models, mixed.New(l.in.Model().Problem, l.candidate(i)))
			l.models[i].Scored = true
		}
		l.follow(l.d.Leader)
	case forget.Detector:
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
	l.memory.Next()
	l.d.Variation.add(l.in, obs)
	changed := 0
	switch l.rule.Kind {
	case forget.Adaptive:
		changed = l.adapt(obs)
	case forget.Window:
		changed = l.slide(obs)
	case forget.Discount:
		if lost := l.in.Model().Discount(l.rule.Keep(), s.Active); len(lost) > 0 {
			l.memory.Note(lost, "unserved", 0)
		}
		fallthrough
	default:
		changed = l.take(obs)
	}
	l.in.End(changed)
	if memory := l.Memory(); l.rule.Kind != forget.Restart && memory > 0 {
		s.Next = min(s.Next, s.T+max(int(memory/pace), 1))
	}
	if l.memory.Due() {
		l.in.Restart()
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
	if len(l.alarmed) > 0 {
		residual := 0.0
		for _, k := range l.alarmed {
			residual = max(residual, l.residuals[k])
		}
		l.in.Model().Begin(l.alarmed)
		l.memory.Alarm(l.alarmed, residual)
		return len(l.alarmed)
	}
	arms := l.in.Model().Changed()
	if len(arms) > 0 {
		l.memory.Note(arms, "change", 0)
	}
	return len(arms)
}

// detect passes a residual of the round to its detector.
func (l *Learner) detect(k, i int, z float64) {
	l.residuals[k] = max(l.residuals[k], math.Abs(z))
	changed, err := l.memory.Detect(k*l.metrics+i, z)
	if err != nil || !changed || !l.in.State().Active[k] {
		return
	}
	if n := len(l.alarmed); n == 0 || l.alarmed[n-1] != k {
		l.alarmed = append(l.alarmed, k)
	}
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
	l.memory.Note(arms, "told", 0)
	l.in.End(len(arms))
	return nil
}

// Events returns the last hundred times at which something was forgotten at once, the oldest first,
// and how many there have been in all. Their causes are "interval", the name of a detector,
// "change" for the change test of the learner, "unserved" for arms of which a discount has left
// nothing, "told" by [Learner.Begin], and "memory" where [forget.Adaptive] has chosen another
// memory, whose number of rounds is the statistic (0 for all).
func (l *Learner) Events() (last []forget.Event, count int) { return l.memory.Events() }

// Memory returns the number of rounds that what is known now is worth: the sum of their weights.
func (l *Learner) Memory() float64 {
	s := l.in.State()
	switch l.rule.Kind {
	case forget.Restart:
		return float64(s.T - s.Began)
	case forget.Adaptive:
		return forget.Discounted(candidateRate(l.d.Leader), s.T)
	case forget.Detector:
		most := 0.0
		for k, active := range s.Active {
			if active {
				most = max(most, l.in.Model().Rounds(k))
			}
		}
		return most
	}
	return l.memory.Worth()
}

// Rule returns how the learner forgets.
func (l *Learner) Rule() forget.Rule { return l.rule }

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
	if err := l.memory.Grow(l.Arms() * l.metrics); err != nil {
		return k, err
	}
	l.prepare()
	return k, nil
}

// MarshalBinary implements [pasto.Learner].
func (l *Learner) MarshalBinary() ([]byte, error) {
	d := l.d
	d.Learner = *l.in.State()
	var err error
	if d.Memory, err = l.memory.State(); err != nil {
		return nil, err
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
	memory, err := l.memory.Restore(d.Memory, arms*l.metrics)
	if err != nil {
		return err
	}
	if err := memory.Grow(arms * l.metrics); err != nil {
		return err
	}
	s := d.Learner
	d.Learner, d.Memory = confident.State{}, forget.MemoryState{}
	l.d, l.memory = d, memory
	l.in.Resume(s)
	l.prepare()
	return nil
}

// fits reports whether d, without its memory, is a state that the learner can be in with so many
// arms.
func (l *Learner) fits(d *state, arms int) bool {
	s, discounts := &d.Learner, l.rule.Kind == forget.Discount || l.rule.Kind == forget.Adaptive
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
		!d.Variation.fits(arms) || l.rule.Kind != forget.Window && len(d.Kept) > 0 {
		return false
	}
	return !slices.ContainsFunc(d.Kept, func(r keptRound) bool { return !r.fits(arms, l.metrics) }) &&
		!slices.ContainsFunc(d.LogWeights, func(v float64) bool { return !(v <= 0) || v < -1e6 })
}
