package private

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/vec"
)

// SGD is projected stochastic gradient descent over one pass, the baseline for [NewTOFW]:
//
//	θ ← Π(θ − η·(clip(∇f(θ; x_t)) + N(0, σ²I))), σ = Δ/μ, η = D₂/√(n(C² + dσ²))
//
// Each record enters one noisy gradient only, so that the whole run costs what one step costs
// (parallel composition), without a logarithm of n, and every point may be published. Theta is the
// average of all points. The risk falls as 1/√n, noise included. Adjacency and the unit of privacy
// are those of Noise.Protection. Not safe for concurrent use.
type SGD struct {
	problem Problem
	text    string
	front   frontEnd
	lattice *dp.Lattice
	noise   func() int64 // in units of the lattice
	one     *dp.Stream   // a stream of one step, which calibrates the noise and states its cost
	eta     float64
	state   sgdState
	k       []int64
	closed  bool
}

// sgdState is public: a run of SGD has no secret state between steps.
type sgdState struct {
	T          int64
	Point, Sum []float64
}

// NewSGD returns the learner at its start. The clip of the problem is Euclidean; at 0 it is that of
// the loss. The rate is multiplied by the problem's step scale. Kind, Selection and Unbounded of
// the noise are not used. The errors are those of [NewTOFW], and ErrNorm for a polytope, onto which
// no projection exists here.
func NewSGD(p Problem, noise Noise) (*SGD, error) {
	one, p, err := sgdLattice(p)
	if err != nil {
		return nil, err
	}
	stream, err := dp.NewStream(dp.StreamConfig{
		Kind: dp.Tree, Lattice: one, Batch: 1, Protection: noise.Protection, Budget: noise.Budget,
	}, noise.Options...)
	if err != nil {
		return nil, err
	}
	gaussian, err := dp.NewDiscreteGaussianScale(uint64(math.Ceil(stream.Sigma()/one.Spacing())), noise.Options...)
	if err != nil {
		return nil, err
	}
	return newSGD(p, one, stream, gaussian.Draw, fmt.Sprintf("%s, %s", noise.Protection, noise.Budget)), nil
}

// NewNonPrivateSGD returns the same learner without noise, which protects nobody.
func NewNonPrivateSGD(p Problem) (*SGD, error) {
	one, p, err := sgdLattice(p)
	if err != nil {
		return nil, err
	}
	stream, err := dp.NewZeroStream(one, 1)
	if err != nil {
		return nil, err
	}
	return newSGD(p, one, stream, func() int64 { return 0 }, "no noise"), nil
}

// sgdLattice returns the lattice of one gradient.
func sgdLattice(p Problem) (*dp.Lattice, Problem, error) {
	constants, err := p.Constants()
	if err != nil {
		return nil, p, err
	}
	if p.Domain.kind == isPolytope {
		return nil, p, noregret.BadInputf("domain", "%v, want a ball, a box or a simplex: %w", p.Domain, dp.ErrNorm)
	}
	if p.Batch != 1 {
		return nil, p, noregret.BadInputf("batch", "%d records, want 1: %w", p.Batch, dp.ErrBound)
	}
	if p.Clip == 0 {
		p.Clip = constants.Lipschitz
		if q := p.Domain.dual.P(); q > 2 {
			p.Clip *= portable.Pow(float64(p.Domain.Dim()), 0.5-1/q)
		}
	}
	single := p
	single.Horizon = 1
	lattice, _, err := newLattice(single, dp.L2)
	return lattice, p, err
}

func newSGD(p Problem, lattice *dp.Lattice, one *dp.Stream, noise func() int64, text string) *SGD {
	d := p.Domain.Dim()
	p.Weighting = PaperWeights // whose first increment is the gradient
	sigma := one.Sigma()
	variance := float64(p.Clip*p.Clip) + float64(float64(d)*float64(sigma*sigma))
	s := &SGD{
		problem: p, text: describe("sgd", p, text), front: newFrontEnd(p), lattice: lattice, noise: noise, one: one,
		eta: p.StepScale * p.Domain.set.Diameter() / math.Sqrt(float64(p.Horizon)*variance), k: make([]int64, d),
	}
	s.state = sgdState{Point: p.Domain.Start(), Sum: p.Domain.Start()}
	return s
}

// Step adds one record. The errors are ErrClosed, ErrDimension and ErrHorizon, which change
// nothing. A record with a number that is not finite counts as a null record.
func (s *SGD) Step(x []float64, y float64) error {
	if err := s.ready(); err != nil {
		return err
	}
	if len(x) != len(s.k) {
		return noregret.BadInputf("features", "length %d, want %d: %w", len(x), len(s.k), dp.ErrDimension)
	}
	s.move(s.front.increment(1, x, y, s.state.Point, s.state.Point))
	return nil
}

// StepNull counts a null record, with the same errors.
func (s *SGD) StepNull() error {
	if err := s.ready(); err != nil {
		return err
	}
	clear(s.front.g)
	s.move(s.front.g)
	return nil
}

func (s *SGD) ready() error {
	switch {
	case s.closed:
		return noregret.Errorf(noregret.Usage, "step", "the learner is closed: %w", dp.ErrClosed)
	case s.state.T >= s.problem.Horizon:
		return noregret.Errorf(noregret.Usage, "step", "all %d declared records are done: %w", s.state.T, dp.ErrHorizon)
	}
	return nil
}

func (s *SGD) move(g []float64) {
	s.lattice.Quantize(g, s.k)
	for j, k := range s.k {
		noisy := float64(k+s.noise()) * s.lattice.Spacing()
		s.state.Point[j] -= float64(s.eta * noisy)
	}
	clear(s.k)
	s.problem.Domain.set.Project(s.state.Point, s.state.Point)
	s.state.T++
	vec.AddScaled(s.state.Sum, 1, s.state.Point)
}

// Theta writes the average of all points so far, the start included, to dst and returns it; a nil
// dst is allocated.
func (s *SGD) Theta(dst []float64) []float64 {
	if dst == nil {
		dst = make([]float64, len(s.k))
	}
	for j, v := range s.state.Sum {
		dst[j] = v / float64(s.state.T+1)
	}
	return dst
}

// Steps is the number of records so far.
func (s *SGD) Steps() int64 { return s.state.T }

// Charge is the cost of the whole run: that of one step, as long as no unit has more records than
// the protection says.
func (s *SGD) Charge() dp.Charge { return s.one.Charge() }

// Statement says what the points protect.
func (s *SGD) Statement() dp.Statement {
	out := s.one.Statement()
	out.Mechanism = "one pass of projected gradient descent with discrete Gaussian noise on each clipped gradient"
	return completeStatement(out, s.problem)
}

// String describes the learner in one line with all parameters.
func (s *SGD) String() string { return s.text }

// Close ends the run.
func (s *SGD) Close() {
	s.closed = true
	s.one.Close()
	clear(s.front.x)
	clear(s.front.g)
}

// MarshalBinary returns a snapshot. It holds public values only, but a step that is made again from
// an older snapshot draws other noise for the same record: it is a second release.
func (s *SGD) MarshalBinary() ([]byte, error) { return snapshot.Seal(magic, s.text, s.state) }

// UnmarshalBinary restores a snapshot of a learner with the same parameters. An error changes
// nothing.
func (s *SGD) UnmarshalBinary(data []byte) error {
	var t sgdState
	if err := snapshot.Open(data, magic, s.text, &t); err != nil {
		return err
	}
	if d := len(s.k); t.T < 0 || t.T > s.problem.Horizon || len(t.Point) != d || len(t.Sum) != d ||
		!vec.Finite(t.Point) || !vec.Finite(t.Sum) {
		return snapshot.Bad("damaged: its counts or lengths are wrong")
	}
	s.state = t
	return nil
}
