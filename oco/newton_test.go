package oco

import (
	"testing"

	"github.com/noregret/noregret/internal/vec"
)

func TestOnlineNewtonStep(t *testing.T) {
	l := must(NewOnlineNewtonStep(space(3), .5, 1))
	var xs [][]float64
	var total float64
	for i, g := range g4 {
		x := append([]float64(nil), l.Predict()...)
		xs = append(xs, x)
		total += vec.Dot(g, x)
		before := l.state.Spent.value()
		if err := l.Update(g); err != nil {
			t.Fatal(err)
		}
		near(t, "gᵀS⁻¹g", l.state.Spent.value()-before,
			[]float64{.7924528302, .8339635614, .8435985987, .6536094200}[i])
	}
	xs = append(xs, l.Predict())
	nearVector(t, "x_2", xs[1], []float64{-.6037735849, .3018867925, -.1509433962})
	nearVector(t, "x_5", xs[4], []float64{-.4717938019, -.1037515450, -.2103070778})
	near(t, "loss", total, 1.6154562223)
	zero := []float64{0, 0, 0}
	near(t, "sum", 2*must(l.SharpBound(zero)), 3.1236244102)
	near(t, "log det", 2*bound(t, l, zero), 3.9752938073)

	in := must(NewOnlineNewtonStep(ball(.25), .5, 1))
	xs, total = play(t, in, g4)
	nearVector(t, "ball x_5", xs[4], []float64{-.2006065915, -.0324178736, -.1456230645})
	near(t, "ball loss", total, .5928392924)
}
