package bandit

import "testing"

// The tuning and the bound for losses of one sign and of both, where the bias is 2αLT.
func TestExploringBound(t *testing.T) {
	for _, c := range []struct {
		signed               bool
		rate, explore, bound float64
	}{
		{false, 0.001019734527, 0.2258024056, 6774.072167},
		{true, 0.0008093638306, 0.1422466019, 8534.796117},
	} {
		o := ExploringTuning(10, 10000, 1, c.signed)
		near(t, "rate", o.Rate, c.rate)
		near(t, "explore", o.Explore, c.explore)
		near(t, "bound", ExploringBound(10, 10000, o), c.bound)
		scaled := ExploringTuning(10, 10000, 4, c.signed)
		near(t, "scaled explore", scaled.Explore, c.explore)
		near(t, "scaled bound", ExploringBound(10, 10000, scaled), 4*c.bound)
	}
	if o := ExploringTuning(1000, 10, 1, false); o.Explore != 1 {
		t.Errorf("exploration %v", o.Explore)
	}
	if got := ExploringBound(1, 100, ExploringTuning(1, 100, 1, true)); got != 0 {
		t.Errorf("bound of one arm: %v", got)
	}
}

// The bound of signed losses with the bias αLT, which the book prints, is violated: ten arms,
// uniform draws, one arm that always gains 1 while the others lose 1.
func TestErratumExploringBias(t *testing.T) {
	const arms, rounds = 10, 100000
	tuned := ExploringTuning(arms, rounds, 1, true)
	o := ExploringWeights{Rate: tuned.Rate, Explore: 1, Limit: 1, Signed: true}
	regret := 2. * (arms - 1) / arms * rounds
	right := ExploringBound(arms, rounds, o)
	if printed := right - rounds; regret > right || regret < printed {
		t.Errorf("regret %v, bound %v, as printed %v", regret, right, printed)
	}
}
