package drifting

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret/forget"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/confident"
)

// allDrifts are drifts of each kind.
func allDrifts() []forget.Rule {
	list := []forget.Rule{
		{Kind: forget.Restart, Rounds: 60},
		{Kind: forget.Discount, Rate: 0.03},
		{Kind: forget.Window, Rounds: 30},
		{Kind: forget.Window, Rounds: 130},
		{Kind: forget.Adaptive},
	}
	for _, name := range forget.Detectors() {
		list = append(list, forget.Rule{Kind: forget.Detector, Detector: name})
	}
	return list
}

// guardedClicks is a goal and a hard guardrail relative to the control.
func guardedClicks(t *testing.T) *pasto.Goals {
	t.Helper()
	g, err := pasto.NewGoals([]pasto.Metric{
		{Name: "clicks", Upper: 1},
		{Name: "sales", Role: pasto.Guardrail, Hard: true, Relative: true, Threshold: -0.05, Upper: 1},
	}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func newDrifting(t *testing.T, f pasto.Objective, arms int, o confident.Options, d forget.Rule) *Learner {
	t.Helper()
	l, err := New(f, arms, o, d)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// unitsOf returns the observations of a round of units, of which each arm has its share, with these
// rates of the two metrics.
func unitsOf(r *random.Source, serving []float64, clicks, sales []float64, n int) []pasto.Observation {
	var obs []pasto.Observation
	for k, p := range serving {
		size := math.Round(p * float64(n))
		if size == 0 {
			continue
		}
		o := pasto.Observation{Arm: k, Size: size}
		for _, rate := range []float64{clicks[k], sales[k]} {
			v := rate * (1 - rate)
			o.Metrics = append(o.Metrics, min(max(rate+math.Sqrt(v/size)*stat.Normal(r), 0), 1))
			o.Variances = append(o.Variances, v)
		}
		obs = append(obs, o)
	}
	return obs
}

func controlled() confident.Options {
	o := confident.DefaultOptions()
	o.Control = 0
	return o
}

// Between two restarts the learner serves and deploys what a fresh one does that has seen the same
// rounds, bit for bit.
func TestRestartIsAFreshLearner(t *testing.T) {
	f := guardedClicks(t)
	l := newDrifting(t, f, 3, controlled(), forget.Rule{Kind: forget.Restart, Rounds: 25})
	r := random.New(1, "restart")
	var fresh *confident.Learner
	for round := range 100 {
		if round%25 == 0 {
			var err error
			if fresh, err = confident.New(f, 3, controlled()); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(l.Serving(), fresh.Serving()) || !slices.Equal(l.Deployed(), fresh.Deployed()) {
			t.Fatalf("round %d: %v and %v, fresh %v and %v", round, l.Serving(), l.Deployed(), fresh.Serving(),
				fresh.Deployed())
		}
		obs := unitsOf(r, l.Serving(), []float64{.02, .03, .01}, []float64{.01, .01, .01}, 20_000)
		if err := l.Observe(obs); err != nil {
			t.Fatal(err)
		}
		if err := fresh.Observe(obs); err != nil {
			t.Fatal(err)
		}
	}
	events, count := l.Events()
	if count != 4 || events[3].Round != 100 || events[3].Cause != "interval" || events[3].Arms != nil {
		t.Errorf("%d events: %+v", count, events)
	}
}

// A window's estimates are those of a learner that has seen the last rounds only.
func TestWindowIsTheLastRounds(t *testing.T) {
	f, r := guardedClicks(t), random.New(2, "window")
	for _, rounds := range []int{7, 63} {
		l := newDrifting(t, f, 3, controlled(), forget.Rule{Kind: forget.Window, Rounds: rounds})
		var seen [][]pasto.Observation
		for range 100 {
			obs := unitsOf(r, []float64{.4, .3, .3}, []float64{.02, .03, .01}, []float64{.01, .01, .01}, 20_000)
			for i := range obs {
				obs[i].Earlier = true
			}
			seen = append(seen, obs)
			if err := l.Observe(obs); err != nil {
				t.Fatal(err)
			}
		}
		fresh, err := confident.New(f, 3, controlled())
		if err != nil {
			t.Fatal(err)
		}
		for _, obs := range seen[100-rounds:] {
			if err := fresh.Observe(obs); err != nil {
				t.Fatal(err)
			}
		}
		a, e := l.Estimate()
		b, g := fresh.Estimate()
		for k := range 3 {
			if !slices.Equal(a.Arm(k), b.Arm(k)) || !slices.Equal(e.Arm(k), g.Arm(k)) {
				t.Errorf("window of %d: arm %d is %v ± %v, of the last rounds %v ± %v", rounds, k, a.Arm(k), e.Arm(k),
					b.Arm(k), g.Arm(k))
			}
		}
		if l.Memory() != float64(rounds) {
			t.Errorf("memory %v, want %d", l.Memory(), rounds)
		}
	}
}

// A discount's means are weighted by (1 − rate)^age, and their errors those of the weights' sum.
func TestDiscountWeighs(t *testing.T) {
	const rate, rounds, size = 0.1, 60, 1000.0
	g, err := pasto.NewGoals([]pasto.Metric{{Name: "x"}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	o := confident.DefaultOptions()
	o.ChangeThreshold = 0
	l := newDrifting(t, g, 1, o, forget.Rule{Kind: forget.Discount, Rate: rate})
	r, sum, weights := random.New(3, "discount"), 0.0, 0.0
	for range rounds {
		v := r.Float64()
		sum, weights = (1-rate)*sum+v, (1-rate)*weights+1
		if err := l.Observe([]pasto.Observation{
			{Metrics: []float64{v}, Size: size, Variances: []float64{4}},
		}); err != nil {
			t.Fatal(err)
		}
	}
	means, _ := l.Estimate()
	if got, want := means.Arm(0)[0], sum/weights; math.Abs(got-want) > 1e-12 {
		t.Errorf("mean %v, want %v", got, want)
	}
	if got, want := l.Memory(), weights; math.Abs(got-want) > 1e-9 {
		t.Errorf("memory %v, want %v", got, want)
	}
	// 4 per unit and no excess of the scatter of rounds: its share of what they are worth.
	if got, want := l.in.Model().Size(0), weights*size; math.Abs(got-want) > 1e-6 {
		t.Errorf("%v units, want %v", got, want)
	}
}

// A snapshot restores the learner in the middle of a run: it goes on bit for bit, and its own
// snapshot is the same, with arms added and retired before and after.
func TestDriftingSnapshots(t *testing.T) {
	for _, d := range allDrifts() {
		f, r := guardedClicks(t), random.New(4, "snapshot")
		l := newDrifting(t, f, 3, controlled(), d)
		clicks, sales := []float64{.02, .03, .01, .025}, []float64{.01, .01, .01, .01}
		play := func(l *Learner, obs []pasto.Observation) {
			if err := l.Observe(obs); err != nil {
				t.Fatal(err)
			}
		}
		for round := range 90 {
			if round == 50 {
				if _, err := l.AddArm(); err != nil {
					t.Fatal(err)
				}
			}
			if round == 70 {
				clicks[1] = .01
				if err := l.RetireArm(2); err != nil {
					t.Fatal(err)
				}
			}
			play(l, unitsOf(r, l.Serving(), clicks, sales, 20_000))
		}
		saved, err := l.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		other := newDrifting(t, f, 3, controlled(), d)
		if err := other.UnmarshalBinary(saved); err != nil {
			t.Fatalf("%+v: %v", d, err)
		}
		for range 100 {
			if !slices.Equal(l.Serving(), other.Serving()) || !slices.Equal(l.Deployed(), other.Deployed()) {
				t.Fatalf("%+v: serves %v, restored %v", d, l.Serving(), other.Serving())
			}
			obs := unitsOf(r, l.Serving(), clicks, sales, 20_000)
			play(l, obs)
			play(other, obs)
		}
		a, _ := l.MarshalBinary()
		b, _ := other.MarshalBinary()
		if !bytes.Equal(a, b) {
			t.Errorf("%+v: the snapshots differ after 100 rounds", d)
		}
		before, _ := other.MarshalBinary()
		bad := slices.Clone(saved)
		bad[len(bad)/2] ^= 1
		after, err := before, other.UnmarshalBinary(bad)
		if again, _ := other.MarshalBinary(); err == nil || !bytes.Equal(after, again) {
			t.Errorf("%+v: a damaged snapshot: %v, or it changed the learner", d, err)
		}
	}
}

// A snapshot of Adaptive opens where the candidate that it follows has forgotten an arm which the
// one without a discount still knows.
func TestAdaptiveSnapshotOfForgotten(t *testing.T) {
	f := guardedClicks(t)
	d, o := forget.Rule{Kind: forget.Adaptive}, controlled()
	o.ChangeThreshold = 0
	l, r, rate := newDrifting(t, f, 3, o, d), random.New(7, "forgotten"), 0.2
	forgotten := func() bool { return l.candidate(l.d.Leader).Rounds(2) == 0 && l.candidate(0).Rounds(2) > 0 }
	for round := 0; !forgotten(); round++ {
		if round == 2000 {
			t.Fatal("the arm is never forgotten")
		}
		if rate += 0.02 * stat.Normal(r); rate < 0.05 || rate > 0.5 {
			rate = 0.2
		}
		share := slices.Clone(l.Serving())
		if round >= 40 { // the third arm has no units
			share[2] = 0
		}
		if err := l.Observe(unitsOf(r, share, []float64{.2, rate, .2}, []float64{.01, .01, .01}, 20_000)); err != nil {
			t.Fatal(err)
		}
	}
	saved, err := l.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	if err := newDrifting(t, f, 3, o, d).UnmarshalBinary(saved); err != nil {
		t.Error(err)
	}
}

// After the best of two arms has become the worse one, each way to forget finds the other one, and
// a learner that forgets nothing does not within the same time.
func TestDriftingFollows(t *testing.T) {
	f := guardedClicks(t)
	sales := []float64{.02, .02, .02}
	share := func(l pasto.Learner, r *random.Source) float64 {
		for round := range 400 {
			clicks := []float64{.02, .03, .015}
			if round >= 300 {
				clicks = []float64{.02, .022, .03}
			}
			if err := l.Observe(unitsOf(r, l.Serving(), clicks, sales, 20_000)); err != nil {
				t.Fatal(err)
			}
		}
		return l.Deployed()[2]
	}
	o := controlled()
	o.ChangeThreshold = 0
	runs := testsize.Of(20, 3)
	for _, d := range allDrifts() {
		mean := 0.0
		for seed := range uint64(runs) {
			mean += share(newDrifting(t, f, 3, o, d), random.New(seed, "follow")) / float64(runs)
		}
		t.Logf("%+v: %.3f", d, mean)
		if least := map[bool]float64{false: .7, true: .3}[d.Kind == forget.Restart]; mean < least {
			t.Errorf("%+v deploys %.3f of the new best arm, want %v", d, mean, least)
		}
	}
	l, err := confident.New(f, 3, o)
	if err != nil {
		t.Fatal(err)
	}
	if p := share(l, random.New(0, "follow")); p > .5 {
		t.Errorf("without forgetting it deploys %.3f of it, want less than half", p)
	}
}

// Adaptive keeps a long memory where nothing changes, and takes a short one where means change all
// the time.
func TestAdaptiveMemory(t *testing.T) {
	f := guardedClicks(t)
	memory := func(wave float64, seed uint64) float64 {
		o := controlled()
		o.ChangeThreshold = 0
		l, r := newDrifting(t, f, 3, o, forget.Rule{Kind: forget.Adaptive}), random.New(seed, "memory")
		for round := range 450 {
			s := wave * math.Sin(2*math.Pi*float64(round)/200)
			clicks, sales := []float64{.03, .03 + s, .03 - s}, []float64{.03, .03, .03}
			obs := unitsOf(r, []float64{.4, .3, .3}, clicks, sales, 50_000)
			for i := range obs { // whatever is served
				obs[i].Earlier = true
			}
			if err := l.Observe(obs); err != nil {
				t.Fatal(err)
			}
		}
		return l.Memory()
	}
	for seed := range uint64(5) {
		if calm, wild := memory(0, seed), memory(.01, seed); calm < 450 || wild > 64 {
			t.Errorf("seed %d: memories %v without and %v with waves", seed, calm, wild)
		}
	}
}

// A round allocates nothing once buffers have grown.
func TestDriftingAllocatesNothing(t *testing.T) {
	for _, d := range []forget.Rule{
		{Kind: forget.Discount, Rate: .05},
		{Kind: forget.Adaptive},
		{Kind: forget.Detector, Detector: "cusum"},
		{Kind: forget.Detector, Detector: "page-hinkley"},
	} {
		l, r := newDrifting(t, guardedClicks(t), 3, controlled(), d), random.New(5, "allocations")
		var obs []pasto.Observation
		round := func() {
			if err := l.Observe(obs); err != nil {
				t.Fatal(err)
			}
		}
		for range 200 {
			obs = unitsOf(r, []float64{.4, .3, .3}, []float64{.02, .02, .02}, []float64{.02, .02, .02}, 10_000)
			for i := range obs {
				obs[i].Earlier = true
			}
			round()
		}
		for range 300 { // every candidate has found a change and has the memory for it
			round()
		}
		if n := testing.AllocsPerRun(50, round); n > 0 {
			t.Errorf("%+v: %v allocations a round", d, n)
		}
	}
}

func TestBeginRefused(t *testing.T) {
	l := newDrifting(t, guardedClicks(t), 2, controlled(), forget.Rule{Kind: forget.Adaptive})
	before, _ := l.MarshalBinary()
	if err := l.Begin([]int{1, 2}); err == nil {
		t.Error("an arm that does not exist was begun anew")
	}
	if err := l.Begin(nil); err != nil {
		t.Error(err)
	}
	if after, _ := l.MarshalBinary(); !bytes.Equal(before, after) {
		t.Error("the state has changed")
	}
}

func TestDriftRefused(t *testing.T) {
	for _, d := range []forget.Rule{
		{},
		{Kind: "other"},
		{Kind: forget.Restart},
		{Kind: forget.Restart, Rounds: 100_001},
		{Kind: forget.Window, Rounds: -1},
		{Kind: forget.Discount, Rate: 1},
		{Kind: forget.Discount, Rate: math.NaN()},
		{Kind: forget.Discount, Rate: .1, Rounds: 3},
		{Kind: forget.Adaptive, Rate: .1},
		{Kind: forget.Detector},
		{Kind: forget.Detector, Detector: "other"},
		{Kind: forget.Window, Rounds: 3, Detector: "cusum"},
		{Kind: forget.Detector, Detector: "cusum:threshold=0"},
		{Kind: forget.Adaptive, Rounds: 5},
		{Kind: forget.Restart, Rounds: 5, Mode: forget.Steps},
		{Kind: forget.Restart, Rounds: 5, Mode: forget.Full, Warm: 2},
	} {
		if _, err := New(guardedClicks(t), 2, controlled(), d); err == nil {
			t.Errorf("%+v was taken", d)
		}
	}
}

// Observations with noise are refused, and change nothing.
func TestNoiseRefused(t *testing.T) {
	l := newDrifting(t, guardedClicks(t), 2, controlled(), forget.Rule{Kind: forget.Restart, Rounds: 10})
	before, _ := l.MarshalBinary()
	err := l.Observe([]pasto.Observation{{
		Metrics: []float64{.1, .2}, Size: 10,
		Noise: &pasto.Noise{Step: []float64{1, 1}, Total: []float64{1, 1}},
	}})
	if err == nil || !strings.Contains(err.Error(), "without drift") {
		t.Errorf("noise: %v", err)
	}
	if after, _ := l.MarshalBinary(); !bytes.Equal(before, after) {
		t.Error("the state has changed")
	}
}

// Where nothing changes detectors raise few alarms: of 2 metrics of 3 arms, in 5,000 rounds.
func TestDetectorsSeldomAlarm(t *testing.T) {
	for _, name := range forget.Detectors() {
		alarms, runs := 0, testsize.Of(20, 2)
		for seed := range uint64(runs) {
			rule := forget.Rule{Kind: forget.Detector, Detector: name}
			l, r := newDrifting(t, guardedClicks(t), 3, controlled(), rule), random.New(seed, "alarms")
			rates := []float64{.02, .02, .02}
			for range 5000 {
				obs := unitsOf(r, []float64{.4, .3, .3}, rates, rates, 20_000)
				for i := range obs {
					obs[i].Earlier = true
				}
				if err := l.Observe(obs); err != nil {
					t.Fatal(err)
				}
			}
			_, n := l.Events()
			alarms += n
		}
		t.Logf("%s: %d alarms in %d rounds", name, alarms, 5000*runs)
		if alarms > 2*runs {
			t.Errorf("%s: %d alarms in %d runs of 5,000 rounds, want at most 2 a run", name, alarms, runs)
		}
	}
}

// Where means do not change what is served holds the guardrail: in each memory with 95 %. The arms
// are worse than the limit by as much as they are easily taken for good.
func TestDriftingHoldsGuardrails(t *testing.T) {
	f := guardedClicks(t)
	clicks, sales := []float64{.02, .03, .03}, []float64{.02, .0188, .0186} // the limit is .019
	runs, rounds := testsize.Of(60, 10), 300
	for _, d := range []forget.Rule{
		{Kind: forget.Restart, Rounds: 60},
		{Kind: forget.Discount, Rate: 1. / 60},
		{Kind: forget.Window, Rounds: 60},
		{Kind: forget.Detector, Detector: "cusum"},
		{Kind: forget.Adaptive},
	} {
		broken, served, memories := 0, 0.0, 0
		for seed := range uint64(runs) {
			l, r := newDrifting(t, f, 3, controlled(), d), random.New(seed, "holds")
			bad := false
			for round := range rounds {
				p := l.Serving()
				mean := 0.0
				for k, v := range p {
					mean += v * sales[k]
				}
				bad = bad || mean < .019-1e-12
				served += (1 - p[0]) / float64(runs*rounds)
				if err := l.Observe(unitsOf(r, p, clicks, sales, 100_000)); err != nil {
					t.Fatal(err)
				}
				if (round+1)%60 == 0 {
					memories++
					if bad {
						broken++
					}
					bad = false
				}
			}
		}
		t.Logf("%+v: broken in %d of %d memories, %.3f of the traffic on the arms that break it", d, broken, memories,
			served)
		if float64(broken) > .05*float64(memories)+3*math.Sqrt(.05*float64(memories)) {
			t.Errorf("%+v: broken in %d of %d memories, want at most 5 %%", d, broken, memories)
		}
		if served < .01 {
			t.Errorf("%+v: %.3f of the traffic explores, want more", d, served)
		}
	}
}
