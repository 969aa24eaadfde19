package play

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/bandit"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/regret"
)

// playBandits runs, and fails the test on an error.
func playBandits(t *testing.T, o BanditOptions) []BanditResult {
	t.Helper()
	results, err := RunBandits(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// allFitting returns the names of the algorithms that fit a game, some with options.
func allFitting(t *testing.T, game string) []string {
	t.Helper()
	var names []string
	for _, e := range banditLearners() {
		if slices.Contains(banditFits(&e), game) {
			names = append(names, e.Name)
		}
	}
	if game == "bernoulli" {
		names = append(names, "inf:q=0.75", "ucb:alpha=2.1", "ucb:alpha=1", "moss:sigma=1", "etc:turns=40",
			"exp3:rate=0.05", "exploring:explore=0.2")
	}
	return names
}

// TestBanditBoundsHold plays thousands of runs of every algorithm in every synthetic game: the mean
// regret is within the bound, where the theory has one, at the end and at every point of the curve,
// up to 4 standard errors.
func TestBanditBoundsHold(t *testing.T) {
	testsize.NoRace(t)
	runs, rounds := testsize.Of(1000, 40), testsize.Of(1000, 600)
	bounds := 0
	for _, c := range []BanditOptions{
		{Game: "bernoulli"},
		{Game: "bernoulli", Means: []float64{0.5, 0.45}},
		{Game: "bernoulli", Means: []float64{0, 1}},
		{Game: "bernoulli", Means: []float64{0.4, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5}},
		{Game: "gaussian", Means: []float64{-1, 0, 0.5}},
		{Game: "gaussian:sd=0.3", Means: []float64{0, 0.1}},
		{Game: "switching:period=100", Arms: 3},
		{Game: "shifting", Arms: 2},
		{Game: "shifting:gap=0.4", Arms: 6},
	} {
		name, _, _ := strings.Cut(c.Game, ":")
		c.Learners, c.Rounds, c.Runs, c.Seed, c.Checkpoints = allFitting(t, name), rounds, runs, 1, 10
		for _, r := range playBandits(t, c) {
			if !math.IsNaN(r.Bound) {
				bounds++
			}
			if !within(&r) {
				t.Errorf("%s in %s with %v: %v above %v", r.Learner, r.Game, r.Means, r.Regret(), r.Bound)
			}
			for _, q := range r.Curve {
				if q.Regret.Mean-4*q.Regret.StandardError > q.Theory*(1+1e-9) {
					t.Errorf("%s in %s with %v: %v in round %d, above %v", r.Learner, r.Game, r.Means, q.Regret,
						q.Round, q.Theory)
				}
			}
			if r.Length.Mean != float64(rounds) || len(r.Curve) == 0 {
				t.Errorf("%s in %s: %v rounds", r.Learner, r.Game, r.Length)
			}
		}
	}
	if bounds < 50 {
		t.Errorf("%d bounds", bounds)
	}
}

// within reports whether nothing is known against the bound of a result.
func within(r *BanditResult) bool {
	holds, known := r.Holds()
	return holds || !known
}

// TestHolds checks that a regret above its bound is found.
func TestHolds(t *testing.T) {
	r := playBandits(t, BanditOptions{Learners: []string{"exp3"}, Game: "bernoulli", Rounds: 200, Runs: 30})[0]
	if holds, known := r.Holds(); !holds || !known || !(r.Ratio() < 1) {
		t.Errorf("ratio %v", r.Ratio())
	}
	r.Bound = r.Pseudo.Mean - 5*r.Pseudo.StandardError
	if holds, known := r.Holds(); holds || !known {
		t.Error("a regret above the bound holds")
	}
	r.Runs = 1
	if _, known := r.Holds(); known {
		t.Error("of one run it is known whether the bound of the expected regret holds")
	}
	if r.Bound = math.NaN(); !within(&r) {
		t.Error("a result without a bound does not hold")
	}
}

// TestBanditRunIsReplicate checks a result against the referee with the algorithm made by hand, and
// that the number of workers does not matter.
func TestBanditRunIsReplicate(t *testing.T) {
	means := []float64{0.2, 0.5, 0.4}
	o := BanditOptions{
		Learners: []string{"tsallis-inf:reduced=1", "etc"}, Game: "bernoulli", Means: means, Rounds: 300, Runs: 7,
		Seed:        5,
		Checkpoints: 4,
	}
	got := playBandits(t, o)
	o.Workers = 1
	if again := playBandits(t, o); fmt.Sprint(again[0].BanditReport) != fmt.Sprint(got[0].BanditReport) {
		t.Errorf("one worker: %v, want %v", again[0], got[0])
	}
	game, err := regret.BernoulliArms(means)
	if err != nil {
		t.Fatal(err)
	}
	want, err := regret.Replicate(context.Background(), regret.Replication{
		Player: func(int) (regret.BanditPlayer, error) {
			return bandit.NewPlayer(3, bandit.TsallisINF{Estimator: bandit.ReducedVariance, Limit: 1})
		},
		Game: game, Rounds: 300, Runs: 7, Seed: 5, Checkpoints: 4,
	})
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(want) != fmt.Sprint(got[0].BanditReport) {
		t.Errorf("%v, want %v", got[0].BanditReport, want)
	}
	if low := bandit.BernoulliLowerBound(means) * math.Log(300); math.Abs(got[0].LowerBound-low) > 1e-12 {
		t.Errorf("lower bound %v, want %v", got[0].LowerBound, low)
	}
	// Three arms: the turns are ⌈(300/3)^(2/3)⌉ = 22.
	if got[1].Pulls[1].Mean > 22+1e-9 && got[1].Pulls[2].Mean > 22+1e-9 {
		t.Errorf("pulls %v", got[1].Pulls)
	}
	if total := got[1].Pulls[0].Mean + got[1].Pulls[1].Mean + got[1].Pulls[2].Mean; math.Abs(total-300) > 1e-9 {
		t.Errorf("%v pulls", total)
	}
}

// TestShiftingFoolsUCB: where all means move together, Tsallis-INF stays within its bound and the
// optimistic algorithms for independent losses pay more.
func TestShiftingFoolsUCB(t *testing.T) {
	testsize.NoRace(t)
	results := playBandits(t, BanditOptions{
		Learners: []string{"tsallis-inf", "kl-ucb", "elimination"}, Game: "shifting", Arms: 4,
		Rounds: testsize.Of(20000, 5000), Runs: testsize.Of(200, 60),
	})
	first := results[0].Regret()
	if !within(&results[0]) {
		t.Errorf("tsallis-inf: %v above %v", first, results[0].Bound)
	}
	for _, r := range results[1:] {
		v := r.Regret()
		if v.Mean-4*v.StandardError < first.Mean+4*first.StandardError {
			t.Errorf("%s: %v, tsallis-inf %v", r.Learner, v, first)
		}
	}
}

// logOf is a log of independent decisions on arms with the probabilities p and mean losses.
func logOf(rows int, p, means []float64) []regret.LoggedPull {
	r, log := random.New(1, "log"), []regret.LoggedPull{}
	for range rows {
		u, arm := r.Float64(), 0
		for ; arm < len(p)-1 && u >= p[arm]; arm++ {
			u -= p[arm]
		}
		loss := 0.0
		if r.Float64() < means[arm] {
			loss = 1
		}
		log = append(log, regret.LoggedPull{Arm: arm, Propensity: p[arm], Loss: loss})
	}
	return log
}

// TestReplayOfLog replays logs of equal and of unequal propensities: the algorithms find the best
// arm, and the losses that they meet have the means of the log.
func TestReplayOfLog(t *testing.T) {
	for _, p := range [][]float64{{1.0 / 3, 1.0 / 3, 1.0 / 3}, {0.6, 0.3, 0.1}} {
		log := logOf(30000, p, []float64{0.8, 0.5, 0.2})
		results := playBandits(t, BanditOptions{
			Learners: []string{"thompson", "exp3", "elimination"}, Game: "replay", Log: log, LogArms: 3, Rounds: 1000,
			Runs: 20, Checkpoints: 5,
		})
		for _, r := range results {
			if r.Length.Mean != 1000 || !math.IsNaN(r.LowerBound) {
				t.Errorf("%s: %v rounds", r.Learner, r.Length)
			}
			if share := r.Pulls[2].Mean / 1000; share < 0.5 {
				t.Errorf("%s: %v of the pulls are of the best arm", r.Learner, share)
			}
			far := math.Abs(r.Pseudo.Mean - r.Realized.Mean)
			if far > 5*math.Hypot(r.Pseudo.StandardError, r.Realized.StandardError) {
				t.Errorf("%s: pseudo-regret %v, realized %v", r.Learner, r.Pseudo, r.Realized)
			}
		}
		if got := results[0].Pseudo.Mean; got > 40 {
			t.Errorf("thompson: regret %v", got)
		}
	}
	// With more rounds than the log allows the runs end before, after one row in three.
	log := logOf(3000, []float64{1.0 / 3, 1.0 / 3, 1.0 / 3}, []float64{0.8, 0.5, 0.2})
	r := playBandits(t, BanditOptions{
		Learners: []string{"exp3"}, Game: "replay", Log: log, LogArms: 3, Rounds: 100000, Runs: 10, Checkpoints: 9,
	})[0]
	if math.Abs(r.Length.Mean-1000) > 60 || r.Rounds != 3000 || r.Curve[len(r.Curve)-1].Round > 1100 {
		t.Errorf("%v rounds, curve up to %v", r.Length, r.Curve[len(r.Curve)-1])
	}
}

// TestBanditsRefuse checks what cannot be played, and that the error lists what can.
func TestBanditsRefuse(t *testing.T) {
	good := BanditOptions{Learners: []string{"exp3"}, Game: "bernoulli", Rounds: 10, Runs: 1}
	for _, c := range []struct {
		change func(o *BanditOptions)
		want   string
	}{
		{func(o *BanditOptions) { o.Learners = nil }, "at least one is required"},
		{func(o *BanditOptions) { o.Rounds = 0 }, "rounds: 0: want at least 1"},
		{func(o *BanditOptions) { o.Runs = 0 }, "runs: 0: want at least 1"},
		{func(o *BanditOptions) { o.Game = "chess" }, `game: "chess": want one of bernoulli, `},
		{func(o *BanditOptions) { o.Game = "bernoulli:sd=1" }, `no option "sd"`},
		{func(o *BanditOptions) { o.Game = "gaussian:sd=-1" }, "-1 is out of range"},
		{func(o *BanditOptions) {
			o.Game = "gaussian"
		}, "is played by ucb, moss, thompson, thompson-gaussian, etc, elimination"},
		{func(o *BanditOptions) { o.Game = "losses" }, "plays the losses of a file"},
		{func(o *BanditOptions) { o.Game = "replay" }, "plays the decisions of a log"},
		{func(o *BanditOptions) { o.Means = []float64{0.5, 2} }, "2 of arm 1: want a number from 0 to 1"},
		{func(o *BanditOptions) { o.Game, o.Means = "switching", []float64{0.5} }, "means: switching takes none"},
		{func(o *BanditOptions) { o.Arms = 3 }, "has as many arms as its means or data"},
		{func(o *BanditOptions) { o.Learners = []string{"ogd-adaptive"} }, `"ogd-adaptive" is no bandit algorithm`},
		{func(o *BanditOptions) { o.Learners = []string{"exp3:eta=1"} }, `exp3: no option "eta": want one of rate`},
		{func(o *BanditOptions) { o.Learners = []string{"etc:turns=1.5"} }, "1.5: want an integer from 1 to 3"},
		{func(o *BanditOptions) { o.Learners = []string{"tsallis-inf:reduced=2"} }, "2: want 0 or 1"},
		{func(o *BanditOptions) { o.Learners = []string{"ucb:alpha=0"} }, "want a number above 0"},
		{func(o *BanditOptions) { o.LearnerEntries = []BanditEntry{{Name: "exp3"}} }, "two entries have this name"},
	} {
		o := good
		c.change(&o)
		_, err := RunBandits(context.Background(), o)
		if err == nil || !strings.Contains(err.Error(), c.want) || noregret.CodeOf(err) != noregret.Usage {
			t.Errorf("error %v (%s), want %q", err, noregret.CodeOf(err), c.want)
		}
	}
}

// alwaysFirst pulls arm 0.
type alwaysFirst struct{ arms int }

func (p alwaysFirst) Arms() int                 { return p.arms }
func (p alwaysFirst) Draw(regret.Uniform) int   { return 0 }
func (p alwaysFirst) Update(int, float64) error { return nil }

// TestOwnBandit plays an algorithm of the caller's own, whose regret is known.
func TestOwnBandit(t *testing.T) {
	r := playBandits(t, BanditOptions{
		Learners: []string{"first"}, Game: "bernoulli", Means: []float64{0.75, 0.5}, Rounds: 100, Runs: 3,
		LearnerEntries: []BanditEntry{{
			Name: "first",
			Make: func(p BanditProblem, _ func(string) float64) (Contender, error) {
				return Contender{New: func() (regret.BanditPlayer, error) { return alwaysFirst{p.Arms}, nil }}, nil
			},
		}},
	})[0]
	if r.Pseudo.Mean != 25 || r.Pseudo.StandardError != 0 || !within(&r) {
		t.Errorf("regret %v", r.Pseudo)
	}
}

// TestReadLosses reads a file and names the line of what is wrong.
func TestReadLosses(t *testing.T) {
	arms, rows, err := ReadLosses("x.csv", strings.NewReader("\ufeffa,\"b, c\"\n0,1\n0.5,2e-1\n"))
	if err != nil || !slices.Equal(arms, []string{"a", "b, c"}) || fmt.Sprint(rows) != "[[0 1] [0.5 0.2]]" {
		t.Errorf("%q %v %v", arms, rows, err)
	}
	for text, want := range map[string]string{
		"":              "x.csv:1: the file is empty",
		"a,b\n":         "x.csv:2: no round",
		"a,b\n1\n":      "x.csv:2: not valid CSV",
		"a,b\n1,2\n,3":  `x.csv:3: the loss "" of arm "a" must be a finite number`,
		"a,b\n1,+Inf\n": `x.csv:2: the loss "+Inf" of arm "b"`,
	} {
		if _, _, err := ReadLosses("x.csv", strings.NewReader(text)); err == nil ||
			!strings.HasPrefix(err.Error(), want) ||
			noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}
