package classify

import (
	"bytes"
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/internal/random"
)

// noisyRows are rows of labels that overlap: each label of class k is there copies[k] times, with
// weights[k].
func noisyRows(t *testing.T, task Task, copies []int, weights []float64) Data {
	t.Helper()
	b, err := dataset.NewBuilder(3, []string{"0", "1", "2"}[:len(copies)]...)
	if err != nil {
		t.Fatal(err)
	}
	r := random.New(5, "noisy")
	for range 400 {
		x := []float32{float32(r.Float64()), float32(r.Float64()), float32(r.Float64())}
		k := min(int(float64(float64(x[0])+r.Float64())*float64(len(copies))/2), len(copies)-1)
		for range copies[k] {
			if err := b.Add([]uint32{0, 1, 2}, x, k, weights[k]); err != nil {
				t.Fatal(err)
			}
		}
	}
	s, err := b.Set()
	if err != nil {
		t.Fatal(err)
	}
	d, err := NewData(s, task)
	if err != nil {
		t.Fatal(err)
	}
	d.Positive = 1
	return d
}

func labelWeighted(d Data, algorithm string, w LabelWeights) Options {
	o := Options{
		Algorithm: algorithm, Measure: measure.Objective(measure.FBeta{B: 1}), ClassWeights: w, Unscaled: true, Seed: 3,
	}
	if d.Task != Binary {
		o.Measure, _ = d.Task.Measure("accuracy")
	}
	return o
}

// fitted returns all weights and intercepts of a fit.
func fitted(t *testing.T, d Data, o Options) []float64 {
	t.Helper()
	r, err := Fit(context.Background(), d, o)
	if err != nil {
		t.Fatal(err)
	}
	var out []float64
	for _, m := range r.Models {
		out = append(append(out, m.Weights...), m.Intercept)
	}
	return out
}

// distance is the largest difference.
func distance(x, y []float64) float64 {
	most := math.Abs(float64(len(x) - len(y)))
	for i := range min(len(x), len(y)) {
		most = max(most, math.Abs(x[i]-y[i]))
	}
	return most
}

// A weight of 2 is the row twice, and a weight of 3 on rows of weight 2 is a weight of 6.
func TestLabelWeightsAreRows(t *testing.T) {
	for _, tc := range []struct {
		task      Task
		algorithm string
		labels    int
	}{
		{Binary, "logistic", 2}, {Multiclass, "softmax", 3}, {Multiclass, "logistic", 3},
	} {
		ones, six := []int{1, 1, 1}[:tc.labels], []float64{1, 6, 1}[:tc.labels]
		once := noisyRows(t, tc.task, ones, []float64{1, 1, 1})
		twice := noisyRows(t, tc.task, []int{1, 2, 1}[:tc.labels], []float64{1, 1, 1})
		by := func(v float64) LabelWeights { return LabelWeights{Of: map[string]float64{"1": v}} }
		plain := fitted(t, once, labelWeighted(once, tc.algorithm, LabelWeights{}))
		got := fitted(t, once, labelWeighted(once, tc.algorithm, by(2)))
		want := fitted(t, twice, labelWeighted(twice, tc.algorithm, LabelWeights{}))
		if d := distance(got, want); d > 1e-9 || distance(plain, want) < 0.1 {
			t.Errorf("%s %s: a weight of 2 is %g from the row twice", tc.task, tc.algorithm, d)
		}
		two, all := noisyRows(t, tc.task, ones, []float64{1, 2, 1}), noisyRows(t, tc.task, ones, six)
		got = fitted(t, two, labelWeighted(two, tc.algorithm, by(3)))
		if d := distance(got, fitted(t, all, labelWeighted(all, tc.algorithm, LabelWeights{}))); d > 1e-9 {
			t.Errorf("%s %s: weights of rows and labels do not multiply: %g", tc.task, tc.algorithm, d)
		}
	}
}

// Balanced weights are those of the algorithms that balance, and the same weight for all labels is
// none, for steps too.
func TestLabelWeightsBalanced(t *testing.T) {
	two, three := noisyRows(t, Binary, []int{3, 1}, []float64{1, 1}),
		noisyRows(t, Multiclass, []int{1, 3, 2}, []float64{1, 1, 1})
	for algorithm, d := range map[string]Data{"logistic": two, "softmax": three} {
		o := labelWeighted(d, algorithm, LabelWeights{Balanced: true})
		o.Unscaled = false // the scales are those of the rows, which weights do not change
		named := o
		named.Algorithm, named.ClassWeights = algorithm+"-balanced", LabelWeights{}
		if d := distance(fitted(t, d, o), fitted(t, d, named)); d > 1e-9 {
			t.Errorf("balanced %s is %g from the algorithm", algorithm, d)
		}
	}
	for _, algorithm := range []string{"sgd-logistic", "sgd-hinge", "logistic"} {
		all := LabelWeights{Of: map[string]float64{"0": 3, "1": 3}}
		got := fitted(t, two, labelWeighted(two, algorithm, all))
		plain := fitted(t, two, labelWeighted(two, algorithm, LabelWeights{}))
		if d := distance(got, plain); d > 1e-9 {
			t.Errorf("%s: weights of 3 for all labels move the model by %g", algorithm, d)
		}
		if d := distance(fitted(t, two, labelWeighted(two, algorithm, LabelWeights{Balanced: true})), plain); d < 0.01 {
			t.Errorf("%s: balanced weights move the model by %g only", algorithm, d)
		}
	}
}

// Auto compares algorithms that take weights only, by the measure of the rows as they are, and the
// model file keeps the weights.
func TestAutoWithLabelWeights(t *testing.T) {
	for _, d := range []Data{
		noisyRows(t, Binary, []int{2, 1}, []float64{1, 1}),
		noisyRows(t, Multiclass, []int{1, 1, 1}, []float64{1, 1, 1}),
	} {
		o := labelWeighted(d, Auto, LabelWeights{Of: map[string]float64{"1": 20, "0": 0.5}})
		o.Unscaled = false
		o.Measure, _ = d.Task.Measure("accuracy")
		r, err := Fit(context.Background(), d, o)
		if err != nil {
			t.Fatal(err)
		}
		if r.Search == nil || len(r.Search.Tried) < 5 {
			t.Fatalf("%s: auto compared %+v", d.Task, r.Search)
		}
		plainValue := 0.0
		for _, c := range r.Search.Tried {
			if !algorithmOf(d.Task, c.Algorithm).weighs {
				t.Errorf("%s: %s was tried", d.Task, c.Algorithm)
			}
			if c.Threshold == "zero" && c.Value != nil {
				plainValue = max(plainValue, *c.Value)
			}
		}
		// Most rows are taken for label 1, whose share of the rows is small: the accuracy of the
		// weighted rows would be near 1.
		if plainValue > 0.7 {
			t.Errorf("%s: the accuracy at threshold 0 is %v, want that of the unweighted rows", d.Task, plainValue)
		}
		m, err := NewModel(r, o, d)
		if err != nil {
			t.Fatal(err)
		}
		var file bytes.Buffer
		if err := WriteModel(&file, m); err != nil {
			t.Fatal(err)
		}
		back, err := ReadModel(&file, "m.json")
		if err != nil {
			t.Fatal(err)
		}
		if w := back.Options.ClassWeights; w.Balanced || len(w.Of) != 2 || w.Of["1"] != 20 || w.Of["0"] != 0.5 {
			t.Errorf("%s: the file has the weights %+v", d.Task, w)
		}
	}
}

// Where auto does not choose, a training with weights is logistic.
func TestLabelWeightsOfFewRows(t *testing.T) {
	d := sparseRows(t, 12, 4, Binary, "0", "1")
	r, err := Fit(context.Background(), d, labelWeighted(d, Auto, LabelWeights{Balanced: true}))
	if err != nil || r.Algorithm != "logistic" {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestLabelWeightsAreRefused(t *testing.T) {
	d := noisyRows(t, Binary, []int{1, 1}, []float64{1, 1})
	by := func(label string, v float64) LabelWeights { return LabelWeights{Of: map[string]float64{label: v}} }
	for _, tc := range []struct {
		algorithm string
		w         LabelWeights
		want      string
	}{
		{"logistic", by("yes", 2), `2 of the label "yes": want a label among ["0" "1"]`},
		{"logistic", by("1", 0), `0 of the label "1", want a number from 1e-9 to 1e9`},
		{"logistic", by("1", -1), `-1 of the label "1"`},
		{"logistic", by("1", math.NaN()), `NaN of the label "1"`},
		{"logistic", by("1", math.Inf(1)), `+Inf of the label "1"`},
		{"logistic", LabelWeights{Balanced: true, Of: map[string]float64{"1": 2}}, "balanced excludes"},
		{Auto, by("yes", 2), `2 of the label "yes"`},
		{"stamp", by("1", 2), "algorithm stamp weighs the classes itself: class weight is a setting of"},
		{"amp", by("1", 2), "weighs the classes itself"},
		{"cost-search", by("1", 2), "weighs the classes itself"},
		{"omma", by("1", 2), "weighs the classes itself"},
		{"logistic-balanced", by("1", 2), "weighs the classes itself"},
		{"sgd-balanced", LabelWeights{Balanced: true}, "weighs the classes itself"},
	} {
		_, err := Fit(context.Background(), d, labelWeighted(d, tc.algorithm, tc.w))
		if noregret.CodeOf(err) != noregret.Usage || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s with %+v: got %v, want %s", tc.algorithm, tc.w, err, tc.want)
		}
	}
	o := labelWeighted(d, "sgd-logistic", by("1", 2))
	_, _, errStream := streamLearner(o)
	_, errShard := FitShard(context.Background(), d, ShardOptions{Fit: o, Share: dataset.Share{Number: 1, Of: 1}})
	for _, err := range []error{errStream, errShard} {
		if noregret.CodeOf(err) != noregret.Usage || !strings.Contains(err.Error(), "class-weight") {
			t.Errorf("got %v, want a refusal of class weights", err)
		}
	}
	var w LabelWeights
	for _, text := range []string{"", "1", "=2", "1=x", "1=0", "1=-2", "1=nan", "1=inf", "1=2,+1=3", "1=2,", "a, b=5", `a"=5`, "1=2\n2=3"} {
		if err := (weightsFlag{&w}).Set(text); err == nil {
			t.Errorf("%q is accepted as %+v", text, w)
		}
	}
	for _, text := range []string{"balanced", "none", "-1=0.5,1=2", "a=b=3", `"a, b=5",c=2`, `"a ""b""=5"`} {
		if err := (weightsFlag{&w}).Set(text); err != nil || (weightsFlag{&w}).String() != text {
			t.Errorf("%q is read as %+v, %v", text, w, err)
		}
	}
	// The others are one class: only all of them together weigh.
	three := noisyRows(t, Multiclass, []int{1, 1, 1}, []float64{1, 1, 1})
	one := Data{Set: three.Set, Positive: 1}
	if _, err := Fit(context.Background(), one, labelWeighted(one, "logistic", by("2", 2))); err == nil ||
		!strings.Contains(err.Error(), "weigh the positive label") {
		t.Errorf("got %v for one of two negative labels", err)
	}
	if v := fitted(t, one, labelWeighted(one, "logistic", by("+1", 2))); slices.Equal(v,
		fitted(t, one, labelWeighted(one, "logistic", LabelWeights{}))) {
		t.Error("a weight of the positive label changes nothing")
	}
}

// The largest weights that are taken train; those beyond the arithmetic are refused.
func TestHugeWeights(t *testing.T) {
	d := noisyRows(t, Binary, []int{1, 1}, []float64{1, math.MaxFloat32})
	for _, v := range []float64{1e9, 1e-9} {
		for _, w := range fitted(t, d, labelWeighted(d, "logistic", LabelWeights{Of: map[string]float64{"1": v}})) {
			if w-w != 0 {
				t.Errorf("the weight %v of a label trains the weight %v", v, w)
			}
		}
	}
	for _, v := range []float64{1e10, 1e-10, math.NaN()} {
		o := labelWeighted(d, "logistic", LabelWeights{Of: map[string]float64{"1": v}})
		if _, err := Fit(context.Background(), d, o); noregret.CodeOf(err) != noregret.Usage {
			t.Errorf("the weight %v of a label: %v, want an error of code usage", v, err)
		}
	}
}

// A model without weights says so: its features tell nothing.
func TestNoFeatureHasAWeight(t *testing.T) {
	xs := make([]Example, 60)
	for i := range xs {
		xs[i] = Example{Index: []uint32{0, 1}, Value: []float32{3, 1}, Positive: i%2 == 1, Weight: 1}
	}
	d := asData(t, xs)
	o := Options{Algorithm: "logistic", Measure: measure.FBeta{B: 1}}
	r, err := Fit(context.Background(), d, o)
	if err != nil {
		t.Fatal(err)
	}
	m, err := NewModel(r, o, d)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Models[0].Weights.Index) > 0 || !slices.ContainsFunc(m.Warnings, func(w string) bool {
		return strings.HasPrefix(w, "no feature has a weight")
	}) {
		t.Errorf("weights %v with the warnings %q", m.Models[0].Weights, m.Warnings)
	}
}
