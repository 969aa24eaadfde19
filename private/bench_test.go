package private

import (
	"testing"

	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/internal/random"
)

// BenchmarkTOFW runs 10^4 records in dimension 20, with fast noise, with exact noise from a seed
// and from the system's generator, and without noise.
func BenchmarkTOFW(b *testing.B) {
	const d, n = 20, 10000
	r := random.New(1, "benchmark")
	xs, ys := make([][]float64, n), make([]float64, n)
	for i := range xs {
		xs[i], ys[i] = record(r, d)
	}
	p := NewProblem(must(NewBall(d, 2, 2)), Squared(), 1, 1, n)
	seeded := testNoise(1)
	fast := seeded
	fast.Options = []dp.Option{dp.WithInsecureFastNoiseForTesting(1)}
	secure := seeded
	secure.Options = nil
	honaker := seeded
	honaker.Kind = dp.Honaker
	for _, c := range []struct {
		name string
		make func() *Learner
	}{
		{"none", func() *Learner { return must(NewNonPrivateTOFW(p)) }},
		{"tree/fast", func() *Learner { return must(NewTOFW(p, fast)) }},
		{"tree/seeded", func() *Learner { return must(NewTOFW(p, seeded)) }},
		{"tree/secure", func() *Learner { return must(NewTOFW(p, secure)) }},
		{"honaker/seeded", func() *Learner { return must(NewTOFW(p, honaker)) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				l := c.make()
				for i, x := range xs {
					if err := l.Step(x, ys[i]); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// BenchmarkPOFW runs 10^3 records in dimension 1000 on the l1 ball.
func BenchmarkPOFW(b *testing.B) {
	const d, n = 1000, 1000
	r := random.New(1, "benchmark")
	x, y := record(r, d)
	p := NewProblem(must(NewBall(d, 1, 2)), Squared(), 1, 1, n)
	b.ReportAllocs()
	for range b.N {
		l := must(NewPOFW(p, selection(1)))
		for range n {
			if err := l.Step(x, y); err != nil {
				b.Fatal(err)
			}
		}
	}
}
