package loss

// Sparse is a vector of few non-zeros: Value[k] at Index[k], indices ascending and unique.
type Sparse struct {
	Index []uint32
	Value []float64
}

// SparseFunction is a [Function] that can list the non-zeros of its subgradients.
type SparseFunction interface {
	Function
	// SparseSubgradient returns the vector that Subgradient writes, as its non-zeros, without
	// allocating, or false if f does not know them. The slices belong to f and are valid until it
	// changes or the next call.
	SparseSubgradient(x []float64) (g Sparse, ok bool)
}

// SetSparse makes f the loss ⟨c, ·⟩ of a sparse c, whose indices are below Dim() and whose values
// are finite. It copies c, in time proportional to the non-zeros of c and of the vector set before,
// and allocates only the first time. C must not be written to between calls.
func (f *Linear) SetSparse(c Sparse) {
	if f.sparse.Index == nil {
		clear(f.C)
		f.sparse = Sparse{Index: make([]uint32, 0, len(f.C)), Value: make([]float64, 0, len(f.C))}
	}
	for _, i := range f.sparse.Index {
		f.C[i] = 0
	}
	f.sparse.Index = append(f.sparse.Index[:0], c.Index...)
	f.sparse.Value = append(f.sparse.Value[:0], c.Value...)
	for k, i := range c.Index {
		f.C[i] = c.Value[k]
	}
}

// SparseSubgradient implements [SparseFunction], for what [Linear.SetSparse] has set.
func (f *Linear) SparseSubgradient([]float64) (g Sparse, ok bool) {
	return f.sparse, f.sparse.Index != nil
}
