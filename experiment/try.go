package experiment

import "github.com/noregret/noregret"

// trial is an event passed to Try, with its result. If the same event is applied next, the result
// is used instead of being computed again.
type trial struct {
	event   Event
	state   *State // only the experiment, after the event
	name    string
	outcome Outcome
}

// of reports whether an event at a position is the tried one.
func (t *trial) of(position uint64, e Event) bool {
	return position == t.state.position && e.Kind == t.event.Kind && e.Time == t.event.Time &&
		e.parsed == t.event.parsed && len(e.Payload) == len(t.event.Payload) && len(e.Payload) > 0 &&
		&e.Payload[0] == &t.event.Payload[0]
}

// adopt installs the result of the tried event. The caller has advanced the clock.
func (s *State) adopt(t *trial) Outcome {
	moveName(s.live, t.state.live, t.name)
	moveName(s.Deleted, t.state.Deleted, t.name)
	if last, ok := t.state.gone[t.name]; ok {
		s.gone[t.name] = last
	}
	if t.state.secret[t.name] {
		s.secret[t.name] = true
	}
	return t.outcome
}

// moveName makes what a map has of a name that of another map.
func moveName[V any](to, from map[string]V, name string) {
	if x, ok := from[name]; ok {
		to[name] = x
	} else {
		delete(to, name)
	}
}

// Try applies an event to a copy of its experiment and returns the error with which Apply would
// refuse it, or nil. If the same event is applied next, Apply uses the result: a host that tries an
// event before appending it to the log computes it once.
func (s *State) Try(name string, e Event) error {
	t, err := attempt(s, name, e)
	if err == nil {
		s.trial = t
	}
	return err
}

// attempt applies an event to a copy of its experiment.
func attempt(s *State, name string, e Event) (*trial, error) {
	if s.broken != nil {
		return nil, s.broken
	}
	t := NewStateIn(s.memory)
	t.position, t.hidden = s.position, s.hidden
	t.time, t.before, t.jumped, t.scratch = s.time, s.before, s.jumped, true
	if last, ok := s.gone[name]; ok {
		t.gone[name] = last
	}
	if s.secret[name] {
		t.secret[name] = true
	}
	if x := s.live[name]; x != nil {
		y, err := x.fork()
		if err != nil {
			return nil, err
		}
		t.live[name] = y
	}
	if k := s.Deleted[name]; k != nil {
		y, err := k.fork()
		if err != nil {
			return nil, err
		}
		t.Deleted[name] = &deletedExperiment{y, k.deletion}
	}
	o, err := t.Apply(s.position+1, e)
	if err != nil {
		return nil, err
	}
	if o.Err != nil {
		return nil, o.Err
	}
	if o.Experiment != name {
		return nil, noregret.BadInputf("experiment", "%q: the event names %q", name, o.Experiment)
	}
	return &trial{e, t, name, o}, nil
}
