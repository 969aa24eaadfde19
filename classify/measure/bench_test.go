package measure

import (
	"math/rand/v2"
	"testing"
)

// One projection is part of every SPADE step.
func BenchmarkProject(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	var pts [256][2]float64
	for i := range pts {
		pts[i] = [2]float64{r.Float64(), r.Float64()}
	}
	for _, m := range []Concave{Min{}, HMean{}, QMean{}, GMean{}} {
		b.Run(m.Name(), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				p := pts[i%len(pts)]
				m.Project(p[0], p[1], 10)
			}
		})
	}
}
