package portable

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestLambertValues compares with values to ten digits that were computed in higher precision.
func TestLambertValues(t *testing.T) {
	near := func(name string, x, got, want float64) {
		t.Helper()
		if !(math.Abs(got-want) <= 1e-9*want) {
			t.Errorf("%s(%v) = %.12g, want %.12g", name, x, got, want)
		}
	}
	for _, c := range [][2]float64{
		{0, 0},
		{1e-10, 9.999999999e-11},
		{.1, 0.09127652716},
		{1, 0.5671432904},
		{math.E, 1},
		{10, 1.745528003},
		{1e10, 20.02868541},
		{1e300, 684.2472086},
	} {
		near("LambertW0", c[0], LambertW0(c[0]), c[1])
	}
	for _, c := range [][2]float64{
		{-20, 2.061153618e-09},
		{0, 0.5671432904},
		{100, 95.44148665},
		{1000, 993.0991695},
		{1e6, 999986.1845},
	} {
		near("LambertW0Exp", c[0], LambertW0Exp(c[0]), c[1])
	}
	if w := LambertW0Exp(1e300); !(math.Abs(w-1e300) <= 1e287) {
		t.Errorf("LambertW0Exp(1e300) = %v", w)
	}
}

// TestLambertIdentities: w·e^w = x, W0(x·e^x) = x, and the bounds (1 − 1/e)·ln(1 + x) ≤ W0(x) ≤
// ln(1 + x) (Orabona 2019, Theorem A.2).
func TestLambertIdentities(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 100_000 {
		x := math.Exp(1400*r.Float64() - 700)
		w := LambertW0(x)
		if back := math.Log(w) + w - math.Log(x); !(math.Abs(back) <= 1e-15*max(1, math.Abs(math.Log(x)), w)*4) {
			t.Fatalf("W0(%v) = %v: ln w + w misses ln x by %v", x, w, back)
		}
		if top := math.Log1p(x); !(w <= top*(1+1e-15) && w >= (1-1/math.E)*top*(1-1e-15)) {
			t.Fatalf("W0(%v) = %v is outside [%v, %v]", x, w, (1-1/math.E)*top, top)
		}
		v := 700 * r.Float64()
		if got := LambertW0(v * math.Exp(v)); !(math.Abs(got-v) <= 1e-14*max(v, 1)) {
			t.Fatalf("W0(v·e^v) = %v for v = %v", got, v)
		}
		y := 1e5*r.Float64() - 600
		if w := LambertW0Exp(y); !(math.Abs(w+math.Log(w)-y) <= 4e-15*max(math.Abs(y), 1)) {
			t.Fatalf("LambertW0Exp(%v) = %v", y, w)
		}
	}
}

func TestLambertEnds(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, x := range []float64{-1e-300, -1, -inf, nan} {
		if w := LambertW0(x); w == w {
			t.Errorf("LambertW0(%v) = %v, want NaN", x, w)
		}
	}
	if LambertW0(inf) != inf || LambertW0Exp(inf) != inf || LambertW0Exp(-inf) != 0 || LambertW0Exp(nan) == 0 {
		t.Error("at the ends:", LambertW0(inf), LambertW0Exp(inf), LambertW0Exp(-inf), LambertW0Exp(nan))
	}
}

func TestTanh(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 100_000 {
		for _, x := range []float64{50 * (r.Float64() - .5), 1e-8 * r.Float64(), 2*r.Float64() - 1} {
			if got, want := Tanh(x), math.Tanh(x); !(math.Abs(got-want) <= 0x1p-50*math.Abs(want)) {
				t.Fatalf("Tanh(%v) = %v, want %v", x, got, want)
			}
		}
	}
	if Tanh(math.Inf(-1)) != -1 || Tanh(0) != 0 || !math.IsNaN(Tanh(math.NaN())) {
		t.Error("at the ends:", Tanh(math.Inf(-1)), Tanh(0), Tanh(math.NaN()))
	}
}
