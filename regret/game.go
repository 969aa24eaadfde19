package regret

import (
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/loss"
)

// Player is a learner as the referee sees it: a point, then a subgradient at it. Every oco.Learner
// is one.
type Player interface {
	Dim() int
	Predict() []float64
	Update(g []float64) error
}

// RandomizedPlayer is a player that draws a vertex of the simplex from a distribution, as
// experts.Randomized does. Predict is the vertex drawn, for which it pays. A game fixes its loss
// knowing the distribution, but not the draw.
type RandomizedPlayer interface {
	Player
	// Distribution returns the distribution from which the current round's vertex is drawn.
	Distribution() []float64
	// Draw returns the index of the vertex drawn, the same for all calls in a round.
	Draw() int
}

// Optional methods of players, which the learners of package oco have.
type (
	bounder interface {
		Bound(u []float64) (float64, error)
	}
	sharpBounder interface {
		SharpBound(u []float64) (float64, error)
	}
	lossPlayer   interface{ UpdateLoss(f loss.Function) error }
	curvedPlayer interface {
		UpdateCurved(g []float64, mu float64) error
	}
	featurePlayer interface{ Features(z []float64) error }
	sparsePlayer  interface{ UpdateSparse(g loss.Sparse) error }
	// costPlayer is a player that observes the value of the loss at its point and no subgradient.
	costPlayer interface{ UpdateCost(v float64) error }
)

// Game yields the losses of a game, one a round. Games are deterministic given their seed and are
// not safe for concurrent use.
type Game interface {
	// Set returns the set in which points are played and compared.
	Set() convex.Set
	// Features are the features of the coming round for games that show them, nil for others. The
	// call begins the round and may be repeated within it.
	Features() []float64
	// Next is the loss of the round in which x was played. The function is valid until the next
	// call of Next or Restart.
	Next(x []float64) (loss.Function, error)
	// Summary holds what the best fixed point depends on; nil if the game must be replayed to find
	// it. The referee, not the game, adds to it.
	Summary() Summary
	// Restart begins the game again with the same seed, and empties the Summary. An oblivious game
	// then yields the same losses.
	Restart()
}

// Optional methods of games.
type (
	// admitter is a game that refuses some players.
	admitter interface{ Admit(p Player) error }
	// comparing is a game that names a comparator if there is no best point.
	comparing interface{ Comparator() []float64 }
	// noisyGame is a game whose players see every number of their feedback with noise of mean 0,
	// which Noise returns the source of, nil for none.
	noisyGame interface{ Noise() func() float64 }
	// sparseGame is a game that knows the non-zeros of the subgradient at x of the loss that Next
	// returned last, if there are few.
	sparseGame interface {
		sparseSubgradient(x []float64) (g loss.Sparse, ok bool)
	}
)

// Summary holds the losses so far in a form that can be evaluated at any fixed point. Sums are
// compensated.
type Summary interface {
	// Add takes a round's loss. It returns an error for a loss of another kind.
	Add(f loss.Function) error
	// Loss is Σ l_t(u) over the losses so far.
	Loss(u []float64) float64
	// Best writes a point of the set with the least loss to dst and returns that loss and a
	// certified gap: no point of the set has a loss below the difference. A loss of −Inf means that
	// there is no best point.
	Best(dst []float64, set convex.Set) (least, gap float64, err error)
	// Reset empties it.
	Reset()
}
