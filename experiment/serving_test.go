package experiment

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/policy"
)

// nonsense is a learner that takes no observation and gives everything to its last arm.
type nonsense struct{ arms int }

var errNonsense = noregret.BadInputf("learner", "nonsense")

func (n *nonsense) Observe([]pasto.Observation) error { return errNonsense }
func (n *nonsense) RetireArm(int) error               { return errNonsense }
func (n *nonsense) MarshalBinary() ([]byte, error)    { return []byte("nonsense"), nil }
func (n *nonsense) UnmarshalBinary([]byte) error      { return nil }
func (n *nonsense) Deployed() []float64               { return n.Serving() }

func (n *nonsense) AddArm() (int, error) {
	n.arms++
	return n.arms - 1, nil
}

func (n *nonsense) Serving() []float64 {
	p := make([]float64, n.arms)
	if n.arms > 0 {
		p[n.arms-1] = 1
	}
	return p
}

// thinkNonsense makes all policies nonsense until the test ends.
func thinkNonsense(t *testing.T) {
	make := makeLearner
	makeLearner = func(r *roster, _ *compare.Store) (learner, error) { return &nonsense{len(r.LearnedArms)}, nil }
	t.Cleanup(func() { makeLearner = make })
}

// servedBy is what a state serves and says of the past, by experiment and token.
func servedBy(t *testing.T, s *State, tokens map[string]policy.Token) (out []any) {
	t.Helper()
	for _, name := range s.Names() {
		p := s.Policy(name)
		if _, err := p.Seal(); err != nil {
			t.Fatal(err)
		}
		r, err := s.Report(name)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p.Digest, r.Mixture, r.Deployed, r.History, r.Guardrails, r.Health, r.Promise, r.Conclusion)
	}
	for _, unit := range slices.Sorted(maps.Keys(tokens)) {
		e, err := s.Explain(tokens[unit])
		out = append(out, e, err)
	}
	return out
}

// The log says what was served. A fold with policies that think nonsense has the same digest,
// serves the same and explains and reports the same; only a proposal is another one.
func TestFoldAsksNoPolicy(t *testing.T) {
	type run struct {
		path   string
		s      *scenario
		digest string
		served []any
	}
	var runs []run
	datadriven.Walk(t, "testdata/scenario", func(t *testing.T, path string) {
		s := newScenario(t)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			line := []string{d.Cmd}
			for _, arg := range d.CmdArgs {
				line = append(line, arg.String())
			}
			return s.run(strings.Join(line, " ") + "\n" + d.Input)
		})
		digest, err := s.state.Digest()
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, run{path, s, digest, servedBy(t, s.state, s.tokens)})
	})
	thinkNonsense(t)
	proposals, others := 0, 0
	for _, r := range runs {
		again := NewState()
		for i, e := range r.s.events {
			if said, now, err := again.Proposal(e); said != nil {
				if proposals++; err != nil || !said.Same(now) {
					others++
				}
			}
			if _, err := again.Apply(uint64(i+1), Event{Kind: e.Kind, Time: e.Time, Payload: e.Payload}); err != nil {
				t.Fatalf("%s: event %d: %v", r.path, i+1, err)
			}
		}
		if got, err := again.Digest(); err != nil || got != r.digest {
			t.Errorf("%s: the digest is %s, want %s: %v", r.path, got, r.digest, err)
		}
		for i, got := range servedBy(t, again, r.s.tokens) {
			if want := r.served[i]; !reflect.DeepEqual(got, want) {
				t.Errorf("%s: part %d is %+v, want %+v", r.path, i, got, want)
			}
		}
	}
	if proposals < 100 || others < proposals/2 {
		t.Errorf("%d of %d proposals are others: the policies do not think nonsense", others, proposals)
	}
}

// learnerOf returns how a snapshot begins the learner of a revision.
func learnerOf(revision int) string { return fmt.Sprintf(`"revision":%d,"state":"`, revision) }

// A snapshot of another revision of the policy is restored without its learner: the digest and what
// is served are the same, and so they are after the events that follow.
func TestOtherRevision(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"policy: {kind: pasto}", "policy: {kind: thompson}", "drift: {memory: 5}"} {
		s := newScenario(t)
		s.run("apply\nname: x\narms: [{name: a, value: 1}, {name: b, value: 2}, {name: c, value: 3}]\n" +
			"metrics: [{name: m, range: [0, 1]}]\nobjective: {goals: [{metric: m}]}\n" +
			"round: {length: 1m, min_units: 10}\nattribution_window: 1m\n" + kind)
		for range 6 {
			s.run("simulate 0 60 0 m=a:.2,b:.8,c:.4")
			s.run("wait 3m")
			s.run("due")
		}
		whole, err := s.state.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		altered := bytes.Replace(whole, []byte(learnerOf(revision)), []byte(learnerOf(77)+"AAAA"), 1)
		if bytes.Equal(altered, whole) {
			t.Fatal("the snapshot has no learner")
		}
		var again State
		if err := again.UnmarshalBinary(altered); err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		want, _ := s.state.Digest()
		if got, err := again.Digest(); err != nil || got != want {
			t.Errorf("%s: the digest is %s, want %s: %v", kind, got, want, err)
		}
		at := len(s.events)
		s.run("simulate 0 60 0 m=a:.2,b:.8,c:.4")
		s.run("wait 3m")
		s.run("due")
		for i, e := range s.events[at:] {
			if _, err := again.Apply(uint64(at+i+1), e); err != nil {
				t.Fatal(err)
			}
		}
		want, _ = s.state.Digest()
		if got, err := again.Digest(); err != nil || got != want {
			t.Errorf("%s: after further events the digest is %s, want %s: %v", kind, got, want, err)
		}
		if x := again.live["x"]; x.rounds.Round < 3 {
			t.Fatalf("%s: round %d: the test tests nothing", kind, x.rounds.Round)
		}
	}
}

// Events that do not say what is served, and those that say what cannot be, are refused and change
// nothing.
func TestServingRefused(t *testing.T) {
	t.Parallel()
	const text = "apply\nname: x\narms: [{name: a, value: 1}, {name: b, value: 2}, {name: c, value: 3}]\n" +
		"control: {arm: a, share: 0.2}\nmax_share: {every: 0.5}\nmetrics: [{name: m}]\n" +
		"objective: {goals: [{metric: m}]}\nguardrails: [{metric: m, min: 0, action: shrink}]\n" +
		"round: {length: 1m, min_units: 1}\nattribution_window: 1m\n"
	s := newScenario(t)
	if out := s.run(text); strings.Contains(out, "error") {
		t.Fatal(out)
	}
	s.run("arm.retire c")
	s.run("simulate 0 30 1 m=a:1,b:2")
	s.run("wait 2m")
	due := s.state.Due(s.now)
	if len(due) != 1 || due[0].Kind != KindRound {
		t.Fatalf("due are %v", due)
	}
	good, err := s.state.Try("x", due[0])
	if err != nil {
		t.Fatal(err)
	}
	s.state.trial = nil
	for _, c := range []struct{ from, to, want string }{
		{`,"serves":{`, `,"nothing":{`, "nothing"},
		{string(good.Payload[bytes.Index(good.Payload, []byte(`,"serves"`)):]), "}", startAnew},
		{`"version":3`, `"version":4`, "want 3"},
		{`"version":3`, `"version":3,"carried":true`, "contextual"},
		{`"version":3`, `"version":3,"stage":1`, "want 0 to 0"},
		{`"version":3`, `"version":3,"shrinking":[1]`, "guardrail 1"},
		{`"version":3`, `"version":3,"points":[{"name":"p","value":1}]`, "arms"},
		{`"shares":[`, `"shares":["0",`, "3 arms"},
		{`"version":3`, `"version":3,"deployed":[1]`, "3 arms"},
	} {
		e := good
		e.serves = nil
		e.Payload = bytes.Replace(good.Payload, []byte(c.from), []byte(c.to), 1)
		if bytes.Equal(e.Payload, good.Payload) {
			t.Fatalf("%s is not in %s", c.from, good.Payload)
		}
		before, err := s.state.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		o, err := s.state.Apply(s.state.Position()+1, e)
		if err != nil || o.Err == nil || !strings.Contains(o.Err.Error(), c.want) {
			t.Errorf("%s: %v %v, want %q", c.to, err, o.Err, c.want)
		}
		if err := s.state.UnmarshalBinary(before); err != nil {
			t.Fatal(err)
		}
	}
	shares := func(a, b, c string) []byte {
		i := bytes.Index(good.Payload, []byte(`"shares":[`))
		j := i + bytes.IndexByte(good.Payload[i:], ']')
		return slices.Concat(good.Payload[:i], []byte(`"shares":["`+a+`","`+b+`","`+c+`"`), good.Payload[j:])
	}
	const half, quarter = "9223372036854775808", "4611686018427387904"
	for want, payload := range map[string][]byte{
		"not active": shares(half, quarter, quarter), "want at most 0.5": shares(quarter, "13835058055282163712", "0"),
		"sum to": shares(half, quarter, "0"),
	} {
		before, err := s.state.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		o, err := s.state.Apply(s.state.Position()+1, Event{Kind: KindRound, Time: good.Time, Payload: payload})
		if err != nil || o.Err == nil || !strings.Contains(o.Err.Error(), want) {
			t.Errorf("%v %v, want %q", err, o.Err, want)
		}
		if err := s.state.UnmarshalBinary(before); err != nil {
			t.Fatal(err)
		}
	}
	if o, err := s.state.Apply(s.state.Position()+1, good); err != nil || o.Err != nil || !o.Renewed {
		t.Errorf("the event itself: %v %v", err, o.Err)
	}
}

// What a log says comes before what the present policy thinks: a fold serves any shares that are
// allowed.
func TestLoggedSharesAreServed(t *testing.T) {
	t.Parallel()
	s := newScenario(t)
	s.run("apply\nname: x\narms: [{name: a, value: 1}, {name: b, value: 2}]\nmetrics: [{name: m}]\n" +
		"objective: {goals: [{metric: m}]}\nround: {length: 1m, min_units: 1}\nattribution_window: 1m")
	s.run("simulate 0 30 1 m=a:1,b:2")
	s.run("wait 2m")
	good, err := s.state.Try("x", s.state.Due(s.now)[0])
	if err != nil {
		t.Fatal(err)
	}
	i := bytes.Index(good.Payload, []byte(`"shares":[`))
	j := i + bytes.IndexByte(good.Payload[i:], ']')
	e := Event{Kind: good.Kind, Time: good.Time, Payload: slices.Concat(good.Payload[:i],
		[]byte(`"shares":["4611686018427387904","13835058055282163712"`), good.Payload[j:])}
	if o, err := s.state.Apply(s.state.Position()+1, e); err != nil || o.Err != nil {
		t.Fatal(err, o.Err)
	}
	if p := s.state.Policy("x").Mixture(); p[0] != .25 || p[1] != .75 {
		t.Errorf("%v is served, the log says .25 and .75", p)
	}
}
