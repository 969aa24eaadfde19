package classify

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/compensated"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/vec"
)

// RandomizedLinear is the randomized online linear classifier (Orabona 2019, Algorithm 8.1). For
// features with ‖z_t‖₂ ≤ R it predicts the label +1 with probability (1 + q_t)/2, where q_t = ⟨z_t,
// x_t⟩ and x_t is in the ball of radius 1/R. The probability of a mistake is then ½|q_t − y_t|, a
// convex loss, which follow-the-regularized-leader learns:
//
//	θ_{t+1} = θ_t − ½·sign(q_t − y_t)·z_t,   η_t = √2/(R²·√t),   x_t = η_t·θ_t·min(1, 1/(R·η_t·‖θ_t‖₂)).
//
// The book prints the update with a plus sign, which learns the opposite label, and a rate without
// R², which fails for R other than 1.
//
// Guarantee: on every sequence and for every u with ‖u‖₂ ≤ 1/R, the expected number of mistakes is
// at most Σ_t ½|⟨z_t, u⟩ − y_t| + √(T/2). It does not depend on the draws: ExpectedMistakes is
// exact. A round costs O(d); memory is O(d). It is deterministic given its seed and not safe for
// concurrent use.
type RandomizedLinear struct {
	radius float64
	seed   uint64
	source *random.Source
	state  randomizedState
	point  []float64
	fresh  bool
}

// randomizedState is what a snapshot holds.
type randomizedState struct {
	Rounds   int
	Theta    []float64
	Total    []float64 // Σ y_t·z_t, for the best comparator
	Expected compensated.Sum
	Mistakes int
	// Pending reports that a prediction waits for its label; Z, Q and Drawn are of that round.
	Pending bool
	Z       []float64
	Q       float64
	Drawn   int
	Source  []byte
}

// NewRandomizedLinear classifies vectors of d ≥ 1 features with a Euclidean norm of at most radius.
// Equal seeds give equal draws.
func NewRandomizedLinear(d int, radius float64, seed uint64) (*RandomizedLinear, error) {
	if err := checkFeatures(d); err != nil {
		return nil, err
	}
	if !(radius >= 1e-100 && radius <= 1e100) {
		return nil, noregret.BadInputf("radius", "%v: want a number from 1e-100 to 1e100", radius)
	}
	c := &RandomizedLinear{
		radius: radius, seed: seed, source: random.New(seed, "classify/randomized"), point: make([]float64, d),
	}
	c.state.Theta, c.state.Total, c.state.Z = make([]float64, d), make([]float64, d), make([]float64, d)
	return c, nil
}

// Dim is the number of features.
func (c *RandomizedLinear) Dim() int { return len(c.point) }

// Rounds is the number of examples learned from.
func (c *RandomizedLinear) Rounds() int { return c.state.Rounds }

// Weights is x_t. The slice belongs to the learner: the caller must not modify it.
func (c *RandomizedLinear) Weights() []float64 {
	if !c.fresh {
		// In units in which R is 1, for features z/R and weights R·x.
		eta := math.Sqrt2 / math.Sqrt(float64(c.state.Rounds+1))
		length := eta * (vec.Norm2(c.state.Theta) / c.radius)
		scale := eta / max(length, 1) / c.radius / c.radius
		for i, v := range c.state.Theta {
			c.point[i] = float64(scale * v)
		}
		c.fresh = true
	}
	return c.point
}

// Predict begins a round with its features: it returns q_t, of which (1 + q_t)/2 is the probability
// of the label +1, and a label drawn with it, 1 or −1. Features longer than the radius, by more
// than a relative 1e-12, are refused, and so is a second call before the label of the first is
// known.
func (c *RandomizedLinear) Predict(z []float64) (q float64, label int, err error) {
	if c.state.Pending {
		return 0, 0, noregret.Errorf(noregret.Usage, "predict", "the label of the last prediction is not known yet")
	}
	if err := checkDense(z, c.Dim()); err != nil {
		return 0, 0, err
	}
	if n := vec.Norm2(z); !(n <= c.radius*(1+1e-12)) {
		return 0, 0, noregret.BadInputf("features", "their norm is %v: want at most the radius %v", n, c.radius)
	}
	st := &c.state
	st.Q = min(max(vec.DotInOrder(z, c.Weights()), -1), 1)
	st.Drawn = -1
	if c.source.Float64() < (1+st.Q)/2 {
		st.Drawn = 1
	}
	copy(st.Z, z)
	st.Pending = true
	return st.Q, st.Drawn, nil
}

// Update ends the round with its label y = 1 or −1 and reports whether the label that was drawn was
// a mistake. It is an error without a prediction, or for another label; then nothing changes.
func (c *RandomizedLinear) Update(y int) (mistake bool, err error) {
	st := &c.state
	if !st.Pending {
		return false, noregret.Errorf(noregret.Usage, "update", "no prediction waits for its label")
	}
	if err := checkLabel(y); err != nil {
		return false, err
	}
	st.Expected.Add(math.Abs(st.Q-float64(y)) / 2)
	vec.AddScaled(st.Total, float64(y), st.Z)
	switch {
	case st.Q > float64(y):
		vec.AddScaled(st.Theta, -0.5, st.Z)
	case st.Q < float64(y):
		vec.AddScaled(st.Theta, 0.5, st.Z)
	}
	mistake = st.Drawn != y
	if mistake {
		st.Mistakes++
	}
	st.Rounds++
	st.Pending, c.fresh = false, false
	return mistake, nil
}

// ExpectedMistakes is Σ ½|q_t − y_t|, the expectation of the number of mistakes over the draws.
func (c *RandomizedLinear) ExpectedMistakes() float64 { return c.state.Expected.Value() }

// Mistakes is the number of labels drawn that were mistakes.
func (c *RandomizedLinear) Mistakes() int { return c.state.Mistakes }

// BestComparator is min Σ ½|⟨z_t, u⟩ − y_t| over ‖u‖₂ ≤ 1/R: ½(T − ‖Σ y_t·z_t‖₂/R).
func (c *RandomizedLinear) BestComparator() float64 {
	return (float64(c.state.Rounds) - vec.Norm2(c.state.Total)/c.radius) / 2
}

// Bound is √(T/2): ExpectedMistakes is at most that much above BestComparator.
func (c *RandomizedLinear) Bound() float64 { return math.Sqrt(float64(c.state.Rounds) / 2) }

// kind describes the learner and its options.
func (c *RandomizedLinear) kind() string {
	return fmt.Sprintf("randomized-linear(d=%d, radius=%v, seed=%d)", c.Dim(), c.radius, c.seed)
}

// MarshalBinary saves the state, with that of the source of the draws.
func (c *RandomizedLinear) MarshalBinary() ([]byte, error) {
	s := c.state
	var err error
	if s.Source, err = c.source.MarshalBinary(); err != nil {
		return nil, err
	}
	return seal(c.kind(), &s)
}

// UnmarshalBinary restores a snapshot of a learner with the same options. Continuing is
// bit-identical. A snapshot that is refused changes nothing.
func (c *RandomizedLinear) UnmarshalBinary(data []byte) error {
	var s randomizedState
	if err := unseal(data, c.kind(), &s); err != nil {
		return err
	}
	for _, v := range [][]float64{s.Theta, s.Total, s.Z} {
		if len(v) != c.Dim() || !vec.Finite(v) {
			return badSnapshot("damaged: a vector has %d values for %d features, or is not finite", len(v), c.Dim())
		}
	}
	if s.Rounds < 0 || s.Mistakes < 0 || s.Mistakes > s.Rounds || !(math.Abs(s.Q) <= 1) {
		return badSnapshot("damaged: %d mistakes in %d rounds, q = %v", s.Mistakes, s.Rounds, s.Q)
	}
	source := random.New(c.seed, "classify/randomized")
	if err := source.UnmarshalBinary(s.Source); err != nil {
		return badSnapshot("damaged: %w", err)
	}
	s.Source = nil
	c.state, c.source, c.fresh = s, source, false
	return nil
}
