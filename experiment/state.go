package experiment

import (
	"maps"
	"slices"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/experiment/guard"
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/internal/pages"
	"github.com/noregret/noregret/policy"
)

// State is the state of all experiments, a pure fold over events: create one with [NewState] and
// apply every event of the log in order. The same events give the same state, bit for bit, on every
// machine. A State is not safe for concurrent use; the policies it returns are.
type State struct {
	// Deleted are the experiments that were deleted and can be restored.
	Deleted Deleted

	position uint64
	hidden   uint64 // the events before it that have no public position
	time     int64  // of the last public event
	before   int64  // the time before the latest jump ahead, 0 if there was none recently
	jumped   int64  // the time right after the jump
	live     map[string]*experimentState
	gone     map[string]uint64 // the last version of names that were deleted
	secret   map[string]bool   // the names in gone that were private
	trail    []api.AuditEntry
	leads    *LeadsEvent // of the node that led last, nil for none
	broken   error       // the defect found while applying an event
	trial    *trial      // the last event passed to Try, nil for none
	scratch  bool        // the state is dropped if an event is refused
	ask      bool        // events are being made: what they serve is asked of the policies
	said     *Serving    // what the last event says, nil for nothing
	told     []float64   // what it says of what the policy would deploy
	memory   *pages.Pool // of the units that wait for feedback, nil without a bound
}

// NewState returns the state before the first event.
func NewState() *State { return NewStateIn(nil) }

// NewStateIn returns the state before the first event, whose units that wait for feedback use the
// pool: those that do not fit into its memory are in its file. The state does not depend on the
// pool. If the file cannot be read, [State.Apply] and every other method that needs it return an
// error that wraps a [pages.ReadError]; a state that is made anew continues.
func NewStateIn(memory *pages.Pool) *State {
	return &State{
		live: map[string]*experimentState{}, Deleted: Deleted{}, gone: map[string]uint64{},
		secret: map[string]bool{}, memory: memory,
	}
}

// Position returns the position of the last event applied.
func (s *State) Position() uint64 { return s.position }

// Time returns the latest time of a public event, in nanoseconds since 1970. Time does not go back:
// an earlier event counts as having happened then. The only exception is a jump ahead of more than
// a day, which is undone if within a day an event arrives from an hour or more before.
func (s *State) Time() int64 { return s.time }

// Names lists the experiments in order.
func (s *State) Names() []string { return slices.Sorted(maps.Keys(s.live)) }

// Policy returns the policy in force of an experiment, or nil.
func (s *State) Policy(name string) *policy.Policy {
	if x := s.live[name]; x != nil {
		return x.rounds.policy
	}
	return nil
}

// Definition returns the definition of an experiment, or nil. The caller must not change it.
func (s *State) Definition(name string) *definition.Definition {
	if x := s.live[name]; x != nil {
		return x.roster.def
	}
	return nil
}

// Outcome is the result of an event.
type Outcome struct {
	// Experiment is the experiment that the event concerned.
	Experiment string
	// Items are the results of the event's items, in their order.
	Items []api.ItemResult
	// Opened is the number of units that began to wait for feedback.
	Opened int64
	// Renewed reports whether the experiment's policy changed, or the experiment was created or
	// deleted.
	Renewed bool
	// Asks reports whether the guardrails ask for another version: [State.Due] has the event that
	// begins it, which a host appends at once.
	Asks bool
	// Err is the error if the event was refused as a whole. The event has then only advanced the
	// position and the time, with the effects of time: windows that close, what is learned from
	// them and the actions that follow.
	Err error
}

// Apply applies the event at a position, which must follow the last one. An event that breaks a
// rule or cannot be decoded is refused in the [Outcome]: that is a result like any other, the same
// on every replica.
//
// The error reports a wrong position, which changes nothing, or a defect of this program found in
// the middle of an event. After a defect the state is inconsistent: it refuses every further event
// and every snapshot, and the host must accept no more events ([State.Broken]). The event stays in
// the log for a program without the defect.
func (s *State) Apply(position uint64, e Event) (o Outcome, err error) {
	if s.broken != nil {
		return Outcome{}, s.broken
	}
	defer func() {
		if r := recover(); r != nil {
			if lost, ok := r.(*pages.ReadError); ok {
				s.broken = noregret.Errorf(noregret.Internal, "fold", "event %d (%s): %w", position, e.Kind, lost)
				o, err = Outcome{}, s.broken
				return
			}
			s.broken = noregret.Errorf(noregret.Internal, "fold",
				"event %d (%s): %v: a defect of this program; the state is no longer consistent", position, e.Kind, r)
			o, err = Outcome{}, s.broken
		}
	}()
	if position != s.position+1 {
		return Outcome{}, noregret.Errorf(noregret.Internal, "position",
			"%d after %d: want events in order without a gap", position, s.position)
	}
	s.position, s.said, s.told = position, nil, nil
	if IsHidden(e.Kind) {
		s.trial.drop()
		s.trial = nil
		if isNode(e.Kind) {
			return applyNode(s, e), nil
		}
		return applyPrivate(s, e), nil
	}
	s.advanceClock(e.Time)
	if t := s.trial; t != nil && t.of(position, e) {
		o = s.adopt(t)
	} else {
		s.trial.drop()
		o = s.dispatch(e)
	}
	s.trial = nil
	addAudit(s, position, &e, &o)
	return o, nil
}

// forwardJump is the least advance of the clock between two events that counts as a jump, and
// backwardJump how far the clock must then go back to be corrected.
const (
	forwardJump  = int64(24 * time.Hour)
	backwardJump = int64(time.Hour)
)

// advanceClock sets the time of an event. Time does not go back, with one exception: if it jumped
// ahead by more than a day, and within a day after that an event arrives that is later than the
// jump's beginning and an hour or more before now, then the clock was wrong and has been corrected.
// What happened meanwhile counts as having happened now; closed windows stay closed.
func (s *State) advanceClock(now int64) {
	switch {
	case s.before > 0 && now >= s.before && now <= s.time-backwardJump:
		text := "the clock went back by " + time.Duration(s.time-now).String() + ": it had been ahead"
		s.time, s.before, s.jumped = now, 0, 0
		for _, name := range s.Names() {
			s.live[name].rewind(now)
			s.live[name].note(now, "%s", text)
		}
		for _, name := range s.Deleted.Names() {
			s.Deleted[name].rewind(now)
		}
		return
	case now <= s.time:
		return
	case s.time > 0 && now-s.time > forwardJump:
		s.before, s.jumped = s.time, now
		text := "time went ahead by " + time.Duration(now-s.time).String() + " from one event to the next"
		for _, name := range s.Names() {
			s.live[name].note(now, "%s", text)
		}
	case now-s.jumped > forwardJump:
		s.before, s.jumped = 0, 0
	}
	s.time = now
}

// Broken returns the reason why the state is unusable, or nil: see [State.Apply].
func (s *State) Broken() error { return s.broken }

func (s *State) dispatch(e Event) Outcome {
	switch e.Kind {
	case KindDefinition:
		return s.define(e)
	case KindExposures, KindFeedback:
		p := e.units
		if p == nil {
			p = new(join.Units)
			if err := e.openUnits(p); err != nil {
				return Outcome{Err: err}
			}
		}
		return s.with(p.Experiment, func(x *experimentState) Outcome {
			apply := x.joiner.Report
			if e.Kind == KindExposures {
				apply = x.joiner.Expose
			}
			return outcome(apply(x.joinInput(s.time), p))
		})
	case KindAggregate:
		var p api.Aggregate
		if err := e.open(&p); err != nil {
			return Outcome{Err: err}
		}
		return s.with(p.Experiment, func(x *experimentState) Outcome {
			return outcome(x.joiner.Aggregate(x.joinInput(s.time), &p))
		})
	case KindAddArm, KindRetireArm, KindVetoArm, KindLiftArm:
		var p ArmEvent
		if err := e.open(&p); err != nil {
			return Outcome{Err: err}
		}
		return s.change(p.Experiment, p.Serves, func(x *experimentState) error {
			return x.armEvent(e.Kind, &p, s.time)
		})
	case KindPrivacy, KindRelease:
		return s.privateEvent(e)
	case KindGuardrail:
		var p GuardEvent
		if err := e.open(&p); err != nil {
			return Outcome{Err: err}
		}
		return s.with(p.Experiment, func(x *experimentState) Outcome {
			return Outcome{Err: x.guards.Logged(&guard.Action{
				Metric: p.Metric, Action: p.Action, Version: p.Version, Time: p.Time,
			})}
		})
	case KindAudit:
		return applyAudit(&e)
	case KindConclude:
		var p ConcludeEvent
		if err := e.open(&p); err != nil {
			return Outcome{Err: err}
		}
		return s.change(p.Experiment, p.Serves, func(x *experimentState) error {
			return ending{x}.conclude(&p, s.time)
		})
	case KindDelete, KindRestore, KindRound, KindServe, KindClock, KindPause, KindResume, KindRollback:
		var p NameEvent
		if err := e.open(&p); err != nil {
			return Outcome{Err: err}
		}
		return s.nameEvent(e.Kind, &p)
	}
	return Outcome{Err: noregret.BadInputf(e.Kind,
		"an event of an unknown kind: a newer version of noregret may have written it")}
}

// joinInput returns what the joiner reads of an experiment at a time.
func (x *experimentState) joinInput(now int64) *join.Input {
	return &join.Input{Definition: x.roster.def, Policy: x.rounds.policy, Encoder: x.roster.encoder, Now: now}
}

// outcome returns the joiner's result as that of an event.
func outcome(r join.Result, err error) Outcome {
	return Outcome{Items: r.Items, Opened: r.Opened, Err: err}
}

// with applies an event to an existing experiment.
func (s *State) with(name string, f func(x *experimentState) Outcome) Outcome {
	x := s.live[name]
	if x == nil {
		return Outcome{Experiment: name, Err: s.Deleted.NotThere(name)}
	}
	before := x.rounds.Version
	x.advance(s.time)
	o := f(x)
	s.said = x.event.says
	x.joiner.EndEvent(x.roster.def)
	x.evaluateGuardrails(s.time)
	x.event = consequence{}
	o.Asks = x.Wanted != nil
	o.Experiment, o.Renewed = name, x.rounds.Version != before
	return o
}

// change applies an event that either succeeds as a whole or changes nothing, and says what is
// served from then on.
func (s *State) change(name string, says *Serving, f func(x *experimentState) error) Outcome {
	return s.with(name, func(x *experimentState) Outcome {
		if x.Status == policy.Concluded {
			return Outcome{Err: errConcluded}
		}
		x.event = consequence{ask: s.ask, says: says}
		if s.scratch {
			return Outcome{Err: f(x)}
		}
		y, err := x.fork()
		if err == nil {
			err = f(y)
		}
		if err != nil {
			return Outcome{Err: err}
		}
		x.joiner.Release()
		*x = *y
		return Outcome{}
	})
}

func (s *State) define(e Event) Outcome {
	var p DefinitionEvent
	if e.parsed != nil {
		p.Experiment, p.Serves = e.parsed.Name, e.serves
	} else if err := e.open(&p); err != nil {
		return Outcome{Err: err}
	}
	d, err := e.parsed, error(nil)
	if d == nil {
		d, err = definition.ParseStored(p.Experiment, p.Definition)
	}
	if err == nil && d.Name != p.Experiment {
		err = noregret.BadInputf("name", "%q: the event names %q", d.Name, p.Experiment)
	}
	if err != nil {
		return Outcome{Experiment: p.Experiment, Err: err}
	}
	if s.live[d.Name] != nil {
		return s.change(d.Name, p.Serves, func(x *experimentState) error { return x.redefine(d, s.time) })
	}
	if k := s.Deleted[d.Name]; k != nil {
		return Outcome{Experiment: d.Name, Err: noregret.BadInputf("name",
			"%q is the name of an experiment that was deleted and can be restored until %s: restore it, delete it for "+
				"good, or take another name", d.Name, time.Unix(0, k.deletion.Until).UTC().Format(time.RFC3339))}
	}
	x, err := newExperiment(s.memory, d, s.gone[d.Name], s.time, consequence{ask: s.ask, says: p.Serves})
	if err != nil {
		return Outcome{Experiment: d.Name, Err: err}
	}
	s.said, x.event = x.event.says, consequence{}
	s.live[d.Name] = x
	return Outcome{Experiment: d.Name, Renewed: true}
}

func (s *State) nameEvent(kind string, p *NameEvent) Outcome {
	switch kind {
	case KindDelete:
		return deleteIn(s, p)
	case KindRestore:
		return restoreIn(s, p)
	}
	return s.with(p.Experiment, func(x *experimentState) Outcome {
		if x.Status == policy.Concluded && kind != KindRound && kind != KindClock {
			return Outcome{Err: errConcluded}
		}
		x.event = consequence{ask: s.ask, says: p.Serves}
		if kind != KindClock && !s.ask { // before anything changes
			if p.Serves == nil {
				return Outcome{Err: ErrUnsaid}
			}
			if err := x.fits(p.Serves); err != nil {
				return Outcome{Err: err}
			}
		}
		switch kind {
		case KindServe:
			return Outcome{Err: x.serve(s.time)}
		case KindRound:
			return Outcome{Err: x.closeRound(s.time)}
		case KindPause:
			return Outcome{Err: x.pause(s.time, p.Reason)}
		case KindResume:
			return Outcome{Err: x.resume(s.time, p.Reason)}
		case KindRollback:
			return Outcome{Err: x.rollback(s.time, "rolled back", p.Reason)}
		}
		return Outcome{Err: x.tell(s, p)} // KindClock: the time has already been advanced
	})
}

// Due returns the events that time has made possible: for rounds that may close, for versions whose
// window has closed, for what guardrails have done since or ask for, and for experiments that were
// deleted and whose grace time is over. The host completes them by [State.Try], appends them, and
// asks again until there are none.
func (s *State) Due(now int64) []Event {
	out := s.Deleted.overdue(now)
	for _, name := range s.Names() {
		x, kind := s.live[name], ""
		for _, p := range x.guards.events(name, true) {
			if e, err := NewEvent(KindGuardrail, now, p); err == nil {
				out = append(out, e)
			}
		}
		switch {
		case x.Wanted != nil: // a round comes after it
			kind = KindServe
		case x.due(now):
			kind = KindRound
		case x.joiner.Due(x.roster.def, now), x.learning.Untold:
			kind = KindClock
		default:
			continue
		}
		e, err := NewEvent(kind, now, NameEvent{Experiment: name})
		if err != nil {
			continue // names can always be written
		}
		out = append(out, e)
	}
	return out
}

// Asked returns those of the events of [State.Due] that guardrails ask for.
func (s *State) Asked(now int64) (out []Event) {
	for _, name := range s.Names() {
		if s.live[name].Wanted == nil {
			continue
		}
		e, err := NewEvent(KindServe, now, NameEvent{Experiment: name})
		if err == nil { // names can always be written
			out = append(out, e)
		}
	}
	return out
}
