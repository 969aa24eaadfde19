package compensated

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func TestSum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := new(big.Float).SetPrec(2000)
		var s Sum
		for range rapid.IntRange(0, 200).Draw(t, "n") {
			a, b := rapid.Float64Range(-1e9, 1e9).Draw(t, "a"), rapid.Float64Range(-1e-3, 1e9).Draw(t, "b")
			if rapid.Bool().Draw(t, "product") {
				s.AddProduct(a, b)
				want.Add(want, new(big.Float).SetPrec(2000).Mul(big.NewFloat(a), big.NewFloat(b)))
			} else {
				s.Add(a)
				want.Add(want, big.NewFloat(a))
			}
		}
		exact, _ := want.Float64()
		if math.Abs(s.Value()-exact) > 1e-15*math.Abs(exact)+1e-13 {
			t.Fatalf("the sum is %v, want %v", s.Value(), exact)
		}
	})
}

func TestSumLeavesTheRange(t *testing.T) {
	var s Sum
	s.Add(1e308)
	s.Add(1e308)
	if !math.IsInf(s.Value(), 1) {
		t.Errorf("1e308 twice is %v", s.Value())
	}
	s = Sum{}
	s.AddProduct(1e200, 1e200)
	if !math.IsInf(s.Value(), 1) {
		t.Errorf("1e200 squared is %v", s.Value())
	}
}
