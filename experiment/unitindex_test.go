package experiment

import (
	"encoding/binary"
	"testing"

	"github.com/noregret/noregret/internal/pages"
	"github.com/noregret/noregret/internal/random"
)

// TestUnitIndex compares indices that were made one unit at a time, and at once, with a map, in a
// memory of few pages.
func TestUnitIndex(t *testing.T) {
	for _, of := range []int{1, 11, 12, 13, 700, 768, 5000, 20_000} {
		pool := pages.NewPool(8*pages.Size, 1<<30, scratch(t))
		r := random.New(uint64(of), "units")
		units, table := map[uint64]int{}, pages.NewTable(pool, 20)
		one := newUnitIndex(pool)
		for len(units) < of {
			u := r.Uint64()
			if _, ok := units[u]; ok {
				continue
			}
			b := make([]byte, 20)
			binary.LittleEndian.PutUint64(b, u)
			table.Append(b)
			one.add(pool, u, len(units))
			units[u] = len(units)
		}
		a := newAssembler(pool)
		a.sorted = 3000
		build := newIndexBuilder(a, of)
		for k := range table.Pages() {
			build.add(table.Page(nil, k), 20)
		}
		all := build.end()
		if all.used != of || one.used != of {
			t.Errorf("%d and %d units are in the indices, want %d", all.used, one.used, of)
		}
		for u, at := range units {
			if a, b := all.find(table, u), one.find(table, u); a != at || b != at {
				t.Fatalf("of %d units, one is at %d and %d, want %d", of, a, b, at)
			}
			if all.find(table, u+1) >= 0 != (units[u+1] > 0) {
				t.Fatalf("a unit that is not there was found")
			}
		}
	}
}
