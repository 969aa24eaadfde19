//go:build unix

package classify

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/dataset"
)

// benchSet is a data set of "make bench-train": the rows of its files, as often as times says.
type benchSet struct {
	name     string
	files    []string
	times    int
	text     string // the name of the text file
	positive string
}

var benchSets = []benchSet{
	{name: "ijcnn1x10", files: []string{"ijcnn1/ijcnn1.libsvm.gz"}, times: 10, text: "x.svm", positive: "1"},
	{name: "covtype", files: []string{"covtype/covtype-sample10000.data.gz"}, times: 50, text: "x.csv", positive: "2"},
	{
		name: "spambasex20", files: []string{"spambase/spambase-standardized.csv.gz"}, times: 20, text: "x.csv",
		positive: "1",
	},
	{name: "w8ax10", files: []string{"w8a/w8a.libsvm.gz"}, times: 10, text: "x.svm", positive: "1"},
	{
		name:  "mnist",
		files: []string{"mnist/train-images-idx3-ubyte.gz", "mnist/train-labels-idx1-ubyte.gz"},
		times: 1, text: "x-images-idx3-ubyte", positive: "5",
	},
}

// cpuSeconds is the processor time of this process so far.
func cpuSeconds(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// unpackTo writes the file, repeated, as text and compressed: gzip files in a row are one.
func unpackTo(b *testing.B, packed, text string, times int) {
	small, err := os.ReadFile(packed)
	if err != nil {
		b.Skipf("%s is missing: set NOREGRET_DATA to the directory of the data sets", packed)
	}
	z, err := gzip.NewReader(bytes.NewReader(small))
	if err != nil {
		b.Fatal(err)
	}
	all, err := io.ReadAll(z)
	if err == nil {
		err = os.WriteFile(text, bytes.Repeat(all, times), 0o666)
	}
	if err = errors.Join(err, os.WriteFile(text+".gz", bytes.Repeat(small, times), 0o666)); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkTrain trains once through each of several data sets: from text, gzip and a cache as
// "noregret train --stream" does, and five times through the rows in memory, shuffled, as
// "noregret train" does, with the pass for the statistics. It reports examples for each second of
// processor time of the whole process; "make bench-train" prints the table.
func BenchmarkTrain(b *testing.B) {
	dir := os.Getenv("NOREGRET_DATA")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "data")
	}
	for _, set := range benchSets {
		b.Run(set.name, func(b *testing.B) { benchTrain(b, dir, set) })
	}
}

func benchTrain(b *testing.B, dir string, set benchSet) {
	work := b.TempDir()
	var text, packed []string
	for i, name := range set.files {
		to := filepath.Join(work, set.text)
		if i > 0 {
			to = filepath.Join(work, strings.Replace(set.text, "images-idx3", "labels-idx1", 1))
		}
		unpackTo(b, filepath.Join(dir, name), to, set.times)
		text, packed = append(text, to), append(packed, to+".gz")
	}
	cache := filepath.Join(work, "x.cache")
	data, err := dataset.Load(context.Background(), text, dataset.Options{CachePath: cache})
	if err != nil {
		b.Fatal(err)
	}
	defer data.Close()
	class, err := data.Info().Positive(set.positive)
	if err != nil {
		b.Fatal(err)
	}
	rows := data.Info().Rows
	learners := []struct {
		name string
		m    measure.Measure
	}{{"spade", measure.QMean{}}, {"stamp", measure.FBeta{B: 1}}, {"sgd-hinge", measure.FBeta{B: 1}}}
	run := func(source string, train func(o Options) int64) {
		for _, cores := range []int{1, 2} {
			for _, l := range learners {
				b.Run(fmt.Sprintf("%s/cores=%d/%s", source, cores, l.name), func(b *testing.B) {
					defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
					var before, after runtime.MemStats
					runtime.ReadMemStats(&before)
					start, n := cpuSeconds(b), int64(0)
					for b.Loop() {
						n += train(Options{Algorithm: l.name, Measure: l.m})
					}
					used := cpuSeconds(b) - start
					runtime.ReadMemStats(&after)
					b.ReportMetric(float64(n)/used, "examples/cpu-s")
					b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "examples/s")
					b.ReportMetric(float64(after.Mallocs-before.Mallocs)/float64(n), "allocs/example")
				})
			}
		}
	}
	for _, source := range []struct {
		name   string
		inputs []string
		digest dataset.Digest
	}{
		{"text", text, dataset.XXH64},
		{"text-sha256", text, dataset.SHA256},
		{"text-nodigest", text, dataset.NoDigest},
		{"gz", packed, dataset.XXH64},
		{"cache", []string{cache}, dataset.XXH64},
	} {
		run(source.name, func(o Options) int64 {
			opt := dataset.Options{Workers: runtime.GOMAXPROCS(0), Digest: source.digest}
			s, err := dataset.Open(context.Background(), source.inputs, opt)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := FitStream(context.Background(), s, StreamOptions{Fit: o, Positive: set.positive}); err != nil {
				b.Fatal(err)
			}
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
			return rows
		})
	}
	run("memory", func(o Options) int64 {
		o.Passes, o.Holdout = new(5), new(0.0)
		r, err := Fit(context.Background(), Data{Set: data, Positive: class}, o)
		if err != nil {
			b.Fatal(err)
		}
		return r.Steps
	})
}
