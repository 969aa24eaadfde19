package world

import (
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/pasto"
)

// sellers is a world of one arm of each kind of metric.
func sellers(t *testing.T, limit float64) *World {
	t.Helper()
	goals, err := pasto.NewGoals([]pasto.Metric{
		{Name: "buyers", Role: pasto.Report}, {Name: "revenue"}, {Name: "time", Role: pasto.Report},
	}, 0)
	if err != nil {
		t.Fatal(err)
	}
	means, err := pasto.TableOf([]float64{0.05, 0.02}, []float64{2, 1.5}, []float64{200, 210})
	if err != nil {
		t.Fatal(err)
	}
	return &World{
		Goals: goals, Units: make([]int, 4000), Margins: make([]float64, 3), Phases: []Phase{{Means: means}},
		Outcomes: []Outcome{{}, {Kind: Revenue, Of: 0, Sigma: 1, Cap: limit}, {Kind: Normal, Deviation: 30}},
	}
}

// Group means have the stated mean, and their variance agrees with the sample variances.
func TestGroupsHaveTheMeansAndVariances(t *testing.T) {
	for _, limit := range []float64{0, 3} {
		w := sellers(t, limit)
		s := NewSampler(w, 7)
		g := NewGroup(1, 400, 3)
		var sum, square, variance [3]float64
		for round := range w.Rounds() {
			s.Draw(round, &g)
			for m, v := range g.Means {
				d := v - w.Phases[0].Means.Arm(1)[m]
				sum[m] += d
				square[m] += d * d
				variance[m] += g.Variances[m] / float64(g.Units)
			}
		}
		n := float64(w.Rounds())
		for m := range sum {
			if e := math.Sqrt(square[m] / n / n); math.Abs(sum[m]/n) > 4*e {
				t.Errorf("cap %v, metric %d: the mean is off by %v ± %v", limit, m, sum[m]/n, e)
			}
			if ratio := square[m] / variance[m]; math.Abs(ratio-1) > 0.12 {
				t.Errorf("cap %v, metric %d: the variance of the means is %v times that of the groups' variances",
					limit, m, ratio)
			}
		}
	}
}

// The mean of capped lognormal values is compared with an average over quantiles.
func TestCappedMean(t *testing.T) {
	for _, limit := range []float64{0.1, 1, 20} {
		sum, steps := 0.0, 200_000
		for i := range steps { // by the trapezoidal rule over z
			z := -10 + 20*(float64(i)+0.5)/float64(steps)
			x := min(math.Exp(1.8*z-1.8*1.8/2), limit)
			sum += x * math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) * 20 / float64(steps)
		}
		if got := cappedMean(1.8, limit); math.Abs(got-sum) > 1e-6 {
			t.Errorf("cap %v: %v, want %v", limit, got, sum)
		}
	}
}

// A group's outcome does not depend on earlier draws, on the order of learners or on other arms. A
// larger group contains the same buyers.
func TestTheSameDraws(t *testing.T) {
	w := sellers(t, 0)
	draw := func(s *Sampler, round, arm, units int) Group {
		g := NewGroup(arm, units, 3)
		s.Draw(round, &g)
		return g
	}
	a, b := NewSampler(w, 3), NewSampler(w, 3)
	for round := range 5 {
		few, many := draw(a, round, 0, 500), draw(a, round, 0, 20_000)
		draw(b, round, 1, 77)
		if got := draw(b, round, 0, 20_000); !slices.Equal(got.Means, many.Means) ||
			!slices.Equal(got.Variances, many.Variances) {
			t.Errorf("round %d: %v and %v", round, got, many)
		}
		if got := draw(b, round, 0, 500); !slices.Equal(got.Means, few.Means) {
			t.Errorf("round %d: %v and %v", round, got, few)
		}
		near := draw(a, round, 0, 20_001)
		for m := range near.Means[:2] {
			if math.Abs(near.Means[m]-many.Means[m]) > 0.05*many.Means[m] {
				t.Errorf("round %d, metric %d: one unit more moves %v to %v", round, m, many.Means[m], near.Means[m])
			}
		}
	}
	if x, y := draw(a, 6, 0, 500), draw(NewSampler(w, 4), 6, 0, 500); slices.Equal(x.Means, y.Means) {
		t.Error("another seed gives the same group")
	}
}

func TestAllocate(t *testing.T) {
	w := sellers(t, 0)
	w.Units[0] = 1001
	p, counts, sums := []float64{0.25, 0, 0.0003, 0.7497}, make([]int, 4), make([]float64, 4)
	const seeds = 4000
	for seed := range seeds {
		NewSampler(w, uint64(seed)).Allocate(0, p, counts)
		total := 0
		for k, n := range counts {
			total += n
			sums[k] += float64(n)
			if math.Abs(float64(n)-p[k]*1001) > 1 {
				t.Fatalf("arm %d has %d units, want %v rounded", k, n, p[k]*1001)
			}
		}
		if total != 1001 {
			t.Fatalf("%v: %d units in total", counts, total)
		}
	}
	for k, v := range sums {
		if mean := v / seeds; math.Abs(mean-p[k]*1001) > 0.04 {
			t.Errorf("arm %d has %v units on average, want %v", k, mean, p[k]*1001)
		}
	}
}
