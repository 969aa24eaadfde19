package oco

import (
	"encoding"
	"fmt"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/memory"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/loss"
)

// Learner plays online convex optimization. In each round it chooses a point and then receives a
// subgradient of the round's loss at that point. A learner is deterministic: it has no clock,
// randomness or goroutine. It allocates nothing per round, except that memory grows a block at a
// time in [ExactFTRL] with a [ListMinimizer] and in second-order learners above dimension 1,024. It
// is not safe for concurrent use.
type Learner interface {
	// Dim is the dimension d of its points and of the subgradients.
	Dim() int
	// Predict returns the point x_t of the current round. It depends on earlier rounds and on a
	// hint or features given for this round; repeated calls return the same point. The slice
	// belongs to the learner: the caller must not modify it and must copy it to keep it beyond the
	// next Update.
	Predict() []float64
	// Update ends the round with a subgradient g of its loss at Predict(). If g has the
	// wrong length or a value that is not finite, Update returns an error of code bad_input that
	// names the place, and the learner stays in the same round, unchanged.
	Update(g []float64) error
}

// Bounder is a learner that states its guarantee. All learners of this package do.
type Bounder interface {
	// Bound is the right-hand side of the learner's theorem for the rounds seen so far: an upper
	// bound on Σ ⟨g_t, x_t − u⟩, and so on the regret Σ l_t(x_t) − l_t(u), as long as the theorem's
	// assumptions (in the learner's doc comment) hold. It is +Inf where the theorem does not cover
	// u, for instance if u is outside the set. Bound returns an error if u has the wrong length or
	// is not finite.
	Bound(u []float64) (float64, error)
}

// SharpBounder is a learner with a second bound that depends on more of the run:
// [SubgradientDescent], [AdaGrad], [FullMatrixAdaGrad] and [OnlineNewtonStep].
type SharpBounder interface {
	Bounder
	// SharpBound is a bound as Bound is, and never above it.
	SharpBound(u []float64) (float64, error)
}

// Counter is a learner that knows the number of rounds it has finished. All learners of this
// package do.
type Counter interface{ Rounds() int }

// Snapshotter is a learner whose state can be saved and restored: every learner of this package,
// and every wrapper of one. Restore into a learner made with the same options. The snapshot of
// another learner, or a damaged one, is refused and changes nothing. Continuing after a restore is
// bit-identical.
type Snapshotter interface {
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}

// Sparse is a sparse subgradient, as losses yield it.
type Sparse = loss.Sparse

// SparseLearner is a learner whose round costs O(nnz) for a subgradient of nnz nonzeros, exactly
// equal to the dense form.
type SparseLearner interface {
	Learner
	// UpdateSparse is Update for a sparse subgradient.
	UpdateSparse(g Sparse) error
	// At is coordinate i of Predict() in O(1), for 0 ≤ i < Dim(). A learner may compute the whole
	// point only when Predict asks for it.
	At(i int) float64
}

// Curved is a learner that uses each loss's strong convexity.
type Curved interface {
	Learner
	// UpdateCurved is Update for a loss that is mu-strongly convex in the Euclidean norm, mu ≥ 0.
	UpdateCurved(g []float64, mu float64) error
}

// Hinted is a learner that accepts a guess of the next subgradient before it predicts.
type Hinted interface {
	Learner
	// Hint sets the guess for the current round; a second call replaces the first. Without a
	// call the guess is 0.
	Hint(g []float64) error
}

// FeatureLearner is a learner that must see the round's features before it predicts.
type FeatureLearner interface {
	Learner
	// Features sets the features of the current round.
	Features(z []float64) error
}

// LossLearner is a learner that accepts the whole loss of a round instead of a subgradient.
type LossLearner interface {
	Learner
	UpdateLoss(f loss.Function) error
}

// The first line of this package's snapshots. The digit is their version.
const snapshotMagic = "noregret-oco-2\n"

// checkDim returns an error if d is below 1 or if that many numbers take too much memory.
func checkDim(d int, numbers float64) error {
	if d < 1 {
		return noregret.BadInputf("dimension", "%d: want at least 1", d)
	}
	return memory.Check("dimension", fmt.Sprintf("dimension %d", d), numbers)
}

// checkMu returns an error for a constant of strong convexity that is negative or not finite.
func checkMu(mu float64) error {
	if !(mu >= 0) || !vec.IsFinite(mu) {
		return noregret.BadInputf("mu", "%v: want a finite number, at least 0", mu)
	}
	return nil
}

func positive(place string, v float64) error {
	if !(v > 0) || !vec.IsFinite(v) {
		return noregret.BadInputf(place, "%v: want a finite number above 0", v)
	}
	return nil
}
