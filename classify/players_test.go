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
func (s dualSet) Diameter() float64                              { return 2 * s.m.DualRadius() }
func (s dualSet) String() string                                 { return s.m.Name() }

// TestSPADEIsTwoGradientPlayers holds SPADE to what it is: online subgradient descent of package
// oco on the weights, averaged by its online-to-batch conversion, against online subgradient
// descent on the dual region, both with rate 1/√t. The sparse, scaled representation of this
// package is the same thing in O(nnz).
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
