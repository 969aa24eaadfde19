package classify

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/classify/scored"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
)

// trueProbability is that of a positive row of logits.
func trueProbability(x float64) float64 { return 1 / (1 + math.Exp(2-2*x)) }

// logits returns rows of a logistic model in one feature, and noise in another.
func logits(n int, seed uint64) []Example {
	r := random.New(seed, "logits")
	out := make([]Example, n)
	for i := range out {
		x := float32(stat.Normal(r))
		out[i] = Example{
			Index: []uint32{0, 1}, Value: []float32{x, float32(stat.Normal(r))}, Weight: 1,
			Positive: r.Float64() < trueProbability(float64(x)),
		}
	}
	return out
}

func modelOf(t *testing.T, d Data, opt Options) *Model {
	t.Helper()
	r, err := Fit(t.Context(), d, opt)
	if err != nil {
		t.Fatal(err)
	}
	m, err := NewModel(r, opt, d)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Probabilities are near the true ones, whatever the algorithm's scores are: STAMP's are those of
// a weighted hinge.
func TestProbabilitiesAreTrue(t *testing.T) {
	d, test := asData(t, logits(6000, 1)), logits(2000, 2)
	for _, c := range []struct {
		name   string
		opt    Options
		source string
		worst  float64
	}{
		{"folds", Options{Algorithm: "stamp"}, sourceCrossFitted, 0.05},
		{"one part", Options{Algorithm: "plugin"}, sourceHeldOut, 0.08},
		{"nothing held out", Options{Algorithm: "logistic", Calibration: CalibrationPlatt}, sourceCrossFitted, 0.05},
		{"isotonic", Options{Algorithm: "sgd-hinge", Calibration: CalibrationIsotonic}, sourceCrossFitted, 0.06},
	} {
		c.opt.Measure, c.opt.Seed = measure.FBeta{B: 1}, 3
		m := modelOf(t, d, c.opt)
		if m.Calibration == nil || m.Calibration[0].Source != c.source {
			t.Fatalf("%s: calibration %+v, want one that is %s", c.name, m.Calibration, c.source)
		}
		sum := 0.0
		for _, x := range test {
			scores := m.Classifier().RawScores(nil, x.Index, x.Value)
			e := m.Probabilities(nil, scores)[0] - trueProbability(float64(x.Value[0]))
			sum += e * e
		}
		if rms := math.Sqrt(sum / float64(len(test))); rms > c.worst {
			t.Errorf("%s: probabilities are %v off in the mean, want at most %v", c.name, rms, c.worst)
		}
	}
}

func TestCalibrationRules(t *testing.T) {
	d := asData(t, logits(1500, 4))
	f1 := measure.FBeta{B: 1}
	if m := modelOf(t, d, Options{
		Measure: f1, Algorithm: "stamp",
		Calibration: CalibrationNone,
	}); m.Calibration != nil {
		t.Error("none made a calibration")
	}
	if m := modelOf(t, d, Options{Measure: f1, Algorithm: "logistic"}); m.Calibration != nil {
		t.Error("auto made a calibration where nothing was held out")
	}
	steps := func(rows int) int {
		m := modelOf(t, asData(t, logits(rows, 5)), Options{Measure: f1, Algorithm: "stamp", Passes: new(2)})
		return len(m.Calibration[0].Map.Score)
	}
	if few, many := steps(600), steps(4000); few != 0 || many == 0 {
		t.Errorf("auto made %d steps of few rows and %d of many, want 0 and some", few, many)
	}
	// The rule changes nothing of the model itself.
	opt := Options{Measure: f1, Algorithm: "stamp", Seed: 1}
	plain := modelOf(t, d, opt)
	opt.Calibration = CalibrationPlatt
	if other := modelOf(t, d, opt); other.Models[0].Intercept != plain.Models[0].Intercept {
		t.Error("the calibration changed the model")
	}
}

// The odds of a class are those of softmax, also where one class is far ahead.
func TestClassOdds(t *testing.T) {
	for _, z := range [][]float64{
		{0, 0, 0},
		{1, -2, 0.5, 3},
		{50, 0, -5},
		{-3, 4},
		{800, 799, -800},
		{2000, 0},
		{-2000, 2000, 1999, 0},
		{-5, -900},
	} {
		odds := newClassOdds(z)
		for k := range z {
			others := slices.Delete(slices.Clone(z), k, k+1)
			top, sum := slices.Max(others), 0.0
			for _, v := range others {
				sum += math.Exp(v - top)
			}
			want := (z[k] - top) - math.Log(sum)
			if got := odds.of(k, z[k]); math.Abs(got-want) > 1e-12*max(1, math.Abs(want)) {
				t.Errorf("scores %v: the odds of class %d are e^%v, want e^%v", z, k, got, want)
			}
		}
	}
	for _, z := range [][]float64{{math.MaxFloat64, -math.MaxFloat64}, {0, -math.MaxFloat64, math.MaxFloat64}} {
		odds := newClassOdds(z)
		for k, v := range z {
			if got := odds.of(k, v); !allFinite(got) {
				t.Errorf("scores %v: the odds of class %d are e^%v", z, k, got)
			}
		}
	}
}

// Scores of models that are each of one class against the others are calibrated as they are, those
// of classes trained jointly by their odds, with the weights of the rows.
func TestScoresOrOdds(t *testing.T) {
	for _, joint := range []bool{false, true} {
		rng := random.New(6, "classes")
		var rows classScores
		for range 4000 {
			u, noise := 3*rng.NormFloat64(), 6*rng.NormFloat64()
			truth := 1
			if rng.Float64() < 1/(1+math.Exp(-u)) {
				truth = 0
			}
			if joint { // all scores are moved alike
				rows.add([]float64{u + noise, noise, noise - 2}, truth, 1)
			} else { // the third says nothing
				rows.add([]float64{u, -u, noise}, truth, 1)
			}
			if rng.IntN(2) == 0 {
				rows.add(slices.Clone(rows.scores[len(rows.scores)-1]), 2, 2)
			}
		}
		c, err := rows.calibrated(CalibrationPlatt, 3)
		if err != nil {
			t.Fatal(err)
		}
		if c[0].Odds != joint {
			t.Errorf("classes trained jointly: %t; the calibration is by odds: %t", joint, c[0].Odds)
		}
		m, share := Model{Task: Multiclass, Calibration: c}, 0.0
		for i, z := range rows.scores {
			share += rows.weight[i] * m.Probabilities(nil, z)[2] / 8000
		}
		if math.Abs(share-0.5) > 0.05 { // some 2,000 rows of weight 2 beside 4,000 of weight 1
			t.Errorf("the third class has the share %.3f, want .5", share)
		}
	}
}

// Probabilities that are all too small for a number become the same for all classes.
func TestProbabilitiesTooSmall(t *testing.T) {
	m := Model{Task: Multiclass}
	for range 4 {
		m.Calibration = append(m.Calibration, Calibration{Map: scored.Calibration{Slope: 1, Offset: -2000}})
	}
	want := []float64{0.25, 0.25, 0.25, 0.25}
	if got := m.Probabilities(nil, make([]float64, 4)); !slices.Equal(got, want) {
		t.Errorf("the probabilities are %v, want %v", got, want)
	}
}

// Thresholds change nothing of probabilities, which are of the scores without them.
func TestProbabilitiesWithoutThresholds(t *testing.T) {
	d := classSet(t, 1, 1500)
	macro, err := measure.ParseMulti("macro_f1", false)
	if err != nil {
		t.Fatal(err)
	}
	opt := Options{
		Algorithm: "softmax", Measure: macro, Seed: 1, Holdout: new(0.2), Calibration: CalibrationPlatt,
		Threshold: ThresholdZero,
	}
	plain, err := crossCalibrated(t.Context(), d, opt, nil)
	if err != nil {
		t.Fatal(err)
	}
	heldOut := modelOf(t, d, opt)
	opt.Threshold = ThresholdTuned
	tuned, err := crossCalibrated(t.Context(), d, opt, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(plain, tuned); diff != "" {
		t.Errorf("cross-fitted, with thresholds:\n%s", diff)
	}
	m := modelOf(t, d, opt)
	if m.Models[0].Threshold == heldOut.Models[0].Threshold {
		t.Error("no threshold was tuned: the test says nothing")
	}
	if diff := cmp.Diff(heldOut.Calibration, m.Calibration); diff != "" {
		t.Errorf("held out, with thresholds:\n%s", diff)
	}
	// The file keeps what the calibration is of, for all classes or none.
	back, err := ReadModel(bytes.NewReader(written(t, m)), "m")
	if err != nil {
		t.Fatal(err)
	}
	if !m.Calibration[0].Odds || cmp.Diff(back.Calibration, m.Calibration) != "" {
		t.Errorf("by odds: %t, read back: %t", m.Calibration[0].Odds, back.Calibration[0].Odds)
	}
	back.Calibration[1].Odds = false
	if err := back.Validate(); err == nil || !strings.Contains(err.Error(), "calibration[1].odds") {
		t.Errorf("odds of some classes: the error is %v", err)
	}
}

// Probabilities of classes are near the true ones of a softmax, in which a score says little
// without the others: the rows have a common part, which moves the scores of all classes.
func TestProbabilitiesOfClassesAreTrue(t *testing.T) {
	const n = 6000
	rng := random.New(5, "softmax")
	at, truth := make([][]float32, n), make([][]float64, n)
	for i := range at {
		u, v := 2*rng.NormFloat64(), 2*rng.NormFloat64()
		z := []float64{1.5 * u, 1.5 * v, -1}
		top, sum := slices.Max(z), 0.0
		for k := range z {
			z[k] = math.Exp(z[k] - top)
			sum += z[k]
		}
		for k := range z {
			z[k] /= sum
		}
		at[i], truth[i] = []float32{float32(u), float32(v)}, z
	}
	d, err := NewData(multiSet(t, []string{"a", "b", "c"}, n, func(i int) ([]uint32, []float32, int) {
		u := rng.Float64()
		for k, p := range truth[i] {
			if u -= p; u < 0 {
				return []uint32{0, 1}, at[i], k
			}
		}
		return []uint32{0, 1}, at[i], 2
	}), Multiclass)
	if err != nil {
		t.Fatal(err)
	}
	macro, err := measure.ParseMulti("macro_f1", false)
	if err != nil {
		t.Fatal(err)
	}
	for name, opt := range map[string]Options{
		"auto":    {Algorithm: Auto},
		"softmax": {Algorithm: "softmax", Calibration: CalibrationPlatt},
		"plugin":  {Algorithm: "plugin"},
	} {
		opt.Measure, opt.Seed = macro, 1
		m := modelOf(t, d, opt)
		mean := 0.0
		for i, x := range at {
			for k, p := range m.Probabilities(nil, m.Classifier().RawScores(nil, []uint32{0, 1}, x)) {
				mean += math.Abs(p-truth[i][k]) / (3 * n)
			}
		}
		if mean > 0.03 {
			t.Errorf("%s: the probabilities are %.4f off in the mean", name, mean)
		}
	}
}

func TestProbabilitiesOfLabels(t *testing.T) {
	classes, labels := classSet(t, 1, 3000), labelSet(t, 1, 3000)
	macro, err := measure.ParseMulti("macro_f1", false)
	if err != nil {
		t.Fatal(err)
	}
	macroLabels, err := measure.ParseMulti("macro_f1", true)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []Data{classes, labels} {
		opt := Options{Measure: macro, Seed: 1}
		if d.Task == Multilabel {
			opt.Measure = macroLabels
		}
		m := modelOf(t, d, opt)
		if len(m.Calibration) != len(m.Models) || m.Calibration[0].Curve != nil {
			t.Fatalf("%s: %d calibrations, want one for each of %d models and no curve", d.Task, len(m.Calibration),
				len(m.Models))
		}
		var loss, rows float64
		scores := make([][]Scored, len(m.Models))
		err := d.read(t.Context(), d.labelled(func(x LabelsExample) error {
			p := m.Probabilities(nil, m.Classifier().RawScores(nil, x.Index, x.Value))
			sum := 0.0
			for k, v := range p {
				sum += v
				scores[k] = append(scores[k], Scored{Score: v, Weight: 1, Positive: hasLabel(x.Labels, k)})
			}
			if d.Task == Multiclass && math.Abs(sum-1) > 1e-12 {
				t.Fatalf("the probabilities of classes add up to %v", sum)
			}
			rows++
			return nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		for k := range scores {
			share := 0.0
			for _, s := range scores[k] {
				if s.Positive {
					share += 1 / rows
				}
			}
			// Better than the share of the label for all rows.
			if loss = scored.Brier(scores[k]).Value; !(loss < share*(1-share)) {
				t.Errorf("%s: label %d has a Brier score of %v, the share alone %v", d.Task, k, loss, share*(1-share))
			}
		}
	}
}

func TestCalibrationInFile(t *testing.T) {
	m := modelOf(t, asData(t, logits(2000, 7)), Options{
		Measure: measure.FBeta{B: 1}, Algorithm: "stamp", Calibration: CalibrationIsotonic,
	})
	raw := written(t, m)
	back, err := ReadModel(bytes.NewReader(raw), "m")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(written(t, back), raw) {
		t.Error("the model reads back as another")
	}
	for want, damage := range map[string]func(c *Calibration){
		"source":       func(c *Calibration) { c.Source = "seen" },
		"rows":         func(c *Calibration) { c.Positives = c.Rows + 1 },
		"map.score[1]": func(c *Calibration) { c.Map.Probability[1] = 0 },
		"curve":        func(c *Calibration) { c.Curve = nil },
		"odds":         func(c *Calibration) { c.Odds = true },
		"point 1":      func(c *Calibration) { c.Curve.Score[1] = c.Curve.Score[0] },
	} {
		bad, err := ReadModel(bytes.NewReader(raw), "m")
		if err != nil {
			t.Fatal(err)
		}
		damage(&bad.Calibration[0])
		if err := bad.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want one with %q", err, want)
		}
	}
}

func TestCheapest(t *testing.T) {
	// To predict 1 for a true 0 costs 9, the other way 1: only from .9 on is 1 the cheaper one.
	costs := [][]float64{{0, 9}, {1, 0}}
	if Cheapest(costs, []float64{0.11, 0.89}) != 0 || Cheapest(costs, []float64{0.09, 0.91}) != 1 {
		t.Error("the cheapest label changes elsewhere than at .9")
	}
}
