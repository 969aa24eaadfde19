package join

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
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
		a := NewAssembler(pool)
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

// scratch returns a function that opens a file for a pool.
func scratch(t testing.TB) func() (pages.File, error) {
	return func() (pages.File, error) {
		f, err := os.Create(filepath.Join(t.TempDir(), "pages"))
		if err == nil {
			t.Cleanup(func() { _ = f.Close() })
		}
		return f, err
	}
}

// unreadable is a file that cannot be read back.
type unreadable struct{ pages.File }

func (unreadable) ReadAt([]byte, int64) (int, error) { return 0, io.ErrUnexpectedEOF }

// TestRestoreLost: a restore ends with an error where a page of its index cannot be read back, and
// no goroutine of it goes on.
func TestRestoreLost(t *testing.T) {
	open := scratch(t)
	pool := pages.NewPool(4*pages.Size, 1<<30, func() (pages.File, error) {
		f, err := open()
		return unreadable{f}, err
	})
	a := NewAssembler(pool)
	a.sorted = 100
	var table Columns
	err := func() (err error) {
		defer func() {
			if lost, ok := recover().(*pages.ReadError); ok {
				err = lost
			}
		}()
		defer a.Wait()
		unit := uint64(0)
		return table.Fill(a, 20_000, 1, func(records []byte) error {
			for at := 0; at < len(records); at += valuesAt + 8 {
				unit++
				binary.LittleEndian.PutUint64(records[at:], unit*0x9e3779b97f4a7c15)
			}
			return nil
		})
	}()
	var lost *pages.ReadError
	if !errors.As(err, &lost) {
		t.Errorf("the rows were made, with %v", err)
	}
}
