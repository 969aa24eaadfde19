package single

import (
	"slices"
	"testing"

	"github.com/noregret/noregret/bandit"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto/internal/pastotest"
)

// Thompson's Serving is what it draws from.
func TestThompsonServing(t *testing.T) {
	l, _ := New(pastotest.Goals(t, 5, false, 0), 3, bandit.Thompson)
	r := random.New(1, "test")
	pastotest.Play(t, l, pastotest.Table(t, []float64{.2, 0, .1}, []float64{1, 1, 1}), 1, 10, 3, r)
	for n := 0; slices.Max(l.Serving()) == 1; n++ {
		if n == 100 {
			t.Fatal("it never serves a mixture: the test sees nothing")
		}
		pastotest.Play(t, l, pastotest.Table(t, []float64{.2, 0, .1}, []float64{1, 1, 1}), 1, 1, 3, r)
	}
	p := append([]float64{}, l.Serving()...)
	count, arms := make([]float64, 3), make([]int, 16)
	for range 100 {
		l.Draw(r, arms)
		for _, k := range arms {
			count[k]++
		}
	}
	for k := range p {
		pastotest.Near(t, "share drawn", count[k]/1600, p[k], 1e-9)
	}
}
