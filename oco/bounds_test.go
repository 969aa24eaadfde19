package oco

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/loss"
)

// TestBoundIsANumber evaluates every learner's bound at comparators up to the largest float64,
// before the first round, after rounds of zeros and after others: it is a number or +Inf, never
// NaN, although ‖u‖² is out of range.
func TestBoundIsANumber(t *testing.T) {
	for _, d := range []int{1, 3} {
		r := random.New(uint64(d), "oco/far")
		for _, c := range contenders(r, d, 1000) {
			l := c.make()
			check := func(when string) {
				for _, size := range []float64{1, 1e100, 1e153, 1e154, 1e200, math.MaxFloat64} {
					for _, sign := range []float64{1, -1} {
						u := make([]float64, l.Dim())
						for i := range u {
							u[i] = size * sign
							sign = -sign * float64(i%2*2-1)
						}
						if b, err := l.(Bounder).Bound(u); err != nil || math.IsNaN(b) {
							t.Errorf("%s, %s: Bound(%v) = %v, %v", c.name, when, u, b, err)
							return
						}
					}
				}
			}
			check("at the start")
			zero := make([]float64, l.Dim())
			_ = l.Update(zero) // a strongly convex rate may refuse it
			check("after a zero")
			for k := range 3 {
				g := gradient(r, "gaussian", k, zero, false)
				_ = c.step(r, l, g, nil)
			}
			check("after some rounds")
		}
	}
	a := Problem{Set: space(3), Facts: loss.Facts{Features: true}}
	l := must(must(Find("vaw")).New(a, nil)).(*VovkAzouryWarmuth)
	for k := range 3 {
		if err := l.Features([]float64{float64(k), 1, 0}); err != nil {
			t.Fatal(err)
		}
		if err := l.UpdateLabel(0); err != nil {
			t.Fatal(err)
		}
		for _, size := range []float64{1e154, math.MaxFloat64} {
			if b, err := l.Bound([]float64{size, -size, 0}); err != nil || math.IsNaN(b) {
				t.Errorf("vaw: %v, %v", b, err)
			}
		}
	}
}
