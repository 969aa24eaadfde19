package pasto

import (
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
)

// one are goals of one metric.
func one(t testing.TB, m ...Metric) *Goals {
	t.Helper()
	g, err := NewGoals(m, 0)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// All arms jump at once by the same amount, up or down, by so much that it hides which arm is best. What was
// seen before the jump does not keep the wrong arm deployed: 6,000 rounds later the best one is in all but at
// most two of 40 runs.
func TestJumpOfAllArms(t *testing.T) {
	seeds := testsize.Of(40, 15)
	for _, c := range []struct{ jump, gap float64 }{{3, .5}, {-3, .5}, {5, .5}, {10, .5}, {-10, .5}, {20, 1}, {-20, 1}, {1e9, 1}} {
		for _, groups := range []int{1, 10} {
			wrong := 0
			for seed := range uint64(seeds) {
				l, err := NewConfident(one(t, Metric{Name: "x"}), 3, ConfidentOptions{})
				if err != nil {
					t.Fatal(err)
				}
				r, arms, obs := random.New(seed, "season"), make([]int, groups), make([]Observation, groups)
				for n := range 8000 {
					l.Draw(r, arms)
					for q, k := range arms {
						x := Normal(r)
						if k == 2 {
							x += c.gap
						}
						if n >= 2000 {
							x += c.jump
						}
						obs[q] = Observation{Arm: k, Metrics: []float64{x}}
					}
					if err := l.Observe(obs); err != nil {
						t.Fatal(err)
					}
				}
				if l.Changes() == 0 {
					t.Errorf("%+v: the jump is not noticed", c)
				}
				if l.Deployed()[2] < .5 {
					wrong++
				}
			}
			t.Logf("%+v, %d groups: the wrong arm in %d of %d runs", c, groups, wrong, seeds)
			if wrong > 2 {
				t.Errorf("%+v, %d groups: the wrong arm in %d of %d runs", c, groups, wrong, seeds)
			}
		}
	}
}

// rareRun plays the default on arms whose one metric is the share of a group's units with an event, and
// returns it.
func rareRun(t *testing.T, g *Goals, rates []float64, units, rounds int, seed uint64, each func(n int, l *Confident)) *Confident {
	t.Helper()
	l, err := NewConfident(g, len(rates), ConfidentOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r, arms, x := random.New(seed, "rare"), make([]int, 1), make([]float64, 1)
	for n := 1; n <= rounds; n++ {
		l.Draw(r, arms)
		x[0] = 0
		for range units {
			if r.Float64() < rates[arms[0]] {
				x[0] += 1 / float64(units)
			}
		}
		o := Observation{Arm: arms[0], Metrics: x}
		if units > 1 {
			o.Size = float64(units)
		}
		if err := l.Observe([]Observation{o}); err != nil {
			t.Fatal(err)
		}
		if each != nil {
			each(n, l)
		}
	}
	return l
}

// Events that are rare: an arm without one yet is not taken to be known to have none, and so the better arm does
// not freeze.
func TestRareEvents(t *testing.T) {
	runs := testsize.Of(60, 15)
	for _, c := range []struct {
		low, high float64
		units     int
		rounds    int
	}{{.003, .006, 1, 50_000}, {.01, .02, 1, 20_000}, {.0003, .0006, 10, 50_000}} {
		wrong, changes := 0, 0
		for seed := range uint64(runs) {
			l := rareRun(t, one(t, Metric{Name: "rate"}), []float64{c.low, c.high}, c.units, c.rounds, seed, nil)
			if l.Deployed()[1] < .5 {
				wrong++
			}
			changes += l.Changes()
		}
		t.Logf("%+v: the arm of half the rate in %d of %d runs, %d changes", c, wrong, runs, changes)
		if wrong > runs/30 || changes > 0 {
			t.Errorf("%+v: the arm of half the rate in %d of %d runs, %d changes", c, wrong, runs, changes)
		}
	}
}

// The same with a hard guardrail on the rate, which the arm that is better otherwise breaks: in how many runs
// what is deployed breaks it.
func TestRareGuardrail(t *testing.T) {
	runs := testsize.Of(200, 60)
	g := one(t, Metric{Name: "x"}, Metric{Name: "rate", Role: Guardrail, Direction: Down, Threshold: .003, Hard: true})
	at := []int{100, 300, 1000, 3000}
	broken := make([]int, len(at))
	for seed := range uint64(runs) {
		l, err := NewConfident(g, 2, ConfidentOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r, arms, rates := random.New(seed, "rare"), make([]int, 1), []float64{.001, .006}
		next := 0
		for n := 1; next < len(at); n++ {
			l.Draw(r, arms)
			x := []float64{float64(arms[0]) + .1*Normal(r), 0}
			if r.Float64() < rates[arms[0]] {
				x[1] = 1
			}
			if err := l.Observe([]Observation{{Arm: arms[0], Metrics: x}}); err != nil {
				t.Fatal(err)
			}
			if n == at[next] {
				if d := l.Deployed(); d[0]*.001+d[1]*.006 > .003 {
					broken[next]++
				}
				next++
			}
		}
	}
	t.Logf("broken at %v: %v of %d", at, broken, runs)
	// As long as no event has been seen, and 1,000 groups have six at most, nobody can know.
	if broken[3] > runs*16/100 {
		t.Errorf("broken in %d of %d runs at %d", broken[3], runs, at[3])
	}
}
