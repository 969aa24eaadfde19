package world

import (
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/pasto"
)

// ServedFamilies lists families that are hard for what is served round by round: guardrails that
// decay and controls that drift, weekdays that suit arms, persons who are counted more than once,
// many arms, metrics that mature late, arms that join or are away, units that may not get all arms,
// huge units, limits in conflict, absolute
// limits on rare events. Where a family says nothing else it is like those of [Families].
func ServedFamilies() []Family {
	return []Family{
		{"decay-guard", "the best arm loses 15 % of its guardrail's rate from .2 to .9 of the run; goal 5 %, " +
			"guardrail 2 % within 5 %; 5 arms, 20,000 units, 300 rounds", decayGuard},
		{"drift-control", "the control's guardrail rises by 8 % from .2 to .8 of 200 rounds; goal 5 %, guardrail " +
			"2 % within 5 %; 5 arms, 20,000 units", driftControl},
		{"abrupt", "the best arm loses 15 % of its guardrail's rate and 20 % of its goal's at .4 of the run; goal " +
			"5 %, guardrail 2 % within 5 %; 5 arms, 20,000 units, 200 rounds", abruptLoss},
		{"slow", "the lifts of all arms move to new ones, in lines over the run; goal 5 %, guardrail 2 % within 5 " +
			"%; 5 arms, 20,000 units, 300 rounds", slow},
		{"novelty", "the arms' goals have further lifts of 20 % that halve every 15 rounds; goal 5 %, guardrail 2 % " +
			"within 5 %; 5 arms, 20,000 units, 150 rounds", novelty},
		{"weekday", "each arm has a factor N(1, .08) of its own on each of seven days; goal 5 %, guardrail 2 % " +
			"within 5 %; 5 arms, 20,000 units, 140 rounds", weekday},
		{"outage", "an arm brings nothing for five rounds; goal 5 %, guardrail 2 % within 5 %; 5 arms, 20,000 " +
			"units, 150 rounds", outage},
		{"shock", "levels of rounds scatter by 25 %; guardrail absolute, 2 % within 5 %; 5 arms, 20,000 units, 200 " +
			"rounds", shock},
		{"returning", "each person is counted as four units; goal 5 %, guardrail 2 % within 5 %; 5 arms, 20,000 " +
			"units, 150 rounds", returning},
		{"arms100", "100 arms, 50,000 units, 150 rounds; goal 5 %, guardrail 3 % within 5 %", manyArms(100)},
		{"arms300", "300 arms, 100,000 units, 100 rounds; goal 5 %, guardrail 3 % within 5 %", manyArms(300)},
		{"late-purchases", "clicks mature at once, purchases after 14 rounds; goal 5 %, guardrail 2 % within 5 %; 5 " +
			"arms, 20,000 units, 90 rounds", latePurchases},
		{"late-goal", "the goal, purchases of 2 %, matures after 10 rounds, the guardrail of 5 % at once; 5 arms, " +
			"20,000 units, 90 rounds", lateGoal},
		{"joining", "arms 3 and 4 join at .25 of the run, arm 5 at .5; goal 5 %, guardrail 2 % within 5 %; 6 arms, " +
			"20,000 units, 200 rounds", joining},
		{"giants", "the goal is what is spent, 2 % × 50; one unit of 10⁶ in each tenth round, in an arm at random; " +
			"guardrail on buyers within 5 %; 5 arms, 20,000 units, 150 rounds", giants},
		{"conflict", "two guardrails within 3 %; the lifts of one are those of the other with the other sign, beside " +
			"N(0, .02); 8 arms, 20,000 units, 200 rounds", conflict},
		{
			"rates-low", "goal 1 %, guardrail .3 %, absolute, within 10 %; 5 arms, 50,000 units, 150 rounds",
			absolute(5, 50_000, 150, 0.01, 0.003, 0.1),
		},
		{
			"rates-mid", "goal 3 %, guardrail 1 %, absolute, within 5 %; 5 arms, 50,000 units, 100 rounds",
			absolute(5, 50_000, 100, 0.03, 0.01, 0.05),
		},
		{
			"rates-high", "goal 5 %, guardrail 3 %, absolute, within 5 %; 6 arms, 20,000 units, 150 rounds",
			absolute(6, 20_000, 150, 0.05, 0.03, 0.05),
		},
		{"daily30", "30 rounds of 50,000 units; goal 5 %, guardrail 2 % within 5 %; 6 arms", daily30},
		{"daily30-abs", "the same with an absolute limit", absolute(6, 50_000, 30, 0.05, 0.02, 0.05)},
		{"revenue-open", "goal 5 %, guardrail on revenue without a range or a cap, within 10 %; 5 arms, " +
			"20,000 units, 150 rounds", revenueOpen},
		{
			"noisyarm", "latency 200 ± 150 within 5 %, one arm ± 450, goal 5 %; 5 arms, 5,000 units, 150 rounds",
			noisyArm,
		},
		{"delay3", "observations come 3 rounds late; goal 5 %, guardrail 2 % within 5 %; 6 arms, 20,000 units, 100 " +
			"rounds", delay3},
		{"weekend", "arm 2, which makes up for the purchases that the best arm loses, is away on two days of " +
			"seven; goal 5 %, guardrail 2 % within 5 %; 5 arms, 20,000 units, 140 rounds", weekend},
		{"stock", "these two arms are out of stock now and then, for four rounds in the mean, once in " +
			"twenty; 5 arms, 20,000 units, 150 rounds", stock},
		{"eligible", "30 % of the units may get arms 1 and 3 only, 20 % arms 2 and 4, beside the control; the arms " +
			"are those of weekend; 5 arms, 20,000 units, 150 rounds", eligible},
		{"single", "one arm is the best alone, the others break the guardrail; goal 5 %, guardrail 2 % within 5 %; 6 " +
			"arms, 20,000 units, 150 rounds", single},
	}
}

// most is the best arm but the control, at least 1.
func (d *draft) most(margin float64) int { return max(d.best(margin), 1) }

func decayGuard(r *random.Source) (*World, error) {
	d := usual(r, 5, 20_000, 300, 0.05, 0.02, 0.05)
	k := d.most(0.05)
	return d.change(28, 0.2, 0.9, func(done float64) { d.rows[1][k] *= 1 - float64(0.15*done) })
}

func driftControl(r *random.Source) (*World, error) {
	d := usual(r, 5, 20_000, 200, 0.05, 0.02, 0.05)
	return d.change(24, 0.2, 0.8, func(done float64) { d.rows[1][0] *= 1 + float64(0.08*done) })
}

func abruptLoss(r *random.Source) (*World, error) {
	d := usual(r, 5, 20_000, 200, 0.05, 0.02, 0.05)
	k := d.most(0.05)
	return d.change(1, 0.4, 0.4, func(float64) {
		d.rows[0][k] *= 0.8
		d.rows[1][k] *= 0.85
	})
}

func slow(r *random.Source) (*World, error) {
	d := usual(r, 5, 20_000, 300, 0.05, 0.02, 0.05)
	to := usual(r, 5, 20_000, 300, 0.05, 0.02, 0.05)
	return d.change(30, 0.05, 1, func(done float64) {
		for m := range d.rows {
			for k := range d.rows[m] {
				d.rows[m][k] += float64(done * (to.rows[m][k] - d.rows[m][k]))
			}
		}
	})
}

func novelty(r *random.Source) (*World, error) {
	d := usual(r, 5, 20_000, 150, 0.05, 0.02, 0.05)
	plain := append([]float64(nil), d.rows[0]...)
	for k := 1; k < d.arms; k++ {
		d.rows[0][k] += float64(0.2 * d.rows[0][0])
	}
	return d.change(15, 0.05, 0.8, func(done float64) {
		for k := 1; k < d.arms; k++ {
			d.rows[0][k] = plain[k] + float64(0.2*plain[0])*portable.Pow(0.5, float64(8*done))
		}
	})
}

func weekday(r *random.Source) (*World, error) {
	w, err := usual(r, 5, 20_000, 140, 0.05, 0.02, 0.05).world()
	if err != nil {
		return nil, err
	}
	const days = 7
	factors := make([][]float64, days)
	for i := range factors {
		factors[i] = make([]float64, 5)
	}
	for k := range 5 {
		sum := 0.0
		for i := range factors {
			factors[i][k] = 1 + float64(0.08*stat.Normal(r))
			sum += factors[i][k] / days
		}
		for i := range factors {
			factors[i][k] /= sum
		}
	}
	for t := range w.Units {
		w.Tilts = append(w.Tilts, factors[t%days])
	}
	return w, nil
}

func outage(r *random.Source) (*World, error) {
	w, err := usual(r, 5, 20_000, 150, 0.05, 0.02, 0.05).world()
	if err != nil {
		return nil, err
	}
	at, arm := 30+int(90*r.Float64()), 1+int(4*r.Float64())
	for t := range w.Units {
		f := []float64{1, 1, 1, 1, 1}
		if t >= at && t < at+5 {
			f[arm] = 0
		}
		w.Tilts = append(w.Tilts, f)
	}
	return w, nil
}

// bound makes the last metric an absolute limit, margin below the control's mean.
func (d *draft) bound(margin float64) {
	i := len(d.metrics) - 1
	d.metrics[i].Relative = false
	d.metrics[i].Threshold = float64(d.rows[i][0] * (1 - margin))
}

func absolute(arms, units, rounds int, goal, guardrail, margin float64) func(*random.Source) (*World, error) {
	return func(r *random.Source) (*World, error) {
		d := usual(r, arms, units, rounds, goal, guardrail, margin)
		d.bound(margin)
		return d.world()
	}
}

func shock(r *random.Source) (*World, error) {
	d := usual(r, 5, 20_000, 200, 0.05, 0.02, 0.05)
	d.bound(0.05)
	d.scaleLevels(d.shocks(0.25))
	return d.world()
}

func returning(r *random.Source) (*World, error) {
	w, err := usual(r, 5, 20_000, 150, 0.05, 0.02, 0.05).world()
	if err != nil {
		return nil, err
	}
	w.Repeats = 4
	return w, nil
}

func manyArms(arms int) func(*random.Source) (*World, error) {
	return func(r *random.Source) (*World, error) {
		if arms > 100 {
			return usual(r, arms, 100_000, 100, 0.05, 0.03, 0.05).world()
		}
		return usual(r, arms, 50_000, 150, 0.05, 0.03, 0.05).world()
	}
}

func latePurchases(r *random.Source) (*World, error) {
	w, err := usual(r, 5, 20_000, 90, 0.05, 0.02, 0.05).world()
	if err != nil {
		return nil, err
	}
	w.Delay, w.Late = 14, []int{0, 14}
	return w, nil
}

func lateGoal(r *random.Source) (*World, error) {
	w, err := usual(r, 5, 20_000, 90, 0.02, 0.05, 0.05).world()
	if err != nil {
		return nil, err
	}
	w.Delay, w.Late = 10, []int{10, 0}
	return w, nil
}

func joining(r *random.Source) (*World, error) {
	w, err := usual(r, 6, 20_000, 200, 0.05, 0.02, 0.05).world()
	if err != nil {
		return nil, err
	}
	joins := []int{0, 0, 0, 50, 50, 100}
	w.Away = func(t, k int) bool { return t < joins[k] }
	return w, nil
}

// scarce drafts a world in which arms 1 and 2 are best together: arm 1 has the best goal and breaks
// the guardrail, and arm 2 makes up for it.
func scarce(r *random.Source, rounds int) *draft {
	d := newDraft(r, 5, 20_000, rounds)
	goals, guards := d.normals(0.03, 0.1), d.normals(-0.02, 0.05)
	goals[1], guards[1] = 0.3+float64(0.1*r.Float64()), -0.15-float64(0.1*r.Float64())
	goals[2], guards[2] = 0.05-float64(0.1*r.Float64()), 0.1+float64(0.1*r.Float64())
	d.goal("clicks", 0.05, goals)
	d.guard("purchases", 0.02, 0.05, guards)
	return d
}

// weekend has an arm that is served from Monday to Friday.
func weekend(r *random.Source) (*World, error) {
	w, err := scarce(r, 140).world()
	if err != nil {
		return nil, err
	}
	w.Away = func(t, k int) bool { return k == 2 && t%7 >= 5 }
	return w, nil
}

// stock has arms that run out of stock and are ordered again.
func stock(r *random.Source) (*World, error) {
	w, err := scarce(r, 150).world()
	if err != nil {
		return nil, err
	}
	away := make([][]bool, 3)
	for k := 1; k < len(away); k++ {
		for out := false; len(away[k]) < w.Rounds(); {
			chance := 0.05
			if out {
				chance = 0.25
			}
			if r.Float64() < chance {
				out = !out
			}
			away[k] = append(away[k], out)
		}
	}
	w.Away = func(t, k int) bool { return k < len(away) && away[k] != nil && away[k][t] }
	return w, nil
}

// eligible has units that may get some of the arms only.
func eligible(r *random.Source) (*World, error) {
	w, err := scarce(r, 150).world()
	if err != nil {
		return nil, err
	}
	w.Segments = []Segment{
		{0.5, []bool{true, true, true, true, true}},
		{0.3, []bool{true, true, false, true, false}},
		{0.2, []bool{true, false, true, false, true}},
	}
	return w, nil
}

func giants(r *random.Source) (*World, error) {
	d := newDraft(r, 5, 20_000, 150)
	buyers := d.normals(0, 0.06)
	d.guard("buyers", 0.02, 0.05, buyers)
	amounts := d.normals(0.03, 0.1)
	for k, g := range amounts {
		amounts[k] = float64((1+g)*(1+buyers[k])) - 1
	}
	d.add(pasto.Metric{Name: "spent"}, Outcome{Kind: Revenue, Of: 0, Sigma: 0.5}, 0, 1, amounts)
	w, err := d.world()
	if err != nil {
		return nil, err
	}
	for t := 5; t < len(w.Units); t += 10 {
		w.Giants = append(w.Giants, Giant{Round: t, Arm: int(5 * r.Float64()), Metric: 1, Value: 1e6})
	}
	return w, nil
}

func conflict(r *random.Source) (*World, error) {
	d := newDraft(r, 8, 20_000, 200)
	d.goal("clicks", 0.05, d.normals(0.05, 0.1))
	lifts := d.normals(0, 0.08)
	d.guard("purchases", 0.03, 0.03, lifts)
	d.guard("subscriptions", 0.03, 0.03, d.against(lifts, -1, 0.02))
	return d.world()
}

func daily30(r *random.Source) (*World, error) {
	return usual(r, 6, 50_000, 30, 0.05, 0.02, 0.05).world()
}

func revenueOpen(r *random.Source) (*World, error) {
	d := newDraft(r, 5, 20_000, 150)
	lifts := d.normals(0.03, 0.1)
	d.goal("clicks", 0.05, lifts)
	d.add(pasto.Metric{Name: "buyers", Role: pasto.Report}, Outcome{}, 0, 0.02, d.against(lifts, -0.4, 0.08))
	d.add(pasto.Metric{Name: "revenue", Role: pasto.Guardrail, Hard: true, Relative: true, Threshold: -0.1},
		Outcome{Kind: Revenue, Of: 1, Sigma: 1.2}, 0.1, 1, make([]float64, d.arms))
	for k := range d.rows[2] {
		d.rows[2][k] = d.rows[1][k] / d.rows[1][0]
	}
	return d.world()
}

func noisyArm(r *random.Source) (*World, error) {
	d := newDraft(r, 5, 5_000, 150)
	lifts := d.normals(0.03, 0.1)
	d.goal("clicks", 0.05, lifts)
	d.limit("latency", Outcome{Kind: Normal, Deviation: 150}, 200, 0.05, d.against(lifts, 0.4, 0.05))
	w, err := d.world()
	if err != nil {
		return nil, err
	}
	w.Noise = [][]float64{nil, {1, 1, 1, 1, 1}}
	w.Noise[1][1+int(4*r.Float64())] = 3
	return w, nil
}

func delay3(r *random.Source) (*World, error) {
	w, err := usual(r, 6, 20_000, 100, 0.05, 0.02, 0.05).world()
	if err != nil {
		return nil, err
	}
	w.Delay = 3
	return w, nil
}

func single(r *random.Source) (*World, error) {
	d := newDraft(r, 6, 20_000, 150)
	goals, guards := d.normals(0.05, 0.1), d.uniforms(-0.3, -0.1)
	goals[3], guards[3] = 0.25, 0.02
	d.goal("clicks", 0.05, goals)
	d.guard("purchases", 0.02, 0.05, guards)
	return d.world()
}
