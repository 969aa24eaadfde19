package classify

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/dataset"
)

// ijcnn1 is the real data set if its file exists, otherwise a synthetic one of about its shape.
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
				r, err := Fit(context.Background(), data,
					Options{Algorithm: bm.algorithm, Measure: bm.m, Passes: new(passes), Holdout: new(0.0)})
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

// One training pass straight from a file, text and cache, as "noregret train --stream" makes it:
// run with -cpu 1,2. Allocations per example are allocs/op divided by the number of examples, which
// allocs/example reports.
func BenchmarkTrainFromFile(b *testing.B) {
	dir := b.TempDir()
	text, cache := filepath.Join(dir, "ijcnn1.svm"), filepath.Join(dir, "ijcnn1.cache")
	unpack(b, text)
	s, err := dataset.Load(context.Background(), []string{text}, dataset.Options{CachePath: cache})
	if err != nil {
		b.Fatal(err)
	}
	rows := s.Info().Rows
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	for name, path := range map[string]string{"text": text, "cache": cache} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for b.Loop() {
				trainStream(b, path)
			}
			runtime.ReadMemStats(&after)
			n := float64(rows) * float64(b.N)
			b.ReportMetric(n/b.Elapsed().Seconds(), "examples/s")
			b.ReportMetric(float64(after.Mallocs-before.Mallocs)/n, "allocs/example")
		})
	}
}

func trainStream(b *testing.B, path string) {
	r, err := dataset.Open(context.Background(), []string{path},
		dataset.Options{Base: dataset.BaseOne, Workers: runtime.GOMAXPROCS(0)})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	l, err := NewSPADE(SPADEConfig{Measure: measure.QMean{}})
	if err != nil {
		b.Fatal(err)
	}
	var blk dataset.Block
	for {
		err := r.Next(&blk)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			b.Fatal(err)
		}
		for i := range blk.Len() {
			index, value := blk.Row(i)
			if err := l.Observe(Example{index, value, blk.Class[i] == 1, 1}); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// unpack writes ijcnn1 as text, or a synthetic set if its file does not exist.
func unpack(b *testing.B, path string) {
	out, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer out.Close()
	f, err := os.Open("../../shared/data/ijcnn1/ijcnn1.libsvm.gz")
	if err != nil {
		for _, x := range stream(1, 50_000) {
			label := "-1"
			if x.Positive {
				label = "+1"
			}
			fmt.Fprint(out, label)
			for j, i := range x.Index {
				fmt.Fprintf(out, " %d:%g", i+1, x.Value[j])
			}
			fmt.Fprintln(out)
		}
		return
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := io.Copy(out, z); err != nil {
		b.Fatal(err)
	}
}
