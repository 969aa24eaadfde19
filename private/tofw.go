package private

import (
	"errors"
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/dp"
)

// Noise is the mechanism that makes a learner private, with the adjacency and the unit of its claim
// in Protection.
type Noise struct {
	// Kind is the stream of noisy prefix sums of [NewTOFW].
	Kind dp.StreamKind
	// Selection is the noise of [NewPOFW], the exponential mechanism or Laplace noise.
	Selection dp.SelectionNoise
	// Unbounded gives [NewPOFW] a schedule of budgets that needs no horizon, at more noise. The
	// horizon then only bounds sums.
	Unbounded bool
	// Protection is what the budget protects.
	Protection dp.Protection
	// Budget is the cost of the whole run, however many of its steps are made.
	Budget dp.Budget
	// Options change the source of randomness, for tests only.
	Options []dp.Option
}

// NewTOFW returns the learner DP-TOFW, private online Frank–Wolfe with noisy prefix sums (Han et
// al., Algorithm 1), on any domain. Each step adds the clipped increment of a record to a stream of
// prefix sums with Gaussian noise, and moves towards the point of the domain that is best for the
// noisy sum:
//
//	S̃_t = g_1 + ... + g_t + noise,  v_t = argmin ⟨S̃_t, v⟩,  θ_{t+1} = (θ_1 + v_1 + ... + v_t)/(t+1)
//
// θ_t is public before record t arrives, and g_t depends on record t, θ_t and θ_{t−1} only, so that
// all points together are as private as the stream.
//
// The noise has the standard deviation Δ·√m/μ per node with [dp.Tree], for m = ⌊log₂ n⌋ + 1 and Δ
// the sensitivity of increments clipped to the Euclidean norm p.Clip. [dp.Honaker] has less noise;
// [dp.SquareRoot] has the least but keeps all increments; [dp.Doubling] needs no horizon except for
// the overflow of sums. A step costs O(d·log t), with SquareRoot O(d·t).
//
// The errors are those of [Problem], ErrLoss, and those of [dp.NewLattice] and [dp.NewStream].
func NewTOFW(p Problem, noise Noise) (*Learner, error) {
	lattice, p, err := tofwLattice(p)
	if err != nil {
		return nil, err
	}
	stream, err := newStream(lattice, p.Batch, noise)
	for shift := 1; shift <= 4 && errors.Is(err, dp.ErrLattice) && p.Spacing == 0; shift++ {
		coarse := p // room for the noise: the square-root stream multiplies sums by 2^20
		coarse.Spacing = math.Ldexp(lattice.Spacing(), shift)
		coarser, _, fault := newLattice(coarse, dp.L2)
		if fault != nil {
			break
		}
		if wide, fault := newStream(coarser, p.Batch, noise); fault == nil {
			stream, err = wide, nil
		}
	}
	if err != nil {
		return nil, err
	}
	return newTOFW(p, stream, fmt.Sprintf("%s noise, %s, %s", noise.Kind, noise.Protection, noise.Budget)), nil
}

func newStream(lattice *dp.Lattice, batch int, noise Noise) (*dp.Stream, error) {
	return dp.NewStream(dp.StreamConfig{
		Kind: noise.Kind, Lattice: lattice, Batch: batch, Protection: noise.Protection, Budget: noise.Budget,
	}, noise.Options...)
}

// NewNonPrivateTOFW returns the same learner without noise, which protects nobody: online
// Frank–Wolfe with recursive gradients (Xie et al.). Clipping and the lattice are the same.
func NewNonPrivateTOFW(p Problem) (*Learner, error) {
	lattice, p, err := tofwLattice(p)
	if err != nil {
		return nil, err
	}
	stream, err := dp.NewZeroStream(lattice, p.Batch)
	if err != nil {
		return nil, err
	}
	return newTOFW(p, stream, "no noise"), nil
}

func newTOFW(p Problem, stream *dp.Stream, text string) *Learner {
	return newLearner(p, &sumMechanism{
		domain: p.Domain, stream: stream, released: make([]float64, p.Domain.Dim()),
	}, describe("tofw", p, text))
}

// tofwLattice returns the lattice of Euclidean clips, and the problem with its clip.
func tofwLattice(p Problem) (*dp.Lattice, Problem, error) {
	constants, err := p.Constants()
	if err != nil {
		return nil, p, err
	}
	if p.Clip == 0 {
		p.Clip = constants.IncrementL2
	}
	return newLattice(p, dp.L2)
}

// newLattice returns the lattice of a problem whose clip is set.
func newLattice(p Problem, norm dp.Norm) (*dp.Lattice, Problem, error) {
	if !(p.Clip <= 1e300) {
		return nil, p, noregret.BadInputf("loss", "the increments of %s grow with the number of steps: "+
			"state a clip and accept its bias, or take a smooth loss: %w", p.Loss.Name(), ErrLoss)
	}
	c := dp.DefaultLatticeConfig(p.Domain.Dim(), p.Horizon, norm, p.Clip)
	if p.Spacing != 0 {
		c.Spacing = p.Spacing
	}
	lattice, err := dp.NewLattice(c)
	return lattice, p, err
}

// sumMechanism chooses the best vertex for the noisy prefix sum.
type sumMechanism struct {
	domain   *Domain
	stream   *dp.Stream
	released []float64
}

func (m *sumMechanism) include(g []float64) error { return m.stream.Include(g) }

func (m *sumMechanism) choose(vertex []float64) error {
	if err := m.stream.Step(m.released); err != nil {
		return err
	}
	m.domain.Minimize(vertex, m.released)
	return nil
}

func (m *sumMechanism) save() ([]byte, error) { return m.stream.MarshalBinary() }

func (m *sumMechanism) load(state []byte) error {
	err := m.stream.UnmarshalBinary(state)
	if err == nil {
		clear(m.released)
	}
	return err
}

func (m *sumMechanism) charge() dp.Charge { return m.stream.Charge() }
func (m *sumMechanism) close()            { m.stream.Close() }

// Sum returns the last noisy prefix sum S̃_t of [NewTOFW], which is public, and nil for [NewPOFW],
// whose sums are secret. After a snapshot is restored it is 0 until the next step. The slice is
// valid until then; do not change it.
func (l *Learner) Sum() []float64 {
	if m, ok := l.mechanism.(*sumMechanism); ok {
		return m.released
	}
	return nil
}

// Deviation is the standard deviation of the noise per coordinate of the sum at step t; NaN for
// [NewPOFW].
func (l *Learner) Deviation(t int64) float64 {
	if m, ok := l.mechanism.(*sumMechanism); ok {
		return m.stream.Deviation(t)
	}
	return math.NaN()
}
