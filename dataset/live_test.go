package dataset

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A stream hands out the rows of a pipe as they come: the writer below waits for them before it
// writes on.
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
			[]string{"{\"label\":1,\"a\":1}\n", "{\"label\":0,\"b\":1}\n"},
			[][]string{{"0 0:1"}, {"1 1:1"}},
		},
		{
			"csv",
			Options{Format: CSV},
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
				defer func() { _ = w.Close() }() // the reader's end tells
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
					one := memoryStore{b.clone()}
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
