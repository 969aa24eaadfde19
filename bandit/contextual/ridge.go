package contextual

import (
	"fmt"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/policy"
)

// Ridge is online ridge regression: the θ that minimizes λ‖θ‖² + Σ w·(y − ⟨x, θ⟩)² over what it has
// seen. It is a [Regressor], and it knows how uncertain its predictions are. An update costs O(d²)
// and allocates nothing; the square root of the inverse matrix is updated, so errors of rounding do
// not accumulate (Carlson 1973). Not safe for concurrent use.
type Ridge struct {
	lambda float64
	work   workspace
	s      regression
}

// NewRidge returns the regression in dimension dim with the penalty λ. It returns an error of code
// bad_input if dim is not from 1 to policy.MaxDim or λ not from 1e-9 to 1e9.
func NewRidge(dim int, lambda float64) (*Ridge, error) {
	if dim < 1 || dim > policy.MaxDim {
		return nil, noregret.BadInputf("dim", "%d: want 1 to %d", dim, policy.MaxDim)
	}
	if !(lambda >= 1e-9 && lambda <= 1e9) {
		return nil, noregret.BadInputf("ridge", "%v: want a number from 1e-9 to 1e9", lambda)
	}
	return &Ridge{lambda: lambda, work: newWorkspace(dim), s: newRegression(dim, lambda)}, nil
}

// Dim is the number of coordinates.
func (g *Ridge) Dim() int { return len(g.s.Mean) }

// Count is the number of observations.
func (g *Ridge) Count() uint64 { return g.s.Count }

// Predict returns ⟨x, θ⟩. It returns an error of code bad_input if x has the wrong length or a
// coordinate of size above 1e15.
func (g *Ridge) Predict(x []float64) (float64, error) {
	if err := checkVector(x, g.Dim()); err != nil {
		return 0, err
	}
	return vec.Dot(x, g.s.Mean), nil
}

// Width returns √(xᵀA⁻¹x), the standard error of the prediction in units of the noise. Its errors
// are those of Predict. O(d) for each coordinate of x that is not 0.
func (g *Ridge) Width(x []float64) (float64, error) {
	if err := checkVector(x, g.Dim()); err != nil {
		return 0, err
	}
	return g.s.width(g.work, x), nil
}

// Update adds an observation of the given weight. It returns an error of code bad_input, and
// changes nothing, if x is not as Predict wants it, y is of size above 1e30, or the weight is not
// from 1e-9 to 1e9.
func (g *Ridge) Update(x []float64, y, weight float64) error {
	if err := checkVector(x, g.Dim()); err != nil {
		return err
	}
	if err := checkObservation(y, weight); err != nil {
		return err
	}
	g.s.observe(g.work, x, y, weight)
	return nil
}

// LogVolume returns ln(det A/λ^d), which grows like d·ln(n/d). O(d).
func (g *Ridge) LogVolume() float64 {
	d, sum := g.Dim(), 0.0
	for i, at := 0, 0; i < d; i++ {
		sum -= float64(2 * portable.Log(g.s.Factor[at]))
		at += d - i
	}
	return max(sum-float64(float64(d)*portable.Log(g.lambda)), 0)
}

// SquareRegret returns a bound on the regret of the predictions so far, for observations of weight
// 1 whose rewards lie in an interval of the given width at whose ends predictions are cut off,
// against any θ of length at most norm:
//
//	Σ (ŷ − y)² − Σ (⟨x, θ⟩ − y)² ≤ λ·norm² + width²·ln(det A/λ^d).
//
// The reason is that Σ e²/(1 + xᵀA⁻¹x), with the errors e of predictions that are not cut off and A
// before each, is the least λ‖θ‖² + Σ (⟨x, θ⟩ − y)² (Azoury and Warmuth 2001).
func (g *Ridge) SquareRegret(norm, width float64) float64 {
	return float64(float64(g.lambda*norm)*norm) + float64(float64(width*width)*g.LogVolume())
}

// String describes the regression in one line.
func (g *Ridge) String() string { return fmt.Sprintf("ridge(dim=%d, lambda=%v)", g.Dim(), g.lambda) }

const ridgeMagic = "noregret-contextual-ridge-2\n"

// MarshalBinary returns a snapshot, which restores into a Ridge of the same dimension and penalty.
func (g *Ridge) MarshalBinary() ([]byte, error) { return snapshot.Seal(ridgeMagic, g.String(), &g.s) }

// UnmarshalBinary restores a snapshot. It returns an error of code bad_input, and changes nothing,
// if the snapshot is damaged or was taken from another regression.
func (g *Ridge) UnmarshalBinary(data []byte) error {
	var s regression
	if err := snapshot.Open(data, ridgeMagic, g.String(), &s); err != nil {
		return err
	}
	if !s.valid(g.Dim()) {
		return snapshot.Bad("damaged: the parts do not fit %d coordinates", g.Dim())
	}
	g.s = s
	return nil
}
