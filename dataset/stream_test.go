package dataset

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/noregret/noregret"
)

// A stream delivers the rows of a pipe as they arrive: the writer below waits for them before it
// continues.
func TestLivePipe(t *testing.T) {
	for _, c := range []struct {
		name   string
		opt    Options
		pieces []string
		rows   [][]string
	}{
		{
			"svmlight",
			Options{},
			[]string{"1 1:1\n-1 2:1\n", "1 3:1\n", "-1 1:2\n1"},
			[][]string{{"0 0:1", "1 1:1"}, {"0 2:1"}, {"1 0:2"}, {"0"}},
		},
		{
			"jsonl",
			Options{},
			[]string{strings.Repeat("{\"label\":1,\"a\":1}\n", lookRows), "{\"label\":0,\"b\":1}\n"},
			[][]string{slices.Repeat([]string{"0 0:1"}, lookRows), {"1 1:1"}},
		},
		{
			"csv",
			Options{Format: CSV},
			[]string{"a,c,y\n" + strings.Repeat("1,\"u\nv\",p\n", lookRows), "2,w,q\n"},
			[][]string{slices.Repeat([]string{"0 0:1 1:1"}, lookRows), {"1 0:2 2:1"}},
		},
		{
			"csv without indicators",
			Options{Format: CSV, Missing: MissingZero},
			[]string{"a,c,y\n1,\"u\nv\",p\n", "2,w,q\n"},
			[][]string{{"0 0:1 1:1"}, {"1 0:2 2:1"}},
		},
		{
			"csv with kinds to come",
			Options{Format: CSV, Missing: MissingZero},
			[]string{"a,y\n,p\n?,p\n3,q\n", "4,q\n"},
			[][]string{{"0", "0", "1 0:3"}, {"1 0:4"}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, w := io.Pipe()
			more := make(chan bool)
			go func() {
				defer func() { _ = w.Close() }() // the reader reports an error
				for _, p := range c.pieces {
					if _, err := io.WriteString(w, p); err != nil {
						return
					}
					if !<-more {
						return
					}
				}
			}()
			c.opt.Stdin, c.opt.Workers = r, 2
			s, err := Open(t.Context(), []string{stdinName}, c.opt)
			if err != nil {
				t.Fatal(err)
			}
			var b Block
			for i, want := range c.rows {
				if i > 0 {
					more <- true
				}
				var got []string
				for len(got) < len(want) {
					if err := s.Next(&b); err != nil {
						t.Fatal(err)
					}
					one := memoryStore{new(packer).pack(&b)}
					r, err := newSet(s.Info(), one, defaultWindow).Read()
					got = append(got, show(t, r, err)...)
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("after piece %d (-want +got):\n%s", i+1, d)
				}
			}
			if len(c.rows) == len(c.pieces) {
				more <- true
			}
			if err := s.Next(&b); err != io.EOF {
				t.Errorf("at the end: %v", err)
			}
			file := writeFile(t, "a", strings.Join(c.pieces, ""))
			c.opt.Stdin = nil
			i, err := readAll(c.opt, file)
			if err != nil || i.Digest != s.Info().Digest || i.Rows != s.Info().Rows {
				t.Errorf("of a file: %v, %d rows, digest %s; of the pipe %d, %s", err, i.Rows, i.Digest, s.Info().Rows,
					s.Info().Digest)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A stream knows the line on which a label occurs first.
func TestLabelPlace(t *testing.T) {
	path := writeFile(t, "a.csv", "a,y\n1,p\n\n2,q\nbad,r\n3,r\n")
	for _, chunk := range []int{1, 1 << 20} {
		s, err := Open(t.Context(), []string{path}, Options{MaxBadLines: 1, chunkBytes: chunk})
		if err != nil {
			t.Fatal(err)
		}
		var b Block
		for err == nil {
			err = s.Next(&b)
		}
		for class, want := range []string{path + ":2", path + ":4", path + ":6", path} {
			if got := s.LabelPlace(class); got != want {
				t.Errorf("class %d: got %s, want %s", class, got, want)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// The digest of a stream is that of its text, whichever way it is stored and read.
func TestDigests(t *testing.T) {
	text := generated(3000)
	path := writeFile(t, "a.svm", "\xef\xbb\xbf"+text)
	for kind, want := range map[Digest]string{
		"":     fmt.Sprintf("sha256:%x", sha256.Sum256([]byte("\xef\xbb\xbf"+text))),
		SHA256: fmt.Sprintf("sha256:%x", sha256.Sum256([]byte("\xef\xbb\xbf"+text))),
		XXH64:  fmt.Sprintf("xxh64:%016x", xxhash.Sum64String("\xef\xbb\xbf"+text)), NoDigest: "",
	} {
		for _, size := range []int{100, 1 << 20} {
			i, err := readAll(Options{Digest: kind, chunkBytes: size}, path)
			if err != nil || i.Digest != want {
				t.Errorf("digest %q: %q and error %v, want %q", kind, i.Digest, err, want)
			}
		}
	}
	if _, err := readAll(Options{Digest: "md5"}, path); noregret.CodeOf(err) != noregret.Usage {
		t.Errorf("another digest: error %v", err)
	}
}

// The division of the text and the number of goroutines must not affect the result.
func TestWorkersAndChunksDoNotMatter(t *testing.T) {
	path := writeFile(t, "a.svm", generated(3000))
	one := Options{Workers: 1}
	r, err := Open(context.Background(), []string{path}, one)
	want := fingerprint(t, r, err)
	for _, workers := range []int{1, 2, 5} {
		for _, size := range []int{1, 100, 4096, 1 << 20} {
			opt := Options{Workers: workers, chunkBytes: size}
			r, err := Open(context.Background(), []string{path}, opt)
			if got := fingerprint(t, r, err); got != want {
				t.Errorf("%d workers, chunks of %d bytes: the blocks differ", workers, size)
			}
			if d := cmp.Diff(r.Info().Digest, load(t, Options{}, path).Info().Digest); d != "" {
				t.Error(d)
			}
		}
	}
}

func TestSteadyStateDoesNotAllocate(t *testing.T) {
	for _, c := range []struct {
		name string
		p    parser
		plan *csvPlan
		text string
	}{
		{
			"svmlight", newSVMParser(mustOptions(t, Options{Base: BaseOne})), nil,
			strings.Repeat("+1 1:0.25 2:1e-3 7:0.123456789012345678\n-1 3:-4\n", 500),
		},
		{
			"hashed svmlight", newSVMParser(mustOptions(t, Options{Bits: 4})), nil,
			strings.Repeat("+1 1:0.25 2:1e-3 7:0.5\n-1 3:-4\n", 500),
		},
		{
			"numeric csv", newCSVParser(mustOptions(t, Options{}), nil),
			&csvPlan{delim: ',', labeled: true, sorted: true, direct: 2, columns: []csvColumn{
				{kind: Numeric, notation: plainNumber},
				{kind: Numeric, notation: plainNumber, feature: 1},
				{kind: LabelKind},
			}},
			strings.Repeat("1.5,-2,a\n0,3e5,b\n", 500),
		},
		{
			"jsonl", newJSONParser(mustOptions(t, Options{}), nil), nil,
			strings.Repeat(`{"label":1,"features":{"a":1,"b":"x","c":{"d":2.5}}}`+"\n", 500),
		},
	} {
		ch := &chunk{file: "x", data: []byte(c.text), line: 1, plan: c.plan}
		run := func() { ch.reset(); c.p.parse(ch) }
		run()
		if ch.rows.Len() < 500 || len(ch.bad) > 0 {
			t.Fatalf("%s: %d rows, bad: %v", c.name, ch.rows.Len(), ch.bad)
		}
		if n := testing.AllocsPerRun(20, run); n != 0 {
			t.Errorf("%s: %v allocations per %d rows", c.name, n, ch.rows.Len())
		}
	}
}

func TestLineTooLong(t *testing.T) {
	path := writeFile(t, "a.svm", "1 1:1\n1 "+strings.Repeat("1:1 ", 1000)+"\n")
	_, err := readAll(Options{chunkBytes: 64, lineLimit: 1000, Format: SVMLight}, path)
	want := path + ":2: the line is longer than 1000 bytes; is a quote left open, or is it not a text file?"
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	s, err := Open(ctx, []string{writeFile(t, "a.svm", generated(1000))}, Options{chunkBytes: 512})
	if err != nil {
		t.Fatal(err)
	}
	var b Block
	cancel()
	for err == nil {
		err = s.Next(&b)
	}
	if err != context.Canceled {
		t.Errorf("got %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// Closing in the middle must end all goroutines, which TestMain checks.
func TestCloseEarly(t *testing.T) {
	s, err := Open(context.Background(), []string{writeFile(t, "a.svm", generated(2000))},
		Options{chunkBytes: 512, Workers: 3})
	if err != nil {
		t.Fatal(err)
	}
	var b Block
	if err := s.Next(&b); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Next(&b); err == nil || err == io.EOF {
		t.Errorf("Next after Close: %v", err)
	}
}
