package bandit

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
)

var rules = []Rule{Elimination, UCB, Thompson}

func newBandit(t testing.TB, arms int, rule Rule) *Bandit {
	t.Helper()
	b, err := New(arms, rule)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// play pulls arms with normal rewards of these means and returns the regret.
func play(t testing.TB, b *Bandit, means []float64, rounds int, r *random.Source) (regret float64) {
	t.Helper()
	best := slices.Max(means)
	for range rounds {
		k := b.Draw(r)
		regret += best - means[k]
		if err := b.Observe([]Reward{{Arm: k, Value: means[k] + r.NormFloat64(), Size: 1}}); err != nil {
			t.Fatal(err)
		}
	}
	return regret
}

// Every rule finds the best arm, serves a distribution in each round, starts with every arm, and
// has less than a third of the regret of uniform pulls.
func TestFindsTheBest(t *testing.T) {
	means := []float64{0, .3, 1, .5}
	const rounds = 4000
	for _, rule := range rules {
		t.Run(rule.String(), func(t *testing.T) {
			for seed := range uint64(5) {
				b, r := newBandit(t, 4, rule), random.New(seed, "bandit")
				if b.Best() != -1 || b.Serving()[0] != .25 {
					t.Fatalf("initially the best is %d and %v is served", b.Best(), b.Serving())
				}
				regret := 0.0
				for range rounds {
					sum := 0.0
					for _, p := range b.Serving() {
						sum += p
					}
					if math.Abs(sum-1) > 1e-12 {
						t.Fatalf("serving sums to %v", sum)
					}
					regret += play(t, b, means, 1, r)
				}
				if b.Best() != 2 {
					t.Errorf("seed %d: the best is %d", seed, b.Best())
				}
				if uniform := .55 * rounds; regret > uniform/3 {
					t.Errorf("seed %d: regret %v, uniform pulls have %v", seed, regret, uniform)
				}
				if mean, se := b.Estimate(2); math.Abs(mean-1) > 5*se || se > .05 {
					t.Errorf("estimate %v ± %v", mean, se)
				}
			}
		})
	}
}

// Successive elimination keeps the best of several nearly equal arms in at least 95 % of the runs,
// and eliminates a clearly worse arm in all of them.
func TestEliminationKeepsTheBest(t *testing.T) {
	runs := testsize.Of(400, 100)
	lost := 0
	for seed := range runs {
		b := newBandit(t, 3, Elimination)
		play(t, b, []float64{.1, 0, -2}, 600, random.New(uint64(seed), "elimination"))
		in, _ := b.chooser.State()
		if !in[0] {
			lost++
		}
		if in[2] {
			t.Errorf("seed %d: the worst arm was not eliminated", seed)
		}
	}
	if float64(lost) > .05*float64(runs) {
		t.Errorf("the best arm was eliminated in %d of %d runs", lost, runs)
	}
}

// Groups of pulls are weighted by their size. The mean and standard error are computed by hand.
func TestSizes(t *testing.T) {
	b := newBandit(t, 1, UCB)
	for _, r := range []Reward{{Value: 1, Size: 4}, {Value: 4, Size: 1}, {Value: 2, Size: 5}} {
		if err := b.Observe([]Reward{r}); err != nil {
			t.Fatal(err)
		}
	}
	mean, se := b.Estimate(0)
	// Mean (4 + 4 + 10)/10, Σ size·(reward − mean)² = 2.56 + 4.84 + 0.2 with two degrees of
	// freedom.
	if math.Abs(mean-1.8) > 1e-12 || math.Abs(se-math.Sqrt(7.6/2/10)) > 1e-12 {
		t.Errorf("%v ± %v", mean, se)
	}
}

// A restored snapshot continues bit for bit, also after arms were added and retired. A snapshot of
// another rule and a damaged one are refused.
func TestSnapshot(t *testing.T) {
	for _, rule := range rules {
		b, r := newBandit(t, 3, rule), random.New(7, "bandit")
		means := []float64{0, .2, .4, .6}
		play(t, b, means[:3], 50, r)
		if k := b.AddArm(); k != 3 || b.Serving()[3] != 1 {
			t.Fatalf("%v: the new arm is %d and %v is served", rule, k, b.Serving())
		}
		play(t, b, means, 50, r)
		if err := b.RetireArm(0); err != nil {
			t.Fatal(err)
		}
		saved, err := b.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		seed, _ := r.MarshalBinary()
		play(t, b, means, 100, r)
		want, _ := b.MarshalBinary()
		other := newBandit(t, 1, rule)
		if err := other.UnmarshalBinary(saved); err != nil {
			t.Fatal(err)
		}
		if err := r.UnmarshalBinary(seed); err != nil {
			t.Fatal(err)
		}
		play(t, other, means, 100, r)
		if got, _ := other.MarshalBinary(); !bytes.Equal(got, want) || other.Serving()[0] != 0 {
			t.Errorf("%v: a restored bandit continues differently", rule)
		}
		wrong := newBandit(t, 3, (rule+1)%3)
		if err := wrong.UnmarshalBinary(saved); noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("%v: a snapshot of another rule: %v", rule, err)
		}
		saved[len(saved)/2] ^= 1
		if err := other.UnmarshalBinary(saved); noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("%v: a damaged snapshot: %v", rule, err)
		}
	}
}

// Invalid input is refused, and the bandit does not change.
func TestRefused(t *testing.T) {
	if _, err := New(0, UCB); noregret.CodeOf(err) != noregret.BadInput {
		t.Errorf("no arms: %v", err)
	}
	if _, err := New(2, 3); noregret.CodeOf(err) != noregret.BadInput {
		t.Errorf("rule 3: %v", err)
	}
	b := newBandit(t, 2, UCB)
	play(t, b, []float64{0, 1}, 20, random.New(1, "bandit"))
	if err := b.Observe([]Reward{{Arm: slices.Index(b.Serving(), 1), Value: 1e100, Size: 1}}); err != nil {
		t.Errorf("1e100 is refused: %v", err)
	}
	before, _ := b.MarshalBinary()
	k := slices.Index(b.Serving(), 1)
	for name, rewards := range map[string][]Reward{
		"none":          nil,
		"arm −1":        {{Arm: -1, Size: 1}},
		"arm 2":         {{Arm: 2, Size: 1}},
		"not served":    {{Arm: 1 - k, Size: 1}},
		"NaN":           {{Arm: k, Value: math.NaN(), Size: 1}},
		"infinite":      {{Arm: k, Value: math.Inf(-1), Size: 1}},
		"too large":     {{Arm: k, Value: 1.1e100, Size: 1}},
		"no size":       {{Arm: k, Value: 1}},
		"negative size": {{Arm: k, Size: -1}},
		"second is bad": {{Arm: k, Value: 1, Size: 1}, {Arm: k, Size: math.NaN()}},
	} {
		if err := b.Observe(rewards); noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, k := range []int{-1, 2} {
		if err := b.RetireArm(k); noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("arm %d is retired: %v", k, err)
		}
	}
	if after, _ := b.MarshalBinary(); !bytes.Equal(before, after) {
		t.Error("refusals changed the state")
	}
	if err := b.RetireArm(0); err != nil {
		t.Fatal(err)
	}
	for k := range 2 {
		if err := b.RetireArm(k); noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("arm %d is retired: %v", k, err)
		}
	}
}

// A round allocates nothing.
func TestAllocations(t *testing.T) {
	for _, rule := range rules {
		b, r := newBandit(t, 10, rule), random.New(1, "bandit")
		rewards := make([]Reward, 1)
		round := func() {
			rewards[0] = Reward{Arm: b.Draw(r), Value: r.NormFloat64(), Size: 1}
			if err := b.Observe(rewards); err != nil {
				t.Fatal(err)
			}
		}
		for range 20 {
			round()
		}
		if n := testing.AllocsPerRun(100, round); n != 0 {
			t.Errorf("%v: %v allocations a round", rule, n)
		}
	}
}
