package bandit

import (
	"math"
	"testing"
)

func TestTsallisINFGapBound(t *testing.T) {
	// Two arms: (4·ln 1000 + 16)/0.1 + 64/0.1 + 10·√2.
	near(t, "two arms", TsallisINFGapBound([]float64{.1, 0}, 1000, 1), 10*(4*math.Log(1000)+16)+640+10*math.Sqrt2)
	// Losses and gaps twice as large double the bound.
	want := 2 * TsallisINFGapBound([]float64{0, .2, .5}, 1000, 1)
	near(t, "scale", TsallisINFGapBound([]float64{0, .4, 1}, 1000, 2), want)
	near(t, "one arm", TsallisINFGapBound([]float64{0}, 1000, 1), 0)
	if v := TsallisINFGapBound([]float64{0, .2, 0}, 1000, 1); !math.IsInf(v, 1) {
		t.Errorf("two best arms: %v", v)
	}
	// It is below the bound for all losses when the rounds are many.
	if a, b := TsallisINFGapBound([]float64{0, .1}, 1e6, 1), TsallisINFBound(2, 1e6, 1); a >= b/2 {
		t.Errorf("%v, for all losses %v", a, b)
	}
}

// The three steps of the proof in docs/bandits.md that are inequalities of numbers, on a grid.
func TestTsallisINFGapBoundSteps(t *testing.T) {
	for round := 1; round <= 2000; round++ {
		x := float64(round)
		if math.Sqrt(x)-math.Sqrt(x-1) > 1/(2*math.Sqrt(x))+1/(2*x*math.Sqrt(x))+1e-15 {
			t.Errorf("the penalty of round %d", round)
		}
	}
	for _, rate := range []float64{.5, .3, .1, .01} {
		for k := 1; k < 1000; k++ {
			p := float64(k) / 1000
			r := math.Sqrt(p)
			// The exact stability of a negative loss −1 against its bound, at the best s.
			s := r / (1 - rate*r)
			if got, want := s*s-p-(s-r)*(s-r)/(rate*r), rate*p*r/(1-rate*r); math.Abs(got-want) > 1e-12*max(1, want) {
				t.Errorf("stability at η = %v, p = %v: %v, want %v", rate, p, got, want)
			}
			exact := rate * r * (1 - p) * (1 - p + p/(1-rate*r))
			if bound := rate*r*(1-p) + 2*rate*rate*p*p*(1-p); exact > bound+1e-15 {
				t.Errorf("expected stability at η = %v, p = %v: %v above %v", rate, p, exact, bound)
			}
		}
	}
	// Σ p²·(1 − p) is at most 1 − p⋆.
	for a := 0; a <= 100; a++ {
		for b := 0; a+b <= 100; b++ {
			p := []float64{float64(a) / 100, float64(b) / 100, float64(100-a-b) / 100}
			sum := 0.0
			for _, x := range p {
				sum += x * x * (1 - x)
			}
			if sum > 1-p[0]+1e-15 {
				t.Errorf("%v: %v", p, sum)
			}
		}
	}
}
