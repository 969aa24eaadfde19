package optimize

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
)

// cubicMinimum is compared with cubics whose minimum is known.
func TestCubicMinimum(t *testing.T) {
	src := random.New(9, "cubic")
	for range 1000 {
		// f = k(s-r)²(s-q) + c with r its minimum, k > 0 and q < r
		k, q := 0.1+src.Float64(), src.NormFloat64()
		r := q + 0.1 + src.Float64()
		f := func(s float64) trial {
			return trial{s, k * (s - r) * (s - r) * (s - q), k * (s - r) * (2*(s-q) + (s - r))}
		}
		a, b := r-src.Float64(), r+src.Float64()
		for _, pair := range [][2]float64{{a, b}, {b, a}} {
			if got := cubicMinimum(f(pair[0]), f(pair[1])); math.Abs(got-r) > 1e-6 {
				t.Errorf("from %v and %v: %v, want %v", pair[0], pair[1], got, r)
			}
		}
	}
}

// Every accepted step meets the conditions, on the test functions of Moré and Thuente (1994, 5.1 to
// 5.3) and others, from first steps of 1e-3 to 1e3.
func TestLineSearchConditions(t *testing.T) {
	for name, phi := range map[string]func(s float64) (f, g float64){
		"5.1": func(s float64) (f, g float64) {
			const b = 2
			return -s / (s*s + b), (s*s - b) / ((s*s + b) * (s*s + b))
		},
		"5.2": func(s float64) (f, g float64) {
			const b = 0.004
			return math.Pow(s+b, 5) - 2*math.Pow(s+b, 4), 5*math.Pow(s+b, 4) - 8*math.Pow(s+b, 3)
		},
		"log": func(s float64) (f, g float64) { return -10*s - math.Log(3-s), -10 + 1/(3-s) },
		"exp": func(s float64) (f, g float64) { return math.Exp(s-20) - s, math.Exp(s-20) - 1 },
	} {
		for _, step := range []float64{1e-3, 1e-1, 1, 10, 1000} {
			f0, g0 := phi(0)
			l := newLineSearch(f0, g0, step)
			for {
				f, g := phi(l.step)
				s := l.step
				if l.judge(f, g) {
					if f > f0+1e-4*s*g0 || math.Abs(g) > -0.9*g0 {
						t.Errorf("%s from %v: took %v", name, step, s)
					}
					break
				}
				if l.trials >= mostTrials {
					t.Errorf("%s from %v: no step found, now at %v", name, step, l.step)
					break
				}
			}
		}
	}
}
