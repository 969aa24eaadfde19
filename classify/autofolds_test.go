package classify

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
)

// fewRings are rings with so many rows in the outer one, the positive class, of n rows.
func fewRings(t *testing.T, n, positives int) Data {
	t.Helper()
	d := rings(t, 4*n, 2)
	b, err := dataset.NewBuilder(3, "1", "0")
	if err != nil {
		t.Fatal(err)
	}
	err = d.read(context.Background(), func(index []uint32, value []float32, class uint16, _ float64) error {
		switch {
		case class == 1 && positives > 0:
			positives--
			return b.Add(index, value, 0, 1)
		case class == 0 && n > 0:
			n--
			return b.Add(index, value, 1, 1)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return builtData(t, b, Binary)
}

// With few rows of a class the candidates are compared by repeated folds, so that auto still finds
// the squares; with very few it is the usual algorithm.
func TestAutoFewRows(t *testing.T) {
	f1 := measure.FBeta{B: 1}
	d, fresh := fewRings(t, 400, 14), fewRings(t, 4000, 400)
	m := autoModel(t, d, f1)
	if m.Search == nil || m.Transform == nil || len(m.Transform.Products) == 0 {
		t.Fatalf("14 rows of a class give %s with the features %+v", m.Algorithm, m.Transform)
	}
	// A row counts once in the curve, though three models have scored it.
	curve := m.Calibration[0].Curve
	if c := curve; c == nil || math.Abs(c.Positives[len(c.Positives)-1]-14) > 1e-6 ||
		math.Abs(c.Negatives[len(c.Negatives)-1]-400) > 1e-6 || m.Calibration[0].Rows != 414 {
		t.Errorf("the curve of 414 rows, 14 of them positive, is %+v", m.Calibration[0])
	}
	for _, x := range m.Search.Tried {
		if !isBatch(x.Algorithm) {
			t.Errorf("tried %s, which follows single rows", x.Algorithm)
		}
	}
	if m.Figures.Rows != 414 || m.Figures.Folds != 15 {
		t.Errorf("figures are of %d rows and %d models, want 414 and 15", m.Figures.Rows, m.Figures.Folds)
	}
	c, err := Evaluate(context.Background(), fresh, m.Classifier())
	if err != nil {
		t.Fatal(err)
	}
	if f, got := m.Figures.Of("f1"), c.Value(f1); !(f.Low < got && got < f.High) || f.High-f.Low < 0.1 {
		t.Errorf("the figure is %+v, new rows give %.3f", f, got)
	}
	opt := Options{Algorithm: Auto, Measure: f1}
	if ok, _ := opt.searches(fewRings(t, 400, leastRowsOfLabel)); !ok {
		t.Errorf("want a search from %d rows of a class on", leastRowsOfLabel)
	}
	r, err := Fit(t.Context(), fewRings(t, 400, leastRowsOfLabel-1), opt)
	want := "auto compared nothing and trained by stamp: label 1 has 9 rows and 10 are needed"
	if err != nil || r.Search != nil || !slices.Contains(r.Warnings, want) {
		t.Errorf("warnings %q, %v, want %q", r.Warnings, err, want)
	}
}

// Divided several times, every row has one entry in each division, with an equal part of its
// weight; outside a fold there is none of its rows' entries, whichever division they are of.
func TestRepeatedFolds(t *testing.T) {
	d := sparseRows(t, 100, 6, Binary, "0", "1")
	a := &autoFit{ctx: context.Background(), data: d, opt: Options{Seed: 1, Measure: measure.FBeta{B: 1}}}
	on, err := a.comparison(d, division{4, 3}, 0)
	if err != nil {
		t.Fatal(err)
	}
	weight, entries := make([]float64, 100), make([]int, 100)
	for i, row := range on.row {
		weight[row] += on.weight[i]
		entries[row]++
		if on.truth[i] == int(row)%2 { // the class "1" is the positive one
			t.Fatalf("entry %d of row %d has label %d", i, row, on.truth[i])
		}
	}
	for row, w := range weight {
		if entries[row] != 3 || math.Abs(w-float64(1+row%3)) > 1e-12 {
			t.Fatalf("row %d has %d entries of weight %v", row, entries[row], w)
		}
	}
	for k := range on.folds {
		from, to := on.span(k)
		mine := map[int32]bool{}
		for _, row := range on.row[from:to] {
			mine[row] = true
		}
		for i, row := range on.row {
			if on.outside(k, i) == mine[row] {
				t.Fatalf("fold %d has row %d: %t; entry %d of it is outside: %t", k, row, mine[row], i, mine[row])
			}
		}
	}
	once, err := a.comparison(d, division{4, 1}, 0)
	if err != nil {
		t.Fatal(err)
	}
	// Decisions that are equal in all divisions have the standard errors of one division.
	both := [2][2]decided{}
	for k, c := range []*comparedOn{once, on} {
		for j := range both[k] {
			predicted := make([]int, len(c.row))
			for i, row := range c.row {
				predicted[i] = min(1, int(row)%(5+j))
			}
			both[k][j] = a.counted(c, predicted)
		}
	}
	se := func(c *comparedOn, d [2]decided) (of, difference float64) {
		x, y := a.influence(d[0].predicted, d[0].cells, c), a.influence(d[1].predicted, d[1].cells, c)
		return a.standardError(a.opt.Measure, d[0].cells, c), a.errorOfDifference(x, y, c, -1)
	}
	one, difference := se(once, both[0])
	got, gotDifference := se(on, both[1])
	if math.Abs(got-one) > 1e-9 || math.Abs(gotDifference-difference) > 1e-9 || difference == 0 {
		t.Errorf("standard errors %v and %v, with one division %v and %v", got, gotDifference, one, difference)
	}
}

// The last comparison has no fewer rows than those before, also where products are expensive.
func TestLastComparison(t *testing.T) {
	testsize.NoRace(t)
	b, err := dataset.NewBuilder(22, "0", "1")
	if err != nil {
		t.Fatal(err)
	}
	rng, index, value := random.New(1, "wide"), make([]uint32, 22), make([]float32, 22)
	for range 30_000 {
		for j := range value {
			index[j], value[j] = uint32(j), float32(rng.NormFloat64())
		}
		class := 0
		if value[0]*value[1] > 1 {
			class = 1
		}
		if err := b.Add(index, value, class, 1); err != nil {
			t.Fatal(err)
		}
	}
	d := builtData(t, b, Binary)
	m := autoModel(t, d, measure.GMean{})
	tried := m.Search.Tried
	last := slices.IndexFunc(tried, func(x TriedRecipe) bool { return x.Behind != nil })
	for _, x := range tried {
		if x.Rows > tried[last].Rows+2 { // labels are rounded
			t.Errorf("the last comparison is of %d rows, %+v of more", tried[last].Rows, x)
		}
	}
	// The halves make the figures, and the last training begins with what they have found.
	if f := m.Figures; m.Transform == nil || f.Rows != 30_000 || f.Folds != 2 {
		t.Fatalf("figures are of %d rows and %d models", f.Rows, f.Folds)
	}
	// They are better than the models of fewer rows before them, which moves the upper end.
	if f := m.Figures.Of("gmean"); !(f.High-f.Value > 1.001*(f.Value-f.Low)) && f.High < 1 {
		t.Errorf("%+v: the upper end is not moved", f)
	}
	c, err := Evaluate(context.Background(), d, m.Classifier())
	if err != nil {
		t.Fatal(err)
	}
	if f, got := m.Figures.Of("gmean"), c.Value(measure.GMean{}); math.Abs(f.Value-got) > 0.02 {
		t.Errorf("the figure is %+v, all rows give %.3f", f, got)
	}
	if m.Calibration[0].Rows != m.Figures.Rows || m.Training.Passes > 40 {
		t.Errorf("calibrated on %d rows, %d passes at the end", m.Calibration[0].Rows, m.Training.Passes)
	}
}

// Where every row is predicted positive, precision is the share of positives among rows that are
// drawn, whose variance is p(1-p)/n. A sample has as many rows of both labels, and weights that
// make it behave like all rows.
func TestStandardErrorOfShares(t *testing.T) {
	d := fewRings(t, 600, 300)
	part, err := d.sizes()
	if err != nil {
		t.Fatal(err)
	}
	a := &autoFit{ctx: context.Background(), data: d, opt: Options{Seed: 1, Measure: measure.FBeta{B: 1}}, part: part}
	precision, err := Binary.Measure("precision")
	if err != nil {
		t.Fatal(err)
	}
	sample, err := a.draw(d, "test", 300)
	if err != nil {
		t.Fatal(err)
	}
	p := float64(part.Labels[0].Rows) / 900
	for _, data := range []Data{d, sample} {
		on, err := a.comparison(data, division{2, 1}, 0)
		if err != nil {
			t.Fatal(err)
		}
		all := a.counted(on, make([]int, len(on.row)))
		got, want := a.standardError(precision, all.cells, on), math.Sqrt(p*(1-p)/900)
		if math.Abs(got/want-1) > 0.08 {
			t.Errorf("%d rows: the standard error is %v, want %v", on.rows, got, want)
		}
	}
}

// A comparison that turns out to be the last is decided again, as one is that was known to be.
func TestDecideAgain(t *testing.T) {
	for _, d := range []Data{dependentRows(t, 600, 8, 2, 1), sparseRows(t, 900, 6, Multiclass, "a", "b", "c")} {
		opt := Options{Algorithm: Auto, Seed: 1, Measure: measure.FBeta{B: 1}}
		if d.Task == Multiclass {
			var err error
			if opt.Measure, err = d.Task.Measure("macro_f1"); err != nil {
				t.Fatal(err)
			}
		}
		a, err := newAutoFit(t.Context(), d, opt)
		if err != nil {
			t.Fatal(err)
		}
		on, err := a.comparison(d, division{3, 1}, 10)
		if err != nil {
			t.Fatal(err)
		}
		r := recipe{scale: scaleStandard, algorithm: a.firstLearner(), lambda: 1}
		if _, err := a.compare([]recipe{r}, on); err != nil {
			t.Fatal(err)
		}
		got := on.results[r]
		first, want := got.without, &crossFitted{scores: got.scores}
		on.last = true
		a.decide(got, r, on)
		a.decide(want, r, on)
		if diff := cmp.Diff(want.without, got.without); diff != "" {
			t.Errorf("%s: thresholds without a fold, -once +again:\n%s", d.Task, diff)
		}
		if d.Task == Binary && cmp.Equal(want.without, first) {
			t.Errorf("%s: the last comparison has the thresholds of others, %v: it tells nothing", d.Task, first)
		}
		if diff := cmp.Diff(want.tuned.predicted, got.tuned.predicted); diff != "" {
			t.Errorf("%s: decisions, -once +again:\n%s", d.Task, diff)
		}
	}
}
