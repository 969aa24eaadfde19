package catalogue

import (
	"fmt"
	"os"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/confident"
	"github.com/noregret/noregret/pasto/internal/instance"
)

// BenchmarkRound times a round (draw, observe) of ten groups once every arm has been served, in ns
// per arm and per arm and metric. The cost of Algorithm 1 is linear in K·M. The default touches the
// arms that are not drawn only in rounds in which it solves, as it does in all of the first rounds;
// its time is also reported per pass of the solver. Sizes above 10⁶ numbers run with
// NOREGRET_FULL=1 only (make pasto-cost). They need some 14 GB of memory, six of which keep the
// state from before a round of all arms.
func BenchmarkRound(b *testing.B) {
	for _, name := range []string{"default", "paper", "arm-means", "s-scgd"} {
		for _, size := range [][2]int{
			{100, 3},
			{1000, 3},
			{10_000, 3},
			{100_000, 3},
			{100, 100},
			{1000, 100},
			{10_000, 100},
			{1_000_000, 3},
			{100_000, 100},
			{1_000_000, 100},
		} {
			k, m := size[0], size[1]
			if k*m > 1_000_000 && os.Getenv("NOREGRET_FULL") == "" {
				continue
			}
			b.Run(fmt.Sprintf("%s/K=%d/M=%d", name, k, m), func(b *testing.B) { benchRound(b, name, k, m) })
		}
	}
}

func benchRound(b *testing.B, name string, k, m int) {
	metrics := []pasto.Metric{{Name: "x"}}
	for i := 1; i < m; i++ {
		metrics = append(metrics, pasto.Metric{Name: fmt.Sprint("y", i), Role: pasto.Guardrail, Threshold: -.5})
	}
	f, err := pasto.NewGoals(metrics, 0)
	if err != nil {
		b.Fatal(err)
	}
	mu, _ := instance.Uniform(k, m, 1)
	l, err := New(name, f, k, 1000, nil)
	if err != nil {
		b.Fatal(err)
	}
	all := make([]pasto.Observation, k)
	for a := range all {
		all[a] = pasto.Observation{Arm: a, Metrics: mu.Arm(a)}
	}
	for range 2 {
		if err := l.Observe(all); err != nil {
			b.Fatal(err)
		}
	}
	r := random.New(1, "bench")
	arms, obs, values := make([]int, 10), make([]pasto.Observation, 10), make([]float64, 10*m)
	round := func() {
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
	for range 20 {
		round()
	}
	passes := func() float64 {
		if c, ok := l.(*confident.Learner); ok {
			return float64(c.Passes())
		}
		return 0
	}
	before := passes()
	b.ReportAllocs()
	for b.Loop() {
		round()
	}
	// n passes of the solver over all arms; the rest of a solution costs as much as about six.
	if n := passes() - before; n > 0 {
		n += 6 * float64(b.N)
		b.ReportMetric(n/float64(b.N), "passes/round")
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/n/float64(k*m), "ns/pass·arm·metric")
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(k*m), "ns/round·arm·metric")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(k), "ns/round·arm")
}
