package world

import (
	"slices"

	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/pasto"
)

// DriftFamilies lists families of worlds whose means change while the experiment runs. They are
// apart from [Families], whose learners do not forget.
//
// All have 5 arms with the control, 50,000 units and 300 rounds, a goal whose rate is drawn from
// 0.3 to 5 % (its logarithm is uniform), and a guardrail, hard and relative to the control, within
// 5 %, whose rate is drawn likewise. The arms' lifts are (0.4, −0.02), (0.1, 0.02), (−0.1, 0) and
// (−0.2, −0.15) for goal and guardrail, each with N(0, 0.02) beside it. What changes is that the
// first and the last of these arms exchange their means, so that the best arm becomes the worst one
// and breaks the guardrail.
func DriftFamilies() []Family {
	return []Family{
		{"rates-abrupt", "the best arm and the worst exchange their means at .4 of the run", exchanging(abrupt)},
		{"rates-gradual", "they do so in twenty steps from .25 to .75 of the run", exchanging(gradual)},
		{"rates-seasonal", "they do so to and fro, in waves of 100 rounds", exchanging(seasonal)},
		{"rates-reversal", "they do so at .25, .5 and .75 of the run", exchanging(reversal)},
	}
}

// exchange says how much of the exchange is done from a round on.
type exchange struct {
	from  int
	share float64
}

func abrupt(rounds int) []exchange { return []exchange{{rounds * 2 / 5, 1}} }

func gradual(rounds int) []exchange {
	var list []exchange
	for i := 1; i <= 20; i++ {
		list = append(list, exchange{rounds/4 + (i-1)*rounds/40, float64(i) / 20})
	}
	return list
}

func seasonal(rounds int) []exchange {
	const period, step = 100, 5
	var list []exchange
	for t := step; t < rounds; t += step {
		c, _ := portable.Turn(float64(t%period) / period)
		list = append(list, exchange{t, float64((1 - c) / 2)})
	}
	return list
}

func reversal(rounds int) []exchange {
	return []exchange{{rounds / 4, 1}, {rounds / 2, 0}, {rounds * 3 / 4, 1}}
}

// exchanging draws worlds in which arms 1 and 4 exchange their means.
func exchanging(when func(rounds int) []exchange) func(r *random.Source) (*World, error) {
	return func(r *random.Source) (*World, error) {
		const rounds = 300
		d := newDraft(r, 5, 50_000, rounds)
		lifts := func(v ...float64) []float64 {
			for k := 1; k < len(v); k++ {
				v[k] += float64(0.02 * stat.Normal(r))
			}
			return v
		}
		d.goal("clicks", rate(r), lifts(0, 0.4, 0.1, -0.1, -0.2))
		d.guard("purchases", rate(r), 0.05, lifts(0, -0.02, 0.02, 0, -0.15))
		w, err := d.world()
		if err != nil {
			return nil, err
		}
		first := d.rows
		for _, x := range when(rounds) {
			d.rows = make([][]float64, len(first))
			for m, row := range first {
				d.rows[m] = slices.Clone(row)
				moved := float64(x.share * (row[4] - row[1]))
				d.rows[m][1] += moved
				d.rows[m][4] -= moved
			}
			means, err := pasto.TableOf(d.rows...)
			if err != nil {
				return nil, err
			}
			w.Phases = append(w.Phases, Phase{From: x.from, Means: means})
		}
		return w, nil
	}
}

// rate draws a rate from 0.3 to 5 %, whose logarithm is uniform.
func rate(r *random.Source) float64 {
	low, high := portable.Log(0.003), portable.Log(0.05)
	return portable.Exp(low + float64((high-low)*r.Float64()))
}
