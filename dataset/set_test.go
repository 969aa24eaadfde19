package dataset

import (
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/noregret/noregret"
)

// build makes a set of n rows; row i has the value i+1 at feature i mod 7, and the rows are sorted
// by label: the first positives rows have label "1", the rest "0".
func build(t testing.TB, n, positives int) *Set {
	t.Helper()
	b, err := NewBuilder(7, "1", "0")
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		class := 1
		if i < positives {
			class = 0
		}
		if err := b.Add([]uint32{uint32(i % 7)}, []float32{float32(i + 1)}, class, 1); err != nil {
			t.Fatal(err)
		}
	}
	s, err := b.Set()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ids returns the numbers that build put into the rows, and their classes.
func ids(t testing.TB, r Reader, err error) (rows []int, classes []uint16) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var b Block
	for {
		err := r.Next(&b)
		if err != nil {
			if err := eofIsNil(err); err != nil {
				t.Fatal(err)
			}
			break
		}
		if b.FirstRow != int64(len(rows)) {
			t.Fatalf("FirstRow %d after %d rows", b.FirstRow, len(rows))
		}
		for i := range b.Len() {
			_, v := b.Row(i)
			rows = append(rows, int(v[0])-1)
			classes = append(classes, b.Class[i])
		}
	}
	return rows, classes
}

// onFile returns the same rows in a file store.
func onFile(t testing.TB, s *Set, window int64) *Set {
	t.Helper()
	k := &keeper{opt: Options{CachePath: filepath.Join(t.TempDir(), "x.cache"), MemoryLimit: 1, WindowBytes: window}}
	if err := k.openCache(); err != nil {
		t.Fatal(err)
	}
	var b Block
	for _, p := range s.st.(memoryStore) {
		b.Reset()
		p.unpack(&b)
		if err := k.add(&b); err != nil {
			t.Fatal(err)
		}
	}
	out, err := k.finish(s.info, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := out.Close(); err != nil {
			t.Error(err)
		}
	})
	return out
}

func TestViews(t *testing.T) {
	s := build(t, 10_000, 100)
	rest, part, err := s.Split(5, "a", 0.25, false)
	if err != nil {
		t.Fatal(err)
	}
	_, again, err := s.Split(5, "a", 0.25, false)
	if err != nil {
		t.Fatal(err)
	}
	_, other, err := s.Split(5, "b", 0.25, false)
	if err != nil {
		t.Fatal(err)
	}
	r, err := part.Read()
	p1, _ := ids(t, r, err)
	r, err = again.Read()
	p2, _ := ids(t, r, err)
	r, err = other.Read()
	p3, _ := ids(t, r, err)
	if !slices.Equal(p1, p2) || slices.Equal(p1, p3) {
		t.Error("a split must depend on the seed and the stream's name alone")
	}

	// A selection from a view counts the rows of the view.
	keep, err := NewBits(part.Info().Rows)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range []int64{0, 7, 63, 64, 2499} {
		keep.Set(i)
	}
	v, err := part.Select(keep)
	if err != nil {
		t.Fatal(err)
	}
	r, err = v.Read()
	got, _ := ids(t, r, err)
	if d := cmp.Diff([]int{p1[0], p1[7], p1[63], p1[64], p1[2499]}, got); d != "" || v.Info().Rows != 5 ||
		v.Info().NonZeros != 5 {
		t.Errorf("%d rows, (-want +got):\n%s", v.Info().Rows, d)
	}
	r, err = rest.Shuffle(1, 0)
	shuffled, _ := ids(t, r, err)
	file := onFile(t, s, defaultWindow)
	fileRest, _, err := file.Split(5, "a", 0.25, false)
	if err != nil {
		t.Fatal(err)
	}
	r, err = fileRest.Shuffle(1, 0)
	fromFile, _ := ids(t, r, err)
	if len(shuffled) != 7500 || !slices.Equal(shuffled, fromFile) {
		t.Error("a view shuffles differently in memory and in a file")
	}
	if _, err := part.Select(newBits(10_000)); noregret.CodeOf(err) != noregret.Usage {
		t.Errorf("a selection of the wrong length: %v", err)
	}
	if _, _, err := s.Split(1, "", math.NaN(), false); noregret.CodeOf(err) != noregret.Usage {
		t.Errorf("fraction NaN: %v", err)
	}
}
