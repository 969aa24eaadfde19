package dataset

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/gzip"
)

// benchText returns a file of svmlight text: ijcnn1's training part if the shared data are present,
// else generated text of its shape (50,000 rows of 13 nonzeros).
func benchText(b *testing.B) (path string, size int64) {
	b.Helper()
	var text []byte
	packed := filepath.Join("..", "..", "shared", "data", "ijcnn1", "ijcnn1.libsvm.gz")
	if f, err := os.Open(packed); err == nil {
		z, err := gzip.NewReader(f)
		if err != nil {
			b.Fatal(err)
		}
		if text, err = io.ReadAll(z); err != nil {
			b.Fatal(err)
		}
		_ = f.Close() // only read
	} else {
		b.Log("the shared data sets are missing; generated text is parsed instead")
		text = []byte(generated(50_000))
	}
	return writeFile(b, "bench.svm", string(text)), int64(len(text))
}

// pack compresses a file and returns the new one.
func pack(b *testing.B, path string) string {
	b.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	f, err := os.Create(path + ".gz")
	if err != nil {
		b.Fatal(err)
	}
	z := gzip.NewWriter(f)
	_, err = z.Write(text)
	if err := errors.Join(err, z.Close(), f.Close()); err != nil {
		b.Fatal(err)
	}
	return path + ".gz"
}

// drain reads everything and returns the number of rows.
func drain(b *testing.B, r Reader, err error, blk *Block) (rows int) {
	b.Helper()
	for err == nil {
		if err = r.Next(blk); err == nil {
			rows += blk.Len()
		}
	}
	if !errors.Is(err, io.EOF) {
		b.Fatal(err)
	}
	if err := r.Close(); err != nil {
		b.Fatal(err)
	}
	return rows
}

// BenchmarkParseIJCNN1 measures reading text into blocks. MB/s count the bytes of the text, also
// for .gz and for the cache, so that the figures are comparable.
func BenchmarkParseIJCNN1(b *testing.B) {
	path, size := benchText(b)
	packed := pack(b, path)
	cache := filepath.Join(b.TempDir(), "bench.cache")
	if err := load(b, Options{CachePath: cache}, path).Close(); err != nil {
		b.Fatal(err)
	}
	run := func(name string, read func(blk *Block) int) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(size)
			var blk Block
			rows := 0
			for b.Loop() {
				rows += read(&blk)
			}
			b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "examples/s")
		})
	}
	stream := func(b *testing.B, input string, workers int, blk *Block) int {
		s, err := Open(context.Background(), []string{input}, Options{Workers: workers})
		return drain(b, s, err, blk)
	}
	run("text/workers=1", func(blk *Block) int { return stream(b, path, 1, blk) })
	run("text/workers=2", func(blk *Block) int { return stream(b, path, 2, blk) })
	run("gz/workers=1", func(blk *Block) int { return stream(b, packed, 1, blk) })
	run("gz/workers=2", func(blk *Block) int { return stream(b, packed, 2, blk) })
	inMemory, inFile := load(b, Options{}, path), load(b, Options{}, cache)
	pass := 0
	for _, c := range []struct {
		name string
		set  *Set
	}{{"memory", inMemory}, {"cache", inFile}} {
		run(c.name+"/stored", func(blk *Block) int {
			r, err := c.set.Read()
			return drain(b, r, err, blk)
		})
		run(c.name+"/shuffled", func(blk *Block) int {
			pass++
			r, err := c.set.Shuffle(1, pass)
			return drain(b, r, err, blk)
		})
	}
}

// BenchmarkParser measures the svmlight parser alone on one core, without reading.
func BenchmarkParser(b *testing.B) {
	path, _ := benchText(b)
	text, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	text = text[:min(len(text), defaultChunk)]
	opt, err := Options{Base: BaseOne, MaxBadLines: 1}.withDefaults()
	if err != nil {
		b.Fatal(err)
	}
	p := newSVMParser(&opt)
	c := &chunk{file: "bench", data: text, line: 1}
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	start := cpuSeconds()
	for b.Loop() {
		c.reset()
		p.parse(c)
	}
	used := cpuSeconds() - start
	b.ReportMetric(float64(b.N)*float64(c.rows.Len())/used, "examples/cpu-s")
	b.ReportMetric(float64(b.N)*float64(len(text))/1e6/used, "MB/cpu-s")
}
