package privacy

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/internal/testsize"
)

// published are the rows at T = 1000 of the re-measurement that the implementation is held to:
// means of ten seeds, of which a standard deviation is a fifth to a half.
var published = []struct {
	p                                             float64
	dim                                           int
	typo, plain, literal, tree, tight, squareRoot float64
}{
	{1.5, 5, 0.0097, 0.0013, 0.75, 0.73, 0.12, 0.024},
	{1.5, 10, 0.247, 0.0024, 0.93, 1.15, 0.43, 0.18},
	{1.5, 20, 0.795, 0.0066, 1.16, 1.13, 0.76, 0.54},
	{math.Inf(1), 5, 0.155, 0.0013, 1.10, 0.78, 0.13, 0.026},
	{math.Inf(1), 10, 0.701, 0.0016, 1.01, 1.10, 0.46, 0.19},
	{math.Inf(1), 20, 0.980, 0.0049, 1.05, 1.07, 0.85, 0.79},
}

// TestOracleO11Regression compares the tight columns at T = 1000 with the published means, within
// three standard deviations.
func TestOracleO11Regression(t *testing.T) {
	testsize.NoRace(t) // no goroutines
	for _, c := range published {
		o := DefaultRegressionOptions(c.p, c.dim, 1000)
		o.Runs, o.Test = testsize.Of(10, 5), 3000
		o.Columns = []string{TreeTight, SquareRootTight}
		columns, err := Regression(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []float64{c.tight, c.squareRoot} {
			got := columns[i]
			if math.Abs(got.Mean-want) > 3*max(got.SD, 0.2*want) {
				t.Errorf("p=%v, d=%d, %s: %.4g ± %.2g, published %v", c.p, c.dim, got.Name, got.Mean, got.SD, want)
			}
		}
	}
}

// TestRegressionColumns: at T = 1000, d = 5 and p = 1.5 all columns have the published order of
// size: noise as printed learns nothing when it is sampled as intended, and the typo learns much.
func TestRegressionColumns(t *testing.T) {
	c := published[0]
	o := DefaultRegressionOptions(c.p, c.dim, 1000)
	o.Runs, o.Test = 5, 2000
	columns, err := Regression(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{
		NonPrivate: c.plain, PrintedLiteral: c.literal, PrintedTypo: c.typo, Tree: c.tree,
		TreeTight: c.tight, SquareRootTight: c.squareRoot,
	}
	for _, got := range columns {
		if w, ok := want[got.Name]; ok && math.Abs(got.Mean-w) > 3*max(got.SD, 0.3*w) {
			t.Errorf("%s: %.4g ± %.2g, published %v", got.Name, got.Mean, got.SD, w)
		}
		if got.Unsafe != (got.Name == PrintedLiteral || got.Name == PrintedTypo) {
			t.Errorf("%s: unsafe %v", got.Name, got.Unsafe)
		}
	}
	o.Columns = []string{"other"}
	if _, err := Regression(context.Background(), o); err == nil {
		t.Error("an unknown column is accepted")
	}
	o.Dim = 0
	if _, err := Regression(context.Background(), o); err == nil {
		t.Error("dimension 0 is accepted")
	}
}

// TestSeedsDecide: two studies with one seed are equal, another seed gives other numbers.
func TestSeedsDecide(t *testing.T) {
	o := DefaultRegressionOptions(2, 3, 200)
	o.Runs, o.Test, o.Scales = 2, 500, []float64{1}
	run := func() []Column {
		columns, err := Regression(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		return columns
	}
	a, b := run(), run()
	o.Seed = 2
	for i, c := range run() {
		if a[i] != b[i] || a[i] == c {
			t.Errorf("%v, again %v, with another seed %v", a[i], b[i], c)
		}
	}
	o.Secure = true
	if c := run(); c[3] == run()[3] {
		t.Errorf("secure noise gives %v twice", c[3])
	}
}

// An interrupted study has the columns of its complete runs: those of a study of as many runs.
func TestRegressionInterrupted(t *testing.T) {
	o := DefaultRegressionOptions(math.Inf(1), 3, 100)
	o.Runs, o.Test, o.Columns = 5, 100, []string{NonPrivate, SquareRootTight}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := 0
	o.Workers, o.Progress = 1, func() {
		if done++; done == 2 {
			cancel()
		}
	}
	columns, err := Regression(ctx, o)
	if !errors.Is(err, context.Canceled) || len(columns) != 2 || columns[0].Runs != 2 {
		t.Fatalf("%+v, %v: want 2 of 5 runs", columns, err)
	}
	two := o
	two.Runs, two.Progress = 2, nil
	want, err := Regression(context.Background(), two)
	if err != nil || !slices.Equal(columns, want) {
		t.Errorf("2 of 5 runs: %+v; 2 runs: %+v, %v", columns, want, err)
	}
}
