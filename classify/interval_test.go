package classify

import (
	"math"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/internal/random"
)

// TestIntervalsOfMeasuresCover draws confusions and counts how often intervals of 90 % hold the
// value of the truth.
func TestIntervalsOfMeasuresCover(t *testing.T) {
	const runs, rows, confidence = 300, 300, 0.9
	truth := &Confusion{Two: measure.Confusion{TP: 0.14, FN: 0.06, FP: 0.1, TN: 0.7}}
	measures := []measure.Objective{
		measure.FBeta{B: 1}, measure.GMean{}, measure.Precision{}, measure.TPR(), measure.MCC{}, measure.Min{},
	}
	covered := make([]int, len(measures))
	r := random.New(1, "cover")
	for range runs {
		c := &Confusion{Weight: rows, Square: rows}
		for range rows {
			u := r.Float64()
			positive := u < 0.2
			c.Two.Add(positive, u < 0.14 || u >= 0.2 && u < 0.3, 1)
		}
		for i, x := range Intervals(c, measures, confidence) {
			if v := truth.Value(measures[i]); x[0] <= v && v <= x[1] {
				covered[i]++
			}
		}
	}
	for i, k := range covered {
		// Three standard deviations of a count of 300 at 90 % are 16.
		if k < 254 || k > 286 {
			t.Errorf("%s: %d of %d intervals hold the truth, want some 270", measures[i].Name(), k, runs)
		}
	}
}

func TestIntervalsAtTheEnds(t *testing.T) {
	tpr := []measure.Objective{measure.TPR()}
	c := &Confusion{Two: measure.Confusion{TP: 20, TN: 80}, Weight: 100, Square: 100}
	if x := Intervals(c, tpr, 0.95)[0]; !(x[0] > 0.8 && x[0] < 0.95 && x[1] > 0.99) {
		t.Errorf("20 of 20 give %v, want a lower bound of some .88", x)
	}
	// Rows that all weigh 10 are as many rows.
	heavy := &Confusion{Two: measure.Confusion{TP: 200, TN: 800}, Weight: 1000, Square: 10000}
	if a, b := Intervals(c, tpr, 0.95)[0], Intervals(heavy, tpr, 0.95)[0]; math.Abs(a[0]-b[0]) > 1e-12 {
		t.Errorf("weights of 10 give %v, want %v", b, a)
	}
	if x := Intervals(&Confusion{Two: measure.Confusion{TN: 5}, Weight: 5, Square: 5}, tpr, 0.95)[0]; x[0] == x[0] {
		t.Errorf("an undefined measure has the interval %v", x)
	}
}

// Every interval has its value, of every measure and whatever the counts: no row, few, none right,
// all right, and rows of different weights.
func TestIntervalsHoldTheirValues(t *testing.T) {
	counts := []float64{0, 0, 0, 1, 1, 2, 7, 300, 0.25, 1e6}
	r := random.New(7, "counts")
	draw := func() float64 { return counts[int(r.Float64()*float64(len(counts)))] }
	check := func(c *Confusion, task Task, names []string) {
		t.Helper()
		var measures []measure.Objective
		for _, name := range names {
			if m, err := task.Measure(name); err == nil { // else a form with a parameter
				measures = append(measures, m)
			}
		}
		for _, confidence := range []float64{0.95, 0.2} {
			for i, x := range Intervals(c, measures, confidence) {
				v := c.Value(measures[i])
				if defined := c.Weight > 0 && v == v; defined && !(x[0] <= v && v <= x[1]) {
					t.Errorf("%s is %v with the interval %v of %v: %+v", measures[i].Name(), v, x, confidence, c)
				}
				if m := max(math.Abs(x[0]), math.Abs(x[1])); v == v && m > 1+1e-9 {
					t.Errorf("%s has the interval %v, beyond what it can be: %+v", measures[i].Name(), x, c)
				}
			}
		}
	}
	few := []measure.Confusion{
		{FN: 5, TN: 50}, {TP: 5, TN: 50}, {FN: 5, FP: 50}, {TP: 5, FP: 50}, {FN: 1, TN: 1}, {TP: 100, TN: 100},
	}
	for k := range 40 {
		two := measure.Confusion{TP: draw(), FN: draw(), FP: draw(), TN: draw()}
		if k < len(few) {
			two = few[k]
		}
		c := &Confusion{Two: two, Weight: two.Positives() + two.Negatives()}
		c.Square = c.Weight * (1 + 9*r.Float64())
		check(c, Binary, append(measure.Names(), "fbeta:3", "tversky:2,0.5"))
	}
	for k := range 30 {
		n := 2 + k%4
		c := &Confusion{}
		var err error
		if c.Classes, err = measure.NewMulticlassConfusion(n); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			for j := range n {
				x := draw()
				if k < 8 && (i == j) == (k < 4) { // all right, or all wrong
					x = 0
				}
				c.Classes.Add(i, j, x)
				c.Weight += x
			}
		}
		c.Square = c.Weight
		check(c, Multiclass, measure.MultiNames(false))
	}
}

func TestFigureOf(t *testing.T) {
	const past = 1 + 0x1p-52 // 1 after roundings
	for _, c := range []struct{ v, half, lowest, low, high float64 }{
		{0.5, 0.1, 0, 0.4, 0.6},
		{0, 0.3, 0, 0, 0.3},
		{1, 0.3, 0, 0.7, 1},
		{1, 0, 0, 1, 1},
		{0, 0, 0, 0, 0},
		{past, 0.5, 0, past - 0.5, past},
		{-1, 0.5, -1, -1, -0.5},
		{0.2, 3, -1, -1, 1},
		{0.25, 0.125, 0.5, 0.25, 0.375}, // the lowest value was passed
	} {
		if f := figureOf("m", c.v, c.half, c.lowest); f != (Figure{"m", c.v, c.low, c.high}) {
			t.Errorf("%v ± %v from %v on: %+v, want %v to %v", c.v, c.half, c.lowest, f, c.low, c.high)
		}
	}
	for _, x := range []Figure{{"m", 0, 0.1, 0.2}, {"m", 1, 0, 0.5}} {
		f := &ModelFigures{Rows: 1, Folds: 1, Values: []Figure{x}}
		if err := f.check(); noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("%+v gives %v, want it refused", x, err)
		}
	}
}

func TestIntervalsOfClasses(t *testing.T) {
	accuracy, err := measure.ParseMulti("accuracy", false)
	if err != nil {
		t.Fatal(err)
	}
	c := &Confusion{Weight: 300, Square: 300}
	if c.Classes, err = measure.NewMulticlassConfusion(3); err != nil {
		t.Fatal(err)
	}
	for k := range 3 {
		c.Classes.Add(k, k, 90)
		c.Classes.Add(k, (k+1)%3, 10)
	}
	// The normal interval of 270 of 300 is .866 to .934.
	if x := Intervals(c, []measure.Objective{accuracy}, 0.95)[0]; math.Abs(x[0]-0.862) > 0.01 ||
		math.Abs(x[1]-0.93) > 0.01 {
		t.Errorf("the interval of an accuracy of .9 on 300 rows is %v", x)
	}
}
