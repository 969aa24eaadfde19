package world

import (
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/pasto"
)

// usual drafts the usual goal and guardrail.
func usual(r *random.Source, arms, units, rounds int, goal, guardrail, margin float64) *draft {
	d := newDraft(r, arms, units, rounds)
	lifts := d.normals(0.03, 0.1)
	d.goal("clicks", goal, lifts)
	d.guard("purchases", guardrail, margin, d.against(lifts, -0.4, 0.05))
	return d
}

func rare(r *random.Source) (*World, error) {
	return usual(r, 5, 100_000, 100, 0.003, 0.01, 0.05).world()
}

func fewUnits(r *random.Source) (*World, error) {
	return usual(r, 4, 1_000, 1_000, 0.05, 0.01, 0.1).world()
}

func rateTwo(r *random.Source) (*World, error) {
	return usual(r, 8, 20_000, 200, 0.05, 0.02, 0.05).world()
}

func rateFive(r *random.Source) (*World, error) {
	return usual(r, 10, 100_000, 100, 0.1, 0.05, 0.02).world()
}

func several(r *random.Source) (*World, error) {
	d := newDraft(r, 10, 20_000, 200)
	lifts := d.normals(0.03, 0.1)
	d.goal("clicks", 0.05, lifts)
	d.goal("shares", 0.02, d.normals(0.03, 0.1))
	d.guard("purchases", 0.03, 0.03, d.against(lifts, -0.4, 0.05))
	d.guard("returns to the shop", 0.02, 0.05, d.against(lifts, -0.2, 0.05))
	d.limit("errors", Outcome{}, 0.005, 0.1, d.normals(0, 0.1))
	return d.world()
}

// revenueSigma is the deviation of the logarithm of what a buyer spends.
const revenueSigma = 1.8

func revenue(r *random.Source) (*World, error) {
	d := newDraft(r, 5, 20_000, 200)
	buyers := d.normals(0, 0.06)
	d.guard("buyers", 0.02, 0.05, buyers)
	amounts := d.normals(0, 0.1)
	for k, g := range amounts {
		amounts[k] = float64((1+g)*(1+buyers[k])) - 1
	}
	d.add(pasto.Metric{Name: "revenue"}, Outcome{Kind: Revenue, Of: 0, Sigma: revenueSigma}, 0, 1, amounts)
	return d.world()
}

func revenueGuard(r *random.Source) (*World, error) {
	const margin = 0.1
	d := newDraft(r, 5, 20_000, 200)
	lifts := d.normals(0.03, 0.1)
	d.goal("clicks", 0.05, lifts)
	d.add(pasto.Metric{Name: "buyers", Role: pasto.Report}, Outcome{}, 0, 0.02, d.against(lifts, -0.4, 0.08))
	d.add(pasto.Metric{Name: "revenue", Role: pasto.Guardrail, Hard: true, Relative: true, Threshold: -margin},
		Outcome{Kind: Revenue, Of: 1, Sigma: revenueSigma, Cap: 20}, margin, 1, make([]float64, d.arms))
	for k := range d.rows[2] {
		d.rows[2][k] = d.rows[1][k] / d.rows[1][0] // amounts are alike
	}
	return d.world()
}

func week(r *random.Source) (*World, error) {
	d := usual(r, 6, 20_000, 140, 0.05, 0.02, 0.05)
	d.scaleLevels(Season(7, 0.4))
	d.scaleLevels(d.shocks(0.05))
	return d.world()
}

func day(r *random.Source) (*World, error) {
	d := usual(r, 5, 5_000, 336, 0.05, 0.02, 0.05)
	d.scaleLevels(Season(24, 0.6))
	d.scaleUnits(Season(24, 0.8))
	return d.world()
}

func growth(r *random.Source) (*World, error) {
	d := usual(r, 6, 20_000, 200, 0.05, 0.02, 0.05)
	d.scaleLevels(d.line(0.5, 1.5))
	d.scaleUnits(d.line(0.25, 1.75))
	return d.world()
}

func shrinkage(r *random.Source) (*World, error) {
	d := usual(r, 6, 20_000, 200, 0.05, 0.02, 0.05)
	d.scaleLevels(d.line(1.5, 0.5))
	d.scaleUnits(d.line(1.75, 0.25))
	return d.world()
}

func drift(r *random.Source) (*World, error) {
	const steps, loss = 10, 0.3
	d := usual(r, 5, 20_000, 200, 0.05, 0.02, 0.05)
	k := max(d.best(0.05), 1)
	return d.change(steps, 0.3, 0.7, func(done float64) {
		d.rows[0][k] = float64(d.rows[0][k] * (1 - float64(loss*done)))
	})
}

func lateCrash(r *random.Source) (*World, error) {
	d := usual(r, 5, 20_000, 200, 0.05, 0.02, 0.05)
	k := max(d.best(0.05), 1)
	return d.change(1, 0.5, 0.5, func(float64) { d.rows[1][k] *= 0.5 })
}

// change adds phases to the world: in the given number of steps, evenly spaced between two shares
// of the run, shift moves the first means by the completed share of the change.
func (d *draft) change(steps int, from, to float64, shift func(done float64)) (*World, error) {
	w, err := d.world()
	if err != nil {
		return nil, err
	}
	first := d.rows
	for i := 1; i <= steps; i++ {
		d.rows = make([][]float64, len(first))
		for m := range first {
			d.rows[m] = append([]float64(nil), first[m]...)
		}
		shift(float64(i) / float64(steps))
		means, err := pasto.TableOf(d.rows...)
		if err != nil {
			return nil, err
		}
		at := from + float64((to-from)*(float64(i-1)/float64(max(steps-1, 1))))
		w.Phases = append(w.Phases, Phase{From: int(float64(at * float64(len(d.units)))), Means: means})
	}
	return w, nil
}

func delay(r *random.Source) (*World, error) {
	w, err := usual(r, 6, 20_000, 150, 0.05, 0.02, 0.05).world()
	if err != nil {
		return nil, err
	}
	w.Delay = 10
	return w, nil
}

func crash(r *random.Source) (*World, error) {
	d := newDraft(r, 5, 20_000, 150)
	d.goal("clicks", 0.05, d.normals(0.03, 0.1))
	d.limit("errors", Outcome{}, 0.005, 0.1, d.normals(-0.05, 0.1))
	k := 1 + int(float64(d.r.Float64()*float64(d.arms-1)))
	d.rows[0][k], d.rows[1][k] = float64(d.rows[0][0]*1.3), 0.3
	return d.world()
}

func twoArms(r *random.Source) (*World, error) {
	return usual(r, 2, 5_000, 1_000, 0.05, 0.02, 0.05).world()
}

func twentyArms(r *random.Source) (*World, error) {
	return usual(r, 20, 20_000, 300, 0.05, 0.02, 0.05).world()
}

func latency(r *random.Source) (*World, error) {
	d := newDraft(r, 6, 20_000, 150)
	lifts := d.normals(0.03, 0.1)
	d.goal("clicks", 0.05, lifts)
	d.limit("latency", Outcome{Kind: Normal, Deviation: 150}, 200, 0.05, d.against(lifts, 0.4, 0.05))
	return d.world()
}

func infeasible(r *random.Source) (*World, error) {
	d := newDraft(r, 12, 20_000, 200)
	goals, guards := d.uniforms(0.1, 0.4), d.uniforms(-0.3, -0.1)
	for k := 1; k <= 2; k++ {
		goals[k], guards[k] = 0.03+float64(0.1*stat.Normal(r)), float64(0.05*stat.Normal(r))
	}
	d.goal("clicks", 0.05, goals)
	d.guard("purchases", 0.02, 0.05, guards)
	return d.world()
}

func onlyControl(r *random.Source) (*World, error) {
	const margin = 0.005
	d := newDraft(r, 6, 20_000, 150)
	d.goal("clicks", 0.05, d.normals(0.03, 0.1))
	d.add(pasto.Metric{Name: "purchases", Role: pasto.Guardrail, Hard: true, Threshold: 0.02 * (1 - margin)}, Outcome{},
		0.02*margin, 0.02, d.uniforms(-0.3, -0.05))
	return d.world()
}

func mixture(r *random.Source) (*World, error) {
	d := newDraft(r, 6, 20_000, 200)
	goals, guards := d.uniforms(0.2, 0.4), d.uniforms(-0.2, -0.1)
	for k := 2; k < d.arms; k += 2 {
		goals[k], guards[k] = -float64(0.1*r.Float64()), 0.1+float64(0.1*r.Float64())
	}
	d.goal("clicks", 0.05, goals)
	d.guard("purchases", 0.02, 0.02, guards)
	return d.world()
}

func soft(r *random.Source) (*World, error) {
	const cost = 0.2 * 0.05
	d := newDraft(r, 8, 20_000, 200)
	lifts := d.normals(0.03, 0.1)
	d.goal("clicks", 0.05, lifts)
	d.guard("purchases", 0.02, 0.05, d.against(lifts, -0.4, 0.05))
	d.price(cost)
	d.guard("returns to the shop", 0.03, 0.03, d.against(lifts, -0.2, 0.05))
	d.price(cost)
	return d.world()
}
