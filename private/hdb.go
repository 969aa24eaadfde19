package private

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/vec"
)

// HDBOptions configure [HDB], with the adjacency and the unit of the claim in Noise.Protection.
// None of them may depend on the data. The zero value is refused.
type HDBOptions struct {
	// Problem is that of each arm: domain, loss, the bound X on contexts, the clip. Its horizon,
	// labels and batch are set by the bandit.
	Problem Problem
	// Arms is K ≥ 1, Horizon is the number of rounds T.
	Arms    int
	Horizon int64
	// WarmUp is t₀ ≥ 0: each arm is pulled so often at the start, K·t₀ ≤ T.
	WarmUp int64
	// Gap is h > 0: after the warm-up arms whose mean by the frozen estimate is h/2 or more below
	// the best one's are not pulled.
	Gap float64
	// RewardLow and RewardHigh are the ends of the range to which rewards are clamped.
	RewardLow, RewardHigh float64
	// Mean is the link ζ from ⟨x, θ⟩ to the mean reward, non-decreasing; nil is the identity.
	Mean func(z float64) float64
	// Choices makes the arms learn by [NewPOFW] instead of [NewTOFW].
	Choices bool
	// NonPrivate makes the arms learn without noise. Noise is then not used.
	NonPrivate bool
	// Noise is that of every arm, with the full budget of the bandit.
	Noise Noise
	// ArmOptions, if not nil, returns the options of an arm's noise, for tests: arms need different
	// seeds.
	ArmOptions func(arm int) []dp.Option
}

// HDB is the bandit DP-HDB for K arms with contexts and generalized linear rewards (Han et al.,
// Algorithm 3, with local step counts). Each arm has a private learner with its own noise and the
// full budget. After a warm-up every round steps every arm: the pulled one with its context and
// reward, the others with a null record. Hence one record changes two arms by C each, or one arm by
// 2C, and all arms together are as private as one learner.
//
// The guarantee is joint differential privacy: what everyone else sees (all points, all later
// actions of others) hides a user's context and rewards. It does not hide a user's own action, nor
// records of contexts and actions that are published. Adjacency and the unit of privacy are those
// of Noise.Protection; a record is a context with the rewards of all arms.
//
// A round is [HDB.Choose] and then [HDB.Reward]. Not safe for concurrent use: a concurrent call
// returns ErrBusy.
type HDB struct {
	busy    sync.Mutex
	o       HDBOptions
	arms    []*Learner
	charge  dp.Charge
	budget  dp.Budget // of all arms together
	state   hdbState
	context []float64
	closed  bool
}

// hdbState is the persisted state, without the arms. Context is secret.
type hdbState struct {
	Round   int64 // rounds that have their reward
	Frozen  [][]float64
	Waiting bool
	Arm     int
	Context []float64
	Arms    [][]byte
}

// NewHDB returns a bandit before its first round. The errors are those of the learners,
// ErrDimension for fewer than one arm, ErrBound for a gap or a range of rewards, and ErrWarmUp.
func NewHDB(o HDBOptions) (*HDB, error) {
	if o.Arms < 1 || o.Arms > 1<<20 {
		return nil, noregret.BadInputf("arms", "%d, want 1 to 2^20: %w", o.Arms, dp.ErrDimension)
	}
	if err := checkHorizon(o.Horizon); err != nil {
		return nil, err
	}
	if o.WarmUp < 0 || o.WarmUp > o.Horizon/int64(o.Arms) {
		return nil, noregret.BadInputf("warm-up", "%d rounds for each of %d arms in %d rounds, want 0 to %d: %w",
			o.WarmUp, o.Arms, o.Horizon, o.Horizon/int64(o.Arms), ErrWarmUp)
	}
	if err := checkPositive("gap", o.Gap); err != nil {
		return nil, err
	}
	if !(o.RewardLow <= o.RewardHigh) || !vec.IsFinite(o.RewardLow) || !vec.IsFinite(o.RewardHigh) {
		return nil, noregret.BadInputf("rewards", "the range is [%v, %v], want finite ends in order: %w",
			o.RewardLow, o.RewardHigh, dp.ErrBound)
	}
	o.Problem.Horizon = o.Horizon - int64(o.Arms-1)*o.WarmUp
	o.Problem.Labels = max(math.Abs(o.RewardLow), math.Abs(o.RewardHigh))
	o.Problem.Batch = 1
	total := o.Noise.Budget
	if total.Accounting() == dp.GDP {
		// A record touches the noise of two arms, whose distance from continuous noise counts
		// twice: the room for it is one percent of δ.
		budget, err := dp.GDPBudget(total.Epsilon(), 0.99*total.Delta())
		if err != nil {
			return nil, err
		}
		o.Noise.Budget = budget
	}
	b := &HDB{o: o, budget: total}
	for a := range o.Arms {
		l, err := b.newArm(a)
		if err != nil {
			return nil, err
		}
		b.arms = append(b.arms, l)
	}
	b.charge = b.arms[0].Charge()
	b.charge.Slack *= 2
	b.context = make([]float64, o.Problem.Domain.Dim())
	b.freeze()
	return b, nil
}

func (b *HDB) newArm(arm int) (*Learner, error) {
	noise := b.o.Noise
	if b.o.ArmOptions != nil {
		noise.Options = b.o.ArmOptions(arm)
	}
	switch {
	case b.o.NonPrivate && b.o.Choices:
		return NewNonPrivatePOFW(b.o.Problem)
	case b.o.NonPrivate:
		return NewNonPrivateTOFW(b.o.Problem)
	case b.o.Choices:
		return NewPOFW(b.o.Problem, noise)
	}
	return NewTOFW(b.o.Problem, noise)
}

// freeze keeps the current estimates for the choice among arms that are nearly the best.
func (b *HDB) freeze() {
	b.state.Frozen = b.state.Frozen[:0]
	for _, l := range b.arms {
		b.state.Frozen = append(b.state.Frozen, slices.Clone(l.Theta()))
	}
}

// Choose returns the arm of the next round, from 0, for a context. The context is scaled to the
// bound X; one with a number that is not finite counts as 0. The errors are ErrBusy, ErrClosed,
// ErrDimension, ErrHorizon after T rounds, and ErrRound if the last choice has no reward; they
// change nothing.
func (b *HDB) Choose(x []float64) (int, error) {
	if !b.busy.TryLock() {
		return 0, noregret.Errorf(noregret.Usage, "choose", "%w", ErrBusy)
	}
	defer b.busy.Unlock()
	switch {
	case b.closed:
		return 0, noregret.Errorf(noregret.Usage, "choose", "the bandit is closed: %w", dp.ErrClosed)
	case len(x) != len(b.context):
		return 0, noregret.BadInputf("context", "length %d, want %d: %w", len(x), len(b.context), dp.ErrDimension)
	case b.state.Waiting:
		return 0, noregret.Errorf(noregret.Usage, "choose", "round %d has no reward yet: %w", b.state.Round+1, ErrRound)
	case b.state.Round >= b.o.Horizon:
		return 0, noregret.Errorf(noregret.Usage, "choose", "all %d declared rounds are done: %w", b.state.Round,
			dp.ErrHorizon)
	}
	copy(b.context, x)
	if _, err := dp.ClipNorm(b.context, b.o.Problem.Domain.dual.P(), b.o.Problem.Features); err != nil {
		return 0, err
	}
	b.state.Waiting = true
	if b.warming() {
		b.state.Arm = int(b.state.Round / b.o.WarmUp)
	} else {
		b.state.Arm = b.best()
	}
	return b.state.Arm, nil
}

// warming reports whether the next round belongs to the warm-up.
func (b *HDB) warming() bool { return b.state.Round < int64(b.o.Arms)*b.o.WarmUp }

// best is the arm with the largest current estimate among those that the frozen estimates put near
// the top, the lowest index in a tie.
func (b *HDB) best() int {
	top := math.Inf(-1)
	for _, theta := range b.state.Frozen {
		top = max(top, b.mean(theta))
	}
	arm, largest := -1, math.Inf(-1)
	for a, theta := range b.state.Frozen {
		if !(b.mean(theta) > top-float64(b.o.Gap/2)) {
			continue
		}
		if m := b.mean(b.arms[a].Theta()); arm < 0 || m > largest {
			arm, largest = a, m
		}
	}
	return max(arm, 0) // a link that returns NaN leaves no arm
}

// mean is ζ(⟨x, θ⟩) for the context of the round, NaN if the link panics.
func (b *HDB) mean(theta []float64) (mean float64) {
	z := vec.Dot(b.context, theta)
	if b.o.Mean == nil {
		return z
	}
	defer func() {
		if recover() != nil {
			mean = math.NaN()
		}
	}()
	return b.o.Mean(z)
}

// Reward ends the round with the reward of the chosen arm, clamped to the range of rewards. A
// reward that is not finite, also one that never came, makes the record null. The errors are
// ErrBusy, ErrClosed, and ErrRound without a choice; they change nothing.
func (b *HDB) Reward(r float64) error {
	if !b.busy.TryLock() {
		return noregret.Errorf(noregret.Usage, "reward", "%w", ErrBusy)
	}
	defer b.busy.Unlock()
	switch {
	case b.closed:
		return noregret.Errorf(noregret.Usage, "reward", "the bandit is closed: %w", dp.ErrClosed)
	case !b.state.Waiting:
		return noregret.Errorf(noregret.Usage, "reward", "no arm was chosen: %w", ErrRound)
	}
	warming := b.warming()
	for a, l := range b.arms {
		var err error
		switch {
		case a != b.state.Arm && warming:
			continue
		case a != b.state.Arm || !vec.IsFinite(r):
			err = l.StepNull()
		default:
			err = l.Step(b.context, min(max(r, b.o.RewardLow), b.o.RewardHigh))
		}
		if err != nil {
			return noregret.Errorf(noregret.Internal, "reward", "arm %d: %w", a, err)
		}
	}
	b.state.Waiting = false
	b.state.Round++
	clear(b.context)
	if warming && !b.warming() {
		b.freeze()
	}
	return nil
}

// Arms is K.
func (b *HDB) Arms() int { return len(b.arms) }

// Rounds is the number of rounds that are done. It is public.
func (b *HDB) Rounds() int64 { return b.state.Round }

// Theta returns the current estimate of an arm, which is public. The slice is valid until the next
// reward; do not change it.
func (b *HDB) Theta(arm int) []float64 { return b.arms[arm].Theta() }

// Steps is the number of steps of an arm: the same for all arms after the warm-up.
func (b *HDB) Steps(arm int) int64 { return b.arms[arm].Steps() }

// Charge is the cost of all arms together: that of one learner.
func (b *HDB) Charge() dp.Charge { return b.charge }

// String describes the bandit in one line with all parameters except the link.
func (b *HDB) String() string {
	return fmt.Sprintf("hdb(K=%d, T=%d, t0=%d, h=%v, rewards [%v, %v], %v)", b.o.Arms, b.o.Horizon, b.o.WarmUp, b.o.Gap,
		b.o.RewardLow, b.o.RewardHigh, b.arms[0])
}

// Close erases the secret state of all arms.
func (b *HDB) Close() {
	b.busy.Lock()
	defer b.busy.Unlock()
	b.closed = true
	for _, l := range b.arms {
		l.Close()
	}
	clear(b.context)
}

// MarshalBinary returns a snapshot, which is SECRET: see [Learner.MarshalBinary].
func (b *HDB) MarshalBinary() ([]byte, error) {
	b.busy.Lock()
	defer b.busy.Unlock()
	s := b.state
	s.Context = b.context
	s.Arms = nil
	for _, l := range b.arms {
		data, err := l.MarshalBinary()
		if err != nil {
			return nil, err
		}
		s.Arms = append(s.Arms, data)
	}
	return snapshot.Seal(magic, b.String(), s)
}

// UnmarshalBinary restores a snapshot of a bandit with the same parameters. An error changes
// nothing.
func (b *HDB) UnmarshalBinary(data []byte) error {
	b.busy.Lock()
	defer b.busy.Unlock()
	if b.closed {
		return noregret.Errorf(noregret.Usage, "snapshot", "the bandit is closed: %w", dp.ErrClosed)
	}
	var s hdbState
	if err := snapshot.Open(data, magic, b.String(), &s); err != nil {
		return err
	}
	d := len(b.context)
	if s.Round < 0 || s.Round > b.o.Horizon || len(s.Frozen) != len(b.arms) || len(s.Arms) != len(b.arms) ||
		s.Arm < 0 || s.Arm >= len(b.arms) || len(s.Context) != d || !vec.Finite(s.Context) {
		return snapshot.Bad("damaged: its counts or lengths are wrong")
	}
	fresh := make([]*Learner, len(b.arms))
	for a := range fresh {
		if len(s.Frozen[a]) != d || !vec.Finite(s.Frozen[a]) {
			return snapshot.Bad("damaged: the estimate of arm %d", a)
		}
		var err error
		if fresh[a], err = b.newArm(a); err != nil {
			return err
		}
		if err := fresh[a].UnmarshalBinary(s.Arms[a]); err != nil {
			return err
		}
	}
	b.arms, b.context = fresh, s.Context
	s.Context, s.Arms = nil, nil
	b.state = s
	return nil
}
