package dataset

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"math"
	"strconv"

	"github.com/noregret/noregret"
)

// Builder makes a [Set] in memory from rows that a program has: tests, generators, other sources.
// It is not safe for concurrent use.
type Builder struct {
	info   Info
	dim    int
	cur    Block
	blocks memoryStore
	pack   packer
	hash   hash.Hash
	buf    []byte
	sorted rowSorter
	index  []uint32
	value  []float32
	done   bool
}

// NewBuilder returns a builder for rows with features 0..dim-1. The labels get the class numbers 0,
// 1, ... in the order given; numbers are renamed as in a file, so "+1" is the label 1. A dim
// outside 0..2^31, labels that are empty or not finite, and equal labels are [noregret.Usage]
// errors.
func NewBuilder(dim int, labelNames ...string) (*Builder, error) {
	if dim < 0 || dim > maxDim {
		return nil, noregret.Errorf(noregret.Usage, "", "dim %d: it must be 0 to %d", dim, maxDim)
	}
	if len(labelNames) > maxLabels {
		return nil, noregret.Errorf(noregret.Usage, "", "%d labels: at most %d are possible", len(labelNames),
			maxLabels)
	}
	b := &Builder{dim: dim, hash: sha256.New()}
	seen := map[string]bool{}
	for _, l := range labelNames {
		name, err := canonicalLabel([]byte(l))
		if err != nil {
			return nil, noregret.Errorf(noregret.Usage, "", "%s", err)
		}
		if seen[name] {
			return nil, noregret.Errorf(noregret.Usage, "", "duplicate label %q", name)
		}
		seen[name] = true
		b.info.Labels = append(b.info.Labels, Label{Name: name})
	}
	b.info.Dim = dim
	b.info.Schema = &Schema{Format: SVMLight, Base: BaseZero, Dim: dim}
	return b, nil
}

// Add adds a copy of a row. index holds feature numbers in [0, dim) in any order, each at most
// once, and value holds one finite value for each; zeros are dropped. class is an index into the
// builder's labels or [NoClass]; weight is finite and not negative. A row that breaks a rule is a
// [noregret.BadInput] error that names the row, the place in it and the rule; the builder is then
// unchanged.
func (b *Builder) Add(index []uint32, value []float32, class int, weight float64) error {
	bad := func(format string, args ...any) error {
		return noregret.BadInputf("row "+strconv.FormatInt(b.info.Rows+int64(b.cur.Len()), 10), format,
			args...)
	}
	if b.done {
		return noregret.Errorf(noregret.Usage, "", "the builder is used up: Set was called")
	}
	if len(index) != len(value) {
		return bad("%d indices but %d values", len(index), len(value))
	}
	if class != NoClass && (class < 0 || class >= len(b.info.Labels)) {
		return bad("class %d: it must be below %d, the number of labels, or NoClass", class, len(b.info.Labels))
	}
	if !(weight >= 0 && inFloat32(weight)) {
		return bad("weight %v: it must be finite and 0 or more", weight)
	}
	b.index, b.value = append(b.index[:0], index...), append(b.value[:0], value...)
	b.sorted.sort(b.index, b.value)
	for i, x := range b.index {
		if int64(x) >= int64(b.dim) {
			return bad("index %d: it must be below the dimension %d", x, b.dim)
		}
		if i > 0 && x == b.index[i-1] {
			return bad("duplicate index %d", x)
		}
		if v := float64(b.value[i]); math.IsNaN(v) || math.IsInf(v, 0) {
			return bad("index %d: value %v: it must be finite", x, v)
		}
	}
	n := 0
	for i, v := range b.value {
		if v != 0 {
			b.index[n], b.value[n] = b.index[i], v
			n++
		}
	}
	b.push(b.index[:n], b.value[:n], uint16(class), float32(weight))
	return nil
}

func (b *Builder) push(index []uint32, value []float32, class uint16, weight float32) {
	if n := b.cur.Len(); n == blockRows || n > 0 && 8*len(b.cur.Index)+16*n+rowCost(len(index)) > blockBytes {
		b.flush()
	}
	b.cur.Append(index, value, class, weight)
}

// flush moves the current block to the finished ones.
func (b *Builder) flush() {
	if b.cur.Len() == 0 {
		return
	}
	b.info.count(&b.cur)
	b.buf = encodeBlock(b.buf[:0], &b.cur)
	_, _ = b.hash.Write(b.buf) // a hash never fails
	b.blocks = append(b.blocks, b.pack.pack(&b.cur))
	b.cur.Reset()
}

// Set returns the set of all rows added and ends the builder. The set's digest is that of the rows
// in the encoding of the cache file. A set without rows is a [noregret.BadInput] error.
func (b *Builder) Set() (*Set, error) {
	if b.done {
		return nil, noregret.Errorf(noregret.Usage, "", "the builder is used up: Set was called")
	}
	b.flush()
	if b.info.Rows == 0 {
		return nil, noregret.BadInputf("", "no rows were added")
	}
	b.done = true
	b.info.Digest = "sha256:" + hex.EncodeToString(b.hash.Sum(nil))
	return newSet(b.info, b.blocks, defaultWindow), nil
}

// eofIsNil returns nil for io.EOF and err otherwise.
func eofIsNil(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
