package confident

import (
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/pastotest"
)

// The learner deploys the arm that only its guardrail's slack lets pass, and does not report it as
// infeasible.
func TestSlackLearner(t *testing.T) {
	g := pastotest.One(t, pasto.Metric{Name: "x"}, pasto.Metric{
		Name: "y", Role: pasto.Guardrail, Direction: pasto.Down, Threshold: .3, Hard: true,
		Slack: .05,
	})
	l, err := New(g, 2, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	r, arms := random.New(1, "slack"), make([]int, 1)
	for range 5000 {
		l.Draw(r, arms)
		k := float64(arms[0])
		if err := l.Observe([]pasto.Observation{{
			Arm:     arms[0],
			Metrics: []float64{k + .1*stat.Normal(r), .31 + .03*k + .01*stat.Normal(r)},
		}}); err != nil {
			t.Fatal(err)
		}
	}
	if p := l.Deployed(); p[1] < .99 {
		t.Errorf("deployed %v: want the second arm", p)
	}
	if least, sure := l.Infeasible(); least != nil || sure {
		t.Errorf("infeasible %v, sure %v", least, sure)
	}
}

// One value that was far off, of an arm that nobody wants, does not send everything to the arm that
// breaks the guardrail.
func TestFarOutsideLearner(t *testing.T) {
	g := pastotest.One(t, pasto.Metric{Name: "x"}, pasto.Metric{Name: "y", Role: pasto.Guardrail, Hard: true})
	x, y := []float64{2, 0, -1}, []float64{-2, 2, 0}
	for seed := range uint64(5) {
		l, err := New(g, 3, DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		r, arms, off := random.New(seed, "far"), make([]int, 1), -1e13
		for n := range 3000 {
			l.Draw(r, arms)
			k := arms[0]
			values := []float64{x[k] + stat.Normal(r), y[k] + stat.Normal(r)}
			if n >= 300 && k == 2 {
				values[1] += off
				off = 0
			}
			if err := l.Observe([]pasto.Observation{{Arm: k, Metrics: values}}); err != nil {
				t.Fatal(err)
			}
		}
		guard := 0.0
		for k, w := range l.Deployed() {
			guard += w * y[k]
		}
		if off != 0 || guard < -.3 {
			t.Errorf("seed %d: deployed %v, whose guardrail is at %v", seed, l.Deployed(), guard)
		}
	}
}
