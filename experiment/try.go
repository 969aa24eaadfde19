package experiment

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/strictjson"
)

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
	if x, y := s.live[t.name], t.state.live[t.name]; x != nil && y != nil {
		x.joiner.Release()
	}
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

// drop gives back the memory of a trial that is not adopted: how much is held must not depend on
// when the garbage collector runs. The trial is not used afterwards.
func (t *trial) drop() {
	if t == nil {
		return
	}
	for _, x := range t.state.live {
		x.joiner.Release()
	}
	for _, k := range t.state.Deleted {
		k.joiner.Release()
	}
}

// Try applies an event to a copy of its experiment and returns it as a log holds it: with what is
// served from then on, as the policy proposes ([Serving]). It returns the error with which Apply
// would refuse it. If the event that it returns is applied next, Apply uses the result: a host that
// tries an event before appending it to the log computes it once.
func (s *State) Try(name string, e Event) (Event, error) {
	t, err := attempt(s, name, e)
	if err != nil {
		return e, err
	}
	s.trial.drop()
	s.trial = t
	return t.event, nil
}

// attempt applies an event to a copy of its experiment, and completes the event.
func attempt(s *State, name string, e Event) (*trial, error) {
	t, err := trying(s, name, e)
	if err == nil {
		t.event, err = e.saying(t.state)
	}
	return t, err
}

// Complete is [State.Try] for an event of [State.Due]. An event that says nothing of a policy is
// complete.
func (s *State) Complete(e Event) (Event, error) {
	if e.Kind != KindRound && e.Kind != KindServe && e.Kind != KindClock {
		return e, nil
	}
	return s.Try(Concerns(e.Payload), e)
}

// Proposal returns what an event of the log says that a policy has proposed, and what the present
// policy proposes in its place. Both are nil if it says of no proposal. The state stays as it is.
func (s *State) Proposal(e Event) (said, now *Serving, err error) {
	var p struct {
		Experiment string   `json:"experiment"`
		Serves     *Serving `json:"serves"`
	}
	if !bytes.Contains(e.Payload, []byte(`"serves"`)) || json.Unmarshal(e.Payload, &p) != nil || p.Serves == nil ||
		p.Serves.Policy == "" {
		return nil, nil, nil
	}
	t, err := trying(s, p.Experiment, e)
	if err != nil {
		return p.Serves, nil, err
	}
	t.drop()
	return p.Serves, t.state.said, nil
}

// Same reports whether two servings have the same shares and the same contextual policy.
func (s *Serving) Same(o *Serving) bool {
	a, err := strictjson.Encode([]any{s.Shares, s.Linear, s.Carried})
	b, err2 := strictjson.Encode([]any{o.Shares, o.Linear, o.Carried})
	return err == nil && err2 == nil && bytes.Equal(a, b)
}

// Step applies an event that is in no log, and then what the guardrails ask for at once. What is
// served is what the policies propose. It returns the events as a log would hold them, and the
// outcome of the first one. It is for simulations and tests, which need no log: a host with a log
// appends an event before it applies it.
func (s *State) Step(e Event) (logged []Event, o Outcome, err error) {
	step := func(e Event) (Outcome, error) {
		s.ask = true
		o, err := s.Apply(s.position+1, e)
		s.ask = false
		if err == nil && o.Err == nil {
			e, err = e.saying(s)
		}
		logged = append(logged, e)
		return o, err
	}
	if o, err = step(e); err != nil {
		return logged, o, err
	}
	for next := o; next.Asks; {
		e, err := NewEvent(KindServe, e.Time, NameEvent{Experiment: o.Experiment})
		if err == nil {
			next, err = step(e)
		}
		if err == nil {
			err = next.Err
		}
		if err != nil {
			return logged, o, err
		}
		o.Renewed = o.Renewed || next.Renewed
	}
	return logged, o, nil
}

// saying returns an event that a state has applied with what the policies were asked for.
func (e Event) saying(by *State) (Event, error) {
	add := func(field string, v any) error {
		b, err := strictjson.Encode(v)
		switch {
		case err != nil:
			return noregret.BadInputf(e.Kind, "%s cannot be written: %w", field, err)
		case len(b) > mostServing:
			return noregret.BadInputf(field, "the policy has %d bytes: want at most %d; use fewer features, buckets "+
				"or arms, or squarecb", len(b), mostServing)
		}
		head := bytes.TrimSuffix(e.Payload, []byte("}"))
		e.Payload = slices.Concat(head, []byte(`,"`+field+`":`), b, []byte("}"))
		return nil
	}
	if by.told != nil {
		if err := add("deployed", by.told); err != nil {
			return e, err
		}
	}
	if e.serves = by.said; by.said == nil {
		return e, nil
	}
	err := add("serves", by.said)
	return e, err
}

// mostServing bounds the JSON of a [Serving], so that an event with it fits into a log.
const mostServing = 15 << 20

// trying applies an event to a copy of its experiment.
func trying(s *State, name string, e Event) (*trial, error) {
	if s.broken != nil {
		return nil, s.broken
	}
	t := NewStateIn(s.memory)
	t.position, t.hidden = s.position, s.hidden
	t.time, t.before, t.jumped, t.scratch, t.ask = s.time, s.before, s.jumped, true, true
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
	if err == nil {
		err = o.Err
	}
	if err == nil && o.Experiment != name {
		err = noregret.BadInputf("experiment", "%q: the event names %q", name, o.Experiment)
	}
	t.ask = false
	out := &trial{e, t, name, o}
	if err != nil {
		out.drop()
		return nil, err
	}
	return out, nil
}
