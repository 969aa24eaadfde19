package confident

import (
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/instance"
)

// Rounds allocate nothing with hard guardrails too: of a linear reward, with soft guardrails beside
// and the soft minimum, with no room for caution, and where no mixture holds them.
func TestHardAllocatesNothing(t *testing.T) {
	mu, err := instance.Uniform(20, 4, 7)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		soft      float64
		threshold float64
		lambda    float64
	}{
		"linear": {0, .1, 0}, "soft beside": {0, .1, 3}, "soft minimum": {2, .1, 3}, "no room": {0, .55, 0},
		"infeasible": {0, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			metrics := []pasto.Metric{
				{Name: "x"},
				{Name: "y", Role: pasto.Guardrail, Hard: true, Threshold: c.threshold},
				{Name: "z", Role: pasto.Guardrail, Hard: true, Threshold: c.threshold - .2},
				{Name: "w"},
			}
			if c.lambda > 0 {
				metrics[3] = pasto.Metric{Name: "w", Role: pasto.Guardrail, Lambda: c.lambda, Threshold: .2}
			}
			f, err := pasto.NewGoals(metrics, c.soft)
			if err != nil {
				t.Fatal(err)
			}
			l, err := New(f, 20, DefaultOptions())
			if err != nil {
				t.Fatal(err)
			}
			r := random.New(1, "allocations")
			arms, obs, values := make([]int, 5), make([]pasto.Observation, 5), make([]float64, 20)
			solved := 0
			round := func() {
				l.Draw(r, arms)
				for q, k := range arms {
					row := values[4*q : 4*q+4]
					for i, v := range mu.Arm(k) {
						row[i] = v + .5*stat.Normal(r)
					}
					obs[q] = pasto.Observation{Arm: k, Metrics: row}
				}
				before := l.s.Next
				if err := l.Observe(obs); err != nil {
					t.Fatal(err)
				}
				if l.s.Next != before {
					solved++
				}
			}
			for range testsize.Of(2000, 500) {
				round()
			}
			solved = 0
			// A solution that allocates shows, a lone allocation by the runtime does not.
			many := func() {
				for range testsize.Of(1000, 300) {
					round()
				}
			}
			if n := testing.AllocsPerRun(3, many); n != 0 {
				t.Errorf("%v allocations in some hundred rounds", n)
			}
			if solved < 5 {
				t.Errorf("%d solutions: the test sees nothing", solved)
			}
		})
	}
}
