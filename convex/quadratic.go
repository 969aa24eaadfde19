package convex

import (
	"fmt"

	"github.com/noregret/noregret/internal/vec"
)

// Quadratic is ψ(x) = ½‖x‖₂² on ℝ^d: gradient and inverse are the identity, the
// conjugate is ½‖θ‖², the divergence ½‖x−y‖², and ψ is 1-strongly convex in L2. Each operation is
// O(d).
type Quadratic struct{ d int }

// NewQuadratic makes ½‖x‖² on ℝ^d.
func NewQuadratic(d int) (*Quadratic, error) {
	if err := checkDim("quadratic", d); err != nil {
		return nil, err
	}
	return &Quadratic{d}, nil
}

// Dim implements [MirrorMap].
func (q *Quadratic) Dim() int { return q.d }

// Value implements [MirrorMap].
func (q *Quadratic) Value(x []float64) float64 { return 0.5 * vec.Dot(x, x) }

// Gradient copies x.
func (q *Quadratic) Gradient(dst, x []float64) { copy(dst, x) }

// Inverse copies θ.
func (q *Quadratic) Inverse(dst, theta []float64) { copy(dst, theta) }

// Conjugate is ½‖θ‖².
func (q *Quadratic) Conjugate(theta []float64) float64 { return 0.5 * vec.Dot(theta, theta) }

// Divergence is ½‖x−y‖².
func (q *Quadratic) Divergence(x, y []float64) float64 {
	sum := 0.0
	for i, v := range x {
		v -= y[i]
		sum += float64(v * v)
	}
	return 0.5 * sum
}

// StrongConvexity is 1 in L2.
func (q *Quadratic) StrongConvexity() (float64, Norm) { return 1, L2 }

// Interior reports whether x is finite.
func (q *Quadratic) Interior(x []float64) bool { return vec.Finite(x) }

// String describes it in one line, all parameters included.
func (q *Quadratic) String() string { return fmt.Sprintf("quadratic(%d)", q.d) }

func (q *Quadratic) pairs() string { return "any set" }

// restrict: the maximizer of ⟨θ,x⟩ − ½‖x‖² over V is Π_V(θ).
func (q *Quadratic) restrict(s Set) (pair, error) {
	return pair{argmax: s.Project, lambda: 1, norm: L2}, nil
}
