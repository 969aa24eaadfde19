package mixture

import (
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/propose"
)

// freeWorld is a problem without a control: a goal and an upper limit of another rate.
func freeWorld(goal, limited []float64) world {
	w := rates([]propose.Guardrail{{Metric: 1, Limit: 0.3, Down: true, Hard: true}}, goal, limited)
	w.problem.NoControl = true
	return w
}

// TestFirstArmIsNoControl: without a control it does not matter which arm is the first one, also
// where that has few units: what is known of the others does not hang on it. What is deployed, the
// errors and the states of guardrails are the same in each order of the arms.
func TestFirstArmIsNoControl(t *testing.T) {
	goal, limited := []float64{0.2, 0.5, 0.45, 0.3}, []float64{0.1, 0.4, 0.25, 0.2}
	turn := func(v []float64, by int) []float64 { return slices.Concat(v[by:], v[:by]) }
	var deployed, errs []float64
	for by := range goal {
		w := freeWorld(turn(goal, by), turn(limited, by))
		s, err := w.problem.Store()
		if err != nil {
			t.Fatal(err)
		}
		for i := range 30 {
			p := []float64{0.01, 0.33, 0.33, 0.33}
			if i < 2 {
				p = []float64{0.25, 0.25, 0.25, 0.25}
			}
			w.add(t, s, nil, turn(p, by), 1000)
		}
		m, err := New(w.problem, DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.Propose(s)
		if err != nil {
			t.Fatal(err)
		}
		check(t, got.Serving)
		check(t, got.Deployed)
		back := len(goal) - by
		d, e := turn(got.Deployed, back%len(goal)), turn(m.goals[0].err, back%len(goal))
		if by == 0 {
			deployed, errs = d, e
			// The arm of few units is known less well than the others.
			if !(e[0] > 2*e[1] && e[0] > 2*e[2] && d[0] < 0.01 && d[2] > 0.3) {
				t.Errorf("deployed %v, errors %v", d, e)
			}
		}
		for k := range goal {
			if math.Abs(d[k]-deployed[k]) > 1e-6 || math.Abs(e[k]-errs[k]) > 1e-9 {
				t.Errorf("the arms begin with arm %d: deployed %v, errors %v, want %v, %v", by, d, e, deployed, errs)
				break
			}
		}
	}
}

// TestRetiredFirstArm: without a control, also above 128 arms, the policy goes on when the first
// arm is retired before anything is known, and when it is retired later.
func TestRetiredFirstArm(t *testing.T) {
	for _, arms := range []int{4, 140} {
		for _, before := range []int{0, 5} {
			goal, limited := make([]float64, arms), make([]float64, arms)
			for k := range goal {
				goal[k], limited[k] = 0.2, 0.1
			}
			// the best is beyond the limit
			goal[arms-1], goal[arms-2], limited[arms-1] = 0.4, 0.35, 0.5
			w := freeWorld(goal, limited)
			s, err := w.problem.Store()
			if err != nil {
				t.Fatal(err)
			}
			play := func(p *propose.Problem, rounds int) (got *propose.Proposal) {
				m, err := New(p, DefaultOptions())
				if err != nil {
					t.Fatal(err)
				}
				for range rounds {
					if got, err = m.Propose(s); err != nil {
						t.Fatal(err)
					}
					check(t, got.Serving)
					w.add(t, s, nil, got.Serving, float64(500*arms))
				}
				return got
			}
			play(w.problem, before)
			p := *w.problem
			p.Arms = slices.Clone(p.Arms)
			p.Arms[0].Retired = true
			got := play(&p, 30)
			var c compare.Contrasts
			if s.Contrasts(&c, 0, 0, 0); !c.Known[1] || math.Abs(c.Delta[arms-2]-c.Delta[1]-0.15) > 0.02 {
				t.Errorf("%d arms, %d rounds: the second best has %v more than another", arms, before,
					c.Delta[arms-2]-c.Delta[1])
			}
			if got.Serving[0] > 0 || got.Deployed[0] > 0 || got.Serving[arms-2] < 0.3 || got.Deployed[arms-2] < 0.4 {
				t.Errorf("%d arms, %d rounds: the best mixture has %v, served %v of it; of the best arm %v and %v",
					arms, before, got.Deployed[arms-2], got.Serving[arms-2], got.Deployed[arms-1], got.Serving[arms-1])
			}
		}
	}
}

// TestUnknownIsNotShown: a mixture with arms of which nothing is known, but the worst of their
// range, does not show that it holds a guardrail.
func TestUnknownIsNotShown(t *testing.T) {
	w := rates([]propose.Guardrail{{Metric: 1, Limit: 0.3, Down: true, Hard: true}}, []float64{0.2, 0.5, 0.9},
		[]float64{0.1, 0.15, 0.15})
	s, err := w.problem.Store()
	if err != nil {
		t.Fatal(err)
	}
	for range 30 {
		w.add(t, s, nil, []float64{0.5, 0.5, 0}, 4000)
	}
	m, err := New(w.problem, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	m.estimate(s)
	g, product := &m.guards[0], make([]float64, 3)
	for _, c := range []struct {
		p    []float64
		want bool
	}{{[]float64{0.5, 0.5, 0}, true}, {[]float64{0.5, 0.4, 0.1}, true}, {[]float64{0.4, 0.2, 0.4}, false}} {
		if got := g.shown(c.p, product, 3); got != c.want {
			t.Errorf("%v is shown to hold the guardrail: %v", c.p, got)
		}
	}
}
