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
	"arms": [{"name": "a", "means": [2, -2]}, {"name": "b", "means": [0, 2]}], "noise": 0.5, "groups": 2, "rounds": ` +
	`500, "runs": 3}`

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shop.json")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// A problem file that states the toy problem is played like the toy problem.
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
	// ranges truncate the noise.
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

// A file that breaks a rule is refused with an error that names the file, the place and the rule.
func TestProblemRefused(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{`{"metrics"`, `[{"metrics"`, "not valid JSON: truncated"},
		{
			`"groups": 2`, `"groups": 2, "colour": 3`,
			`colour: unknown field; known fields: metrics, soft, arms, control, noise, groups, laws, units, level, ` +
				`delay, rounds, runs`,
		},
		{`"runs": 3}`, `"runs": 3} {}`, "text follows the value at byte 224"},
		{`"name": "b"`, `"name": "a"`, `arms[1]: duplicate name "a": arms[0] has it`},
		{`"name": "b"`, `"name": ""`, "arms[1]: no name"},
		{
			`[{"name": "a", "means": [2, -2]}, {"name": "b", "means": [0, 2]}]`, `[]`,
			"arms: none: at least one is required",
		},
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
		{`"noise": 0.5`, `"noise": 0.5, "control": "a"`, `control: "a": no guardrail is relative or hard, leave it out`},
		{`"noise": 0.5`, `"noise": 0.5, "control": "z"`, `control: no arm is named "z"`},
		{`"noise": 0.5`, `"noise": -1`, "noise: -1: want a finite standard deviation"},
		{`"noise": 0.5`, `"noise": 1e101`, "noise: 1e+101: want a finite standard deviation, at least 0 and at most " +
			"1e+98"},
		{
			`"means": [0, 2]}], "noise": 0.5`, `"means": [0, 1e100]}], "noise": 1e90`,
			`arms[1].means[1]: 1e+100 of "b": with a noise of 1e+90 it can exceed the largest, 1e100`,
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
	"arms": [{"name": "a", "means": [2, -2]}`, `"relative": true, "threshold": 1e6}], "control": "a", "arms": ` +
			`[{"name": "a", "means": [2, 9e99]}`, `arms[0].means[1]: 9e+99 of "a" less 1.000001e+06 times the control's ` +
			`is -8.999999999999999e+105: with a noise of 0.5 it can exceed the largest, 1e+100`},
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
	if _, err := Run(t.Context(), own(t, Options{Scenario: write(t, shop), Threshold: sigma(1)})); err == nil {
		t.Error("a threshold option for a problem with its own thresholds: no error")
	}
}

// Noise on a metric with a range does not change the means. The observed means are within five
// standard errors of the truth, and every value is in the range.
func TestProblemNoise(t *testing.T) {
	text := `{"metrics": [{"name": "x", "lower": 0, "upper": 1}], "arms": [{"name": "a", "means": [0.05]}, {"name": ` +
		`"b", "means": [0.6]}, {"name": "c", "means": [1]}], "noise": 0.5}`
	spec, err := problemSpec(write(t, text))
	if err != nil {
		t.Fatal(err)
	}
	noise := .5
	build, _, _, err := spec.Prepare(&Options{Noise: &noise})
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
		w.Observe(1, arms, dst, r)
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

// FuzzProblem parses a problem, encodes it and parses it again: the two problems have the same arms
// and metrics.
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

// Truncated noise does not round out of the range, and the largest accepted noise can be played. A
// larger value of the flag is refused, as in a file.
func TestProblemNoiseEdges(t *testing.T) {
	text := `{"metrics": [{"name": "x", "lower": 0.1, "upper": 1}], "arms": [{"name": "a", "means": [0.7]}, {"name": ` +
		`"b", "means": [0.6]}], "noise": 1, "rounds": 300, "runs": 2}`
	path := write(t, text)
	run(t, Options{Scenario: path, Seed: 1})
	run(t, Options{
		Scenario: write(t, strings.Replace(text, `"lower": 0.1, "upper": 1`, `"weight": 1`, 1)), Seed: 1,
		Noise: sigma(1e98),
	})
	for _, noise := range []float64{1e99, math.Inf(1), math.NaN(), -1} {
		_, err := Run(t.Context(), own(t, Options{Scenario: path, Noise: sigma(noise)}))
		if noregret.CodeOf(err) != noregret.Usage || !strings.HasPrefix(err.Error(), "noise: ") {
			t.Errorf("noise %v: %v", noise, err)
		}
	}
}

// A guardrail in units of a thousand or a billion is played too, and nothing starts after ctx has
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
		if _, err := NewTruth(ctx, f, mustTable([]float64{1})); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	}
}

// The result of a file does not depend on its path.
func TestProblemPathIsNoSeed(t *testing.T) {
	var first *Result
	for range 2 {
		r := run(t, Options{Scenario: write(t, shop), Rounds: 100})
		if r.Scenario = ""; first == nil {
			first = r
		} else if diff := cmp.Diff(first, r, cmpopts.EquateNaNs()); diff != "" {
			t.Error(diff)
		}
	}
}

// Guardrails that are hard in the file give the same result as with the flag.
func TestProblemHardInFile(t *testing.T) {
	testsize.NoRace(t)
	text := `{"metrics": [{"name": "x"}, {"name": "y", "role": "guardrail"HARD}], "noise": 2, "rounds": 300, "runs": ` +
		`60, "arms": [{"name": "a", "means": [2, -0.2]},
		{"name": "b", "means": [0, 0.2]}, {"name": "c", "means": [1.9, -0.1]}, {"name": "d", "means": [1.9, -0.3]}]}`
	var all [2]*Result
	for i, hard := range []string{"", `, "hard": true`} {
		r := run(t, Options{
			Scenario: write(t, strings.Replace(text, "HARD", hard, 1)), Hard: i == 0,
			Checkpoints: []int{100, 300},
		})
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
