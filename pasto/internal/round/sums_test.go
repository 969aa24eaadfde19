package round

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto"
)

// The sums of an arm are those of its groups in two passes, in the order of the first groups.
func TestSums(t *testing.T) {
	const arms, metrics = 5, 2
	var sums Sums
	for seed := range uint64(50) {
		r := random.New(seed, "sums")
		var obs []pasto.Observation
		var order []int
		for range 1 + int(12*r.Float64()) {
			o := pasto.Observation{Arm: int(arms * r.Float64()), Metrics: []float64{10 + r.Float64(), r.Float64() - 5}}
			if seed%2 == 0 {
				o.Size = 1 + r.Float64()
			}
			if seed%4 == 0 && r.Float64() < 0.5 {
				o.Variances = []float64{r.Float64(), math.NaN()}
			}
			if obs = append(obs, o); !slices.Contains(order, o.Arm) {
				order = append(order, o.Arm)
			}
		}
		sums.Collect(obs, arms, metrics)
		if len(sums.Arms) != len(order) {
			t.Fatalf("seed %d: %d arms, want %v", seed, len(sums.Arms), order)
		}
		for a, k := range order {
			checkSum(t, &sums.Arms[a], k, metrics, obs)
		}
	}
}

// checkSum compares the sum of an arm with one in two passes.
func checkSum(t *testing.T, x *Sum, arm, metrics int, obs []pasto.Observation) {
	t.Helper()
	near := func(what string, got, want float64) {
		t.Helper()
		if !(math.Abs(got-want) <= 1e-9*(1+math.Abs(want))) {
			t.Fatalf("arm %d: %s is %v, want %v", arm, what, got, want)
		}
	}
	size := func(o *pasto.Observation) float64 { return cmp.Or(o.Size, 1) }
	groups, total, known := 0.0, 0.0, false
	for i := range obs {
		if o := &obs[i]; o.Arm == arm {
			groups++
			total += size(o)
			known = known || o.Variances != nil
		}
	}
	near("the arm", float64(x.Arm), float64(arm))
	near("the number of groups", x.Groups, groups)
	near("the size", x.Size, total)
	if got := len(x.Units) > 0; got != known {
		t.Fatalf("arm %d: variances of units are known: %v, want %v", arm, got, known)
	}
	for m := range metrics {
		mean, within, units, of := 0.0, 0.0, 0.0, 0.0
		for i := range obs {
			if o := &obs[i]; o.Arm == arm {
				mean += size(o) * o.Metrics[m] / total
			}
		}
		for i := range obs {
			o := &obs[i]
			if o.Arm != arm {
				continue
			}
			d := o.Metrics[m] - mean
			within += size(o) * d * d
			if o.Variances != nil && o.Variances[m] == o.Variances[m] {
				units += size(o) * o.Variances[m]
				of += size(o)
			}
		}
		near("the mean", x.Mean[m], mean)
		near("the scatter within", x.Within[m], within)
		if known {
			near("the variances of units", x.Units[m], units)
			near("their size", x.UnitSize[m], of)
		}
	}
}

// TestThird: the third powers of the scatter are those of a group and the mean of those before it,
// with the variance that both have, and they are bounded.
func TestThird(t *testing.T) {
	var sums Sums
	group := func(size, v float64) pasto.Observation { return pasto.Observation{Size: size, Metrics: []float64{v}} }
	sums.Collect([]pasto.Observation{group(2, 1), group(3, 6), group(5, 2)}, 1, 1)
	// 6 is 5 above the mean before it, with weights of 3 and 2, and 2 is 2 below, with 5 and 5.
	q1, q2 := 25*3*2/5., 4*5*5/10.
	if want := q1*math.Sqrt(3*q1) + q2*math.Sqrt(5*q2); math.Abs(sums.Arms[0].Third[0]-want) > 1e-9*want {
		t.Errorf("third powers sum to %v, want %v", sums.Arms[0].Third[0], want)
	}
	sums.Collect([]pasto.Observation{group(1, -1e100), group(1, 1e100), group(1e15, 0), group(1e15, 1e100)}, 1, 1)
	if got := sums.Arms[0].Third[0]; got != MostThird {
		t.Errorf("third powers of huge values sum to %v, want %v", got, MostThird)
	}
}

// TestSumsAllocate: a round takes no memory once the buffers have grown.
func TestSumsAllocate(t *testing.T) {
	var sums Sums
	obs := []pasto.Observation{
		{Arm: 2, Size: 3, Metrics: []float64{1}, Variances: []float64{1}}, {Arm: 0, Size: 1, Metrics: []float64{2}},
	}
	if n := testing.AllocsPerRun(100, func() { sums.Collect(obs, 3, 1) }); n != 0 {
		t.Errorf("%v allocations a round", n)
	}
}
