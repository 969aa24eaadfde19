package experiment

import (
	"strings"
	"testing"

	"github.com/noregret/noregret/experiment/guard"
	"github.com/noregret/noregret/internal/testsize"
)

// crashRun returns an experiment whose arm bad crashes for a part of its units, after three rounds
// whose windows have closed.
func crashRun(t *testing.T, guardrail, crashes string) *scenario {
	s := newScenario(t)
	s.run("apply\nname: e\narms: [{name: c, value: 0}, {name: good, value: 1}, {name: bad, value: 2}]\n" +
		"control: {arm: c, share: 0.2}\nmetrics: [{name: x, range: [0, 1]}, {name: crash, range: [0, 1], " +
		"direction: down}]\nobjective: {goals: [{metric: x}]}\nguardrails: [{metric: crash, max: 0.05, hard: " +
		"false, " + guardrail + "}]\nround: {length: 1m, min_units: 50}\nattribution_window: 1m")
	crashSome(s, 0, crashes)
	crashSome(s, 3000, crashes)
	crashSome(s, 6000, crashes)
	return s
}

// crashSome lets 3,000 units come and closes their window.
func crashSome(s *scenario, first int, crashes string) {
	s.simulate([]string{"simulate", itoa(first), "3000", "0", "x=c:.3,good:.3,bad:.9", "crash=" + crashes})
	s.run("wait 3m")
	s.run("due")
}

// stopOf returns why arm bad is stopped.
func stopOf(s *scenario) (guard.Reason, string) {
	a := &s.state.live["e"].roster.Arms[2]
	return a.Stop, a.Why
}

// TestCrashingArmIsVetoed checks that an arm which breaks a guardrail by far stays stopped although
// the best mixture has it, that one which breaks it by little does not, and neither does any for a
// soft guardrail that only alerts.
func TestCrashingArmIsVetoed(t *testing.T) {
	testsize.NoRace(t)
	t.Parallel()
	for _, c := range []struct {
		guardrail, crashes string
		want               guard.Reason
	}{
		{"action: shrink", "c:.02,good:.02,bad:.6", guard.Vetoed},
		{"action: rollback", "c:.02,good:.02,bad:.6", guard.Vetoed},
		{"action: alert", "c:.02,good:.02,bad:.6", ""},
		{"action: shrink", "c:.01,good:.01,bad:.09", ""},
	} {
		s := crashRun(t, c.guardrail, c.crashes)
		got, why := stopOf(s)
		if got != c.want || got == guard.Vetoed && !strings.Contains(why, "% of the units; until the veto is lifted") {
			t.Errorf("%s, %s: bad is stopped by %q: %s; want %q", c.guardrail, c.crashes, got, why, c.want)
		}
		if p := s.state.live["e"].rounds.current().Split.Shares(); c.want == "" && !(p[2] > .01) {
			t.Errorf("%s, %s: bad is not served: %v", c.guardrail, c.crashes, p)
		}
		s.check()
	}
}

// TestLiftedVetoStays checks that a veto which was lifted by hand is not made again.
func TestLiftedVetoStays(t *testing.T) {
	t.Parallel()
	const crashes = "c:.02,good:.02,bad:.6"
	s := crashRun(t, "action: shrink", crashes)
	if out := s.run("arm.lift bad"); strings.Contains(out, "error") {
		t.Fatal(out)
	}
	crashSome(s, 9000, crashes)
	if got, why := stopOf(s); got != "" {
		t.Errorf("lifted, and stopped again by %q: %s", got, why)
	}
}

// TestVetoNamesTheGuardrailThatIsBroken checks that an arm which was stopped for one guardrail is
// not guard.Vetoed for another of which its few units say nothing.
func TestVetoNamesTheGuardrailThatIsBroken(t *testing.T) {
	t.Parallel()
	s := newScenario(t)
	s.run("apply\nname: e\narms: [{name: c, value: 0}, {name: good, value: 1}, {name: bad, value: 2}]\n" +
		"control: {arm: c, share: 0.2}\nmetrics: [{name: x, range: [0, 1]}, {name: crash, range: [0, 1], " +
		"direction: down}, {name: sale, range: [0, 1]}]\nobjective: {goals: [{metric: x}]}\nguardrails: [{metric: " +
		"crash, max: 0.3, hard: false, action: shrink}, {metric: sale, min_change: -0.1, hard: false, action: " +
		"shrink}]\nround: {length: 1m, min_units: 50}\nattribution_window: 1m")
	s.simulate([]string{
		"simulate", "0", "1000", "0", "x=c:.3,good:.3,bad:.9", "crash=c:.2,good:.2,bad:.6",
		"sale=c:.06,good:.06,bad:.001",
	})
	s.run("due")
	if got, why := stopOf(s); got != guard.Suspended || !strings.Contains(why, "guardrail crash: ") {
		t.Fatalf("bad is stopped by %q: %s; want it suspended for crash", got, why)
	}
	s.run("wait 3m")
	s.run("due")
	if got, why := stopOf(s); got == guard.Vetoed && strings.Contains(why, "guardrail sale: ") {
		t.Errorf("bad is vetoed: %s; it was stopped for crash, with %d units", why,
			s.state.live["e"].joiner.Arms[2].Metrics[2].N)
	}
}
