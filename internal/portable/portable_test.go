package portable

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestAgainstMath(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	worst := func(name string, x, got, want, scale, ulps float64) {
		t.Helper()
		if d := math.Abs(got-want) / scale; !(d <= ulps*0x1p-52) {
			t.Fatalf("%s(%v): got %v, want %v (%.1f units of 2^-52)", name, x, got, want, d*0x1p52)
		}
	}
	points := []float64{0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1 - 0x1p-53, 0x1p-53, 1e-9}
	for range 100_000 {
		points = append(points, r.Float64())
	}
	for _, u := range points {
		c, s := Turn(u)
		// math's own argument 2πu is rounded, so compare absolutely.
		worst("cos", u, c, math.Cos(2*math.Pi*u), 1, 6)
		worst("sin", u, s, math.Sin(2*math.Pi*u), 1, 6)
		v := 1 - u
		worst("log", v, Log(v), math.Log(v), max(math.Abs(math.Log(v)), 0x1p-1000), 4)
		worst("log1p", u, Log1p(u), math.Log1p(u), max(math.Log1p(u), 0x1p-1000), 5)
		x := 1400*u - 700
		worst("exp", x, Exp(x), math.Exp(x), math.Exp(x), 4)
		worst("exp", u-0.5, Exp(u-0.5), math.Exp(u-0.5), math.Exp(u-0.5), 3)
	}
}

func TestExpEnds(t *testing.T) {
	if Exp(0) != 1 || Exp(-1000) != 0 || !math.IsInf(Exp(1000), 1) || !math.IsNaN(Exp(math.NaN())) {
		t.Error("Exp at 0, -1000, 1000, NaN:", Exp(0), Exp(-1000), Exp(1000), Exp(math.NaN()))
	}
	if v := Exp(-744); !(v > 0) {
		t.Error("Exp(-744) =", v, "want a subnormal number")
	}
}

// TestLogEnds checks the ends of the domain, which entropies reach: ln 0 must be -Inf and not a
// finite number.
func TestLogEnds(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct{ x, log float64 }{
		{0, -inf},
		{math.Copysign(0, -1), -inf},
		{inf, inf},
		{-inf, nan},
		{-1, nan},
		{nan, nan},
		{1, 0},
		{5e-324, -744.4400719213812},
		{math.MaxFloat64, 709.782712893384},
	} {
		if got := Log(c.x); got != c.log && !(got != got && c.log != c.log) {
			t.Errorf("Log(%v) = %v, want %v", c.x, got, c.log)
		}
		if got := Log1p(c.x - 1); math.Abs(c.x) != 5e-324 && got != c.log && !(got != got && c.log != c.log) {
			t.Errorf("Log1p(%v) = %v, want %v", c.x-1, got, c.log)
		}
	}
	if got := Log1p(-1); got != -inf {
		t.Errorf("Log1p(-1) = %v, want -Inf", got)
	}
}

// TestPowers compares with math, and the limits at 0, 1 and infinity with their definition.
func TestPowers(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct{ x, y, want float64 }{
		{0, 0, 1},
		{0, 2, 0},
		{0, -2, inf},
		{0, 0.3, 0},
		{inf, 2, inf},
		{inf, -2, 0},
		{inf, 0, 1},
		{1, 77, 1},
		{7, 1, 7},
	} {
		if got := Pow(c.x, c.y); got != c.want {
			t.Errorf("Pow(%v, %v) = %v, want %v", c.x, c.y, got, c.want)
		}
	}
	if XLogX(0) != 0 || XLogX(1) != 0 || XLogX(inf) != inf || Expm1(0) != 0 || Expm1(-800) != -1 {
		t.Error("XLogX and Expm1 at the ends:", XLogX(0), XLogX(1), XLogX(inf), Expm1(0), Expm1(-800))
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 20_000 {
		x, y := math.Exp(3*r.NormFloat64()), 3*r.NormFloat64()
		if got, want := Pow(x, y), math.Pow(x, y); math.Abs(got-want) > (2+math.Abs(y*math.Log(x)))*3e-16*want {
			t.Fatalf("Pow(%v, %v) = %v, want %v", x, y, got, want)
		}
		small := y * math.Pow(10, -6*r.Float64())
		if got, want := Expm1(small), math.Expm1(small); math.Abs(got-want) > 1e-15*math.Abs(want) {
			t.Fatalf("Expm1(%v) = %v, want %v", small, got, want)
		}
		if got, want := XLogX(x), x*math.Log(x); math.Abs(got-want) > 1e-15*math.Abs(want)+1e-16 {
			t.Fatalf("XLogX(%v) = %v, want %v", x, got, want)
		}
	}
}

func BenchmarkLog(b *testing.B) {
	x := 0.0
	for b.Loop() {
		x += Log(2 + x)
	}
}

func BenchmarkExp(b *testing.B) {
	x := 0.0
	for b.Loop() {
		x += Exp(-x)
	}
}
