package tables

import (
	"context"
	"fmt"
	"math"

	"github.com/noregret/noregret/lab/internal/study"
	"github.com/noregret/noregret/pasto/scenario"
)

// defaultFloors are lower limits of what the default learner reaches.
var defaultFloors = []table{
	{title: "The default's floors", rows: []row{
		floor("a", deviation5, 1000, line{meanDeployed, ">.97"}, 10_000),
		floor("a", variance5, 1000, line{meanDeployed, ">1"}, 10_000),
		floor("b", new(1.0), 1000, line{ratio, ">.5 >.95"}, 1000, 10_000),
		floor("b", deviation5, 1000, line{ratio, ">.5 >.7"}, 30_000, 100_000),
		floor("a-drift", nil, 300, line{distance, "- <.05"}, 10_000, 20_000),
		floor("a-swap", nil, 300, line{distance, "- <.05"}, 10_000, 20_000),
		floor("b-drift", nil, 100, line{distance, "- <.05"}, 10_000, 20_000),
	}},
	// The default stays above the floor once it must have reached it, in each of 20 rounds in each
	// power of ten.
	{title: "The default never falls back in scenario b", rows: []row{
		{
			name: "σ = 1", o: scenario.Options{Scenario: "b", Noise: new(1.0), Seed: 3, PerDecade: 20},
			plays: []play{{runs: 50, at: []int{30_000}}, {runs: 50, at: []int{300_000}}},
			lines: []line{{leastRatio(10_000), ">.9 >.9"}},
		},
		{
			name: "σ = 5", o: scenario.Options{Scenario: "b", Noise: deviation5, Seed: 3, PerDecade: 20},
			plays: []play{{runs: 50, at: []int{300_000}}},
			lines: []line{{leastRatio(100_000), ">.7"}},
		},
	}},
	{title: "The ranking on 3,000 users and 1,500 items", rounds: 10_000, measure: ranking},
}

// floor is a row of the default learner with a lower limit. A noise of nil is the scenario's.
func floor(name string, noise *float64, runs int, l line, at ...int) row {
	w := row{
		name: name, o: scenario.Options{Scenario: name, Noise: noise, Seed: 11},
		plays: []play{{runs: runs, at: at}}, lines: []line{l},
	}
	if noise != nil {
		w.name = fmt.Sprintf("%s, σ = %.3g", name, *noise)
	}
	return w
}

// leastRatio is the least R of the rounds from the given one on.
func leastRatio(from int) statistic {
	return statistic{fmt.Sprintf("least R from %d", from), func(r *scenario.Result, last int) (least, err float64) {
		least = math.Inf(1)
		for i, v := range r.Gain.Ratio[:last+1] {
			if r.At[i] >= from {
				least = min(least, v)
			}
		}
		return least, math.NaN()
	}}
}

// ranking is the paper's Table 2 on ratings on which the exact mixture beats the best single arm by
// more than chance.
func ranking(ctx context.Context) (t study.Table, err error) {
	o, err := scenario.DefaultOptions("ranking")
	if err != nil {
		return t, err
	}
	o.Users, o.Items, o.Seed, o.Rounds, o.Runs = 3000, 1500, 1, 10_000, 1
	_, tab, err := scenario.Ranking(ctx, o)
	if err != nil {
		return t, err
	}
	t.Columns = []string{"number", "measured"}
	learned, exact, single := tab.Rows[0], tab.Rows[3], tab.Rows[4]
	for _, c := range []struct {
		name         string
		value, floor float64
	}{
		{"gain of the exact mixture over the best single arm, percent, low end", tab.Gain.Low, 0},
		{"recall of the learned mixture, of the best single arm's", learned.Recall / single.Recall, 1},
		{"recall of the learned mixture, of the exact one's", learned.Recall / exact.Recall, .99},
		{"genre recall of the learned mixture above the guardrail", learned.Genre - tab.Threshold, -1e-9},
	} {
		t.Add(c.name, study.Compared{
			Estimate: study.Estimate{Mean: c.value, Error: math.NaN()}, Low: c.floor, High: math.Inf(1),
		}.Cell("%.4f"))
	}
	return t, nil
}
