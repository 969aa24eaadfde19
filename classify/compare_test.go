package classify

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/internal/testsize"
)

// What auto chooses for one measure is not taken for another, also where both have the same
// default.
func TestCompareAutoApart(t *testing.T) {
	t.Parallel()
	d := rings(t, 600, 2)
	values := func(ms ...measure.Objective) []float64 {
		c, err := Compare(t.Context(), d, CompareOptions{
			Measures: ms, Algorithms: []string{Auto}, Splits: 1, TrainShare: 0.7, Seed: 4,
		})
		if err != nil {
			t.Fatal(err)
		}
		return c.Cells[len(c.Cells)-1].Values
	}
	if x, y := values(measure.MCC{}, measure.FowlkesMallows{}), values(measure.FowlkesMallows{}); !slices.Equal(x, y) {
		t.Errorf("auto has %v after another measure and %v alone", x, y)
	}
}

// The results for a measure do not depend on the other measures of the comparison or on their
// order.
func TestCompareMeasuresApart(t *testing.T) {
	testsize.NoRace(t)
	t.Parallel()
	data := asData(t, stream(43, testsize.Of(1200, 600)))
	measures := []measure.Objective{measure.FBeta{B: 1}, measure.QMean{}, measure.Min{}}
	var sharing []string
	for _, a := range Algorithms(Binary) {
		if a.sharesModel {
			sharing = append(sharing, a.Name)
		}
	}
	valid := asData(t, stream(44, 300))
	for name, fit := range map[string]Options{
		"default": {}, "tuned steps": {TuneSteps: true}, "tuned threshold": {Threshold: ThresholdTuned},
		"threshold 0":        {Threshold: ThresholdZero},
		"held out":           {Holdout: new(0.2)},
		"held out and tuned": {Holdout: new(0.2), Threshold: ThresholdTuned, TuneSteps: true},
		"one pass, tuned":    {Passes: new(1), Threshold: ThresholdTuned}, "nothing held out": {Holdout: new(0.0)},
		"separate held-out data": {Valid: &valid},
	} {
		if fit.Passes == nil {
			fit.Passes = new(testsize.Of(6, 3))
		}
		run := func(ms []measure.Objective) map[string][]float64 {
			c, err := Compare(context.Background(), data,
				CompareOptions{Measures: ms, Algorithms: sharing, Splits: 1, TrainShare: 0.7, Seed: 4, Fit: fit})
			if err != nil {
				t.Fatal(err)
			}
			out := map[string][]float64{}
			for _, x := range c.Cells {
				out[x.Measure+" "+x.Algorithm] = x.Values
			}
			return out
		}
		alone := map[string][]float64{}
		for _, m := range measures {
			for k, v := range run([]measure.Objective{m}) {
				alone[k] = v
			}
		}
		backward := slices.Clone(measures)
		slices.Reverse(backward)
		for order, ms := range map[string][]measure.Objective{"forward": measures, "backward": backward} {
			together := run(ms)
			if len(together) != len(alone) {
				t.Errorf("%s, %s: %d cells, %d alone", name, order, len(together), len(alone))
			}
			for k, v := range together {
				if !slices.Equal(v, alone[k]) {
					t.Errorf("%s, %s, %s: %v, alone %v", name, order, k, v, alone[k])
				}
			}
		}
	}
}

// A model that does not depend on the measure is trained once.
func TestCompareTrainsSharedModelsOnce(t *testing.T) {
	data := asData(t, stream(43, 1200))
	fits := map[string]int{}
	_, err := Compare(context.Background(), data, CompareOptions{
		Measures:   []measure.Objective{measure.FBeta{B: 1}, measure.QMean{}, measure.Min{}},
		Algorithms: []string{"plugin", "logistic", "sgd-hinge"}, Splits: 1, TrainShare: 0.7, Seed: 4,
		Fit: Options{Passes: new(8), Progress: func(p Progress) {
			fits[p.Algorithm+" "+p.Measure]++
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if fits["sgd-hinge f1"] == 0 {
		t.Fatalf("no progress of sgd-hinge for f1 in %v", fits)
	}
	for k := range fits {
		if strings.HasPrefix(k, "sgd") && !strings.HasSuffix(k, " f1") {
			t.Errorf("trained again: %q", k)
		}
	}
}

// A combination that Fit refuses has no cell and does not end the comparison.
func TestCompareLeavesOut(t *testing.T) {
	precision, err := measure.Parse("precision")
	if err != nil {
		t.Fatal(err)
	}
	f1 := measure.FBeta{B: 1}
	data := asData(t, stream(42, 600))
	names := func(ms []measure.Objective, fit Options, algorithms ...string) (string, error) {
		fit.Passes = new(2)
		c, err := Compare(context.Background(), data,
			CompareOptions{Measures: ms, Algorithms: algorithms, Splits: 1, TrainShare: 0.7, Fit: fit})
		if err != nil {
			return "", err
		}
		var out []string
		for _, x := range c.Cells {
			out = append(out, x.Measure+" "+x.Algorithm)
		}
		return strings.Join(out, ", "), nil
	}
	for _, tc := range []struct {
		measures   []measure.Objective
		fit        Options
		algorithms []string
		want       string
	}{
		{
			[]measure.Objective{precision, f1},
			Options{},
			[]string{"stamp", "amp", "cost-search", "logistic"},
			"precision logistic, f1 stamp, f1 amp, f1 cost-search, f1 logistic",
		},
		{[]measure.Objective{precision}, Options{AllowDegenerate: true}, []string{"stamp"}, "precision stamp"},
		{[]measure.Objective{f1}, Options{Holdout: new(0.0)}, []string{"plugin", "logistic"}, "f1 logistic"},
		{[]measure.Objective{f1, measure.QMean{}}, Options{}, []string{"auto"}, "f1 auto, qmean auto"},
		{
			[]measure.Objective{measure.QMean{}, measure.Min{}},
			Options{},
			[]string{"auto", "spade"},
			"qmean auto, qmean spade, min auto, min spade",
		},
	} {
		got, err := names(tc.measures, tc.fit, tc.algorithms...)
		if err != nil || got != tc.want {
			t.Errorf("%v: got %q, %v; want %q", tc.algorithms, got, err, tc.want)
		}
	}
	for _, tc := range []struct {
		measures   []measure.Objective
		algorithms []string
		want       string
	}{
		{[]measure.Objective{f1}, []string{""}, `no algorithm for binary data is named ""`},
		{[]measure.Objective{f1}, []string{"auto", "nope"}, `no algorithm for binary data is named "nope"`},
		{[]measure.Objective{f1}, []string{"logistic", "nope"}, `no algorithm for binary data is named "nope"`},
		{[]measure.Objective{f1}, []string{"logistic", "logistic"}, "algorithm logistic is given twice"},
		{[]measure.Objective{f1, f1}, []string{"logistic"}, "measure f1 is given twice"},
		{[]measure.Objective{f1, nil}, []string{"logistic"}, "no measure is given"},
		{[]measure.Objective{f1}, []string{"spade"}, "none of the algorithms"},
	} {
		if _, err := names(tc.measures, Options{}, tc.algorithms...); noregret.CodeOf(err) != noregret.Usage ||
			!strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v %v: got %v, want a usage error with %q", tc.measures, tc.algorithms, err, tc.want)
		}
	}
}

func TestCompareValidateFillsIn(t *testing.T) {
	for _, names := range [][]string{nil, {"auto"}, {"logistic", "auto"}} {
		o := DefaultCompareOptions()
		o.Measures, o.Algorithms = []measure.Objective{measure.QMean{}}, names
		if err := o.Validate(Binary); err != nil {
			t.Fatal(err)
		}
		first := fmt.Sprint(o.Algorithms)
		if err := o.Validate(Binary); err != nil || fmt.Sprint(o.Algorithms) != first {
			t.Errorf("%q: a second call gives %v, %v; the first gave %s", names, o.Algorithms, err, first)
		}
	}
	if got := fmt.Sprint(func() []string {
		o := DefaultCompareOptions()
		o.Measures = []measure.Objective{measure.QMean{}, measure.FBeta{B: 1}}
		o.Algorithms = []string{"logistic", "auto"}
		_ = o.Validate(Binary)
		return o.Algorithms
	}()); got != "[logistic auto]" {
		t.Errorf("auto is %s", got)
	}
}

// Comparisons with neighbouring seeds share no split.
func TestCompareSeedsShareNoSplit(t *testing.T) {
	data := asData(t, stream(42, 600))
	seen := map[float64]uint64{}
	for seed := range uint64(4) {
		c, err := Compare(context.Background(), data, CompareOptions{
			Measures: []measure.Objective{measure.QMean{}}, Algorithms: []string{"logistic"}, Splits: 3,
			TrainShare: 0.7, Seed: seed,
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range c.Cells[0].Values {
			if other, ok := seen[v]; ok && other != seed {
				t.Errorf("seeds %d and %d share a value, %v", other, seed, v)
			}
			seen[v] = seed
		}
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	rows := int64(testsize.Of(3000, 800))
	c, err := Compare(context.Background(), asData(t, stream(42, int(rows))), CompareOptions{
		Measures:   []measure.Objective{measure.FBeta{B: 1}, measure.QMean{}},
		Algorithms: []string{"stamp", "spade", "plugin", "logistic"}, Splits: 2, TrainShare: 0.7, Seed: 9,
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Cells) != 6 {
		t.Fatalf("%d cells, want 6 (stamp not for qmean, spade not for f1)", len(c.Cells))
	}
	if c.Train.Rows != rows*7/10 || c.Test.Rows != rows*3/10 {
		t.Errorf("split %d/%d of %d rows, want 7 to 3", c.Train.Rows, c.Test.Rows, rows)
	}
	for _, x := range c.Cells {
		if len(x.Values) != 2 || x.Mean < 0.3 || x.Mean > 1 {
			t.Errorf("%+v", x)
		}
	}
	if best := c.Best("f1", func(a string) bool {
		return a != "logistic"
	}); best == nil || best.Algorithm == "logistic" {
		t.Errorf("best %+v", best)
	}
	if _, err := Compare(context.Background(), asData(t, stream(42, 100)),
		CompareOptions{
			Measures:   []measure.Objective{measure.QMean{}},
			Algorithms: []string{"nope"}, Splits: 1, TrainShare: 0.7,
		}); noregret.CodeOf(err) != noregret.Usage {
		t.Errorf("unknown algorithm: %v", err)
	}
}

// The plug-in's threshold for a second measure, tuned on a shared model, is that of a separate fit.
func TestCompareSharesModelsRightly(t *testing.T) {
	data := asData(t, stream(43, 3000))
	opt := CompareOptions{
		Measures:   []measure.Objective{measure.FBeta{B: 1}, measure.QMean{}},
		Algorithms: []string{"plugin"}, Splits: 1, TrainShare: 0.7, Seed: 4,
	}
	both, err := Compare(context.Background(), data, opt)
	if err != nil {
		t.Fatal(err)
	}
	opt.Measures = opt.Measures[1:]
	alone, err := Compare(context.Background(), data, opt)
	if err != nil {
		t.Fatal(err)
	}
	if both.Cells[1].Mean != alone.Cells[0].Mean {
		t.Errorf("Q-mean %v beside F1, %v alone", both.Cells[1].Mean, alone.Cells[0].Mean)
	}
}
