package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
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

// BenchmarkCSV measures reading columns of one kind on one core.
func BenchmarkCSV(b *testing.B) {
	for _, c := range []struct {
		name string
		cell func(i int) string
	}{
		{"numbers", func(i int) string { return fmt.Sprint(float64(i%9973) / 16) }},
		{"integers", func(i int) string { return fmt.Sprint(20_000_000 + i%9973) }},
		{"words", func(i int) string { return []string{"red", "march", "a longer one", "31a"}[i%4] }},
		{"dates", func(i int) string { return fmt.Sprintf("2023-%02d-%02d", i%12+1, i%28+1) }},
		{"dates/dots", func(i int) string { return fmt.Sprintf("%d.%d.2023", i%28+1, i%12+1) }},
		{"dates/slashes", func(i int) string { return fmt.Sprintf("%d/%d/2023", i%28+1, i%12+1) }},
		{"texts", func(i int) string { return fmt.Sprintf("june has %d days or so in all", i%9973) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			var text strings.Builder
			text.WriteString("a,b,c,d,e,f,g,h,y\n")
			for i := range 40_000 {
				for k := range 8 {
					text.WriteString(c.cell(i*8+k) + ",")
				}
				fmt.Fprintln(&text, i%2)
			}
			path := filepath.Join(b.TempDir(), "a.csv")
			if err := os.WriteFile(path, []byte(text.String()), 0o666); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(text.Len()))
			var blk Block
			for b.Loop() {
				s, err := Open(context.Background(), []string{path}, Options{Workers: 1})
				drain(b, s, err, &blk)
			}
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
