package experiment

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret/experiment/guard"
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/policy"
)

// TestGuardActionStays checks that the action of a guardrail is an event of the log, and that the
// report names it after the rollback, after the resumption and after a change of the guardrails.
func TestGuardActionStays(t *testing.T) {
	s := newScenario(t)
	const toy = "apply\nname: g\narms: [{name: c, value: 0}, {name: a, value: 1}]\ncontrol: {arm: c, share: 0.5}\n" +
		"metrics: [{name: x, range: [0, 1]}]\nobjective: {goals: [{metric: x}]}\n" +
		"guardrails: [{metric: x, min: 0.9, hard: false, action: rollback}]\nattribution_window: 1h"
	s.run(toy)
	if due := s.state.Due(s.now); len(due) != 0 {
		t.Fatalf("%+v", due)
	}
	p := join.Units{Experiment: "g"}
	version := s.state.Policy("g").Version
	for i := range 200 {
		d := s.state.Policy("g").Decide(itoa(i))
		p.Items = append(p.Items, join.UnitOf(policy.Token{
			Experiment: "g", Version: d.Version, Arm: d.Arm, Propensity: d.Propensity, Unit: d.Unit,
			Time: time.Unix(0, s.now),
		}, nil))
	}
	s.event(KindExposures, p)
	for i := range p.Items {
		p.Items[i].Metrics = map[string]float64{"x": 0}
	}
	s.event(KindFeedback, p)
	if got := s.state.Policy("g").State; got != policy.RolledBack {
		t.Fatalf("the experiment is %s", got)
	}
	var kept int64
	check := func(when string) {
		t.Helper()
		r, err := s.state.Report("g")
		if err != nil {
			t.Fatal(err)
		}
		a := r.Guardrails[0].Acted
		if a == nil || a.Action != "rollback" || a.Version != version {
			t.Fatalf("%s: %+v", when, a)
		}
		if kept == 0 {
			kept = a.Time.UnixNano()
		}
		if a.Time.UnixNano() != kept {
			t.Errorf("%s: the action moved to %v", when, a.Time)
		}
	}
	check("after the rollback")
	due := s.state.Due(s.now + 1)
	if len(due) != 1 || due[0].Kind != KindGuardrail || !strings.Contains(string(due[0].Payload),
		`"metric":"x","action":"rollback","version":1`) || Concerns(due[0].Payload) != "g" {
		t.Fatalf("%+v", due)
	}
	if o := s.apply(due[0]); o.Err != nil {
		t.Error(o.Err)
	}
	if o := s.apply(due[0]); o.Err == nil {
		t.Error("an action was logged twice")
	}
	if due := s.state.Due(s.now + 1); len(due) != 0 {
		t.Errorf("the action is logged again: %+v", due)
	}
	b, err := s.state.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	s.state = NewState()
	if err := s.state.UnmarshalBinary(b); err != nil {
		t.Fatal(err)
	}
	check("after a snapshot")
	if due := s.state.Due(s.now + 1); len(due) != 0 {
		t.Errorf("after a snapshot the action is logged again: %+v", due)
	}
	s.event(KindResume, NameEvent{Experiment: "g"})
	check("after the resumption")
	s.run(strings.Replace(toy, "min: 0.9", "max: 0.9", 1))
	check("after a change of the guardrails")
}

// TestServeIsFollowed folds a log with events of kind serve as a program would whose guardrails see
// no breach: it serves what they say.
func TestServeIsFollowed(t *testing.T) {
	for action, reason := range map[string]string{"rollback": guard.Rollback, "shrink": guard.Shrink} {
		s := newScenario(t)
		s.run("apply\nname: g\narms: [{name: c, value: 0}, {name: a, value: 1}]\ncontrol: {arm: c, share: 0.5}\n" +
			"metrics: [{name: x, range: [0, 1]}]\nobjective: {goals: [{metric: x}]}\n" +
			"guardrails: [{metric: x, min: 0.9, hard: false, action: " + action + "}]\nattribution_window: 1h")
		p := join.Units{Experiment: "g"}
		for i := range 200 {
			d := s.state.Policy("g").Decide(itoa(i))
			p.Items = append(p.Items, join.UnitOf(policy.Token{
				Experiment: "g", Version: d.Version, Arm: d.Arm, Propensity: d.Propensity, Unit: d.Unit,
				Time: time.Unix(0, s.now),
			}, nil))
		}
		s.event(KindExposures, p)
		for i := range p.Items {
			p.Items[i].Metrics = map[string]float64{"x": float64(min(p.Items[i].Arm+i%2, 1)) * 0.1}
		}
		s.event(KindFeedback, p)
		again, seen := NewState(), 0
		for i, e := range s.events {
			logged := Event{Kind: e.Kind, Time: e.Time, Payload: e.Payload}
			if e.Kind == KindServe {
				other := NewState()
				if b, err := again.MarshalBinary(); err != nil || other.UnmarshalBinary(b) != nil {
					t.Fatal(err)
				}
				bad := logged
				seen += bytes.Count(e.Payload, []byte(`"reason":"`+reason))
				bad.Payload = bytes.Replace(e.Payload, []byte(`"reason":"`), []byte(`"reason":"un`), 1)
				if o, err := other.Apply(uint64(i+1), bad); err != nil || o.Err == nil {
					t.Errorf("%s: another reason is accepted: %v", action, err)
				}
				if other.live["g"].Wanted == nil {
					t.Errorf("%s: a refused event has granted what the guardrails ask for", action)
				}
				again.live["g"].Wanted = nil
			}
			if o, err := again.Apply(uint64(i+1), logged); err != nil || o.Err != nil {
				t.Fatalf("%s: event %d, %s: %v %v", action, i+1, e.Kind, err, o.Err)
			}
		}
		got, err := again.Digest()
		want, err2 := s.state.Digest()
		if err != nil || err2 != nil || got != want || seen == 0 {
			t.Errorf("%s: the digest is %s after %d events, want %s: %v %v",
				action, got, len(s.events), want, err, err2)
		}
	}
}
