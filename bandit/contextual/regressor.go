package contextual

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/vec"
)

// Regressor predicts rewards online. [SquareCB] works with any; its regret depends on the square
// loss of the regressor alone. [Ridge] and [Descent] are regressors. One that also implements
// encoding.BinaryMarshaler and encoding.BinaryUnmarshaler can be saved with its player.
type Regressor interface {
	// Predict returns the prediction for x. It changes nothing.
	Predict(x []float64) (float64, error)
	// Update learns the reward y of x, with a weight that is usually 1. An error changes nothing.
	Update(x []float64, y, weight float64) error
}

// Steps is a learner of online convex optimization: each learner of package oco has these methods.
type Steps interface {
	Dim() int
	// Predict returns the point, which belongs to the learner.
	Predict() []float64
	// Update ends the round with a subgradient at the point.
	Update(g []float64) error
}

// Descent is a [Regressor] made of a learner of online convex optimization, such as one of package
// oco without hints or features. Its prediction for x is ⟨w, x⟩ at the learner's point w, cut off
// at the ends of [Low, High], which must hold all rewards. The learner gets the subgradient
// weight·(prediction − y)·x, that of the convex function which is ½(⟨w, x⟩ − y)² within the range
// and linear outside. So
//
//	½Σ (prediction − y)² − ½Σ (⟨u, x⟩ − y)²
//
// is at most the learner's regret, for each u whose predictions stay in the range, and no
// subgradient is longer than weight·(High − Low)·‖x‖: the Lipschitz constant that learners such as
// oco.NewEuclideanKT ask for.
type Descent struct {
	steps     Steps
	low, high float64
	g         []float64
}

// NewDescent returns the regressor for rewards in [low, high]. It returns an error of code
// bad_input unless both are of size at most 1e30 and low is below high.
func NewDescent(steps Steps, low, high float64) (*Descent, error) {
	if !(math.Abs(low) <= maxReward && math.Abs(high) <= maxReward && low < high) {
		return nil, noregret.BadInputf("range", "[%v, %v]: want two numbers of size at most 1e30, the lower one first",
			low,
			high)
	}
	return &Descent{steps: steps, low: low, high: high, g: make([]float64, steps.Dim())}, nil
}

// Predict returns the prediction for x. It returns an error of code bad_input if x has the wrong
// length or a coordinate of size above 1e15.
func (d *Descent) Predict(x []float64) (float64, error) {
	if err := checkVector(x, len(d.g)); err != nil {
		return 0, err
	}
	return min(max(vec.Dot(x, d.steps.Predict()), d.low), d.high), nil
}

// Update learns the reward y of x. It returns an error, and changes nothing, if x is not as Predict
// wants it, y is outside the range, the weight is not from 1e-9 to 1e9, or the learner refuses the
// subgradient.
func (d *Descent) Update(x []float64, y, weight float64) error {
	p, err := d.Predict(x)
	if err != nil {
		return err
	}
	if err := checkObservation(y, weight); err != nil {
		return err
	}
	if !(y >= d.low && y <= d.high) {
		return noregret.BadInputf("reward", "%v: want a number from %v to %v", y, d.low, d.high)
	}
	f := weight * (p - y)
	for i, v := range x {
		d.g[i] = f * v
	}
	return d.steps.Update(d.g)
}

// MarshalBinary returns the learner's snapshot, if it has one.
func (d *Descent) MarshalBinary() ([]byte, error) {
	s, ok := d.steps.(snapshotter)
	if !ok {
		return nil, noregret.BadInputf("regressor", "%T has no snapshot", d.steps)
	}
	return s.MarshalBinary()
}

// UnmarshalBinary restores the learner's snapshot.
func (d *Descent) UnmarshalBinary(data []byte) error {
	s, ok := d.steps.(snapshotter)
	if !ok {
		return noregret.BadInputf("regressor", "%T has no snapshot", d.steps)
	}
	return s.UnmarshalBinary(data)
}

// String describes the regressor in one line.
func (d *Descent) String() string {
	return fmt.Sprintf("descent(%v, [%v, %v])", d.steps, d.low, d.high)
}

// regressed is the estimator of [SquareCB].
type regressed struct {
	Regressor
	cut       bool
	low, high float64
}

func (e regressed) estimate(x []float64) (score, width float64, err error) {
	y, err := e.Predict(x)
	if err != nil {
		return 0, 0, err
	}
	if e.cut {
		y = min(max(y, e.low), e.high)
	}
	return y, 0, nil
}

func (e regressed) observe(x []float64, reward, weight float64) error {
	if e.cut && !(reward >= e.low && reward <= e.high) {
		return noregret.BadInputf("reward", "%v: want a number from %v to %v", reward, e.low, e.high)
	}
	return e.Update(x, reward, weight)
}

func (e regressed) state() ([]byte, error) {
	s, ok := e.Regressor.(snapshotter)
	if !ok {
		return nil, noregret.BadInputf("regressor", "%T has no snapshot", e.Regressor)
	}
	return s.MarshalBinary()
}

func (e regressed) restore(data []byte) error {
	s, ok := e.Regressor.(snapshotter)
	if !ok {
		return noregret.BadInputf("regressor", "%T has no snapshot", e.Regressor)
	}
	return s.UnmarshalBinary(data)
}
