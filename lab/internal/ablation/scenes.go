package ablation

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/lab/world"
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

// problem is a scenario that the learner plays without a control arm. What is left out has the
// scenario's own value.
type problem struct {
	scenario.Spec
	rounds    int
	noise     *float64
	threshold *float64
	hard      bool
	later     bool    // the means change in the middle
	first     int     // the round of the first score, 64 if left out
	broken    float64 // the price of a hard guardrail that the deployed mixture breaks
}

// play returns the mean value of the deployed mixture at the powers of two of rounds from 64 on,
// counted from the change if there is one, less the price of broken guardrails: the best value is
// 0.
func (p problem) play(o confident.Options, seed uint64) (float64, error) {
	s := p.Options()
	s.Runs, s.Workers, s.Rounds, s.Seed = 1, 1, p.rounds, seed
	s.Noise, s.Threshold, s.Hard, s.Checkpoints = p.noise, p.threshold, p.hard, p.checkpoints()
	s.New = func(f pasto.Objective, arms, _ int, _ []float64) (pasto.Learner, error) {
		return confident.New(f, arms, o)
	}
	r, err := scenario.Play(context.Background(), s, p.Spec)
	if err != nil {
		return 0, err
	}
	score := 0.0
	for i, distance := range r.Distance.Mean {
		score -= (distance + p.broken*r.Violation.Share[i]) / float64(len(r.At))
	}
	return score, nil
}

// checkpoints are the rounds to score.
func (p problem) checkpoints() (at []int) {
	change := 0
	for d := cmp.Or(p.first, 64); change+d < p.rounds; d *= 2 {
		if p.later && change == 0 && d >= p.rounds/2 {
			change, d = p.rounds/2, 64
		}
		at = append(at, change+d)
	}
	return append(at, p.rounds)
}

// goals are one gain and a guardrail, value ≥ limit.
func goals(hard bool, limits ...float64) *pasto.Goals {
	metrics := []pasto.Metric{{Name: "x"}}
	for i, c := range limits {
		metrics = append(metrics, pasto.Metric{
			Name: string(rune('a' + i)), Role: pasto.Guardrail, Threshold: c, Hard: hard,
		})
	}
	return must(pasto.NewGoals(metrics, 0))
}

// must is for constants of this package.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// named returns a scenario of the product.
func named(name string) scenario.Spec {
	for _, s := range scenario.Scenarios() {
		if s.Name == name {
			return s
		}
	}
	panic(name)
}

// scene is the scene of the problem.
func (p problem) scene(name string) scene { return scene{name, confident.DefaultOptions, p.play} }

// units is a world of groups of one unit.
type units struct {
	goals     *pasto.Goals
	means     [][]float64 // of the arms, by metric
	later     [][]float64 // after round change; nil for no change
	change    int
	deviation float64     // of normal values; values are 0 or 1 if it is left out
	noise     [][]float64 // its factors, by metric and arm
	shock     float64     // standard deviation of what all values of a round have in common
	garbage   float64     // what one value of the last arm has more, after round 300
}

// groups is the scenario of a world with a number of groups in a round.
func (u units) groups(n int) scenario.Spec {
	outcomes := make([]world.Outcome, len(u.means))
	if u.deviation > 0 {
		outcomes = slices.Repeat([]world.Outcome{{Kind: world.Normal, Deviation: u.deviation}}, len(u.means))
	}
	w := must(world.New(0, 0, outcomes, u.means...))
	w.Goals, w.Noise = u.goals, u.noise
	if u.later != nil {
		w.Phases = append(w.Phases, world.Phase{From: u.change, Means: must(pasto.TableOf(u.later...))})
	}
	var names []string
	for k := range u.means[0] {
		names = append(names, fmt.Sprint("arm ", k+1))
	}
	return scenario.Spec{
		Common: true, Fixed: true,
		Prepare: func(o *scenario.Options) (func(int) (scenario.World, error), []string, string, error) {
			return func(int) (scenario.World, error) {
				return &disturbed{world.NewGrouped(w, n, 1, o.Seed), u.shock, u.garbage}, nil
			}, names, "formula", nil
		},
	}
}

// disturbed is a world with a shock in each round and one wrong value.
type disturbed struct {
	*world.Grouped
	shock, garbage float64
}

// Observe implements [scenario.World].
func (w *disturbed) Observe(t int, arms []int, dst []float64, r *random.Source) {
	w.Grouped.Observe(t, arms, dst, r)
	u := w.shock * stat.Normal(r)
	for i := range dst {
		dst[i] += u
	}
	if i := slices.Index(arms, w.Arms()-1); i >= 0 && t > 300 {
		dst[(i+1)*len(dst)/len(arms)-1] += w.garbage
		w.garbage = 0
	}
}

// exchange is a world of 30 arms of which the best and the worst exchange their means.
func exchange(change int) units {
	u := units{goals: goals(false), deviation: 1, means: [][]float64{{}}, change: change}
	for k := range 29 {
		u.means[0] = append(u.means[0], float64(k)/30)
	}
	u.means[0] = append(u.means[0], 2)
	u.later = [][]float64{slices.Clone(u.means[0])}
	u.later[0][0], u.later[0][29] = u.later[0][29], u.later[0][0]
	return u
}

// scenes lists the scenarios.
func scenes() []scene {
	a, b, aDrift, bDrift := named("a"), named("b"), named("a-drift"), named("b-drift")
	five := [][]float64{{.4, .2, 0, -.2, -.4}, {-.4, -.2, 0, .2, .4}}
	three := [][]float64{{2, 0, -1}, {-2, 2, 0}}
	twenty, loud := make([]float64, 20), slices.Repeat([]float64{1}, 20)
	twenty[1], loud[1] = 1, 10
	rate := must(pasto.NewGoals([]pasto.Metric{
		{Name: "x"},
		{Name: "rate", Role: pasto.Guardrail, Direction: pasto.Down, Threshold: .003, Hard: true},
	}, 0))
	garbage := units{goals: goals(false, 0), means: three, deviation: 1, garbage: -1e5}
	noisy := units{goals: goals(false, 0), means: three, deviation: 1, noise: [][]float64{nil, {1, 1, 100}}}
	best := units{
		goals: goals(false), means: [][]float64{{0, 1, 0, 0, 0, 0}}, deviation: .1,
		noise: [][]float64{{1, 100, 1, 1, 1, 1}},
	}
	return []scene{
		problem{Spec: a, rounds: 4096}.scene("a σ=5"),
		problem{Spec: b, rounds: 4096, threshold: new(0.0)}.scene("b σ=1"),
		problem{Spec: b, rounds: 4096, threshold: new(0.0), noise: new(5.0)}.scene("b σ=5"),
		problem{Spec: aDrift, rounds: 8192, later: true}.scene("a-drift"),
		problem{Spec: bDrift, rounds: 8192, threshold: new(0.0), later: true}.scene("b-drift"),
		problem{Spec: exchange(1024).groups(5), rounds: 2048, later: true}.scene("the worst becomes the best"),
		problem{
			Spec:   units{goals: goals(true, 0), means: five, deviation: 1, shock: 1}.groups(20),
			rounds: 1024, broken: 1,
		}.scene("shocks"),
		problem{
			Spec: units{goals: goals(false), means: [][]float64{{.003, .006}}}.groups(1), rounds: 32768,
		}.scene("rare events"),
		problem{
			Spec:   units{goals: rate, means: [][]float64{{.4, .6}, {.001, .006}}}.groups(1),
			rounds: 8192, broken: 1,
		}.scene("rare guardrail"),
		problem{Spec: garbage.groups(10), rounds: 2048}.scene("one garbage value"),
		problem{Spec: noisy.groups(10), rounds: 2048}.scene("one noisy arm"),
		problem{Spec: best.groups(10), rounds: 2048}.scene("the best arm is noisy"),
		problem{
			Spec: units{
				goals: goals(false), means: [][]float64{twenty}, deviation: .3, noise: [][]float64{loud},
			}.groups(1),
			rounds: 3000,
		}.scene("the best of twenty is noisy"),
		problem{
			Spec:   units{goals: goals(true, 0), means: five, deviation: 1, shock: .5}.groups(100),
			rounds: 4, first: 2, broken: 1,
		}.scene("first rounds"),
		problem{Spec: a, rounds: 8192, hard: true, broken: 1}.scene("hard guardrails"),
		problem{
			Spec: b, rounds: 4096, threshold: new(.3), noise: new(5.0), hard: true, broken: 1,
		}.scene("hard 100 arms"),
		service("small control", 2000, .2, 1, .3),
		service("service", 20_000, 0, 1, .3),
		service("clustered units", 20_000, 0, 6, .3),
		service("rates apart", 20_000, 0, 1, 3),
	}
}

// service is a scene of Bernoulli rates with a control arm, a hard relative guardrail and a level
// that follows a season; its score is the served gain, in units of the control's gain, less one for
// each round in which what is served breaks the guardrail. A person counts as a number of units,
// and arms gain up to lift times the control's rate.
func service(name string, units int, share float64, persons int, lift float64) scene {
	options := func() confident.Options {
		o := confident.DefaultOptions()
		o.Control, o.Share = 0, share
		return o
	}
	g := must(pasto.NewGoals([]pasto.Metric{
		{Name: "x", Upper: 1},
		{Name: "y", Upper: 1, Role: pasto.Guardrail, Hard: true, Relative: true, Threshold: -.05},
	}, 0))
	const rounds = 150
	return scene{name, options, func(o confident.Options, seed uint64) (float64, error) {
		r := random.New(seed, "service")
		x, y := []float64{.05}, []float64{.05}
		for range 4 {
			x, y = append(x, .05*(1+lift*r.Float64())), append(y, .05*(1-.2*r.Float64()))
		}
		w := must(world.New(rounds, units, make([]world.Outcome, 2), x, y))
		w.Goals, w.Margins, w.Repeats = g, []float64{0, .05 * .05}, persons
		w.Levels = world.Levels(rounds, 2, world.Season(31, .5))
		if err := w.Solve(); err != nil {
			return 0, err
		}
		l, err := confident.New(g, len(x), o)
		if err != nil {
			return 0, err
		}
		score, theta, s := 0.0, make([]float64, 2), world.NewSampler(w, r.Uint64())
		for t := range rounds {
			served := w.Rate(0, l.Serving(), theta)
			if score += (theta[0]/.05 - 1) / rounds; served.Broken {
				score -= 1. / rounds
			}
			var obs []pasto.Observation
			for _, g := range s.Round(t, l.Serving()) {
				obs = append(obs, pasto.Observation{
					Arm: g.Arm, Size: float64(g.Units), Metrics: g.Means, Variances: g.Variances,
				})
			}
			if err := l.Observe(obs); err != nil {
				return 0, err
			}
		}
		return score, nil
	}}
}
