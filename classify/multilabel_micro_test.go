package classify

import (
	"math"
	"testing"

	"github.com/noregret/noregret/classify/measure"
)

// With one label the micro average is STAMP, bit for bit: models, levels, counts and checkpoints,
// with burn-in and without.
func TestMicroOfOneLabelIsSTAMP(t *testing.T) {
	t.Parallel()
	rows := labelRows(1, 20_000, 1)
	for _, cfg := range []Config{
		{},
		{Positives: .3, Scaling: Identity(3), MeanSquare: 5, MeanWeight: 1},
		{Scaling: Identity(3), MeanSquare: 5},
		{Lambda: .01, MaxExampleWeight: 2},
		{Radius: .7, Averaging: AverageNone, Dim: 3},
	} {
		one := STAMPConfig{Config: cfg, Measure: measure.FBeta{B: 2}}
		single, err := NewSTAMP(one)
		if err != nil {
			t.Fatal(err)
		}
		micro := newLabels(t, MultilabelConfig{STAMPConfig: one, Labels: 1, Average: MicroAverage}).(*MicroSTAMP)
		for pass := range 2 {
			for i, x := range rows {
				x.Weight = float64(1 + i%3)
				if err := single.Observe(Example{x.Index, x.Value, len(x.Labels) == 1, x.Weight}); err != nil {
					t.Fatal(err)
				}
				if err := micro.Observe(x); err != nil {
					t.Fatal(err)
				}
			}
			if pass == 0 {
				if got, want := micro.Progressive()[0], single.Progressive(); got != want {
					t.Errorf("progressive %v, want %v", got, want)
				}
				single.NextPass()
				micro.NextPass()
			}
		}
		a, b := single.Checkpoints(), micro.Checkpoints()
		if len(a) != len(b) || len(a) < 5 {
			t.Fatalf("%d checkpoints, want %d and at least 5", len(b), len(a))
		}
		for i := range a {
			if a[i].Level != b[i].Level || a[i].Stage != b[i].Stage || a[i].Counts != b[i].Counts ||
				bitsOf([]Linear{a[i].Model}) != bitsOf(b[i].Models) {
				t.Errorf("checkpoint %d: %+v, want %+v", i, b[i], a[i])
			}
		}
		if micro.Level() != single.Level() || micro.Level() < .3 {
			t.Errorf("level %v, want %v", micro.Level(), single.Level())
		}
		if bitsOf(micro.Model().Models) != bitsOf([]Linear{single.Model()}) {
			t.Error("models differ")
		}
		if got, want := micro.Scores(nil, rows[3].Index, rows[3].Value)[0],
			single.Score(rows[3].Index, rows[3].Value); got != want {
			t.Errorf("score %v, want %v", got, want)
		}
	}
}

// The levels of the micro average are F_B of the pooled counts by the formula, and one level is
// shared.
func TestMicroLevelIsPooledF(t *testing.T) {
	const labels, b2 = 4, 4.
	rows := labelRows(3, 30_000, labels)
	pairs := 0
	for _, x := range rows {
		pairs += len(x.Labels)
	}
	cfg := STAMPConfig{Measure: measure.FBeta{B: 2}, Config: Config{Positives: float64(pairs) / (labels * 30_000)}}
	s := newLabels(t, MultilabelConfig{STAMPConfig: cfg, Labels: labels, Average: MicroAverage}).(*MicroSTAMP)
	observeLabels(t, s, rows)
	points := s.Checkpoints()
	for i, c := range points {
		if math.IsNaN(c.NextLevel) {
			continue
		}
		k := c.Counts
		if got := k.TP + k.FN + k.TN + k.FP; got < labels*float64(c.Stage) {
			t.Errorf("epoch %d counts %v pairs of %d examples", i, got, c.Stage)
		}
		// θ is the stream's, not the stage's: the canonical form at the global share of positive
		// pairs.
		p, n := k.Rates()
		theta := s.core.coef.Theta
		want := (1 + b2) * p / (b2 + theta + p - theta*n)
		near(t, "level", c.NextLevel, want, 1e-12)
		if want = (1 + b2) * k.TP / ((1+b2)*k.TP + b2*k.FN + k.FP); math.Abs(c.NextLevel-want) > 0.05 {
			t.Errorf("level %v, the stage's own counts give %v", c.NextLevel, want)
		}
	}
	// k₊ : k₋ = (1+B²-v) : v on raw pairs.
	v := s.Level()
	near(t, "ratio of the weights", s.core.kPos/s.core.kNeg, (1+b2-v)/v, 1e-12)
}

// A brute-force, dense form of one micro model stage without averaging: all labels move at every
// example.
func TestMicroModelStepIsDenseForm(t *testing.T) {
	const labels = 3
	cfg := Config{Positives: .2, Scaling: Identity(labels + 2), MeanSquare: 4, MeanWeight: 1, Averaging: AverageNone}
	s := newLabels(t, MultilabelConfig{
		STAMPConfig: STAMPConfig{Config: cfg, Measure: measure.FBeta{B: 1}, WarmStart: .4, FirstEpoch: 1000},
		Labels:      labels, Average: MicroAverage,
	}).(*MicroSTAMP)
	rows := labelRows(4, 900, labels)
	observeLabels(t, s, rows)
	kPos, kNeg := 1.6, .4
	rms := math.Sqrt(.2*kPos*kPos + .8*kNeg*kNeg)
	w := make([][labels + 3]float64, labels)
	for i, x := range rows {
		for k := range w {
			z := w[k][labels+2]
			for j, f := range x.Index {
				z += w[k][f] * float64(x.Value[j])
			}
			y, weight := -1., kNeg
			if hasLabel(x.Labels, k) {
				y, weight = 1, kPos
			}
			if y*z >= 1 {
				continue
			}
			c := 5. / 4 / math.Sqrt(float64(i+1)) * y * weight / rms
			for j, f := range x.Index {
				w[k][f] += c * float64(x.Value[j])
			}
			w[k][labels+2] += c
		}
	}
	for k, m := range s.Model().Models {
		for j, got := range m.Weights {
			near(t, "weight", got, w[k][j], 1e-11)
		}
		near(t, "intercept", m.Intercept, w[k][labels+2], 1e-11)
	}
}
