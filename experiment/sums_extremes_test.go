package experiment

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/noregret/noregret/internal/testsize"
)

// TestExtremes checks that no accepted definition, however large or small its numbers, breaks the
// fold: its rounds close, its report and policies can be made, and a second fold gives the same
// state.
func TestExtremes(t *testing.T) {
	t.Parallel()
	taken := 0
	rapid.Check(t, func(t *rapid.T) {
		of := func(name string, values ...string) string { return rapid.SampledFrom(values).Draw(t, name) }
		opposite := rapid.Bool().Draw(t, "a ratio with parts of extreme sizes")
		weights := []string{"1e-15", "1e-15", "1", "5", "1e15"}
		limits := []string{"-1e15", "-1e-15", "0", "0.5", "1e-300", "1e15"}
		ranges := []string{"[-1e15, 1e15]", "[0, 1]", "[0, 1e15]", "[0, 1e-300]", "[999999999999999, 1e15]", "[-5, -4]"}
		if opposite {
			ranges = []string{"[-1e15, 1e15]", "[0, 1e15]"}
		}
		arms := of("arms", "[{name: a, value: 1}, {name: b, value: 2}, {name: c, value: 3}]",
			"{box: {d: {low: -1e15, high: 1e15}, e: {low: 0, high: 1e-300}}, every: 1}")
		body := "name: x\narms: " + arms + "\ncontrol: {arm: none, value: {d: 0, e: 0}, share: 0.2}\n" +
			"metrics: [{name: m, range: " + of("range of m", ranges...) + "}, {name: n" +
			of("range of n", "", ", range: "+of("its", ranges...)) +
			"}, {name: q, kind: ratio, numerator: m, denominator: n}]\n" +
			"objective: {goals: [{metric: m, weight: " + of("weight", weights...) + "}, {metric: n, weight: " +
			of("other", weights...) + "}], soft: " + of("soft", "0", "0", "1e-15", "1e15") + "}\n" +
			"round: {length: 1m}\nattribution_window: 1m\n" +
			of("drift", "", "drift: {memory: 5}\n", "drift: {memory: 10}\n", "changes: none\n")
		if of("guarded", "no", "yes") == "yes" {
			metric := of("guarded metric", "m", "n", "q")
			body += "guardrails: [{metric: " + metric + ", " + of("bound", "min", "max", "min_change", "max_change") +
				": " + of("limit", limits...) +
				", penalty: " + of("penalty", weights...) + ", hard: " + of("hard", "true", "false") + ", action: " +
				of("action", "alert", "shrink", "rollback") + "}]\n"
		}
		s := newScenario(t)
		if out := s.run("apply\n" + body); strings.Contains(out, "error") {
			return // refused before the state changes
		}
		taken++
		values := []string{"-1e15", "-4.5", "0", "1e-300", "0.3", "1", "1e15"}
		for round := range 4 {
			words, seen := []string{"feedback"}, "expose"
			for i := range 8 {
				u := fmt.Sprint("u", round*8+i)
				s.decide(u)
				m, n := of("m", values...), of("n", values...)
				if opposite {
					m, n = of("m", "-1e15", "1e15"), "1e-300"
				}
				words = append(words, u+":m="+m+",n="+n)
				seen += " " + u
			}
			s.run(seen)
			s.run(strings.Join(words, " "))
			s.run("wait 65s")
			s.run("due")
			s.writes("x", fmt.Sprint("u", round*8))
		}
		s.check()
	})
	// In the short form there are too few draws to require this.
	if !testsize.Short() && taken < 3 {
		t.Errorf("only %d definitions were accepted", taken)
	}
}

// writes fails the test unless the state, the report and the policies of an experiment can be
// encoded.
func (s *scenario) writes(name, unit string) {
	s.t.Helper()
	r, err := s.state.Report(name)
	if err != nil {
		s.t.Fatal(err)
	}
	shown := []any{r, s.state.Policy(name), s.state.Definition(name)}
	if t, ok := s.tokens[unit]; ok {
		e, err := s.state.Explain(t)
		if err != nil {
			s.t.Fatal(err)
		}
		if !e.Consistent {
			s.t.Errorf("the decision for %s cannot be reproduced", unit)
		}
		shown = append(shown, e)
	}
	for _, v := range shown {
		if _, err := json.Marshal(v); err != nil {
			s.t.Fatalf("%T: %v", v, err)
		}
	}
	if _, err := s.state.MarshalBinary(); err != nil {
		s.t.Fatal(err)
	}
}

// TestRatioLeavesTheRange checks that a ratio whose denominator is too small for its numerator is
// reported as unknown. One item of feedback must not make it impossible to save or show the state.
func TestRatioLeavesTheRange(t *testing.T) {
	s := newScenario(t)
	s.run("apply\nname: x\narms: [{name: a, value: 1}, {name: b, value: 2}]\nmetrics: [{name: x}, {name: y}, {name: " +
		"r, kind: ratio, numerator: x, denominator: y}]\n" +
		"policy: {kind: fixed, split: {a: .5, b: .5}}\nround: {length: 1s}\nattribution_window: 1s")
	arm := s.decide("ann").Name
	s.run("expose ann")
	s.run("feedback ann:x=1e15,y=1e-300")
	for range 12 {
		s.run("wait 1s")
		s.run("due")
		s.decide("bob")
		s.run("expose bob")
		s.writes("x", "ann")
		s.writes("x", "bob")
	}
	r, err := s.state.Report("x")
	if err != nil {
		t.Fatal(err)
	}
	if m := r.Arms[arm].Metrics["r"]; m.N != 1 || m.Mean != nil || m.Low != nil || m.High != nil {
		t.Errorf("the ratio is reported as %+v", m)
	}
	e, err := s.state.Explain(s.tokens["bob"])
	if err != nil {
		t.Fatal(err)
	}
	if k := e.Policy.Known[arm]; k["r"].N != 0 || k["r"].Mean != nil || k["x"].N != 1 || *k["x"].Mean != 1e15 {
		t.Errorf("the explanation gives the means %+v", k)
	}
	s.check()
}
