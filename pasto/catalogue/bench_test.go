package catalogue

import (
	"fmt"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/confident"
	"github.com/noregret/noregret/pasto/internal/instance"
)

// roundOf returns a function that plays a round of ten groups with the given means.
func roundOf(b *testing.B, l pasto.Learner, mu *pasto.Table) func() {
	r, m := random.New(1, "bench"), mu.Metrics()
	arms, obs, values := make([]int, 10), make([]pasto.Observation, 10), make([]float64, 10*m)
	return func() {
		l.Draw(r, arms)
		for q, a := range arms {
			row := values[q*m : (q+1)*m]
			for i, v := range mu.Arm(a) {
				row[i] = v + float64(r.Float64()) - .5
			}
			obs[q] = pasto.Observation{Arm: a, Metrics: row}
		}
		if err := l.Observe(obs); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRoundGuarded times a round of the default learner with a control arm that holds two hard
// guardrails: under its promise it solves in each round up to 64 arms.
func BenchmarkRoundGuarded(b *testing.B) {
	for _, k := range []int{4, 16, 64, 256} {
		b.Run(fmt.Sprintf("K=%d/M=3", k), func(b *testing.B) {
			metrics := []pasto.Metric{{Name: "x"}}
			for _, name := range []string{"y", "z"} {
				metrics = append(metrics, pasto.Metric{
					Name: name, Role: pasto.Guardrail, Threshold: -.5, Lower: -1.5, Upper: 1.5, Hard: true,
				})
			}
			f, err := pasto.NewGoals(metrics, 0)
			if err != nil {
				b.Fatal(err)
			}
			o := confident.DefaultOptions()
			o.Control = 0
			l, err := confident.New(f, k, o)
			if err != nil {
				b.Fatal(err)
			}
			mu, _ := instance.Uniform(k, 3, 1)
			copy(mu.Arm(0), []float64{0, .5, .5})
			round := roundOf(b, l, mu)
			for range 200 {
				round()
			}
			b.ReportAllocs()
			for b.Loop() {
				round()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(k), "ns/round·arm")
		})
	}
}
