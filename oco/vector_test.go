package oco

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"pgregory.net/rapid"
)

// TestSums checks the sums and recursions on which the theorems for adaptive rates rest.
func TestSums(t *testing.T) {
	var inverse, harmonic float64
	for k := 1; k <= 100; k++ {
		inverse += inverseSqrt(k)
		harmonic += 1 / float64(k)
	}
	near(t, "2√101−2", 2*math.Sqrt(101)-2, 18.0997512422)
	near(t, "Σ1/√t", inverse, 18.5896038248)
	near(t, "H_100", harmonic, 5.1873775176)
	near(t, "1+ln 100", 1+math.Log(100), 5.6051701860)
	rapid.Check(t, func(t *rapid.T) {
		r := random.New(rapid.Uint64().Draw(t, "seed"), "sums")
		var q squares
		var left, exact float64
		b, c := r.ExpFloat64(), r.ExpFloat64()
		var delta float64
		for range 50 {
			a := math.Abs(r.NormFloat64()) * math.Exp(3*r.NormFloat64())
			if r.IntN(4) == 0 {
				a = 0
			}
			q.addScalar(a)
			exact += a * a
			if root := q.root(); root > 0 {
				left += a * a / root
			}
			rise := b * a
			if delta > 0 {
				rise = min(rise, c*a*a/(2*delta))
			}
			delta += rise * r.Float64()
		}
		if left > 2*q.root()*(1+1e-12) {
			t.Fatalf("Σ q_t/√Q_t: %v > %v", left, 2*q.root())
		}
		if delta > math.Sqrt((b*b+c)*exact)*(1+1e-12) {
			t.Fatalf("the recursion: %v > %v", delta, math.Sqrt((b*b+c)*exact))
		}
		if math.Abs(q.value()-exact) > 1e-12*exact {
			t.Fatalf("Q = %v, want %v", q.value(), exact)
		}
	})
}

func TestSquaresRange(t *testing.T) {
	for _, order := range [][]float64{{1e-300, 1, 1e200}, {1e200, 1, 1e-300}, {1e-320, 1e-320}, {1e308, 1e308}} {
		var q squares
		want := 0.0
		for _, x := range order {
			q.addScalar(x)
			want = math.Hypot(want, x)
		}
		if got := q.root(); math.Abs(got-want) > 1e-12*want {
			t.Errorf("√Σ of %v = %v, want %v", order, got, want)
		}
	}
}
