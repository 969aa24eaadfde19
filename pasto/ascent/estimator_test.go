package ascent

import (
	"fmt"
	"math"
	"testing"

	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/pastotest"
)

// V̂ of arm 0 by hand, round by round, where the serving distribution changes and groups have
// unequal sizes. In a round arm 1 has whatever arm 0 has not.
func TestEstimatesByHand(t *testing.T) {
	type group struct{ size, value float64 } // of arm 0
	type round struct {
		p      float64 // of arm 0
		groups []group
		want   float64
	}
	for _, c := range []struct {
		form   Estimator
		n0, u0 float64
		rounds []round
	}{
		{form: SelfNormalized(), rounds: []round{
			{.5, []group{{0, 1}}, 1},                  // w = 2
			{.25, []group{{0, 4}}, (2*1 + 4*4) / 6.},  // w = 4; without weights 2.5
			{.5, nil, 3},                              // arm 1's turn
			{.1, []group{{0, 5}, {0, 7}}, 78. / 16.},  // ω = ½ each: w = 5 and 5
			{.5, []group{{3, 2}, {1, 8}}, 85. / 18.},  // ω = ¾ and ¼: w = 1.5 and 0.5
			{.125, []group{{2, 0}, {6, 1}}, 91. / 26}, // w = 2 and 6
		}},
		{form: SelfNormalized(), n0: 2, u0: 4, rounds: []round{
			{.5, []group{{0, 1}}, (2*4 + 2*1) / 4.},
			{.25, []group{{0, 4}}, 26. / 8},
		}},
		{form: ArmMeans(), rounds: []round{
			{.5, []group{{3, 1}, {1, 5}}, 2}, // 8/4; without sizes 3
			{.25, []group{{4, 4}}, 3},        // 24/8
			{.5, nil, 3},
			{.1, []group{{.5, 9}, {1.5, 9}}, 42. / 10},
		}},
		{form: ArmMeans(), n0: 4, u0: 1, rounds: []round{{.5, []group{{3, 1}, {1, 5}}, 12. / 8}}},
		{form: DiscountedMeans(.5), rounds: []round{
			{.5, []group{{3, 1}, {1, 5}}, 2},       // 8/4
			{.25, nil, 2},                          // a mean of 2 that counts for 2 units
			{.5, []group{{1, 10}}, 6},              // and for 1 unit, with one of 10
			{.5, []group{{2, 3}, {4, 0}}, 12. / 7}, // 6 counts for 1 unit
		}},
		{form: WindowMeans(2), rounds: []round{
			{.5, []group{{3, 1}, {1, 5}}, 2},
			{.5, nil, 2},
			{.5, []group{{1, 10}}, 10},
			{.5, []group{{3, 2}}, 4},
			{.5, []group{{1, 6}}, 3},
		}},
		{form: IPW(), rounds: []round{
			{.5, []group{{3, 1}, {1, 5}}, 4}, // ω = ¾ and ¼: 2·(¾ + 5/4)
			{.25, []group{{4, 3}}, 8},        // (4 + 12)/2
			{.5, nil, 16. / 3},
		}},
	} {
		e := newEstimate(c.form, 2, 1, pastotest.Table(t, []float64{c.u0, 0}), c.n0)
		for n, r := range c.rounds {
			var obs []pasto.Observation
			total := 0.0
			for _, g := range r.groups {
				obs = append(obs, pasto.Observation{Arm: 0, Size: g.size, Metrics: []float64{g.value}})
				total += g.size
			}
			if obs == nil {
				obs = []pasto.Observation{{Arm: 1, Metrics: []float64{-100}}}
			}
			e.add([]float64{r.p, 1 - r.p}, obs, total)
			pastotest.Near(t, fmt.Sprintf("%v, n0 = %v: V̂ of round %d", c.form, c.n0, n+1), e.value(0, 0), r.want,
				1e-14)
		}
	}
}

// The variance of two estimators of μ from N = 1000 units with μ = 10 and s² = 1, each drawn for
// the arm with p = 0.1. Importance weights have (s² + (1-p)·μ²)/(p·N) = 0.91, summed over the
// binomial number of units drawn; the arm's mean has s²/n = 0.01 for n = 100 units. The test reads
// a unit's coefficient off the estimate, which is linear in the units' values.
func TestVarianceOfUnits(t *testing.T) {
	const units, p, mu, noise = 1000, .1, 10.0, 1.0
	value := func(form Estimator, drawn int, rest float64) float64 { // where the first unit has 1, the others rest
		obs := make([]pasto.Observation, units)
		for i := range obs {
			obs[i] = pasto.Observation{Arm: 1, Metrics: []float64{-3}}
			if i < drawn {
				obs[i] = pasto.Observation{Arm: 0, Metrics: []float64{rest}}
			}
		}
		obs[0].Metrics = []float64{1}
		e := newEstimate(form, 2, 1, nil, 0)
		e.add([]float64{p, 1 - p}, obs, 0)
		return e.value(0, 0)
	}
	variance, bias := 0.0, 0.0
	for c := 1; c <= 250; c++ { // 251 units and more have a probability of 1e-40
		all, _ := math.Lgamma(units + 1)
		in, _ := math.Lgamma(float64(c) + 1)
		out, _ := math.Lgamma(units - float64(c) + 1)
		chance := math.Exp(all - in - out + float64(c)*math.Log(p) + (units-float64(c))*math.Log1p(-p))
		each, sum := value(IPW(), c, 0), value(IPW(), c, 1)
		variance += chance * (math.Pow(mu*sum-mu, 2) + float64(c)*noise*each*each)
		bias += chance * mu * (sum - 1)
	}
	pastotest.Near(t, "bias of importance weights", bias, 0, 1e-9)
	pastotest.Near(t, "variance of importance weights", variance, .91, 1e-9)
	each := value(ArmMeans(), 100, 0)
	pastotest.Near(t, "variance of the arm's mean", 100*noise*each*each, .01, 1e-15)
	pastotest.Near(t, "sum of its weights", value(ArmMeans(), 100, 1), 1, 1e-12)
}
