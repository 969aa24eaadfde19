package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/optimum"
)

const shop = `{"metrics": [{"name": "x"}, {"name": "y", "role": "guardrail", "threshold": 0, "lambda": 5}],
	"arms": [{"name": "a", "means": [2, -2]}, {"name": "b", "means": [0, 2]}], "noise": 0.5, "groups": 2, "rounds": 500, "runs": 3}`

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shop.json")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// A problem of a file is played as the toy that it is.
func TestProblem(t *testing.T) {
	r := run(t, Options{Scenario: write(t, shop), Seed: 1})
	if r.Runs != 3 || r.Rounds != 500 || r.Noise != .5 || r.BestSingle != 0 ||
		math.Abs(float64(r.Optimum)-1.0125) > 1e-9 || r.Mixture.Arms[1] != "b" {
		t.Errorf("%+v", r)
	}
	if v := r.Objective.Mean[len(r.At)-1]; v < .97 {
		t.Errorf("objective %v", v)
	}
	// Relative to a control group that is served arm b: y − 0.9·2 ≥ 0 of the arms' −2 and 2, and
	// ranges cut the noise off.
	relative := strings.NewReplacer(`"threshold": 0`, `"threshold": -0.1, "relative": true, "lower": -3, "upper": 3`,
		`"noise"`, `"control": "b", "noise"`).Replace(shop)
	r = run(t, Options{Scenario: write(t, relative), Seed: 1})
	want, err := optimum.Maximize(mustGoals([]pasto.Metric{{Name: "x"}, {Name: "y", Role: pasto.Guardrail}}),
		mustTable([]float64{2, 0}, []float64{-3.8, .2}), optimum.DefaultOptions())
	if err != nil || math.Abs(float64(r.Optimum)-want.Value) > 1e-9 {
		t.Errorf("optimum %v, want %v (%v)", r.Optimum, want, err)
	}
	if v := r.Objective.Mean[len(r.At)-1]; v < want.Value-.05 {
		t.Errorf("objective %v of %v", v, want.Value)
	}
}

// What breaks a rule in a file is refused, with the file, the place and the rule.
func TestProblemRefused(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{`{"metrics"`, `[{"metrics"`, "not valid JSON: it ends too early"},
		{
			`"groups": 2`, `"groups": 2, "colour": 3`,
			`colour: unknown field; known fields: metrics, soft, arms, control, noise, groups, rounds, runs`,
		},
		{`"runs": 3}`, `"runs": 3} {}`, "text follows the value at byte 224"},
		{`"name": "b"`, `"name": "a"`, `arms[1]: duplicate name "a": arms[0] has it`},
		{`"name": "b"`, `"name": ""`, "arms[1]: no name"},
		{`[{"name": "a", "means": [2, -2]}, {"name": "b", "means": [0, 2]}]`, `[]`, "arms: none: want at least one"},
		{`[0, 2]`, `[0]`, `arms[1]: "b" has 1 means: want one for each of the 2 metrics`},
		{`[0, 2]`, `[0, NaN]`, "not valid JSON at byte 165, in line 2 at \"NaN]}], \\\"noise\\\": 0.5...\": JSON has " +
			"only finite numbers"},
		{`[0, 2]`, `[0, 1e400]`, "arms[1].means[1]: must be a number in the range of float64, not 1e400"},
		{
			`"role": "guardrail"`, `"role": "wish"`,
			`metrics[1].role: "wish": role: "wish": want primary, guardrail or report`,
		},
		{
			`"role": "guardrail"`, `"direction": "left"`,
			`metrics[1].direction: "left": direction: "left": want up or down`,
		},
		{`"lambda": 5`, `"lambda": -5`, `metrics[1]: lambda -5 of "y": want a finite number above 0`},
		{`"lambda": 5`, `"relative": true`, `control: none: a relative guardrail needs a control group`},
		{`[0, 2]`, `[0, null]`, "arms[1].means[1]: must be a number in the range of float64, not null"},
		{`"noise": 0.5`, `"noise": null`, "noise: must be a number in the range of float64, not null"},
		{`{"metrics"`, `{"Runs": 3, "metrics"`, `Runs: unknown field; known fields: metrics`},
		{`"lambda": 5`, `"Lambda": 5`, `metrics[1].Lambda: unknown field; known fields: name, direction`},
		{`"lambda": 5`, `"lambda": 5, "lambda": 7`, `metrics[1].lambda: duplicate field`},
		{`"runs": 3`, `"runs": 3, "runs": 4`, `runs: duplicate field`},
		{`"name": "b", `, `"name": "b", "NAME": "c", `, `arms[1].NAME: unknown field; known fields: name, means`},
		{
			`"lambda": 5`, `"lambda": 5, "lower": -3, "upper": 1`,
			`arms[1].means[1]: 2 of "b": "y" must be in its range [-3, 1]`,
		},
		{`[0, 2]`, `[0, 1e101]`, `arms[1].means[1]: 1e+101 of "b": want a number of size at most 1e100`},
		{`{"name": "x"}`, `{"name": "x", "threshold": 1}`, `metrics[0]: "x" has threshold 1`},
		{`{"name": "x"}`, `{"name": "x", "lambda": 1}`, `metrics[0]: "x" has threshold 0, lambda 1`},
		{`"lambda": 5`, `"weight": 2`, `metrics[1]: "y" has weight 2, which only a primary metric has`},
		{`"lambda": 5`, `"relative": true, "threshold": 1e300`, `metrics[1].threshold: duplicate field`},
		{
			`"threshold": 0, "lambda": 5`, `"relative": true, "threshold": 1e300`,
			`metrics[1]: threshold 1e+300 of "y": want a fraction of the control's value, from -1e+06 to 1e+06`,
		},
		{`"noise": 0.5`, `"noise": 0.5, "control": "a"`, `control: "a": no guardrail is relative, leave it out`},
		{`"noise": 0.5`, `"noise": 0.5, "control": "z"`, `control: "z" is no arm`},
		{`"noise": 0.5`, `"noise": -1`, "noise: -1: want a finite standard deviation"},
		{`"noise": 0.5`, `"noise": 1e101`, "noise: 1e+101: want a finite standard deviation, at least 0 and at most " +
			"1e+98"},
		{
			`"means": [0, 2]}], "noise": 0.5`, `"means": [0, 1e100]}], "noise": 1e90`,
			`arms[1].means[1]: 1e+100 of "b": with a noise of 1e+90 it can pass 1e100`,
		},
		{`"noise": 0.5`, `"noise": 1.1e98`, "noise: 1.1e+98: want"},
		{`"groups": 2`, `"groups": -2`, "groups: -2: want 1 to 100,000"},
		{`"rounds": 500`, `"rounds": -1`, "rounds: -1 rounds and 3 runs: want numbers above 0"},
		{`"role": "guardrail"`, `"role": null`, "metrics[1].role: must be a string, not null"},
		{shop, `[]`, "must be an object, not []"},
		{
			`"threshold": 0`, `"threshold": -2e100`,
			`metrics[1]: threshold -2e+100 and lambda 5 of "y": want both of size at most 1e100`,
		},
		{
			`"lambda": 5`, `"lambda": 1e200`,
			`metrics[1]: threshold 0 and lambda 1e+200 of "y": want both of size at most 1e100`,
		},
		{`{"name": "x"}`, `{"name": "x", "weight": 1e200}`, `metrics[0]: weight 1e+200 of "x": want at most 1e100`},
		{`"noise": 0.5`, `"noise": 0.5, "soft": 1e300`, `soft: 1e+300: want at most 1e+100`},
		{`"threshold": 0, "lambda": 5}],
	"arms": [{"name": "a", "means": [2, -2]}`, `"relative": true, "threshold": 1e6}], "control": "a", "arms": [{"name": "a", "means": [2, 9e99]}`, `arms[0].means[1]: 9e+99 of "a" less 1.000001e+06 times the control's is -8.999999999999999e+105: with a noise of 0.5 it can pass 1e+100`},
		{`"lambda": 5}], "arms"`, `"lambda": 5}], "arms"`, ""},
	} {
		path := write(t, strings.Replace(shop, c.old, c.new, 1))
		_, err := ReadProblem(path)
		if c.want == "" {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		if err == nil || !strings.HasPrefix(err.Error(), path+": "+c.want) ||
			noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("got  %v\nwant %s: %s", err, path, c.want)
		}
	}
	if _, err := ReadProblem("nowhere.json"); noregret.CodeOf(err) != noregret.NotFound {
		t.Errorf("%v", err)
	}
	if _, err := Run(t.Context(), Options{Scenario: write(t, shop), Threshold: sigma(1)}); err == nil {
		t.Error("a threshold for a problem that has its own")
	}
}

// Noise in a range leaves the means what they are: those observed are the truth to within five
// standard errors, and every value is in the range.
func TestProblemNoise(t *testing.T) {
	text := `{"metrics": [{"name": "x", "lower": 0, "upper": 1}], "arms": [{"name": "a", "means": [0.05]}, {"name": "b", "means": [0.6]}, {"name": "c", "means": [1]}], "noise": 0.5}`
	spec, err := problemSpec(write(t, text))
	if err != nil {
		t.Fatal(err)
	}
	noise := .5
	build, _, _, err := spec.prepare(&Options{Noise: &noise})
	if err != nil {
		t.Fatal(err)
	}
	w, err := build(0)
	if err != nil {
		t.Fatal(err)
	}
	const n = 20_000
	r, arms, dst := random.New(1, "noise"), make([]int, n), make([]float64, n)
	for k, want := range []float64{.05, .6, 1} {
		for i := range arms {
			arms[i] = k
		}
		w.observe(1, arms, dst, r)
		sum, square := 0.0, 0.0
		for _, v := range dst {
			sum += v / n
			square += v * v / n
		}
		if se := math.Sqrt(max(square-sum*sum, 0) / n); math.Abs(sum-want) > 5*se+1e-12 || slices.Min(dst) < 0 ||
			slices.Max(dst) > 1 || k < 2 && se == 0 {
			t.Errorf("arm %d: mean %v ± %v, want %v; from %v to %v", k, sum, se, want, slices.Min(dst), slices.Max(dst))
		}
	}
}

// FuzzProblem: what is parsed can be played, and says the same when it is written again.
func FuzzProblem(f *testing.F) {
	f.Add([]byte(shop))
	f.Add([]byte(`{"metrics": [{"name": "x", "lower": 0, "upper": 1}], "arms": [{"name": "a", "means": [0.5]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := ParseProblem(text)
		if err != nil {
			return
		}
		again, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if q, err := ParseProblem(again); err != nil {
			t.Fatalf("%s: %v", again, err)
		} else if !slices.Equal(q.names(), p.names()) || len(q.Metrics) != len(p.Metrics) {
			t.Fatalf("%s", again)
		}
	})
}

// Hard guardrails: the reward is reported, broken ones are counted, gains are over the runs with a
// single arm that holds them.
func TestHardRuns(t *testing.T) {
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

// Guardrails that no mixture can hold are counted with the least violation, and the default reports
// them.
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

// Where a mixture holds the guardrails in some of the runs only, each mean says over how many it
// is, the optimum of a world that stands still is the same at all rounds, and the marks are those
// of the gain, of the same runs.
func TestPartlyInfeasible(t *testing.T) {
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
	// Two runs: an arm of the second has no guardrail to hold, and its value is no part of the
	// comparison.
	nan := math.NaN()
	out := []outcome{
		{
			value: []float64{2}, single: []float64{1}, best: []float64{3}, served: []float64{2},
			violation: make([]broke, 1), servedViolation: make([]broke, 1),
		},
		{
			value: []float64{-9}, single: []float64{nan}, best: []float64{4}, served: []float64{2},
			violation: make([]broke, 1), servedViolation: make([]broke, 1),
		},
	}
	o := &Options{Noise: sigma(1), Runs: 2, Rounds: 1, Checkpoints: []int{1}, Hard: true}
	if r := summarize(o, out); r.Crossing.Single != 1 || r.Gain.Ratio[0] != .5 || r.Single.Runs[0] != 1 ||
		r.Best.Runs[0] != 2 || r.Best.Mean[0] != 3.5 {
		t.Errorf("%+v", r)
	}
	out[0].violation[0].broken = true
	if r := summarize(o, out); r.Crossing.Single != 0 {
		t.Errorf("half of the runs break a hard guardrail, and the mark is at %d", r.Crossing.Single)
	}
}

// Numbers whose squares overflow are written too, and no rounds are the usual ones.
func TestLargeNumbers(t *testing.T) {
	text := `{"metrics": [{"name": "x"}, {"name": "y", "role": "guardrail"}], "arms": [{"name": "a", "means": [1, 1e90]}, {"name": "b", "means": [2, -1e90]}], "noise": 1, "rounds": 10, "runs": 3}`
	r := run(t, Options{Scenario: write(t, text), Seed: 1, Checkpoints: []int{}})
	b, err := json.Marshal(r)
	if err != nil || !strings.Contains(string(b), `"sd":[`) {
		t.Errorf("%s, %v", b, err)
	}
	if !slices.Equal(r.At, []int{1, 2, 5, 10}) || !(r.Objective.SD[0] >= 0) || math.IsInf(r.Objective.SD[0], 1) {
		t.Errorf("at %v: %v", r.At, r.Objective.SD)
	}
	c := Curve{}
	c.add([]outcome{{value: []float64{-1e180}}, {value: []float64{1e180}}}, func(x *outcome) float64 {
		return x.value[0]
	})
	if math.Abs(c.SD[0]-math.Sqrt2*1e180) > 1e166 {
		t.Errorf("the standard deviation is %v", c.SD[0])
	}
	if _, err := Run(t.Context(), Options{Threshold: sigma(1e160)}); noregret.CodeOf(err) != noregret.Usage {
		t.Error(err)
	}
}

// Rounds are spread as asked, and the marks are those of lasting passage.
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

// Noise that is cut off does not round out of the range, and the largest noise that is taken can be
// played; with more the flag is refused as the file is.
func TestProblemNoiseEdges(t *testing.T) {
	text := `{"metrics": [{"name": "x", "lower": 0.1, "upper": 1}], "arms": [{"name": "a", "means": [0.7]}, {"name": "b", "means": [0.6]}], "noise": 1, "rounds": 300, "runs": 2}`
	path := write(t, text)
	run(t, Options{Scenario: path, Seed: 1})
	run(t, Options{
		Scenario: write(t, strings.Replace(text, `"lower": 0.1, "upper": 1`, `"weight": 1`, 1)), Seed: 1,
		Noise: sigma(1e98),
	})
	for _, noise := range []float64{1e99, math.Inf(1), math.NaN(), -1} {
		_, err := Run(t.Context(), Options{Scenario: path, Noise: sigma(noise)})
		if noregret.CodeOf(err) != noregret.Usage || !strings.HasPrefix(err.Error(), "noise: ") {
			t.Errorf("noise %v: %v", noise, err)
		}
	}
}

// A guardrail in units of a thousand or a billion is played too, and nothing starts where ctx has
// ended.
func TestProblemUnits(t *testing.T) {
	for _, s := range []float64{1, 1e3, 1e4, 1e6, 1e8} {
		text, err := json.Marshal(&Problem{
			Metrics: []pasto.Metric{{Name: "x"}, {Name: "revenue", Role: pasto.Guardrail, Threshold: s, Lambda: 5}},
			Arms:    []Arm{{"a", []float64{1, .9 * s}}, {"b", []float64{0, 1.2 * s}}, {"c", []float64{.3, s}}},
			Noise:   .1, Rounds: 40, Runs: 1,
		})
		if err != nil {
			t.Fatal(err)
		}
		path := write(t, string(text))
		r := run(t, Options{Scenario: path, Seed: 1})
		if want := 2./3 + 1/(.9*s*s)/5; s > 1 && !(math.Abs(float64(r.Optimum)-want) < 1e-6) {
			t.Errorf("s = %v: the optimum is %v, want %v", s, r.Optimum, want)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		f, err := pasto.NewGoals([]pasto.Metric{{Name: "x"}}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := newTruth(ctx, f, mustTable([]float64{1})); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	}
}

// A file's result is the same wherever it is.
func TestProblemPathIsNoSeed(t *testing.T) {
	var first *Result
	for range 2 {
		r, err := Run(t.Context(), Options{Scenario: write(t, shop), Rounds: 100})
		if err != nil {
			t.Fatal(err)
		}
		if r.Scenario = ""; first == nil {
			first = r
		} else if diff := cmp.Diff(first, r, cmpopts.EquateNaNs()); diff != "" {
			t.Error(diff)
		}
	}
}

// Guardrails that are hard by the file are as hard as by the flag.
func TestProblemHardInFile(t *testing.T) {
	text := `{"metrics": [{"name": "x"}, {"name": "y", "role": "guardrail"HARD}], "noise": 2, "rounds": 300, "runs": 60, "arms": [{"name": "a", "means": [2, -0.2]},
		{"name": "b", "means": [0, 0.2]}, {"name": "c", "means": [1.9, -0.1]}, {"name": "d", "means": [1.9, -0.3]}]}`
	var all [2]*Result
	for i, hard := range []string{"", `, "hard": true`} {
		r,
			err := Run(t.Context(), Options{
			Scenario: write(t, strings.Replace(text, "HARD", hard, 1)), Hard: i == 0,
			Checkpoints: []int{100, 300},
		})
		if err != nil {
			t.Fatal(err)
		}
		r.Scenario, all[i] = "", r
	}
	if diff := cmp.Diff(all[0], all[1], cmpopts.EquateNaNs()); diff != "" {
		t.Error(diff)
	}
	if r := all[1]; !r.Hard || r.Violation.Share[1] <= .05 || r.Crossing.Single != 0 ||
		r.Objective.Mean[1] < float64(r.BestSingle) {
		t.Errorf("hard %v, broken in %v, above the best single arm from round %d on: want true, more than 0.05 and "+
			"never", r.Hard, r.Violation.Share[1], r.Crossing.Single)
	}
}
