package api

// Aggregate is a report of sums that a source has computed itself, and the payload of the event
// that records it. A source numbers its reports in ascending order; a report whose number is not
// above the last one is a duplicate.
type Aggregate struct {
	Experiment string          `json:"experiment"`
	Source     string          `json:"source" minLength:"1" maxLength:"200"`
	Sequence   uint64          `json:"sequence" minimum:"1"`
	Items      []AggregateItem `json:"items" minItems:"1"`
}

// AggregateItem holds the sums of one policy version and arm.
type AggregateItem struct {
	Version uint64 `json:"version"`
	Arm     string `json:"arm"`
	// HeldBack marks the units that are held back.
	HeldBack bool `json:"held_back,omitempty"`
	// Units is the number of units exposed.
	Units int64 `json:"units" minimum:"0"`
	// Metrics holds the sums by metric; units without a value do not count in a metric.
	Metrics map[string]Sums `json:"metrics,omitempty"`
	// Pairs holds the sums by ratio, over the units that have both parts; a default replaces a
	// missing part.
	Pairs map[string]PairSums `json:"pairs,omitempty"`
}

// Sums are the number of values, their sum and the sum of their squares.
type Sums struct {
	N       int64   `json:"n" required:"false"`
	Sum     float64 `json:"sum" required:"false"`
	Squares float64 `json:"squares" required:"false"`
	// Low and High are the smallest and the largest value, nil if they are not known. The
	// confidence sequences of metrics without a range need them; without them they wait for more
	// batches.
	Low  *float64 `json:"low,omitempty"`
	High *float64 `json:"high,omitempty"`
}

// Add counts a value.
func (s *Sums) Add(v float64) {
	low, high := v, v
	if s.N > 0 && s.Low != nil && s.High != nil {
		low, high = min(*s.Low, v), max(*s.High, v)
	}
	if s.N == 0 || s.Low != nil && s.High != nil {
		s.Low, s.High = &low, &high
	}
	s.N++
	s.Sum += v
	s.Squares += float64(v * v)
}

// PairSums are the number of units with both parts of a ratio, the numerator x and the denominator
// y, and their sums, sums of squares and sum of products.
type PairSums struct {
	N  int64   `json:"n" required:"false"`
	X  float64 `json:"x" required:"false"`
	Y  float64 `json:"y" required:"false"`
	XX float64 `json:"xx" required:"false"`
	YY float64 `json:"yy" required:"false"`
	XY float64 `json:"xy" required:"false"`
}

// Add counts a unit.
func (p *PairSums) Add(x, y float64) {
	p.N++
	p.X += x
	p.Y += y
	p.XX += float64(x * x)
	p.YY += float64(y * y)
	p.XY += float64(x * y)
}
