package experiment

import (
	"fmt"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/internal/testsize"
)

// TestLongLife bumps the version many times. The memory stays bounded, a new stream begins when the
// chain of links is long, old versions can no longer be explained, and a snapshot keeps all of it.
func TestLongLife(t *testing.T) {
	testsize.NoRace(t)
	n := testsize.Of(1000, 100)
	versionCells = 200 * n
	defer func() { versionCells = 200_000 }()
	s := newScenario(t)
	var arms strings.Builder
	for i := range n {
		fmt.Fprintf(&arms, "\n  - {name: a%d, value: %d}", i, i)
	}
	s.run("apply\nname: long\narms:" + arms.String() +
		"\nmetrics: [{name: y}]\npolicy: {kind: fixed, split: {a0: 0.5, a1: 0.3, a2: 0.2}}\nstickiness: unit\nround: " +
		"{length: 1m}\nattribution_window: 1m")
	x := s.state.live["long"]
	if keepVersions(len(x.roster.Arms)) != 200 {
		t.Fatalf("%d versions of %d arms are kept", keepVersions(len(x.roster.Arms)), n)
	}
	s.decide("u")
	token := s.tokens["u"]
	streams, last, moved := map[string]bool{}, s.decide("u").Name, 0
	for range 105 {
		s.run("pause")
		s.run("resume")
		p := s.state.Policy("long")
		streams[p.Stream] = true
		if len(p.Links) > 100 {
			t.Fatalf("%d links", len(p.Links))
		}
		if d := s.decide("u"); d.Name != last {
			last = d.Name
			moved++
		}
	}
	if x = s.state.live["long"]; len(x.rounds.Versions) != 200 || len(x.Notes) != keepNotes || len(streams) != 3 ||
		moved > 2 {
		t.Errorf("%d versions, %d notes, streams %v, the unit moved %d times", len(x.rounds.Versions), len(x.Notes),
			streams,
			moved)
	}
	most := min(20_000/n, 200) // versions in a report
	if n == 1000 {
		most = 32
	}
	r, err := s.state.Report("long")
	if err != nil || len(r.History) != most || r.History[most-1].Version != x.rounds.Version ||
		r.History[0].Version != x.rounds.Versions[0].Version {
		t.Errorf("%d versions in the report, %v", len(r.History), err)
	}
	for i := 1; i < len(r.History); i++ {
		if r.History[i].Version <= r.History[i-1].Version {
			t.Errorf("version %d after %d in the history", r.History[i].Version, r.History[i-1].Version)
		}
	}
	if _, err := s.state.Explain(token); noregret.CodeOf(err) != noregret.NotFound {
		t.Errorf("explaining an old version: %v", err)
	}
	b, err := s.state.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var again State
	if err := again.UnmarshalBinary(b); err != nil {
		t.Fatal(err)
	}
	one, err := s.state.Digest()
	if two, err2 := again.Digest(); err != nil || err2 != nil || one != two {
		t.Errorf("%s became %s, %v %v", one, two, err, err2)
	}
}

// TestRecent lets many rounds pass. The rounds kept for teaching a new learner are merged without
// losing units, and a changed objective is learned from them at once.
func TestRecent(t *testing.T) {
	s := newScenario(t)
	definition := func(goal string) string {
		return "apply\nname: recent\narms: [{name: a, value: 1}, {name: b, value: 2}]\nmetrics: [{name: y}, {name: " +
			"z}]\n" +
			"objective: {goals: [{metric: " + goal + "}]}\nround: {length: 1m}\nattribution_window: 1m"
	}
	s.run(definition("y"))
	for round := range 80 {
		s.simulate([]string{"simulate", fmt.Sprint(round * 30), "30", "0.1", "y=a:1,b:0", "z=a:0,b:1"})
		s.run("wait 2m")
		s.run("due")
	}
	x := s.state.live["recent"]
	n := int64(0)
	for i := range x.learning.Recent {
		for k := range x.learning.Recent[i].Stats {
			n += x.learning.Recent[i].Stats[k].Units
		}
	}
	if len(x.learning.Recent) != keepRecent || n != x.health.Matured[0] {
		t.Errorf("%d rounds with %d units are kept, %d have matured", len(x.learning.Recent), n, x.health.Matured[0])
	}
	mixture := func() float64 { return s.state.Policy("recent").Mixture()[0] }
	before := mixture()
	s.run(definition("z"))
	if after := mixture(); before < .8 || after > .3 {
		t.Errorf("the share of a was %v for y, and is %v for z", before, after)
	}
	s.check()
}

// TestSourcesBounded checks that the number of sources is limited and that one more is refused.
func TestSourcesBounded(t *testing.T) {
	s := newScenario(t)
	s.run("apply\nname: x\narms: [{name: a, value: 1}]\nmetrics: [{name: y}]\nobjective: {goals: [{metric: y}]}")
	for i := range 10_000 + 1 {
		o := s.event(KindAggregate, api.Aggregate{
			Experiment: "x", Source: fmt.Sprint("s", i), Sequence: 1,
			Items: []api.AggregateItem{{Version: 1, Arm: "a", Units: 1}},
		})
		if want := []api.ItemStatus{api.Accepted, api.Rejected}[i/10_000]; o.Items[0].Status != want {
			t.Fatalf("source %d: %+v", i, o.Items[0])
		}
	}
}

// TestFixedSplitMoves checks that one definition can move a fixed split from all on one arm to all
// on another.
func TestFixedSplitMoves(t *testing.T) {
	s := newScenario(t)
	definition := func(arm string, split string) string {
		return "apply\nname: x\narms: [" + arm + "]\nmetrics: [{name: y}]\npolicy: {kind: fixed, split: {" + split +
			"}}"
	}
	for _, step := range []struct{ arms, split, want string }{
		{"{name: a, value: 1}", "a: 1", "map[a:1]"},
		{"{name: b, value: 1}", "b: 1", "map[b:1]"},
		{"{name: b, value: 1}, {name: c, value: 2}", "b: 0.25, c: 0.75", "map[b:0.25 c:0.75]"},
		{"{name: c, value: 2}", "c: 1", "map[c:1]"},
	} {
		if out := s.run(definition(step.arms, step.split)); strings.Contains(out, "error") {
			t.Fatalf("%s: %s", step.split, out)
		}
		r, err := s.state.Report("x")
		if err != nil || fmt.Sprint(r.Mixture) != step.want {
			t.Errorf("%s: %v, %v", step.split, r.Mixture, err)
		}
	}
	s.check()
}
