package experts_test

import (
	"math"
	"testing"

	"github.com/noregret/noregret/drift"
	"github.com/noregret/noregret/forget"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/oco"
)

const (
	shareExperts = 10
	shareRounds  = 4000
)

// shareLearners are Hedge, restarted Hedge and fixed share, tuned for a number of changes of the
// best expert.
func shareLearners(t *testing.T, changes int) map[string]oco.Learner {
	t.Helper()
	hedge := func(rounds int) oco.Learner {
		eta := math.Sqrt(8 * math.Log(shareExperts) / float64(rounds))
		return must(oco.NewExponentiatedGradient(shareExperts, nil, eta))
	}
	restarted := func(interval int) oco.Learner {
		return must(drift.NewRestarted(drift.RestartedOptions{
			Make:    func([]float64) (oco.Learner, error) { return hedge(interval), nil },
			Trigger: must(forget.Every(interval)),
		}))
	}
	// A change moves two experts' mean losses by 0.4: that is its variation.
	budget := must(drift.NewBudget(shareRounds, .4*float64(changes)))
	return map[string]oco.Learner{
		"hedge":       hedge(shareRounds),
		"restarted":   restarted(budget.BatchSize(drift.ConvexGradient)),
		"fixed share": must(oco.NewFixedShareTuned(shareExperts, shareRounds, changes, 1)),
	}
}

// shareRegret plays a learner on losses of 0 and 1, of mean 0.6, and 0.2 for the best expert, which
// changes at even intervals. It returns the expected regret against the best expert of each round.
func shareRegret(t *testing.T, l oco.Learner, changes int, seed uint64) float64 {
	t.Helper()
	r, g, best, regret := random.New(seed, "fixed share"), make([]float64, shareExperts), 0, 0.0
	for round := range shareRounds {
		if changes > 0 && round > 0 && round%(shareRounds/(changes+1)) == 0 {
			best = (best + 1 + int(float64(shareExperts-1)*r.Float64())) % shareExperts
		}
		regret += .4 * (1 - l.Predict()[best])
		for i := range g {
			g[i] = 0
			if u := r.Float64(); i == best && u < .2 || i != best && u < .6 {
				g[i] = 1
			}
		}
		if err := l.Update(g); err != nil {
			t.Fatal(err)
		}
	}
	return regret
}

// TestFixedShareAndRestarts compares fixed share with restarts, both tuned for the number of
// changes, and with neither. lab/docs/experiment-drift.md has the table, which -v prints. Where the
// best expert changes both are far better than Hedge, and fixed share is better than restarts, as
// it forgets gradually: a restart costs the learner the same whether or not there has been a
// change.
func TestFixedShareAndRestarts(t *testing.T) {
	runs := testsize.Of(100, 10)
	for _, changes := range []int{0, 1, 5, 20, 80} {
		means, errors := map[string]float64{}, map[string]float64{}
		for _, name := range []string{"hedge", "restarted", "fixed share"} {
			sum, squares := 0.0, 0.0
			for seed := range uint64(runs) {
				v := shareRegret(t, shareLearners(t, changes)[name], changes, seed)
				sum += v
				squares += v * v
			}
			mean := sum / float64(runs)
			means[name] = mean
			errors[name] = math.Sqrt(max(squares/float64(runs)-mean*mean, 0) / float64(runs-1))
		}
		t.Logf("| %d | %.1f ± %.1f | %.1f ± %.1f | %.1f ± %.1f |", changes, means["hedge"], errors["hedge"],
			means["restarted"], errors["restarted"], means["fixed share"], errors["fixed share"])
		off := 3 * (errors["restarted"] + errors["fixed share"])
		switch {
		case changes == 0 && means["fixed share"] > means["hedge"]+off+1:
			t.Errorf("without a change fixed share costs %v, Hedge %v", means["fixed share"], means["hedge"])
		case changes >= 5 && !(means["restarted"] < .7*means["hedge"]):
			t.Errorf("%d changes: restarts cost %v, Hedge %v", changes, means["restarted"], means["hedge"])
		case changes >= 5 && !(means["fixed share"] < means["restarted"]+off):
			t.Errorf("%d changes: fixed share costs %v, restarts %v", changes, means["fixed share"], means["restarted"])
		}
	}
}
