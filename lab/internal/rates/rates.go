// Package rates plays the drifting families of package arena as scenarios of package scenario:
// without a control arm, and with a price on the guardrail.
package rates

import (
	"fmt"
	"math"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/lab/world"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/scenario"
)

const (
	// rateGroups groups of groupUnits units are drawn in each round.
	rateGroups = 100
	groupUnits = 500
	// ratePrice is what a violation of the guardrail by its margin costs, as a part of the
	// control's goal.
	ratePrice = 2
)

// rates is a world of two rates, of which the second must not fall by more than 5 % below that of
// the first arm. Its groups have the noise of their units, times sigma.
type rates struct {
	goals *pasto.Goals
	table []*pasto.Table
	from  []int // the round in which each table begins, from 1
	sigma float64
	known []float64 // variances of units, by group and metric
	last  int
}

// newRates makes a run of a drifting family of the arena, stretched to the number of rounds.
func newRates(f *world.Family, o *scenario.Options, r *random.Source) (*rates, error) {
	a, err := f.Draw(r)
	if err != nil {
		return nil, err
	}
	w := &rates{sigma: *o.Noise, known: make([]float64, 2*rateGroups)}
	for i := range a.Phases {
		p := &a.Phases[i]
		w.table = append(w.table, p.Means)
		w.from = append(w.from, 1+int(float64(p.From)/float64(a.Rounds())*float64(o.Rounds)))
	}
	goal, guard := w.table[0].Arm(0)[0], w.table[0].Arm(0)[1]
	margin := float64(0.05 * guard)
	w.goals = o.Goals([]pasto.Metric{
		{Name: "clicks"},
		{
			Name: "purchases", Role: pasto.Guardrail, Threshold: guard - margin,
			Lambda: float64(ratePrice*goal) / float64(margin*margin),
		},
	})
	return w, nil
}

func (w *rates) Objective() *pasto.Goals { return w.goals }
func (w *rates) Groups() int             { return rateGroups }
func (w *rates) Changes() int            { return 0 }
func (w *rates) Size() float64           { return groupUnits }
func (w *rates) Variances() []float64    { return w.known }

// at returns the index of the means of round t.
func (w *rates) at(t int) int {
	i := min(w.last, len(w.from)-1)
	for i > 0 && w.from[i] > t {
		i--
	}
	for i+1 < len(w.from) && w.from[i+1] <= t {
		i++
	}
	w.last = i
	return i
}

func (w *rates) Means(t int) *pasto.Table { return w.table[w.at(t)] }

func (w *rates) Begins(t int) bool { return t > 1 && w.at(t) != w.at(t-1) }

func (w *rates) Observe(t int, arms []int, dst []float64, r *random.Source) {
	mu := w.Means(t)
	stat.Normals(dst, r)
	for i, k := range arms {
		for j, p := range mu.Arm(k) {
			v := float64(p * (1 - p))
			w.known[2*i+j] = float64(float64(w.sigma*w.sigma) * v)
			dst[2*i+j] = p + float64(w.sigma*float64(math.Sqrt(v/groupUnits)*dst[2*i+j]))
		}
	}
}

// Specs are the scenarios.
func Specs() (list []scenario.Spec) {
	when := []string{"at .4 of the run", "in 20 steps", "in waves of 100 rounds", "at each quarter"}
	for i, f := range world.DriftFamilies() {
		list = append(list, scenario.Spec{
			Name: f.Name, Doc: "rates of .3 to 5 %: best and worst of 5 arms swap " + when[i], Rounds: 300, Runs: 100,
			Noise: 1, Drift: true, Fixed: true,
			Prepare: func(o *scenario.Options) (func(int) (scenario.World, error), []string, string, error) {
				names := []string{"control", "arm 1", "arm 2", "arm 3", "arm 4"}
				return func(run int) (scenario.World, error) {
					return newRates(&f, o, random.New(o.Seed, fmt.Sprintf("%s means %d", f.Name, run)))
				}, names, "random", nil
			},
		})
	}
	return list
}
