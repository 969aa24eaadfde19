package experiment

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/policy"
)

func init() { testsize.Rapid(6) }

// TestFold applies random events, valid and invalid, to four experiments. The state never fails,
// its counters add up, and a second fold with snapshots in between gives the same bytes.
func TestFold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := newScenario(t)
		bandit := rapid.SampledFrom([]string{"thompson", "ucb", "kl-ucb", "tsallis-inf"}).Draw(t, "bandit")
		linear := rapid.SampledFrom([]string{"lin-ucb", "lin-thompson", "squarecb"}).Draw(t, "linear")
		drift := func(kinds ...string) string {
			return "\n" + rapid.SampledFrom(append(kinds, "", "drift: {memory: 5}")).Draw(t, "drift")
		}
		definition := func(name string) string {
			return fmt.Sprintf("apply\nname: %s\narms: [{name: a, value: 1}, {name: b, value: 2}, {name: c, value: "+
				"\"<c>&\\u2028\"}]\n"+
				"control: {arm: a, share: 0.2}\nmetrics: [{name: m, range: [-5, 5]}, {name: n, kind: count, default: "+
				"0}, {name: r, kind: ratio, numerator: m, denominator: n}]\n"+
				"objective: {goals: [{metric: m}]}\nguardrails: [{metric: n, max_change: 0.2, action: %s}, {metric: "+
				"r, max: %d}]\n"+
				"exploration_floor: 0.%d\nround: {length: 1m, min_units: 3}\nattribution_window: 2m\nstickiness: "+
				"%s\nhold_back: 0.1\nopen_tokens: 60",
				name, rapid.SampledFrom([]string{"alert", "shrink", "rollback"}).Draw(t, "action"),
				rapid.IntRange(1, 3).Draw(t, "max"),
				rapid.IntRange(0, 3).Draw(t, "floor"),
				rapid.SampledFrom([]string{"unit", "round"}).Draw(t, "stickiness")) +
				drift("drift: {memory: 9}", "changes: none", "exploration: {share: 0.2}")
		}
		mixture := definition
		definition = func(name string) string {
			switch name {
			case "four":
				return fmt.Sprintf("apply\nname: four\narms: [{name: a, value: 1}, {name: b, value: 2}, {name: c, "+
					"value: 3}]\ncontrol: {arm: a}\nmetrics: [{name: like, range: [0, 1], default: 0}]\n"+
					"objective: {goals: [{metric: like}]}\npolicy: {kind: %s}\n"+
					"context: [{name: age, kind: number, range: [0, 100]}, {name: land, kind: category, values: [de, "+
					"fr]}]\nexploration_floor: 0.%d\nround: {length: 1m, min_units: 3}\nattribution_window: 2m\n"+
					"hold_back: 0.1\nopen_tokens: 60", linear, rapid.IntRange(0, 3).Draw(t, "floor")) + drift()
			case "one", "two":
				return mixture(name)
			}
			return fmt.Sprintf("apply\nname: three\narms: [{name: a, value: 1}, {name: b, value: 2}, {name: c, "+
				"value: 3}]\n"+
				"control: {arm: a, share: 0.2}\nmetrics: [{name: m, range: [-5, 5]}, {name: n, kind: count, default: "+
				"0}, {name: r, kind: ratio, numerator: m, denominator: n}]\n"+
				"objective: {goals: [{metric: m, weight: %d}]}\npolicy: {kind: %s}\n"+
				"exploration_floor: 0.%d\nround: {length: 1m, min_units: 3}\nattribution_window: 2m\nopen_tokens: 60",
				rapid.IntRange(1, 2).Draw(t, "weight"), bandit, rapid.IntRange(0, 3).Draw(t, "floor")) +
				drift("drift: {memory: 9}")
		}
		s.run(definition("one"))
		s.run(definition("two"))
		s.run(definition("three"))
		s.run(definition("four"))
		s.refusals = true
		for range rapid.IntRange(1, 40).Draw(t, "events") {
			s.name = rapid.SampledFrom([]string{"one", "two", "three", "four"}).Draw(t, "name")
			if s.state.Policy(s.name) == nil {
				s.run(definition(s.name))
				continue
			}
			switch rapid.IntRange(0, 12).Draw(t, "kind") {
			case 0, 1, 2, 3, 4:
				first := rapid.IntRange(0, 30).Draw(t, "first")
				if s.name == "four" {
					s.visits([]string{"visits", fmt.Sprint(first), fmt.Sprint(rapid.IntRange(1, 20).Draw(t, "n"))})
					continue
				}
				s.simulate([]string{
					"simulate", fmt.Sprint(first), fmt.Sprint(rapid.IntRange(1, 20).Draw(t, "n")), "0",
					"m=a:.2,b:.9,c:.4", "n=a:.3,b:.6,c:.3",
				})
			case 5, 6, 7:
				s.now += int64(time.Duration(rapid.IntRange(1, 90).Draw(t, "wait")) * time.Second)
				s.run("due")
			case 8:
				s.run(rapid.SampledFrom([]string{"pause", "resume", "rollback", "clock", "round"}).Draw(t,
					"name event"))
			case 9:
				s.run(fmt.Sprintf("aggregate src %d\n%d b 3 m=3/2/2 n=3/4/6 *r=3/2/4/2/6/2",
					rapid.IntRange(1, 9).Draw(t, "sequence"), rapid.IntRange(1, 9).Draw(t, "version")))
			case 10:
				s.run(rapid.SampledFrom([]string{"arm.add d 4", "arm.retire b", "arm.retire d", "arm.retire a"}).Draw(t,
					"arm"))
			case 11:
				s.apply(Event{
					Kind: rapid.SampledFrom([]string{"feedback", "nonsense", "definition"}).Draw(t, "bad"), Time: s.now,
					Payload: []byte(`{"experiment":"one","x":1}`),
				})
			case 12:
				if rapid.IntRange(0, 5).Draw(t, "delete") == 0 {
					s.run("delete")
				} else {
					s.run(definition(s.name))
				}
			}
		}
		for _, name := range s.state.Names() {
			r, err := s.state.Report(name)
			if err != nil {
				t.Fatal(err)
			}
			sum := 0.0
			for _, p := range r.Mixture {
				sum += p
			}
			if sum < 1-1e-9 || sum > 1+1e-9 || r.Health.Open > 60 {
				t.Fatalf("the mixture sums to %v, %d units are open", sum, r.Health.Open)
			}
			if _, err := json.Marshal(r); err != nil {
				t.Fatal(err)
			}
		}
		s.checkEvery()
	})
}

// TestNoRoom checks that changes by hand are refused, and change nothing, while too many versions
// wait for their window to close.
func TestNoRoom(t *testing.T) {
	testsize.NoRace(t)
	t.Parallel()
	s := newScenario(t)
	s.run(definitionOf(map[string]float64{"a0": .5, "a1": .5}, "unit"))
	full := func() {
		x := s.state.live["x"]
		x.joiner.Versions = slices.Repeat(x.joiner.Versions[len(x.joiner.Versions)-1:], 2*x.roster.maxOpen())
	}
	s.refusals = true
	full()
	for _, kind := range []string{"pause", "resume"} {
		if kind == "resume" {
			s.state.live["x"].joiner.Versions = s.state.live["x"].joiner.Versions[:1]
			s.run("pause")
			full()
		}
		if out := s.run(kind); !strings.Contains(out, "2048 versions wait for their attribution window") {
			t.Errorf("%s: %s", kind, out)
		}
	}
}

func TestApplyPosition(t *testing.T) {
	s := NewState()
	if _, err := s.Apply(2, Event{}); noregret.CodeOf(err) != noregret.Internal || s.Position() != 0 {
		t.Errorf("an event at position 2 before one at position 1: %v", err)
	}
	o, err := s.Apply(1, Event{Kind: "nonsense", Time: 5})
	if err != nil || o.Err == nil || s.Position() != 1 || s.Time() != 5 {
		t.Errorf("an unknown kind: %v %v", o.Err, err)
	}
	pause := Event{Kind: KindPause, Time: 3, Payload: []byte(`{"experiment":"x"}`)}
	if o, _ := s.Apply(2, pause); noregret.CodeOf(o.Err) != noregret.NotFound || s.Time() != 5 {
		t.Errorf("an unknown experiment: %v", o.Err)
	}
}

// TestSnapshotRefuses checks that a damaged snapshot is refused and that the state it was to
// replace stays.
func TestSnapshotRefuses(t *testing.T) {
	s := newScenario(t)
	s.run("apply\nname: x\narms: [{name: a, value: 1}, {name: b, value: 2}]\nmetrics: [{name: m}]\nobjective: " +
		"{goals: [{metric: m}]}")
	s.simulate([]string{"simulate", "0", "30", "1", "m=a:1,b:0"})
	b, err := s.state.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var n State
	for _, damage := range [][2]string{
		{stateFormat, "noregret state 1"},
		{`"control":-1`, `"control":5`},
		{`"learn":[0,1]`, `"learn":[0,7]`},
		{`"missing":[0]`, `"missing":[]`},
		{`"slot":"`, `"slot":"AAAA`},
		{learnerOf(revision), learnerOf(revision) + "AAAA"},
		{`"position"`, `"pos"`},
		{`}`, ``},
	} {
		if !bytes.Contains(b, []byte(damage[0])) {
			t.Fatalf("the snapshot does not contain %s", damage[0])
		}
		if err := n.UnmarshalBinary(bytes.Replace(b, []byte(damage[0]), []byte(damage[1]), 1)); err == nil ||
			n.Position() != 0 {
			t.Errorf("the damage %v was accepted", damage)
		}
	}
	if err := n.UnmarshalBinary(b); err != nil || n.Position() != s.state.Position() {
		t.Errorf("the undamaged snapshot: %v", err)
	}
}

// TestMemoryPerToken measures the memory of a unit that waits for feedback, as stated in
// docs/how-to/operate.md.
func TestMemoryPerToken(t *testing.T) {
	s := newScenario(t)
	s.run("apply\nname: x\narms: [{name: a, value: 1}, {name: b, value: 2}]\nmetrics: [{name: m}, {name: n}, {name: " +
		"o}]\nobjective: {goals: [{metric: m}]}")
	use := func() float64 {
		var m runtime.MemStats
		for range 5 { // memory of other tests is free after the cleanups of what has referred to it
			done := make(chan struct{})
			runtime.AddCleanup(&struct{ of *State }{}, func(done chan struct{}) { close(done) }, done)
			runtime.GC()
			<-done
		}
		runtime.GC()
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	n := testsize.Of(200_000, 20_000)
	before := use()
	p := s.state.Policy("x")
	for i := 0; i < n; i += 1000 {
		e := join.Units{Experiment: "x"}
		for j := range 1000 {
			d := p.Decide(fmt.Sprint("unit", i+j))
			e.Items = append(e.Items,
				join.UnitOf(policy.Token{
					Experiment: "x", Version: d.Version, Arm: d.Arm, Propensity: d.Propensity,
					Unit: d.Unit, Time: time.Unix(0, s.now),
				},
					nil))
		}
		ev, err := NewEvent(KindExposures, s.now, e)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.state.Apply(uint64(i/1000+2), ev); err != nil {
			t.Fatal(err)
		}
	}
	per := (use() - before) / float64(n)
	t.Logf("%.0f bytes per waiting unit, with 3 metrics", per)
	if most := UnitBytes(s.state.Definition("x")); per > float64(most) || per < float64(most)/2 {
		t.Errorf("%.0f bytes a unit: the service counts %d", per, most)
	}
	runtime.KeepAlive(s)
}

func BenchmarkApplyFeedback(b *testing.B) {
	for _, batch := range []int{1, 100} {
		b.Run(fmt.Sprint("items=", batch), func(b *testing.B) {
			s := newScenario(b)
			s.run("apply\nname: x\narms: [{name: a, value: 1}, {name: b, value: 2}]\nmetrics: [{name: m}, {name: " +
				"n}]\nobjective: {goals: [{metric: m}]}\nguardrails: [{metric: n, max: 3}]\nopen_tokens: 100000000")
			p := s.state.Policy("x")
			var events []Event
			for i := range 2000 {
				e := join.Units{Experiment: "x"}
				for j := range batch {
					d := p.Decide(fmt.Sprint("unit", i*batch+j))
					e.Items = append(e.Items,
						join.UnitOf(policy.Token{
							Experiment: "x", Version: d.Version, Arm: d.Arm, Propensity: d.Propensity,
							Unit: d.Unit, Time: time.Unix(0, s.now),
						},
							map[string]float64{"m": 1, "n": 2}))
				}
				ev, err := NewEvent(KindFeedback, s.now, e)
				if err != nil {
					b.Fatal(err)
				}
				events = append(events, ev)
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if _, err := s.state.Apply(uint64(len(s.events)+i+1), events[i%len(events)]); err != nil {
					b.Fatal(err)
				}
				i++
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*batch), "ns/item")
		})
	}
}
