package classify

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/internal/testsize"
)

// manyColumns are rows with two columns that say something of the label and many that do not.
func manyColumns(t *testing.T, r *rand.Rand, rows, columns int) Data {
	t.Helper()
	b, err := dataset.NewBuilder(columns, "yes", "no")
	if err != nil {
		t.Fatal(err)
	}
	index, value := make([]uint32, columns), make([]float32, columns)
	for range rows {
		u := r.Float64()
		z := math.Log(u/(1-u)) - 1
		for k := range columns {
			v := r.NormFloat64()
			if k < 2 {
				z += v * float64(2-k)
			}
			index[k], value[k] = uint32(k), float32(v)
		}
		class := 0
		if z <= 0 {
			class = 1
		}
		if err := b.Add(index, value, class, 1); err != nil {
			t.Fatal(err)
		}
	}
	set, err := b.Set()
	if err != nil {
		t.Fatal(err)
	}
	return Data{Set: set}
}

// The recall that is promised with a confidence is had on new rows, also where rows are few for the
// columns, so that the models of the folds have other scores than the one that predicts.
func TestRecallHoldsWithManyColumns(t *testing.T) {
	testsize.NoRace(t)
	const recall = 0.8
	for algorithm, c := range map[string]struct{ rows, columns, runs, want int }{
		"logistic": {400, 170, 10, 8},  // 6 where the scores are not moved
		Auto:       {300, 150, 20, 17}, // 15
	} {
		held := 0
		for seed := range uint64(c.runs) {
			r := rand.New(rand.NewPCG(seed, 7))
			train, later := manyColumns(t, r, c.rows, c.columns), manyColumns(t, r, 1500, c.columns)
			result, err := Fit(t.Context(), train, Options{
				Algorithm: algorithm, Measure: measure.FBeta{B: 1}, Seed: 1, Calibration: CalibrationPlatt,
			})
			if err != nil {
				t.Fatal(err)
			}
			point, _, ok := result.Calibration[0].Curve.AtRecall(recall, 0.9)
			if !ok {
				t.Fatal("no threshold has this recall")
			}
			found, all := 0.0, 0.0
			err = later.read(context.Background(), later.examples(func(x Example) error {
				if x.Positive {
					all++
					if result.Models[0].Score(x.Index, x.Value) > point.Threshold {
						found++
					}
				}
				return nil
			}))
			if err != nil {
				t.Fatal(err)
			}
			if found >= recall*all {
				held++
			}
		}
		if held < c.want {
			t.Errorf("%s: the recall held in %d of %d runs, want %d", algorithm, held, c.runs, c.want)
		}
	}
}

// Scores are moved where the spreads differ, and stay where they are alike or undefined.
func TestSpread(t *testing.T) {
	s := spreadOf([]Scored{{Score: 1, Weight: 1}, {Score: 3, Weight: 1}, {Score: 5, Weight: 2}})
	if s != (spread{3.5, 1.5}) {
		t.Errorf("spread %+v", s)
	}
	for _, c := range []struct {
		to   spread
		want float64
	}{
		{spread{7, 3}, 4},
		{spread{0, .75}, -.75},
		{spread{9, 1.6}, 2},
		{spread{9, 1.4}, 2},
		{spread{9, 0}, 2},
		{spread{math.NaN(), 3}, 2},
		{spread{1, math.Inf(1)}, 2},
	} {
		x := []Scored{{Score: 2}}
		s.onto(c.to, x)
		if x[0].Score != c.want {
			t.Errorf("onto %+v: %v, want %v", c.to, x[0].Score, c.want)
		}
	}
	x := []Scored{{Score: 2}}
	if (spread{}).onto(s, x); x[0].Score != 2 {
		t.Errorf("from scores that are all equal: %v", x[0].Score)
	}
}

// The spread of a model's scores is that of all rows, or of as many as are wanted.
func TestSpreadOfRows(t *testing.T) {
	d := sparseRows(t, 1000, 6, Binary, "0", "1")
	model := &Linear{Weights: []float64{1, -2, 3, 0, 1, 1}, Intercept: -1}
	scores, err := d.scores(t.Context(), []*Linear{model}, nil)
	if err != nil {
		t.Fatal(err)
	}
	all := spreadOf(scores[0])
	for most, within := range map[int64]float64{400: 0.1, 999: 0.01, 1000: 0, 1 << 20: 0} {
		got, err := d.spread(t.Context(), nil, model, 1, most)
		far := max(math.Abs(got.mean-all.mean), math.Abs(got.deviation-all.deviation))
		if err != nil || !(far <= within*all.deviation) {
			t.Errorf("%d rows at most: %+v, %v, want %+v within %v deviations", most, got, err, all, within)
		}
	}
	if one, err := d.spread(t.Context(), nil, model, 1, 1); err != nil || one.deviation != 0 {
		t.Errorf("a single row: %+v, %v, want no deviation", one, err)
	}
}
