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
// NOREGRET_FULL=1 only (make cost in lab), the largest with NOREGRET_FULL=huge: it takes minutes
// and some 14 GB of memory, six of which keep the state from before a round of all arms.
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
			full := os.Getenv("NOREGRET_FULL")
			if k*m > 1_000_000 && full == "" || k*m > 10_000_000 && full != "huge" {
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
	round := roundOf(b, l, mu)
	warm := 20
	if k*m > 100_000 {
		warm = 2 // solutions take seconds
	}
	for range warm {
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
