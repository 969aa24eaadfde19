package drift

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestOracleO1BatchSizes(t *testing.T) {
	for _, c := range []struct {
		rounds                 int
		variation              float64
		convex, strongly, cost int
	}{
		{100, 1, 22, 22, 40},
		{1000, 1, 100, 84, 252},
		{5000, 1, 293, 207, 911},
		{25000, 1, 855, 504, 3299},
		{10000, 1, 465, 304, 1585},
		{10000, 10, 100, 96, 252},
		{10000, 100, 22, 31, 40},
		{10000, .01, 10000, 3035, 10000},
		{1000000, 3.5, 4338, 1987, 23161},
	} {
		b := must(NewBudget(c.rounds, c.variation))
		for s, want := range map[Setting]int{
			ConvexGradient: c.convex, StronglyConvexGradient: c.strongly, StronglyConvexCost: c.convex,
			ConvexCost: c.cost,
		} {
			if got := b.BatchSize(s); got != want {
				t.Errorf("T = %d, V = %v, %v: %d, want %d", c.rounds, c.variation, s, got, want)
			}
		}
	}
}

func TestOracleO2Bounds(t *testing.T) {
	b := must(NewBudget(10000, 1))
	with := func(static func(r, g float64, n int) float64) func(n int) float64 {
		return func(n int) float64 { return static(1, 1, n) }
	}
	size := b.BatchSize(ConvexGradient)
	near(t, "steps r/(G√Δ)", b.RestartBound(size, with(DescentBound)), 2116.0122259066)
	near(t, "steps r/(G√t)", b.RestartBound(size, with(SqrtDescentBound)), 2353.2146710878)
	best := must(b.OptimalBatchSize(ConvexGradient, 2.5))
	if best != 340 {
		t.Errorf("optimal batch of %d rounds, want 340", best)
	}
	near(t, "optimal batch", b.RestartBound(best, with(DescentBound)), 2062.9316685939)
	near(t, "strongly convex", b.RestartBound(b.BatchSize(StronglyConvexGradient), with(StronglyConvexBound)),
		718.8309570732)
	if best = must(b.OptimalBatchSize(StronglyConvexGradient, .5)); best != 109 {
		t.Errorf("optimal batch of %d rounds, want 109", best)
	}
	near(t, "strongly convex, optimal batch", b.RestartBound(best, with(StronglyConvexBound)), 479.8020025825)
	near(t, "EGS's constant", EGSBound(1, 1, 1, 1, .1, 1), 2.8425692604)
	near(t, "EGS", b.RestartBound(b.BatchSize(StronglyConvexCost), func(n int) float64 {
		return EGSBound(1, 1, 1, 1, .1, n)
	}), 2278.5287583140)
}

func TestOracleO3RetunedStep(t *testing.T) {
	near(t, "step", must(must(NewBudget(10000, 1)).RetunedStep(1, 1)), .0464158883)
	near(t, "step without variation", must(must(NewBudget(10000, 0)).RetunedStep(3, 2)), 1.5/100)
}

func TestBudgetRefuses(t *testing.T) {
	for _, c := range []struct {
		rounds    int
		variation float64
	}{{0, 1}, {-3, 1}, {10, -1}, {10, math.NaN()}, {10, math.Inf(-1)}} {
		_, err := NewBudget(c.rounds, c.variation)
		refused(t, "budget", err)
	}
	for v, clipped := range map[float64]bool{11: true, math.Inf(1): true, 10: false, .5: false} {
		b := must(NewBudget(10, v))
		if b.Clipped() != clipped || b.Variation() != min(v, 10) {
			t.Errorf("V = %v: %v, clipped %v", v, b.Variation(), b.Clipped())
		}
	}
	if bound := (Budget{}).RestartBound(5, func(n int) float64 { return float64(n) }); bound != 0 {
		t.Errorf("the zero Budget has the bound %v", bound)
	}
	b := must(NewBudget(10, 1))
	for _, v := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		_, err := b.OptimalBatchSize(ConvexCost, v)
		refused(t, "constant", err)
		_, err = b.RetunedStep(v, 1)
		refused(t, "radius", err)
		_, err = b.RetunedStep(1, v)
		refused(t, "lipschitz", err)
	}
}

// TestBatchSizesAreOptimal: all batches have 1 to T rounds, and no batch of another size has a
// bound T·S(Δ)/Δ + 2ΔV below that of the optimal one by more than its rounding.
func TestBatchSizesAreOptimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 3000).Draw(t, "rounds")
		v := rapid.Float64Range(0, 4000).Draw(t, "variation")
		c := rapid.Float64Range(.01, 100).Draw(t, "constant")
		b := must(NewBudget(n, v))
		for s, power := range map[Setting]float64{ConvexGradient: .5, StronglyConvexCost: .5, ConvexCost: .75} {
			bound := func(size int) float64 {
				return float64(n)*c*math.Pow(float64(size), power-1) + 2*float64(size)*b.Variation()
			}
			best := must(b.OptimalBatchSize(s, c))
			for size := 1; size <= n; size = size*9/8 + 1 {
				if size != best-1 && bound(size) < bound(best)-1e-9*bound(best) && bound(size) < bound(max(best-1, 1)) {
					t.Fatalf("%v: %d rounds have the bound %v, %d have %v", s, best, bound(best), size, bound(size))
				}
			}
		}
		for s := range ConvexCost + 1 {
			if size := b.BatchSize(s); size < 1 || size > n {
				t.Fatalf("%v: %d rounds of %d", s, size, n)
			}
			if size := must(b.OptimalBatchSize(s, c)); size < 1 || size > n {
				t.Fatalf("%v: %d rounds of %d", s, size, n)
			}
		}
	})
}
