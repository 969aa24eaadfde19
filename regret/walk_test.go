package regret

import (
	"math"
	"math/big"
	"testing"
)

// exactSign is E sign(k + S_n) by exact binomials.
func exactSign(k, n int) float64 {
	sum := new(big.Int)
	c := big.NewInt(1) // C(n, i), for S_n = 2i − n
	for i := 0; i <= n; i++ {
		switch s := k + 2*i - n; {
		case s > 0:
			sum.Add(sum, c)
		case s < 0:
			sum.Sub(sum, c)
		}
		c.Mul(c, big.NewInt(int64(n-i)))
		c.Quo(c, big.NewInt(int64(i+1)))
	}
	v, _ := new(big.Float).SetMantExp(new(big.Float).SetInt(sum), -n).Float64()
	return v
}

func TestWalkSign(t *testing.T) {
	for n := range 100 {
		for k := -n - 2; k <= n+2; k++ {
			if got, want := walkSign(k, n), exactSign(k, n); math.Abs(got-want) > 4e-16 {
				t.Errorf("E sign(%d + S_%d) = %.17g, want %.17g", k, n, got, want)
			}
		}
	}
	for _, n := range []int{1001, 6000} {
		for _, k := range []int{1, 2, 3, 17, 40, 41, 100, 101, 300, 301, 698} {
			if got, want := walkSign(k, n), exactSign(k, n); math.Abs(got-want) > 1e-14 {
				t.Errorf("E sign(%d + S_%d) = %.17g, want %.17g", k, n, got, want)
			}
		}
	}
	// The recurrence that makes it a martingale, at sizes beyond exact sums.
	for _, n := range []int{100000, 99999, 1 << 30} {
		for _, k := range []int{0, 1, 2, 3, 100, 316, 317, 900, 2000, 5000} {
			got, want := walkSign(k, n), (walkSign(k+1, n-1)+walkSign(k-1, n-1))/2
			if math.Abs(got-want) > 3e-14 {
				t.Errorf("E sign(%d + S_%d) = %.17g, a step later %.17g", k, n, got, want)
			}
		}
	}
}

func TestTotal(t *testing.T) {
	var k total
	for range 1000 {
		for _, v := range []float64{1e16, 1, -1e16, 1e-9} {
			k.add(v)
		}
	}
	if got, want := k.value(), 1000+1e-6; math.Abs(got-want) > 1e-10 {
		t.Errorf("sum %.17g, want %.17g", got, want)
	}
	var p total
	a := 1 + math.Ldexp(1, -30)
	p.addProduct(a, a)
	p.add(-1)
	p.add(-math.Ldexp(1, -29))
	if got, want := p.value(), math.Ldexp(1, -60); got != want {
		t.Errorf("a² − 1 − 2⁻²⁹ = %v, want %v", got, want)
	}
	var big total
	big.addProduct(1e200, 1e200)
	big.add(1)
	if !math.IsInf(big.value(), 1) {
		t.Errorf("1e400 = %v", big.value())
	}
}
