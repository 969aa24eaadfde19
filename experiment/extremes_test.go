package experiment

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestExtremes: a definition that is taken, however large or small its numbers, never defeats the fold: its
// rounds close, the report and the policies can be made, and a second fold is the same.
func TestExtremes(t *testing.T) {
	taken := 0
	rapid.Check(t, func(t *rapid.T) {
		of := func(name string, values ...string) string { return rapid.SampledFrom(values).Draw(t, name) }
		weights := []string{"1e-15", "1e-15", "1", "5", "1e15"}
		limits := []string{"-1e15", "-1e-15", "0", "0.5", "1e-300", "1e15"}
		ranges := []string{"[-1e15, 1e15]", "[0, 1]", "[0, 1e15]", "[0, 1e-300]", "[999999999999999, 1e15]", "[-5, -4]"}
		arms := of("arms", "[{name: a, value: 1}, {name: b, value: 2}, {name: c, value: 3}]", "{box: {d: {low: -1e15, high: 1e15}, e: {low: 0, high: 1e-300}}, every: 1}")
		body := "name: x\narms: " + arms + "\ncontrol: {arm: none, value: {d: 0, e: 0}, share: 0.2}\n" +
			"metrics: [{name: m, range: " + of("range of m", ranges...) + "}, {name: n" + of("range of n", "", ", range: "+of("its", ranges...)) + "}, {name: q, kind: ratio, numerator: m, denominator: n}]\n" +
			"objective: {goals: [{metric: m, weight: " + of("weight", weights...) + "}, {metric: n, weight: " + of("other", weights...) + "}], soft: " + of("soft", "0", "0", "1e-15", "1e15") + "}\n" +
			"round: {length: 1m}\nattribution_window: 1m\n" + of("drift", "", "drift: {kind: window, rounds: 2}\n", "drift: {kind: discount, rate: 0.1}\n")
		if of("guarded", "no", "yes") == "yes" {
			metric := of("guarded metric", "m", "n", "q")
			body += "guardrails: [{metric: " + metric + ", " + of("bound", "min", "max", "min_change", "max_change") + ": " + of("limit", limits...) +
				", penalty: " + of("penalty", weights...) + ", hard: " + of("hard", "true", "false") + ", action: " + of("action", "alert", "shrink", "rollback") + "}]\n"
		}
		s := newScenario(t)
		if out := s.run("apply\n" + body); strings.Contains(out, "error") {
			return // refused before anything changes
		}
		taken++
		values := []string{"-1e15", "-4.5", "0", "1e-300", "0.3", "1", "1e15"}
		for round := range 4 {
			words := []string{"feedback"}
			for i := range 8 {
				u := fmt.Sprint("u", round*8+i)
				s.decide(u)
				words = append(words, u+":m="+of("m", values...)+",n="+of("n", values...))
			}
			s.run(strings.Join(words, " "))
			s.run("wait 63s")
			s.run("due")
			if _, err := s.state.Report("x"); err != nil {
				t.Fatal(err)
			}
		}
		s.check()
	})
	if taken < 3 {
		t.Errorf("only %d definitions were taken", taken)
	}
}
