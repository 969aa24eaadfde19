package classify

import (
	"bytes"
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
)

// rings are rows of two classes, or of three, that differ in the distance from the origin: no
// linear function of the two columns tells them apart, one of their squares does.
func rings(t *testing.T, n, classes int) Data {
	t.Helper()
	names := []string{"0", "1", "2"}[:classes]
	b, err := dataset.NewBuilder(3, names...)
	if err != nil {
		t.Fatal(err)
	}
	rng := random.New(7, "rings")
	for range n {
		x, y := rng.NormFloat64(), rng.NormFloat64()
		class := 0
		switch r := x*x + y*y; {
		case r > 5:
			class = classes - 1
		case classes == 3 && r > 2:
			class = 1
		}
		if rng.Float64() < 0.02 {
			class = (class + 1) % classes
		}
		noise := float32(math.Exp(3 * rng.NormFloat64()))
		err := b.Add([]uint32{0, 1, 2}, []float32{float32(x), float32(y), noise}, class, 1)
		if err != nil {
			t.Fatal(err)
		}
	}
	if classes > 2 {
		return builtData(t, b, Multiclass)
	}
	return builtData(t, b, Binary)
}

func autoModel(t *testing.T, d Data, m measure.Objective) *Model {
	t.Helper()
	opt := Options{Algorithm: Auto, Measure: m, Seed: 3}
	r, err := Fit(context.Background(), d, opt)
	if err != nil {
		t.Fatal(err)
	}
	model, err := NewModel(r, opt, d)
	if err != nil {
		t.Fatal(err)
	}
	return model
}

// Auto finds the squares that the usual algorithms lack, its figures hold on new rows, and its
// model is the same after it is written and read, and for any number of cores.
func TestAuto(t *testing.T) {
	macro, err := Multiclass.Measure("macro_f1")
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		classes int
		m       measure.Objective
	}{
		"f1":       {2, measure.FBeta{B: 1}},
		"gmean":    {2, measure.GMean{}},
		"mcc":      {2, measure.MCC{}}, // which no online learner has as its objective
		"macro_f1": {3, macro},
	} {
		d, fresh := rings(t, 3000, tc.classes), rings(t, 9000, tc.classes)
		m := autoModel(t, d, tc.m)
		var file bytes.Buffer
		if err := WriteModel(&file, m); err != nil {
			t.Fatal(err)
		}
		if m.Transform == nil || len(m.Transform.Products) == 0 {
			t.Errorf("%s: no products: %+v", name, m.Search.Tried[m.Search.Chosen])
		}
		if n := m.Features(); len(m.Scaling.Index) == 0 || m.Scaling.Index[len(m.Scaling.Index)-1] != uint32(n-1) {
			t.Errorf("%s: the scales are of features %v, want those of products up to %d", name, m.Scaling.Index, n-1)
		}
		read, err := ReadModel(bytes.NewReader(file.Bytes()), "model")
		if err != nil {
			t.Fatal(err)
		}
		c, err := Evaluate(context.Background(), fresh, read.Classifier())
		if err != nil {
			t.Fatal(err)
		}
		usual, err := Fit(context.Background(), d, Options{Measure: tc.m, Seed: 3})
		if err != nil {
			t.Fatal(err)
		}
		u, err := Evaluate(context.Background(), fresh, usual.Classifier())
		if err != nil {
			t.Fatal(err)
		}
		got, base := c.Value(tc.m), u.Value(tc.m)
		if base != base { // it predicts one class
			base = 0
		}
		if !(got > base+0.1) {
			t.Errorf("%s: auto reaches %.3f on new rows, %s %.3f", name, got, usual.Algorithm, base)
		}
		f := m.Figures.Of(tc.m.Name())
		if f == nil || math.Abs(f.Value-got) > 0.05 || !(f.Low < f.Value && f.Value < f.High) {
			t.Errorf("%s: the figure is %+v, new rows give %.3f", name, f, got)
		}
		if len(m.Calibration) != len(m.Models) {
			t.Errorf("%s: %d calibrations of %d models", name, len(m.Calibration), len(m.Models))
		}
		if name != "f1" {
			continue
		}
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
		var again bytes.Buffer
		if err := WriteModel(&again, autoModel(t, d, tc.m)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(file.Bytes(), again.Bytes()) {
			t.Error("the model differs with one core")
		}
	}
}

// Hashed features number many more than the columns that they stand for: auto tries logarithms and
// products of the few that occur.
func TestAutoOfHashedFeatures(t *testing.T) {
	testsize.NoRace(t)
	b, err := dataset.NewBuilder(1<<18, "0", "1")
	if err != nil {
		t.Fatal(err)
	}
	index := []uint32{70_000, 130_000, 200_000}
	err = rings(t, 3000, 2).read(t.Context(), func(_ []uint32, value []float32, class uint16, weight float64) error {
		return b.Add(index, value, int(class), weight)
	})
	if err != nil {
		t.Fatal(err)
	}
	d := builtData(t, b, Binary)
	m := autoModel(t, d, measure.FBeta{B: 1})
	if m.Transform == nil || len(m.Transform.Products) == 0 {
		t.Errorf("no products are chosen of %+v", m.Search.Tried)
	}
	log, err := newTransform(t.Context(), d, features{columns: "log"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	got := []uint32{}
	for _, c := range log.Columns {
		got = append(got, c.Index)
	}
	if !slices.Equal(got, index) {
		t.Errorf("the columns %v have logarithms, want %v", got, index)
	}
}

// With a setting of a learner, or few rows of a class, auto is the algorithm of the measure.
func TestAutoIsTheUsualAlgorithm(t *testing.T) {
	d := rings(t, 1000, 2)
	if ok, _ := (Options{Algorithm: Auto, Measure: measure.FBeta{B: 1}}).searches(d); !ok {
		t.Fatal("auto does not search")
	}
	f1 := measure.FBeta{B: 1}
	want, err := Fit(context.Background(), d, Options{Measure: f1, Passes: new(2)})
	if err != nil {
		t.Fatal(err)
	}
	got, err := Fit(context.Background(), d, Options{Algorithm: Auto, Measure: f1, Passes: new(2)})
	if err != nil {
		t.Fatal(err)
	}
	if got.Search != nil || got.Algorithm != "stamp" || !slices.Equal(got.Models[0].Weights, want.Models[0].Weights) {
		t.Errorf("auto with two passes is %s", got.Algorithm)
	}
	other, err := Fit(t.Context(), d, Options{Algorithm: Auto, Measure: measure.MCC{}, Passes: new(2)})
	if err != nil {
		t.Fatal(err)
	}
	if other.Search != nil || other.Algorithm != "sgd-logistic" || other.Models[0].Threshold == 0 {
		t.Errorf("auto for mcc is %s with the threshold %v, want sgd-logistic with a tuned one",
			other.Algorithm, other.Models[0].Threshold)
	}
	for _, o := range []Options{{Unscaled: true}, {Config: Config{Lambda: 1}}, {Holdout: new(0.0)}, {Folds: new(3)}} {
		o.Algorithm, o.Measure = Auto, f1
		if ok, why := o.searches(d); ok || why != "" {
			t.Errorf("%+v searches, or the data are said to be why not: %q", o, why)
		}
	}
}

// A transform changes columns, appends products and names them; zeros of mapped columns count.
func TestTransformApply(t *testing.T) {
	tr := &Transform{
		Dim:     4,
		Columns: []ColumnMap{{Index: 1, Scale: 2}, {Index: 2, Scale: 1, Knots: []float64{-1, 1, 3}}},
		Products: []ProductColumn{
			{Index: 0, Center: 1, Inverse: 2}, {Index: 2, Center: 0, Inverse: 1},
		},
	}
	if err := tr.check(4); err != nil {
		t.Fatal(err)
	}
	index, value := tr.Apply([]uint32{0, 1, 3, 9}, []float32{3, -2, 5, 7}, nil, nil)
	// Feature 2 is 0, in the middle between -1 and 1: its rank is 1/4, its value -1/2.
	wantIndex, want := []uint32{0, 1, 2, 3, 4, 5, 6}, []float32{3, -float32(math.Ln2), -0.5, 5, 16, -2, 0.25}
	if !slices.Equal(index, wantIndex) || !slices.Equal(value, want) {
		t.Errorf("got %v %v, want %v %v", index, value, wantIndex, want)
	}
	if tr.Features() != 7 {
		t.Errorf("%d features, want 7", tr.Features())
	}
	names := []string{}
	for i := range uint32(7) {
		names = append(names, tr.name(i, func(i uint32) string { return string(rune('a' + i)) }))
	}
	if got := strings.Join(names, " "); got != "a log(b) rank(c) d a·a a·rank(c) rank(c)·rank(c)" {
		t.Errorf("names are %s", got)
	}
	for _, spoil := range []func(t *Transform){
		func(t *Transform) { t.Dim = 5 },
		func(t *Transform) { t.Columns[1].Index = 1 },
		func(t *Transform) { t.Columns[0].Scale = 0 },
		func(t *Transform) { t.Columns[1].Knots = []float64{1, 1} },
		func(t *Transform) { t.Products[1].Index = 4 },
		func(t *Transform) { t.Products[0].Inverse = 0 },
		func(t *Transform) { t.Products = make([]ProductColumn, mostProducts+1) },
	} {
		bad := *tr
		bad.Columns, bad.Products = slices.Clone(tr.Columns), slices.Clone(tr.Products)
		spoil(&bad)
		if bad.check(4) == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}

// Softmax separates three classes that are told apart by one column, and its gradient is that of
// its value.
func TestSoftmaxGradient(t *testing.T) {
	d := rings(t, 200, 3)
	lin := newDescent(&Config{Dim: 3, BiasFeature: 1, Radius: math.Inf(1)})
	lin.Standardize([]float64{0.1, 0, 1}, []float64{1, 2, 0.1})
	p := (&softmaxProblem{
		ctx: context.Background(), data: d, lin: lin, weight: []float64{1, 2, 3}, lambda: 0.1,
	}).batch()
	rng := random.New(1, "softmax")
	w := make([]float64, 12)
	for i := range w {
		w[i] = rng.NormFloat64()
	}
	p.evaluate(w)
	grad := slices.Clone(p.grad)
	const h = 1e-5
	for i := range w {
		at := w[i]
		w[i] = at + h
		p.evaluate(w)
		up := p.value
		w[i] = at - h
		p.evaluate(w)
		slope := (up - p.value) / (2 * h)
		w[i] = at
		if p.err != nil || math.Abs(slope-grad[i]) > 1e-6 {
			t.Errorf("coordinate %d: gradient %v, slope %v, %v", i, grad[i], slope, p.err)
		}
	}
}

// The threshold of a measure linearised at its best confusion is that of the best decisions.
func TestLinearThreshold(t *testing.T) {
	// For F₁ of value v the best decisions are positive at probabilities above v/2.
	c := measure.Confusion{TP: 60, FN: 20, FP: 30, TN: 390}
	v := measure.FBeta{B: 1}.Value(c)
	got := linearThreshold(measure.FBeta{B: 1}, c, 9)
	if want := math.Log(v / 2 / (1 - v/2)); math.Abs(got-want) > 1e-4 {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := linearThreshold(measure.TPR(), c, 9); got != 9 {
		t.Errorf("got %v for a measure without a price of false positives", got)
	}
}

// The ranks of a column are those among its quantiles, and monotone; logarithms are odd and 0 at 0.
func TestColumnMaps(t *testing.T) {
	b, err := dataset.NewBuilder(2, "0", "1")
	if err != nil {
		t.Fatal(err)
	}
	rng := random.New(3, "columns")
	for i := range 4000 {
		heavy := float32(math.Exp(3 * rng.NormFloat64()))
		if i%4 == 0 {
			heavy = 0
		}
		if err := b.Add([]uint32{0, 1}, []float32{heavy, float32(i % 2)}, i%2, 1); err != nil {
			t.Fatal(err)
		}
	}
	d := builtData(t, b, Binary)
	for _, by := range []string{"rank", "log"} {
		tr, err := newTransform(context.Background(), d, features{columns: by}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(tr.Columns) != 1 || tr.Columns[0].Index != 0 { // column 1 has two values only
			t.Fatalf("%s: columns %+v", by, tr.Columns)
		}
		c, last := &tr.Columns[0], math.Inf(-1)
		for x := 0.0; x < 1e4; x = 2*x + 1e-3 {
			v := c.apply(x)
			if v < last || by == "log" && c.apply(-x) != -v {
				t.Errorf("%s: %v becomes %v, a smaller value %v, its negative %v", by, x, v, last, c.apply(-x))
			}
			last = v
		}
		var below, n float64
		err = d.read(context.Background(), tr.reading(func(index []uint32, value []float32, _ uint16, _ float64) error {
			n++
			if len(index) > 0 && index[0] == 0 && value[0] < 0.5 {
				below++
			}
			return nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		// A quarter are zeros, with the lowest rank; the ranks of the others are uniform.
		if want := 0.25 + 0.75*0.75; by == "rank" && math.Abs(below/n-want) > 0.02 {
			t.Errorf("%.3f of the ranks are below 0.5, want %.3f", below/n, want)
		}
	}
}

// logitRows are rows whose probability of being positive is a logistic function.
func logitRows(t *testing.T, n int, seed uint64) Data {
	t.Helper()
	b, err := dataset.NewBuilder(2, "0", "1")
	if err != nil {
		t.Fatal(err)
	}
	rng := random.New(seed, "logits")
	for range n {
		x, y := rng.NormFloat64(), rng.NormFloat64()
		class := 0
		if z := 2*x - y - 3; rng.Float64() < 1/(1+math.Exp(-z)) {
			class = 1
		}
		if err := b.Add([]uint32{0, 1}, []float32{float32(x), float32(y)}, class, 1); err != nil {
			t.Fatal(err)
		}
	}
	d := builtData(t, b, Binary)
	return d
}

// OMMA's threshold comes near the best one of the same scores, for every kind of measure, where the
// scores are log-odds.
func TestOMMA(t *testing.T) {
	train, test := logitRows(t, 20_000, 1), logitRows(t, 20_000, 2)
	for _, m := range []measure.Measure{
		measure.FBeta{B: 1},
		measure.FBeta{B: 3},
		measure.GMean{},
		measure.QMean{},
		measure.MCC{},
		measure.FowlkesMallows{},
	} {
		r, err := Fit(context.Background(), train, Options{Algorithm: "omma", Measure: m, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		c, err := Evaluate(context.Background(), test, r.Classifier())
		if err != nil {
			t.Fatal(err)
		}
		_, best, err := Tune(context.Background(), test, &r.Models[0], m)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Value(m); !(got > best-0.02) {
			t.Errorf("%s: %.4f, with the best threshold %.4f", m.Name(), got, best)
		}
	}
	if _, err := Fit(context.Background(), train, Options{Algorithm: "omma", Measure: measure.Min{}}); err == nil {
		t.Error("min is accepted, which has no derivative at its corner")
	}
}

// A drawn part has so many rows, half of them in equal parts, and the labels' sums of weights.
func TestDraw(t *testing.T) {
	d := rings(t, 4000, 2)
	part, err := d.sizes()
	if err != nil {
		t.Fatal(err)
	}
	a := &autoFit{ctx: context.Background(), data: d, opt: Options{Seed: 1}, part: part}
	drawn, err := a.draw(d, "test", 400)
	if err != nil {
		t.Fatal(err)
	}
	got, err := drawn.sizes()
	if err != nil {
		t.Fatal(err)
	}
	if got.Rows > 400 || got.Rows < 398 || got.Labels[0].Rows < 100 {
		t.Errorf("drew %+v of %+v", got, part)
	}
	for k, l := range got.Labels {
		if want := part.Labels[k].Weight / 10; math.Abs(l.Weight-want) > 1e-3*want {
			t.Errorf("label %d weighs %v, want a tenth of %v", k, l.Weight, part.Labels[k].Weight)
		}
	}
}

// The estimated cost of a search on many rows of few columns is within the budget.
func TestAutoBudget(t *testing.T) {
	d := sparseRows(t, 60_000, 12, Binary, "0", "1")
	m := autoModel(t, d, measure.GMean{})
	if c := m.Search.Cost; !(c.Trainings <= c.Budget) || c.Own <= 0 || c.Own >= c.Trainings {
		t.Errorf("the cost is %+v", c)
	}
	if f := m.Figures; f.Rows != 60_000 || f.Folds != 2 {
		t.Errorf("figures are of %d rows and %d folds, want all rows in halves", f.Rows, f.Folds)
	}
}

// A number of a sparse row is found once for all outputs.
func TestPriceOfOutputs(t *testing.T) {
	p := prices{outputs: 1}
	if got := p.visit(1000, 100, 0); got != 60+8*100 {
		t.Errorf("one output costs %v ns, want 860", got)
	}
	p.outputs = 10
	if got, want := p.visit(1000, 100, 0), 860+9*(10+1.5*100); math.Abs(got-want) > 1e-9 {
		t.Errorf("ten outputs cost %v ns, want %v", got, want)
	}
}

// Products are made of the factors that are kept: they cost work in each pass and no memory.
func TestPriceOfProducts(t *testing.T) {
	f := features{products: true}
	for name, c := range map[string]struct {
		p              prices
		numbers, visit float64
	}{
		"dense":         {prices{columns: 40, nonZeros: 40, outputs: 1, products: 24}, 64, 65 + 0.75*40 + 1.25*300},
		"few columns":   {prices{columns: 10, nonZeros: 9, outputs: 1, products: 24}, 20, 65 + 0.75*10 + 1.25*55},
		"sparse":        {prices{columns: 800, nonZeros: 150, outputs: 1, products: 24}, 324, 60 + 8*150 + 1.25*300},
		"three outputs": {prices{columns: 10, nonZeros: 9, outputs: 3, products: 4}, 14, 85 + 2.25*10 + 2.75*10},
	} {
		if got := c.p.numbers(f); got != c.numbers {
			t.Errorf("%s: %v numbers of a row, want %v", name, got, c.numbers)
		}
		if got := c.p.visit(c.p.width(f)); math.Abs(got-c.visit) > 1e-9 {
			t.Errorf("%s: a visit costs %v ns, want %v", name, got, c.visit)
		}
	}
}

// The figures of a named algorithm do not change its model and hold on new rows; data that have
// none say so.
func TestCrossFigures(t *testing.T) {
	d, fresh := sparseRows(t, 3000, 12, Binary, "0", "1"), sparseRows(t, 9000, 12, Binary, "0", "1")
	opt := Options{Algorithm: "spade", Measure: measure.GMean{}, Seed: 2}
	r, err := Fit(context.Background(), d, opt)
	if err != nil {
		t.Fatal(err)
	}
	var told []Progress
	opt.Progress = func(p Progress) { told = append(told, p) }
	if err := r.CrossFigures(context.Background(), d, opt); err != nil {
		t.Fatal(err)
	}
	opt.Progress = nil
	for i, p := range told {
		if want := int64(3000 * i); p.Examples != want || p.Total != 15_000 || p.Pass != max(1, i) || p.Passes != 5 ||
			p.Algorithm != "spade for figures" {
			t.Errorf("report %d of progress: %+v, want %d of 15000 steps", i, p, want)
		}
	}
	if len(told) != 6 {
		t.Errorf("%d reports of progress, want 6", len(told))
	}
	f := r.Figures
	c, err := Evaluate(context.Background(), fresh, r.Classifier())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []measure.Measure{measure.GMean{}, measure.FBeta{B: 1}, measure.Min{}} {
		x := f.Of(m.Name())
		if x == nil || math.Abs(x.Value-c.Value(m)) > 0.05 || !(x.Low < x.Value && x.Value < x.High) {
			t.Errorf("%s: %+v, new rows give %.3f", m.Name(), x, c.Value(m))
		}
	}
	if f.Of("nope") != nil || (*ModelFigures)(nil).Of("f1") != nil {
		t.Error("there is a figure of a measure without one")
	}
	few := Result{}
	if err := few.CrossFigures(t.Context(), fewRings(t, 400, 5), opt); few.Figures != nil || err != nil ||
		!slices.Equal(few.Warnings, []string{"there are no figures on new rows: label 1 has 5 rows and 6 are needed"}) {
		t.Errorf("five rows of a label give %+v, %q, %v", few.Figures, few.Warnings, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := (&Result{}).CrossFigures(ctx, d, opt); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v after the context ended", err)
	}
	if _, err := Fit(ctx, d, Options{Algorithm: Auto, Measure: measure.GMean{}}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v after the context ended", err)
	}
}

// On few rows that nothing predicts the intervals end where the measures do, and no sooner.
func TestFiguresStayInRange(t *testing.T) {
	r := random.New(4, "few")
	var xs []Example
	for i := range 61 {
		xs = append(xs, Example{
			Index: []uint32{0}, Value: []float32{float32(r.Float64())}, Positive: i%10 == 0, Weight: 1,
		})
	}
	result := Result{}
	opt := Options{Algorithm: "logistic", Measure: measure.GMean{}, Seed: 1}
	if err := result.CrossFigures(t.Context(), asData(t, xs), opt); err != nil {
		t.Fatal(err)
	}
	if x := result.Figures.Of("gmean"); x == nil || *x != (Figure{Measure: "gmean", Value: 0, Low: 0, High: 1}) {
		t.Errorf("gmean: %+v, want 0 and all values that it can have", x)
	}
	if x := result.Figures.Of("youden"); x == nil || !(x.Low < 0) {
		t.Errorf("youden: %+v, want an interval that reaches below 0", x)
	}
	for _, x := range result.Figures.Values {
		least := 0.0
		if slices.Contains([]string{"youden", "kappa", "mcc"}, x.Measure) {
			least = -1
		}
		if !(least <= x.Low && x.Low <= x.Value && x.Value <= x.High && x.High <= 1) {
			t.Errorf("%+v, want an interval around the value in [%v, 1]", x, least)
		}
	}
}

// What cannot have been is refused when a model file is read.
func TestSearchCheck(t *testing.T) {
	good := func() (*ModelSearch, *ModelFigures) {
		f := &ModelFigures{Source: sourceCrossFitted, Rows: 10, Folds: 2, Values: []Figure{{}}}
		return &ModelSearch{Tried: []TriedRecipe{{}}}, f
	}
	s, f := good()
	if s.check() != nil || f.check() != nil {
		t.Error("good parts are refused")
	}
	if s, f = nil, nil; s.check() != nil || f.check() != nil {
		t.Error("a model without them is refused")
	}
	for i, spoil := range []func(s *ModelSearch, f *ModelFigures){
		func(s *ModelSearch, _ *ModelFigures) { s.Chosen = 1 },
		func(s *ModelSearch, _ *ModelFigures) { s.Cost.Steps = -1 },
		func(s *ModelSearch, _ *ModelFigures) { s.Cost.Own = math.Inf(1) },
		func(s *ModelSearch, _ *ModelFigures) { s.Tried[0].Value = new(math.NaN()) },
		func(_ *ModelSearch, f *ModelFigures) { f.Rows = 0 },
		func(_ *ModelSearch, f *ModelFigures) { f.Folds = 0 },
		func(_ *ModelSearch, f *ModelFigures) { f.Source = "" },
		func(_ *ModelSearch, f *ModelFigures) { f.Values[0].High = math.NaN() },
	} {
		s, f := good()
		if spoil(s, f); s.check() == nil && f.check() == nil {
			t.Errorf("spoiled part %d is accepted", i)
		}
	}
}

// Rows of weight 0 are no rows: the choice, the model and the figures are those without them.
func TestAutoWithoutWeight(t *testing.T) {
	rows := func(zeros bool, classes int) Data {
		b, err := dataset.NewBuilder(3, []string{"0", "1", "2"}[:classes]...)
		if err != nil {
			t.Fatal(err)
		}
		rng := random.New(9, "weights")
		for i := range 400 {
			class := i % classes
			value := []float32{float32(rng.NormFloat64()) + float32(class), float32(rng.NormFloat64())}
			weight := float64(i % 5)
			if weight == 0 && !zeros {
				continue
			}
			if err := b.Add([]uint32{0, 2}, value, class, weight); err != nil {
				t.Fatal(err)
			}
		}
		if classes > 2 {
			return builtData(t, b, Multiclass)
		}
		return builtData(t, b, Binary)
	}
	macro, err := Multiclass.Measure("macro_f1")
	if err != nil {
		t.Fatal(err)
	}
	for classes, m := range map[int]measure.Objective{2: measure.FBeta{B: 1}, 3: macro} {
		with, without := rows(true, classes), rows(false, classes)
		got, want := autoModel(t, with, m), autoModel(t, without, m)
		if diff := cmp.Diff(want.Models, got.Models); diff != "" {
			t.Errorf("%d classes: rows of weight 0 change the model:\n%s", classes, diff)
		}
		if diff := cmp.Diff(want.Search, got.Search); diff != "" || got.Search == nil {
			t.Errorf("%d classes: they change the choice:\n%s", classes, diff)
		}
		if diff := cmp.Diff(want.Figures, got.Figures); diff != "" {
			t.Errorf("%d classes: they change the figures:\n%s", classes, diff)
		}
		named := Options{Algorithm: "logistic", Measure: m, Seed: 2}
		if classes > 2 {
			named.Algorithm = "softmax"
		}
		var a, b Result
		if err := errors.Join(a.CrossFigures(t.Context(), with, named),
			b.CrossFigures(t.Context(), without, named)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(b.Figures, a.Figures); diff != "" || a.Figures == nil {
			t.Errorf("%d classes: they change the figures of %s:\n%s", classes, named.Algorithm, diff)
		}
	}
}
