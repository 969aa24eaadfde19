package classify

import (
	"math"
	"testing"

	"github.com/noregret/noregret/classify/measure"
)

// TestLevelPositives ends level stages early, with enough positives and an eighth of their
// examples, and never the model stages.
func TestLevelPositives(t *testing.T) {
	xs := stream(61, 4000)
	full := newSTAMP(t, STAMPConfig{Measure: measure.FBeta{B: 1}, FirstEpoch: 100, Config: Config{BurnIn: 50}})
	early := newSTAMP(t, STAMPConfig{
		Measure: measure.FBeta{B: 1}, FirstEpoch: 100, LevelPositives: 30,
		Config: Config{BurnIn: 50},
	})
	for _, x := range xs {
		for _, l := range []*STAMP{full, early} {
			if err := l.Observe(x); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range full.points {
		if c.LevelStage < c.Stage {
			t.Errorf("a level stage of %d examples ended after %d", c.Stage, c.LevelStage)
		}
	}
	if len(early.points) <= len(full.points) {
		t.Errorf("%d epochs with short level stages, %d without", len(early.points), len(full.points))
	}
	for i, c := range early.points {
		positives := c.Counts.TP + c.Counts.FN
		switch {
		case c.LevelStage < c.Stage && (positives < 30 || 8*c.LevelStage < c.Stage):
			t.Errorf("epoch %d: the level stage ended after %d of %d examples with %v positives", i, c.LevelStage,
				c.Stage, positives)
		case positives > 30 && 8*(c.LevelStage-1) >= c.Stage:
			t.Errorf("epoch %d: the level stage went on to %d of %d examples with %v positives", i, c.LevelStage,
				c.Stage, positives)
		}
	}
}

func newSTAMP(t *testing.T, opt STAMPConfig) *STAMP {
	t.Helper()
	l, err := NewSTAMP(opt)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// STAMP on F1 and on Jaccard, same stream, take the same path; levels are
// related by F = 2J/(1+J). It fails without the normalisation of the weights.
func TestSTAMPF1AndJaccardTakeTheSamePath(t *testing.T) {
	xs := stream(21, 20_000)
	cfg := Config{Dim: 13, Positives: 0.2}
	f := newSTAMP(t, STAMPConfig{Config: cfg, Measure: measure.FBeta{B: 1}})
	j := newSTAMP(t, STAMPConfig{Config: cfg, Measure: measure.Jaccard()})
	feed(t, f, xs)
	feed(t, j, xs)
	pf, pj := f.Checkpoints(), j.Checkpoints()
	if len(pf) != len(pj) || len(pf) < 5 {
		t.Fatalf("%d and %d checkpoints", len(pf), len(pj))
	}
	for i := range pf {
		near(t, "level", pf[i].Level, 2*pj[i].Level/(1+pj[i].Level), 1e-14)
		for k, w := range pf[i].Model.Weights {
			inv, _ := f.lin.Standard(k)
			near(t, "weight", w/inv, pj[i].Model.Weights[k]/inv, 1e-12)
		}
	}
}

// The weights of algorithm 3 of Narasimhan, Kar and Jain (2015) at F1, θ = 19, v = 0.4, normalised
// by their root mean square.
func TestNormalizedWeights(t *testing.T) {
	k := measure.FBeta{B: 1}.Coefficients(19)
	kp, kn := k.Weights(0.4)
	kp, kn = normalizeWeights(kp, kn, 0.05)
	near(t, "k₊", kp, 3.0237157841, 6e-11)
	near(t, "k₋", kn, .7559289460, 6e-11)
}

// The level is the measure itself, computed with θ from the population, not the
// printed 2v₊/(2+v₊-v₋), which is right for θ = 1 only: TP=30 FN=20 FP=40 TN=910 gives 0.5, not
// 0.7307692308.
func TestLevelFromCounts(t *testing.T) {
	l := newSTAMP(t, STAMPConfig{
		Config:  Config{Dim: 1, Positives: 0.05, Scaling: Identity(1), MeanSquare: 1},
		Measure: measure.FBeta{B: 1}, FirstEpoch: 1,
	})
	feed(t, l, []Example{{Positive: true, Weight: 1}}) // ends the model stage
	l.stage = 1000
	l.counts, l.positives, l.negatives = measure.Confusion{TP: 30, FN: 20, FP: 40, TN: 910}, 50, 950
	l.endLevelStage()
	near(t, "level", l.Level(), 0.5, 1e-12)
	p, n := measure.Confusion{TP: 30, FN: 20, FP: 40, TN: 910}.Rates()
	near(t, "the printed form", 2*p/(2+p-n), .7307692308, 6e-11)

	// θ is the population's: with 100 positives among 1000 in the stage the level is still that of
	// θ = 19.
	l.levelStage = true
	l.counts, l.positives, l.negatives = measure.Confusion{TP: 60, FN: 40, FP: 90, TN: 810}, 100, 900
	l.endLevelStage()
	near(t, "level with θ from p", l.Level(), 2*0.6/(1+19+0.6-19*0.9), 1e-12)
}

// A level stage without a positive keeps the level; one with few positives continues, for up to ten
// times its length.
func TestLevelStageWaitsForPositives(t *testing.T) {
	cfg := Config{Dim: 1, Positives: 0.01, Scaling: Identity(1), MeanSquare: 1}
	l := newSTAMP(t, STAMPConfig{Config: cfg, Measure: measure.FBeta{B: 1}, FirstEpoch: 10, WarmStart: 0.3})
	neg, pos := Example{Weight: 1}, Example{Positive: true, Weight: 1}
	for range 10 {
		feed(t, l, []Example{neg})
	}
	for i := range 100 {
		if !l.levelStage {
			t.Fatalf("the level stage ended after %d examples without a positive", i)
		}
		feed(t, l, []Example{neg})
	}
	if l.levelStage || l.Level() != 0.3 {
		t.Errorf("after ten times its length: in the level stage %t, level %v; want ended, 0.3 kept", l.levelStage,
			l.Level())
	}
	for range 20 { // the next epoch's model stage
		feed(t, l, []Example{pos})
	}
	for i := range 5 {
		if i < 4 {
			feed(t, l, []Example{pos})
		} else {
			for range 16 {
				feed(t, l, []Example{neg})
			}
		}
	}
	if !l.levelStage {
		t.Error("four positives ended the stage at its nominal length, five are wanted")
	}
	feed(t, l, []Example{pos})
	if l.levelStage {
		t.Error("the fifth positive did not end the stage")
	}
}

// A model stage cut short counts as a checkpoint only from half of its examples on.
func TestTruncatedStage(t *testing.T) {
	cfg := Config{Dim: 13, Positives: 0.2, Scaling: Identity(13), MeanSquare: 1e12}
	xs := stream(22, 1000)
	for _, tc := range []struct{ n, want int }{
		{99, 1},
		{100, 1},
		{150, 1},
		{200, 1},
		{299, 1},
		{300, 2},
		{400, 2},
		{600, 2},
		{800, 3},
	} {
		l := newSTAMP(t, STAMPConfig{Config: cfg, Measure: measure.FBeta{B: 1}, FirstEpoch: 100})
		feed(t, l, xs[:tc.n])
		if got := len(l.Checkpoints()); got != tc.want {
			t.Errorf("%d examples: %d checkpoints, want %d", tc.n, got, tc.want)
		}
	}
}

// Levels come from 0/1 predictions: the level that hinge rewards give the same classifier is far
// too low.
func TestLevelIsNotFromHingeRewards(t *testing.T) {
	l := newSTAMP(t, STAMPConfig{Config: Config{Dim: 13}, Measure: measure.FBeta{B: 1}})
	xs := stream(23, 30_000)
	feed(t, l, xs)
	points := l.Checkpoints()
	m := points[len(points)-1].Model
	var c measure.Confusion
	var p, n, np, nn float64
	for _, x := range xs {
		z := m.Score(x.Index, x.Value)
		c.Add(x.Positive, z > 0, 1)
		if x.Positive {
			p += min(1, z)
			np++
		} else {
			n += min(1, -z)
			nn++
		}
	}
	k := measure.FBeta{B: 1}.Coefficients(nn / np)
	f1, hinge := measure.FBeta{B: 1}.Value(c), k.Of(p/np, n/nn)
	if math.Abs(l.Level()-f1) > 0.05 {
		t.Errorf("level %.3f, F1 of the model %.3f", l.Level(), f1)
	}
	if hinge > f1-0.1 {
		t.Errorf("the hinge level %.3f is not far below F1 %.3f: the test shows nothing", hinge, f1)
	}
}

// STAMP's score is that of its model at every moment, and its models are copies.
func TestSTAMPScoreIsModelScore(t *testing.T) {
	l := newSTAMP(t, STAMPConfig{Measure: measure.FBeta{B: 1}, FirstEpoch: 100})
	xs := stream(54, 3000)
	for i, x := range xs {
		feed(t, l, []Example{x})
		if i%37 == 0 && i > 300 {
			m := l.Model()
			near(t, "score", l.Score(x.Index, x.Value), m.Score(x.Index, x.Value), 1e-6)
			for j := range m.Weights {
				m.Weights[j] = 1e9
			}
			for _, c := range l.Checkpoints() {
				clear(c.Model.Weights)
			}
			clear(l.Current().Weights)
		}
	}
	again := newSTAMP(t, STAMPConfig{Measure: measure.FBeta{B: 1}, FirstEpoch: 100})
	feed(t, again, xs)
	if !sameModel(l.Model(), again.Model()) {
		t.Error("writing to returned models changed the learner")
	}
}

// Stages grow by at least one example, and the number of checkpoints is bounded.
func TestStagesGrow(t *testing.T) {
	l := newSTAMP(t, STAMPConfig{Measure: measure.FBeta{B: 1}, FirstEpoch: 1, Growth: 1.5, Config: Config{BurnIn: 10}})
	feed(t, l, stream(55, 20_000))
	if n := len(l.Checkpoints()); n > 40 {
		t.Errorf("growth 1.5 from 1: %d checkpoints", n)
	}
	l = newSTAMP(t, STAMPConfig{Measure: measure.FBeta{B: 1}, FirstEpoch: 10, Growth: 1, Config: Config{BurnIn: 10}})
	feed(t, l, stream(55, 20_000))
	if n := len(l.Checkpoints()); n > maxCheckpoints+1 {
		t.Errorf("growth 1: %d checkpoints kept", n)
	}
	newSTAMP(t, STAMPConfig{
		Measure: measure.FBeta{B: 1},
		Config:  Config{Positives: 1e-300, Scaling: Identity(1), MeanSquare: 1},
	})
}
