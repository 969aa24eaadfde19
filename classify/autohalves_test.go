package classify

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/dataset"
)

// What the halves cost is counted: every pass over their rows, and what it takes to load them.
func TestHalvesCost(t *testing.T) {
	d := dependentRows(t, 4000, 20, 2, 1)
	a, err := newAutoFit(t.Context(), d, Options{Algorithm: Auto, Seed: 1, Measure: measure.QMean{}})
	if err != nil {
		t.Fatal(err)
	}
	a.budget = 1e12
	sample, err := a.draw(d, "sample", 1000)
	if err != nil {
		t.Fatal(err)
	}
	on, err := a.comparison(sample, division{2, 1}, 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, algorithm := range []string{"logistic", a.usual()} {
		r := recipe{scale: scaleStandard, algorithm: algorithm, lambda: 1}
		a.work = 0
		steps := a.out.Cost.Steps
		whole, err := a.halves(r, on)
		if err != nil {
			t.Fatal(err)
		}
		if whole == nil || whole.rows != 4000 {
			t.Fatalf("%s: no halves of all rows", algorithm)
		}
		p := &a.price
		loading := float64(2 * p.rows * loadNumber * p.nonZeros)
		visits, visit, most := float64(a.out.Cost.Steps-steps), p.visit(p.columns, p.nonZeros, 0), 3.0
		if !isBatch(algorithm) {
			visit, most = p.stepping(features{}), 1.01
		}
		// A batch algorithm may have Hessians, too.
		if want := loading + visits*visit; visits == 0 || a.work < want/1.01 || a.work > most*want {
			t.Errorf("%s: the work is %.3g, want %.3g to %.3g: all visits, and to load the rows", algorithm,
				a.work, want, most*want)
		}
	}
}

// The interval of a figure by halves reaches up by what twice the rows have given so far: the gain
// over models of fewer rows, by doublings if there are several. By thirds it is half as many rows
// more, and by halves of a half four times as many. Models of as many rows or more say nothing of
// it.
func TestHalvesFigures(t *testing.T) {
	d := sparseRows(t, 1000, 6, Binary, "0", "1")
	a, err := newAutoFit(t.Context(), d, Options{Algorithm: Auto, Seed: 1, Measure: measure.GMean{}})
	if err != nil {
		t.Fatal(err)
	}
	decisions := func(on *comparedOn, wrong int) decided { // one of so many is wrong
		predicted := make([]int, len(on.truth))
		for i, k := range on.truth {
			predicted[i] = k
			if i%wrong == 0 {
				predicted[i] = 1 - k
			}
		}
		return a.counted(on, predicted)
	}
	r := recipe{scale: scaleStandard, algorithm: "logistic", lambda: 1}
	for name, x := range map[string]struct {
		rows  int64
		by    division
		wrong int
		tuned bool
		share float64 // of the rise from the models before to the halves
		folds int     // in their place, below 0 of a half of the rows
	}{
		"an eighth":                   {125, division{2, 1}, 5, false, 1.0 / 3, 2},
		"an eighth, tuned":            {125, division{2, 1}, 5, true, 1.0 / 3, 2},
		"four fifths of a half":       {500, division{5, 1}, 5, false, 2, 2},
		"four fifths of a fifth":      {200, division{5, 1}, 5, false, 1 / math.Log2(0.5/0.16), 2},
		"two thirds of a half":        {450, division{2, 1}, 9, false, 2, -3},
		"better before":               {125, division{2, 1}, 50, false, 0, 2},
		"four fifths of all":          {999, division{5, 1}, 50, false, 0, 2},
		"four fifths, worse":          {999, division{5, 1}, 5, false, 0, 2},
		"fewer, divided thrice":       {125, division{2, 3}, 5, false, 1.0 / 3, 2},
		"as good as it can be":        {125, division{2, 1}, 1, false, 1.0 / 3, 2},
		"an eighth, half of the rows": {125, division{2, 1}, 5, false, 2.0 / 2, -2},
		"an eighth, thirds":           {125, division{2, 1}, 5, false, math.Log2(1.5) / math.Log2(32.0/3), 3},
	} {
		sample, err := a.draw(d, "sample", x.rows)
		if err != nil {
			t.Fatal(err)
		}
		before, err := a.comparison(sample, x.by, 0)
		if err != nil {
			t.Fatal(err)
		}
		all := d
		if x.folds < 0 {
			if all, err = a.draw(d, "half", 500); err != nil {
				t.Fatal(err)
			}
		}
		whole, err := a.comparison(all, division{max(x.folds, -x.folds), 1}, 0)
		if err != nil {
			t.Fatal(err)
		}
		fewer, none := decisions(before, x.wrong), decisions(before, 3)
		before.results[r] = &crossFitted{plain: fewer, tuned: &none}
		if x.tuned {
			before.results[r] = &crossFitted{plain: none, tuned: &fewer}
		}
		c := &choiceOf{recipe: r, tuned: x.tuned, decided: decisions(whole, 10)}
		plain := whole.figures(a, c.decided.cells, chosenErrors, nil)
		got := whole.figures(a, c.decided.cells, chosenErrors, nil)
		a.raise(got, c, whole, before)
		if len(got.Values) != len(plain.Values) || len(got.Values) < 5 {
			t.Fatalf("%s: %d figures, want %d", name, len(got.Values), len(plain.Values))
		}
		for i, f := range got.Values {
			m, err := Binary.Measure(f.Measure)
			if err != nil {
				t.Fatal(err)
			}
			want := plain.Values[i]
			rise := f.Value - a.value(m, fewer.cells)
			want.High = min(1, want.High+max(0, x.share*rise))
			if math.Abs(f.High-want.High) > 0.01*math.Abs(rise)+1e-12 || f.Low != want.Low || f.Value != want.Value {
				t.Errorf("%s: %+v, want %+v", name, f, want)
			}
		}
	}
}

// The models of quarters have seen half of what those of the halves have, and decide the same rows.
func TestQuarters(t *testing.T) {
	for _, d := range []Data{dependentRows(t, 4000, 20, 2, 1), sparseRows(t, 900, 6, Multiclass, "a", "b", "c")} {
		opt := Options{Algorithm: Auto, Seed: 1, Measure: measure.QMean{}}
		if d.Task == Multiclass {
			m, err := d.Task.Measure("macro_f1")
			if err != nil {
				t.Fatal(err)
			}
			opt.Measure = m
		}
		a, err := newAutoFit(t.Context(), d, opt)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := a.comparison(d, division{2, 1}, 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, algorithm := range []string{a.firstLearner(), a.usual()} {
			r := recipe{scale: scaleStandard, algorithm: algorithm, lambda: 1}
			work := a.work
			quarters, err := a.quarters(r, whole)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(quarters.results[r].scores); n != len(whole.truth) {
				t.Errorf("%s: %d scores, want %d", algorithm, n, len(whole.truth))
			}
			had, has := quarters.trainedOn(a.labels()), whole.trainedOn(a.labels())
			if n := a.doublings(had, has); math.Abs(n-1) > 0.02 {
				t.Errorf("%s: halves have %v doublings of the rows, want 1", algorithm, n)
			}
			cost := a.work - work
			work = a.work
			if _, err := a.compare([]recipe{r}, whole); err != nil {
				t.Fatal(err)
			}
			if share := cost / (a.work - work); share < 0.35 || share > 0.65 {
				t.Errorf("%s: quarters cost %.2f of the halves, want half", algorithm, share)
			}
			for k, f := range quarters.folds {
				half, n := whole.folds[k].train.Set, f.train.Set.Info().Rows
				if want := half.Info().Rows; n < want/2-3 || n > want/2+3 {
					t.Errorf("%s: fold %d: %d rows, want half of %d", algorithm, k, n, want)
				}
				for _, l := range f.train.Set.Info().Labels {
					i := slices.IndexFunc(half.Info().Labels, func(h dataset.Label) bool { return h.Name == l.Name })
					if want := half.Info().Labels[i].Rows; l.Rows < want/2-1 || l.Rows > want/2+1 {
						t.Errorf("%s: fold %d: %d rows of %s, want half of %d", algorithm, k, l.Rows, l.Name, want)
					}
				}
			}
		}
	}
}

// Upper ends reach by what the halves gain on the last comparison or, if that had nearly as many
// rows to train on, on quarters. Without halves they do by what that gained on half of its rows or,
// if it had all, on the one before.
func TestFinishRaises(t *testing.T) {
	d := dependentRows(t, 1500, 20, 2, 1)
	r := recipe{features: features{products: true}, scale: scaleStandard, algorithm: "logistic", lambda: 1.0 / 30}
	for name, x := range map[string]struct {
		rows     int64
		by       division
		budget   float64
		quarters bool
		folds    int
		more     float64
	}{
		"a fifth":       {300, division{2, 1}, 1e12, false, 2, 0},
		"nearly halves": {1200, division{2, 1}, 1e12, true, 2, 0.004},
		"nearly all":    {1499, division{5, 1}, 1e12, true, 2, 0.004},
		"no halves":     {1000, division{3, 1}, 1, true, 3, 0.004},
		"all rows":      {1500, division{3, 1}, 1e12, false, 3, 0.0005},
	} {
		begin := func() (*autoFit, *comparedOn) {
			a, err := newAutoFit(t.Context(), d, Options{Algorithm: Auto, Seed: 1, Measure: measure.FBeta{B: 1}})
			if err != nil {
				t.Fatal(err)
			}
			a.budget = x.budget
			var on *comparedOn
			for i, rows := range []int64{200, x.rows} {
				sample, err := a.draw(d, "sample", rows)
				if err != nil {
					t.Fatal(err)
				}
				if on, err = a.comparison(sample, []division{{2, 1}, x.by}[i], 10); err != nil {
					t.Fatal(err)
				}
				on.last = i > 0
				if _, err := a.compare([]recipe{r}, on); err != nil {
					t.Fatal(err)
				}
			}
			return a, on
		}
		a, on := begin()
		got, err := a.finish([]recipe{r}, on)
		if err != nil {
			t.Fatal(err)
		}
		a, on = begin()
		whole, err := a.halves(r, on)
		if err != nil {
			t.Fatal(err)
		}
		before := on
		if whole == nil {
			whole, before = on, a.results[r].before
		}
		if x.quarters {
			if before, err = a.quarters(r, whole); err != nil {
				t.Fatal(err)
			}
		}
		both := a.choices([]recipe{r}, whole)
		c := &both[a.pick(both, whole, -1).at]
		without := []*choiceOf{c, c}
		if whole == on {
			without = a.chosenWithout(both, on)
		}
		want := whole.figures(a, a.expected(without, c, whole), chosenErrors, nil)
		plain := *want.Of("f1")
		a.raise(want, c, whole, before)
		if diff := cmp.Diff(want, got.Figures); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
		if f := want.Of("f1"); len(whole.folds) != x.folds || f.High-plain.High < x.more {
			t.Errorf("%s: %d folds, F1 %+v, %+v without what more rows give", name, len(whole.folds), f, plain)
		}
	}
}

// Of many rows some are halved, and the last training begins with what these have found.
func TestHalvesOfDrawnRows(t *testing.T) {
	d := dependentRows(t, mostHalvesRows+1, 3, 2, 1)
	a, err := newAutoFit(t.Context(), d, Options{Algorithm: Auto, Seed: 1, Measure: measure.FBeta{B: 1}})
	if err != nil {
		t.Fatal(err)
	}
	r := recipe{scale: scaleStandard, algorithm: "logistic", lambda: 1}
	sample, err := a.draw(d, "sample", 1000)
	if err != nil {
		t.Fatal(err)
	}
	on, err := a.comparison(sample, division{2, 1}, 10)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.compare([]recipe{r}, on); err != nil {
		t.Fatal(err)
	}
	whole, err := a.halves(r, on)
	if err != nil {
		t.Fatal(err)
	}
	if n := whole.rows; n < mostHalvesRows-2 || n > mostHalvesRows || a.warm == nil {
		t.Errorf("halves of %d rows, %v to begin with, want %d and some", n, a.warm, mostHalvesRows)
	}
	for _, x := range []struct {
		rows              int64
		columns, nonZeros float64
		want              int64
	}{
		{mostHalvesRows, 10, 10, mostHalvesRows},
		{mostHalvesRows, 1000, 1000, mostSearchNumbers / 1000},
		{1 << 30, 10, 10, mostHalvesRows},
		{1 << 30, 64, 64, mostSearchNumbers / 64},
		{10_000, 1000, 1000, 10_000},
	} {
		a.part.Rows, a.price.columns, a.price.nonZeros = x.rows, x.columns, x.nonZeros
		if got := a.halvesRows(r); got != x.want {
			t.Errorf("of %d rows of %v values %d are halved, want %d", x.rows, x.nonZeros, got, x.want)
		}
	}
	a.part.Rows, a.price.outputs, a.price.columns, a.price.nonZeros = 50_000, 300, 2, 2
	if got, want := a.halvesRows(r), int64(mostSearchNumbers/300); got != want {
		t.Errorf("of rows with 300 scores %d are halved, want %d", got, want)
	}
	a.price.outputs = 1
	// Of few more rows than the comparison had there are none.
	on.rows = mostSearchNumbers/64/2 + 1
	a.part.Rows, a.price.columns, a.price.nonZeros = 1<<30, 64, 64
	if whole, err := a.halves(r, on); whole != nil || err != nil {
		t.Errorf("there are halves of hardly more rows, error %v", err)
	}
}

// With too many rows for a batch algorithm the halves, and so the figures, are of the algorithm
// that is trained in its place. With more than memory holds the last training does not begin with
// them.
func TestFinishOfManyRows(t *testing.T) {
	d := dependentRows(t, 3000, 6, 2, 1)
	for name, x := range map[string]struct {
		algorithm, want string
		measure         measure.Objective
		rows            int64   // that there seem to be
		price           float64 // rows that seem to be in memory
	}{
		"logistic":     {"logistic", "sgd-logistic", measure.FBeta{B: 1}, mostBatchRows + 1, 3000},
		"omma":         {"omma", "sgd-logistic", measure.FBeta{B: 1}, mostBatchRows + 1, 3000},
		"balanced":     {"logistic-balanced", "sgd-balanced", measure.GMean{}, mostBatchRows + 1, 3000},
		"at the limit": {"logistic", "logistic", measure.FBeta{B: 1}, mostBatchRows, 3000},
		"not in memory": {
			"logistic", "logistic", measure.FBeta{B: 1}, 3000, mostDesignNumbers,
		},
	} {
		a, err := newAutoFit(t.Context(), d, Options{Algorithm: Auto, Seed: 1, Measure: x.measure})
		if err != nil {
			t.Fatal(err)
		}
		a.part.Rows, a.price.rows, a.budget = x.rows, x.price, 1e12
		r := recipe{scale: scaleStandard, algorithm: x.algorithm, lambda: 1}
		sample, err := a.draw(d, "sample", 500)
		if err != nil {
			t.Fatal(err)
		}
		on, err := a.comparison(sample, division{2, 1}, 10)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.compare([]recipe{r}, on); err != nil {
			t.Fatal(err)
		}
		got, err := a.finish([]recipe{r}, on)
		if err != nil {
			t.Fatal(err)
		}
		if got.Algorithm != x.want || got.Figures.Rows != 3000 {
			t.Errorf("%s: %s is trained, and figures are of %d rows; want %s and 3000", name, got.Algorithm,
				got.Figures.Rows, x.want)
		}
		if inMemory := name == "at the limit"; (a.warm != nil) != inMemory {
			t.Errorf("%s: the last training begins with what the halves have found: %v", name, a.warm != nil)
		}
		served := r
		served.algorithm = x.want
		if served.algorithm == "sgd-balanced" {
			served.lambda = 0
		}
		whole, err := a.halves(served, on)
		if err != nil {
			t.Fatal(err)
		}
		measured := figureMeasures(d.Task, x.measure)[0]
		both := a.choices([]recipe{served}, whole)
		c := &both[a.pick(both, whole, -1).at]
		want := whole.figures(a, a.expected([]*choiceOf{c, c}, c, whole), chosenErrors, nil).Of(measured.Name())
		if f := got.Figures.Of(measured.Name()); f.Value != want.Value || f.Low != want.Low {
			t.Errorf("%s: %+v, want those of the halves of %s, %+v", name, f, x.want, want)
		}
		if warned := len(got.Warnings) > 0; warned != (x.want != x.algorithm) {
			t.Errorf("%s: warnings %q", name, got.Warnings)
		}
	}
}
