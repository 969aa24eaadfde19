package oco

import (
	"fmt"
	"slices"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/loss"
)

// TestLinearizedKeepsOwnConvexity checks that a loss of unknown strong convexity does not replace
// the constant of the rate.
func TestLinearizedKeepsOwnConvexity(t *testing.T) {
	l := must(NewLinearized(descent(must(convex.NewCube(1, -1, 1)), nil, StronglyConvex(2))))
	if err := l.UpdateLoss(must(loss.NewLinear([]float64{1}))); err != nil {
		t.Fatal(err)
	}
	near(t, "x_2", l.Predict()[0], -.5)
}

// plainLearner is a user-defined learner without a String method that contains a pointer and
// weights.
type plainLearner struct {
	x    []float64
	last *float64
}

func (l *plainLearner) Dim() int { return len(l.x) }

func (l *plainLearner) Predict() []float64 { return l.x }

func (l *plainLearner) Update(g []float64) error {
	for i, v := range g {
		l.x[i] -= .1 * v
		l.last = &g[i]
	}
	return nil
}

func (l *plainLearner) MarshalBinary() ([]byte, error) {
	return fmt.Append(nil, l.x[0]), nil
}

func (l *plainLearner) UnmarshalBinary(data []byte) error {
	_, err := fmt.Sscan(string(data), &l.x[0])
	return err
}

// TestKindsAreStable restores wrappers of learners without a String method into new wrappers: the
// kind of a snapshot contains neither addresses nor weights.
func TestKindsAreStable(t *testing.T) {
	user := func() Learner { return &plainLearner{x: make([]float64, 1)} }
	linearized := func() Learner {
		return must(NewLinearized(descent(must(convex.NewCube(1, -1, 1)), nil, Adaptive(1))))
	}
	for name, make := range map[string]func() Learner{
		"averaging of a user's learner": func() Learner { return must(NewAveraging(user(), UniformAlpha())) },
		"anytime of a user's learner":   func() Learner { return must(NewAnytime(user(), UniformAlpha())) },
		"random iterate of a user's learner": func() Learner {
			return must(NewRandomIterate(user(), UniformAlpha(), 1))
		},
		"split of users' learners":          func() Learner { return must(NewSplit(user(), user())) },
		"split of linearized learners":      func() Learner { return must(NewSplit(linearized(), linearized())) },
		"averaging of a linearized learner": func() Learner { return must(NewAveraging(linearized(), UniformAlpha())) },
		"linearized learner":                linearized,
	} {
		a, b := make(), make()
		g := []float64{1, -2}[:a.Dim()]
		for range 3 {
			if err := a.Update(g); err != nil {
				t.Fatal(err)
			}
		}
		if x, y := fmt.Sprint(a), fmt.Sprint(b); x != y {
			t.Errorf("%s: the kind depends on the state: %s, %s", name, x, y)
		}
		if err := b.(Snapshotter).UnmarshalBinary(must(a.(Snapshotter).MarshalBinary())); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !slices.Equal(a.Predict(), b.Predict()) {
			t.Errorf("%s: after a restore the point is %v, without one %v", name, b.Predict(), a.Predict())
		}
	}
}
