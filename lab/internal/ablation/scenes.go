package ablation

import (
	"context"
	"math"
	"slices"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/confident"
	"github.com/noregret/noregret/pasto/scenario"
)

// scene is a scenario of the ablation. Its score is larger for a better learner.
type scene struct {
	name    string
	options func() confident.Options
	play    func(o confident.Options, seed uint64) (score float64, err error)
}

// times has how many times as many runs a scenario or a family has, where a rule matters in few of
// them or a run takes little time.
var times = map[string]int{
	"growth": 20, "late-crash": 10, "the best of twenty is noisy": 30, "the best arm is noisy": 10,
	"rare guardrail": 10, "first rounds": 10, "hard guardrails": 4, "small control": 4, "service": 4,
	"clustered units": 10, "rates apart": 4, "a σ=5": 4, "a-drift": 4,
	"the worst becomes the best": 4, "b σ=1": 40,
}

// problem is arms with known means.
type problem struct {
	goals   *pasto.Goals
	means   [][]float64 // of each arm
	later   [][]float64 // from half of the rounds on; nil for no change
	sd      [][]float64 // of each arm's groups
	groups  int
	rounds  int
	shock   float64 // standard deviation of what the groups of a round have in common
	event   bool    // values are 1 with the mean's probability, and 0
	garbage float64 // what one value of the last arm has more, in round 300
	first   int     // the round of the first score, 64 if left out
	broken  float64 // the price of a hard guardrail that the deployed mixture breaks
}

// play returns the mean value of the deployed mixture over the second half of each power of two of
// rounds, from 64 on, less the price of broken guardrails: the best value is 0.
func (w *problem) play(o confident.Options, seed uint64) (float64, error) {
	l, err := confident.New(w.goals, len(w.means), o)
	if err != nil {
		return 0, err
	}
	r, drawn, obs := random.New(seed, "ablation"), make([]int, w.groups), make([]pasto.Observation, w.groups)
	means := w.means
	truth, err := w.solve(means)
	if err != nil {
		return 0, err
	}
	score, n, next, garbage := 0.0, 0.0, 64, w.garbage
	if w.first > 0 {
		next = w.first
	}
	for t := 1; t <= w.rounds; t++ {
		if w.later != nil && t == w.rounds/2 {
			means = w.later
			if truth, err = w.solve(means); err != nil {
				return 0, err
			}
			next = t + 64
		}
		l.Draw(r, drawn)
		u := w.shock * stat.Normal(r)
		for q, k := range drawn {
			row := make([]float64, w.goals.Dim())
			for i, v := range means[k] {
				if row[i] = v + u + w.sd[k][i]*stat.Normal(r); w.event {
					row[i] = 0
					if r.Float64() < v {
						row[i] = 1
					}
				}
			}
			if k == len(means)-1 && t > 300 {
				row[len(row)-1] += garbage
				garbage = 0
			}
			obs[q] = pasto.Observation{Arm: k, Metrics: row}
		}
		if err := l.Observe(obs); err != nil {
			return 0, err
		}
		if t == next || t == w.rounds {
			s := truth.Score(l.Deployed())
			if score += s.Value - truth.Optimum(); s.Broken {
				score -= w.broken
			}
			n++
			if next *= 2; w.later != nil && t >= w.rounds/2 {
				next = t + (t - w.rounds/2)
			}
		}
	}
	return score / n, nil
}

// solve returns the truth of the means, which scores mixtures.
func (w *problem) solve(means [][]float64) (*scenario.Truth, error) {
	table, err := pasto.NewTable(len(means), w.goals.Dim())
	if err != nil {
		return nil, err
	}
	for k, row := range means {
		copy(table.Arm(k), row)
	}
	return scenario.NewTruth(context.Background(), w.goals, table)
}

// goals are one gain and a guardrail, value ≥ limit.
func goals(hard bool, limits ...float64) *pasto.Goals {
	metrics := []pasto.Metric{{Name: "x"}}
	for i, c := range limits {
		metrics = append(metrics, pasto.Metric{
			Name: string(rune('a' + i)), Role: pasto.Guardrail, Threshold: c, Hard: hard,
		})
	}
	g, err := pasto.NewGoals(metrics, 0)
	if err != nil {
		panic(err)
	}
	return g
}

// rareGuardrail are a gain and a hard guardrail on a rate, at most .003.
func rareGuardrail() *pasto.Goals {
	g, err := pasto.NewGoals([]pasto.Metric{
		{Name: "x"},
		{Name: "rate", Role: pasto.Guardrail, Direction: pasto.Down, Threshold: .003, Hard: true},
	}, 0)
	if err != nil {
		panic(err)
	}
	return g
}

// rows repeats a row.
func rows(n int, row ...float64) [][]float64 {
	out := make([][]float64, n)
	for k := range out {
		out[k] = row
	}
	return out
}

// fixed is a scene of one problem.
func fixed(name string, w problem) scene {
	return scene{name, confident.DefaultOptions, w.play}
}

// uniform is a scene of arms with means drawn uniformly from [−1, 1] in each metric.
func uniform(name string, arms, metrics int, change bool, w problem) scene {
	return scene{name, confident.DefaultOptions, func(o confident.Options, seed uint64) (float64, error) {
		r, v := random.New(seed, "means"), w
		draw := func() []float64 {
			row := make([]float64, metrics)
			for i := range row {
				row[i] = 2*r.Float64() - 1
			}
			return row
		}
		v.means = nil
		for range arms {
			v.means = append(v.means, draw())
		}
		if change {
			for k := range arms {
				if row := v.means[k]; k%2 == 0 {
					v.later = append(v.later, draw())
				} else {
					v.later = append(v.later, row)
				}
			}
		}
		return v.play(o, seed)
	}}
}

// exchange is a scene of 30 arms of which the best and the worst exchange their means.
func exchange(name string) scene {
	w := problem{goals: goals(false), sd: rows(30, 1), groups: 5, rounds: 2048}
	for k := range 29 {
		w.means = append(w.means, []float64{float64(k) / 30})
	}
	w.means = append(w.means, []float64{2})
	w.later = slices.Clone(w.means)
	w.later[0], w.later[29] = w.later[29], w.later[0]
	return fixed(name, w)
}

// scenes lists the scenarios.
func scenes() []scene {
	toy := [][]float64{{2, -2}, {0, 2}}
	three := [][]float64{{2, -2}, {0, 2}, {-1, 0}}
	five := make([][]float64, 5)
	for k := range five {
		y := .2*float64(k) - .4
		five[k] = []float64{-y, y}
	}
	event := func(rates ...float64) (out [][]float64) {
		for _, v := range rates {
			out = append(out, []float64{v})
		}
		return out
	}
	noisy := rows(3, 1, 1)
	noisy[2] = []float64{1, 100}
	frozen := make([][]float64, 6)
	quiet := make([][]float64, 6)
	for k := range frozen {
		frozen[k], quiet[k] = []float64{0}, []float64{.1}
	}
	frozen[1], quiet[1] = []float64{1}, []float64{10}
	many, loud := rows(20, 0), rows(20, .3)
	many[1], loud[1] = []float64{1}, []float64{3}
	drifted := [][]float64{{2, -2}, {0, .5}}
	return []scene{
		fixed("a σ=5", problem{goals: goals(false, 0), means: toy, sd: rows(2, 5, 5), groups: 1, rounds: 4096}),
		uniform("b σ=1", 100, 3, false, problem{
			goals: goals(false, 0, 0), sd: rows(100, 1, 1, 1), groups: 10,
			rounds: 4096,
		}),
		uniform("b σ=5", 100, 3, false, problem{
			goals: goals(false, 0, 0), sd: rows(100, 5, 5, 5), groups: 10,
			rounds: 4096,
		}),
		fixed("a-drift", problem{
			goals: goals(false, 0), means: toy, later: drifted, sd: rows(2, 2.2, 2.2), groups: 1, rounds: 8192,
		}),
		uniform("b-drift", 100, 3, true, problem{
			goals: goals(false, 0, 0), sd: rows(100, 1, 1, 1), groups: 10,
			rounds: 8192,
		}),
		exchange("the worst becomes the best"),
		fixed("shocks", problem{
			goals: goals(true, 0), means: five, sd: rows(5, 1, 1), groups: 20, rounds: 1024, shock: 1, broken: 1,
		}),
		fixed("rare events", problem{
			goals: goals(false), means: event(.003, .006), sd: rows(2, 0), groups: 1,
			rounds: 32768, event: true,
		}),
		fixed("rare guardrail", problem{
			goals: rareGuardrail(), means: [][]float64{{.4, .001}, {.6, .006}}, sd: rows(2, 0, 0), groups: 1,
			rounds: 8192, event: true, broken: 1,
		}),
		fixed("one garbage value", problem{
			goals: goals(false, 0), means: three, sd: rows(3, 1, 1), groups: 10, rounds: 2048, garbage: -1e5,
		}),
		fixed("one noisy arm", problem{goals: goals(false, 0), means: three, sd: noisy, groups: 10, rounds: 2048}),
		fixed("the best arm is noisy", problem{
			goals: goals(false), means: frozen, sd: quiet, groups: 10, rounds: 2048,
		}),
		fixed("the best of twenty is noisy", problem{
			goals: goals(false), means: many, sd: loud, groups: 1, rounds: 3000,
		}),
		fixed("first rounds", problem{
			goals: goals(true, 0), means: five, sd: rows(5, 1, 1), groups: 100, rounds: 4, shock: .5, broken: 1,
			first: 2,
		}),
		fixed("hard guardrails", problem{
			goals: goals(true, 0), means: toy, sd: rows(2, 5, 5), groups: 1, rounds: 8192,
			broken: 1,
		}),
		uniform("hard 100 arms", 100, 3, false, problem{
			goals: goals(true, .3, .3), sd: rows(100, 5, 5, 5), groups: 10, rounds: 4096, broken: 1,
		}),
		service("small control", 2000, .2, 1, .3),
		service("service", 20_000, 0, 1, .3),
		service("clustered units", 20_000, 0, 6, .3),
		service("rates apart", 20_000, 0, 1, 3),
	}
}

// service is a scene of Bernoulli rates with a control arm, a hard relative guardrail and a level
// that follows a season; its score is the served gain, in units of the control's gain, less one for
// each round in which what is served breaks the guardrail. Groups scatter by clusters times the
// variance of independent units, and arms gain up to lift times the control's rate.
func service(name string, units int, share, clusters, lift float64) scene {
	options := func() confident.Options {
		o := confident.DefaultOptions()
		o.Control, o.Share = 0, share
		return o
	}
	return scene{name, options, func(o confident.Options, seed uint64) (float64, error) {
		r := random.New(seed, "service")
		g, err := pasto.NewGoals([]pasto.Metric{
			{Name: "x", Upper: 1},
			{Name: "y", Upper: 1, Role: pasto.Guardrail, Hard: true, Relative: true, Threshold: -.05},
		}, 0)
		if err != nil {
			return 0, err
		}
		x, y := []float64{.05}, []float64{.05}
		for range 4 {
			x, y = append(x, .05*(1+lift*r.Float64())), append(y, .05*(1-.2*r.Float64()))
		}
		l, err := confident.New(g, len(x), o)
		if err != nil {
			return 0, err
		}
		score := 0.0
		const rounds = 150
		for n := range rounds {
			level := 1 + .5*math.Sin(float64(n)/5)
			var obs []pasto.Observation
			guard := 0.0
			for k, p := range l.Serving() {
				score += p * (x[k]/.05 - 1) / rounds
				guard += p * y[k]
				size := math.Floor(p * float64(units))
				if size < 1 {
					continue
				}
				draw := func(rate float64) float64 {
					v := rate + math.Sqrt(clusters*rate*(1-rate)/size)*stat.Normal(r)
					return min(max(math.Round(v*size)/size, 0), 1)
				}
				a, b := draw(level*x[k]), draw(level*y[k])
				obs = append(obs, pasto.Observation{
					Arm: k, Size: size, Metrics: []float64{a, b}, Variances: []float64{a * (1 - a), b * (1 - b)},
				})
			}
			if guard < .95*y[0]-1e-12 {
				score -= 1. / rounds
			}
			if err := l.Observe(obs); err != nil {
				return 0, err
			}
		}
		return score, nil
	}}
}
