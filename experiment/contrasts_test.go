package experiment

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/policy"
)

// TestRatioChange checks a guardrail on the change of a ratio relative to the control's. Views
// depend on the round and the arm; the guardrail judges clicks per view.
func TestRatioChange(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		factor float64 // of the arm's clicks per view, relative to the control's
		want   api.GuardState
	}{{1, api.GuardHeld}, {.5, api.GuardBreached}} {
		s := newScenario(t)
		s.run("apply\nname: g\narms: [{name: c, value: 0}, {name: a, value: 1}]\ncontrol: {arm: c}\n" +
			"metrics: [{name: clicks, kind: count}, {name: views, kind: count}, {name: rate, kind: ratio, numerator: " +
			"clicks, " +
			"denominator: views}]\npolicy: {kind: fixed, split: {c: 0.5, a: 0.5}}\n" +
			"guardrails: [{metric: rate, min_change: -0.1, hard: false}]\nround: {length: 1m}\nattribution_window: 1m")
		r := random.New(1, "ratio change")
		for round := range 8 {
			p := join.Units{Experiment: "g"}
			for i := range 400 {
				unit := fmt.Sprint(round, "-", i)
				d := s.decide(unit)
				rate, most := .2+.05*float64(round), 3
				if d.Name == "a" {
					rate *= c.factor
					most = 6
				}
				views, clicks := 1+math.Floor(float64(most)*r.Float64()), 0.0
				for range int(views) {
					if r.Float64() < rate {
						clicks++
					}
				}
				values := map[string]float64{"clicks": clicks, "views": views}
				p.Items = append(p.Items, join.UnitOf(s.tokens[unit], values))
			}
			q := join.Units{Experiment: "g"}
			for _, e := range p.Items {
				e.Metrics = nil
				q.Items = append(q.Items, e)
			}
			s.event(KindExposures, q)
			s.event(KindFeedback, p)
			s.now += int64(2*time.Minute) + 1
			s.run("due")
		}
		r2, err := s.state.Report("g")
		if err != nil {
			t.Fatal(err)
		}
		// The mixture has more of its views from the arm.
		g := r2.Guardrails[0]
		if change := (c.factor - 1) * .64; g.Estimate == nil || math.Abs(*g.Estimate-change) > .06 {
			t.Errorf("a factor of %v is estimated as %s, want %v", c.factor, number(g.Estimate), change)
		}
		if g.State != c.want {
			t.Errorf("a factor of %v is %s by %s in [%s, %s]", c.factor, g.State, number(g.Served.Estimate),
				number(g.Served.Low), number(g.Served.High))
		}
		s.check()
	}
}

// TestHeldThenRolledBack shows a guardrail to hold and then lets an arm break it. While the
// experiment is rolled back nothing is judged, and after the resume the same breach does not act
// again.
func TestHeldThenRolledBack(t *testing.T) {
	t.Parallel()
	s := newScenario(t)
	s.run("apply\nname: g\narms: [{name: c, value: 0}, {name: a, value: 1}]\ncontrol: {arm: c}\n" +
		"metrics: [{name: y, range: [0, 1]}]\npolicy: {kind: fixed, split: {c: 0.5, a: 0.5}}\n" +
		"guardrails: [{metric: y, min_change: -0.2, hard: false, action: rollback}]\nround: {length: " +
		"1m}\nattribution_window: 1m")
	guard := func() api.GuardrailReport {
		r, err := s.state.Report("g")
		if err != nil {
			t.Fatal(err)
		}
		return r.Guardrails[0]
	}
	s.simulate([]string{"simulate", "0", "3000", "0", "y=c:.5,a:.5"})
	if g := guard(); g.State != api.GuardHeld || !(*g.Low >= g.Limit) {
		t.Fatalf("it is %s in [%s, %s]", g.State, number(g.Low), number(g.High))
	}
	s.run("wait 2m")
	s.run("due")
	for first := 3000; guard().State != api.GuardRolledBack && first < 60_000; first += 1000 {
		s.simulate([]string{"simulate", fmt.Sprint(first), "1000", "0", "y=c:.5,a:0"})
		s.run("wait 2m")
		s.run("due")
	}
	g := guard()
	if g.State != api.GuardRolledBack || s.state.live["g"].Status != policy.RolledBack {
		t.Fatalf("it is %s in [%s, %s]", g.State, number(g.Low), number(g.High))
	}
	if !(*g.Served.High < g.Limit) || math.Abs(*g.Estimate) > 1e-9 {
		t.Errorf("what was served has the upper bound %s, the current mixture the estimate %s", number(g.Served.High),
			number(g.Estimate))
	}
	s.run("resume I know")
	s.simulate([]string{"simulate", "100000", "50", "0", "y=c:.5,a:0"})
	if x := s.state.live["g"]; x.Status != policy.Running || guard().State != api.GuardBreached {
		t.Errorf("after resume it is %s, the guardrail %s", x.Status, guard().State)
	}
	if n := s.noted("g", "rolled back by a guardrail"); n != 1 {
		t.Errorf("it was rolled back %d times", n)
	}
	s.check()
}

// TestReturns checks that units that return in every version with the same value inflate the
// variance by the number of versions, and that units whose values are drawn anew do not. The sample
// stays bounded.
func TestReturns(t *testing.T) {
	for _, c := range []struct {
		stays     float64 // the part of the variance that is the unit's own in all versions
		units     int
		low, high float64
	}{{1, 800, 4.5, 7}, {0, 800, 1, 1.4}, {.5, 6000, 2.5, 4}}[:testsize.Of(3, 2)] {
		s := newScenario(t)
		s.run("apply\nname: g\narms: [{name: c, value: 0}, {name: a, value: 1}]\n" +
			"metrics: [{name: y}]\npolicy: {kind: fixed, split: {c: 0.5, a: 0.5}}\nstickiness: unit\n" +
			"round: {length: 1m}\nattribution_window: 1m")
		r := random.New(1, "returns")
		own := make([]float64, c.units)
		for i := range own {
			own[i] = stat.Normal(r)
		}
		for range 5 {
			p, q := join.Units{Experiment: "g"}, join.Units{Experiment: "g"}
			for i := range own {
				unit := fmt.Sprint(i)
				s.decide(unit)
				y := math.Sqrt(c.stays)*own[i] + math.Sqrt(1-c.stays)*stat.Normal(r)
				p.Items = append(p.Items, join.UnitOf(s.tokens[unit], map[string]float64{"y": y}))
				q.Items = append(q.Items, join.UnitOf(s.tokens[unit], nil))
			}
			s.event(KindExposures, q)
			s.event(KindFeedback, p)
			s.run("wait 2m")
			s.run("due")
		}
		s.run("wait 3m")
		s.run("due")
		x := &s.state.live["g"].joiner.Returns
		if f := x.Factors()[0]; f < c.low || f > c.high {
			t.Errorf("%v of the variance is the unit's own in 5 versions: a factor of %v, want %v to %v", c.stays, f,
				c.low, c.high)
		}
		if len(x.Unit) > 4096 || c.units < 4096 && x.Shift != 0 {
			t.Errorf("%d of %d units are followed, after %d halvings", len(x.Unit), c.units, x.Shift)
		}
		s.check()
	}
}
