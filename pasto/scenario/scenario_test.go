package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/testsize"
)

const dataDir = "../../../shared/data"

func run(t testing.TB, o Options) *Result {
	t.Helper()
	r, err := Run(t.Context(), own(t, o))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// own fills in the algorithm, the numbers of runs and rounds and the iterate that o leaves out with
// those of the scenario, "a" if there is none.
func own(t testing.TB, o Options) Options {
	t.Helper()
	if o.Scenario == "" {
		o.Scenario = "a"
	}
	d, err := DefaultOptions(o.Scenario)
	if err != nil {
		t.Fatal(err)
	}
	if o.Algorithm == "" {
		o.Algorithm = d.Algorithm
	}
	if o.Runs == 0 {
		o.Runs = d.Runs
	}
	if o.Rounds == 0 {
		o.Rounds = d.Rounds
	}
	if o.Iterate == "" {
		o.Iterate = d.Iterate
	}
	return o
}

func sigma(v float64) *float64 { return &v }

// The JSON has the documented keys.
func TestJSON(t *testing.T) {
	b, _ := json.Marshal(run(t, Options{Runs: 2, Rounds: 10}))
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	for _, k := range []string{"scenario", "algorithm", "runs", "rounds", "best_single", "optimum", "at"} {
		if m[k] == nil {
			t.Errorf("no %s", k)
		}
	}
	for k, subs := range map[string][]string{
		"objective": {"mean", "q25", "q75"}, "gain": {"ratio", "median"},
		"violation": {"mean"},
	} {
		for _, s := range subs {
			if v, ok := m[k].(map[string]any)[s].([]any); !ok || len(v) != len(m["at"].([]any)) {
				t.Errorf("%s.%s is %v", k, s, m[k])
			}
		}
	}
	if m["optimum"].(float64) < 1.01249 || m["best_single"].(float64) != 0 {
		t.Errorf("%v %v", m["optimum"], m["best_single"])
	}
}

// The algorithm as printed is unstable with many arms and noise; the default is not.
func TestPaperIsUnstable(t *testing.T) {
	testsize.NoRace(t)
	o := Options{
		Scenario: "b", Noise: sigma(5), Rounds: 3000, Runs: 4, Seed: 1, Checkpoints: []int{3000},
		Algorithm: "paper", Iterate: "serving",
	}
	paper := run(t, o).Gain.Ratio[0]
	o.Algorithm, o.Iterate = "default", ""
	if ours := run(t, o).Gain.Ratio[0]; paper > -10 || ours < paper+20 {
		t.Errorf("R of the paper's %v, of the default %v", paper, ours)
	}
}

func refuses(t *testing.T, o Options) bool {
	t.Helper()
	_, err := Run(t.Context(), o)
	return err != nil && noregret.CodeOf(err) != noregret.Internal
}

func TestRefused(t *testing.T) {
	for name, o := range map[string]Options{
		"algorithm":   {Algorithm: "z"},
		"runs":        {Runs: -1},
		"rounds":      {Rounds: -1},
		"noise":       {Noise: sigma(-1)},
		"real noise":  {Scenario: "hillstrom", Noise: sigma(1)},
		"workers":     {Workers: -1},
		"checkpoints": {Rounds: 10, Checkpoints: []int{3, 3}},
		"late":        {Rounds: 10, Checkpoints: []int{11}},
		"start above": {Start: sigma(2), Algorithm: "paper"},
		"start 0":     {Start: sigma(0), Algorithm: "paper"},
		"change":      {Change: new(-1)},
		"change 0":    {Change: new(0)},
		"iterate":     {Iterate: "z"},
		"threshold":   {Threshold: sigma(math.NaN())},
		"own":         {Scenario: "hillstrom", Threshold: sigma(1)},
		"users":       {Users: 100, Items: 100},
		"only users":  {Scenario: "ranking", Users: 100},
		"per decade":  {PerDecade: -1},
		"start":       {Start: sigma(.9)},
		"hard":        {Algorithm: "paper", Hard: true},
	} {
		if o.Runs == 0 {
			o.Runs = 2
		}
		if !refuses(t, own(t, o)) {
			t.Errorf("%s is taken", name)
		}
	}
	if _, err := DefaultOptions("z"); noregret.CodeOf(err) != noregret.Usage {
		t.Errorf("an unknown scenario: %v", err)
	}
	if _, err := Run(t.Context(), Options{Scenario: "z", Runs: 1, Rounds: 1}); noregret.CodeOf(err) != noregret.Usage {
		t.Errorf("an unknown scenario: %v", err)
	}
	for name, zero := range map[string]func(o *Options){
		"runs":    func(o *Options) { o.Runs = 0 },
		"rounds":  func(o *Options) { o.Rounds = 0 },
		"iterate": func(o *Options) { o.Iterate = "" },
	} {
		o := own(t, Options{Runs: 2})
		if zero(&o); !refuses(t, o) {
			t.Errorf("no %s is taken", name)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, own(t, Options{Runs: 3})); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	dir := t.TempDir()
	if err := os.Mkdir(dir+"/hillstrom", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/hillstrom/hillstrom.csv.gz", []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), own(t, Options{Scenario: "hillstrom", Data: dir})); err == nil ||
		!strings.Contains(err.Error(), "hillstrom.csv.gz") {
		t.Errorf("%v", err)
	}
}

// The benchmark reports the nanoseconds per round and arm of a whole simulated round (draws, noise,
// learner).
func BenchmarkRandomInstance(b *testing.B) {
	for _, name := range []string{"default", "paper", "s-scgd"} {
		b.Run(name, func(b *testing.B) {
			const rounds = 2000
			for b.Loop() {
				run(b, Options{
					Scenario: "b", Algorithm: name, Runs: 1, Rounds: rounds, Workers: 1,
					Checkpoints: []int{rounds},
				})
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rounds/100, "ns/round·arm")
		})
	}
}

func ExampleRun() {
	// The paper's toy without noise: the mixture is better than either arm, which are worth −18 and
	// 0.
	o, err := DefaultOptions("a")
	if err != nil {
		panic(err)
	}
	o.Runs, o.Rounds, o.Noise, o.Checkpoints = 1, 100, new(0.0), []int{100}
	r, err := Run(context.Background(), o)
	if err != nil {
		panic(err)
	}
	fmt.Printf("best single %.4f, optimum %.4f, deployed %.4f\n", r.BestSingle, r.Optimum, r.Objective.Mean[0])
	fmt.Printf("mixture %.4f\n", r.Mixture.Share[0])
	// Output:
	// best single 0.0000, optimum 1.0125, deployed 1.0125
	// mixture [0.5125 0.4875]
}
