package experiment

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/policy"
)

// maskedDef is an experiment of four arms with ranked units, whose rewards may be lost.
const maskedDef = `name: shop
arms: [{name: a, value: 1}, {name: b, value: 2}, {name: c, value: 3}, {name: d, value: 4}]
metrics: [{name: bought, range: [0, 1]}]
objective: {goals: [{metric: bought}]}
policy: {kind: %s}
attribution_window: 10m
round: {length: 5m}
open_tokens: 50000
%s`

// maskedWorld is a world of ranked units that do not allow all arms, and of lost rewards.
type maskedWorld struct {
	name string
	mean []float64 // of rewards of 0 or 1; the first arm is the best, the last the worst
	// allow is the probability that a unit allows an arm, given the reward that the arm would have.
	allow func(k int, reward float64) float64
	lost  []float64 // the probability that a reward is lost, by arm
}

func maskedWorlds() []maskedWorld {
	mean, none := []float64{.5, .4, .4, .1}, make([]float64, 4)
	return []maskedWorld{
		{"the worst arm half the time", mean, func(k int, _ float64) float64 {
			return []float64{1, 1, 1, .5}[k]
		}, none},
		{"an arm more often where it fails", mean, func(_ int, reward float64) float64 { return .9 - .3*reward }, none},
		{"an arm more often where it succeeds", mean, func(_ int, reward float64) float64 {
			return .6 + .3*reward
		}, none},
		{"lost rewards of the worst arm", mean, func(int, float64) float64 { return 1 }, []float64{0, 0, .2, .8}},
		{"both", mean, func(int, float64) float64 { return .8 }, []float64{.1, .2, .3, .7}},
	}
}

// maskedResult is what a run gave.
type maskedResult struct {
	regret        float64 // against the best arm where that was allowed, per unit
	worst         float64 // the share of the worst arm in units that allow it
	uniform       float64 // the mean reward of the arms that units allowed, over units that count
	covered, lost int
}

// play ranks units in rounds.
func (m *maskedWorld) play(w *rankWorld, rng *random.Source, rounds, units int) (out maskedResult) {
	w.t.Helper()
	worst, awake, best := 0.0, 0.0, 0.0
	value := make([]float64, len(m.mean))
	for round := range rounds {
		for i := range units {
			var among []int
			for k, mean := range m.mean {
				value[k] = 0
				if rng.Float64() < mean {
					value[k] = 1
				}
				if rng.Float64() < m.allow(k, value[k]) {
					among = append(among, k)
				}
			}
			if len(among) == 0 {
				continue
			}
			p, allowed := w.state.Policy("shop"), make([]bool, len(m.mean))
			for _, k := range among {
				allowed[k] = true
			}
			unit, context, x := fmt.Sprint(round, "-", i), json.RawMessage(nil), []float64(nil)
			if p.Linear != nil {
				var err error
				context = json.RawMessage(fmt.Sprintf(`{"age": %v}`, rng.Float64()))
				if x, err = p.Linear.Encoder().Encode(nil, context); err != nil {
					w.t.Fatal(err)
				}
			}
			c, err := p.DecideAmong(unit, x, allowed)
			if err != nil {
				w.t.Fatal(err)
			}
			e := join.Unit{
				Version: c.Version, Arm: c.Arm, Propensity: c.Propensity, Unit: policy.FormatUnit(c.Unit),
				Time: w.now.UnixMilli(), Context: context, Kept: &join.Kept{Redrawn: c.Redrawn},
			}
			if len(among) < len(allowed) {
				e.Kept.Among = among
			}
			if s := w.status(KindExposures, one(e)); s != api.Accepted {
				w.t.Fatalf("ranking: %s", s)
			}
			if allowed[0] {
				best++
				out.regret += value[0] - value[c.Arm]
			}
			if last := len(m.mean) - 1; allowed[last] {
				awake++
				if c.Arm == last {
					worst++
				}
			}
			if !c.Redrawn {
				sum := 0.0
				for _, k := range among {
					sum += value[k]
				}
				out.uniform += sum / float64(len(among))
				out.covered++
			}
			if rng.Float64() < m.lost[c.Arm] {
				out.lost++
				continue
			}
			w.reward(unit, value[c.Arm])
		}
		w.mature()
	}
	out.regret /= best
	out.worst = worst / awake
	out.uniform /= float64(out.covered)
	return out
}

// TestMaskedPolicies: an arm that units exclude, or whose rewards are lost, gains nothing by that
// with any policy of the service. The regret against the best arm is small over the units that
// allowed it, and the worst arm has less than 2/K of the units that allowed it.
func TestMaskedPolicies(t *testing.T) {
	testsize.NoRace(t)
	rounds, units := testsize.Of(40, 25), 150
	type kind struct{ name, more string }
	kinds := []kind{
		{"pasto", ""},
		{"thompson", ""},
		{"ucb", ""},
		{"kl-ucb", ""},
		{"tsallis-inf", ""},
		{"tsallis-inf", "drift: {memory: 10}\n"},
		{"tsallis-inf", "drift: {memory: 20}\n"},
	}
	for _, name := range policy.LinearKinds() {
		more := "context: [{name: age, kind: number, range: [0, 1]}]\nexploration_floor: 0.1\n"
		kinds = append(kinds, kind{name, more})
	}
	for _, m := range maskedWorlds() {
		for _, k := range kinds {
			w := newRankWorld(t, fmt.Sprintf(maskedDef, k.name, k.more))
			got := m.play(w, random.New(1, "masked "+m.name), rounds, units)
			if !(got.worst < 2.0/4) {
				t.Errorf("%s: %s %s gives the worst arm %.3f of the units that allow it", m.name, k.name, k.more,
					got.worst)
			}
			if !(got.regret < .11) { // of .17 for uniform draws
				t.Errorf("%s: %s %s has the regret %.3f per unit", m.name, k.name, k.more, got.regret)
			}
			if r := w.report(); (r.Health.Replaced > 0) != (got.lost > 0 && k.name == "tsallis-inf") {
				t.Errorf("%s: %s %s: %d units are replaced, %d rewards are lost", m.name, k.name, k.more,
					r.Health.Replaced, got.lost)
			}
		}
	}
}

// TestMaskedUniform: the comparison with the uniform policy is of units that exclude arms, too.
func TestMaskedUniform(t *testing.T) {
	testsize.NoRace(t)
	for _, k := range []struct{ name, more string }{
		{"tsallis-inf", "exploration_floor: 0.4\n"},
		{"thompson", "exploration_floor: 0.4\n"},
		{
			"squarecb",
			"context: [{name: age, kind: number, range: [0, 1]}]\nexploration_floor: 0.4\n",
		},
	} {
		for _, m := range maskedWorlds()[:3] {
			w := newRankWorld(t, fmt.Sprintf(maskedDef, k.name, k.more))
			got := m.play(w, random.New(2, "uniform "+m.name), 10, testsize.Of(1500, 600))
			u := w.report().Uniform
			g := u.Goals[0]
			if !contains(g.Uniform, got.uniform) || u.Covered != int64(got.covered) {
				t.Errorf("%s, %s: %s of %d units, want %.4f of %d", m.name, k.name, describe(g), u.Covered, got.uniform,
					got.covered)
			}
			if g.MeanWeight == nil || math.Abs(*g.MeanWeight-1) > .05 {
				t.Errorf("%s, %s: %s: want the mean weight 1", m.name, k.name, describe(g))
			}
		}
	}
}

// TestUniformLostRewards: where rewards of one arm are lost, the mean weight says that the units
// with a reward are no fair sample.
func TestUniformLostRewards(t *testing.T) {
	m := maskedWorlds()[3]
	w := newRankWorld(t, fmt.Sprintf(maskedDef, "tsallis-inf", "exploration_floor: 0.4\n"))
	m.play(w, random.New(3, "lost"), 12, 400)
	if g := w.report().Uniform.Goals[0]; g.MeanWeight == nil || *g.MeanWeight > .9 {
		t.Errorf("%s: want a mean weight below 0.9", describe(g))
	}
}

// TestUniformExpectedUnits: a version in which an arm is expected to have fewer than 10 units does
// not count, whether or not it has any.
func TestUniformExpectedUnits(t *testing.T) {
	for units, want := range map[int]int64{99: 0, 100: 100} {
		w := newRankWorld(t, uniformDef) // two arms have the share 0.1
		w.serve("one", units, func(int) float64 { return 1 })
		w.mature()
		if u := w.report().Uniform; u.Covered != want || u.Units != int64(units) {
			t.Errorf("%d of %d units are covered, want %d", u.Covered, units, want)
		}
	}
}

// TestMaskedEstimates computes what a bandit on estimated losses learns from one version of ranked
// units, by the definition: an arm gets Σ loss/p over its units, with p among the arms that the
// unit allowed, and the losses of the units that did not allow it. It is the same after a change of
// the definition, for which the learner learns anew from what is kept, and with the units of two
// versions put together.
func TestMaskedEstimates(t *testing.T) {
	text := fmt.Sprintf(maskedDef, "tsallis-inf", "")
	w, rng := newRankWorld(t, text), random.New(5, "estimates")
	want := make([]float64, 4)
	serve := func(version string) {
		for i := range 300 {
			among := []int{rng.IntN(2), 2, 3}
			if rng.IntN(3) == 0 {
				among = nil
			}
			c, e := w.rank(fmt.Sprint(version, i), false, among...)
			if s := w.status(KindExposures, e); s != api.Accepted {
				t.Fatal(s)
			}
			if c.Redrawn {
				continue
			}
			reward := float64(rng.IntN(2))
			w.reward(fmt.Sprint(version, i), reward)
			want[c.Arm] += (1 - reward) / c.Propensity
			for k := range want {
				if len(among) > 0 && !slices.Contains(among, k) {
					want[k] += 1 - reward
				}
			}
		}
		w.mature()
	}
	check := func(what string) {
		t.Helper()
		l := w.state.live["shop"].learning.learner.(*rewardLearner)
		for k, g := range l.EstimatedLosses() {
			if math.Abs(g-want[k]) > 1e-9*want[k] {
				t.Errorf("%s: the estimates are %v, want %v", what, l.EstimatedLosses(), want)
				break
			}
		}
	}
	serve("one")
	check("one version")
	serve("two")
	check("two versions")
	x := w.state.live["shop"]
	a, b := &x.learning.Recent[0], &x.learning.Recent[1]
	a.Masked = mergeMasked(a, b, len(x.roster.def.Metrics))
	a.Mixture = mergeMixtures(a, b)
	for k := range b.Stats {
		a.Stats[k].Merge(&b.Stats[k])
	}
	x.learning.Recent = slices.Delete(x.learning.Recent, 1, 2)
	if err := x.learning.rebuildLearner(&x.roster, x.joiner); err != nil {
		t.Fatal(err)
	}
	check("both together")
}

// TestMaskedLater: a bandit that learns anew after a change of its goal has the sums of a metric
// whose window closes later than that of the goal before, also of versions that were put together
// while it was open.
func TestMaskedLater(t *testing.T) {
	text := strings.Replace(fmt.Sprintf(maskedDef, "tsallis-inf", ""), "[{name: bought, range: [0, 1]}]",
		"[{name: bought, range: [0, 1]}, {name: stay, range: [0, 1], window: %s}, "+
			"{name: read, range: [0, 1], default: 0, window: %[1]s}]", 1)
	run := func(window string, rounds int) (out [][]float64) {
		w, rng := newRankWorld(t, fmt.Sprintf(text, window)), random.New(6, "later")
		for round := range rounds {
			for i := range 40 {
				among := []int{rng.IntN(2), 2, 3}
				if rng.IntN(3) == 0 {
					among = nil
				}
				unit := fmt.Sprint(round, "-", i)
				_, e := w.rank(unit, false, among...)
				if s := w.status(KindExposures, e); s != api.Accepted {
					t.Fatal(s)
				}
				w.status(KindFeedback, one(join.Unit{
					Unit: policy.FormatUnit(w.state.Policy("shop").Unit(unit)), Metrics: map[string]float64{
						"bought": float64(rng.IntN(2)), "stay": rng.Float64(), "read": rng.Float64(),
					},
				}))
			}
			w.mature()
			if round%30 == 20 {
				b, err := w.state.MarshalBinary()
				if err != nil {
					t.Fatal(err)
				}
				if w.state = NewState(); w.state.UnmarshalBinary(b) != nil {
					t.Fatal("the state cannot be read again")
				}
			}
		}
		for range 5 {
			w.now = w.now.Add(100 * time.Hour)
			w.apply(KindClock, NameEvent{Experiment: "shop"})
		}
		for _, goal := range []string{"stay", "read"} {
			w.redefine(strings.Replace(fmt.Sprintf(text, window), "metric: bought", "metric: "+goal, 1))
			x := w.state.live["shop"]
			out = append(out, x.learning.learner.(*rewardLearner).EstimatedLosses())
			for _, r := range x.learning.Recent {
				if r.Version > 0 || r.Merged {
					t.Errorf("%s: version %d is open", window, r.Version)
				}
			}
		}
		return out
	}
	for _, rounds := range []int{10, keepRecent + 20} { // the windows of 96h are those of 48 rounds
		want := run("10m", rounds)
		for _, window := range []string{"96h", "400h"} {
			got := run(window, rounds)
			for goal := range want {
				for k := range want[goal] {
					if math.Abs(got[goal][k]-want[goal][k]) > 1e-9*want[goal][k] || !(want[goal][k] > 0) {
						t.Errorf("%d rounds, %s: the estimates are %v, with one window %v", rounds, window, got[goal],
							want[goal])
						break
					}
				}
			}
		}
	}
}
