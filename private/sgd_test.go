package private

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/internal/random"
)

// TestSGD: without noise the average approaches the best point of the domain, noise of a large
// budget does little harm, and null records move nothing but the count.
func TestSGD(t *testing.T) {
	for _, private := range []bool{false, true} {
		r := random.New(30, "test")
		p := NewProblem(must(NewBall(3, 2, 1)), HalfSquared(), 1, 1, 5000)
		n := testNoise(1)
		n.Budget = must(dp.GDPBudget(8, 1e-5))
		s := must(NewNonPrivateSGD(p))
		if private {
			s = must(NewSGD(p, n))
		}
		for range 5000 {
			x := uniform(r, 3)
			if err := s.Step(x, 0.6*x[0]); err != nil {
				t.Fatal(err)
			}
		}
		if theta := s.Theta(nil); math.Abs(theta[0]-0.6) > 0.2 || math.Abs(theta[1]) > 0.2 {
			t.Errorf("private %v: θ = %v", private, theta)
		}
		if err := s.Step([]float64{1, 1, 1}, 1); !errors.Is(err, dp.ErrHorizon) {
			t.Errorf("after the horizon: %v", err)
		}
		s.Close()
		if err := s.StepNull(); !errors.Is(err, dp.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	}
}

// TestSGDNoise: the noise of a step has the standard deviation 2C/μ, and costs the budget.
func TestSGDNoise(t *testing.T) {
	p := NewProblem(must(NewBall(1, 2, 1e6)), Squared(), 1, 1, 4000)
	p.Clip = 3
	n := testNoise(7)
	s := must(NewSGD(p, n))
	want := 6 / must(dp.GaussianMu(1, 1e-4))
	sum, before := 0.0, 0.0
	for range 4000 {
		if err := s.StepNull(); err != nil {
			t.Fatal(err)
		}
		step := (s.state.Point[0] - before) / s.eta
		before = s.state.Point[0]
		sum += step * step / 4000
	}
	if got := math.Sqrt(sum); math.Abs(got/want-1) > 5*math.Sqrt(0.5/4000) {
		t.Errorf("noise %v, want %v", got, want)
	}
	if c := s.Charge(); math.Abs(c.Rho/n.Budget.Rho()-1) > 1e-6 || !c.Insecure {
		t.Errorf("charge %+v", c)
	}
}

// TestSGDSnapshot: a restored learner without noise goes on bit for bit; a polytope and a batch are
// refused.
func TestSGDSnapshot(t *testing.T) {
	r := random.New(31, "test")
	p := NewProblem(must(NewBall(3, 1.5, 1)), Squared(), 1, 1, 100)
	p.Weighting = RecursiveWeights // which concerns increments, not gradients
	a, b := must(NewNonPrivateSGD(p)), must(NewNonPrivateSGD(p))
	for range 50 {
		x, y := record(r, 3)
		if err := a.Step(x, y); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.UnmarshalBinary(must(a.MarshalBinary())); err != nil {
		t.Fatal(err)
	}
	x, y := record(r, 3)
	if err := errors.Join(a.Step(x, y), b.Step(x, y)); err != nil || !slices.Equal(a.Theta(nil), b.Theta(nil)) {
		t.Errorf("%v, restored %v: %v", a.Theta(nil), b.Theta(nil), err)
	}
	p.Weighting = PaperWeights
	same := must(NewNonPrivateSGD(p))
	if err := same.Step(x, y); err != nil {
		t.Fatal(err)
	}
	p.Weighting = RecursiveWeights
	other := must(NewNonPrivateSGD(p))
	if err := other.Step(x, y); err != nil || !slices.Equal(other.Theta(nil), same.Theta(nil)) {
		t.Errorf("with recursive weights a step leads to %v, otherwise to %v", other.Theta(nil), same.Theta(nil))
	}
	p.Batch = 2
	if _, err := NewSGD(p, testNoise(1)); !errors.Is(err, dp.ErrBound) {
		t.Errorf("a batch: %v", err)
	}
	p.Batch, p.Domain = 1, must(NewPolytope([][]float64{{1, 2, 3}}, 1))
	if _, err := NewSGD(p, testNoise(1)); !errors.Is(err, dp.ErrNorm) {
		t.Errorf("a polytope: %v", err)
	}
}
