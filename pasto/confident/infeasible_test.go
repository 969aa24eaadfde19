package confident

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/pastotest"
	"github.com/noregret/noregret/pasto/optimum"
)

// One metric drifts, so that change follows change, and the other stays: the estimate of the
// other's noise outlives the changes. In every run the variances are near the truth of 1 once there
// are thirty rounds, and at the end at most one in ten means is off by more
// than two errors.
func TestCoverageUnderChanges(t *testing.T) {
	const rounds = 9000
	const runs = 150
	missed, means := 0, 0
	for seed := range uint64(runs) {
		l, err := New(pastotest.Goals(t, 5, false, 0), 2, DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		r, arms := random.New(seed, "drift"), make([]int, 1)
		for n := range rounds {
			l.Draw(r, arms)
			k := float64(arms[0])
			x := k/2 + float64(n)/3000 + stat.Normal(r)
			if err := l.Observe([]pasto.Observation{
				{Arm: arms[0], Metrics: []float64{x, 1 - k + stat.Normal(r)}},
			}); err != nil {
				t.Fatal(err)
			}
			if n < 500 {
				continue
			}
			for k := range 2 {
				if v := l.s.Sums.variance(k, 1); l.s.Sums.Freedom > 30 && !(v > .3 && v < 4) {
					t.Fatalf("run %d, round %d: after %d changes arm %d has a variance of %v, want about 1", seed, n,
						l.Changes(), k, v)
				}
			}
		}
		if l.Changes() < 1 { // of each arm by itself
			t.Errorf("run %d: %d changes: the test sees nothing", seed, l.Changes())
		}
		v, se := l.Estimate()
		for k := range 2 {
			means++
			if !(se.Arm(k)[1] > 0) {
				t.Errorf("run %d: arm %d has an error of %v", seed, k, se.Arm(k)[1])
			}
			if math.Abs(v.Arm(k)[1]-float64(1-k)) > 2*se.Arm(k)[1] {
				missed++
			}
		}
	}
	t.Logf("%d of %d means are off by more than two errors", missed, means)
	if missed > means/10 {
		t.Errorf("%d of %d means are off by more than two errors", missed, means)
	}
}

// An arm that is all there is starts anew with its own noise, without the jump: what a block that
// straddles it has of it is gone after a thousand rounds.
func TestRestartAlone(t *testing.T) {
	l, err := New(pastotest.Goals(t, 5, false, 0), 1, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	r := random.New(1, "alone")
	for n := range 4000 {
		jump := float64(n / 1000 * 8)
		if err := l.Observe([]pasto.Observation{{
			Arm:     0,
			Metrics: []float64{jump + stat.Normal(r), jump + 2*stat.Normal(r)},
		}}); err != nil {
			t.Fatal(err)
		}
		if a, b := l.s.Sums.variance(0, 0), l.s.Sums.variance(0, 1); l.s.Sums.Rounds[0] > 32 &&
			!(a > .5 && b > 2) ||
			n%1000 == 999 && !(a < 2 && b < 8) {
			t.Fatalf("round %d: variances %v and %v, want about 1 and 4", n, a, b)
		}
	}
	if l.Changes() < 3 {
		t.Errorf("%d changes, want 3 or more", l.Changes())
	}
}

// Guardrails that every arm holds are not called surely broken on the first rounds, which all
// groups of a round have a shock in common with: of 300 runs at most three are at any of the
// rounds. Errors are unknown after the first round. Guardrails that no arm holds are surely broken
// within 300 rounds in some: arms that are served in few of them may hold them.
func TestInfeasibleSureUnderShocks(t *testing.T) {
	testsize.NoRace(t)
	const groups = 20
	runs := testsize.Of(300, 60)
	metrics := []pasto.Metric{{Name: "x"}, {Name: "y", Role: pasto.Guardrail, Hard: true}}
	f, err := pasto.NewGoals(metrics, 0)
	if err != nil {
		t.Fatal(err)
	}
	at := []int{1, 2, 3, 4, 6, 10, 20, 300}
	for _, room := range []float64{.2, -1} {
		sure := make([]int, len(at))
		for seed := range uint64(runs) {
			l, err := New(f, 5, DefaultOptions())
			if err != nil {
				t.Fatal(err)
			}
			r, arms, obs := random.New(seed, "sure"), make([]int, groups), make([]pasto.Observation, groups)
			for n, next := 1, 0; next < len(at); n++ {
				l.Draw(r, arms)
				shock := stat.Normal(r)
				for q, k := range arms {
					obs[q] = pasto.Observation{
						Arm:     k,
						Metrics: []float64{float64(k) + .1*stat.Normal(r), room + shock + .1*stat.Normal(r)},
					}
				}
				if err := l.Observe(obs); err != nil {
					t.Fatal(err)
				}
				if _, se := l.Estimate(); n == 1 && !math.IsInf(se.Arm(0)[1], 1) {
					t.Fatalf("an error of %v after a round", se.Arm(0)[1])
				}
				if n == at[next] {
					if _, s := l.Infeasible(); s {
						sure[next]++
					}
					next++
				}
			}
		}
		t.Logf("room %v: sure at %v: %v of %d runs", room, at, sure, runs)
		for i, n := range sure {
			if room > 0 && n > 3 {
				t.Errorf("round %d: %d of %d runs are sure", at[i], n, runs)
			}
		}
		if room < 0 && sure[len(at)-1] < runs/10 {
			t.Errorf("%d of %d runs are sure of what is so", sure[len(at)-1], runs)
		}
	}
}

// What can be held is not called surely broken: rare events of which none has been seen, or few;
// one noisy arm among quiet ones; and an arm of which nothing is known.
func TestInfeasibleSureTooSoon(t *testing.T) {
	testsize.NoRace(t)
	runs := testsize.Of(200, 20)
	g := pastotest.One(t, pasto.Metric{Name: "rate", Role: pasto.Guardrail, Threshold: .001}, pasto.Metric{Name: "x"})
	sure := 0
	for seed := range uint64(runs) {
		l, err := New(g, 3, DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		r, arms, was := random.New(seed, "sure"), make([]int, 1), false
		for range 300 {
			l.Draw(r, arms)
			events := 0.0
			for range 100 {
				events += event(r, .003)
			}
			if err := l.Observe([]pasto.Observation{{
				Arm: arms[0], Size: 100,
				Metrics: []float64{events / 100, stat.Normal(r)},
			}}); err != nil {
				t.Fatal(err)
			}
			_, s := l.Infeasible()
			was = was || s
		}
		if was {
			sure++
		}
	}
	if sure > runs/40 {
		t.Errorf("a rate of .003 is surely below .001 in %d of %d runs", sure, runs)
	}

	runs = testsize.Of(400, 40)
	g = pastotest.One(t, pasto.Metric{Name: "x"}, pasto.Metric{Name: "y", Role: pasto.Guardrail})
	for _, ratio := range []float64{1, 3, 5, 10} {
		sure, known := 0, 0
		for seed := range uint64(runs) {
			for _, y := range []float64{.1, -1} {
				l, err := New(g, 10, DefaultOptions())
				if err != nil {
					t.Fatal(err)
				}
				r, arms, obs := random.New(seed, "noisy"), make([]int, 5), make([]pasto.Observation, 5)
				for range 40 {
					l.Draw(r, arms)
					for q, k := range arms {
						v := -1 + .1*stat.Normal(r)
						if k == 9 {
							v = y + .1*ratio*stat.Normal(r)
						}
						obs[q] = pasto.Observation{Arm: k, Metrics: []float64{stat.Normal(r), v}}
					}
					if err := l.Observe(obs); err != nil {
						t.Fatal(err)
					}
				}
				if _, s := l.Infeasible(); s && y > 0 {
					sure++
				} else if s {
					known++
				}
			}
		}
		t.Logf("noise times %v: wrongly sure in %d of %d runs, rightly in %d", ratio, sure, runs, known)
		if sure > runs/100 {
			t.Errorf("noise times %v: sure in %d of %d runs", ratio, sure, runs)
		}
		if known < runs/5 {
			t.Errorf("noise times %v: sure in %d of %d runs of what is so, want at least a fifth", ratio, known, runs)
		}
	}

	l, err := New(pastotest.Goals(t, 5, false, 3), 2, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	pastotest.Play(t, l, pastotest.Toy(t), 2, 2000, 1, random.New(1, "test"))
	if _, sure := l.Infeasible(); !sure {
		t.Error("not sure of what is so")
	}
	if _, err := l.AddArm(); err != nil {
		t.Fatal(err)
	}
	if least, sure := l.Infeasible(); least == nil || sure {
		t.Errorf("%v, sure %v with a new arm", least, sure)
	}
}

// A guardrail that no mixture can satisfy is reported with the least violation: by the exact
// solver, hard or soft, and by the default while it learns.
func TestInfeasibleReported(t *testing.T) {
	const want = `guardrails: infeasible: no mixture holds the guardrails; the least total violation is 1 ("a" by 1)`
	_, err := optimum.Maximize(pastotest.Goals(t, 5, true, 3), pastotest.Toy(t), optimum.DefaultOptions())
	pastotest.Same(t, err, want)
	pastotest.Same(t, optimum.CheckFeasible(pastotest.Goals(t, 5, false, 3), pastotest.Toy(t)), want)
	for _, hard := range []bool{false, true} {
		l, err := New(pastotest.Goals(t, 5, hard, 3), 2, DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		if least, sure := l.Infeasible(); least != nil || sure {
			t.Error("it knows before it has seen anything")
		}
		pastotest.Play(t, l, pastotest.Toy(t), 2, 2000, 1, random.New(1, "test"))
		least, sure := l.Infeasible()
		if least == nil || !sure {
			t.Fatalf("hard %v: %v, sure %v", hard, least, sure)
		}
		pastotest.Near(t, "least violation", least.Violation, 1, .1)
		pastotest.Near(t, "arm of least violation", least.Mixture[1], 1, 1e-9)
		pastotest.Near(t, "deployed", l.Deployed()[1], 1, .05)
		l, _ = New(pastotest.Goals(t, 5, hard, 1), 2, DefaultOptions())
		pastotest.Play(t, l, pastotest.Toy(t), 2, 2000, 1, random.New(1, "test"))
		if least, sure := l.Infeasible(); least != nil || sure {
			t.Errorf("hard %v: a guardrail that can be held is reported: %v", hard, least)
		}
	}
}
