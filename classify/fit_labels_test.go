package classify

import (
	"bytes"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/internal/testsize"
)

// Every algorithm, for every measure that it can train for, does well above the constant classifier
// on fresh data and gives the same result twice, which a model file preserves.
func TestFitLabels(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		task        Task
		train, test Data
		measures    map[string]float64
	}{
		{
			Multiclass, classSet(t, 1, testsize.Of(3000, 2000)), classSet(t, 2, 2000),
			map[string]float64{
				"min": 0.5, "gmean": 0.58, "qmean": 0.58, "hmean": 0.58, "macro_recall": 0.6, "macro_f1": 0.49,
				"accuracy": 0.8,
			},
		},
		{
			Multilabel, labelSet(t, 1, testsize.Of(3000, 1500)), labelSet(t, 2, 2000),
			map[string]float64{"macro_f1": 0.55, "micro_f1": 0.55, "macro_jaccard": 0.35},
		},
	} {
		for _, a := range Algorithms(tc.task) {
			for name, least := range tc.measures {
				m, err := measure.ParseMulti(name, tc.task == Multilabel)
				if err != nil {
					t.Fatal(err)
				}
				if !a.Trains(m) {
					continue
				}
				opt := Options{Measure: m, Algorithm: a.Name, Passes: new(testsize.Of(5, 3)), Seed: 3}
				r, err := Fit(t.Context(), tc.train, opt)
				if err != nil {
					t.Fatalf("%s %s: %v", a.Name, name, err)
				}
				c, err := Evaluate(t.Context(), tc.test, r.Classifier())
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%s %s: %.3f", a.Name, name, c.Value(m))
				plain := a.Name == "logistic" || a.Name == "softmax"
				balanced := a.Name == "sgd-balanced" || a.Name == "softmax-balanced"
				if (plain && name != "accuracy") || balanced {
					least = 0 // baselines
				}
				if v := c.Value(m); !(v >= least) {
					t.Errorf("%s %s: %.3f on fresh data, want at least %.2f", a.Name, name, v, least)
				}
				checkMultiFile(t, tc.train, opt, r)
			}
		}
	}
}

// checkMultiFile writes the model and reads it back.
func checkMultiFile(t *testing.T, data Data, opt Options, r *Result) {
	t.Helper()
	m, err := NewModel(r, opt, data)
	if err != nil {
		t.Fatal(err)
	}
	var b, again bytes.Buffer
	if err := WriteModel(&b, m); err != nil {
		t.Fatal(err)
	}
	got, err := ReadModel(bytes.NewReader(b.Bytes()), "m.json")
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, m) {
		t.Errorf("read\n%+v\nwant\n%+v", got, m)
	}
	second, err := Fit(t.Context(), data, opt)
	if err != nil {
		t.Fatal(err)
	}
	if m, err = NewModel(second, opt, data); err != nil {
		t.Fatal(err)
	}
	if err := WriteModel(&again, m); err != nil || !bytes.Equal(b.Bytes(), again.Bytes()) {
		t.Errorf("%s: the same fit gave another file, %v", r.Algorithm, err)
	}
}

func multiMeasures(t *testing.T, labels bool, names ...string) []measure.Objective {
	t.Helper()
	var out []measure.Objective
	for _, name := range names {
		m, err := measure.ParseMulti(name, labels)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, m)
	}
	return out
}

// Options that exclude each other, and what is held out.
func TestFitOptions(t *testing.T) {
	data, valid := classSet(t, 6, 600), classSet(t, 7, 300)
	f1, gmean := multiMeasures(t, false, "macro_f1")[0], multiMeasures(t, false, "gmean")[0]
	for want, opt := range map[string]Options{
		"folds has no meaning for multiclass data": {Measure: f1, Folds: new(2)},
		"separate held-out data exclude":           {Measure: f1, Valid: &valid, Holdout: new(0.1)},
		"held-out data are binary":                 {Measure: f1, Valid: &Data{Set: valid.Set}},
		"needs held-out data":                      {Measure: f1, TuneSteps: true, Holdout: new(0.0)},
		"passes is -1":                             {Measure: f1, Passes: new(-1)},
		"takes no steps of its own": {
			Measure: f1, Algorithm: "logistic",
			Config: Config{Steps: StepsSqrt},
		},
		"adaptive steps are for learners of": {Measure: gmean, Config: Config{Steps: StepsAdaptive}},
		"cannot maximize macro_f1":           {Measure: f1, Algorithm: "spade"},
		`is named "svm"`:                     {Measure: f1, Algorithm: "svm"},
	} {
		if _, err := Fit(t.Context(), data, opt); noregret.CodeOf(err) != noregret.Usage ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	for name, tc := range map[string]struct {
		opt     Options
		heldOut int64
		history int
		warning string
	}{
		"default":      {Options{Measure: f1}, 60, 1, ""},
		"nothing":      {Options{Measure: f1, Holdout: new(0.0)}, 0, 1, "nothing is held out"},
		"separate":     {Options{Measure: f1, Valid: &valid}, 300, 1, ""},
		"step scales":  {Options{Measure: gmean, TuneSteps: true}, 60, 12, ""},
		"last pass":    {Options{Measure: gmean}, 0, 1, ""},
		"every pass":   {Options{Measure: gmean, Holdout: new(0.2)}, 120, 3, ""},
		"tuned, batch": {Options{Measure: f1, Algorithm: "plugin", Holdout: new(0.1)}, 60, 1, ""},
		"cross-fitted": {Options{Measure: gmean, Algorithm: "softmax", Threshold: ThresholdTuned}, 0, 1, ""},
		"tuned, steps": {Options{Measure: gmean, Threshold: ThresholdTuned, Holdout: new(0.2)}, 120, 3, ""},
	} {
		tc.opt.Passes = new(3)
		r, err := Fit(t.Context(), data, tc.opt)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if d := r.Holdout.Rows - tc.heldOut; d < -2 || d > 2 || len(r.History) != tc.history {
			t.Errorf("%s: %d rows held out, want %d; %d candidates, want %d", name, r.Holdout.Rows, tc.heldOut,
				len(r.History), tc.history)
		}
		if got := strings.Join(r.Warnings, "; "); !strings.Contains(got, tc.warning) || tc.warning == "" && got != "" {
			t.Errorf("%s: warnings %q, want %q", name, got, tc.warning)
		}
		if c := r.History[r.Chosen]; c.Holdout != nil {
			for _, e := range r.History {
				if *e.Holdout > *c.Holdout {
					t.Errorf("%s: %q has %v, the chosen one %v", name, e.Candidate, *e.Holdout, *c.Holdout)
				}
			}
		}
	}
}

// A label that no row of the training part has, or that all have, makes no fit fail.
func TestFitMultiLabelsOfOneKind(t *testing.T) {
	s := multiSet(t, []string{"a", "a,b"}, 200, func(i int) ([]uint32, []float32, int) {
		return []uint32{0}, []float32{float32(i%7) - 3}, min(1, i%200/199)
	})
	data, err := NewData(s, Multilabel)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range Algorithms(Multilabel) {
		for _, m := range multiMeasures(t, true, "macro_f1", "micro_f1") {
			r, err := Fit(t.Context(), data,
				Options{Measure: m, Algorithm: a.Name, Passes: new(2), Seed: 2})
			if err != nil {
				t.Fatalf("%s %s: %v", a.Name, m.Name(), err)
			}
			c, err := Evaluate(t.Context(), data, r.Classifier())
			if err != nil {
				t.Fatal(err)
			}
			if got := c.Labels[0].TP; got < 190 {
				t.Errorf("%s %s: the label of all rows is predicted for %v of 200", a.Name, m.Name(), got)
			}
		}
	}
}

// TestFitMultiRefusesIdentifiers checks that labels which are identifiers are refused before the
// models and confusion matrices take the machine's memory.
func TestFitMultiRefusesIdentifiers(t *testing.T) {
	names := make([]string, 30_000)
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	set := multiSet(t, names, len(names), func(i int) ([]uint32, []float32, int) {
		return []uint32{0}, []float32{float32(i)}, i
	})
	d, err := NewData(set, Multiclass)
	if err != nil {
		t.Fatal(err)
	}
	m, err := measure.ParseMulti("gmean", false)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Fit(t.Context(), d, Options{Measure: m})
	if noregret.CodeOf(err) != noregret.BadInput || !strings.Contains(err.Error(), "training for 30000 labels") {
		t.Errorf("got %v, want the memory that 30000 classes need", err)
	}
}
