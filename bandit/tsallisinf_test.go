package bandit

import (
	"math"
	"testing"
)

// In round t the weights are those of INF with q = ½ and the rate 1/(L·√t), or 2/(L·√t) with
// reduced variance.
func TestTsallisINF(t *testing.T) {
	for _, c := range []struct {
		estimator Estimator
		scale     float64
	}{{ImportanceWeighted, 1}, {ReducedVariance, 2}} {
		f := made(NewPlayer(3, TsallisINF{Estimator: c.estimator, Limit: 2}))
		for round, arm := range referenceArms {
			pull(t, f, arm, 2*referenceLosses[round][arm])
		}
		want := make([]float64, 3)
		tsallis(want, f.Estimates(), c.scale/2/math.Sqrt(5), .5)
		nearAll(t, "weights", f.Probabilities(), want)
	}
	near(t, "bound", TsallisINFBound(10, 10000, 2), 2*(4*math.Sqrt(1e5)+1))
}
