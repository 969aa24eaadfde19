package box

import (
	"fmt"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/pastotest"
)

// BenchmarkPlan times a plan for the given number of nodes, three metrics and three dimensions, in
// which no candidate is added.
func BenchmarkPlan(b *testing.B) {
	for _, nodes := range []int{32, 128, 500} {
		b.Run(fmt.Sprint(nodes), func(b *testing.B) {
			o := DefaultOptions(3)
			o.Nodes, o.MaxNodes = nodes, nodes
			f := pastotest.Goals(b, 5, true, 0, 0)
			c, err := New(f, []float64{0, 0, 0}, []float64{1, 1, 1}, o)
			if err != nil {
				b.Fatal(err)
			}
			r := random.New(1, "bench")
			for range 3 {
				var obs []pasto.Observation
				for k := range nodes {
					x := c.Point(k)
					obs = append(obs, pasto.Observation{Arm: k, Metrics: []float64{
						x[0]*x[1] + .1*r.NormFloat64(), x[2] - .3 + .1*r.NormFloat64(), .8 - x[0] + .1*r.NormFloat64(),
					}})
				}
				if err := c.Observe(obs); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				c.plan()
			}
		})
	}
}
