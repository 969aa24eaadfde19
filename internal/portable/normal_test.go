package portable

import (
	"math"
	"testing"
)

func TestNormal(t *testing.T) {
	for i := -4000; i <= 4000; i++ {
		z := float64(i) / 100
		density, below := Normal(z)
		wantBelow := math.Erfc(-z/math.Sqrt2) / 2
		wantDensity := math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
		slack := min(1e-7*wantBelow, 1e-15)
		if z < -36 {
			slack = 1e-15
		}
		if math.Abs(below-wantBelow) > slack || math.Abs(density-wantDensity) > 1e-12*wantDensity+1e-300 {
			t.Errorf("Normal(%v) = %v, %v, want %v, %v", z, density, below, wantDensity, wantBelow)
		}
	}
	if d, b := Normal(math.NaN()); !math.IsNaN(d) || !math.IsNaN(b) {
		t.Errorf("Normal(NaN) = %v, %v", d, b)
	}
	if d, b := Normal(math.Inf(1)); d != 0 || b != 1 {
		t.Errorf("Normal(+Inf) = %v, %v", d, b)
	}
	if d, b := Normal(math.Inf(-1)); d != 0 || b != 0 {
		t.Errorf("Normal(-Inf) = %v, %v", d, b)
	}
}
