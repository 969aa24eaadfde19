package convex

// Attainer is implemented by unbounded sets that can tell, without a destination, where
// [Set.Minimize] succeeds. [NewProduct] needs it, so as to leave the destination alone when one
// factor has no minimum.
type Attainer interface {
	// Attains reports whether ⟨c, x⟩ has a minimum on the set.
	Attains(c []float64) bool
}
