package classify_test

import (
	"context"
	"fmt"

	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/dataset"
)

// Three classes, the last one rare, trained for the worst recall.
func ExampleMulticlassSPADE() {
	s, err := classify.NewMulticlassSPADE(classify.MulticlassConfig{Classes: 3, Measure: measure.MulticlassMin{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	rows := make([]classify.LabelsExample, 3000)
	for i := range rows {
		k := 0
		switch {
		case i%20 == 7:
			k = 2
		case i%4 == 1:
			k = 1
		}
		// One feature indicates the class; a second one is noise.
		rows[i] = classify.LabelsExample{
			Index: []uint32{uint32(k), uint32((i / 7) % 3)}, Value: []float32{2, 1}, Labels: []int{k}, Weight: 1,
		}
		if rows[i].Index[0] == rows[i].Index[1] {
			rows[i].Index, rows[i].Value = rows[i].Index[:1], []float32{3}
		}
		if err := s.Observe(rows[i]); err != nil {
			fmt.Println(err)
			return
		}
	}
	if err := s.Finish(); err != nil {
		fmt.Println(err)
		return
	}
	m := s.Model()
	c, err := classify.NewCounter(&m)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, x := range rows {
		c.Add(x.Index, x.Value, []int{x.Labels[0]}, x.Weight)
	}
	fmt.Println("recalls:", c.Confusion().Classes.Recalls(nil))
	fmt.Println(s.Observe(classify.LabelsExample{Labels: []int{3}, Weight: 1}))
	// Output:
	// recalls: [1 1 1]
	// example 3001: class is 3, want one in 0..2
}

// Two labels with one shared level: the micro average.
func ExampleNewMultilabel() {
	s, err := classify.NewMultilabel(classify.MultilabelConfig{
		STAMPConfig: classify.STAMPConfig{Measure: measure.FBeta{B: 1}}, Labels: 2, Average: classify.MicroAverage,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	var rows []classify.LabelsExample
	for i := range 4000 {
		x := classify.LabelsExample{Index: []uint32{2}, Value: []float32{float32(i%5) / 5}, Weight: 1}
		for k, every := range []int{3, 7} {
			if i%every == 0 {
				x.Labels = append(x.Labels, k)
				x.Index, x.Value = append(x.Index, uint32(k)), append(x.Value, 1)
			}
		}
		rows = append(rows, x)
		if err := s.Observe(x); err != nil {
			fmt.Println(err)
			return
		}
	}
	m, value, err := s.Choose(rows)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("micro-F₁ %.2f\n", value)
	fmt.Println(m.Predict(nil, []uint32{0, 2}, []float32{1, 0.4}))

	_, err = classify.NewMultilabel(classify.MultilabelConfig{
		STAMPConfig: classify.STAMPConfig{Measure: measure.FBeta{B: 1}}, Labels: 2, Average: classify.InstanceAverage,
	})
	fmt.Println(err)
	// Output:
	// micro-F₁ 1.00
	// [0]
	// the measure averaged over examples is not a function of the confusion counts and cannot be trained for; use the macro or the micro average
}

// Three classes, one of them rare, trained for the worst recall and, for comparison, for accuracy.
func ExampleFit_classes() {
	b, err := dataset.NewBuilder(2, "common", "usual", "rare")
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range 1200 {
		class, x, y := 0, float32(i%11)/10, float32(i%7)/6
		switch {
		case i%40 == 7:
			class, x = 2, x+0.9
		case i%3 == 1:
			class, y = 1, y+1.2
		}
		if err := b.Add([]uint32{0, 1}, []float32{x, y}, class, 1); err != nil {
			fmt.Println(err)
			return
		}
	}
	set, err := b.Set()
	if err != nil {
		fmt.Println(err)
		return
	}
	data, err := classify.NewData(set, classify.Multiclass)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, name := range []string{"min", "accuracy"} {
		m, err := measure.ParseMulti(name, false)
		if err != nil {
			fmt.Println(err)
			return
		}
		r, err := classify.Fit(context.Background(), data, classify.Options{Measure: m})
		if err != nil {
			fmt.Println(err)
			return
		}
		c, err := classify.Evaluate(context.Background(), data, r.Classifier())
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%-8s by %-8s", name, r.Algorithm)
		for k, recall := range c.Classes.Recalls(nil) {
			fmt.Printf("  %s %.2f", data.Labels[k], recall)
		}
		fmt.Println()
	}
	// Output:
	// min      by spade     common 0.91  rare 0.93  usual 1.00
	// accuracy by logistic  common 1.00  rare 0.77  usual 1.00
}
