package dataset

import (
	"math"
	"slices"

	"github.com/noregret/noregret"
)

// RowMap appends the features of a row that replace those given to toIndex and toValue, by the
// rules of [Block]: ascending indices, finite values that are not 0. It must be safe for concurrent
// use and depend on nothing else.
type RowMap func(index []uint32, value []float32, toIndex []uint32, toValue []float32) ([]uint32, []float32)

// mappedBytes is the size up to which the rows of a mapped set are kept in memory.
const mappedBytes = 64 << 20

// Map returns the rows of s with other features, of which there are dim. The labels, class numbers,
// weights and the order of the rows are those of s, and so are the inputs and the digest. If the
// new rows take at most 64 MiB they are kept in memory; otherwise f is applied whenever they are
// read, and the set is valid until s is closed. An index of f at or above dim or a value that is
// not finite is an error of code bad_input. The set need not be closed. One pass over s.
func (s *Set) Map(dim int, f RowMap) (*Set, error) {
	info := s.info.withoutCounts()
	schema := *s.info.Schema
	schema.Dim, info.Dim, info.Schema = dim, dim, &schema
	var kept memoryStore
	var pack packer
	bytes, keeps := 0, true
	rowErr := error(nil)
	err := s.eachBlock(func(first int64, b *Block) {
		out := mapBlock(b, f, new(Block))
		if rowErr == nil {
			rowErr = checkMapped(out, first, dim)
		}
		info.count(out)
		if bytes += 8*len(out.Index) + 16*out.Len(); bytes > mappedBytes {
			kept, keeps = nil, false
		}
		if keeps {
			kept = append(kept, pack.pack(out))
		}
	})
	if err == nil {
		err = rowErr
	}
	if err != nil {
		return nil, err
	}
	if keeps {
		return newSet(info, kept, s.window), nil
	}
	v := *s
	growth := float64(info.NonZeros) / float64(max(1, s.info.NonZeros))
	v.st, v.info, v.view = mappedStore{s.st, f, growth}, info, true
	return &v, nil
}

// mapBlock returns out with the rows of f, in its memory as far as that suffices.
func mapBlock(b *Block, f RowMap, out *Block) *Block {
	out.Reset()
	out.FirstRow = b.FirstRow
	out.Class, out.Weight = append(out.Class, b.Class...), append(out.Weight, b.Weight...)
	out.Offset = append(slices.Grow(out.Offset, b.Len()+1), 0)
	for i := range b.Len() {
		index, value := b.Row(i)
		out.Index, out.Value = f(index, value, out.Index, out.Value)
		out.Offset = append(out.Offset, uint32(len(out.Index)))
	}
	return out
}

func checkMapped(b *Block, first int64, dim int) error {
	for i := range b.Len() {
		index, value := b.Row(i)
		for j, k := range index {
			if v := float64(value[j]); int64(k) >= int64(dim) || v == 0 || math.IsNaN(v) || math.IsInf(v, 0) ||
				j > 0 && index[j-1] >= k {
				return noregret.BadInputf("", "row %d: feature %d becomes %v, want ascending features below %d and "+
					"finite values that are not 0", first+int64(i), k, v, dim)
			}
		}
	}
	return nil
}

// mappedStore applies a map to the blocks of another store.
type mappedStore struct {
	store
	f      RowMap
	growth float64 // how many times as many nonzeros the rows have in the mean
}

// extent estimates the nonzeros, so that a window of rows has about the size it should have.
func (m mappedStore) extent(i int) (rows, nonZeros int) {
	rows, nonZeros = m.store.extent(i)
	return rows, int(math.Ceil(float64(nonZeros) * m.growth))
}

func (m mappedStore) load(i int, b *Block) error {
	var from Block
	if err := m.store.load(i, &from); err != nil {
		return err
	}
	mapBlock(&from, m.f, b)
	return nil
}
