package ascent

import (
	"fmt"
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/pastotest"
	"github.com/noregret/noregret/pasto/internal/round"
)

// With a fixed p, the mean of Û over 10⁵ rounds is within five standard errors of μ, for Q
// = 1 and Q = 10, and its variance is (1/Q)·[(σ² + μ²)/p − μ²].
func TestImportanceWeightsStatistically(t *testing.T) {
	mu := pastotest.Table(t, []float64{1, -2, .5})
	p := []float64{.6, .3, .1}
	const sigma = 1.0
	steps := testsize.Of(100_000, 20_000)
	rounds := float64(steps)
	for _, q := range []int{1, 10} {
		for _, scheme := range []pasto.Scheme{pasto.IID, pasto.Systematic} {
			r := random.New(uint64(q), "test")
			e := newEstimate(IPW(), 3, 1, nil, 0)
			var s round.Sampler
			arms, obs := make([]int, q), make([]pasto.Observation, q)
			sum, square := [3]float64{}, [3]float64{}
			for range steps {
				s.Draw(r, p, arms, scheme)
				one := newEstimate(IPW(), 3, 1, nil, 0)
				for i, k := range arms {
					obs[i] = pasto.Observation{Arm: k, Metrics: []float64{mu.Arm(k)[0] + sigma*stat.Normal(r)}}
				}
				e.add(p, obs, 0)
				one.add(p, obs, 0)
				for k := range 3 {
					v := one.value(k, 0)
					sum[k] += v
					square[k] += v * v
				}
			}
			for k := range 3 {
				m := mu.Arm(k)[0]
				want := ((sigma*sigma+m*m)/p[k] - m*m) / float64(q)
				mean := sum[k] / rounds
				got := square[k]/rounds - mean*mean
				pastotest.Near(t, fmt.Sprintf("Q=%d mean of arm %d", q, k), mean, m, 5*math.Sqrt(want/rounds))
				pastotest.Near(t, "mean by V̂", e.value(k, 0), mean, 1e-9)
				if scheme == pasto.IID {
					pastotest.Near(t, "variance", got, want, .05*want*math.Sqrt(1e5/rounds))
				} else if got > want*(1+.02*math.Sqrt(1e5/rounds)) {
					t.Errorf("systematic draws have variance %v, independent ones %v", got, want)
				}
			}
		}
	}
}

// The paper's proofs bound 1/p_k by 1/ε, but it reaches K/ε.
func TestErratumMissingArms(t *testing.T) {
	o := PaperOptions(4)
	o.Exploration, o.Step = Constant(.2), Constant(1000)
	a := newAlgorithm(t, pastotest.Goals(t, 5, false, 0), 4, o)
	if err := a.Observe([]pasto.Observation{{Arm: 0, Metrics: []float64{1, 1}}}); err != nil {
		t.Fatal(err)
	}
	if w := 1 / a.Serving()[3]; math.Abs(w-4/.2) > 1e-9 || w <= 1/.2 {
		t.Errorf("1/p = %v; the printed bound is %v", w, 1/.2)
	}
}

// A constant added to all scores changes nothing, and the step clip binds where it should.
func TestMirrorStep(t *testing.T) {
	p := func(clip float64, g ...float64) []float64 {
		m, err := newMirror(3, nil, Constant(0), 0, pasto.IID, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.step(g, .5, clip, 0); err != nil {
			t.Fatal(err)
		}
		return m.Exploit()
	}
	a, b := p(0, 1, 2, -1), p(0, 11, 12, 9)
	for k := range a {
		pastotest.Near(t, "shifted", b[k], a[k], 1e-15)
	}
	pastotest.Near(t, "unclipped", math.Log(a[1]/a[2]), 1.5, 1e-12)
	pastotest.Near(t, "clipped at 0.1", math.Log(p(.1, 1, 2, -1)[1]/p(.1, 1, 2, -1)[2]), .1*3/2, 1e-12)
	pastotest.Near(t, "not clipped", math.Log(p(2, 1, 2, -1)[1]/p(2, 1, 2, -1)[2]), 1.5, 1e-12)
}

// The forms without importance weights are unbiased under a fixed p once the arm has been seen: by
// enumeration of all draws of three rounds with one group and of all signs of a two-valued noise.
// Self-normalized weights are too, as all weights of an arm are then alike.
func TestMeansUnbiasedByEnumeration(t *testing.T) {
	mu, p := []float64{1, -2, .5}, []float64{.5, .3, .2}
	const rounds, outcomes = 3, 6
	for _, form := range []Estimator{
		ArmMeans(), SelfNormalized(), DiscountedMeans(.3), WindowMeans(2),
		WindowMeans(5),
	} {
		sum, weight := [3]float64{}, [3]float64{}
		for code := range outcomes * outcomes * outcomes {
			e, prob, c := newEstimate(form, 3, 1, nil, 0), 1.0, code
			var seen [3]bool
			for range rounds {
				k, sign := c%3, float64(1-2*(c/3%2))
				c /= outcomes
				prob *= p[k] / 2
				seen[k] = true
				e.add(p, []pasto.Observation{{Arm: k, Metrics: []float64{mu[k] + 4*sign}}}, 0)
			}
			for k := range 3 {
				if seen[k] {
					sum[k] += prob * e.value(k, 0)
					weight[k] += prob
				}
			}
		}
		for k := range 3 {
			pastotest.Near(t, fmt.Sprintf("%v: E V̂[%d] given that it was seen", form, k), sum[k]/weight[k], mu[k],
				1e-12)
			pastotest.Near(t, "probability to be seen", weight[k], 1-(1-p[k])*(1-p[k])*(1-p[k]), 1e-12)
		}
	}
}
