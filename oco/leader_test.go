package oco

import (
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/vec"
	"pgregory.net/rapid"
)

func TestFollowTheLeaderGuessing(t *testing.T) {
	unit := must(convex.NewCube(1, 0, 1))
	half := []float64{.5}
	for name, l := range map[string]Learner{
		"mean leader":         must(NewMeanLeader(unit, half)),
		"descent with 1/(2t)": descent(unit, half, StronglyConvex(2)),
		"descent by RateFunc": descent(unit, half, RateFunc("1/(2t)", func(t int) float64 {
			return 1 / (2 * float64(t))
		})),
		"quadratized FTRL":     must(NewQuadratizedFTRL(unit, half, 2)),
		"descent by curvature": descent(unit, half, StronglyConvex(0)),
		"mirror descent":       must(NewMirrorDescent(euclidean(unit), half, StronglyConvex(2), math.Inf(1))),
		"proximal FTRL with 1/(2t)": must(NewProximalFTRL(space(1), half, RateFunc("1/(2t)", func(t int) float64 {
			return 1 / (2 * float64(t))
		}))),
		"exact leader": leader(unit, half),
	} {
		xs, total := guess(t, l, squareGuess)
		nearVector(t, name, xs, []float64{.5, .2, .55, .5, .55})
		near(t, name+" loss", total, .6425)
		near(t, name+" regret", total-.29, .3525)
	}
	l := must(NewMeanLeader(unit, half))
	_, total := guess(t, l, squareGuess)
	if b := bound(t, l, []float64{.55}); b < total-.29 || b > 2.3862943611 {
		t.Errorf("Bound = %v, want from the regret %v to 1 + ln 4", b, total-.29)
	}
	near(t, "4+4ln4", 4+4*math.Log(4), 9.5451774445)
	near(t, "1+ln4", 1+math.Log(4), 2.3862943611)
}

// TestBeTheLeader: Σ l_t(x*_t) ≤ Σ l_t(x*_T) for minimizers x*_t of Σ_{i≤t} l_i: for any
// functions on a finite set, and for the leaders of this package, whose x_{t+1} is x*_t.
func TestBeTheLeader(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, d, n, kind := drawGame(t, 6, 60)
		const points = 12
		var total [points]float64
		var leader float64
		for range n {
			var l [points]float64 // no convexity: any numbers
			for i := range l {
				l[i] = r.NormFloat64() * math.Exp(2*r.NormFloat64())
				total[i] += l[i]
			}
			best := 0
			for i, v := range total {
				if v < total[best] {
					best = i
				}
			}
			leader += l[best]
		}
		if least := slices.Min(total[:]); leader > least+1e-9*(1+math.Abs(least)) {
			t.Fatalf("the leaders' loss %v is above the last leader's %v", leader, least)
		}
		for _, set := range setsFor(r, d) {
			mean := must(NewMeanLeader(set, nil))
			cs := make([][]float64, n)
			var paid, last float64
			for k := range cs {
				cs[k] = gradient(r, kind, k, mean.Predict(), true)
				if err := mean.UpdateTarget(cs[k]); err != nil {
					t.Fatal(err)
				}
				paid += distanceSquared(mean.Predict(), cs[k])
			}
			for _, c := range cs {
				last += distanceSquared(mean.Predict(), c)
			}
			if paid > last+1e-9*(1+last) {
				t.Fatalf("mean leader on %v: %v is above %v", set, paid, last)
			}
			if math.IsInf(set.Diameter(), 1) {
				continue
			}
			linear := must(NewLinearLeader(set, nil))
			sum := make([]float64, d)
			paid = 0
			for _, c := range cs {
				if err := linear.Update(c); err != nil {
					t.Fatal(err)
				}
				paid += vec.Dot(c, linear.Predict())
				for i, v := range c {
					sum[i] += v
				}
			}
			if end := vec.Dot(sum, linear.Predict()); paid > end+1e-9*(1+float64(n)) {
				t.Fatalf("linear leader on %v: %v is above %v", set, paid, end)
			}
		}
	})
}
