package play

import (
	"context"
	"math"
	"testing"

	"github.com/noregret/noregret/regret"
)

// TestSummarize checks every number against sums by hand.
func TestSummarize(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	of := func(learner string, seed uint64, loss, best, bound, floor float64) Result {
		return Result{Learner: learner, Game: "g", Seed: seed, Floor: floor, Certificate: &regret.Certificate{
			Rounds: 7, LearnerLoss: loss, ComparatorLoss: best, Regret: loss - best, Bound: bound,
			SharpBound: bound - floor,
		}}
	}
	all := Summarize([]Result{
		of("a", 5, 3, 1, 4, 1), of("b", 5, 1, 0, inf, nan),
		of("a", 6, 5, 1, 5, 2), of("b", 6, 2, 0, inf, nan),
		of("a", 7, 10, 1, 6, 3), of("b", 7, 3, 0, inf, nan),
	})
	if len(all) != 2 {
		t.Fatalf("%d summaries", len(all))
	}
	a, b := all[0], all[1]
	if a.Learner != "a" || a.Game != "g" || a.Rounds != 7 || a.Runs != 3 || a.Seed != 5 || b.Learner != "b" {
		t.Errorf("%+v, %+v", a, b)
	}
	for what, c := range map[string][2]float64{
		"a's loss":        {a.Loss.Mean, 6},
		"its error":       {a.Loss.StandardError, math.Sqrt((9 + 1 + 16) / 2. / 3)},
		"a's regret":      {a.Regret.Mean, 5},
		"a's bound":       {a.Bound.Mean, 5},
		"a's sharp bound": {a.SharpBound.Mean, 3},
		"a's ratio":       {a.WorstRatio, 1.5},
		"a's floor":       {a.Floor, 2},
		"a's worst seed":  {float64(a.WorstSeed), 7},
		"a's excess":      {float64(a.Exceeded), 1},
		"b's regret":      {b.Regret.Mean, 2},
		"b's error":       {b.Regret.StandardError, 1 / math.Sqrt(3)},
		"b's excess":      {float64(b.Exceeded), 0},
	} {
		if math.Abs(c[0]-c[1]) > 1e-15*c[1] {
			t.Errorf("%s is %v, want %v", what, c[0], c[1])
		}
	}
	if !math.IsInf(b.Bound.Mean, 1) || !math.IsNaN(b.Bound.StandardError) || !math.IsNaN(b.WorstRatio) ||
		!math.IsNaN(b.SharpBound.Mean) || !math.IsNaN(b.Floor) {
		t.Errorf("b has no bound and no floor: %+v", b)
	}
	if one := Summarize([]Result{of("a", 5, 3, 1, 4, 1)}); !math.IsNaN(one[0].Loss.StandardError) {
		t.Errorf("one run has the standard error %v", one[0].Loss.StandardError)
	}
}

// TestSweepIsItsSpecs: a sweep plays what its specs play one by one.
func TestSweepIsItsSpecs(t *testing.T) {
	o := Options{Learners: []string{"ogd-fixed:eta=0.1..0.4:3"}, Game: "linear-ball", Rounds: 50, Seed: 2, Runs: 2}
	sweep, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	o.Learners = []string{"ogd-fixed:eta=0.1", "ogd-fixed:eta=0.2", "ogd-fixed:eta=0.4"}
	single, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(sweep) != 6 || len(single) != 6 {
		t.Fatalf("%d and %d results", len(sweep), len(single))
	}
	for i := range sweep {
		if sweep[i].Learner != single[i].Learner || sweep[i].Regret != single[i].Regret {
			t.Errorf("result %d: %v with regret %v, want %v with %v", i, sweep[i].Learner, sweep[i].Regret,
				single[i].Learner, single[i].Regret)
		}
	}
}

// TestDynamicSummary: the means of the dynamics are those of the runs.
func TestDynamicSummary(t *testing.T) {
	o := Options{
		Learners: []string{"ogd-fixed:eta=0.1"}, Game: "gradient-trap", Rounds: 300, Seed: 4, Runs: 3,
		Dynamic: &regret.DynamicOptions{Lengths: []int{10}},
	}
	results, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	var mean, interval, hull float64
	for _, r := range results {
		mean += r.Dynamic.Regret / 3
		interval += r.Dynamic.Worst().Regret / 3
		hull += r.Dynamic.Variation.Hull / 3
	}
	s := Summarize(results)[0].Dynamic
	for _, v := range [][2]float64{
		{s.Regret.Mean, mean}, {s.Interval.Mean, interval}, {s.Hull.Mean, hull}, {s.Floor, results[0].DynamicFloor},
	} {
		if math.Abs(v[0]-v[1]) > 1e-12*math.Abs(v[1]) || v[1] == 0 {
			t.Errorf("%v, want %v", v[0], v[1])
		}
	}
	o.Dynamic = nil
	if results, err = Run(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	if results[0].Dynamic != nil || Summarize(results)[0].Dynamic != nil {
		t.Error("dynamics that nobody asked for")
	}
}

// TestNoisyHolds: of a game with noise the mean over runs says whether the bound of the expected
// regret holds, and one run says nothing.
func TestNoisyHolds(t *testing.T) {
	of := func(regrets ...float64) *Summary {
		var runs []Result
		for i, v := range regrets {
			runs = append(runs, Result{Learner: "a", Game: "g", Seed: uint64(i), Certificate: &regret.Certificate{
				Rounds: 7, LearnerLoss: v, Regret: v, Bound: 10, Noisy: true,
			}})
		}
		return &Summarize(runs)[0]
	}
	for _, c := range []struct {
		s            *Summary
		holds, known bool
	}{
		{of(23.8), false, false},
		{of(23.8, 1, 2, 3), true, true},
		{of(23.8, 23.7, 23.9, 23.8), false, true},
		{of(10, 10), true, true},
	} {
		if holds, known := c.s.Holds(); holds != c.holds || known != c.known || !c.s.Noisy {
			t.Errorf("%v: %v, %v, want %v, %v", c.s.Excess, holds, known, c.holds, c.known)
		}
	}
}

// TestSkipped: a learner that cannot play the game is skipped with the reason, and the others play.
// Unknown names and bad options are errors, and so is a game that nobody can play.
func TestSkipped(t *testing.T) {
	reasons := map[string]error{}
	skip := func(learner string, reason error) { reasons[learner] = reason }
	o := Options{Game: "linear-ball", Rounds: 5, Seed: 1, Runs: 2, Skipped: skip}
	o.Learners = []string{"adagrad", "ogd-adaptive", "eg"}
	results, err := Run(context.Background(), o)
	if err != nil || len(results) != 2 || results[0].Learner != "ogd-adaptive" || len(reasons) != 2 ||
		reasons["adagrad"] == nil || reasons["eg"] == nil {
		t.Errorf("%d results, %v, skipped %v", len(results), err, reasons)
	}
	clear(reasons)
	for _, learners := range [][]string{
		{"adagrad"},
		{"ogd-adaptve", "ogd-adaptive"},
		{"ogd-fixed:eta=-1", "ogd-adaptive"},
		{"ogd-fixed:eto=1", "ogd-adaptive"},
	} {
		o.Learners = learners
		if _, err := Run(context.Background(), o); err == nil || len(reasons) > 0 {
			t.Errorf("%v: %v, skipped %v", learners, err, reasons)
		}
	}
	o.Learners, o.Skipped = []string{"adagrad", "ogd-adaptive"}, nil
	if _, err := Run(context.Background(), o); err == nil {
		t.Error("a learner is skipped, and nobody is told")
	}
	b := BanditOptions{
		Learners: []string{"exp3", "ucb"}, Game: "gaussian", Rounds: 5, Runs: 1, Skipped: skip,
	}
	played, err := RunBandits(context.Background(), b)
	if err != nil || len(played) != 1 || played[0].Learner != "ucb" || reasons["exp3"] == nil {
		t.Errorf("%d results, %v, skipped %v", len(played), err, reasons)
	}
	clear(reasons)
	b.Learners, b.Game = []string{"ucb", "exp3:rate=-1"}, "bernoulli"
	if _, err := RunBandits(context.Background(), b); err == nil || len(reasons) > 0 {
		t.Errorf("a bad option: %v, skipped %v", err, reasons)
	}
}
