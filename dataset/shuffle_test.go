package dataset

import (
	"fmt"
	"slices"
	"testing"
)

func TestShuffleIsAPermutation(t *testing.T) {
	const n = 100_000 // three parts
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
					t.Fatalf("seed %d, pass %d: memory and file give different orders", seed, pass)
				}
				key := fmt.Sprint(a[:50])
				if seen[key] {
					t.Errorf("seed %d, pass %d: the order is that of an earlier pass", seed, pass)
				}
				seen[key] = true
				for i, id := range a {
					if (id < 2000) != (classes[i] == 0) {
						t.Fatal("a class was separated from its row")
					}
				}
				slices.Sort(a)
				for i, id := range a {
					if i != id {
						t.Fatalf("row %d is missing or occurs twice", i)
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

// In a sorted set of several parts, every part has its share of each class, up to a group, and
// every row is as likely in every part: chi-squared over the part of each of 20 rows in 90
// shuffles, two degrees of freedom each, limit at 1e-6. Rows next to one another are not so in the
// order.
func TestShuffleMixesParts(t *testing.T) {
	const n, positives = 120_000, 12_000
	s := build(t, n, positives)
	parts := (s.Info().NonZeros*8 + n*16 + partBytes - 1) / partBytes
	if parts != 3 {
		t.Fatalf("%d parts", parts)
	}
	var place [n]int
	var count [20][3]float64
	for pass := range 90 {
		r, err := s.Shuffle(4, pass)
		order, classes := ids(t, r, err)
		for k, id := range order {
			place[id] = k
		}
		for row := range count {
			count[row][place[row*n/20]*3/n]++
		}
		if pass >= 20 {
			continue
		}
		close := 0
		for id := 1; id < n; id++ {
			if d := place[id] - place[id-1]; d >= -10 && d <= 10 {
				close++
			}
		}
		if most := 90; close > most {
			t.Errorf("pass %d: %d neighbours of the file are within 10 rows, want at most %d", pass, close, most)
		}
		for part := range 3 {
			got := 0
			for _, c := range classes[part*n/3 : (part+1)*n/3] {
				if c == 0 {
					got++
				}
			}
			if most := 300; got < positives/3-most || got > positives/3+most {
				t.Errorf("pass %d: %d of %d positives are in part %d", pass, got, positives, part)
			}
		}
	}
	for row, c := range count {
		chi := 0.0
		for _, n := range c {
			chi += (n - 30) * (n - 30) / 30
		}
		if chi > 27.6 {
			t.Errorf("row %d is in the parts %v times", row*n/20, c)
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

// The rows that are not copied are those of Next, in its order, also in a view and with weights.
func TestShuffledRowsInPlace(t *testing.T) {
	all := build(t, 20_000, 2000)
	small := build(t, 20_000, 2000)
	small.window = 100 << 10
	rest, part, err := all.Split(1, "x", 0.3, true)
	if err != nil {
		t.Fatal(err)
	}
	b, err := NewBuilder(3, "a", "b")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5000 {
		if err := b.Add([]uint32{2, 0}, []float32{float32(i), float32(i % 2)}, i%2, float64(i%3)); err != nil {
			t.Fatal(err)
		}
	}
	weighted, err := b.Set()
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]*Set{"all": all, "small": small, "rest": rest, "part": part, "weighted": weighted} {
		for order, open := range map[string]func() (Reader, error){
			"stored": s.Read, "shuffled": func() (Reader, error) { return s.Shuffle(1, 2) },
		} {
			copied, err := open()
			want := show(t, copied, err)
			r, err := open()
			if err != nil {
				t.Fatal(err)
			}
			got := show(t, &blocksOfRows{RowReader: r.(RowReader)}, nil)
			if !slices.Equal(got, want) || int64(len(got)) != s.Info().Rows {
				t.Errorf("%s, %s: %d rows in place, %d copied, or in another order", name, order, len(got), len(want))
			}
			if n, err := r.(RowReader).NextRows(make([]Row, 1)); n != 0 || err == nil {
				t.Errorf("%s, %s: closed, but it returns %d rows, %v", name, order, n, err)
			}
			if r, err = open(); err != nil {
				t.Fatal(err)
			}
			mixed := &blocksOfRows{RowReader: r.(RowReader), alternates: true}
			if got := show(t, mixed, nil); !slices.Equal(got, want) {
				t.Errorf("%s, %s: rows in place and copied in turn are not those of Next", name, order)
			}
		}
	}
	file := onFile(t, all, defaultWindow)
	shuffled, err := file.Shuffle(1, 2)
	if err != nil {
		t.Error(err)
	}
	if _, ok := shuffled.(RowReader); ok {
		t.Error("rows of a file are returned in place")
	}
	stored, err := file.Read()
	want := show(t, stored, err)
	stored, err = all.Read()
	if got := show(t, stored, err); !slices.Equal(got, want) {
		t.Error("the rows in memory are not those of the file")
	}
}

// blocksOfRows makes blocks of rows in place.
type blocksOfRows struct {
	RowReader
	rows       [100]Row
	alternates bool // every other block is one of Next
	calls      int
}

func (r *blocksOfRows) Next(b *Block) error {
	if r.calls++; r.alternates && r.calls%2 == 0 {
		return r.RowReader.Next(b)
	}
	b.Reset()
	n, err := r.NextRows(r.rows[:])
	for _, x := range r.rows[:n] {
		b.Append(x.Index, x.Value, x.Class, x.Weight)
	}
	return err
}
