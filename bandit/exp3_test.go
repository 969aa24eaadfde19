package bandit

import (
	"math"
	"testing"
)

func TestExp3Bound(t *testing.T) {
	rate := Exp3Rate(10, 10000, 1)
	near(t, "rate", rate, 0.006786140424)
	near(t, "bound", Exp3Bound(10, 10000, 1, rate), 678.6140424)
	near(t, "L·√(2dT·ln d) for L = 3", Exp3Bound(10, 10000, 3, Exp3Rate(10, 10000, 3)), 3*678.6140424)
	near(t, "anytime", AnytimeExp3Bound(10, 10000, 1), math.Sqrt2*678.6140424)
	for _, r := range []float64{rate * .9, rate * 1.1} {
		if Exp3Bound(10, 10000, 1, r) <= 678.614 {
			t.Errorf("the rate %v has a lower bound", r)
		}
	}
	if got := Exp3Bound(1, 100, 1, Exp3Rate(1, 100, 1)) + AnytimeExp3Bound(1, 100, 1); got != 0 {
		t.Errorf("bounds of one arm: %v", got)
	}
}

// The anytime rate in round t is √(ln d/(d·t))/L.
func TestAnytimeExp3(t *testing.T) {
	p := made(NewPlayer(2, AnytimeExp3{Limit: 2}))
	pull(t, p, 0, 2) // G̃ = (4, 0)
	odds := math.Exp(-4 * math.Sqrt(math.Ln2/4) / 2)
	nearAll(t, "second distribution", p.Probabilities(), []float64{odds / (1 + odds), 1 / (1 + odds)})
}
