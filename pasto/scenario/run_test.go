package scenario

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/testsize"
)

// With hard guardrails the reward is reported, violations are counted, and gains are over the runs
// in which a single arm satisfies the guardrails.
func TestHardRuns(t *testing.T) {
	testsize.NoRace(t)
	r := run(t, Options{Hard: true, Runs: 60, Rounds: 3000, Noise: sigma(1), Seed: 2, Checkpoints: []int{1, 3000}})
	if math.Abs(float64(r.Optimum)-1) > 1e-9 || r.BestSingle != 0 || r.Violation.Share[1] > .05 ||
		r.Objective.Mean[1] < .95 || r.Objective.Mean[1] > 1 {
		t.Errorf("%+v", r)
	}
	r = run(t, Options{
		Hard: true, Iterate: "serving", Runs: 4, Rounds: 1, Noise: sigma(1), Seed: 2,
		Threshold: sigma(1),
	})
	if r.Violation.Share[0] != 1 || r.Violation.Mean[0] != 1 { // uniform has y = 0
		t.Errorf("%+v", r.Violation)
	}
}

// Runs with guardrails that no mixture satisfies are counted with their least violation, and the
// default reports them.
func TestInfeasibleRuns(t *testing.T) {
	for _, hard := range []bool{false, true} {
		r := run(t, Options{Threshold: sigma(3), Hard: hard, Runs: 5, Rounds: 3000, Noise: sigma(1), Seed: 2})
		x := r.Infeasible
		if x.Runs != 5 || math.Abs(x.Violation-1) > 1e-9 || x.Reported != 5 || x.Sure != 5 ||
			!slices.Equal(x.Metrics, []string{"y"}) {
			t.Errorf("%+v", x)
		}
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if hard != strings.Contains(string(b), `"best_single":null,"optimum":null,`) ||
			hard != strings.Contains(string(b), `"distance":{"mean":[null`) ||
			!strings.Contains(string(b), `"ratio":[null`) {
			t.Errorf("%s", b)
		}
	}
	if x := run(t, Options{Runs: 5, Rounds: 300, Noise: sigma(1), Seed: 2}).Infeasible; x.Runs+x.Sure != 0 {
		t.Errorf("%+v", x)
	}
}

// If a mixture satisfies the guardrails in some of the runs only, each mean states the number of
// its runs, the optimum of a stationary world is the same at all rounds, and the marks are those of
// the gain over the same runs.
func TestPartlyInfeasible(t *testing.T) {
	testsize.NoRace(t)
	rounds := testsize.Of(300, 60)
	r := run(t, Options{
		Scenario: "b", Hard: true, Threshold: sigma(.9), Noise: sigma(.1), Runs: 30, Rounds: rounds,
		Seed: 1, Checkpoints: []int{30, rounds},
	})
	if n := 30 - r.Infeasible.Runs; n < 2 || n > 28 || r.Best.Runs[0] != n || r.Distance.Runs[1] != n ||
		r.Single.Runs[1] > n {
		t.Fatalf("%d runs are infeasible, best in %v, distance in %v, single in %v", r.Infeasible.Runs, r.Best.Runs,
			r.Distance.Runs, r.Single.Runs)
	}
	if r.Best.Mean[0] != r.Best.Mean[1] || float64(r.Optimum) != r.Best.Mean[1] {
		t.Errorf("the optimum is %v at one round and %v at another", r.Best.Mean[0], r.Best.Mean[1])
	}
	// Two runs: in the second no single arm satisfies the guardrails, so its value is excluded from
	// the comparison.
	nan := math.NaN()
	out := []outcome{
		{
			deployed: []Score{{Value: 2}}, served: []Score{{Value: 2}}, single: []float64{1}, best: []float64{3},
		},
		{
			deployed: []Score{{Value: -9}}, served: []Score{{Value: 2}}, single: []float64{nan}, best: []float64{4},
		},
	}
	o := &Options{Noise: sigma(1), Runs: 2, Rounds: 1, Checkpoints: []int{1}, Hard: true}
	if r := summarize(o, out); r.Crossing.Single != 1 || r.Gain.Ratio[0] != .5 || r.Single.Runs[0] != 1 ||
		r.Best.Runs[0] != 2 || r.Best.Mean[0] != 3.5 {
		t.Errorf("%+v", r)
	}
	out[0].deployed[0].Broken = true
	if r := summarize(o, out); r.Crossing.Single != 0 {
		t.Errorf("half of the runs break a hard guardrail, but the mark is at %d", r.Crossing.Single)
	}
}

// Numbers whose squares overflow are written too, and an empty list of checkpoints means the
// default ones.
func TestLargeNumbers(t *testing.T) {
	text :=
		`{"metrics": [{"name": "x"}, {"name": "y", "role": "guardrail"}], "arms": [{"name": "a", "means": [1, 1e90]},` +
			` {"name": "b", "means": [2, -1e90]}], "noise": 1, "rounds": 10, "runs": 3}`
	r := run(t, Options{Scenario: write(t, text), Seed: 1, Checkpoints: []int{}})
	b, err := json.Marshal(r)
	if err != nil || !strings.Contains(string(b), `"sd":[`) {
		t.Errorf("%s, %v", b, err)
	}
	if !slices.Equal(r.At, []int{1, 2, 5, 10}) || !(r.Objective.SD[0] >= 0) || math.IsInf(r.Objective.SD[0], 1) {
		t.Errorf("at %v: %v", r.At, r.Objective.SD)
	}
	c := Curve{}
	c.add([]outcome{{single: []float64{-1e180}}, {single: []float64{1e180}}}, func(x *outcome) float64 {
		return x.single[0]
	})
	if math.Abs(c.SD[0]-math.Sqrt2*1e180) > 1e166 {
		t.Errorf("the standard deviation is %v", c.SD[0])
	}
	if _, err := Run(t.Context(), own(t, Options{Threshold: sigma(1e160)})); noregret.CodeOf(err) != noregret.Usage {
		t.Error(err)
	}
}

// Checkpoints are spread as requested, and a mark is the first checkpoint from which the condition
// holds to the end.
func TestSpread(t *testing.T) {
	if got := spread(100, 0); !slices.Equal(got, []int{1, 2, 5, 10, 20, 50, 100}) {
		t.Error(got)
	}
	if got := spread(150, 4); !slices.Equal(got, []int{1, 2, 3, 6, 10, 18, 32, 56, 100, 150}) {
		t.Error(got)
	}
	if got := even(100, 1); !slices.Equal(got, []int{25, 50, 75, 100}) || len(even(20_000, 0)) != 20 ||
		!slices.Equal(even(3, 1), []int{1, 2, 3}) {
		t.Error(got)
	}
	at := []int{1, 2, 3, 4}
	if lasting(at, func(i int) bool {
		return i != 1
	}) != 3 || lasting(at, func(i int) bool { return i < 3 }) != 0 || lasting(at, func(int) bool { return true }) != 1 {
		t.Error("marks")
	}
}

// The bytes are the same for any number of workers, and differ for another seed.
func TestWorkers(t *testing.T) {
	for _, name := range []string{"a", "b", "a-drift"} {
		text := func(workers int, seed uint64) string {
			done := 0
			r := run(t, Options{
				Scenario: name, Runs: 7, Rounds: testsize.Of(300, 60), Workers: workers, Seed: seed,
				Progress: func(d, n int) {
					if done++; d != done || n != 7 {
						t.Errorf("progress %d of %d", d, n)
					}
				},
			})
			b, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		}
		one := text(1, 3)
		if one != text(4, 3) {
			t.Errorf("%s: the result depends on the number of workers", name)
		}
		if one == text(4, 4) {
			t.Errorf("%s: the result does not depend on the seed", name)
		}
	}
}
