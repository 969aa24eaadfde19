package dp

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/noregret/noregret"
)

// StreamKind is a mechanism for noisy prefix sums. All kinds take every adjacency and unit.
type StreamKind uint8

const (
	// Tree is the binary counter, the default: logarithmic memory, noise that grows with √(log n ·
	// log t) (Chan, Shi and Song 2011; Dwork, Naor, Pitassi and Rothblum 2010).
	Tree StreamKind = iota + 1
	// Honaker is the binary counter with the refinement of Honaker (2015): right children get noise
	// as well, and each block is estimated from all its nodes. Three quarters of the noise of Tree,
	// twice the draws.
	Honaker
	// Doubling is a sequence of trees, each twice as long as the one before, for unknown horizons.
	// The horizon of the lattice only limits overflow.
	Doubling
	// SquareRoot is the matrix mechanism with the square root of the prefix-sum matrix, a Toeplitz
	// matrix (Henzinger, Upadhyay and Upadhyay 2023; Fichtenberger, Henzinger and Upadhyay 2023):
	// the least noise, 0.4 of Tree at 10,000 steps, but memory O(n·dim) and time O(t·dim) per step.
	SquareRoot
	// zero has no noise and no privacy; see NewZeroStream.
	zero
)

// String returns the name of the kind: "tree", "honaker", "doubling", "square-root" or "none".
func (k StreamKind) String() string {
	switch k {
	case Tree:
		return "tree"
	case Honaker:
		return "honaker"
	case Doubling:
		return "doubling"
	case SquareRoot:
		return "square-root"
	case zero:
		return "none"
	default:
		return fmt.Sprintf("StreamKind(%d)", uint8(k))
	}
}

// StreamConfig declares a [Stream], with its adjacency and its unit in Protection. Nothing in it
// may depend on the data. The zero value is refused: all fields but Sums are required.
type StreamConfig struct {
	// Kind is the mechanism.
	Kind StreamKind
	// Lattice clips the increments, in the l2 norm.
	Lattice *Lattice
	// Batch is the largest number of increments in one step, at least 1. Each increment has the
	// clip of the lattice; a step adds their sum.
	Batch int
	// Sums says that the caller adds the increments of a step up and hands [Stream.StepSum] their
	// exact sum, in units of the lattice. Include, Step and Add are then refused: a stream takes
	// increments in one way only.
	Sums bool
	// Protection is what the budget protects.
	Protection Protection
	// Budget is the cost of the whole stream, however many of its steps are made. ZCDP and GDP are
	// allowed.
	Budget Budget
}

// mechanism turns increments into noisy prefix sums, all in units of the lattice.
type mechanism interface {
	// step adds the increment g of step t (from 1) and writes the noisy prefix sum.
	step(t int64, g []int64, out []float64)
	// deviation is the standard deviation of the noise in step t, per coordinate.
	deviation(t int64) float64
	// sumOfSquares is the sum of the squares of the deviations of steps 1 to n.
	sumOfSquares(n int64) float64
	// secrets lists everything that Close erases and that the state holds.
	secrets() *secrets
	// restore takes the state back after t steps; it returns false if the sizes are wrong.
	restore(t int64, s *secrets) bool
}

// A Stream releases the prefix sums of clipped increments with noise, one after every step, such
// that all releases together keep the budget: it is private under continual observation, also if
// later increments depend on earlier releases. What Add writes may be published and used in any
// way. The increments, the exact sums and the state of the stream are secret.
//
// Adjacency and the unit of privacy are those of its [StreamConfig].Protection, and its charge and
// statement repeat them. Increments, releases and deviations are in the unit of the clip.
//
// The noise is discrete Gaussian on the lattice, from crypto/rand. A Stream is not safe for
// concurrent use. Time per step is not constant: release results on a fixed cadence if an attacker
// can measure it.
type Stream struct {
	config  StreamConfig
	mech    mechanism
	random  *source
	charge  Charge
	t       int64
	pending int     // increments in the current step
	sum     []int64 // their sum
	scratch []int64
	closed  bool
}

// NewStream returns a stream without steps. The errors are ErrNorm, ErrHorizon, ErrEpsilon,
// ErrUnitMismatch and ErrLattice.
func NewStream(c StreamConfig, opts ...Option) (*Stream, error) {
	if c.Kind < Tree || c.Kind > SquareRoot {
		return nil, noregret.BadInputf("kind", "%s, want Tree, Honaker, Doubling or SquareRoot: %w", c.Kind, ErrNorm)
	}
	if err := c.Protection.check(); err != nil {
		return nil, err
	}
	if err := c.Budget.check(); err != nil {
		return nil, err
	}
	if c.Budget.accounting == Pure {
		return nil, noregret.BadInputf("budget", "Gaussian noise has no pure budget, want ZCDPBudget or GDPBudget: %w",
			ErrUnitMismatch)
	}
	s, err := newStream(c, newSource(opts, "stream/"+c.Kind.String()))
	if err != nil {
		return nil, err
	}
	noise, err := calibrate(s.config)
	if err != nil {
		return nil, err
	}
	s.mech = newMechanism(s.config, noise, s.random)
	s.charge = noise.charge
	s.charge.Insecure = s.random.insecure()
	return s, nil
}

// NewZeroStream returns a stream without noise, which protects nobody: the same code as with noise,
// for comparisons. Its statement says so and a ledger refuses its charge.
func NewZeroStream(l *Lattice, batch int) (*Stream, error) {
	s, err := newStream(StreamConfig{Kind: zero, Lattice: l, Batch: batch}, newSource(nil, ""))
	if err != nil {
		return nil, err
	}
	s.mech = &exact{sum: make([]int64, l.Dim())}
	s.charge.Insecure = true
	return s, nil
}

func newStream(c StreamConfig, random *source) (*Stream, error) {
	if c.Lattice == nil {
		return nil, noregret.BadInputf("lattice", "nil, want one made by NewLattice: %w", ErrLattice)
	}
	if c.Kind != zero && c.Lattice.Norm() != L2 {
		return nil, noregret.BadInputf("lattice", "the clip is in %s, Gaussian noise needs l2: %w", c.Lattice.Norm(),
			ErrNorm)
	}
	if c.Batch < 1 || int64(c.Batch) > c.Lattice.Horizon() {
		return nil, noregret.BadInputf("batch", "%d, want 1 to the lattice's horizon %d: %w",
			c.Batch, c.Lattice.Horizon(), ErrHorizon)
	}
	d := c.Lattice.Dim()
	return &Stream{config: c, random: random, sum: make([]int64, d), scratch: make([]int64, d)}, nil
}

// steps is the number of steps of a configuration, ⌈horizon/batch⌉.
func (c StreamConfig) steps() int64 {
	n, b := c.Lattice.Horizon(), int64(c.Batch)
	return (n + b - 1) / b
}

func newMechanism(c StreamConfig, n noiseScale, random *source) mechanism {
	d := c.Lattice.Dim()
	switch c.Kind {
	case Honaker:
		return newHonaker(d, c.steps(), n.sigma, random)
	case Doubling:
		return newDoubling(d, n.base, random)
	case SquareRoot:
		return newToeplitz(d, n.sigma, n.coefficients, random)
	default:
		return newTree(d, levels(c.steps()), n.sigma, random)
	}
}

// Include clips an increment and adds it to the current step, which [Stream.Step] ends. Whether g
// was clipped, or was null because it held a NaN, is secret and not reported. The errors are
// ErrDimension, ErrHorizon if the step has its number of increments or all steps are done, and
// ErrClosed; they depend on public values only, and the state is unchanged.
func (s *Stream) Include(g []float64) error {
	if err := s.ready(len(g)); err != nil {
		return err
	}
	if err := s.clips(); err != nil {
		return err
	}
	if s.pending >= s.config.Batch {
		return noregret.BadInputf("batch", "increment %d of a step with at most %d: %w", s.pending+1, s.config.Batch,
			ErrHorizon)
	}
	s.config.Lattice.Quantize(g, s.scratch)
	for j, k := range s.scratch {
		s.sum[j] += k
	}
	clear(s.scratch)
	s.pending++
	return nil
}

// Step ends a step, with as many increments as Include has added, none included, and writes the
// noisy sum of all increments so far to out. The errors are ErrDimension, ErrHorizon after the last
// step and ErrClosed; the state is unchanged. It allocates nothing after the first steps, except
// for SquareRoot.
func (s *Stream) Step(out []float64) error {
	if err := s.ready(len(out)); err != nil {
		return err
	}
	if err := s.clips(); err != nil {
		return err
	}
	s.release(out)
	return nil
}

// clips refuses single increments where the caller adds them up.
func (s *Stream) clips() error {
	if s.config.Sums {
		return noregret.BadInputf("stream", "it takes sums, by StepSum: %w", ErrLattice)
	}
	return nil
}

// StepSum ends a step of at most Batch increments, of which the caller has the sum k in units of
// the lattice, and writes the noisy sum of all increments so far to out. It needs
// [StreamConfig].Sums, or a stream without noise.
//
// The stream cannot clip what is added up already. The caller must hold the norm of each increment
// of the sum to [Lattice.Limit] ([Lattice.Admits]); the privacy of the stream rests on it. StepSum
// refuses a sum that no such increments have, of an entry above Batch·Limit, by ErrBound; a caller
// that keeps to the bound never sees this error. The other errors are ErrDimension, ErrHorizon,
// ErrClosed and ErrLattice. The state is unchanged on error.
func (s *Stream) StepSum(k []int64, out []float64) error {
	for _, n := range [...]int{len(k), len(out)} {
		if err := s.ready(n); err != nil {
			return err
		}
	}
	if !s.config.Sums && s.config.Kind != zero {
		return noregret.BadInputf("stream", "it takes single increments, by Add: %w", ErrLattice)
	}
	// Below 2^61, as Batch is at most the horizon.
	most := s.config.Lattice.Limit() * uint64(s.config.Batch)
	for _, v := range k {
		if magnitude(v) > most {
			return noregret.BadInputf("sum", "an entry above %d, which no %d increments within the clip add up to: %w",
				most, s.config.Batch, ErrBound)
		}
	}
	copy(s.sum, k)
	s.release(out)
	return nil
}

// release ends a step with the increments in sum.
func (s *Stream) release(out []float64) {
	s.t++
	s.mech.step(s.t, s.sum, out)
	clear(s.sum)
	s.pending = 0
	for j := range out {
		out[j] *= s.config.Lattice.Spacing()
	}
}

// Add is Include followed by Step: a step with one increment.
func (s *Stream) Add(g, out []float64) error {
	if err := s.ready(len(out)); err != nil {
		return err
	}
	if err := s.Include(g); err != nil {
		return err
	}
	return s.Step(out)
}

// ready refuses a call on a closed or finished stream, or with a vector of another dimension.
func (s *Stream) ready(dim int) error {
	switch {
	case s.closed:
		return noregret.BadInputf("stream", "%w", ErrClosed)
	case dim != len(s.sum):
		return noregret.BadInputf("increment", "%d coordinates, want %d: %w", dim, len(s.sum), ErrDimension)
	case s.t >= s.config.steps():
		return noregret.BadInputf("stream", "all %d declared steps are done: %w", s.t, ErrHorizon)
	}
	return nil
}

// Kind returns the mechanism.
func (s *Stream) Kind() StreamKind { return s.config.Kind }

// Dim returns the dimension.
func (s *Stream) Dim() int { return len(s.sum) }

// Horizon returns the declared number of steps.
func (s *Stream) Horizon() int64 { return s.config.steps() }

// Steps returns the number of steps so far.
func (s *Stream) Steps() int64 { return s.t }

// Lattice returns the front end.
func (s *Stream) Lattice() *Lattice { return s.config.Lattice }

// Charge returns what the whole stream costs. A tree is charged in full at its start: stopping
// early refunds nothing.
func (s *Stream) Charge() Charge { return s.charge }

// Private reports whether the releases are private: the stream has noise, and from the system's
// generator.
func (s *Stream) Private() bool { return !s.charge.Insecure }

// Sigma returns the standard deviation of one draw of noise per coordinate, in the unit of the
// increments; for Doubling that of the first segment.
func (s *Stream) Sigma() float64 { return s.Deviation(1) }

// Deviation returns the standard deviation of the noise in the release of step t per coordinate, in
// the unit of the increments: it is public and depends on t only.
func (s *Stream) Deviation(t int64) float64 {
	return s.mech.deviation(max(1, t)) * s.config.Lattice.Spacing()
}

// RootMeanSquare returns the root mean square of the deviations of steps 1 to n: what the noise
// costs over a run. It takes O(log n), and O(n) for SquareRoot.
func (s *Stream) RootMeanSquare(n int64) float64 {
	n = max(1, n)
	return math.Sqrt(s.mech.sumOfSquares(n)/float64(n)) * s.config.Lattice.Spacing()
}

// Close erases the exact sums, the noise and the buffered randomness. Later calls return ErrClosed.
func (s *Stream) Close() {
	s.mech.secrets().wipe()
	s.random.wipe()
	clear(s.sum)
	clear(s.scratch)
	s.closed = true
}

// exact is the mechanism without noise.
type exact struct{ sum []int64 }

func (e *exact) step(_ int64, g []int64, out []float64) {
	for j, k := range g {
		e.sum[j] += k
		out[j] = float64(e.sum[j])
	}
}

func (e *exact) deviation(int64) float64 { return 0 }

func (e *exact) sumOfSquares(int64) float64 { return 0 }

func (e *exact) secrets() *secrets { return &secrets{Sum: e.sum} }

func (e *exact) restore(_ int64, s *secrets) bool {
	if len(s.Sum) != len(e.sum) {
		return false
	}
	copy(e.sum, s.Sum)
	return true
}

// levels is the number of levels of a counter to n: the bit length of n.
func levels(n int64) int { return bits.Len64(uint64(n)) }

// setBits is the number of integers from 1 to n with the bit of the level set.
func setBits(n int64, level int) float64 {
	block, half := int64(2)<<level, int64(1)<<level
	return float64((n+1)/block*half + max(0, (n+1)%block-half))
}
