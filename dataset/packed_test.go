package dataset

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/noregret/noregret/internal/random"
)

// A pack returns its rows as they were, however many lists of indices they have in common: one, a
// few, more than there is room for, or none.
func TestRowPack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := random.New(rapid.Uint64().Draw(t, "seed"), "pack")
		lists := make([][]uint32, rapid.SampledFrom([]int{1, 3, 200, 4000}).Draw(t, "lists"))
		for i := range lists {
			at := uint32(7)
			for range rng.IntN(40) {
				at += uint32(1 + rng.IntN(1+i%5))
				lists[i] = append(lists[i], at)
			}
		}
		weighted := rapid.Bool().Draw(t, "weighted")
		var k packer
		var blocks []*Block
		var packs []*rowPack
		for range 3 {
			b := new(Block)
			for range rng.IntN(1500) {
				index := lists[rng.IntN(len(lists))]
				value := make([]float32, len(index))
				for i := range value {
					value[i] = float32(rng.NormFloat64())
				}
				weight := float32(1)
				if weighted {
					weight = float32(rng.IntN(3))
				}
				b.Append(index, value, uint16(rng.IntN(1<<16)), weight)
			}
			blocks, packs = append(blocks, b), append(packs, k.pack(b))
		}
		const shift = 7
		k.lists.shift(shift)
		for i, p := range packs {
			p.shift(shift)
			var got Block
			p.unpack(&got)
			want := blocks[i]
			for j := range want.Index {
				want.Index[j] -= shift
			}
			if !slices.Equal(got.Index, want.Index) || !slices.Equal(got.Value, want.Value) ||
				!slices.Equal(got.Class, want.Class) || !slices.Equal(got.Offset, want.Offset) {
				t.Fatalf("block %d of %d lists has come back as another", i, len(lists))
			}
			for j := range want.Len() {
				var a, b Row
				got.row(j, &a)
				want.row(j, &b)
				if a.Weight != b.Weight {
					t.Fatalf("row %d has weight %v, want %v", j, a.Weight, b.Weight)
				}
			}
			if p.nonZeros != len(want.Index) {
				t.Errorf("%d nonzeros, want %d", p.nonZeros, len(want.Index))
			}
		}
	})
}

// Rows of a table whose cells are not zero take four bytes a cell and twelve a row, and those of
// which no two have nonzeros in the same columns eight a cell and eight a row.
func TestRowPackSize(t *testing.T) {
	const n, columns = 4096, 20
	table, others := new(Block), new(Block)
	value := make([]float32, columns)
	for i := range n {
		index, other := make([]uint32, columns), make([]uint32, columns)
		for j := range index {
			index[j], other[j], value[j] = uint32(j), uint32(i*columns+j), float32(i+j+1)
		}
		table.Append(index, value, 0, 1)
		others.Append(other, value, 0, 1)
	}
	if got, want := len(new(packer).pack(table).words), n*(3+columns); got != want {
		t.Errorf("%d words, want %d", got, want)
	}
	k := new(packer)
	k.pack(others) // tries
	if got, want := len(k.pack(others).words), n*(2+2*columns); got != want {
		t.Errorf("%d words of rows without common columns, want %d", got, want)
	}
}
