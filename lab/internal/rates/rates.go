// Package rates plays the drifting families of package arena as scenarios of package scenario:
// without a control arm, and with a price on the guardrail.
package rates

import (
	"fmt"

	"github.com/noregret/noregret/internal/random"
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
// the first arm. The noise of its groups is that of their units, times sigma.
type rates struct {
	*world.Grouped
	sigma float64
}

// newRates makes a run of a drifting family of the arena, stretched to the number of rounds.
func newRates(f *world.Family, o *scenario.Options, r *random.Source) (*rates, error) {
	w, err := f.Draw(r)
	if err != nil {
		return nil, err
	}
	for i := range w.Phases {
		p := &w.Phases[i]
		p.From = int(float64(p.From) / float64(w.Rounds()) * float64(o.Rounds))
	}
	goal, guard := w.Phases[0].Means.Arm(0)[0], w.Phases[0].Means.Arm(0)[1]
	margin := float64(0.05 * guard)
	w.Goals = o.Goals([]pasto.Metric{
		{Name: "clicks"},
		{
			Name: "purchases", Role: pasto.Guardrail, Threshold: guard - margin,
			Lambda: float64(ratePrice*goal) / float64(margin*margin),
		},
	})
	return &rates{world.NewGrouped(w, rateGroups, groupUnits, r.Uint64()), *o.Noise}, nil
}

// Size implements [scenario.Sized].
func (w *rates) Size() float64 { return groupUnits }

// Variances implements [scenario.Sized].
func (w *rates) Variances() []float64 { return w.Spread }

// Observe implements [scenario.World].
func (w *rates) Observe(t int, arms []int, dst []float64, r *random.Source) {
	w.Grouped.Observe(t, arms, dst, r)
	for i, k := range arms {
		for j, p := range w.Means(t).Arm(k) {
			dst[2*i+j] = p + float64(w.sigma*(dst[2*i+j]-p))
			w.Spread[2*i+j] *= float64(w.sigma * w.sigma)
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
