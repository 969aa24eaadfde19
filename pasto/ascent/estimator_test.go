package ascent

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/pastotest"
	"github.com/noregret/noregret/pasto/internal/round"
)

// V̂ of arm 0 by hand, round by round, where the serving distribution changes and groups have
// unequal sizes. Arm 1 gets the groups that arm 0 does not get.
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
			{.5, []group{{1, 10}}, 6},              // and for 1 unit, next to one of 10
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
	// value is the mean if the first unit has the value 1 and the others 0.
	value := func(form Estimator, drawn int, rest float64) float64 {
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

// expectation enumerates all draws of Q groups from p in two rounds and returns E V̂ and the total
// probability.
func expectation(t *testing.T, form Estimator, u0 *pasto.Table, n0 float64, mu *pasto.Table, p []float64, groups,
	rounds int,
	sizes []float64,
) *pasto.Table {
	t.Helper()
	k, m := mu.Arms(), mu.Metrics()
	out := round.NewTable(k, m)
	n := 1
	for range groups * rounds {
		n *= k
	}
	for code := range n {
		e := newEstimate(form, k, m, u0, n0)
		weight, c := 1.0, code
		for range rounds {
			var obs []pasto.Observation
			total := 0.0
			for q := range groups {
				arm := c % k
				c /= k
				weight *= p[arm]
				o := pasto.Observation{Arm: arm, Metrics: mu.Arm(arm)}
				if sizes != nil {
					o.Size = sizes[q]
					total += o.Size
				}
				obs = append(obs, o)
			}
			e.add(p, obs, total)
		}
		for a := range k {
			for j := range m {
				out.Arm(a)[j] += weight * e.value(a, j)
			}
		}
	}
	return out
}

// Unbiasedness, and the stated bias, of each weighted form by enumeration of all 3^4 outcomes of
// two rounds with two groups.
func TestUnbiasedByEnumeration(t *testing.T) {
	mu := pastotest.Table(t, []float64{1, -2, .5}, []float64{3, 7, -1})
	p := []float64{.5, .3, .2}
	for _, c := range []struct {
		name   string
		form   Estimator
		n0     float64
		factor func(k int) float64
		base   []float64
		sizes  []float64
	}{
		{name: "ipw", form: IPW()},
		{name: "ipw with n0 = 1 shrinks by t/(t+1)", form: IPW(), n0: 1, factor: func(int) float64 { return 2.0 / 3 }},
		{name: "unequal sizes", form: IPW(), sizes: []float64{3, 1}},
		{name: "centred", form: IPW().Centred([]float64{10, -4})},
		{name: "doubly robust", form: DoublyRobust()},
		{name: "doubly robust, unequal sizes", form: DoublyRobust(), sizes: []float64{1, 5}},
		{name: "clipped", form: Clipped(2.5), factor: func(k int) float64 { return min(1, 2.5*p[k]) }},
		{
			name: "clipped and centred", form: Clipped(2.5).Centred([]float64{1, 1}), base: []float64{1, 1},
			factor: func(k int) float64 { return min(1, 2.5*p[k]) },
		},
		{name: "ix", form: ImplicitExploration(.1), factor: func(k int) float64 { return p[k] / (p[k] + .1) }},
		{name: "discounted", form: DiscountedIPW(.25), factor: func(int) float64 { return 1 - .75*.75 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := expectation(t, c.form, nil, c.n0, mu, p, 2, 2, c.sizes)
			for k := range 3 {
				for m := range 2 {
					want, b := mu.Arm(k)[m], 0.0
					if c.base != nil {
						b = c.base[m]
					}
					if c.factor != nil {
						want = b + c.factor(k)*(want-b)
					}
					pastotest.Near(t, fmt.Sprintf("E V̂[%d][%d]", k, m), got.Arm(k)[m], want, 1e-12)
				}
			}
		})
	}
	// The weight 1/p is biased with an overwritten column, with division by the count, and with a
	// restarted index.
	wrong := 0.0
	for a := range 3 {
		for b := range 3 {
			if a == 0 || b == 0 {
				wrong += p[a] * p[b] * mu.Arm(0)[0] / (2 * p[0]) // written once
			}
		}
	}
	if math.Abs(wrong-mu.Arm(0)[0]) < 0.1 {
		t.Error("overwriting a column would not be noticed")
	}
}

var estimators = []Estimator{
	IPW(), IPW().Centred([]float64{1, 1}), DoublyRobust(), Clipped(20), ImplicitExploration(.01), SelfNormalized(),
	ArmMeans(), DiscountedIPW(.01), DiscountedMeans(.01), WindowMeans(50),
}

// All estimators are consistent under fixed means and keep propensities in range, and a snapshot
// taken in the middle continues bit for bit.
func TestEstimatorsAndSnapshots(t *testing.T) {
	mu := pastotest.Toy(t)
	for _, form := range estimators {
		t.Run(form.String(), func(t *testing.T) {
			o := PaperOptions(2)
			o.Estimator, o.MinExploration, o.StepClip, o.Scheme = form, .2, .1, pasto.Systematic
			a, b := newAlgorithm(t, pastotest.Goals(t, 5, false, 0), 2, o),
				newAlgorithm(t, pastotest.Goals(t, 5, false, 0), 2, o)
			r := random.New(7, "test")
			pastotest.Play(t, a, mu, 3, 500, .5, r)
			saved, err := a.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			state, _ := r.MarshalBinary()
			pastotest.Play(t, a, mu, 3, 700, .5, r)
			if err := b.UnmarshalBinary(saved); err != nil {
				t.Fatal(err)
			}
			if again, _ := b.MarshalBinary(); !bytes.Equal(again, saved) {
				t.Error("a restored learner's snapshot differs")
			}
			r2 := random.New(0, "")
			_ = r2.UnmarshalBinary(state)
			pastotest.Play(t, b, mu, 3, 700, .5, r2)
			x, _ := a.MarshalBinary()
			y, _ := b.MarshalBinary()
			if !bytes.Equal(x, y) {
				t.Error("a restored learner continues differently")
			}
			sum := 0.0
			for k, v := range a.Serving() {
				if sum += v; v < a.epsilon()/2 {
					t.Errorf("p[%d] = %v is below ε/K", k, v)
				}
			}
			pastotest.Near(t, "Σp", sum, 1, 1e-12)
			for k := range 2 {
				for m := range 2 {
					pastotest.Near(t, fmt.Sprintf("V̂[%d][%d]", k, m), a.Estimate().Arm(k)[m], mu.Arm(k)[m], .45)
				}
			}
			saved[len(saved)/2] ^= 1
			if err := b.UnmarshalBinary(saved); err == nil {
				t.Error("a damaged snapshot is accepted")
			}
			if z, _ := b.MarshalBinary(); !bytes.Equal(z, y) {
				t.Error("a refused snapshot changed the learner")
			}
			other := newAlgorithm(t, pastotest.Goals(t, 5, false, 0), 2, PaperOptions(2))
			if err := other.UnmarshalBinary(x); err == nil {
				t.Error("another learner's snapshot is accepted")
			}
		})
	}
}

// The closed form of V̂ is the recursion of line 5, and the printed eq. (6) is not.
func TestRecursion(t *testing.T) {
	u0 := pastotest.Table(t, []float64{3, -1}, []float64{.5, 2})
	e := newEstimate(IPW(), 2, 2, u0, 1)
	v := u0.Clone()
	mean := round.NewTable(2, 2)
	r := random.New(3, "test")
	for n := 1; n <= 200; n++ {
		p := []float64{.3, .7}
		obs := []pasto.Observation{{Arm: r.IntN(2), Metrics: []float64{r.NormFloat64(), r.NormFloat64()}}}
		e.add(p, obs, 0)
		for k := range v.Arms() {
			for i := range v.Arm(k) {
				v.Arm(k)[i] *= float64(n) / float64(n+1)
			}
		}
		for m, x := range obs[0].Metrics {
			v.Arm(obs[0].Arm)[m] += x / p[obs[0].Arm] / float64(n+1)
			mean.Arm(obs[0].Arm)[m] += x / p[obs[0].Arm]
		}
	}
	for k := range 2 {
		for m := range 2 {
			pastotest.Near(t, "V̂", e.value(k, m), v.Arm(k)[m], 1e-12)
			if math.Abs(e.value(k, m)-mean.Arm(k)[m]/200) < 1e-4 {
				t.Error("line 5 and eq. (6) agree here: the test cannot tell them apart")
			}
		}
	}
}
