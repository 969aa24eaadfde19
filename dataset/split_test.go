package dataset

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/noregret/noregret"
)

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
				rt.Fatal("the same draw gave different folds")
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
			var numbered []int
			for i, id := range all {
				if f.Rows.Get(int64(i)) {
					numbered = append(numbered, id)
				}
			}
			if !slices.Equal(numbered, part) {
				rt.Fatalf("fold %d: Rows has %v, want %v", j, numbered, part)
			}
			parts = append(parts, part...)
		}
		slices.Sort(parts)
		if !slices.Equal(parts, slices.Sorted(slices.Values(all))) {
			rt.Fatal("the parts do not have every row exactly once")
		}
	})
	if _, err := build(t, 10, 5).Folds(1, "x", 1); noregret.CodeOf(err) != noregret.Usage {
		t.Errorf("one fold: error %v, want one of code usage", err)
	}
}
