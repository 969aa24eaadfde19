package classify

import (
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/measure"
)

func multiMeasures(t *testing.T, labels bool, names ...string) []measure.Multi {
	t.Helper()
	var out []measure.Multi
	for _, name := range names {
		m, err := measure.ParseMulti(name, labels)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, m)
	}
	return out
}

// What an algorithm reaches for a measure does not depend on the other measures, an algorithm that
// cannot train for a measure has no cell for it, and a model without a measure is trained once.
func TestCompareMulti(t *testing.T) {
	t.Parallel()
	data := classSet(t, 5, 900)
	fits := map[string]int{}
	run := func(names ...string) map[string][]float64 {
		c, err := CompareMulti(t.Context(), data, MultiCompareOptions{
			Measures: multiMeasures(t, false, names...), Splits: 2, TrainShare: 0.7, Seed: 4,
			Fit: Options{Passes: 2, Progress: func(p Progress) { fits[p.Algorithm+" "+p.Measure]++ }},
		})
		if err != nil {
			t.Fatal(err)
		}
		if c.TrainRows != 630 || c.TestRows != 270 || c.Splits != 2 {
			t.Errorf("%d rows to train on, %d to test, %d splits", c.TrainRows, c.TestRows, c.Splits)
		}
		out := map[string][]float64{}
		for _, x := range c.Cells {
			out[x.Measure+" "+x.Algorithm] = x.Values
		}
		return out
	}
	together := run("macro_f1", "gmean")
	if fits["logistic macro_f1"] == 0 || fits["logistic gmean"] != 0 {
		t.Errorf("logistic regression was trained for %v", fits)
	}
	alone := run("gmean")
	for k, v := range alone {
		if !slices.Equal(v, together[k]) {
			t.Errorf("%s: %v alone, %v together", k, v, together[k])
		}
	}
	for k, want := range map[string]bool{
		"gmean spade": true, "macro_f1 spade": false, "macro_f1 one-vs-rest": true, "gmean one-vs-rest": false,
		"gmean plugin": false, "macro_f1 plugin": true, "gmean logistic": true, "macro_f1 sgd-balanced": true,
	} {
		if _, ok := together[k]; ok != want {
			t.Errorf("%s: there is a cell: %v, want %v", k, ok, want)
		}
	}
	for want, change := range map[string]func(*MultiCompareOptions){
		"no measure is given":           func(o *MultiCompareOptions) { o.Measures = nil },
		"splits is 0":                   func(o *MultiCompareOptions) { o.Splits = 0 },
		"splits is -1":                  func(o *MultiCompareOptions) { o.Splits = -1 },
		"share of the training part":    func(o *MultiCompareOptions) { o.TrainShare = 2 },
		`is named "stamp"`:              func(o *MultiCompareOptions) { o.Algorithms = []string{"stamp"} },
		"algorithm spade is given":      func(o *MultiCompareOptions) { o.Algorithms = []string{"spade", "spade"} },
		"none of the algorithms can be": func(o *MultiCompareOptions) { o.Algorithms = []string{"plugin"} },
	} {
		opt := DefaultMultiCompareOptions()
		opt.Measures = multiMeasures(t, false, "min")
		change(&opt)
		if _, err := CompareMulti(t.Context(), data, opt); noregret.CodeOf(err) != noregret.Usage ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// Options that exclude each other, and what is held out.
func TestFitMultiOptions(t *testing.T) {
	data, valid := classSet(t, 6, 600), classSet(t, 7, 300)
	f1, gmean := multiMeasures(t, false, "macro_f1")[0], multiMeasures(t, false, "gmean")[0]
	for want, opt := range map[string]MultiOptions{
		"folds, a rule for the threshold": {Measure: f1, Fit: Options{Folds: 2}},
		"a holdout of 0.1 and no holdout": {Measure: f1, Fit: Options{Holdout: 0.1, NoHoldout: true}},
		"given apart exclude":             {Measure: f1, Valid: &valid, Fit: Options{Holdout: 0.1}},
		"needs held-out data":             {Measure: f1, Fit: Options{TuneSteps: true, NoHoldout: true}},
		"passes is -1":                    {Measure: f1, Fit: Options{Passes: -1}},
		"takes no steps of its own": {
			Measure: f1, Algorithm: "logistic",
			Fit: Options{Config: Config{Steps: StepsSqrt}},
		},
		"adaptive steps are for learners of": {Measure: gmean, Fit: Options{Config: Config{Steps: StepsAdaptive}}},
		"cannot train for macro_f1":          {Measure: f1, Algorithm: "spade"},
		`is named "svm"`:                     {Measure: f1, Algorithm: "svm"},
	} {
		if _, err := FitMulti(t.Context(), data, opt); noregret.CodeOf(err) != noregret.Usage ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	for name, tc := range map[string]struct {
		opt     MultiOptions
		heldOut int64
		history int
		warning string
	}{
		"default":      {MultiOptions{Measure: f1}, 60, 1, ""},
		"nothing":      {MultiOptions{Measure: f1, Fit: Options{NoHoldout: true}}, 0, 1, "nothing is held out"},
		"apart":        {MultiOptions{Measure: f1, Valid: &valid}, 300, 1, ""},
		"step scales":  {MultiOptions{Measure: gmean, Fit: Options{TuneSteps: true}}, 60, 12, ""},
		"last pass":    {MultiOptions{Measure: gmean}, 0, 1, ""},
		"every pass":   {MultiOptions{Measure: gmean, Fit: Options{Holdout: 0.2}}, 120, 3, ""},
		"tuned, batch": {MultiOptions{Measure: f1, Algorithm: "plugin"}, 60, 1, ""},
	} {
		tc.opt.Fit.Passes = 3
		r, err := FitMulti(t.Context(), data, tc.opt)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if d := r.HoldoutRows - tc.heldOut; d < -2 || d > 2 || len(r.History) != tc.history {
			t.Errorf("%s: %d rows held out, want %d; %d candidates, want %d", name, r.HoldoutRows, tc.heldOut,
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

// A label that no row of the training part has, and one that all have, are never a failure.
func TestFitMultiLabelsOfOneKind(t *testing.T) {
	s := multiSet(t, []string{"a", "a,b"}, 200, func(i int) ([]uint32, []float32, int) {
		return []uint32{0}, []float32{float32(i%7) - 3}, min(1, i%200/199)
	})
	data, err := NewMultiData(s, Multilabel)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range MultiAlgorithms(Multilabel) {
		for _, m := range multiMeasures(t, true, "macro_f1", "micro_f1") {
			r, err := FitMulti(t.Context(), data,
				MultiOptions{Measure: m, Algorithm: a.Name, Fit: Options{Passes: 2, Seed: 2}})
			if err != nil {
				t.Fatalf("%s %s: %v", a.Name, m.Name(), err)
			}
			c, err := EvaluateMulti(t.Context(), data, &r.Model)
			if err != nil {
				t.Fatal(err)
			}
			if got := c.Labels[0].TP; got < 190 {
				t.Errorf("%s %s: the label of all rows is predicted for %v of 200", a.Name, m.Name(), got)
			}
		}
	}
}
