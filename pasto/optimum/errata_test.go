package optimum

import (
	"testing"

	"github.com/noregret/noregret/pasto/internal/pastotest"
)

// The relative gain is signed; with the printed absolute value a loss would look like a
// gain.
func TestErratumSign(t *testing.T) {
	mu := pastotest.Toy(t)
	f := pastotest.Goals(t, 5, false, 0)
	_, single, _ := BestSingle(f, mu)
	o, _ := Maximize(f, mu, DefaultOptions())
	theta := make([]float64, 2)
	mu.Mean(theta, []float64{.9, .1})
	if r := (f.Value(theta) - single) / (o.Value - single); r > -5 {
		t.Errorf("r = %v for a mixture far worse than the best arm", r)
	}
}
