package classify_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/dataset/synth"
)

// draw makes n rows of a seeded synthetic problem with 5 % positives.
func draw(n int, seed uint64) classify.Data {
	g, err := synth.New(synth.G3, seed)
	if err != nil {
		panic(err)
	}
	b, err := dataset.NewBuilder(g.Dim(), "-1", "1")
	if err != nil {
		panic(err)
	}
	x := make([]float64, g.Dim())
	index, value := make([]uint32, g.Dim()), make([]float32, g.Dim())
	for range n {
		class := 0
		if g.Next(x) {
			class = 1
		}
		for i, v := range x {
			index[i], value[i] = uint32(i), float32(v)
		}
		if err := b.Add(index, value, class, 1); err != nil {
			panic(err)
		}
	}
	set, err := b.Set()
	if err != nil {
		panic(err)
	}
	return classify.Data{Set: set, Positive: 1}
}

func ExampleFit() {
	ctx := context.Background()
	train, test := draw(1500, 3001), draw(10_000, 3003)
	for _, opt := range []classify.Options{
		{Measure: measure.FBeta{B: 1}, Algorithm: "stamp"},
		{Measure: measure.FBeta{B: 1}, Algorithm: "logistic"},
		{Measure: measure.GMean{}, Algorithm: "spade"},
		{Measure: measure.GMean{}, Algorithm: "logistic"},
	} {
		r, err := classify.Fit(ctx, train, opt)
		if err != nil {
			panic(err)
		}
		c, err := classify.Evaluate(ctx, test, r.Classifier())
		if err != nil {
			panic(err)
		}
		fmt.Printf("%-8s %-5s %.2f\n", opt.Algorithm, opt.Measure.Name(), c.Value(opt.Measure))
	}
	// Output:
	// stamp    f1    0.50
	// logistic f1    0.35
	// spade    gmean 0.78
	// logistic gmean 0.48
}

func ExampleSPADE() {
	learner, err := classify.NewSPADE(classify.SPADEConfig{Measure: measure.QMean{}})
	if err != nil {
		panic(err)
	}
	g, err := synth.New(synth.G1, 1001)
	if err != nil {
		panic(err)
	}
	x := make([]float64, g.Dim())
	e := classify.Example{Index: []uint32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, Value: make([]float32, 10), Weight: 1}
	for range 20_000 { // an endless stream would do as well
		e.Positive = g.Next(x)
		for i, v := range x {
			e.Value[i] = float32(v)
		}
		if err := learner.Observe(e); err != nil {
			panic(err)
		}
	}
	positives, negatives := learner.Seen()
	fmt.Println(positives, negatives, len(learner.Model().Weights))
	// Output: 986 19014 10
}

func ExampleTuneThreshold() {
	scored := []classify.Scored{
		{Score: 2.5, Weight: 1, Positive: true},
		{Score: 1.0, Weight: 1, Positive: false},
		{Score: 0.5, Weight: 1, Positive: true},
		{Score: -1, Weight: 1, Positive: false},
	}
	threshold, value := classify.TuneThreshold(scored, measure.FBeta{B: 1})
	fmt.Printf("%.2f %.2f\n", threshold, value)
	// Output: -0.25 0.80
}

// The concept of a stream flips in its middle. Without a form of drift the learner is wrong about
// half of the examples afterwards; a detector finds the flip and restarts the steps.
func ExamplePrequential() {
	for _, form := range []string{"none", "detector=adwin", "memory=100"} {
		d, err := classify.ParseDrift(form)
		if err != nil {
			panic(err)
		}
		p, err := classify.NewPrequential(classify.PrequentialOptions{
			Fit: classify.Options{Measure: measure.GMean{}, Algorithm: "spade", Drift: d}, Window: 1000,
		})
		if err != nil {
			panic(err)
		}
		r := rand.New(rand.NewPCG(1, 2))
		for i := range 6000 {
			x := r.Float64()
			err := p.Observe(classify.Example{
				Index: []uint32{0}, Value: []float32{float32(x)}, Positive: (x > 0.6) == (i < 3000), Weight: 1,
			})
			if err != nil {
				panic(err)
			}
		}
		fmt.Printf("%-14s G-mean %.1f in the last 1,000, restarts %d\n", form, measure.GMean{}.Value(p.Window()),
			p.Restarts())
	}
	// Output:
	// none           G-mean 0.0 in the last 1,000, restarts 0
	// detector=adwin G-mean 1.0 in the last 1,000, restarts 1
	// memory=100     G-mean 1.0 in the last 1,000, restarts 0
}
