package dataset

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

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
	for _, b := range s.st.(memoryStore) {
		if err := k.add(b); err != nil {
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

func TestShuffleIsAPermutation(t *testing.T) {
	const n = 20_000
	mem := build(t, n, 2000)
	file := onFile(t, mem, defaultWindow)
	small := onFile(t, mem, 100<<10)
	smallMem := build(t, n, 2000)
	smallMem.window = 100 << 10
	seen := map[string]bool{}
	for _, pass := range []int{0, 1} {
		for _, seed := range []uint64{1, 2} {
			for _, pair := range [][2]*Set{{mem, file}, {smallMem, small}} {
				r, err := pair[0].Shuffle(seed, pass)
				a, classes := ids(t, r, err)
				r, err = pair[1].Shuffle(seed, pass)
				b, _ := ids(t, r, err)
				if !slices.Equal(a, b) {
					t.Fatalf("seed %d, pass %d: memory and file give other orders", seed, pass)
				}
				key := fmt.Sprint(a[:50])
				if seen[key] {
					t.Errorf("seed %d, pass %d: the order came before", seed, pass)
				}
				seen[key] = true
				for i, id := range a {
					if (id < 2000) != (classes[i] == 0) {
						t.Fatal("a class has left its row")
					}
				}
				slices.Sort(a)
				for i, id := range a {
					if i != id {
						t.Fatalf("row %d is missing or there twice", i)
					}
				}
			}
		}
	}
}

// A set sorted by label that fits one window must come out mixed: in every tenth
// of the order the positives are binomial(2000, 1/10); 5 standard deviations are 67.
func TestShuffleMixesSortedLabels(t *testing.T) {
	r, err := build(t, 20_000, 2000).Shuffle(3, 0)
	_, classes := ids(t, r, err)
	for part := range 10 {
		n := 0
		for _, c := range classes[part*2000 : (part+1)*2000] {
			if c == 0 {
				n++
			}
		}
		if n < 133 || n > 267 {
			t.Errorf("%d of 2000 positives in part %d", n, part)
		}
	}
}

// Every row must be as likely at every place: chi-squared over the place of each of 6 rows
// in 6000 shuffles, 25 degrees of freedom, limit at 1e-6.
func TestShuffleIsUniform(t *testing.T) {
	s := build(t, 6, 3)
	var count [6][6]float64
	for pass := range 6000 {
		r, err := s.Shuffle(9, pass)
		rows, _ := ids(t, r, err)
		for place, id := range rows {
			count[id][place]++
		}
	}
	chi := 0.0
	for _, row := range count {
		for _, n := range row {
			chi += (n - 1000) * (n - 1000) / 1000
		}
	}
	if chi > 70 {
		t.Errorf("chi-squared %.1f: %v", chi, count)
	}
}

func TestSplitCountsAreExact(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 500).Draw(rt, "rows")
		pos := rapid.IntRange(0, n).Draw(rt, "positives")
		fraction := rapid.Float64Range(0, 1).Draw(rt, "fraction")
		stratify := rapid.Bool().Draw(rt, "stratify")
		s := build(t, n, pos)
		rest, part, err := s.Split(rapid.Uint64().Draw(rt, "seed"), "valid", fraction, stratify)
		if err != nil {
			rt.Fatal(err)
		}
		r, err := rest.Read()
		a, _ := ids(t, r, err)
		r, err = part.Read()
		b, bc := ids(t, r, err)
		want := int(math.Round(fraction * float64(n)))
		if stratify {
			wantPos := int(math.Round(fraction * float64(pos)))
			want = wantPos + int(math.Round(fraction*float64(n-pos)))
			got := 0
			for _, c := range bc {
				if c == 0 {
					got++
				}
			}
			if got != wantPos || part.Info().Labels[0].Rows != int64(wantPos) {
				rt.Fatalf("%d positives, info %v, want %d", got, part.Info().Labels, wantPos)
			}
		}
		if len(b) != want || part.Info().Rows != int64(want) || rest.Info().Rows != int64(n-want) {
			rt.Fatalf("%d rows, info %d, want %d", len(b), part.Info().Rows, want)
		}
		if !slices.IsSorted(a) || !slices.IsSorted(b) {
			rt.Fatal("the views are not in stored order")
		}
		all := append(a, b...)
		slices.Sort(all)
		for i, id := range all {
			if i != id {
				rt.Fatalf("row %d is in none or in both", i)
			}
		}
	})
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

// Rows beyond the memory limit go to a file that has no name or is removed; nothing else changes.
func TestSpoolIsTheSame(t *testing.T) {
	path := writeFile(t, "a.svm", generated(5000))
	dir := t.TempDir()
	mem := load(t, Options{}, path)
	spooled, err := Load(t.Context(), []string{path}, Options{MemoryLimit: 300 << 10, TempDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := spooled.st.(*fileStore); !ok {
		t.Fatalf("the rows are in a %T", spooled.st)
	}
	if d := cmp.Diff(mem.Info(), spooled.Info()); d != "" {
		t.Errorf("info (-memory +file):\n%s", d)
	}
	a, err := mem.Read()
	want := fingerprint(t, a, err)
	b, err := spooled.Read()
	if got := fingerprint(t, b, err); got != want {
		t.Error("stored order differs")
	}
	a, err = mem.Shuffle(1, 2)
	want = fingerprint(t, a, err)
	b, err = spooled.Shuffle(1, 2)
	if got := fingerprint(t, b, err); got != want {
		t.Error("shuffled order differs")
	}
	if err := spooled.Close(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestBuilderRefuses(t *testing.T) {
	b, err := NewBuilder(3, "a", "b")
	if err != nil {
		t.Fatal(err)
	}
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, c := range []struct {
		index  []uint32
		value  []float32
		class  int
		weight float64
		want   string
	}{
		{[]uint32{3}, []float32{1}, 0, 1, "row 0: index 3: it must be below the dimension 3"},
		{[]uint32{1, 0, 1}, []float32{1, 2, 3}, 0, 1, "row 0: duplicate index 1"},
		{[]uint32{1}, []float32{nan}, 0, 1, "row 0: index 1: value NaN: it must be finite"},
		{[]uint32{1}, []float32{inf}, 0, 1, "row 0: index 1: value +Inf: it must be finite"},
		{[]uint32{1}, nil, 0, 1, "row 0: 1 indices but 0 values"},
		{nil, nil, 2, 1, "row 0: class 2: it must be below 2, the number of labels, or NoClass"},
		{nil, nil, -1, 1, "row 0: class -1: it must be below 2, the number of labels, or NoClass"},
		{nil, nil, 0, -1, "row 0: weight -1: it must be finite and 0 or more"},
		{nil, nil, 0, math.NaN(), "row 0: weight NaN: it must be finite and 0 or more"},
	} {
		if err := b.Add(c.index, c.value, c.class, c.weight); err == nil || err.Error() != c.want ||
			noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
	if _, err := b.Set(); err == nil {
		t.Error("a set without rows was made")
	}
	if err := b.Add([]uint32{2, 0}, []float32{5, 0}, NoClass, 0.5); err != nil {
		t.Fatal(err)
	}
	s, err := b.Set()
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Read()
	if d := cmp.Diff([]string{"-*0.5 2:5"}, show(t, r, err)); d != "" {
		t.Error(d)
	}
	for _, labels := range [][]string{{""}, {"nan"}, {"1", "+1"}} {
		if _, err := NewBuilder(1, labels...); noregret.CodeOf(err) != noregret.Usage {
			t.Errorf("labels %q: %v", labels, err)
		}
	}
}

func TestPositive(t *testing.T) {
	label := func(name string, rows int64) Label { return Label{Name: name, Rows: rows} }
	for _, c := range []struct {
		labels []Label
		name   string
		want   int
		err    string
	}{
		{[]Label{label("1", 1), label("-1", 9)}, "", 0, ""},
		{[]Label{label("0", 1), label("1", 9)}, "", 1, ""},
		{[]Label{label("2", 1), label("1", 9)}, "", 0, ""},
		{[]Label{label("10", 1), label("9", 9)}, "", 0, ""},
		{[]Label{label("ham", 9), label("spam", 1)}, "", 1, ""},
		{[]Label{label("spam", 1), label("ham", 9)}, "", 0, ""},
		{[]Label{label("b", 5), label("a", 5)}, "", 0, ""},
		{[]Label{label("a", 5), label("1", 4)}, "", 1, ""},
		{[]Label{label("0", 1), label("1", 2), label("2", 3)}, "+1.0", 1, ""},
		{[]Label{label("normal.", 1), label("smurf.", 2)}, "normal.", 0, ""},
		{
			[]Label{label("0", 1), label("1", 2), label("-1", 3)},
			"", 0,
			`x: 3 labels where two are needed: "0" (1), "1" (2), "-1" (3); name the positive one (--positive)`,
		},
		{[]Label{label("1", 3)}, "", 0, `x: every row has the label "1"; two classes are needed`},
		{[]Label{label("1", 3)}, "7", 0, `x: no row has the positive label "7"; the labels are "1" (3)`},
	} {
		got, err := Info{Labels: c.labels, Inputs: []string{"x"}}.Positive(c.name)
		if msg := fmt.Sprint(err); (c.err == "" && err != nil) || (c.err != "" && msg != c.err) || got != c.want {
			t.Errorf("%v, %q: got %d, %v; want %d, %s", c.labels, c.name, got, err, c.want, c.err)
		}
	}
}

func TestBitsAny(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(1, 300).Draw(t, "n")
		s := newBits(n)
		i := rapid.Int64Range(0, n-1).Draw(t, "i")
		s.Set(i)
		lo := rapid.Int64Range(0, n).Draw(t, "lo")
		hi := rapid.Int64Range(lo, n).Draw(t, "hi")
		if s.any(lo, hi) != (lo <= i && i < hi) || s.Count() != 1 || !s.Get(i) {
			t.Fatalf("bit %d of %d: any(%d, %d) is %v", i, n, lo, hi, s.any(lo, hi))
		}
		if s.Clear(i); s.Count() != 0 {
			t.Fatal("Clear left the bit")
		}
	})
}

// Every row is in the part of one fold and in the rest of all others, and each label is spread
// evenly.
func TestFolds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 300).Draw(rt, "rows")
		pos := rapid.IntRange(0, n).Draw(rt, "positives")
		k := rapid.IntRange(2, 7).Draw(rt, "folds")
		seed := rapid.Uint64().Draw(rt, "seed")
		s := build(t, n, pos)
		if rapid.Bool().Draw(rt, "view") {
			rest, _, err := s.Split(seed, "view", 0.3, false)
			if err != nil {
				rt.Fatal(err)
			}
			s = rest
		}
		r, err := s.Read()
		all, classes := ids(t, r, err)
		positives := 0
		for _, c := range classes {
			if c == 0 {
				positives++
			}
		}
		folds, err := s.Folds(seed, "x", k)
		if err != nil {
			rt.Fatal(err)
		}
		again, err := s.Folds(seed, "x", k)
		if err != nil {
			rt.Fatal(err)
		}
		var parts []int
		for j, f := range folds {
			r, err := f.Part.Read()
			part, pc := ids(t, r, err)
			r, err = f.Rest.Read()
			rest, _ := ids(t, r, err)
			r, err = again[j].Part.Read()
			if same, _ := ids(t, r, err); !slices.Equal(part, same) {
				rt.Fatal("the same draw gave other folds")
			}
			both := slices.Concat(part, rest)
			slices.Sort(both)
			sorted := slices.Sorted(slices.Values(all))
			if !slices.Equal(both, sorted) || f.Part.Info().Rows != int64(len(part)) ||
				f.Rest.Info().Rows != int64(len(rest)) {
				rt.Fatalf("fold %d: part %v and rest %v of %v", j, part, rest, all)
			}
			p := 0
			for _, c := range pc {
				if c == 0 {
					p++
				}
			}
			if p < positives/k || p > (positives+k-1)/k || len(part)-p < (len(all)-positives)/k ||
				len(part)-p > (len(all)-positives+k-1)/k {
				rt.Fatalf("fold %d of %d has %d of %d positives and %d rows of %d", j, k, p, positives, len(part),
					len(all))
			}
			parts = append(parts, part...)
		}
		slices.Sort(parts)
		if !slices.Equal(parts, slices.Sorted(slices.Values(all))) {
			rt.Fatal("the parts are not all rows once")
		}
	})
	if _, err := build(t, 10, 5).Folds(1, "x", 1); noregret.CodeOf(err) != noregret.Usage {
		t.Errorf("one fold: error %v, want one of code usage", err)
	}
}
