package oco

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
)

// TestNewtonBettorGuarantee: the log-wealth is within (γ/2)·β² + ln(A)/(2γ) of that of every fixed
// fraction up to ½, and at least the guarantee, after every round; γ is the largest constant for
// which −ln(1 + β·c) lies above its tangent by (γ/2)·z²·(β − β_t)².
func TestNewtonBettorGuarantee(t *testing.T) {
	r := random.New(1, "newton")
	for _, bias := range []float64{-1, 0, .1, .6, 1} {
		for _, size := range []float64{1, .1, .01} {
			b := must(NewNewtonBettor(2))
			fixed := make([]float64, 21)
			var slopes, s, q float64
			for range 400 {
				c := size * tosses(r, 1, true, bias)[0]
				z := c / (1 + b.Fraction()*c)
				slopes += z * z
				s += c
				q += c * c
				if err := b.Observe(c); err != nil {
					t.Fatal(err)
				}
				cost := math.Log1p(slopes) / (2 * newtonGamma)
				for k := range fixed {
					beta := float64(k-10) / 20
					fixed[k] += math.Log1p(beta * c)
					if floor := math.Ln2 + fixed[k] - newtonGamma/2*beta*beta - cost; b.LogWealth() < floor-1e-12 {
						t.Fatalf("log-wealth %v, of the fraction %v less the cost %v", b.LogWealth(), beta, floor)
					}
				}
				n, a := q+newtonGamma/2, math.Abs(s)
				grown := a * a / (4 * n)
				if a > n {
					grown = a/2 - n/4
				}
				if floor := math.Ln2 - cost + grown; b.LogWealth() < floor-1e-12 {
					t.Fatalf("log-wealth %v below the guarantee %v", b.LogWealth(), floor)
				}
			}
		}
	}
	least := math.Inf(1)
	for k := range 1000 {
		v := -2./3 + float64(k)/999*(2+2./3)
		if v != 0 {
			least = min(least, 2*(v-math.Log1p(v))/(v*v))
		}
	}
	near(t, "γ", newtonGamma, least)
}

// TestNewtonBettorConjugate compares the two parts of the conjugate with a search.
func TestNewtonBettorConjugate(t *testing.T) {
	r := random.New(2, "conjugate")
	parts := [2]bool{}
	for range 40 {
		b := must(NewNewtonBettor(.5))
		for _, c := range tosses(r, 1+r.IntN(60), true, .2) {
			if err := b.Observe(c); err != nil {
				t.Fatal(err)
			}
		}
		q := b.state.Squares.value() + newtonGamma/2
		scale := .5 * math.Exp(-math.Log1p(b.state.Slopes.value())/(2*newtonGamma))
		u, best, where := math.Exp(3*r.NormFloat64()), math.Inf(-1), 0.0
		for k := range 100_000 {
			s := float64(k) / 1000
			h := s * s / (4 * q)
			if s > q {
				h = s/2 - q/4
			}
			if v := s*u - scale*math.Exp(h); v > best {
				best, where = v, s
			}
		}
		parts[min(int(where/q), 1)] = true
		for _, v := range []float64{u, -u} {
			if got := b.Conjugate(v); got < best-1e-12 || got > best+1e-3*(1+math.Abs(best)) {
				t.Errorf("u = %v: %v, by a search %v", v, got, best)
			}
		}
	}
	if !parts[0] || !parts[1] {
		t.Error("one part of the guarantee was not tried")
	}
}

// TestNewtonBettorAdapts: with coins a hundred times smaller than they might be, its bound is below
// that of KT, which counts the rounds.
func TestNewtonBettorAdapts(t *testing.T) {
	r := random.New(3, "adapts")
	newton, plain := must(NewBetting(must(NewNewtonBettor(1)), 100)), must(NewKT(100, 1))
	for range 5000 {
		g := []float64{2*r.Float64() - 1.1}
		if newton.Update(g) != nil || plain.Update(g) != nil {
			t.Fatal("refused")
		}
	}
	u := []float64{50}
	if a, b := bound(t, newton, u), bound(t, plain, u); !(a < b/2) {
		t.Errorf("bounds %v and %v", a, b)
	}
}
