package play

import (
	"testing"

	"github.com/noregret/noregret/bandit"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
)

// TestCatalogueWithMasks: every bandit algorithm of the catalogue, with the options that it has by
// itself, gives the worst arm less than 2/K of the rounds in which it is allowed, in random worlds
// of masks and lost losses, in which these may depend on the arm and its loss. The short form has
// the worlds in which all players on estimates fail where a loss that is not seen counts as zero.
func TestCatalogueWithMasks(t *testing.T) {
	rounds, first, worlds := testsize.Of(6000, 5000), testsize.Of(0, 4), testsize.Of(8, 3)
	for _, e := range banditLearners() {
		for seed := first; seed < first+worlds; seed++ {
			r := random.New(uint64(seed), "catalogue")
			const d = 4
			// Allowed with a probability by arm and loss, and lost by arm.
			var allow [d][2]float64
			var lost [d]float64
			for k := range d {
				allow[k] = [2]float64{.4 + .6*r.Float64(), .4 + .6*r.Float64()}
				lost[k] = .3 * r.Float64()
			}
			allow[d-1] = [2]float64{.2 + .4*r.Float64(), .2 + .4*r.Float64()}
			lost[d-1] *= 2
			c, err := e.prepare(BanditProblem{
				Arms: d, Rounds: rounds, Limit: 1, Binary: true, Independent: true, Deviation: .5,
				Gaps: []float64{0, .1, .1, .4},
			}, nil)
			if err != nil {
				continue // explore-then-commit needs two arms
			}
			p, err := c.New()
			if err != nil {
				t.Fatal(err)
			}
			x, err := bandit.NewDelayed(p.(*bandit.Player), bandit.DelayedOptions{Window: 50})
			if err != nil {
				t.Fatal(err)
			}
			worst, awake := 0.0, 0.0
			for range rounds {
				var loss [d]float64
				allowed, some := make([]bool, d), false
				for k, mean := range []float64{.5, .6, .6, .9} {
					if r.Float64() < mean {
						loss[k] = 1
					}
					allowed[k] = r.Float64() < allow[k][int(loss[k])]
					some = some || allowed[k]
				}
				if !some {
					continue
				}
				choice, err := x.Choose(r, allowed)
				if err != nil {
					t.Fatal(err)
				}
				if allowed[d-1] {
					awake++
					if choice.Arm == d-1 {
						worst++
					}
				}
				if r.Float64() >= lost[choice.Arm] {
					if err := x.Learn(choice.ID, loss[choice.Arm]); err != nil {
						t.Fatal(err)
					}
				}
			}
			if share := worst / awake; !(share < 2.0/d) {
				t.Errorf("%s, world %d: the worst arm has %.3f of the rounds in which it is allowed", e.Name, seed,
					share)
			}
		}
	}
}
