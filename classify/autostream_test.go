package classify

import (
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/loss"
)

// byHand is what a learner predicts in the latter rows before it learns from them, with its model.
func byHand(t *testing.T, l Learner, xs []Example, from int) ([]Scored, Linear) {
	t.Helper()
	var out []Scored
	counted := 0
	for _, x := range xs {
		if onlineOf(l).ready {
			if counted++; counted > from {
				out = append(out, Scored{Score: l.Score(x.Index, x.Value), Positive: x.Positive, Weight: x.Weight})
			}
		}
		if err := l.Observe(x); err != nil {
			t.Fatal(err)
		}
	}
	return out, l.Model()
}

// TestAutoOfStream compares with learners run by hand, whose scores are kept and sorted.
func TestAutoOfStream(t *testing.T) {
	xs := stream(71, 6000)
	for i := range xs { // rare positives, so that the threshold matters
		xs[i].Positive = xs[i].Positive && i%4 == 0
	}
	for _, m := range []measure.Measure{measure.FBeta{B: 1}, measure.Min{}} {
		m1, err := FitStream(t.Context(), streamOf(t, xs, "1", "0"), StreamOptions{
			Fit: Options{Measure: m, Algorithm: Auto},
		})
		if err != nil {
			t.Fatal(err)
		}
		betting := func() *SGD {
			l, err := NewSGD(SGDConfig{Config: Config{Steps: StepsBetting, Reward: loss.Logistic{}}})
			if err != nil {
				t.Fatal(err)
			}
			return l
		}
		bet, burnIn := betting(), 0
		for !onlineOf(bet).ready {
			if err := bet.Observe(xs[burnIn]); err != nil {
				t.Fatal(err)
			}
			burnIn++
		}
		from := leastRecent
		for ; 4*from <= len(xs)-burnIn; from *= 2 {
		}
		scores, model := byHand(t, betting(), xs, from)
		if n := len(scores); 2*n < len(xs)-burnIn {
			t.Fatalf("only %d of %d rows are in the window", n, len(xs))
		}
		_, want := TuneThreshold(scores, m)
		h := m1.Training.History
		if len(h) != 3 {
			t.Fatalf("%d candidates, want 3", len(h))
		}
		if got := *h[2].Progressive; !(math.Abs(got-want) < 0.004) {
			t.Errorf("%s: the value of logistic regression is %v, want %v", m.Name(), got, want)
		}
		best := slices.MaxFunc(h, func(a, b HistoryEntry) int {
			return int(math.Copysign(1, *a.Progressive-*b.Progressive))
		})
		if *best.Progressive > *h[0].Progressive+0.1 && m1.Training.Chosen == 0 {
			t.Errorf("%s: %+v is not chosen", m.Name(), best)
		}
		if m1.Training.Chosen == 2 {
			if got := m1.Classifier().Models[0]; !slices.Equal(got.Weights, model.Weights) ||
				got.Intercept != model.Intercept || got.Threshold != h[2].Threshold {
				t.Errorf("%s: the model is %+v, want %+v", m.Name(), got, model)
			}
		}
		if m1.Algorithm == Auto || m1.Options.Threshold == ThresholdZero && m1.Training.Chosen > 0 {
			t.Errorf("%s: algorithm %s with threshold %v", m.Name(), m1.Algorithm, m1.Options.Threshold)
		}
	}
}

// A stream of few rows, and one with the setting of a learner, have the usual algorithm.
func TestAutoOfStreamComparesNothing(t *testing.T) {
	xs := stream(72, 3000)
	f1 := measure.FBeta{B: 1}
	for name, x := range map[string]struct {
		opt  Options
		rows int
		want int
	}{
		"few rows": {Options{Measure: f1, Algorithm: Auto}, 150, 3},
		"rate":     {Options{Measure: f1, Algorithm: Auto, Config: Config{StepScale: 2}}, 3000, 1},
		"no auto":  {Options{Measure: f1}, 3000, 1},
	} {
		m, err := FitStream(t.Context(), streamOf(t, xs[:x.rows], "1", "0"), StreamOptions{Fit: x.opt})
		if err != nil {
			t.Fatal(err)
		}
		if h := m.Training.History; len(h) != x.want || m.Training.Chosen != 0 || m.Algorithm != "stamp" ||
			m.Models[0].Threshold != 0 {
			t.Errorf("%s: %s, %d of %d candidates", name, m.Algorithm, m.Training.Chosen, len(h))
		}
	}
}

// A learner that has diverged is not chosen, however few rows there are to compare the others by.
func TestAutoOfStreamDiverges(t *testing.T) {
	a, err := newStreamAuto(Options{Measure: measure.FBeta{B: 1}, Algorithm: Auto})
	if err != nil {
		t.Fatal(err)
	}
	a.rows = stream(74, 20)
	if err := a.learn(); err != nil {
		t.Fatal(err)
	}
	a.learners[0].failed = noregret.Errorf(noregret.Diverged, "", "too large")
	if c := a.choose(); c.comparedLearner != a.learners[1] || c.threshold != 0 || c.chosen != 2 {
		t.Errorf("%s with the threshold %v is chosen, entry %d of %d", c.name, c.threshold, c.chosen, len(c.entries))
	}
}

// A model saved on the way is that of a stream that ends there, whatever the blocks.
func TestAutoOfStreamSaves(t *testing.T) {
	xs := stream(73, 5000)
	opt := StreamOptions{Fit: Options{Measure: measure.GMean{}, Algorithm: Auto}, SaveEvery: 2500}
	var saved []*Model
	opt.Save = func(m *Model) error {
		saved = append(saved, m)
		return nil
	}
	if _, err := FitStream(t.Context(), streamOf(t, xs, "1", "0"), opt); err != nil {
		t.Fatal(err)
	}
	opt.SaveEvery, opt.Save = 0, nil
	half, err := FitStream(t.Context(), streamOf(t, xs[:2500], "1", "0"), opt)
	if err != nil {
		t.Fatal(err)
	}
	if len(saved) != 2 || !slices.Equal(saved[0].Models[0].Weights.Value, half.Models[0].Weights.Value) ||
		saved[0].Models[0].Threshold != half.Models[0].Threshold {
		t.Errorf("the model saved after 2500 of 5000 rows differs from that of 2500 rows")
	}
}

func TestScoreBins(t *testing.T) {
	scores := []float64{
		-math.MaxFloat64, -1e30, -3, -2.9, -1e-9, -1e-300, 0, 1e-38, 1e-9, 0.5, 0.51, 3, 1e30, math.MaxFloat64,
	}
	last := -1
	for _, z := range scores {
		k := scoreBin(z)
		if k < last {
			t.Errorf("the bin of %v is below that of a smaller score", z)
		}
		last = k
		b := binScore(k)
		if (b > 0) != (z > 0) || math.Abs(z) > 1e-38 && math.Abs(z) < 1e38 && !(math.Abs(b/z-1) < 0.008) {
			t.Errorf("the bin of %v has the score %v", z, b)
		}
	}
}
