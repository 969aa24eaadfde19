package classify

import (
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret"
)

// The result of an algorithm for a measure does not depend on the other measures, an algorithm that
// cannot train for a measure has no cell for it, and a model that does not depend on the measure is
// trained once.
func TestCompareClasses(t *testing.T) {
	t.Parallel()
	data := classSet(t, 5, 900)
	fits := map[string]int{}
	run := func(names ...string) map[string][]float64 {
		c, err := Compare(t.Context(), data, CompareOptions{
			Measures: multiMeasures(t, false, names...), Splits: 2, TrainShare: 0.7, Seed: 4,
			Fit: Options{Passes: new(2), Progress: func(p Progress) { fits[p.Algorithm+" "+p.Measure]++ }},
		})
		if err != nil {
			t.Fatal(err)
		}
		if c.Train.Rows != 630 || c.Test.Rows != 270 || c.Splits != 2 {
			t.Errorf("%d rows to train on, %d to test, %d splits", c.Train.Rows, c.Test.Rows, c.Splits)
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
		"gmean plugin": true, "macro_f1 plugin": true, "gmean logistic": true, "macro_f1 sgd-balanced": true,
	} {
		if _, ok := together[k]; ok != want {
			t.Errorf("%s: there is a cell: %v, want %v", k, ok, want)
		}
	}
	for want, change := range map[string]func(*CompareOptions){
		"no measure is given":           func(o *CompareOptions) { o.Measures = nil },
		"splits is 0":                   func(o *CompareOptions) { o.Splits = 0 },
		"splits is -1":                  func(o *CompareOptions) { o.Splits = -1 },
		"share of the training part":    func(o *CompareOptions) { o.TrainShare = 2 },
		`is named "stamp"`:              func(o *CompareOptions) { o.Algorithms = []string{"stamp"} },
		"algorithm spade is given":      func(o *CompareOptions) { o.Algorithms = []string{"spade", "spade"} },
		"none of the algorithms can be": func(o *CompareOptions) { o.Algorithms = []string{"one-vs-rest"} },
	} {
		opt := DefaultCompareOptions()
		opt.Measures = multiMeasures(t, false, "min")
		change(&opt)
		if _, err := Compare(t.Context(), data, opt); noregret.CodeOf(err) != noregret.Usage ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
