package classify

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/internal/random"
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
	a, err := newAutoFit(t.Context(), d, Options{Algorithm: Auto, Seed: 1, Measure: measure.QMean{}})
	if err != nil {
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

// What was compared by models that ended early without a preconditioner is trained without one, as
// the algorithm of that name is.
func TestEarlyEnd(t *testing.T) {
	d := dependentRows(t, 2000, 20, 2, 1)
	a, err := newAutoFit(t.Context(), d, Options{Algorithm: Auto, Seed: 1, Measure: measure.QMean{}})
	if err != nil {
		t.Fatal(err)
	}
	c := &choiceOf{
		recipe: recipe{scale: scaleStandard, algorithm: "logistic", lambda: 1}, result: &crossFitted{early: true},
	}
	const few = plannedLast
	got, _, err := a.trainInMemory(nil, c, few)
	if err != nil {
		t.Fatal(err)
	}
	want, err := a.trainByFit(nil, c, few)
	if err != nil {
		t.Fatal(err)
	}
	c.result.early = false
	optimum, _, err := a.trainInMemory(nil, c, few)
	if err != nil {
		t.Fatal(err)
	}
	far := 0.0
	for i, w := range want.Models[0].Weights {
		if v := got.Models[0].Weights[i]; math.Abs(v-w) > 1e-4 {
			t.Errorf("weight %d is %v, want %v", i, v, w)
		}
		far = max(far, math.Abs(optimum.Models[0].Weights[i]-w))
	}
	if far < 1 {
		t.Errorf("with a preconditioner the weights are within %v: the test says nothing", far)
	}
	// Cross-fitting says whether it ended early.
	for _, x := range []struct {
		iterations int
		last       bool // so that there are preconditioners
		early      bool
	}{{4, false, true}, {500, false, false}, {8, true, false}} {
		on, err := a.comparison(d, division{2, 1}, x.iterations)
		if err != nil {
			t.Fatal(err)
		}
		on.last = x.last
		if _, err := a.compare([]recipe{c.recipe}, on); err != nil {
			t.Fatal(err)
		}
		if got := on.results[c.recipe].early; got != x.early {
			t.Errorf("%+v: it ends early: %v", x, got)
		}
	}
}

// A last training that is far from its optimum goes on, whatever the search has cost, also from
// what the halves have found; one that is near it ends.
func TestLastTrainingGoesOn(t *testing.T) {
	d := dependentRows(t, 2000, 20, 2, 1)
	for name, x := range map[string]struct {
		lambda      float64
		early, warm bool
		least, most int
	}{
		"far":        {1e-3, true, false, allowedLast, 2 * allowedLast},
		"far, warm":  {1e-3, true, true, leastHalvesIterations, 3 * leastHalvesIterations / 2},
		"near, warm": {1, false, true, 1, warmIterations},
	} {
		a, err := newAutoFit(t.Context(), d, Options{Algorithm: Auto, Seed: 1, Measure: measure.QMean{}})
		if err != nil {
			t.Fatal(err)
		}
		r := recipe{scale: scaleStandard, algorithm: "logistic", lambda: x.lambda}
		if x.warm {
			sample, err := a.draw(d, "sample", 1500)
			if err != nil {
				t.Fatal(err)
			}
			on, err := a.comparison(sample, division{2, 1}, 10)
			if err != nil {
				t.Fatal(err)
			}
			if whole, err := a.halves(r, on); err != nil || whole == nil || a.warm == nil {
				t.Fatalf("%s: the halves are %v, error %v", name, whole, err)
			}
		}
		a.budget = 0
		result, err := a.trainChosen(&choiceOf{recipe: r, result: &crossFitted{early: x.early}})
		if err != nil {
			t.Fatal(err)
		}
		if n := result.Passes; n < x.least || n > x.most {
			t.Errorf("%s: the last training has %d passes, want %d to %d", name, n, x.least, x.most)
		}
	}
}

// Logarithms and ranks change the columns of numbers only: beside many columns of words they cost
// little, so that many rows can be compared, and all rows decide at the end. Where there are no
// such columns, they are no candidates.
func TestChangedColumnsBesideWords(t *testing.T) {
	const words = 400
	mixed := func(numbers int) Data {
		b, err := dataset.NewBuilder(numbers+words, "0", "1")
		if err != nil {
			t.Fatal(err)
		}
		rng := random.New(4, "words")
		for range 12_000 {
			amount, word := 3*rng.NormFloat64(), rng.IntN(words)
			class := 0
			if amount+rng.NormFloat64()+float64(word%7)/2 > 5 {
				class = 1
			}
			index, value := []uint32{uint32(numbers + word)}, []float32{1}
			if numbers > 0 {
				index, value = append([]uint32{0}, index...), append([]float32{float32(math.Exp(amount))}, value...)
			}
			if err := b.Add(index, value, class, 1); err != nil {
				t.Fatal(err)
			}
		}
		return builtData(t, b, Binary)
	}
	for numbers, want := range []bool{false, true} {
		a, err := newAutoFit(t.Context(), mixed(numbers), Options{Seed: 1, Measure: measure.FBeta{B: 1}})
		if err != nil {
			t.Fatal(err)
		}
		recipes, err := a.featureRecipes(a.data)
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.ContainsFunc(recipes, func(r recipe) bool { return r.features.columns != "" }); got != want {
			t.Errorf("%d columns of numbers: changed columns are tried: %v", numbers, got)
		}
		if n := a.price.numbers(features{columns: "rank"}); n > 5 {
			t.Errorf("%d columns of numbers: a row has %v of them with ranks", numbers, n)
		}
	}
	m := autoModel(t, mixed(1), measure.FBeta{B: 1})
	if m.Transform == nil || len(m.Transform.Columns) != 1 {
		t.Errorf("the amounts have no logarithms: %+v", m.Search.Tried[m.Search.Chosen])
	}
	if last := m.Search.Tried[m.Search.Chosen].Rows; last < 2000 || m.Figures.Rows != 12_000 {
		t.Errorf("%d rows are compared, the figures are of %d", last, m.Figures.Rows)
	}
}
