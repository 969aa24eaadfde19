package play

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/noregret/noregret/oco"
	"github.com/noregret/noregret/regret"
)

// TestRestartedForms: every learner of the catalogue has a restarted form, which in its first batch
// does what the learner does, and which follows a target that jumps.
func TestRestartedForms(t *testing.T) {
	infos, err := Learners()
	if err != nil {
		t.Fatal(err)
	}
	played := 0
	for _, info := range infos {
		if strings.HasPrefix(info.Name, randomizedPrefix) || len(info.Games) == 0 || costLearners[info.Name] {
			continue
		}
		game := info.Games[0]
		run := func(learner string, rounds int) (Result, error) {
			r, err := Run(context.Background(), Options{
				Learners: []string{learner}, Game: game, Rounds: rounds, Seed: 3, Runs: 1,
			})
			if err != nil {
				return Result{}, err
			}
			return r[0], nil
		}
		alone, err := run(info.Name, 20)
		if err != nil {
			t.Errorf("%s in %s: %v", info.Name, game, err)
			continue
		}
		batch, err := run(restartedPrefix+info.Name+":every=20", 20)
		if err != nil {
			t.Errorf("restarted %s in %s: %v", info.Name, game, err)
			continue
		}
		played++
		if alone.LearnerLoss != batch.LearnerLoss {
			t.Errorf("restarted %s in %s: loss %v, alone %v", info.Name, game, batch.LearnerLoss, alone.LearnerLoss)
		}
		if r, err := run(restartedPrefix+info.Name+":every=7", 40); err != nil || !r.Holds() {
			t.Errorf("restarted %s in %s: %v, %+v", info.Name, game, err, r.Certificate)
		}
	}
	if played < 40 {
		t.Errorf("%d learners were restarted", played)
	}
}

// costLearners are the learners that draw.
var costLearners = map[string]bool{"egs": true, "bgd": true}

// TestDriftLearners: the learners for losses that change follow a target that jumps. Their dynamic
// regret is within their bound, and far below that of gradient descent whose steps decrease.
func TestDriftLearners(t *testing.T) {
	const rounds = 2000
	run := func(learner, game string) Result {
		r, err := Run(context.Background(), Options{
			Learners: []string{learner}, Game: game, Rounds: rounds, Seed: 1, Runs: 1,
			Dynamic: &regret.DynamicOptions{},
		})
		if err != nil {
			t.Fatalf("%s in %s: %v", learner, game, err)
		}
		return r[0]
	}
	slow := run("ogd-strong", "target:start=1000").Dynamic.Regret
	for _, e := range driftLearners() {
		r := run(e.Name, "target:start=1000")
		if !r.Dynamic.Holds() {
			t.Errorf("%s: dynamic regret %v, bound %v", e.Name, r.Dynamic.Regret, r.Dynamic.Bound)
		}
		if costs := costLearners[e.Name]; !costs && (math.IsInf(r.Dynamic.Bound, 1) || r.Dynamic.Regret > slow/2) {
			t.Errorf("%s: dynamic regret %v of at most %v, that of ogd-strong is %v", e.Name, r.Dynamic.Regret,
				r.Dynamic.Bound, slow)
		}
		// With noise too, where the size of gradients is the game's.
		if noisy := run(e.Name, "target:noise=0.5"); !noisy.Noisy || math.IsNaN(noisy.Dynamic.Regret) {
			t.Errorf("%s: %+v", e.Name, noisy)
		}
	}
	// The game's variation is the default budget: (T/V)^⅔ rounds.
	few, many := run("restarted-ogd", "alternating:block=100"),
		run("restarted-ogd:variation=1", "alternating:block=100")
	if few.Dynamic.Regret >= many.Dynamic.Regret {
		t.Errorf("dynamic regret %v with the true variation, %v with a small one", few.Dynamic.Regret,
			many.Dynamic.Regret)
	}
	// A G that is too small makes the bound larger, not untrue.
	for _, name := range []string{"ader", "dyadic", "adaptive"} {
		if r := run(name+":lipschitz=0.001", "target"); !r.Dynamic.Holds() || !r.Holds() {
			t.Errorf("%s: dynamic regret %v, bound %v", name, r.Dynamic.Regret, r.Dynamic.Bound)
		}
	}
	// Costs are drawn from the seed of the run.
	a, err := Run(context.Background(), Options{
		Learners: []string{"egs"}, Game: "target", Rounds: 100, Seed: 1, Runs: 2,
	})
	if err != nil || a[0].LearnerLoss == a[1].LearnerLoss {
		t.Errorf("two seeds have the loss %v: %v", a[0].LearnerLoss, err)
	}
}

func TestDriftRefusals(t *testing.T) {
	for _, learner := range []string{
		"restarted-ogd:every=0", "restarted-ogd:every=1.5", "retuned-ogd:variation=-1", "restarted-nobody",
		"restarted-ogd-fixed:every=5:depth=1", "egs:baseline=1", "restarted-restarted-ogd-fixed",
		"restarted-randomized-eg", "restarted-egs", "restarted-ogd:lipschitz=0.01",
		"restarted-ogd:every=5:lipschitz=0.01",
	} {
		if _, err := Run(context.Background(), Options{
			Learners: []string{learner}, Game: "target", Rounds: 50, Runs: 1,
		}); err == nil {
			t.Errorf("%s was accepted", learner)
		}
	}
	if _, err := Run(context.Background(), Options{
		Learners: []string{"egs"}, Game: "linear-ball", Rounds: 50, Runs: 1,
	}); err == nil || !strings.Contains(err.Error(), "strongly convex") {
		t.Errorf("egs for linear losses: %v", err)
	}
	e := restartedEntry(oco.Entry{Name: "x", Knows: "nothing"})
	if e.Knows != "T, V" {
		t.Errorf("it knows %q", e.Knows)
	}
}
