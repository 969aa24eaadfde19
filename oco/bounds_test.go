package oco

import (
	"math"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/vec"
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

// TestSharpBound: in the middle of a box AdaGrad's sharp bound is 5/8 of the stated one, at a
// corner the stated one; that of adaptive descent is D²/(2η_T) + ½Σ η_t‖g_t‖² with the reach of u
// for D.
func TestSharpBound(t *testing.T) {
	box := must(convex.NewBox([]float64{-1, 0, 2}, []float64{1, 4, 2}))
	l := must(NewAdaGrad(box, nil))
	ogd := descent(box, nil, Adaptive(box.Diameter()*math.Sqrt2/2))
	var q, spent float64
	for _, g := range g4 {
		_, _ = l.Update(g), ogd.Update(g)
		q += vec.Dot(g, g)
		spent += vec.Dot(g, g) * box.Diameter() * math.Sqrt2 / 2 / math.Sqrt(q)
	}
	middle, corner := []float64{0, 2, 2}, []float64{1, 0, 2}
	near(t, "in the middle", must(l.SharpBound(middle)), bound(t, l, middle)*5/8)
	near(t, "at a corner", must(l.SharpBound(corner)), bound(t, l, corner))
	near(t, "adaptive descent", must(ogd.SharpBound(middle)),
		5/(math.Sqrt2*box.Diameter())*math.Sqrt(q)+spent/2) // ‖(1, 2, 0)‖² = 5
	if b, err := l.SharpBound([]float64{9, 0, 2}); err != nil || !math.IsInf(b, 1) {
		t.Errorf("outside: %v, %v", b, err)
	}
}
