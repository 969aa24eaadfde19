package classify

import (
	"math"
	"testing"

	"github.com/noregret/noregret/classify/measure"
)

// traceStream is a stream of five examples for a computation by hand.
var traceStream = []Example{
	{[]uint32{0, 1}, []float32{1, 2}, false, 1},
	{[]uint32{0, 1}, []float32{2, .5}, true, 1},
	{[]uint32{0, 1}, []float32{-1, 1}, false, 1},
	{[]uint32{0, 1}, []float32{.5, -1}, true, 1},
	{[]uint32{0, 1}, []float32{.2, .4}, false, 1},
}

func traceConfig(m measure.Concave) SPADEConfig {
	return SPADEConfig{
		Config:  Config{NoIntercept: true, Positives: 0.4, Step: 1, Scaling: Identity(2), MeanSquare: 1},
		Measure: m, DualStep: 1, DualReward: DualSurrogate,
	}
}

// The scores, weights and duals of five steps of algorithm 1 of Narasimhan, Kar and Jain (2015),
// computed by hand. It fails with the paper's printed sign of ∇Ψ*,
// with the dual updated by post-update scores, and with an average taken after the update.
func TestSPADETrace(t *testing.T) {
	const tol = 6e-9 // float32 features: .2 and .4 are not exact
	for _, tc := range []struct {
		m    measure.Concave
		dual [5][2]float64
		w    [2]float64
	}{
		{
			measure.Min{},
			[5][2]float64{{.5, .5}, {1, 0}, {1, 0}, {.375, .625}, {.4879226431, .5120773569}},
			[2]float64{.8412641206, -1.4110639266},
		},
		{measure.HMean{}, [5][2]float64{
			{.5, .5},
			{1.9897490598, .2022342185},
			{1.9913902651, .0000092859},
			{.8639262480, .2349701845},
			{.9477188047, .1942209497},
		}, [2]float64{.8994063326, -1.2947795024}},
		{measure.QMean{}, [5][2]float64{
			{.5, .5},
			{.6913748727, .1483266174},
			{.7071067812, 0},
			{0, .5},
			{.3725816969, .6009849242},
		}, [2]float64{.8598980204, -1.3737961269}},
		{measure.GMean{}, [5][2]float64{
			{.5, .5},
			{.7768869870, .3217971265},
			{.8264458251, .3025001669},
			{.3794304498, .6588822804},
			{.4834037835, .5171659977},
		}, [2]float64{.8362132484, -1.4211656708}},
	} {
		t.Run(tc.m.Name(), func(t *testing.T) {
			s, err := NewSPADE(traceConfig(tc.m))
			if err != nil {
				t.Fatal(err)
			}
			scores := []float64{0, -2.5, -2.1591585481, 1.6919417382, -.3030032474}
			mid := [][2]float64{
				{-.8333333333, -1.6666666667},
				{.9344336196, -1.2247249284},
				{.9344336196, -1.2247249284},
				{.9344336196, -1.2247249284},
			}
			for i, x := range traceStream {
				near(t, "score", s.lin.Score(s.lin.Products(x.Index, x.Value)), scores[i], tol)
				if err := s.Observe(x); err != nil {
					t.Fatal(err)
				}
				a, b := s.Dual()
				near(t, "α", a, tc.dual[i][0], tol)
				near(t, "β", b, tc.dual[i][1], tol)
				want := tc.w
				if i < 4 {
					want = mid[i]
				}
				for j := range want {
					near(t, "w", s.lin.Weight(j), want[j], tol)
				}
			}
			w := s.Model().Weights
			near(t, "w̄₁", w[0], .3939935051, tol)
			near(t, "w̄₂", w[1], -1.0681682904, tol)
		})
	}
}

func near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol) {
		t.Errorf("%s = %.12g, want %.12g (within %g)", what, got, want, tol)
	}
}
