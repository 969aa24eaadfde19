package single

import (
	"testing"

	"github.com/noregret/noregret/bandit"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto/internal/pastotest"
)

// Deterministic baselines find the best single arm.
func TestSingle(t *testing.T) {
	mu := pastotest.Table(t, []float64{1, .4, -.2, .1}, []float64{-.6, .3, .9, -.1}, []float64{.2, -.5, .3, .8})
	for _, rule := range []bandit.Rule{bandit.Elimination, bandit.UCB, bandit.Thompson} {
		l, err := New(pastotest.Goals(t, 5, false, .2, .1), 4, rule)
		if err != nil {
			t.Fatal(err)
		}
		pastotest.Play(t, l, mu, 2, 3000, .5, random.New(1, "test"))
		if l.Deployed()[2] != 1 {
			t.Errorf("rule %d deploys %v", rule, l.Deployed())
		}
	}
}
