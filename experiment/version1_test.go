package experiment

import (
	"bytes"
	"os"
	"testing"
	"time"
)

// TestStateVersion1 opens a state that an earlier version has saved: it has the experiments of the
// scenarios' events, and goes on as a state of today.
func TestStateVersion1(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/state1.json")
	if err != nil {
		t.Fatal(err)
	}
	var old State
	if err := old.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	s := NewState()
	for i, e := range scenarioEvents(t) {
		if _, err := s.Apply(uint64(i+1), e); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range s.Names() {
		x, y := old.live[name], s.live[name]
		if x == nil {
			t.Fatalf("%s is missing", name)
		}
		if x.Version != y.Version || len(x.Arms) != len(y.Arms) || x.Feedback != y.Feedback {
			t.Errorf("%s: version %d with %d arms, %+v", name, x.Version, len(x.Arms), x.Feedback)
		}
		if _, err := old.Report(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	again, err := old.MarshalBinary()
	if err != nil || bytes.Equal(data, again) {
		t.Errorf("the saved state is of today (%v)", err)
	}
	// It goes on, and is then saved as today's states are.
	var next State
	if err := next.UnmarshalBinary(again); err != nil {
		t.Fatal(err)
	}
	for _, name := range next.Names() {
		for _, s := range []*State{&old, &next} {
			e, err := NewEvent(KindClock, s.time+int64(time.Hour), NameEvent{Experiment: name})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Apply(s.Position()+1, e); err != nil {
				t.Fatal(err)
			}
		}
	}
	one, err := old.Digest()
	if two, err2 := next.Digest(); err != nil || err2 != nil || one != two {
		t.Errorf("%s became %s (%v, %v)", one, two, err, err2)
	}
}
