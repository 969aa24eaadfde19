package oco

import (
	"math"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/vec"
)

// TestFTRLProximalBound compares the bound with the formula of the doc comment, evaluated in O(T).
func TestFTRLProximalBound(t *testing.T) {
	r := random.New(2, "c7")
	for range 40 {
		d := 1 + r.IntN(5)
		o := FTRLProximalOptions{
			A: logUniform(r, 10), Beta: logUniform(r, 10), L1: logUniform(r, 10),
			L2: logUniform(r, 10),
		}
		l := must(NewFTRLProximal(d, o))
		u := make([]float64, d)
		for i := range u {
			u[i] = r.NormFloat64()
		}
		n := make([]float64, d)
		want := o.L1*convex.L1.Of(u) + (o.Beta/o.A+o.L2)*vec.Dot(u, u)/2
		for range 30 {
			g := gradient(r, "gaussian", 1, u, false)
			for i, v := range l.Predict() {
				after := math.Sqrt(n[i] + g[i]*g[i])
				sigma := (after - math.Sqrt(n[i])) / o.A
				n[i] += g[i] * g[i]
				want += sigma*(u[i]-v)*(u[i]-v)/2 + g[i]*g[i]/((o.Beta+after)/o.A+o.L2)/2
			}
			if err := l.Update(g); err != nil {
				t.Fatal(err)
			}
		}
		near(t, "bound", bound(t, l, u), want)
	}
}
