package classify

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
)

// The rule of one standard error chooses the features, and that of half a one among candidates with
// these: the worst of them does not win for being the first.
func TestPick(t *testing.T) {
	d := sparseRows(t, 400, 6, Binary, "0", "1")
	a := &autoFit{ctx: context.Background(), data: d, opt: Options{Seed: 1, Measure: measure.GMean{}}}
	on, err := a.comparison(d, division{2, 1}, 0)
	if err != nil {
		t.Fatal(err)
	}
	// choice is a candidate whose decisions are wrong on the given share of the rows, always the
	// same ones first.
	order := random.New(5, "wrong").Perm(len(on.truth))
	choice := func(r recipe, wrong float64) choiceOf {
		predicted := slices.Clone(on.truth)
		for _, i := range order[:int(wrong*float64(len(order)))] {
			predicted[i] = 1 - predicted[i]
		}
		return choiceOf{recipe: r, decided: a.counted(on, predicted)}
	}
	plain, weak, products := recipe{lambda: 1}, recipe{lambda: 0.01}, recipe{features: features{products: true}}
	for name, tc := range map[string]struct {
		wrong [3]float64 // of the three
		want  int
	}{
		"the first is as good":               {[3]float64{0.20, 0.20, 0.198}, 0},
		"the second of the features":         {[3]float64{0.22, 0.20, 0.198}, 1},
		"the features are worth it":          {[3]float64{0.30, 0.25, 0.198}, 2},
		"the first of the features is worse": {[3]float64{0.30, 0.20, 0.198}, 1},
	} {
		choices := []choiceOf{choice(plain, tc.wrong[0]), choice(weak, tc.wrong[1]), choice(products, tc.wrong[2])}
		if p := a.pick(choices, on, -1); p.at != tc.want {
			t.Errorf("%s: the choice is %d, want %d; behind by %v, errors %v", name, p.at, tc.want, p.behind, p.se)
		}
	}
}

// Over many draws of few rows the mean of the thresholds for random weights moves less than the
// best threshold does, and is better on new rows.
func TestSteadyThreshold(t *testing.T) {
	const rows, positives = 300, 20
	m := measure.FBeta{B: 1}
	rng := random.New(11, "threshold")
	draw := func(n, positives int) []Scored {
		out := make([]Scored, n)
		for i := range out {
			out[i] = Scored{Score: rng.NormFloat64(), Weight: 1, Positive: i < positives}
			if out[i].Positive {
				out[i].Score += 2
			}
		}
		return out
	}
	fresh := draw(100*rows, 100*positives)
	value := func(threshold float64) float64 {
		var c measure.Confusion
		for _, e := range fresh {
			c.Add(e.Positive, e.Score > threshold, 1)
		}
		return m.Value(c)
	}
	var best, steady []float64
	var valueBest, valueSteady float64
	for k := range 60 {
		a := &autoFit{opt: Options{Seed: uint64(k), Measure: m}}
		sample := draw(rows, positives)
		best = append(best, a.steadyThreshold(slices.Clone(sample), false))
		steady = append(steady, a.steadyThreshold(slices.Clone(sample), true))
		valueBest += value(best[k])
		valueSteady += value(steady[k])
	}
	spread := func(x []float64) float64 {
		sum, squares := 0.0, 0.0
		for _, v := range x {
			sum += v
			squares += v * v
		}
		return math.Sqrt(squares/60 - sum*sum/3600)
	}
	if s, b := spread(steady), spread(best); s > 0.8*b || valueSteady < valueBest {
		t.Errorf("spread %.3f, of the best thresholds %.3f; F1 %.4f and %.4f", s, b, valueSteady/60, valueBest/60)
	}
	// With many rows there are no draws.
	a := &autoFit{opt: Options{Measure: m}}
	if got, want := a.steadyThreshold(slices.Clone(fresh), true), a.steadyThreshold(fresh, false); got != want {
		t.Errorf("of %d rows the threshold is %v, want the best one %v", len(fresh), got, want)
	}
}

// A training begins with the mean of the models of the halves, on its own scale, and from zero if
// they are of other features.
func TestWarmStart(t *testing.T) {
	d := rings(t, 200, 2)
	f := features{products: true}
	transform, err := newTransform(context.Background(), d, f, 24)
	if err != nil {
		t.Fatal(err)
	}
	m, err := newMappedMoments(context.Background(), d, transform)
	if err != nil {
		t.Fatal(err)
	}
	x, err := newDesign(context.Background(), d, transform, m, m.scaled(scaleStandard, transform.Features()))
	if err != nil {
		t.Fatal(err)
	}
	want := make([]float64, (x.columns+1)*x.outputs)
	other := slices.Clone(want)
	for i := range want {
		want[i] = float64(i%5) - 1.5
		other[i] = want[i] * 3
	}
	s := &warmStart{
		models:     [][]Linear{x.models(want, transform.Features()), x.models(other, transform.Features())},
		transforms: []*Transform{transform, transform},
	}
	got := s.from(x, transform)
	for i := range want {
		if math.Abs(got[i]-2*want[i]) > 1e-9 {
			t.Fatalf("the training begins at %v, want twice %v", got, want)
		}
	}
	if s.from(x, nil) != nil || (*warmStart)(nil).from(x, transform) != nil {
		t.Error("a training begins with a model of other features, or of none")
	}
	one := &Transform{Dim: 2, Columns: []ColumnMap{{Index: 0, Scale: 1, Knots: []float64{}}}}
	for name, c := range map[string]struct {
		column ColumnMap
		want   bool
	}{
		"another scale":  {ColumnMap{Index: 0, Scale: 2, Knots: []float64{}}, true},
		"another column": {ColumnMap{Index: 1, Scale: 1, Knots: []float64{}}, false},
		"a rank":         {ColumnMap{Index: 0, Scale: 1, Knots: []float64{0, 1}}, false},
	} {
		if got := one.alike(&Transform{Dim: 2, Columns: []ColumnMap{c.column}}); got != c.want {
			t.Errorf("%s: the features are alike: %t", name, got)
		}
	}
}

// The last comparison has as many of the best candidates as can have enough rows, and always the
// simplest one.
func TestFinalists(t *testing.T) {
	d := dependentRows(t, 6000, 20, 2, 1)
	a := &autoFit{
		ctx: context.Background(), data: d, results: map[recipe]comparedResult{},
		opt: Options{Algorithm: Auto, Seed: 1, Measure: measure.QMean{}},
	}
	var err error
	if a.part, err = d.sizes(); err != nil {
		t.Fatal(err)
	}
	if err := a.setPrices(); err != nil {
		t.Fatal(err)
	}
	a.budget = 1e8
	simplest := recipe{scale: scaleStandard, algorithm: a.firstLearner(), lambda: 1}
	tried := []recipe{simplest}
	for _, columns := range []string{"", "log", "rank"} {
		r := simplest
		r.features = features{columns: columns, products: true}
		tried = append(tried, r)
	}
	order := []int{2, 1, 3, 0}
	rowsOf := func(recipes ...recipe) int {
		on, err := a.third(d, recipes)
		if err != nil {
			t.Fatal(err)
		}
		return on.rows
	}
	of3, of1 := rowsOf(tried[2], tried[1], tried[3], simplest), rowsOf(tried[2], simplest)
	if of3 >= of1 {
		t.Fatalf("three candidates have %d rows and one has %d", of3, of1)
	}
	for rows, want := range map[int][]recipe{
		of3:     {tried[2], tried[1], tried[3], simplest},
		of1:     {tried[2], simplest},
		of1 + 1: {tried[2], simplest}, // too many for any
	} {
		got, on, err := a.finalists(d, tried, order, rows)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) || on.rows < min(rows, of1) {
			t.Errorf("for %d rows there are %d candidates on %d rows, want %d", rows, len(got), on.rows, len(want))
		}
	}
}

// The threshold of a share is between the scores that it divides, as nearly as equal scores and
// weights allow, and ends where the scores end.
func TestThresholdOfShare(t *testing.T) {
	score, weight := []float64{10, 6, 8, 8, 4, 2}, []float64{1, 1, 1, 1, 2, 4}
	for share, want := range map[float64]float64{
		0: 10, 0.04: 10, 0.1: 9, 0.3: 7, 0.21: 7, 0.19: 9, 0.4: 5, 0.5: 5, 0.51: 3, 0.7: 3, 1: 1,
	} {
		rows := make([]Scored, len(score))
		for i, v := range score {
			rows[i] = Scored{Score: v, Weight: weight[i]}
		}
		if got := thresholdOf(share, rows); got != want {
			t.Errorf("share %v: the threshold is %v, want %v", share, got, want)
		}
	}
	on := &comparedOn{weight: []float64{1, 2, 3, 4}}
	if got := on.shareAbove([][]float64{{1}, {0}, {-1}, {2}}, 0); got != 0.5 {
		t.Errorf("a share of %v is above 0, want 1/2", got)
	}
}

// A model of all rows may have other scores than those of the halves: its threshold is at their
// share of positive predictions, not at their threshold, unless both are of an optimum.
func TestThresholdKeepsTheShare(t *testing.T) {
	r := random.New(8, "rare")
	draw := func(n int) Data {
		var xs []Example
		for i := range n {
			positive, x := i%40 == 0, []float32{0, 0, 0}
			for k := range x {
				x[k] = float32(200 * r.NormFloat64())
			}
			if positive {
				x[0] += 600
			}
			xs = append(xs, Example{Index: []uint32{0, 1, 2}, Value: x, Positive: positive, Weight: 1})
		}
		return asData(t, xs)
	}
	d := draw(4000)
	a := &autoFit{
		ctx: t.Context(), data: d, opt: Options{Measure: measure.Min{}, Seed: 1}, results: map[recipe]comparedResult{},
	}
	var err error
	if a.part, err = d.sizes(); err != nil {
		t.Fatal(err)
	}
	if err := a.setPrices(); err != nil {
		t.Fatal(err)
	}
	for _, r := range []recipe{
		{scale: scaleStandard, algorithm: "logistic", lambda: 1}, {scale: scaleStandard, algorithm: "spade"},
	} {
		whole, err := a.trainChosen(&choiceOf{recipe: r, result: new(crossFitted)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		// Cross-fitted scores that are half of the model's, and a threshold among them.
		c := &choiceOf{recipe: r, tuned: true, result: &crossFitted{offsets: []float64{-0.1}, unfinished: true}}
		on, model := new(comparedOn), whole.Classifier()
		err = d.read(t.Context(), func(index []uint32, value []float32, _ uint16, weight float64) error {
			z := model.Scores(nil, index, value)
			z[0] /= 2
			c.result.scores, on.weight = append(c.result.scores, z), append(on.weight, weight)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		got, err := a.trainChosen(c, on)
		if err != nil {
			t.Fatal(err)
		}
		if v := got.Models[0].Threshold; math.Abs(v+0.2) > 0.02 {
			t.Errorf("%s: the threshold is %v, want about -0.2, where the model predicts as many rows positive",
				r.algorithm, v)
		}
		c.result.unfinished, c.result.slope = false, 1e6
		if isBatch(r.algorithm) {
			if got, err = a.trainChosen(c, on); err != nil {
				t.Fatal(err)
			}
			if v := got.Models[0].Threshold; v != -0.1 {
				t.Errorf("%s: the threshold is %v, want that of the other optima, -0.1", r.algorithm, v)
			}
		}
	}
}

// Of many rows a random part has scores: rows in turn of two classes give both.
func TestScoredByDrawsRows(t *testing.T) {
	testsize.NoRace(t)
	const rows = 2*mostSharedRows + 10
	b, err := dataset.NewBuilder(1, "0", "1")
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		if err := b.Add([]uint32{0}, []float32{float32(i%3 + 1)}, i%3/2, 1); err != nil {
			t.Fatal(err)
		}
	}
	set, err := b.Set()
	if err != nil {
		t.Fatal(err)
	}
	d, err := NewData(set, Binary)
	if err != nil {
		t.Fatal(err)
	}
	a := &autoFit{ctx: t.Context(), data: d, part: Part{Rows: rows}}
	got, err := a.scoredBy(&Linear{Weights: []float64{1}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	positive := 0
	for _, r := range got {
		if r.Positive != (r.Score == 3) {
			t.Fatalf("the score is %v and the row positive: %v", r.Score, r.Positive)
		}
		if r.Positive {
			positive++
		}
	}
	if n := len(got); n != (rows+2)/3 || math.Abs(float64(positive)/float64(n)-1.0/3) > 0.01 {
		t.Errorf("%d of %d rows are positive, want a third of %d", positive, n, (rows+2)/3)
	}
}

// A tenth of the first slope is near an optimum, but not if the columns have different units.
func TestNearOptimum(t *testing.T) {
	for _, c := range []struct {
		left      float64
		scale     string
		converged bool
		want      bool
	}{
		{0.1, scaleStandard, false, true},
		{0.11, scaleStandard, false, false},
		{0.1, scaleMaxAbs, false, true},
		{0.01, scaleNone, false, false},
		{5, scaleNone, true, true},
	} {
		s := solution{lbfgsResult: lbfgsResult{converged: c.converged}, left: c.left}
		if got := s.near(1, c.scale); got != c.want {
			t.Errorf("%+v is near: %v", c, got)
		}
	}
}
