package scenario

import (
	"fmt"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/instance"
)

// synthetic is a world of known means with normal noise, which may change once.
type synthetic struct {
	goals         *pasto.Goals
	before, after *pasto.Table
	change        int
	q             int
	sigma         float64
}

func (w *synthetic) Objective() *pasto.Goals { return w.goals }
func (w *synthetic) Groups() int             { return w.q }
func (w *synthetic) Changes() int            { return w.change }

func (w *synthetic) Means(t int) *pasto.Table {
	if w.change > 0 && t > w.change {
		return w.after
	}
	return w.before
}

func (w *synthetic) Observe(t int, arms []int, dst []float64, r *random.Source) {
	mu := w.Means(t)
	m := mu.Metrics()
	clear(dst)
	if w.sigma > 0 {
		stat.Normals(dst, r)
	}
	for i, k := range arms {
		for j, v := range mu.Arm(k) {
			dst[i*m+j] = v + float64(w.sigma*dst[i*m+j])
		}
	}
}

func mustGoals(metrics []pasto.Metric) *pasto.Goals {
	g, err := pasto.NewGoals(metrics, 0)
	if err != nil {
		panic(err) // constants of this package
	}
	return g
}

func mustTable(rows ...[]float64) *pasto.Table {
	t, err := pasto.TableOf(rows...)
	if err != nil {
		panic(err)
	}
	return t
}

// Goals makes the objective of metrics with the threshold and the hardness of the options. It
// panics if the metrics are wrong.
func (o *Options) Goals(metrics []pasto.Metric) *pasto.Goals {
	for i := range metrics {
		if m := &metrics[i]; m.Role == pasto.Guardrail {
			m.Hard = m.Hard || o.Hard
			if o.Threshold != nil {
				m.Threshold = *o.Threshold
			}
		}
	}
	return mustGoals(metrics)
}

// toyGoals is f = x − 5·((y − 0)₋)².
func toyGoals(o *Options) *pasto.Goals {
	return o.Goals([]pasto.Metric{{Name: "x"}, {Name: "y", Role: pasto.Guardrail}})
}

// toy is scenario a, the paper's example of two arms.
func toy(after *pasto.Table) func(o *Options) (func(int) (World, error), []string, string, error) {
	return func(o *Options) (func(int) (World, error), []string, string, error) {
		w := &synthetic{goals: toyGoals(o), before: mustTable([]float64{2, 0}, []float64{-2, 2}), q: 1, sigma: *o.Noise}
		if after != nil {
			w.after, w.change = after, *o.Change
		}
		return func(int) (World, error) { return w, nil }, []string{"arm 1", "arm 2"}, "formula", nil
	}
}

func toySpec() Spec {
	return Spec{
		Name: "a", Doc: "the paper's toy: arms (2, −2) and (0, 2), y ≥ 0: best mixture 1.0125, best arm 0",
		Rounds: 10_000, Runs: 1000, Noise: 5, Common: true, Prepare: toy(nil),
	}
}

func toyDriftSpec() Spec {
	return Spec{
		Name: "a-drift", Doc: "the toy, whose second arm's y drops from 2 to 0.5 half-way: best mixture then 0.432",
		Rounds: 20_000, Runs: 300, Noise: 2.23606797749979, Common: true, Drift: true,
		Prepare: toy(mustTable([]float64{2, 0}, []float64{-2, 0.5})),
	}
}

func toySwapSpec() Spec {
	return Spec{
		Name: "a-swap", Doc: "the toy whose arms swap roles half-way",
		Rounds: 20_000, Runs: 300, Noise: 2.23606797749979, Common: true, Drift: true,
		Prepare: toy(mustTable([]float64{0, 2}, []float64{2, -2})),
	}
}

// randomWorld is scenario b, the paper's random instances, with new means for each run. With drift,
// a random half of the arms gets new means half-way.
func randomWorld(drift bool) func(o *Options) (func(int) (World, error), []string, string, error) {
	return func(o *Options) (func(int) (World, error), []string, string, error) {
		goals := o.Goals([]pasto.Metric{
			{Name: "x"},
			{Name: "y1", Role: pasto.Guardrail, Threshold: 0.5},
			{Name: "y2", Role: pasto.Guardrail, Threshold: 0.5},
		})
		names := make([]string, 100)
		for k := range names {
			names[k] = fmt.Sprintf("arm %d", k+1)
		}
		return func(run int) (World, error) {
			r := random.New(o.Seed, fmt.Sprintf("b means %d", run))
			mu, err := instance.Uniform(100, 3, r.Uint64())
			if err != nil {
				return nil, err
			}
			w := &synthetic{goals: goals, before: mu, q: 10, sigma: *o.Noise}
			if drift {
				w.after, w.change = mu.Clone(), *o.Change
				for _, k := range r.Perm(100)[:50] {
					for m := range 3 {
						w.after.Arm(k)[m] = float64(2*float64(r.Float64())) - 1
					}
				}
			}
			return w, nil
		}, names, "random", nil
	}
}

func randomSpec() Spec {
	return Spec{
		Name: "b", Doc: "the paper's random instances: 100 arms, metrics uniform on [−1, 1], two guardrails",
		Rounds: 10_000, Runs: 1000, Noise: 1, Prepare: randomWorld(false),
	}
}

func randomDriftSpec() Spec {
	return Spec{
		Name: "b-drift", Doc: "random instances of which half of the arms are drawn anew half-way",
		Rounds: 20_000, Runs: 100, Noise: 1, Drift: true, Prepare: randomWorld(true),
	}
}
