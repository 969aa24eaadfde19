package private

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/internal/linalg"
	"github.com/noregret/noregret/internal/memory"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/vec"
)

// UCBOptions configure [UCB], with the adjacency and the unit of the claim in Noise.Protection.
// None of them may depend on the data. The zero value is refused.
type UCBOptions struct {
	// Dim is d, Arms is K, Horizon is the number of rounds T.
	Dim, Arms int
	Horizon   int64
	// Features bounds ‖x‖₂ and Rewards bounds |r|: contexts are scaled, rewards clamped.
	Features, Rewards float64
	// Norm bounds ‖θ‖₂ of the true parameters, and Deviation is the standard deviation of rewards
	// around their mean. They set the width of confidence bounds, not privacy.
	Norm, Deviation float64
	// Alpha is the probability with which a confidence bound may fail. Width multiplies the width
	// of the bounds; 1 is that of the theory.
	Alpha, Width float64
	// Kind, Protection, Budget and Options of Noise are those of every arm's stream.
	Noise Noise
	// NonPrivate makes the arms learn without noise, with the shift 1. Noise is then not used.
	NonPrivate bool
	// ArmOptions, if not nil, returns the options of an arm's noise, for tests.
	ArmOptions func(arm int) []dp.Option
}

// UCB is private linear UCB (Shariff and Sheffet 2018), the baseline of [HDB]. Each arm releases
// the prefix sums of the matrices a·aᵀ, a = (x, r), with symmetric Gaussian noise; all arms step
// every round, the ones that were not pulled with 0. With the Gram matrix G̃ and the vector ũ of
// the release,
//
//	V = G̃ + 2·N·I, θ̂ = V⁻¹ũ, play argmax ⟨x, θ̂⟩ + β·√(xᵀV⁻¹x),
//
// where N bounds the spectral norm of the noise with probability 1 − α/2. The calibration is our
// own: a record moves the stream by at most √2·ℓ in the Frobenius norm, for ‖a‖₂² ≤ ℓ = X² + Y²,
// because the inner product of two such matrices is not negative. The same holds when a record
// changes the arm that is pulled. Adjacency and the unit of privacy are those of Noise.Protection;
// the guarantee is joint differential privacy, as that of [HDB]. Not safe for concurrent use.
type UCB struct {
	o       UCBOptions
	text    string
	streams []*dp.Stream
	sums    [][]float64 // the releases
	charge  dp.Charge
	factor  linalg.Cholesky
	gram    []float64
	context []float64
	work    []float64
	theta   []float64
	matrix  []float64 // of a record, in the coordinates of the stream
	round   int64
	arm     int
	waiting bool
	closed  bool
}

// NewUCB returns the bandit before its first round. The errors are ErrDimension, ErrHorizon,
// ErrBound and those of [dp.NewStream].
func NewUCB(o UCBOptions) (*UCB, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	size := (o.Dim + 1) * (o.Dim + 2) / 2
	if err := memory.Check("arms", fmt.Sprintf("%d arms of dimension %d", o.Arms, o.Dim),
		32*float64(o.Arms)*float64(size)); err != nil {
		return nil, err
	}
	limit := float64(o.Features*o.Features) + float64(o.Rewards*o.Rewards)
	lattice, err := dp.NewLattice(dp.DefaultLatticeConfig(size, o.Horizon, dp.L2, limit))
	if err != nil {
		return nil, err
	}
	b := &UCB{
		o: o, factor: linalg.NewCholesky(o.Dim, 1), gram: make([]float64, o.Dim*o.Dim),
		context: make([]float64, o.Dim), work: make([]float64, o.Dim), theta: make([]float64, o.Dim),
		matrix: make([]float64, size),
	}
	for a := range o.Arms {
		stream, err := b.newStream(lattice, a)
		if err != nil {
			return nil, err
		}
		b.streams = append(b.streams, stream)
		b.sums = append(b.sums, make([]float64, size))
	}
	b.text = fmt.Sprintf("ucb(d=%d, K=%d, T=%d, X=%v, Y=%v, norm %v, deviation %v, alpha %v, width %v, %v, %v, %v)",
		o.Dim, o.Arms, o.Horizon, o.Features, o.Rewards, o.Norm, o.Deviation, o.Alpha, o.Width, o.Noise.Kind,
		o.Noise.Protection, o.Noise.Budget)
	return b, nil
}

func (o UCBOptions) check() error {
	if err := checkDim(o.Dim); err != nil {
		return err
	}
	if o.Dim > 1<<12 {
		return noregret.BadInputf("dimension", "%d, want at most 4096: %w", o.Dim, dp.ErrDimension)
	}
	if o.Arms < 1 || o.Arms > 1<<20 {
		return noregret.BadInputf("arms", "%d, want 1 to 2^20: %w", o.Arms, dp.ErrDimension)
	}
	if err := checkHorizon(o.Horizon); err != nil {
		return err
	}
	for _, v := range []struct {
		name  string
		value float64
	}{
		{"features", o.Features},
		{"rewards", o.Rewards},
		{"norm", o.Norm},
		{"deviation", o.Deviation},
		{"width", o.Width},
	} {
		if err := checkPositive(v.name, v.value); err != nil {
			return err
		}
	}
	if !(o.Alpha > 0 && o.Alpha < 1) {
		return noregret.BadInputf("alpha", "%v, want a number in (0, 1): %w", o.Alpha, dp.ErrBound)
	}
	return nil
}

// newStream returns the stream of an arm. Streams are calibrated for replacing a clipped vector by
// any other, 2ℓ apart, but matrices a·aᵀ are at most √2·ℓ apart, and the lattice moves them by less
// than five millionths of that: under replace-one adjacency the stream may count a cost of twice ρ.
func (b *UCB) newStream(lattice *dp.Lattice, arm int) (*dp.Stream, error) {
	if b.o.NonPrivate {
		stream, err := dp.NewZeroStream(lattice, 1)
		if err == nil {
			b.charge = stream.Charge()
		}
		return stream, err
	}
	noise := b.o.Noise
	if b.o.ArmOptions != nil {
		noise.Options = b.o.ArmOptions(arm)
	}
	budget, err := doubled(noise)
	if err != nil {
		return nil, err
	}
	stream, err := dp.NewStream(dp.StreamConfig{
		Kind: noise.Kind, Lattice: lattice, Batch: 1, Protection: noise.Protection, Budget: budget,
	}, noise.Options...)
	if err != nil {
		return nil, err
	}
	b.charge = stream.Charge()
	b.charge.Accounting = dp.ZCDP
	if noise.Protection.Adjacency == dp.ReplaceOne {
		b.charge.Rho = noise.Budget.Rho()
	}
	return stream, nil
}

// doubled is the budget of a stream whose sensitivity is √2 smaller than it counts with, in zCDP,
// which is exact for discrete noise.
func doubled(noise Noise) (dp.Budget, error) {
	budget := noise.Budget
	switch {
	case budget.Accounting() == 0:
		return budget, nil // the stream refuses it
	case budget.Accounting() != dp.ZCDP:
		return dp.Budget{}, noregret.BadInputf("budget", "%s, want ZCDPBudget: %w", budget, dp.ErrUnitMismatch)
	case noise.Protection.Adjacency != dp.ReplaceOne:
		return budget, nil
	}
	return dp.RhoBudget(2*budget.Rho()/(1+1e-5), budget.Delta())
}

// Choose returns the arm of the next round for a context, scaled to norm X; one with a number that
// is not finite counts as 0. The errors are ErrClosed, ErrDimension, ErrHorizon and ErrRound.
func (b *UCB) Choose(x []float64) (int, error) {
	switch {
	case b.closed:
		return 0, noregret.Errorf(noregret.Usage, "choose", "the bandit is closed: %w", dp.ErrClosed)
	case len(x) != b.o.Dim:
		return 0, noregret.BadInputf("context", "length %d, want %d: %w", len(x), b.o.Dim, dp.ErrDimension)
	case b.waiting:
		return 0, noregret.Errorf(noregret.Usage, "choose", "round %d has no reward yet: %w", b.round+1, ErrRound)
	case b.round >= b.o.Horizon:
		return 0, noregret.Errorf(noregret.Usage, "choose", "all %d declared rounds are done: %w", b.round,
			dp.ErrHorizon)
	}
	copy(b.context, x)
	if _, err := dp.ClipNorm(b.context, 2, b.o.Features); err != nil {
		return 0, err
	}
	b.arm = 0
	best := math.Inf(-1)
	for a := range b.streams {
		if s := b.score(a); s > best {
			b.arm, best = a, s
		}
	}
	b.waiting = true
	return b.arm, nil
}

// shift is N and the bound on the norm of the noise in ũ, for round t: for symmetric Gaussian noise
// of scale s, E‖·‖ ≤ s·√(2d), and both norms are 1-Lipschitz in the noise.
func (b *UCB) shift(t int64) (spectral, vector float64) {
	if b.o.NonPrivate {
		return 0.5, 0
	}
	s := b.streams[0].Deviation(t)
	d := float64(b.o.Dim)
	tail := math.Sqrt(2 * portable.Log(4*float64(b.o.Horizon)*float64(b.o.Arms)/b.o.Alpha))
	return s * (math.Sqrt(2*d) + tail), s / math.Sqrt2 * (math.Sqrt(d) + tail)
}

// score is the upper confidence bound of an arm.
func (b *UCB) score(arm int) float64 {
	d, sum := b.o.Dim, b.sums[arm]
	spectral, vector := b.shift(max(1, b.round))
	k := 0
	for i := range d + 1 {
		for j := i; j <= d; j, k = j+1, k+1 {
			switch {
			case i == d: // r², which is not used
			case j == d:
				b.theta[i] = sum[k] / math.Sqrt2
			case i == j:
				b.gram[i*d+i] = sum[k] + 2*spectral
			default:
				b.gram[i*d+j], b.gram[j*d+i] = sum[k]/math.Sqrt2, sum[k]/math.Sqrt2
			}
		}
	}
	if !b.factor.Factorize(b.gram) {
		return math.Inf(-1) // the noise exceeds its bound, which has probability below α
	}
	copy(b.work, b.context)
	width := math.Sqrt(b.factor.InverseSquare(b.work))
	b.factor.Solve(b.theta)
	lowest := max(spectral, 1e-300)
	// det V ≤ (3N + tX²)^d, and V is at least N·I.
	n := float64(b.round)
	ratio := portable.Log(3 + n*b.o.Features*b.o.Features/lowest)
	tail := float64(2*portable.Log(4*float64(b.o.Arms)/b.o.Alpha)) + float64(float64(d)*ratio)
	beta := float64(b.o.Deviation*math.Sqrt(tail)) + float64(b.o.Norm*math.Sqrt(3*lowest)) +
		vector/math.Sqrt(lowest)
	return vec.Dot(b.context, b.theta) + float64(b.o.Width*beta*width)
}

// Reward ends the round with the reward of the chosen arm, clamped to [−Y, Y]. A reward that is not
// finite makes the record null. The errors are ErrClosed and ErrRound.
func (b *UCB) Reward(r float64) error {
	switch {
	case b.closed:
		return noregret.Errorf(noregret.Usage, "reward", "the bandit is closed: %w", dp.ErrClosed)
	case !b.waiting:
		return noregret.Errorf(noregret.Usage, "reward", "no arm was chosen: %w", ErrRound)
	}
	r, finite := dp.Clamp(r, b.o.Rewards)
	for a, stream := range b.streams {
		clear(b.matrix)
		if a == b.arm && finite {
			b.outer(r)
		}
		if err := stream.Add(b.matrix, b.sums[a]); err != nil {
			return noregret.Errorf(noregret.Internal, "reward", "arm %d: %w", a, err)
		}
	}
	clear(b.matrix)
	clear(b.context)
	b.waiting = false
	b.round++
	return nil
}

// outer writes a·aᵀ for a = (x, r) as a vector whose Euclidean norm is the Frobenius norm: the
// upper triangle, with the entries off the diagonal times √2.
func (b *UCB) outer(r float64) {
	d, k := b.o.Dim, 0
	at := func(i int) float64 {
		if i == d {
			return r
		}
		return b.context[i]
	}
	for i := range d + 1 {
		for j := i; j <= d; j, k = j+1, k+1 {
			b.matrix[k] = at(i) * at(j)
			if i != j {
				b.matrix[k] *= math.Sqrt2
			}
		}
	}
}

// Rounds is the number of rounds that are done.
func (b *UCB) Rounds() int64 { return b.round }

// Charge is the cost of all arms together.
func (b *UCB) Charge() dp.Charge { return b.charge }

// String describes the bandit in one line.
func (b *UCB) String() string { return b.text }

// Close erases the secret state of all arms.
func (b *UCB) Close() {
	b.closed = true
	for _, s := range b.streams {
		s.Close()
	}
	clear(b.context)
	clear(b.matrix)
}

// ucbState is the persisted state. Context and Streams are secret.
type ucbState struct {
	Round   int64
	Waiting bool
	Arm     int
	Context []float64
	Sums    [][]float64
	Streams [][]byte
}

// MarshalBinary returns a snapshot, which is SECRET: see [Learner.MarshalBinary].
func (b *UCB) MarshalBinary() ([]byte, error) {
	s := ucbState{Round: b.round, Waiting: b.waiting, Arm: b.arm, Context: b.context, Sums: b.sums}
	for _, stream := range b.streams {
		data, err := stream.MarshalBinary()
		if err != nil {
			return nil, err
		}
		s.Streams = append(s.Streams, data)
	}
	return snapshot.Seal(magic, b.text, s)
}

// UnmarshalBinary restores a snapshot into a bandit with the same parameters that has played no
// round. After an error it must not be used.
func (b *UCB) UnmarshalBinary(data []byte) error {
	var s ucbState
	if err := snapshot.Open(data, magic, b.text, &s); err != nil {
		return err
	}
	if s.Round < 0 || s.Round > b.o.Horizon || s.Arm < 0 || s.Arm >= len(b.streams) ||
		len(s.Streams) != len(b.streams) ||
		len(s.Sums) != len(b.sums) || len(s.Context) != b.o.Dim || !vec.Finite(s.Context) {
		return snapshot.Bad("damaged: its counts or lengths are wrong")
	}
	for a, stream := range b.streams {
		if len(s.Sums[a]) != len(b.sums[a]) || !vec.Finite(s.Sums[a]) {
			return snapshot.Bad("damaged: the sums of arm %d", a)
		}
		if err := stream.UnmarshalBinary(s.Streams[a]); err != nil {
			return err
		}
	}
	b.round, b.waiting, b.arm, b.context, b.sums = s.Round, s.Waiting, s.Arm, s.Context, s.Sums
	return nil
}
