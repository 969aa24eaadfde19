package scenario

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/noregret/noregret/experiment/propose"
	"github.com/noregret/noregret/experiment/propose/mixture"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/pasto"
)

// documented writes the last example of docs/formats/simulate.md to a file.
func documented(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/formats/simulate.md")
	if err != nil {
		t.Fatal(err)
	}
	all := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllSubmatch(text, -1)
	path := filepath.Join(t.TempDir(), "shop.json")
	if err := os.WriteFile(path, all[len(all)-1][1], 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// controlled makes the policy of the service.
func controlled(_ string, f *pasto.Goals, arms, control int) (pasto.Learner, error) {
	return mixture.NewLearner(propose.OfGoals(f, arms), control, mixture.DefaultOptions())
}

// TestControlHoldsGuardrail checks that the learner of Controlled has the control of a file as one
// of its arms, as in the service: it serves it at first, and breaks the hard guardrail in at most 1
// % of the served rounds. With a control group beside its arms it would serve all arms evenly at
// first, and break it in 6 to 20 % of the runs from round 5 on.
func TestControlHoldsGuardrail(t *testing.T) {
	t.Parallel()
	o, err := DefaultOptions(documented(t))
	if err != nil {
		t.Fatal(err)
	}
	o.Algorithm, o.Iterate, o.Runs, o.Controlled = "default", "serving", testsize.Of(20, 4), controlled
	for round := 1; round <= 300; round++ {
		o.Checkpoints = append(o.Checkpoints, round)
	}
	r, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	broken := 0.0
	for _, share := range r.Serving.Violation.Share {
		broken += float64(share) / float64(len(o.Checkpoints))
	}
	if broken > 0.01 {
		t.Errorf("%v of the served rounds break the guardrail, want at most 0.01", broken)
	}
	if first := r.Mixture.Share[0]; !(first[0] > 0.9) {
		t.Errorf("the first round serves %v, want hardly more than the control", first)
	}
	if first, last := float64(r.Objective.Mean[0]), float64(r.Objective.Mean[299]); !(last > first) {
		t.Errorf("it learns nothing, from %v to %v", first, last)
	}
}

// TestSplitUnits checks that all units of a round get an arm, in the proportions of the mixture,
// and that an arm's values have its means.
func TestSplitUnits(t *testing.T) {
	t.Parallel()
	spec, err := problemSpec(documented(t))
	if err != nil {
		t.Fatal(err)
	}
	zero := 0.0
	build, _, _, err := spec.Prepare(&Options{Noise: &zero})
	if err != nil {
		t.Fatal(err)
	}
	w, err := build(0)
	if err != nil {
		t.Fatal(err)
	}
	x := w.(*lawWorld)
	x.level = nil
	p, units, clicks := []float64{0.9, 0, 0.1}, make([]float64, 3), make([]float64, 3)
	draws, noise := random.New(1, "draws"), random.New(1, "noise")
	const rounds = 100
	for round := range rounds {
		total := 0.0
		for _, o := range x.split(round+1, p, draws, noise) {
			total += o.Size
			units[o.Arm] += o.Size
			clicks[o.Arm] += o.Size * o.Metrics[0]
		}
		if total != 20_000 {
			t.Fatalf("%v units in a round, want 20,000", total)
		}
	}
	if !(math.Abs(units[0]/(rounds*20_000)-0.9) < 0.002) || units[1] != 0 {
		t.Errorf("the arms got %v units, want 90, 0 and 10 %%", units)
	}
	for k, rate := range []float64{0.02, 0, 0.021} {
		if got := clicks[k] / max(units[k], 1); math.Abs(got-rate) > 0.0015 {
			t.Errorf("arm %d has a click rate of %v, want %v", k, got, rate)
		}
	}
	if o := x.split(1, []float64{0, 1, 0}, draws, noise); len(o) != 1 || o[0].Arm != 1 || o[0].Size != 20_000 {
		t.Errorf("one arm alone: %+v", o)
	}
}
