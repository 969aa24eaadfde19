package world

import (
	"fmt"
	"slices"

	"github.com/noregret/noregret/internal/named"
	"github.com/noregret/noregret/internal/random"
)

// Family is a distribution of worlds.
type Family struct {
	Name string
	// About says what the worlds are, with the distributions of their means.
	About string
	// Draw draws a world.
	Draw func(r *random.Source) (*World, error)
}

// Source returns the randomness of the world of a run.
func (f *Family) Source(seed uint64, run int) *random.Source {
	return random.New(seed, fmt.Sprintf("arena: %s, run %d", f.Name, run))
}

// Families lists the families of worlds.
//
// Rates of arms are given as the control's rate and lifts, relative to it: N(m, s) is normal with
// mean m and standard deviation s. A lift is at least −0.9. Where a family says nothing else the
// goal is a click rate with lifts N(0.03, 0.1), and the guardrail, hard and relative to the
// control, a purchase rate with lifts −0.4·g + N(0, 0.05) for the goal's lift g.
func Families() []Family {
	return []Family{
		{"rare", "goal .3 %, guardrail 1 % within 5 %; 5 arms, 100,000 units, 100 rounds", rare},
		{"few-units", "goal 5 %, guardrail 1 % within 10 %; 4 arms, 1,000 units, 1,000 rounds", fewUnits},
		{"rate-2", "goal 5 %, guardrail 2 % within 5 %; 8 arms, 20,000 units, 200 rounds", rateTwo},
		{"rate-5", "goal 10 %, guardrail 5 % within 2 %; 10 arms, 100,000 units, 100 rounds", rateFive},
		{
			"several", "goals 5 % and 2 %, guardrails 3 % within 3 %, 2 % within 5 %, and errors, absolute, " +
				".5 % within 10 %; 10 arms, 20,000 units, 200 rounds", several,
		},
		{
			"revenue", "the goal is revenue, 2 % buyers × lognormal with σ = 1.8, the buyers' lift times N(1, 0.1); " +
				"guardrail on buyers within 5 %; 5 arms, 20,000 units, 200 rounds", revenue,
		},
		{
			"revenue-guard", "goal 5 %, guardrail on revenue as before, capped at 20 mean amounts, within 10 %; " +
				"5 arms, 20,000 units, 200 rounds", revenueGuard,
		},
		{
			"week", "a week of seven rounds, ±40 %, with shocks of 5 % a round; goal 5 %, guardrail 2 % within 5 %; " +
				"6 arms, 20,000 units, 140 rounds", week,
		},
		{
			"day", "hours of a day, levels ±60 %, traffic ±80 %; goal 5 %, guardrail 2 % within 5 %; 5 arms, " +
				"5,000 units, 336 rounds", day,
		},
		{
			"growth",
			"levels from .5 to 1.5, traffic from 5,000 to 35,000 units; goal 5 %, guardrail 2 % within 5 %; " +
				"6 arms, 200 rounds", growth,
		},
		{
			"shrinkage", "levels from 1.5 to .5, traffic from 35,000 to 5,000 units; goal 5 %, guardrail 2 % within " +
				"5 %; 6 arms, 200 rounds", shrinkage,
		},
		{
			"drift",
			"the arm of the best goal that holds the guardrail loses 30 % of its goal in ten steps from .3 to " +
				".7 of the run; 5 arms, 20,000 units, 200 rounds, guardrail 2 % within 5 %", drift,
		},
		{"delay", "feedback comes 10 rounds late; 6 arms, 20,000 units, 150 rounds, guardrail 2 % within 5 %", delay},
		{
			"crash", "goal 5 %; errors at .5 %, absolute within 10 %, lifts N(−0.05, 0.1), and one arm whose goal is " +
				"30 % better has an error rate of 30 %; 5 arms, 20,000 units, 150 rounds", crash,
		},
		{
			"late-crash",
			"the arm of the best goal that holds the guardrail loses half of its purchases in the middle " +
				"of the run; 5 arms, 20,000 units, 200 rounds, guardrail 2 % within 5 %", lateCrash,
		},
		{"two-arms", "2 arms, 5,000 units, 1,000 rounds; goal 5 %, guardrail 2 % within 5 %", twoArms},
		{"twenty-arms", "20 arms, 20,000 units, 300 rounds; goal 5 %, guardrail 2 % within 5 %", twentyArms},
		{
			"latency", "goal 5 %; latency of 200 ms with deviation 150, absolute within 5 %, lifts 0.4·g + " +
				"N(0, 0.05) for the goal's lift g; 6 arms, 20,000 units, 150 rounds", latency,
		},
		{
			"infeasible", "9 of 12 arms have goals' lifts from U(.1, .4) and guardrails' from U(−.3, −.1); " +
				"20,000 units, 200 rounds, guardrail 2 % within 5 %", infeasible,
		},
		{
			"only-control", "all arms but the control have guardrails' lifts from U(−.3, −.05), and the absolute " +
				"limit is .5 % below the control; 6 arms, 20,000 units, 150 rounds", onlyControl,
		},
		{
			"mixture", "half of the arms have lifts U(.2, .4) and U(−.2, −.1), the others U(−.1, 0) and U(.1, .2); " +
				"6 arms, 20,000 units, 200 rounds, guardrail 2 % within 2 %", mixture,
		},
		{
			"soft",
			"two soft guardrails of 2 % within 5 % and 3 % within 3 %; a violation by its margin costs 20 % of " +
				"the control's goal; 8 arms, 20,000 units, 200 rounds", soft,
		},
	}
}

// All returns the families of [Families], [ServedFamilies] and [DriftFamilies].
func All() []Family { return slices.Concat(Families(), ServedFamilies(), DriftFamilies()) }

// FindFamily returns the family of that name, of [All]; the error lists the names.
func FindFamily(name string) (*Family, error) {
	return named.Find("family", name, All(), func(f *Family) string {
		return f.Name
	})
}
