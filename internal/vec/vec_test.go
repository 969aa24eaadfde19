package vec

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
)

// TestSums compares each sum with one in twice the precision, at every length up to a few blocks.
func TestSums(t *testing.T) {
	r := random.New(1, "sums")
	for n := range 40 {
		x, y := make([]float64, n), make([]float64, n+1)
		for i := range x {
			x[i], y[i] = r.NormFloat64(), r.NormFloat64()
		}
		dot, sum, size := 0.0, 0.0, 0.0
		for i := n - 1; i >= 0; i-- {
			dot += x[i] * y[i]
			sum += x[i]
			size += math.Abs(x[i]*y[i]) + math.Abs(x[i])
		}
		for name, d := range map[string]float64{
			"Dot": Dot(x, y) - dot, "DotInOrder": DotInOrder(x, y) - dot, "Sum": Sum(x) - sum,
		} {
			if !(math.Abs(d) <= 1e-15*float64(n)*size) {
				t.Errorf("%s of %d terms is %v away from the sum from the end", name, n, d)
			}
		}
	}
}

// TestOrder checks the order of sums, on which the bits of learners' states depend: the terms are
// chosen so that any other order gives another result.
func TestOrder(t *testing.T) {
	x := []float64{1, 1, 0x1p53, 1, 1, 1, -0x1p53, 1, 1}
	ones := []float64{1, 1, 1, 1, 1, 1, 1, 1, 1}
	if got := Dot(x, ones); got != 7 {
		t.Errorf("Dot is %v, want 7", got)
	}
	if got := Sum(x); got != 7 {
		t.Errorf("Sum is %v, want 7", got)
	}
	if got := DotInOrder(x, ones); got != 6 {
		t.Errorf("DotInOrder is %v, want 6: the three ones after 2⁵³ + 2 round to 2", got)
	}
}

func TestDotInOrderSkipsZeros(t *testing.T) {
	r := random.New(2, "zeros")
	for range 200 {
		var x, y, few, with []float64
		for range r.IntN(30) {
			v, w := r.NormFloat64(), r.NormFloat64()
			if r.IntN(2) == 0 {
				v = 0
			} else {
				few, with = append(few, v), append(with, w)
			}
			x, y = append(x, v), append(y, w)
		}
		if a, b := DotInOrder(x, y), DotInOrder(few, with); a != b {
			t.Fatalf("DotInOrder is %v with the zeros and %v without", a, b)
		}
	}
}

func TestNorms(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		x            []float64
		norm2, small float64
	}{
		{nil, 0, 0},
		{[]float64{3, -4}, 5, 4},
		{[]float64{3e200, -4e200}, 5e200, 4e200},
		{[]float64{3e-200, -4e-200}, 5e-200, 4e-200},
		{[]float64{3 * 0x1p-1074, -4 * 0x1p-1074}, 5 * 0x1p-1074, 4 * 0x1p-1074},
		{[]float64{1, -inf}, inf, inf},
		{[]float64{1, 2, 3, 4, nan}, nan, nan},
	} {
		same := func(name string, got, want float64) {
			if !(math.Abs(got-want) <= 4e-16*want) && math.Float64bits(got) != math.Float64bits(want) && got == got {
				t.Errorf("%s of %v is %v, want %v", name, c.x, got, want)
			}
			if (got != got) != (want != want) {
				t.Errorf("%s of %v is %v, want %v", name, c.x, got, want)
			}
		}
		same("Norm2", Norm2(c.x), c.norm2)
		same("Distance2", Distance2(c.x, nil), c.norm2)
		same("Distance2 from 0", Distance2(c.x, make([]float64, len(c.x))), c.norm2)
		same("MaxAbs", MaxAbs(c.x), c.small)
		same("MaxDistance from 0", MaxDistance(c.x, make([]float64, len(c.x))), c.small)
	}
}

func TestFinite(t *testing.T) {
	for n := 1; n < 12; n++ {
		for i := range n {
			x := make([]float64, n)
			if !Finite(x) || !IsZero(x) {
				t.Fatalf("%d zeros: Finite %v, IsZero %v", n, Finite(x), IsZero(x))
			}
			for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
				if x[i] = v; Finite(x) || IsZero(x) || IsFinite(v) {
					t.Fatalf("%v: Finite %v, IsZero %v, IsFinite %v", x, Finite(x), IsZero(x), IsFinite(v))
				}
			}
			if x[i] = -math.MaxFloat64; !Finite(x) || IsZero(x) || !IsFinite(x[i]) {
				t.Fatalf("%v: Finite %v, IsZero %v", x, Finite(x), IsZero(x))
			}
		}
	}
}

func TestExtremes(t *testing.T) {
	x := []float64{2, -1, 5, 5, -1}
	if k, v := ArgMax(x); k != 2 || v != 5 {
		t.Errorf("ArgMax is %d, %v, want the first 5", k, v)
	}
	if k, v := ArgMin(x); k != 1 || v != -1 {
		t.Errorf("ArgMin is %d, %v, want the first -1", k, v)
	}
	Scale(x, 2)
	AddScaled(x, -3, []float64{1, 2})
	if x[0] != 1 || x[1] != -8 || x[2] != 10 {
		t.Errorf("2x − 3y is %v", x)
	}
}
