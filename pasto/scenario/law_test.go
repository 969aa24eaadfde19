package scenario

import (
	"math"
	"strings"
	"testing"

	"github.com/noregret/noregret/internal/random"
)

// The arms of a round share its level, so that their ratios do not change.
func TestLevelIsCommon(t *testing.T) {
	p, err := ParseProblem([]byte(`{"metrics": [{"name": "x"}], "arms": [{"name": "a", "means": [100]},
		{"name": "b", "means": [200]}], "groups": 2, "units": 1000000, "laws": {"x": {"kind": "poisson"}},
		"level": {"seasons": [{"period": 10, "size": 0.3}], "growth": 0.02, "shock": 0.5}}`))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := p.table()
	if err != nil {
		t.Fatal(err)
	}
	w := p.world(&problemWorld{synthetic: synthetic{q: 2}, raw: raw, metrics: p.Metrics, arm: -1})
	r, dst, moved := random.New(1, "level"), make([]float64, 2), 0
	for round := 1; round <= 40; round++ {
		w.Observe(round, []int{0, 1}, dst, r)
		if math.Abs(dst[1]/dst[0]-2) > 0.01 {
			t.Fatalf("round %d: %v, want the second twice the first", round, dst)
		}
		if math.Abs(dst[0]/100-1) > 0.2 {
			moved++
		}
	}
	if moved < 10 {
		t.Errorf("the level was off by a fifth in %d of 40 rounds only", moved)
	}
}

func TestProblemRefusesLaws(t *testing.T) {
	const head = `{"metrics": [{"name": "x"}, {"name": "y", "lower": 0, "upper": 1}],
		"arms": [{"name": "a", "means": [1, 0.5]}], `
	const y = `"y": {"kind": "bernoulli"}`
	for _, c := range []struct{ text, want string }{
		{`"units": 10}`, "laws: none"},
		{`"laws": {"x": {"kind": "poisson"}, ` + y + `}}`, "units: none"},
		{`"units": 10, "laws": {"x": {"kind": "poisson"}}}`, `laws: metric "y" has none`},
		{`"units": 10, "laws": {"z": {"kind": "poisson"}}}`, `"z" is not a metric`},
		{`"units": 10, "laws": {"x": {"kind": "cauchy"}, ` + y + `}}`, `laws.x.kind: "cauchy"`},
		{`"units": 10, "laws": {"x": {"kind": "normal"}, ` + y + `}}`, "laws.x.sd: 0"},
		{`"units": 10, "laws": {"x": {"kind": "poisson", "sd": 1}, ` + y + `}}`, "laws.x.sd: 1"},
		{`"units": 10, "laws": {"x": {"kind": "lognormal", "rate": 2, "sigma": 1}, ` + y + `}}`, "laws.x.rate: 2"},
		{`"units": 10, "laws": {"x": {"kind": "lognormal", "rate": 0.1, "sigma": 9}, ` + y + `}}`, "laws.x.sigma: 9"},
		{`"units": 10, "laws": {"x": {"kind": "bernoulli"}, "y": {"kind": "poisson"}}}`, `"y" has a range`},
		{`"units": 10, "noise": 1, "laws": {"x": {"kind": "poisson"}, ` + y + `}}`, "noise: 1 beside laws"},
		{`"delay": -1}`, "delay: -1"},
		{`"level": {"growth": 0.01}}`, "level: set without laws"},
		{
			`"units": 9, "level": {"growth": 0.2}, "laws": {"x": {"kind": "poisson"}, ` + y + `}}`,
			"level.growth: 0.2",
		},
		{
			`"units": 9, "level": {"seasons": [{"period": 0, "size": 0.1}]}, "laws": {"x": {"kind": "poisson"}, ` + y +
				`}}`,
			"level.seasons[0]: period 0",
		},
	} {
		if _, err := ParseProblem([]byte(head + c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.text, err, c.want)
		}
	}
}

// Observations are delayed by whole rounds. Until the first one arrives, the learner does not
// change.
func TestDelay(t *testing.T) {
	const text = `{"metrics": [{"name": "x"}], "arms": [{"name": "a", "means": [0.02]}, {"name": "b", "means": [0.03]}],
		"groups": 4, "units": 20000, "laws": {"x": {"kind": "bernoulli"}}, "rounds": 60, "runs": 4, "delay": `
	gain := func(delay, at string) float64 {
		path := write(t, text+delay+"}")
		r := run(t, Options{Scenario: path, Seed: 1, Checkpoints: []int{20, 60}})
		return r.Objective.Mean[map[string]int{"20": 0, "60": 1}[at]]
	}
	if prompt, late := gain("0", "20"), gain("30", "20"); !(prompt > 0.0295) || late != 0.025 {
		t.Errorf("after 20 rounds %v without delay and %v with 30 rounds of it: want 0.03, and 0.025", prompt, late)
	}
	if late := gain("30", "60"); !(late > 0.0295) {
		t.Errorf("after 60 rounds with a delay of 30: %v, want 0.03", late)
	}
}

// A growing level whose means would leave the range of the learners in the rounds of the run is
// refused, and one that does not is played to its end.
func TestGrowthOverRounds(t *testing.T) {
	path := write(t, `{"metrics": [{"name": "x"}], "arms": [{"name": "a", "means": [100]},
		{"name": "b", "means": [200]}], "units": 10, "laws": {"x": {"kind": "normal", "sd": 1}},
		"level": {"growth": 0.1}}`)
	run(t, Options{Scenario: path, Rounds: 1000, Runs: 1})
	_, err := Run(t.Context(), own(t, Options{Scenario: path, Rounds: 10_000, Runs: 1}))
	if err == nil || !strings.Contains(err.Error(),
		"level.growth: 0.1: in 10000 rounds the mean 100 of \"x\" can grow") {
		t.Errorf("%v", err)
	}
}
