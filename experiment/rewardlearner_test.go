package experiment

import (
	"bytes"
	"strings"
	"testing"

	"github.com/noregret/noregret/bandit"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/random"
)

// TestBanditsForget: a bandit with a memory of 5 rounds knows what one does whose past weighs four
// fifths after each round, bit for bit, also where an arm has come.
func TestBanditsForget(t *testing.T) {
	for _, kind := range []string{"thompson", "ucb", "kl-ucb", "tsallis-inf"} {
		d, err := definition.Parse("d", []byte(strings.TrimPrefix(
			driftDefinition("policy: {kind: "+kind+"}\ndrift: {memory: 5}"), "apply\n")))
		if err != nil {
			t.Fatal(err)
		}
		x, err := newExperiment(nil, d, 0, 0, consequence{ask: true})
		if err != nil {
			t.Fatal(err)
		}
		is := definition.RewardOf(d)
		rule, _ := bandit.ParseBatchRule(kind)
		want, err := bandit.NewBatched(3, rule, is.Low, is.High)
		if err != nil {
			t.Fatal(err)
		}
		l, r := x.learning.learner.(*rewardLearner), random.New(1, "forget")
		for round := range 23 {
			if round == 10 {
				if _, err := l.AddArm(); err != nil {
					t.Fatal(err)
				}
				want.AddArm()
			}
			var parts []bandit.Batch
			var shares []float64
			for k := range l.Arms() {
				shares = append(shares, 1/float64(l.Arms()))
				parts = append(parts, bandit.Batch{Arm: k, Size: 10, Mean: r.Float64(), Variance: .1})
			}
			if err := l.take(parts, shares, nil); err != nil {
				t.Fatal(err)
			}
			if err := want.Discount(0.8); err != nil {
				t.Fatal(err)
			}
			if err := want.Observe(parts, shares); err != nil {
				t.Fatal(err)
			}
		}
		got, _ := l.MarshalBinary()
		if b, _ := want.MarshalBinary(); !bytes.Equal(got, b) {
			t.Errorf("%s: another state than that of a discounted bandit", kind)
		}
	}
}
