package private

import (
	"math"
	"testing"

	"github.com/noregret/noregret/dp"
)

// FuzzIncrement: whatever the record and the points are, the lattice increment is within the clip,
// and a step is counted.
func FuzzIncrement(f *testing.F) {
	f.Add(1.0, 2.0, 0.5, 0.1, 0.2, 0.3, 0.4, int64(7))
	f.Add(math.NaN(), 1e308, math.Inf(1), 0.0, 5e-324, -1.0, 1.0, int64(1))
	f.Add(1e308, 1e308, -1e308, 1e308, 1e308, -1e308, 1e308, int64(math.MaxInt64))
	lattice := must(dp.NewLattice(dp.DefaultLatticeConfig(2, 10, dp.L2, 1.5)))
	p := NewProblem(must(NewBall(2, 1.5, 2)), Squared(), 1, 1, 10)
	p.Clip = 1.5
	f.Fuzz(func(t *testing.T, x0, x1, y, a, b, c, d float64, i int64) {
		front, k := newFrontEnd(p), make([]int64, 2)
		x := []float64{x0, x1}
		lattice.Quantize(front.increment(max(i, 1), x, y, []float64{a, b}, []float64{c, d}), k)
		if !lattice.Admits(k) {
			t.Fatalf("(%v, %v) at step %d gives %v", x, y, i, k)
		}
		l := must(NewTOFW(p, testNoise(1)))
		if err := l.Step(x, y); err != nil || l.Records() != 1 {
			t.Fatalf("(%v, %v): %d records, %v", x, y, l.Records(), err)
		}
	})
}
