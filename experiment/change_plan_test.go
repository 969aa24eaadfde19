package experiment

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/definition"
)

// TestTryLeavesOthers tries and then applies a change after the clock has jumped ahead. Every
// experiment notes the jump once, so that the state is the fold of its events.
func TestTryLeavesOthers(t *testing.T) {
	const text = "arms: [{name: a, value: 1}, {name: b, value: 2}]\nmetrics: [{name: m}]\nobjective: {goals: " +
		"[{metric: m}]}"
	s := newScenario(t)
	s.run("apply\nname: one\n" + text)
	s.run("apply\nname: two\n" + text)
	s.run("wait 48h")
	s.run("apply\nname: two\n" + text + "\ndescription: changed")
	if n := s.noted("one", "time went ahead"); n != 1 {
		t.Errorf("one jump of the clock was noted %d times", n)
	}
	s.checkEvery()
}

// TestPlanRefusesWhatReplayWould plans a definition of which YAML's aliases make 30 KB and the log
// would make 2 MB, more than is read from it.
func TestPlanRefusesWhatReplayWould(t *testing.T) {
	text := "name: x\nmetrics: [{name: m}]\nobjective: {goals: [{metric: m}]}\narms:\n- name: a0\n  value: &long " +
		strings.Repeat("x", 30_000) + "\n"
	for i := range 70 {
		text += fmt.Sprintf("- {name: b%d, value: *long}\n", i)
	}
	d, err := definition.Parse("d", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	_, err = NewState().Plan(d, 1)
	if err == nil || !strings.Contains(err.Error(), "the definition as JSON: 21") {
		t.Errorf("got %v, want an error about the size", err)
	}
}

// TestPlanOnce checks that trying and applying a planned event does not parse the definition again
// and builds a new experiment's learner only once.
func TestPlanOnce(t *testing.T) {
	made := 0
	makeLearner = func(r *roster, store *compare.Store) (learner, error) {
		made++
		return newLearner(r, store)
	}
	defer func() { makeLearner = newLearner }()
	const text = "name: x\narms: [{name: a, value: 1}, {name: b, value: 2}]\nmetrics: [{name: m}]\n" +
		"objective: {goals: [{metric: m}]}\n"
	s, position := NewState(), uint64(0)
	for _, c := range []struct {
		text string
		most int
	}{
		{text, 1},
		{text + "description: changed", 1}, // for the copy
		// for the copy and the new one
		{text + "drift: {memory: 10}", 2},
		{text + "drift: {memory: 10}\nhold_back: 0", 0}, // no change
	} {
		made = 0
		d, err := definition.Parse("d", []byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		if made != 0 {
			t.Errorf("parsing a definition built %d learners", made)
		}
		events, err := s.Plan(d, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			payload := bytes.Clone(e.Payload)
			clear(e.Payload) // parsing it again would fail
			e, err := s.Try("x", e)
			if err != nil {
				t.Fatal(err)
			}
			position++
			if o, err := s.Apply(position, e); err != nil || o.Err != nil {
				t.Fatal(err, o.Err)
			}
			copy(e.Payload, payload)
		}
		if made > c.most {
			t.Errorf("%q: %d learners, want at most %d", c.text, made, c.most)
		}
	}
}

// TestTrialIsForgotten checks that the result of Try is not used if another event is applied first:
// the tried event says what its version serves, which is then another version.
func TestTrialIsForgotten(t *testing.T) {
	const text = "apply\nname: x\narms: [{name: a, value: 1}, {name: b, value: 2}]\nmetrics: [{name: m}]\nobjective: " +
		"{goals: [{metric: m}]}\n"
	s := newScenario(t)
	s.run(text)
	pause, err := NewEvent(KindPause, s.now, NameEvent{Experiment: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if pause, err = s.state.Try("x", pause); err != nil {
		t.Fatal(err)
	}
	s.run("arm.add c 3")
	s.events = append(s.events, pause)
	if o, err := s.state.Apply(s.state.Position()+1, pause); err != nil || o.Err == nil ||
		!strings.Contains(o.Err.Error(), "serves.version") {
		t.Errorf("an event of what was served before: %v %v", err, o.Err)
	}
	if n := len(s.state.Policy("x").Arms); n != 3 {
		t.Errorf("%d arms, want 3", n)
	}
	s.checkEvery()
}
