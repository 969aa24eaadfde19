package convex

import (
	"fmt"
	"math"

	"github.com/noregret/noregret/internal/vec"
)

// Space is the whole of ℝ^d.
type Space struct{ d int }

// NewSpace makes ℝ^d, d ≥ 1.
func NewSpace(d int) (*Space, error) {
	if err := checkDim("space", d); err != nil {
		return nil, err
	}
	return &Space{d}, nil
}

// Dim implements [Set].
func (s *Space) Dim() int { return s.d }

// Project copies v. O(d).
func (s *Space) Project(dst, v []float64) { copy(dst, v) }

// Minimize returns 0 at the origin for c = 0 and [ErrUnbounded] for every other c. O(d).
func (s *Space) Minimize(dst, c []float64) (float64, error) {
	if !vec.IsZero(c) {
		return 0, ErrUnbounded
	}
	clear(dst)
	return 0, nil
}

// Attains implements [Attainer]: only c = 0 has a minimum.
func (s *Space) Attains(c []float64) bool { return vec.IsZero(c) }

// Contains reports whether x is finite. O(d).
func (s *Space) Contains(x []float64, _ float64) bool { return vec.Finite(x) }

// Diameter is +Inf.
func (s *Space) Diameter() float64 { return math.Inf(1) }

// Moved implements [Mover]: the space itself.
func (s *Space) Moved(float64, []float64) (Set, error) { return s, nil }

// String describes it in one line, all parameters included.
func (s *Space) String() string { return fmt.Sprintf("space(%d)", s.d) }
