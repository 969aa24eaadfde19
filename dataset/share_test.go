package dataset

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret"
)

// TestShare loads every share of a file, in memory, from a temporary file and from a cache, and
// compares its rows and counts with those of the whole set.
func TestShare(t *testing.T) {
	var text strings.Builder
	for i := 1; i <= 1000; i++ {
		fmt.Fprintf(&text, "%d 1:%d %d:1\n", i%2, i, 2+i%7)
	}
	path := writeFile(t, "rows.svm", text.String())
	cache := filepath.Join(t.TempDir(), "rows.cache")
	whole, err := Load(context.Background(), []string{path}, Options{CachePath: cache})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = whole.Close() }()
	for name, opt := range map[string]Options{
		"memory": {chunkBytes: 100}, "file": {chunkBytes: 100, MemoryLimit: 1}, "cache": {},
	} {
		for _, of := range []int{1, 2, 3, 16} {
			var numbers []int
			for k := 1; k <= of; k++ {
				input := path
				if name == "cache" {
					input = cache
				}
				opt.Share = Share{k, of}
				set, err := Load(context.Background(), []string{input}, opt)
				if err != nil {
					t.Fatal(err)
				}
				info := set.Info()
				if info.Digest != whole.Info().Digest || info.Schema.Dim != 8 {
					t.Errorf("%s %d/%d: digest %s, dimension %d", name, k, of, info.Digest, info.Schema.Dim)
				}
				var rows, ones int64
				readRows(t, set, func(index []uint32, value []float32, class uint16) {
					n := int(value[0])
					if n%of != k%of {
						t.Fatalf("%s %d/%d has row %d", name, k, of, n)
					}
					numbers = append(numbers, n)
					rows++
					if info.Labels[class].Name == "1" {
						ones++
					}
				})
				if class, _ := info.Positive("1"); rows != info.Rows || ones != info.Labels[class].Rows ||
					info.Weight != float64(rows) {
					t.Errorf("%s %d/%d: %d rows, %d ones, counted %+v", name, k, of, rows, ones, info)
				}
				if err := set.Close(); err != nil {
					t.Fatal(err)
				}
			}
			slices.Sort(numbers)
			if len(numbers) != 1000 || numbers[0] != 1 || numbers[999] != 1000 {
				t.Errorf("%s: the %d shares have %d rows", name, of, len(numbers))
			}
		}
	}
	if _, err := Load(context.Background(), []string{path}, Options{Share: Share{1001, 2000}}); err == nil ||
		noregret.CodeOf(err) != noregret.BadInput {
		t.Errorf("empty share: %v", err)
	}
	both := Options{Share: Share{1, 2}, CachePath: cache + "2"}
	if _, err := Load(context.Background(), []string{path}, both); err == nil {
		t.Error("a cache of a share is written")
	}
}

func readRows(t *testing.T, s *Set, f func(index []uint32, value []float32, class uint16)) {
	t.Helper()
	err := s.eachBlock(func(_ int64, b *Block) {
		for i := range b.Len() {
			index, value := b.Row(i)
			f(index, value, b.Class[i])
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestParseShare(t *testing.T) {
	for _, bad := range []string{"", "1", "1/", "/2", "3/2", "-1/2", "0/0", "1/0", "1/2/3", "a/b", "1/9999999999"} {
		if s, err := ParseShare(bad); err == nil {
			t.Errorf("%q is the share %v", bad, s)
		}
	}
	if s, err := ParseShare("3/4"); err != nil || s != (Share{3, 4}) || s.String() != "3/4" {
		t.Errorf("%v, %v", s, err)
	}
	for _, c := range []struct {
		a, b Share
		want bool
	}{
		{Share{1, 2}, Share{2, 2}, false},
		{Share{0, 2}, Share{2, 2}, true},
		{Share{1, 2}, Share{3, 4}, true},
		{Share{1, 2}, Share{2, 4}, false},
		{Share{1, 2}, Share{2, 3}, true},
		{Share{}, Share{2, 3}, true},
	} {
		if got := c.a.Overlaps(c.b); got != c.want {
			t.Errorf("%v and %v overlap: %t", c.a, c.b, got)
		}
	}
}

// The shares that are missing and those that are given have every row once.
func TestMissingShares(t *testing.T) {
	for _, given := range [][]Share{
		{},
		{{}},
		{{1, 1}},
		{{1, 3}},
		{{0, 3}, {2, 3}},
		{{1, 2}, {2, 4}},
		{{1, 2}, {0, 6}},
		{{3, 4}, {2, 6}},
		{{1, 3}, {2, 3}, {3, 3}},
	} {
		all := append(slices.Clone(given), MissingShares(given)...)
		for row := range int64(24) {
			n := 0
			for _, s := range all {
				if s.has(row) {
					n++
				}
			}
			if n != 1 {
				t.Errorf("%v: row %d is in %d of %v", given, row, n, all)
			}
		}
	}
	if got := MissingShares([]Share{{1, 3}, {3, 3}}); len(got) != 1 || got[0].String() != "2/3" {
		t.Errorf("missing %v, want 2/3", got)
	}
	if got := MissingShares([]Share{{1, maxShares}, {1, maxShares - 1}}); got != nil {
		t.Errorf("%d shares", len(got))
	}
}
