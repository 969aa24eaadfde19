package classify

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/internal/random"
)

// rareRows are rows of two features and a noise, some 4 % of them positive.
func rareRows(seed uint64, n int) []Example {
	rng := random.New(seed, "rare")
	out := make([]Example, n)
	for i := range out {
		x, y, z := rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()
		p := 1 / (1 + math.Exp(4.5-1.6*x-y))
		out[i] = Example{
			Index: []uint32{0, 1, 2}, Value: []float32{float32(x), float32(y), float32(z)},
			Positive: rng.Float64() < p, Weight: 1,
		}
	}
	return out
}

// The intervals hold the values of measures that move with the threshold, too: the threshold that
// is best for F1 is uncertain, and a specificity at that of other rows far from the one at that of
// the model. The random numbers are fixed.
func TestIntervalsHoldBesideF1(t *testing.T) {
	const trainings = 12
	fresh := asData(t, rareRows(1000, 60_000))
	for _, algorithm := range []string{Auto, "plugin"} {
		held, width, squares := map[string]int{}, map[string]float64{}, map[string]float64{}
		measures := []string{"tnr", "tpr", "precision", "f1"}
		for k := range trainings {
			d := asData(t, rareRows(uint64(k+1), 4000))
			opt := Options{Algorithm: algorithm, Measure: measure.FBeta{B: 1}, Seed: uint64(k + 1)}
			r, err := Fit(t.Context(), d, opt)
			if err != nil {
				t.Fatal(err)
			}
			if err := r.CrossFigures(t.Context(), d, opt); err != nil {
				t.Fatal(err)
			}
			c, err := Evaluate(t.Context(), fresh, r.Classifier())
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range measures {
				m, err := Binary.Measure(name)
				if err != nil {
					t.Fatal(err)
				}
				f, v := r.Figures.Of(name), c.Value(m)
				if f.Low <= v && v <= f.High {
					held[name]++
				}
				width[name] += f.High - f.Low
				squares[name] += (f.Value - v) * (f.Value - v)
			}
		}
		for _, name := range measures {
			if held[name] < trainings-2 {
				t.Errorf("%s: %d of %d intervals of 95 %% hold the %s", algorithm, held[name], trainings, name)
			}
			if mean, apart := width[name]/trainings, math.Sqrt(squares[name]/trainings); mean > 10*apart {
				t.Errorf("%s: intervals of %s are %.4f wide for errors of %.4f", algorithm, name, mean, apart)
			}
		}
	}
}

// Models of more columns than rows decide the rows that they have seen by chance where the
// threshold is, and F1 on others hardly changes with it: the interval is not that of the former.
func TestIntervalsOfWideRows(t *testing.T) {
	rng := random.New(3, "wide")
	b, err := dataset.NewBuilder(600, "0", "1")
	if err != nil {
		t.Fatal(err)
	}
	index, value := make([]uint32, 600), make([]float32, 600)
	for range 400 {
		z := 0.0
		for k := range index {
			x := rng.NormFloat64()
			index[k], value[k] = uint32(k), float32(x)
			z += x * 0.102
		}
		class := 0
		if rng.Float64() < 1/(1+math.Exp(2-z)) {
			class = 1
		}
		if err := b.Add(index, value, class, 1); err != nil {
			t.Fatal(err)
		}
	}
	d, r := builtData(t, b, Binary), Result{}
	opt := Options{Algorithm: "plugin", Measure: measure.FBeta{B: 1}, Seed: 1}
	if err := r.CrossFigures(t.Context(), d, opt); err != nil {
		t.Fatal(err)
	}
	if f := r.Figures.Of("f1"); !(f.High-f.Low < 0.5) {
		t.Errorf("f1: %+v, want an interval that says something", f)
	}
}

// Options that four fifths of the rows are too few for leave the training as it is.
func TestNoFiguresOfTooFewRows(t *testing.T) {
	d := fewRings(t, 400, 7)
	opt := Options{Algorithm: "plugin", Measure: measure.FBeta{B: 1}, Seed: 1, Folds: new(7)}
	r, err := Fit(t.Context(), d, opt)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.CrossFigures(t.Context(), d, opt); err != nil || r.Figures != nil ||
		!strings.Contains(strings.Join(r.Warnings, "\n"), "there are no figures on new rows: a model of fewer rows") {
		t.Errorf("figures %+v, warnings %q, error %v", r.Figures, r.Warnings, err)
	}
}

// The confusion to expect, by hand: six rows in two folds, the first three in the first.
func TestExpected(t *testing.T) {
	accuracy, err := Binary.Measure("accuracy")
	if err != nil {
		t.Fatal(err)
	}
	a := &autoFit{ctx: t.Context(), data: Data{Task: Binary}, opt: Options{Measure: accuracy, Seed: 1}}
	d := asData(t, rareRows(3, 6))
	on, err := a.comparison(d, division{2, 1}, 0)
	if err != nil {
		t.Fatal(err)
	}
	on.truth, on.weight = []int{0, 1, 1, 0, 1, 1}, []float64{1, 1, 2, 1, 1, 1}
	scores := [][]float64{{1}, {3}, {-1}, {2}, {0}, {4}}
	plain := a.counted(on, []int{0, 0, 1, 0, 1, 0})
	c := &choiceOf{tuned: true, result: &crossFitted{
		scores: scores, offsets: []float64{2.5}, without: [][]float64{{0.5}, {3.5}},
	}}
	// The cells are right and wrong positives, wrong and right negatives. The folds have 1, 1, 2
	// and 3 of them, the first at .5 and the second at 3.5. All rows have 0, 2, 2 and 3 at 2.5, 2,
	// 0, 2 and 3 at .5, and 0, 2, 1 and 4 at 3.5.
	want := []float64{0, 2, 2.5, 2.5}
	got := a.expected([]*choiceOf{c, c}, c, on)
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-12)); diff != "" {
		t.Error(diff)
	}
	// Without a threshold that is tuned nothing moves.
	c = &choiceOf{result: c.result, decided: plain}
	if got := a.expected([]*choiceOf{c, c}, c, on); !slices.Equal(got, plain.cells) {
		t.Errorf("cells %v, want %v", got, plain.cells)
	}
	// No cell is below 0, and every label keeps its weight.
	c = &choiceOf{tuned: true, result: &crossFitted{
		scores: scores, offsets: []float64{9}, without: [][]float64{{3.5}, {0}},
	}}
	got = a.expected([]*choiceOf{c, c}, c, on)
	if slices.Min(got) < 0 || math.Abs(got[0]+got[1]-2) > 1e-12 || math.Abs(got[2]+got[3]-5) > 1e-12 {
		t.Errorf("cells %v, want some from 0 that add up to 2 and 5", got)
	}
}

// The models of folds are apart by the standard deviation over those that have a value.
func TestApart(t *testing.T) {
	a := &autoFit{data: Data{Task: Binary}}
	models := [][]float64{{3, 1, 0, 4}, {2, 2, 2, 2}, {0, 4, 0, 4}} // the last has no precision
	for name, want := range map[string]float64{"tpr": math.Sqrt(7.0 / 48), "precision": math.Sqrt(1.0 / 8)} {
		m, err := Binary.Measure(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.apart(m, models); math.Abs(got-want) > 1e-12 {
			t.Errorf("%s is apart by %v, want %v", name, got, want)
		}
		if got := a.apart(m, models[:1]); got == got {
			t.Errorf("%s of one model is apart by %v", name, got)
		}
	}
}

// Where a class costs its share only, few rows of it are no reason to have no figures.
func TestFiguresOfRareClasses(t *testing.T) {
	b, err := dataset.NewBuilder(3, "a", "b", "c")
	if err != nil {
		t.Fatal(err)
	}
	rng := random.New(3, "rows")
	for i := range 400 {
		class := i % 2
		if i%100 == 7 {
			class = 2
		}
		value := []float32{float32(class) + float32(rng.NormFloat64()), float32(rng.NormFloat64()), 1}
		if err := b.Add([]uint32{0, 1, 2}, value, class, 1); err != nil {
			t.Fatal(err)
		}
	}
	set, err := b.Set()
	if err != nil {
		t.Fatal(err)
	}
	d, err := NewData(set, Multiclass)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"macro_f1": true, "gmean": false} {
		m, err := Multiclass.Measure(name)
		if err != nil {
			t.Fatal(err)
		}
		opt := Options{Algorithm: "softmax", Measure: m, Seed: 1, Passes: new(5)}
		r, err := Fit(t.Context(), d, opt)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.CrossFigures(t.Context(), d, opt); err != nil || (r.Figures != nil) != want {
			t.Errorf("%s: figures %v, %q, %v", name, r.Figures, r.Warnings, err)
		}
	}
}

func TestFewFor(t *testing.T) {
	d := sparseRows(t, 12, 4, Multiclass, "a", "b", "c")
	part := d.part()
	part.Rows, part.Labels = 12, []LabelCount{{Rows: 9}, {Rows: 2}, {Rows: 1}}
	for name, wants := range map[string][]string{
		"macro_f1": {4: "", 5: "3 labels have 12 rows and 15 are needed"},
		"gmean":    {1: "", 2: "label c has 1 rows and 2 are needed"},
	} {
		m, err := Multiclass.Measure(name)
		if err != nil {
			t.Fatal(err)
		}
		last := int64(len(wants) - 1)
		for n := last - 1; n <= last; n++ {
			if got := d.fewFor(m, part, n); got != wants[n] {
				t.Errorf("%s, %d rows: %q, want %q", name, n, got, wants[n])
			}
		}
	}
}
