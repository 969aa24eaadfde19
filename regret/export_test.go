package regret

// NewSpannedSquareSummary is [NewSquareSummary] for an external test, in the span of the features
// in every dimension.
func NewSpannedSquareSummary(d int) (*SquareSummary, error) { return newSquareSummary(d, 0) }
