package classify

import (
	"context"
	"os"
	"testing"

	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/dataset"
)

// ijcnn1 is the real data set where it is there, else a made-up one of about its shape.
func ijcnn1(b *testing.B) Data {
	const path = "../../shared/data/ijcnn1/ijcnn1.libsvm.gz"
	if _, err := os.Stat(path); err != nil {
		b.Log("the shared data are not there: a made-up set is used")
		return asData(b, stream(1, 50_000))
	}
	s, err := dataset.Load(context.Background(), []string{path}, dataset.Options{})
	if err != nil {
		b.Fatal(err)
	}
	class, err := s.Info().Positive("")
	if err != nil {
		b.Fatal(err)
	}
	return Data{Set: s, Positive: class}
}

// One pass of each online learner over ijcnn1 in memory, in shuffled order, as Fit makes it.
func BenchmarkPass(b *testing.B) {
	data := ijcnn1(b)
	for _, bm := range []struct {
		algorithm string
		m         measure.Measure
	}{
		{"spade", measure.QMean{}},
		{"spade", measure.Min{}},
		{"spade", measure.HMean{}},
		{"spade", measure.GMean{}},
		{"stamp", measure.FBeta{B: 1}},
		{"sgd-hinge", measure.FBeta{B: 1}},
		{"sgd-logistic", measure.FBeta{B: 1}},
	} {
		b.Run(bm.algorithm+"-"+bm.m.Name(), func(b *testing.B) {
			b.ReportAllocs()
			n := 0
			const passes = 10
			for b.Loop() {
				r, err := Fit(context.Background(), data, Options{Algorithm: bm.algorithm, Measure: bm.m, Passes: passes, NoHoldout: true})
				if err != nil {
					b.Fatal(err)
				}
				n += int(r.Steps)
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "examples/s")
		})
	}
}

// The learner alone, without reading: rows in memory, given order.
func BenchmarkObserve(b *testing.B) {
	xs := stream(1, 10_000)
	for name, build := range learners {
		b.Run(name, func(b *testing.B) {
			l, err := build(Config{})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if err := l.Observe(xs[i%len(xs)]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
