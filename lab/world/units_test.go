package world

import (
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto"
)

// TestUnit: the values of single units have the means of their arm and round, a unit that returns
// keeps its own part of the deviation, and a Value sees the metrics before it.
func TestUnit(t *testing.T) {
	double := func(_ *random.SplitMix64, mean float64, unit []float64) float64 { return mean + 2*unit[1] }
	w, err := New(2, 1000, []Outcome{{}, {Kind: Normal, Deviation: 2, Own: 0.8}, {Kind: Value, Value: double}},
		[]float64{0.1, 0.3}, []float64{1, 5}, []float64{0, 7})
	if err != nil {
		t.Fatal(err)
	}
	w.Levels = Levels(2, 3, func(t int) float64 { return float64(t + 1) })
	s, n := NewSampler(w, 1), 20_000
	var rate, mean, square, product float64
	for unit := range uint64(n) {
		var first, again [3]float64
		s.Unit(0, 0, unit, first[:])
		s.Unit(1, 1, unit, again[:])
		if again[2] != 14+2*again[1] {
			t.Fatalf("values %v, want 14 and twice the second", again)
		}
		d := again[1] - 10
		rate += again[0] / float64(n)
		mean += d / float64(n)
		square += d * d / float64(n)
		product += d * (first[1] - 1) / float64(n)
	}
	if math.Abs(rate-0.6) > 0.02 || math.Abs(mean) > 0.07 || math.Abs(square-4) > 0.2 ||
		math.Abs(product-4*0.64) > 0.2 {
		t.Errorf("rate %v, mean %v, variance %v, covariance %v", rate, mean, square, product)
	}
}

// TestExtremes: no unit is outside of the extremes of its group, and no amount above the largest.
func TestExtremes(t *testing.T) {
	w := sellers(t, 3)
	s, o := NewSampler(w, 1), &w.Outcomes[1]
	most := 0.0
	for round := range 200 {
		g := NewGroup(0, 100, 3)
		s.Draw(round, &g)
		bought := math.Min(math.Round(g.Means[0]*100), 1)
		if g.Low[0] != 0 || g.High[0] != bought || g.Low[1] != 0 || (g.High[1] > 0) != (bought > 0) {
			t.Fatalf("%+v", g)
		}
		if g.High[1] < 100*g.Means[1]/max(math.Round(g.Means[0]*100), 1)-1e-9 {
			t.Errorf("the largest amount is %v, less than their mean", g.High[1])
		}
		most = max(most, g.High[1])
	}
	if limit := o.Most() * 2 / 0.05; math.Abs(most-limit) > 1e-9 {
		t.Errorf("the largest amount is %v, want %v", most, limit)
	}
	if open := (&Outcome{Kind: Revenue, Sigma: 1}).Most(); !math.IsInf(open, 1) {
		t.Errorf("without a cap amounts are at most %v", open)
	}
}

// TestLaw: a sampler takes the means of arms that the learner makes from its law.
func TestLaw(t *testing.T) {
	w := sellers(t, 0)
	w.Units[3] = 1000
	s := NewSampler(w, 1)
	s.Law = func(round, k int) []float64 { return []float64{1, 0, float64(1000*round + k)} }
	groups := s.Round(3, []float64{0, 0.5, 0, 0, 0.5})
	if len(groups) != 2 || groups[1].Arm != 4 || groups[1].Units != 500 || groups[1].Means[0] != 1 ||
		math.Abs(groups[1].Means[2]-3004) > 10 {
		t.Errorf("%+v", groups)
	}
}

// TestGrouped: groups of an arm are drawn apart, the same for a seed, and follow the means.
func TestGrouped(t *testing.T) {
	w, err := New(0, 0, []Outcome{{Kind: Normal, Deviation: 0.1}}, []float64{1, 5})
	if err != nil {
		t.Fatal(err)
	}
	later, err := pasto.TableOf([]float64{3, 5})
	if err != nil {
		t.Fatal(err)
	}
	w.Phases = append(w.Phases, Phase{From: 10, Means: later})
	g := NewGrouped(w, 3, 1, 1)
	values, again := make([]float64, 3), make([]float64, 3)
	for round, want := range map[int]float64{1: 1, 10: 1, 11: 3} {
		g.Observe(round, []int{0, 1, 0}, values, nil)
		NewGrouped(w, 3, 1, 1).Observe(round, []int{0, 1, 0}, again, nil)
		if values[0] == values[2] || math.Abs(values[0]-want) > 1 || math.Abs(values[1]-5) > 1 ||
			!slices.Equal(values, again) || g.Means(round).Arm(0)[0] != want {
			t.Errorf("round %d: %v and %v, means %v", round, values, again, g.Means(round).Arm(0))
		}
	}
	if g.Groups() != 3 || g.Begins(1) || g.Begins(10) || !g.Begins(11) {
		t.Errorf("%d groups, means begin in round 1: %v, 10: %v, 11: %v", g.Groups(), g.Begins(1), g.Begins(10),
			g.Begins(11))
	}
}
