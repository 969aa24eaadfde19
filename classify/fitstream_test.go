package classify

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/classify/scored"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/forget"
	"github.com/noregret/noregret/loss"
)

// streamOf writes examples as svmlight with the given labels and opens them as a stream.
func streamOf(t *testing.T, xs []Example, positive, negative string) *dataset.Stream {
	t.Helper()
	var b strings.Builder
	for _, x := range xs {
		label := negative
		if x.Positive {
			label = positive
		}
		b.WriteString(label)
		for j, i := range x.Index {
			fmt.Fprintf(&b, " %d:%v", i+1, x.Value[j])
		}
		b.WriteString("\n")
	}
	path := filepath.Join(t.TempDir(), "s.svm")
	if err := os.WriteFile(path, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	s, err := dataset.Open(t.Context(), []string{path}, dataset.Options{Format: dataset.SVMLight})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // only read
	return s
}

// The model of a stream is that of its learner after one pass, and each saved model is that of the
// rows so far.
func TestFitStream(t *testing.T) {
	xs := stream(64, 2000)
	f1 := measure.FBeta{B: 1}
	for name, make := range map[string]func() (Learner, error){
		"stamp": func() (Learner, error) {
			return NewSTAMP(STAMPConfig{
				Measure: f1, LevelPositives: 100, Config: Config{Steps: StepsAdaptive},
			})
		},
		"sgd-logistic": func() (Learner, error) {
			return NewSGD(SGDConfig{Config: Config{Reward: loss.Logistic{}}})
		},
	} {
		l, err := make()
		if err != nil {
			t.Fatal(err)
		}
		var want []Linear
		for i, x := range xs {
			x.Weight = 1
			if err := l.Observe(x); err != nil {
				t.Fatal(err)
			}
			if (i+1)%800 == 0 {
				want = append(want, l.Model())
			}
		}
		if err := l.Finish(); err != nil {
			t.Fatal(err)
		}
		var saved []*Model
		started := 0
		m, err := FitStream(t.Context(), streamOf(t, xs, "1", "-1"), StreamOptions{
			Fit: Options{Measure: f1, Algorithm: name}, SaveEvery: 800,
			Save:    func(m *Model) error { saved = append(saved, m); return nil },
			Started: func(dataset.Info) { started++ },
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, m := range append(saved, m) {
			w, rows := l.Model(), int64(len(xs))
			if i < len(want) {
				w, rows = want[i], int64(800*(i+1))
			}
			got := m.Classifier().Models[0]
			if !sameScores(got, w, xs) || m.Data.Rows != rows || !m.Options.Stream {
				t.Errorf("%s: model %d of %d rows differs", name, i, m.Data.Rows)
			}
		}
		if len(saved) != 2 || started != 1 {
			t.Errorf("%s: %d models on the way, started %d times", name, len(saved), started)
		}
	}
}

func sameScores(a, b Linear, xs []Example) bool {
	for _, x := range xs {
		if a.Score(x.Index, x.Value) != b.Score(x.Index, x.Value) {
			return false
		}
	}
	return true
}

func TestFitStreamRefuses(t *testing.T) {
	xs := stream(65, 50)
	f1 := measure.FBeta{B: 1}
	full := errors.New("the disk is full")
	for _, tc := range []struct {
		positive, negative string
		opt                StreamOptions
		code               noregret.Code
		want               string
	}{
		{"1", "0", StreamOptions{Fit: Options{Measure: f1, Algorithm: "amp"}}, noregret.Usage, "amp cannot learn"},
		{"1", "0", StreamOptions{Fit: Options{Measure: f1, Folds: new(2)}}, noregret.Usage, "a stream is read once"},
		{"1", "0", StreamOptions{Fit: Options{Measure: f1}, SaveEvery: -1}, noregret.Usage, "want at least 0"},
		{
			"1", "0", StreamOptions{Fit: Options{
				Measure: f1, Calibration: CalibrationPlatt, Drift: forget.Rule{Kind: forget.Restart, Rounds: 100},
			}}, noregret.Usage, "rows that the model has forgotten",
		},
		{"1", "0", StreamOptions{Fit: Options{Measure: f1}, SaveEvery: 1}, noregret.Usage, "Save is nil"},
		{"2", "1", StreamOptions{Fit: Options{Measure: f1}}, noregret.Usage, `:1 has the label "2"`},
		{"1", "0", StreamOptions{Fit: Options{Measure: f1}, Positive: "7"}, noregret.BadInput, "need both classes"},
		{
			"1", "0", StreamOptions{
				Fit: Options{Measure: f1, Algorithm: "sgd-hinge"}, SaveEvery: 40, Save: func(*Model) error {
					return full
				},
			}, noregret.CodeOf(full), full.Error(),
		},
	} {
		_, err := FitStream(t.Context(), streamOf(t, xs, tc.positive, tc.negative), tc.opt)
		if err == nil || noregret.CodeOf(err) != tc.code || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("got %v, want %q", err, tc.want)
		}
	}
	path := filepath.Join(t.TempDir(), "unlabelled.svm")
	if err := os.WriteFile(path, []byte("1 1:2\n 1:3\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	s, err := dataset.Open(t.Context(), []string{path}, dataset.Options{Format: dataset.SVMLight, AllowNoLabel: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }() // only read
	_, err = FitStream(t.Context(), s, StreamOptions{Fit: Options{Measure: f1}})
	if noregret.CodeOf(err) != noregret.BadInput || !strings.Contains(err.Error(), "row 2 has no label") {
		t.Errorf("a row without a label: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := FitStream(ctx, streamOf(t, xs, "1", "0"), StreamOptions{Fit: Options{Measure: f1}}); !errors.Is(err,
		context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestStreamCalibration compares the probabilities with those of scores by hand, and with the best
// ones on other rows.
func TestStreamCalibration(t *testing.T) {
	xs, later := stream(73, 6000), stream(74, 20_000)
	for name, opt := range map[string]Options{
		"auto":     {Measure: measure.FBeta{B: 1}, Algorithm: Auto},
		"platt":    {Measure: measure.GMean{}, Algorithm: "spade", Calibration: CalibrationPlatt},
		"isotonic": {Measure: measure.GMean{}, Algorithm: "sgd-logistic", Calibration: CalibrationIsotonic},
	} {
		m, err := FitStream(t.Context(), streamOf(t, xs, "1", "0"), StreamOptions{Fit: opt})
		if err != nil {
			t.Fatal(err)
		}
		if len(m.Calibration) != 1 {
			t.Fatalf("%s: %d calibrations", name, len(m.Calibration))
		}
		c := &m.Calibration[0]
		if name == "platt" {
			l, err := NewSPADE(SPADEConfig{Measure: measure.GMean{}, Config: Config{Steps: m.Options.Config.Steps}})
			if err != nil {
				t.Fatal(err)
			}
			// Of 5,800 rows or more after the burn-in the first 2,048 are forgotten.
			scores, _ := byHand(t, l, xs, 2048)
			want, _ := scored.Platt(scores)
			if c.Rows != int64(len(scores)) {
				t.Errorf("%d rows, want %d", c.Rows, len(scores))
			}
			for _, e := range scores {
				if d := math.Abs(c.Map.Of(e.Score) - want.Of(e.Score)); !(d < 0.002) {
					t.Fatalf("the probability of %v is %v, want %v", e.Score, c.Map.Of(e.Score), want.Of(e.Score))
				}
			}
			for i, threshold := range c.Curve.Score {
				above := measure.Confusion{}
				for _, e := range scores {
					above.Add(e.Positive, e.Score > threshold, 1)
				}
				if above.TP != c.Curve.Positives[i] || above.FP != c.Curve.Negatives[i] {
					t.Fatalf("above %v are %v positives and %v others, the curve says %v and %v", threshold, above.TP,
						above.FP, c.Curve.Positives[i], c.Curve.Negatives[i])
				}
			}
		}
		var scores, probabilities []Scored
		for _, x := range later {
			z := m.Classifier().RawScores(nil, x.Index, x.Value)
			p := m.Probabilities(nil, z)[0]
			scores = append(scores, Scored{Score: z[0], Weight: 1, Positive: x.Positive})
			probabilities = append(probabilities, Scored{Score: p, Weight: 1, Positive: x.Positive})
		}
		ideal, _ := scored.Isotonic(scores)
		for i := range scores {
			scores[i].Score = ideal.Of(scores[i].Score)
		}
		got, best := scored.Brier(probabilities).Value, scored.Brier(scores).Value
		if !(got < 1.03*best) {
			t.Errorf("%s: the Brier score is %v, at best %v", name, got, best)
		}
		path := filepath.Join(t.TempDir(), "m.json")
		if err := SaveModel(path, m); err != nil {
			t.Fatal(err)
		}
		if back, err := LoadModel(path); err != nil || !back.Calibration[0].Progressive() {
			t.Errorf("%s: read back: %v", name, err)
		}
	}
	m, err := FitStream(t.Context(), streamOf(t, xs, "1", "0"), StreamOptions{
		Fit: Options{Measure: measure.GMean{}, Algorithm: Auto, Calibration: CalibrationNone},
	})
	if err != nil || m.Calibration != nil {
		t.Errorf("calibration none: %v, %v", m.Calibration, err)
	}
}

// Rows of unequal weights count as their effective number.
func TestScoreWindowOfWeights(t *testing.T) {
	s := newScoreWindow()
	l, err := NewSGD(SGDConfig{Config: Config{Reward: loss.Logistic{}, Scaling: Identity(1), MeanSquare: 1}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 900 { // each score has two rows of weight 1 and one of weight 4
		x := Example{
			Index: []uint32{0}, Value: []float32{float32(i / 3)}, Positive: i%2 == 0, Weight: 1 + 3*float64(i%3%2),
		}
		s.predict(l, x)
		if err := l.Observe(x); err != nil {
			t.Fatal(err)
		}
	}
	var sum, squares float64
	for i := range 900 {
		w := 1 + 3*float64(i%3%2)
		sum, squares = sum+w, squares+w*w
	}
	_, examples, _ := s.window()
	if all, _ := scored.Count(examples); math.Abs(float64(all)-sum*sum/squares) > 1 {
		t.Errorf("%v rows count, want %v", all, sum*sum/squares)
	}
	if c := s.calibration(CalibrationAuto); len(c) != 1 || c[0].Rows != 900 || c[0].Positives != 450 {
		t.Errorf("the calibration is %+v, want one of 900 rows", c)
	}
}
