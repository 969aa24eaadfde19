// Package cost times the learners of mixtures: rounds with many arms and metrics, certified optima,
// and whole runs.
package cost

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/lab/internal/study"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/catalogue"
	"github.com/noregret/noregret/pasto/optimum"
	"github.com/noregret/noregret/pasto/scenario"
)

// options are the flags of "noregret-lab cost".
type options struct{ numbers, rounds, runs int }

// Command returns the command "noregret-lab cost".
func Command() *cobra.Command {
	c := &cobra.Command{
		Use:   "cost",
		Short: "Time rounds, optima and runs of learners of mixtures",
		Long: `Time a round of ten groups once every arm has been served, a certified optimum for the arms' means, and
runs of scenario b, one at a time. The cost of Algorithm 1 is linear in arms times metrics. The rounds of the default
are its first ones, in each of which it solves twice; later it touches the arms that are not drawn
only in rounds in which it solves. --numbers 100000000 adds 10⁶ arms with 100 metrics, which takes
minutes and some 14 GB of memory. Run it on a quiet machine.`,
		Example: "  noregret-lab cost\n  noregret-lab cost --numbers 100000 --rounds 5 --runs 10",
	}
	var o options
	c.Flags().IntVar(&o.numbers, "numbers", 10_000_000, "the largest number of arms times metrics")
	c.Flags().IntVar(&o.rounds, "rounds", 20, "rounds that are timed")
	c.Flags().IntVar(&o.runs, "runs", 1000, "runs of scenario b")
	return study.New(c, "timings", o.run)
}

// sizes are numbers of arms and of metrics.
var sizes = [][2]int{
	{100, 3},
	{1000, 3},
	{10_000, 3},
	{100_000, 3},
	{1_000_000, 3},
	{100, 100},
	{1000, 100},
	{10_000, 100},
	{100_000, 100},
	{1_000_000, 100},
}

// run times everything, one after the other.
func (o *options) run(ctx context.Context, r *study.Runner) (*study.Report, error) {
	for flag, v := range map[string]int{"--numbers": o.numbers, "--rounds": o.rounds, "--runs": o.runs} {
		if v < 1 {
			return nil, command.OutOfRange(flag, v, "at least 1")
		}
	}
	out := &study.Report{Tables: []study.Table{{Columns: []string{
		"", "K", "M", "ns per round", "ns per round·arm", "ns per round·arm·metric", "allocations",
	}}}}
	small := slices.DeleteFunc(slices.Clone(sizes), func(s [2]int) bool { return s[0]*s[1] > o.numbers })
	names := []string{"default", "paper", "arm-means", "s-scgd", "optimum"}
	r.Expect(len(names)*len(small) + 1)
	for _, name := range names {
		for _, s := range small {
			if ctx.Err() != nil {
				return out, ctx.Err()
			}
			ns, allocations, err := o.time(name, s[0], s[1])
			if err != nil {
				return out, err
			}
			out.Tables[0].Add(name, s[0], s[1], study.Number("%.0f", ns), study.Number("%.1f", ns/float64(s[0])),
				study.Number("%.2f", ns/float64(s[0]*s[1])), study.Number("%.1f", allocations))
			r.Step()
		}
	}
	b, err := scenario.DefaultOptions("b")
	if err != nil {
		return out, err
	}
	b.Runs, b.Workers, b.Seed, b.Checkpoints = o.runs, 1, 1, []int{b.Rounds}
	begin := time.Now()
	result, err := scenario.Run(ctx, b)
	if err != nil {
		return out, err
	}
	took := time.Since(begin)
	out.Notes = fmt.Sprintf("%d runs of scenario b over %d rounds take %s of one core, %.0f ns for each round and "+
		"arm.\n", b.Runs, b.Rounds, took.Round(time.Millisecond),
		float64(took.Nanoseconds())/float64(b.Runs*b.Rounds*len(result.Mixture.Share[0])))
	return out, nil
}

// time times rounds of a learner, or solutions of the plug-in problem.
func (o *options) time(name string, k, m int) (ns, allocations float64, err error) {
	f, err := goals(m)
	if err != nil {
		return 0, 0, err
	}
	mu, err := means(k, m)
	if err != nil {
		return 0, 0, err
	}
	if name == "optimum" {
		return timed(3, func() error {
			_, err := optimum.Maximize(f, mu, optimum.DefaultOptions())
			return err
		})
	}
	play, err := newRound(name, f, mu)
	if err != nil {
		return 0, 0, err
	}
	return timed(o.rounds, play)
}

// timed returns the mean time of n calls in nanoseconds, and their allocations.
func timed(n int, call func() error) (ns, allocations float64, err error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begin := time.Now()
	for range n {
		if err := call(); err != nil {
			return 0, 0, err
		}
	}
	took := time.Since(begin)
	runtime.ReadMemStats(&after)
	return float64(took.Nanoseconds()) / float64(n), float64(after.Mallocs-before.Mallocs) / float64(n), nil
}

// means draws a table with entries from −1 to 1, metric by metric.
func means(arms, metrics int) (*pasto.Table, error) {
	t, err := pasto.NewTable(arms, metrics)
	if err != nil {
		return nil, err
	}
	r := random.SplitMix64(1)
	for m := range metrics {
		for k := range arms {
			t.Arm(k)[m] = 2*r.Float64() - 1
		}
	}
	return t, nil
}

// goals are one metric to raise and guardrails.
func goals(metrics int) (*pasto.Goals, error) {
	list := []pasto.Metric{{Name: "x"}}
	for i := 1; i < metrics; i++ {
		list = append(list, pasto.Metric{Name: fmt.Sprint("y", i), Role: pasto.Guardrail, Threshold: -.5})
	}
	return pasto.NewGoals(list, 0)
}

// newRound returns a function that plays a round of ten groups with a named learner. Every arm has
// been served twice, and buffers have grown.
func newRound(name string, f *pasto.Goals, mu *pasto.Table) (func() error, error) {
	k, m := mu.Arms(), mu.Metrics()
	l, err := catalogue.New(name, f, k, 1000, nil)
	if err != nil {
		return nil, err
	}
	all := make([]pasto.Observation, k)
	for a := range all {
		all[a] = pasto.Observation{Arm: a, Metrics: mu.Arm(a)}
	}
	for range 2 {
		if err := l.Observe(all); err != nil {
			return nil, err
		}
	}
	r := random.New(1, "bench")
	arms, obs, values := make([]int, 10), make([]pasto.Observation, 10), make([]float64, 10*m)
	round := func() error {
		l.Draw(r, arms)
		for q, a := range arms {
			row := values[q*m : (q+1)*m]
			for i, v := range mu.Arm(a) {
				row[i] = v + r.Float64() - .5
			}
			obs[q] = pasto.Observation{Arm: a, Metrics: row}
		}
		return l.Observe(obs)
	}
	warm := 20
	if k*m > 100_000 {
		warm = 2 // solutions take seconds
	}
	for range warm {
		if err := round(); err != nil {
			return nil, err
		}
	}
	return round, nil
}
