package classify

import (
	"math"
	"testing"

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
