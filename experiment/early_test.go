package experiment

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/noregret/noregret/experiment/guard"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
)

const watched = "apply\nname: x\narms: [{name: c, value: 0}, {name: a, value: 1}]\ncontrol: {arm: c, share: 0.5}\n" +
	"metrics: [{name: s, range: [0, 1]}, {name: m, METRIC}]\nobjective: {goals: [{metric: s}]}\n" +
	"guardrails: [{metric: m, LIMIT, hard: false, action: shrink}]\nround: {length: 1h}\nattribution_window: 24h"

// TestEarlyValues checks that an arm that breaks a limit is stopped while its window is open and
// that an arm that holds it is not, for limits on either side, with values one by one and as sums.
func TestEarlyValues(t *testing.T) {
	testsize.NoRace(t)
	t.Parallel()
	for _, c := range []struct {
		metric, limit, bad, good string
		stops                    bool
	}{
		{"kind: count, default: 0", "max: 0.1", "m=a:.6,c:0", "m=a:.05,c:0", true},
		{"range: [0, 1], default: 0", "max: 0.1", "m=a:.6,c:0", "m=a:.05,c:0", true},
		{"range: [0, 1], default: 1", "min: 0.9", "m=a:.4,c:1", "m=a:.95,c:1", true},
		{"range: [0, 1]", "max: 0.1", "m=a:.6,c:0", "m=a:.05,c:0", true},
		{"range: [0, 1], default: 0", "min: 0.9", "m=a:.1,c:1", "m=a:.95,c:1", true},
		{"kind: count, default: 0", "max: 1", "m=a:1,c:0", "m=a:.5,c:0", false}, // it needs a range
	} {
		text := strings.NewReplacer("METRIC", c.metric, "LIMIT", c.limit).Replace(watched)
		for i, values := range []string{c.bad, c.good} {
			s := newScenario(t)
			if out := s.run(text); !strings.Contains(out, "version 1") {
				t.Fatal(out)
			}
			s.simulate([]string{"simulate", "0", "600", "0", "s=a:.5,c:.5", values})
			if got := s.state.live["x"].roster.Arms[1].Stop == guard.Suspended; got != (c.stops && i == 0) {
				t.Errorf("%s, %s, %s: stopped is %v", c.metric, c.limit, values, got)
			}
			s.check()
		}
	}
	for _, reported := range []int{60, 3} {
		s := newScenario(t)
		s.run(strings.NewReplacer("METRIC", "kind: count, default: 0", "LIMIT", "max: 0.1").Replace(watched))
		s.run(fmt.Sprintf("aggregate source 1\n1 a 100 s=100/50/50 m=%d/%d/%d", reported, reported, reported))
		if got := s.state.live["x"].roster.Arms[1].Stop == guard.Suspended; got != (reported == 60) {
			t.Errorf("%d of 100 as sums: stopped is %v", reported, got)
		}
		s.check()
	}
}

// TestSharesKeepToBounds checks that the share above an arm's limit goes to the control arm or,
// without one, to other arms below their limit, and that the shares sum to 1.
func TestSharesKeepToBounds(t *testing.T) {
	t.Parallel()
	for _, control := range []bool{true, false} {
		for seed := range uint64(200) {
			s, rng := newScenario(t), random.New(seed, "bounds")
			text := "apply\nname: x\narms: [{name: a, value: 1}, {name: b, value: 2}, {name: d, value: 3}]\nmetrics: " +
				"[{name: " +
				"m}]\nobjective: {goals: [{metric: m}]}\nmax_share: {every: 0.6, arms: {d: 0.3}}"
			if control {
				text += "\ncontrol: {arm: c, value: 0, share: 0.1}"
			}
			if out := s.run(text); !strings.Contains(out, "version 1") {
				t.Fatal(out)
			}
			x := s.state.live["x"]
			p := make([]float64, len(x.roster.Arms))
			for k := range p {
				p[k] = rng.Float64()
				if rng.Float64() < 0.3 {
					p[k] = 0
				}
			}
			p[len(p)-1] += 0.1
			normalize(p)
			x.roster.Arms[len(p)-3].Stop = []guard.Reason{"", guard.Vetoed}[seed%2]
			stopView{&x.roster}.limit(p)
			total := 0.0
			for k := range p {
				total += p[k]
				most := x.roster.def.MaxShare.Of(x.roster.Arms[k].Name)
				if k == x.roster.Control {
					most = 1
				}
				if p[k] < 0 || p[k] > most+1e-9 && (control || seed%2 == 0) {
					t.Fatalf("seed %d, control %v: arm %d has %v, want at most %v", seed, control, k, p[k], most)
				}
			}
			if math.Abs(total-1) > 1e-9 && (control || seed%2 == 0) {
				t.Fatalf("seed %d, control %v: the shares %v sum to %v", seed, control, p, total)
			}
		}
	}
}

// TestTrafficGrows checks that units that take part, or are held back, still do so when the traffic
// grows, and that units are counted by the version of their decision.
func TestTrafficGrows(t *testing.T) {
	t.Parallel()
	s := newScenario(t)
	text := "apply\nname: x\narms: [{name: a, value: 1}]\ncontrol: {arm: c, value: 0, share: 0.1}\nmetrics: [{name: " +
		"m}]\n" +
		"objective: {goals: [{metric: m}]}\nhold_back: 0.1\ntraffic: "
	s.run(text + "0.3")
	out := map[string]bool{}
	for i := range 2000 {
		u := fmt.Sprint("u", i)
		out[u] = s.decide(u).HeldBack
	}
	held := 0
	for _, v := range out {
		if v {
			held++
		}
	}
	if held < 1350 || held > 1570 {
		t.Errorf("%d of 2000 units are outside, want 73 %%", held)
	}
	var shown []string
	for u := range 2000 {
		shown = append(shown, fmt.Sprint("u", u))
	}
	s.run(text + "1") // feedback with tokens of the previous version
	s.run("expose " + strings.Join(shown, " "))
	if n := s.state.live["x"].joiner.Holdout.Units; n != int64(held) {
		t.Errorf("%d units count as outside, want %d", n, held)
	}
	left := 0
	for u, was := range out {
		switch now := s.decide(u).HeldBack; {
		case now && !was:
			t.Errorf("%s took part and no longer does", u)
		case now:
			left++
		}
	}
	if left < 150 || left > 250 {
		t.Errorf("%d of 2000 units are held back, want a tenth", left)
	}
}
