package bandit

import (
	"math"
	"testing"
)

// The estimate of a loss g in [0, L] is g/L/(p + η/2).
func TestExp3IX(t *testing.T) {
	p := made(NewPlayer(2, Exp3IX{Rate: .5, Limit: 4}))
	pull(t, p, 1, 3)
	nearAll(t, "estimates", p.Estimates(), []float64{0, 1}) // .75/(.5 + .25)
	odds := math.Exp(-.5)
	nearAll(t, "distribution", p.Probabilities(), []float64{1 / (1 + odds), odds / (1 + odds)})
}

func TestExp3IXBound(t *testing.T) {
	near(t, "rate", Exp3IXRate(10, 10000), 0.006786140424)
	want := 2*678.6140424 + (math.Sqrt(2e5/math.Log(10))+1)*math.Log(40)
	near(t, "bound", Exp3IXBound(10, 10000, 1, .05)/want, 1)
	if got := Exp3IXBound(1, 100, 1, .05); got != 0 {
		t.Errorf("bound of one arm: %v", got)
	}
}
