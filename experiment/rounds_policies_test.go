package experiment

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/policy"
)

// moves returns a policy's cache of the moves computed for its links.
func moves(p *policy.Policy) reflect.Value { return reflect.ValueOf(p).Elem().FieldByName("moves") }

// BenchmarkExplain explains a decision of a policy of 97 arms whose stream has 340 links.
func BenchmarkExplain(b *testing.B) {
	s := newScenario(b)
	r := random.New(1, "explain")
	for i := range 341 {
		if i > 0 {
			s.decide("ann") // the last decision is by the version before the last
		}
		shares, sum := map[string]float64{}, 0.0
		for k := range 97 {
			shares[fmt.Sprint("a", k)] = .1 + r.Float64()
			sum += shares[fmt.Sprint("a", k)]
		}
		for name := range shares {
			shares[name] /= sum
		}
		if out := s.run(definitionOf(shares, "unit")); strings.Contains(out, "error") {
			b.Fatal(out)
		}
		s.run("wait 169h")
		s.run("due")
	}
	if n := len(s.state.Policy("x").Links); n != 341 {
		b.Fatalf("%d links", n)
	}
	for b.Loop() {
		if _, err := s.state.Explain(s.tokens["ann"]); err != nil {
			b.Fatal(err)
		}
	}
}

// TestPoliciesShare checks that the policies of one stream share their common parts, so that
// keeping many of them, as a replay does, costs little more than keeping one. Adding an arm does
// not change this.
func TestPoliciesShare(t *testing.T) {
	s := newScenario(t)
	shares := map[string]float64{"a0": .5, "a1": .5}
	var last *policy.Policy
	for i := range 12 {
		if i == 6 {
			shares["a2"] = 0
		}
		shares["a0"], shares["a1"] = .1+.02*float64(i), .9-.02*float64(i)
		s.run(definitionOf(shares, "unit"))
		p := s.state.Policy("x")
		if len(p.Links) != i+1 || moves(p).Len() != i {
			t.Fatalf("%d links, %d moves", len(p.Links), moves(p).Len())
		}
		for j := range i {
			if i != 6 && j < i-1 && moves(p).Index(j).Pointer() != moves(last).Index(j).Pointer() {
				t.Errorf("version %d does not share its move to link %d", i+1, j+1)
			}
		}
		var saved State // its policy shares nothing and must decide alike
		if b, err := s.state.MarshalBinary(); err != nil {
			t.Fatal(err)
		} else if err := saved.UnmarshalBinary(b); err != nil {
			t.Fatal(err)
		}
		for u := range 50 {
			if a, b := p.Decide(fmt.Sprint(u)), saved.Policy("x").Decide(fmt.Sprint(u)); cmp.Diff(a, b) != "" {
				t.Fatalf("%+v and %+v", a, b)
			}
		}
		last = p
	}
}

// TestExplainReach checks that a decision of a version that is no longer kept, or whose stream has
// lost its beginning, cannot be explained, and that the error says which versions can.
func TestExplainReach(t *testing.T) {
	s := newScenario(t)
	for i := range 12 {
		s.run(strings.Replace(definitionOf(map[string]float64{"a0": .1 + .02*float64(i), "a1": .9 - .02*float64(i)},
			"round"), "\nmetrics", fmt.Sprintf("\ndescription: d%d\nmetrics", i), 1))
		s.decide(fmt.Sprint("u", i+1))
		if i == 5 { // a new round, which begins a new stream
			s.run(fmt.Sprintf("expose u%d", i+1))
			s.run("wait 200h")
			s.run("due")
		}
	}
	x := s.state.live["x"]
	x.rounds.Versions = slices.Clone(x.rounds.Versions[3:])
	for i, want := range map[int]bool{1: false, 3: false, 5: false, 8: true, 12: true} {
		_, err := s.state.Explain(s.tokens[fmt.Sprint("u", i)])
		if want && err != nil || !want && (err == nil ||
			!strings.Contains(err.Error(), "only versions 7 to 13 of the current experiment can; noregret log "+
				"replay repeats older decisions")) {
			t.Errorf("the decision for u%d: %v", i, err)
		}
	}
}

// TestTokenExpired checks that the fold refuses feedback with a token older than the window as
// late, with the reason.
func TestTokenExpired(t *testing.T) {
	s := newScenario(t)
	s.run("apply\nname: x\narms: [{name: a, value: 1}]\nmetrics: [{name: m}]\nobjective: {goals: [{metric: " +
		"m}]}\nattribution_window: 1h\nround: {length: 400h}")
	s.decide("u")
	s.now += int64(time.Hour)
	if o := s.units([]string{"feedback", "u:m=1"}); o.Items[0].Status != api.Accepted {
		t.Errorf("after an hour: %+v", o.Items[0])
	}
	s.now += int64(time.Millisecond)
	if o := s.units([]string{"feedback", "u:m=1"}); o.Items[0].Status != api.Late ||
		o.Items[0].Error != policy.Expired.Error() {
		t.Errorf("a moment later: %+v", o.Items[0])
	}
}

// TestTokenExpiredOfMetrics checks that the reason names the windows of the metrics where these are
// not the attribution window.
func TestTokenExpiredOfMetrics(t *testing.T) {
	s := newScenario(t)
	s.run("apply\nname: x\narms: [{name: a, value: 1}]\nmetrics: [{name: m, window: 30m}]\nobjective: {goals: " +
		"[{metric: m}]}\nattribution_window: 1h\nround: {length: 400h}")
	s.decide("u")
	s.now += int64(31 * time.Minute)
	for item, want := range map[string]string{
		"u": "the token is older than 30m0s, the shortest window of the metrics", "u:m=1": "the window has closed: m",
	} {
		kind := "expose"
		if item != "u" {
			kind = "feedback"
		}
		if o := s.units([]string{kind, item}); o.Items[0].Status != api.Late ||
			!strings.Contains(o.Items[0].Error, want) {
			t.Errorf("%s %s: %+v, want %q", kind, item, o.Items[0], want)
		}
	}
}
