package classify

import (
	"math"
	"testing"

	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/loss"
	"github.com/noregret/noregret/oco"
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

// Weighted recalls of the same ratio have the same optimiser and take the same path.
func TestRecallsAreScaleFree(t *testing.T) {
	path := func(m measure.WeightedRecall) Linear {
		l, err := NewSPADE(SPADEConfig{Measure: m})
		if err != nil {
			t.Fatal(err)
		}
		feed(t, l, stream(52, 2000))
		return l.Model()
	}
	want := path(measure.BalancedAccuracy())
	for _, c := range []float64{1, 0.0078125, 64} {
		if got := path(measure.WeightedRecall{C1: c, C2: c}); !sameModel(got, want) {
			t.Errorf("recalls:%v,%v took another path than balanced accuracy", c, c)
		}
	}
}

// dualSet is a measure's dual region as a set of package convex.
type dualSet struct{ m measure.Concave }

func (s dualSet) Dim() int { return 2 }

func (s dualSet) Project(dst, v []float64) {
	dst[0], dst[1] = s.m.Project(v[0], v[1], math.Inf(1))
}

func (s dualSet) Contains(x []float64, tol float64) bool {
	a, b := s.m.Project(x[0], x[1], math.Inf(1))
	return math.Hypot(a-x[0], b-x[1]) <= tol
}

func (s dualSet) Minimize([]float64, []float64) (float64, error) { return 0, convex.ErrUnbounded }

func (s dualSet) Diameter() float64 { return 2 * s.m.DualRadius() }

func (s dualSet) String() string { return s.m.Name() }

// TestSPADEIsTwoGradientPlayers checks that SPADE is online subgradient descent of package oco on
// the weights, averaged by its online-to-batch conversion, against online subgradient descent on
// the dual region, both with rate 1/√t. The sparse, scaled representation of this package computes
// the same in O(nnz).
func TestSPADEIsTwoGradientPlayers(t *testing.T) {
	const dim, rounds, share, radius = 6, 400, 0.2, 1.5
	for _, m := range []measure.Concave{measure.Min{}, measure.QMean{}} {
		t.Run(m.Name(), func(t *testing.T) {
			config := SPADEConfig{
				Config: Config{
					NoIntercept: true, Positives: share, Step: 0.3, Radius: radius, Scaling: Identity(dim),
					MeanSquare: 1, MeanWeight: 1,
				},
				Measure: m, DualStep: 0.4, DualReward: DualSurrogate,
			}
			spade, err := NewSPADE(config)
			if err != nil {
				t.Fatal(err)
			}
			ball, err := convex.NewCenteredBall(dim, radius)
			if err != nil {
				t.Fatal(err)
			}
			descent, err := oco.NewSubgradientDescent(ball, nil, oco.InverseSqrt(0.3, 1))
			if err != nil {
				t.Fatal(err)
			}
			weights, err := oco.NewAveraging(descent, oco.UniformAlpha())
			if err != nil {
				t.Fatal(err)
			}
			a, b := m.InitialDual()
			dual, err := oco.NewSubgradientDescent(dualSet{m}, []float64{a, b}, oco.InverseSqrt(0.4, 1))
			if err != nil {
				t.Fatal(err)
			}
			da, db := m.ConjugateGradient()
			r := random.New(3, "players")
			for range rounds {
				positive := r.Float64() < share
				index, value := make([]uint32, 0, dim), make([]float32, 0, dim)
				z := make([]float64, dim)
				for i := range z {
					if r.IntN(2) == 0 {
						v := float32(r.NormFloat64())
						if positive {
							v++
						}
						index, value, z[i] = append(index, uint32(i)), append(value, v), float64(v)
					}
				}
				// The loss of a round, ⟨dual, rewards⟩ - Ψ*: the weights' player descends on its
				// negative.
				x := weights.Predict()
				margin, q, weight := vec.Dot(z, x), share, dual.Predict()[0]
				if !positive {
					margin, q, weight = -margin, 1-share, dual.Predict()[1]
				}
				reward, slope := loss.Hinge{}.Value(margin), loss.Hinge{}.Derivative(margin)
				g := make([]float64, dim)
				for i, v := range z {
					if g[i] = -weight / q * slope * v; !positive {
						g[i] = -g[i]
					}
				}
				h := []float64{-da, -db}
				if positive {
					h[0] += reward / q
				} else {
					h[1] += reward / q
				}
				if err := weights.Update(g); err != nil {
					t.Fatal(err)
				}
				if err := dual.Update(h); err != nil {
					t.Fatal(err)
				}
				if err := spade.Observe(Example{index, value, positive, 1}); err != nil {
					t.Fatal(err)
				}
				al, be := spade.Dual()
				same(t, "α", al, dual.Predict()[0])
				same(t, "β", be, dual.Predict()[1])
			}
			average, err := weights.Average()
			if err != nil {
				t.Fatal(err)
			}
			for i, w := range spade.Model().Weights {
				same(t, "averaged weight", w, average[i])
			}
		})
	}
}
