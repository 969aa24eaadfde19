package classify

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
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
		// Decisions at the threshold that was best for the rows before, in the latter half.
		every, _ := byHand(t, betting(), xs, 0)
		var counts measure.Confusion
		threshold, tuning := 0.0, firstStreamTuning
		for i, s := range every {
			if i >= from {
				counts.Add(s.Positive, s.Score > threshold, s.Weight)
			}
			if n := burnIn + i + 1; n == tuning {
				start := 0
				for p := leastRecent; 2*p <= i+1; p *= 2 {
					start = p
				}
				threshold, _ = TuneThreshold(slices.Clone(every[start:i+1]), m)
				tuning += tuning / streamTunings
			}
			for burnIn+i+1 >= tuning {
				tuning += tuning / streamTunings
			}
		}
		want := m.Value(counts)
		h := m1.Training.History
		if len(h) != 3 {
			t.Fatalf("%d candidates, want 3", len(h))
		}
		if got := *h[2].Progressive; !(math.Abs(got-want) < 0.01) {
			t.Errorf("%s: the value of logistic regression is %v, want %v", m.Name(), got, want)
		}
		s := m1.Search
		for k, x := range s.Tried {
			if *x.Value != *h[k].Progressive || x.Rows != int64(len(scores)) ||
				(*x.Behind == 0) != (*x.StandardError == 0) {
				t.Errorf("%s: tried %+v, of %d rows", m.Name(), x, len(scores))
			}
		}
		if s.Chosen != m1.Training.Chosen || m1.Figures.Source != sourceProgressive ||
			m1.Figures.Rows != int64(len(scores)) || m1.Figures.Of("gmean") == nil {
			t.Errorf("%s: chosen %d, figures %+v", m.Name(), s.Chosen, m1.Figures)
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

// For a measure that no online learner has as its objective logistic regressions are compared. One
// that predicts one label has no value and is not chosen.
func TestAutoOfStreamUndefined(t *testing.T) {
	xs := stream(71, 6000)
	for i := range xs {
		xs[i].Positive = xs[i].Positive && i%16 == 0
	}
	m, err := FitStream(t.Context(), streamOf(t, xs, "1", "0"), StreamOptions{
		Fit: Options{Measure: measure.MCC{}, Algorithm: Auto},
	})
	if err != nil {
		t.Fatal(err)
	}
	tried := m.Search.Tried
	if tried[0].Value != nil || tried[1].Value == nil || m.Search.Chosen == 0 {
		t.Errorf("candidate %d is chosen of %+v, want one with a tuned threshold", m.Search.Chosen, tried)
	}
	for _, x := range tried {
		if !strings.HasPrefix(x.Algorithm, "sgd-logistic") {
			t.Errorf("%s is a candidate", x.Algorithm)
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
	if c := a.choose(); c.comparedLearner != a.learners[1] || c.thresholds[2] != 0 || c.chosen != 2 {
		t.Errorf("%s with the threshold %v is chosen, entry %d of %d", c.name, c.thresholds[2], c.chosen,
			len(c.entries))
	}
	// From here on the other one decides, and the one that failed has no value.
	a.rows = stream(75, 20)
	if err := a.learn(); err != nil {
		t.Fatal(err)
	}
	if c := a.choose(); a.chosen != 2 || c.tried[0].Value != nil || c.tried[1].Value != nil {
		t.Errorf("candidate %d decides, and those that failed have the values %v and %v", a.chosen, c.tried[0].Value,
			c.tried[1].Value)
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

// TestStreamIsHonest: on the average of many short streams the figure is no more than new rows
// give, and its interval holds that in most cases.
func TestStreamIsHonest(t *testing.T) {
	testsize.NoRace(t)
	const streams, rows = 60, 900
	f1 := measure.FBeta{B: 1}
	mean, width, held := 0.0, 0.0, 0
	for k := range uint64(streams) {
		m, err := FitStream(t.Context(), streamOf(t, stream(700+k, rows), "1", "0"), StreamOptions{
			Fit: Options{Measure: f1, Algorithm: Auto},
		})
		if err != nil {
			t.Fatal(err)
		}
		e, err := Evaluate(t.Context(), asData(t, stream(8000+k, 5000)), m.Classifier())
		if err != nil {
			t.Fatal(err)
		}
		got, f := e.Value(f1), m.Figures.Of("f1")
		mean += (f.Value - got) / streams
		width += (f.High - f.Low) / streams
		if f.Low <= got && got <= f.High {
			held++
		}
	}
	const standardError = 0.005
	if mean > standardError || mean < -0.05 || held < streams*80/100 || width > 0.2 {
		t.Errorf("figures less values on new rows are %+.4f, %d of %d intervals hold these, mean width %.3f", mean,
			held, streams, width)
	}
}

// The standard error of a difference is that of decisions drawn anew.
func TestStreamErrorOfDifference(t *testing.T) {
	f1 := measure.FBeta{B: 1}
	draw := func(seed uint64) *streamAuto {
		a := &streamAuto{recent: new(streamDecisions), older: new(streamDecisions), tuning: 1 << 40}
		a.learners = []*comparedLearner{{}, {}}
		rng := random.New(seed, "decisions")
		for range 600 {
			x := Example{Weight: 1, Positive: rng.Float64() < 0.3}
			bits := func(right float64) streamBits {
				return streamBits{true, (rng.Float64() < right) == x.Positive, (rng.Float64() < right) == x.Positive}
			}
			for k, right := range []float64{0.8, 0.75} {
				a.learners[k].decided = []streamBits{bits(right)}
			}
			a.count([]Example{x})
		}
		return a
	}
	var differences []float64
	for seed := range uint64(400) {
		a := draw(seed)
		differences = append(differences, f1.Value(a.confusion(0))-f1.Value(a.confusion(2)))
	}
	sum, squares := 0.0, 0.0
	for _, d := range differences {
		sum, squares = sum+d/400, squares+d*d/400
	}
	want := math.Sqrt(squares - sum*sum)
	if got := draw(1000).errorOfDifference(f1, 0, 2); math.Abs(got/want-1) > 0.2 {
		t.Errorf("the standard error is %v, want %v", got, want)
	}
}
