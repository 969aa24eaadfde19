package experiment

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret/bandit"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/random"
)

// TestBanditsForget: a bandit with a window knows what a fresh one does that has seen the last
// rounds only, and one that restarts what a fresh one does that has seen the rounds since, bit for
// bit, also where an arm has come.
func TestBanditsForget(t *testing.T) {
	for _, kind := range []string{"thompson", "ucb", "kl-ucb", "tsallis-inf"} {
		for name, since := range map[string]func(rounds int) int{
			"window":  func(rounds int) int { return max(rounds-4, 0) },
			"restart": func(rounds int) int { return rounds / 4 * 4 },
		} {
			d, err := definition.Parse("d", []byte(strings.TrimPrefix(
				driftDefinition("policy: {kind: "+kind+"}\ndrift: {kind: "+name+", rounds: 4}"), "apply\n")))
			if err != nil {
				t.Fatal(err)
			}
			x, err := newExperiment(nil, d, 0, 0, consequence{ask: true})
			if err != nil {
				t.Fatal(err)
			}
			l, r := x.learning.learner.(*rewardLearner), random.New(1, "forget")
			var seen []keptBatch
			for round := range 23 {
				if round == 10 {
					if _, err := l.AddArm(); err != nil {
						t.Fatal(err)
					}
				}
				var b keptBatch
				for k := range l.Arms() {
					b.Shares = append(b.Shares, 1/float64(l.Arms()))
					b.Parts = append(b.Parts, bandit.Batch{Arm: k, Size: 10, Mean: r.Float64(), Variance: .1})
				}
				seen = append(seen, b)
				if err := l.take(slices.Clone(b.Parts), slices.Clone(b.Shares), nil); err != nil {
					t.Fatal(err)
				}
				if name == "restart" && (round == 10 || round == 11) {
					continue // a new arm begins with what the others have
				}
				is := definition.RewardOf(d)
				rule, _ := bandit.ParseBatchRule(kind)
				fresh, err := bandit.NewBatched(l.Arms(), rule, is.Low, is.High)
				if err != nil {
					t.Fatal(err)
				}
				for _, b := range seen[since(round+1):] {
					if err := fresh.Observe(b.Parts, b.Shares); err != nil {
						t.Fatal(err)
					}
				}
				got, _ := l.Batched.MarshalBinary()
				if want, _ := fresh.MarshalBinary(); !bytes.Equal(got, want) {
					t.Fatalf("%s, %s: round %d: another state than that of a fresh bandit", kind, name, round+1)
				}
			}
		}
	}
}
