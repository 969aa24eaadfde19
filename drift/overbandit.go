package drift

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/bandit"
	"github.com/noregret/noregret/forget"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/snapshot"
)

// OverBanditOptions are the parameters of [NewOverBandit]. The zero value is refused: Rounds, Make
// and the range are required.
type OverBanditOptions struct {
	// Rounds T ≥ 1 is the horizon.
	Rounds int
	// Make makes a learner at its start for batches of the given number of rounds. All have the
	// same dimension.
	Make func(rounds int) (CostLearner, error)
	// Mode is what a restart within a block keeps.
	Mode Mode
	// Low < High is the range of the observed costs' means over a block. Means outside it are cut
	// off.
	Low, High float64
}

// OverBandit chooses the batch size of a learner that sees only costs, for an unknown variation
// (bandit over bandit; Cheung, Simchi-Levi and Zhu 2019). The rounds are divided into blocks of B =
// ⌈√T⌉. For each block a bandit algorithm, Exp3 (Auer, Cesa-Bianchi, Freund and Schapire 2002),
// chooses Δ ∈ {1, 2, 4, ..., 2^⌊log₂B⌋}; in the block a learner plays from its start, restarted
// every Δ rounds; and the mean cost of the block is the loss of Δ. With K sizes and g = ⌈T/B⌉
// blocks, Exp3 explores with probability γ = min(1, √(K·ln K/((e−1)·g))).
//
// Guarantee in expectation: the regret of the best of the sizes, and at most
// [OverBandit.ChoiceBound]. For a learner of static regret of order √n it is of order
// V^(1/3)·T^(2/3) + T^(3/4), but for logarithms.
//
// It is a [CostLearner] itself. A round costs that of one learner and, once a block, O(log T). It
// keeps K learners.
type OverBandit struct {
	o        OverBanditOptions
	learners []*RestartedCost
	exp3     *bandit.Player
	block    int
	text     string
	s        overBanditState
}

type overBanditState struct {
	Arm   int // of the block, −1 before its first round
	Age   int // rounds of the block that have ended
	Sum   float64
	T     int
	Open  bool
	Exp3  []byte
	Inner []byte
}

// NewOverBandit returns the learner, or an error of code bad_input that names the option out of
// range.
func NewOverBandit(o OverBanditOptions) (*OverBandit, error) {
	if o.Rounds < 1 {
		return nil, noregret.BadInputf("rounds", "%d: want at least 1", o.Rounds)
	}
	if o.Make == nil {
		return nil, noregret.BadInputf("make", "nil: want a function")
	}
	if !(o.Low < o.High) || checkLoss("", o.Low) != nil || checkLoss("", o.High) != nil {
		return nil, noregret.BadInputf("range", "[%v, %v]: want finite numbers in order, of size at most %v", o.Low,
			o.High, largestLoss)
	}
	l := &OverBandit{o: o, block: int(math.Ceil(math.Sqrt(float64(o.Rounds))))}
	arms := bits.Len(uint(l.block))
	for i := range arms {
		inner, err := o.Make(1 << i)
		if err != nil {
			return nil, fmt.Errorf("batches of %d rounds: %w", 1<<i, err)
		}
		if inner == nil || i > 0 && inner.Dim() != l.learners[0].Dim() {
			return nil, noregret.BadInputf("make", "the learner for %d rounds is nil or of another dimension", 1<<i)
		}
		trigger, err := forget.Every(1 << i)
		if err != nil {
			return nil, err
		}
		w, err := NewRestartedCost(inner, trigger, o.Mode)
		if err != nil {
			return nil, err
		}
		l.learners = append(l.learners, w)
	}
	gamma := l.exploration()
	var err error
	// Exp3 of the paper has gains 1 − loss and the rate γ/K.
	l.exp3, err = bandit.NewPlayer(arms, bandit.ExploringWeights{
		Rate: gamma / float64(arms), Explore: gamma, Limit: 1, Signed: true,
	})
	if err != nil {
		return nil, err
	}
	l.s.Arm = -1
	l.text = fmt.Sprintf("over-bandit(%s, rounds=%d, %v, range=[%v, %v])", textOf(l.learners[0].learner), o.Rounds,
		o.Mode, o.Low, o.High)
	return l, nil
}

// exploration is γ.
func (l *OverBandit) exploration() float64 {
	k, blocks := float64(len(l.learners)), float64((l.o.Rounds-1)/l.block+1)
	if k == 1 {
		return 1
	}
	return min(1, math.Sqrt(float64(k*portable.Log(k))/float64((math.E-1)*blocks)))
}

// ChoiceBound is 2.63·(High−Low)·√(T·B·K·ln K), what not knowing the best batch size costs at most,
// in expectation and as long as means of blocks are in [Low, High].
func (l *OverBandit) ChoiceBound() float64 {
	k := float64(len(l.learners))
	rounds := float64((l.o.Rounds-1)/l.block+1) * float64(l.block)
	return 2.63 * (l.o.High - l.o.Low) * math.Sqrt(float64(rounds*float64(l.block))*float64(k*portable.Log(k)))
}

// Block is B, the number of rounds of a block.
func (l *OverBandit) Block() int { return l.block }

// BatchSize is the Δ of the current block, 0 before its first round.
func (l *OverBandit) BatchSize() int {
	if l.s.Arm < 0 {
		return 0
	}
	return 1 << l.s.Arm
}

// Dim implements [CostLearner].
func (l *OverBandit) Dim() int { return l.learners[0].Dim() }

// Rounds is the number of rounds that have ended.
func (l *OverBandit) Rounds() int { return l.s.T }

// Play implements [CostLearner]. In the first round of a block it also draws Δ from r.
func (l *OverBandit) Play(r Rand) ([]float64, error) {
	if err := checkTurn(l.s.Open, false); err != nil {
		return nil, err
	}
	if r == nil {
		return nil, noregret.BadInputf("rand", "nil: want a source of random numbers")
	}
	if l.s.Arm < 0 {
		l.s.Arm = l.exp3.Draw(r)
		if err := l.learners[l.s.Arm].Restart(Full); err != nil {
			return nil, err
		}
	}
	x, err := l.learners[l.s.Arm].Play(r)
	l.s.Open = err == nil
	return x, err
}

// Observe implements [CostLearner].
func (l *OverBandit) Observe(cost float64) error {
	if err := checkTurn(l.s.Open, true); err != nil {
		return err
	}
	if err := l.learners[l.s.Arm].Observe(cost); err != nil {
		return err
	}
	l.s.Open = false
	l.s.T++
	l.s.Age++
	l.s.Sum += cost
	if l.s.Age < l.block {
		return nil
	}
	mean := min(max(l.s.Sum/float64(l.block), l.o.Low), l.o.High)
	gain := (l.o.High - mean) / (l.o.High - l.o.Low)
	err := l.exp3.Update(l.s.Arm, -gain)
	l.s.Arm, l.s.Age, l.s.Sum = -1, 0, 0
	return err
}

// Restart implements [CostLearner]. In mode [Full] all returns to the start. In the other modes the
// learner of the current block restarts.
func (l *OverBandit) Restart(m Mode) error {
	if err := m.check(); err != nil {
		return err
	}
	if err := checkTurn(l.s.Open, false); err != nil {
		return err
	}
	if m != Full {
		if l.s.Arm >= 0 {
			return l.learners[l.s.Arm].Restart(m)
		}
		return nil
	}
	fresh, err := NewOverBandit(l.o)
	if err != nil {
		return err
	}
	*l = *fresh
	return nil
}

// String describes the learner and its options in one line.
func (l *OverBandit) String() string { return l.text }

// MarshalBinary implements [CostLearner]. Only the learner of the current block has a state.
func (l *OverBandit) MarshalBinary() ([]byte, error) {
	s := l.s
	var err error
	if s.Exp3, err = l.exp3.MarshalBinary(); err != nil {
		return nil, err
	}
	if s.Arm >= 0 {
		if s.Inner, err = l.learners[s.Arm].MarshalBinary(); err != nil {
			return nil, err
		}
	}
	return snapshot.Seal(snapshotMagic, l.text, &s)
}

// UnmarshalBinary implements [CostLearner]. An error changes nothing.
func (l *OverBandit) UnmarshalBinary(data []byte) error {
	var s overBanditState
	if err := snapshot.Open(data, snapshotMagic, l.text, &s); err != nil {
		return err
	}
	if s.Arm < -1 || s.Arm >= len(l.learners) || s.Age < 0 || s.Age >= l.block || s.T < s.Age || s.Open && s.Arm < 0 ||
		!(math.Abs(s.Sum) <= math.MaxFloat64) {
		return snapshot.Bad("damaged: arm %d in round %d of a block", s.Arm, s.Age)
	}
	before, err := l.exp3.MarshalBinary()
	if err != nil {
		return err
	}
	if err := l.exp3.UnmarshalBinary(s.Exp3); err != nil {
		return err
	}
	if s.Arm >= 0 {
		if err := l.learners[s.Arm].UnmarshalBinary(s.Inner); err != nil {
			return errors.Join(err, l.exp3.UnmarshalBinary(before)) // back to where it was
		}
	}
	s.Exp3, s.Inner = nil, nil
	l.s = s
	return nil
}
