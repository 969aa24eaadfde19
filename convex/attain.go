package convex

// Attainer is implemented by unbounded sets that report where [Set.Minimize] succeeds. [NewProduct]
// needs it to leave the destination unchanged when one factor has no minimum.
type Attainer interface {
	// Attains reports whether ⟨c, x⟩ has a minimum on the set.
	Attains(c []float64) bool
}
