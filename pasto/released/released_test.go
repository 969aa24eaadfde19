package released

import (
	"math"
	"testing"
)

// fake is a source with a midpoint of 2 and a deviation of t in round t.
type fake struct{}

func (fake) Midpoint(int) float64 { return 2 }

func (fake) Deviation(t int64, metric int) float64 { return float64(t) * float64(metric+1) }

func (f fake) Between(earlier, t int64, metric int) float64 {
	return math.Hypot(f.Deviation(earlier, metric), f.Deviation(t, metric))
}

// TestRounds reads three rounds, of which the second has no units of arm 1: what it released waits
// for the third. The observations of an arm add up to its last sum.
func TestRounds(t *testing.T) {
	r, err := New(fake{}, 2, 2)
	if err != nil {
		t.Fatal(err)
	}
	total := make([]float64, 4)
	for round, c := range []struct {
		units    []int64
		sums     []float64
		observed int
	}{
		{[]int64{10, 20}, []float64{5, 10, -20, 40}, 2},
		{[]int64{10, 0}, []float64{6, 12, -21, 39}, 1},
		{[]int64{0, 40}, []float64{7, 13, -61, 79}, 1},
		{[]int64{0, 0}, []float64{8, 14, -60, 78}, 0},
	} {
		obs, err := r.Round(c.units, c.sums)
		if err != nil || len(obs) != c.observed {
			t.Fatalf("round %d: %d observations, %v", round+1, len(obs), err)
		}
		for _, o := range obs {
			if o.Size != float64(c.units[o.Arm]) {
				t.Errorf("round %d: size %v of arm %d", round+1, o.Size, o.Arm)
			}
			for i, v := range o.Metrics {
				total[2*o.Arm+i] += (v - 2) * o.Size
				if want := math.Pow(float64(round+1)*float64(i+1), 2); o.Noise.Total[i] != want {
					t.Errorf("round %d: total noise %v of metric %d, want %v", round+1, o.Noise.Total[i], i, want)
				}
			}
		}
		if round == 2 {
			// Arm 1: rounds 1 and 3 are compared, and (−61 + 20)/40 about the midpoint.
			if o := obs[0]; math.Abs(o.Noise.Step[0]-10) > 1e-12 || math.Abs(o.Noise.Step[1]-40) > 1e-12 ||
				math.Abs(o.Metrics[0]-(2-41./40)) > 1e-12 {
				t.Errorf("round 3: %+v %+v", o, o.Noise)
			}
		}
	}
	for j, want := range []float64{6, 12, -61, 79} {
		if math.Abs(total[j]-want) > 1e-9 {
			t.Errorf("the observations add up to %v, the last sums are %v", total, want)
		}
	}
	if r.State.Rounds != 4 {
		t.Errorf("%d rounds", r.State.Rounds)
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct {
		source        Source
		arms, metrics int
	}{{nil, 1, 1}, {fake{}, 0, 1}, {fake{}, 1, 0}} {
		if _, err := New(c.source, c.arms, c.metrics); err == nil {
			t.Errorf("New(%v, %d, %d) is not refused", c.source, c.arms, c.metrics)
		}
	}
	r, err := New(fake{}, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		units []int64
		sums  []float64
	}{
		{[]int64{1}, []float64{1, 2}},
		{[]int64{1, 1}, []float64{1}},
		{[]int64{1, -1}, []float64{1, 2}},
		{[]int64{1, 1}, []float64{1, math.NaN()}},
	} {
		if _, err := r.Round(c.units, c.sums); err == nil || r.State.Rounds != 0 || r.State.Sums[0] != 0 {
			t.Errorf("Round(%v, %v) is not refused: %v, %+v", c.units, c.sums, err, r.State)
		}
	}
}
