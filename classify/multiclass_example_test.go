package classify_test

import (
	"fmt"

	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/classify/measure"
)

// Three classes in a row, the last one rare: the worst recall is what counts.
func ExampleMulticlassSPADE() {
	s, err := classify.NewMulticlassSPADE(classify.MulticlassConfig{Classes: 3, Measure: measure.MulticlassMin{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	rows := make([]classify.ClassExample, 3000)
	for i := range rows {
		k := 0
		switch {
		case i%20 == 7:
			k = 2
		case i%4 == 1:
			k = 1
		}
		// One feature stands for each class; a second one disturbs.
		rows[i] = classify.ClassExample{
			Index: []uint32{uint32(k), uint32((i / 7) % 3)}, Value: []float32{2, 1}, Class: k, Weight: 1,
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
	c, err := m.Evaluate(rows)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("recalls:", c.Recalls(nil))
	fmt.Println(s.Observe(classify.ClassExample{Class: 3, Weight: 1}))
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
	// [true false]
	// the measure averaged over examples is no function of the confusion counts and cannot be trained for; use the macro or the micro average
}
