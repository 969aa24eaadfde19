package oco

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/vec"
)

// maxLogWealth is the largest log-wealth that learners keep. It leaves room for sums of bets.
const maxLogWealth = 690

// Betting is the learner on ℝ that plays the bets of a [Bettor]: the reduction of online linear
// optimization to coin betting (Orabona and Pál 2016; Orabona 2019, section 9.2),
//
//	x_t = β_t·Wealth_{t−1},   c_t = −g_t/L,
//
// for subgradients of at most L, which must be known. Points are not rescaled by L. It has no
// learning rate: with a [KTBettor] (Algorithm 9.2) the regret is, for every u at once, at most
//
//	|u|·L·√(T·ln(1 + 24T²u²/ε²)) + L·ε,
//
// where the regret at 0 is at most L·ε, the initial money. No learner with constant regret at 0
// can avoid the logarithm (Theorem 5.12); see also [Constrained] and [MagnitudeDirection].
//
// Guarantee (Bound), for a [GuaranteedBettor]: L·(ε + φ*(u)) (Theorem 9.6). A subgradient above L,
// by more than a relative 1e-12, is refused, and so is one after which the wealth leaves the range
// of float64. A round costs that of the bettor.
type Betting struct {
	bettor    Bettor
	lipschitz float64
	point     [1]float64
	state     bettingState
}

type bettingState struct {
	Rounds  int
	Initial float64 // ln ε
}

// bettingSnapshot is a snapshot of Betting, with that of the bettor.
type bettingSnapshot struct {
	State  bettingState
	Bettor []byte
}

// NewBetting plays the bets of a bettor before its first round, for subgradients of at most
// lipschitz.
func NewBetting(b Bettor, lipschitz float64) (*Betting, error) {
	if b == nil {
		return nil, noregret.BadInputf("bettor", "nil: want a bettor")
	}
	if err := positive("lipschitz", lipschitz); err != nil {
		return nil, err
	}
	w := b.LogWealth()
	if !(w <= maxLogWealth) || math.IsInf(w, -1) {
		return nil, noregret.BadInputf("bettor", "its log-wealth is %v: want a finite number, at most %v", w,
			maxLogWealth)
	}
	return &Betting{bettor: b, lipschitz: lipschitz, state: bettingState{Initial: w}}, nil
}

// NewKT is [Betting] with a [KTBettor] of initial wealth epsilon (Orabona 2019, Algorithm 9.2).
func NewKT(lipschitz, epsilon float64) (*Betting, error) {
	b, err := NewKTBettor(epsilon)
	if err != nil {
		return nil, err
	}
	return NewBetting(b, lipschitz)
}

// Dim implements [Learner]. It is 1.
func (l *Betting) Dim() int { return 1 }

// Rounds implements [Counter].
func (l *Betting) Rounds() int { return l.state.Rounds }

// LogWealth is the logarithm of the bettor's wealth, ln(ε − Σ g_t·x_t/L).
func (l *Betting) LogWealth() float64 { return l.bettor.LogWealth() }

// Predict implements [Learner].
func (l *Betting) Predict() []float64 {
	l.point[0] = float64(l.bettor.Fraction() * portable.Exp(l.bettor.LogWealth()))
	return l.point[:]
}

// coin is the coin of a subgradient, or the error that Update returns for it.
func (l *Betting) coin(g []float64) (float64, error) {
	if err := checkFinite("gradient", g, 1); err != nil {
		return 0, err
	}
	return coinOf(g[0], l.lipschitz, l.bettor.Fraction(), l.bettor.LogWealth())
}

// coinOf is the coin −g/L, or the error for a g above L or one that makes the wealth too large.
func coinOf(g, lipschitz, beta, logWealth float64) (float64, error) {
	c := -g / lipschitz
	if !(math.Abs(c) <= 1+1e-12) {
		return 0, noregret.BadInputf("gradient", "%v: want at most the Lipschitz constant %v in absolute value", g,
			lipschitz)
	}
	c = min(max(c, -1), 1)
	if logWealth < maxLogWealth-1 { // a round at most doubles the wealth
		return c, nil
	}
	if w := logWealth + portable.Log1p(float64(beta*c)); w > maxLogWealth {
		return 0, noregret.BadInputf("gradient", "%v: the wealth, exp(%v), leaves the range of float64", g, w)
	}
	return c, nil
}

func (l *Betting) checkGradient(g []float64) error {
	_, err := l.coin(g)
	return err
}

// Update implements [Learner].
func (l *Betting) Update(g []float64) error {
	c, err := l.coin(g)
	if err != nil {
		return err
	}
	if err := l.bettor.Observe(c); err != nil {
		return err
	}
	l.state.Rounds++
	return nil
}

// Bound implements [Bounder].
func (l *Betting) Bound(u []float64) (float64, error) {
	if err := checkFinite("comparator", u, 1); err != nil {
		return 0, err
	}
	if l.state.Rounds == 0 {
		return 0, nil
	}
	b, ok := l.bettor.(GuaranteedBettor)
	if !ok {
		return math.Inf(1), nil
	}
	return orInf(float64(l.lipschitz * max(portable.Exp(l.state.Initial)+b.Conjugate(u[0]), 0))), nil
}

// String describes the learner and its options in one line.
func (l *Betting) String() string {
	name := fmt.Sprintf("%T", l.bettor)
	if s, ok := l.bettor.(fmt.Stringer); ok {
		name = s.String()
	}
	return fmt.Sprintf("betting(%s, lipschitz=%v)", name, l.lipschitz)
}

// saved is the bettor, if its state can be saved.
func (l *Betting) saved() (Snapshotter, error) {
	s, ok := l.bettor.(Snapshotter)
	if !ok {
		return nil, noregret.BadInputf("bettor", "%T cannot be saved: it is not a Snapshotter", l.bettor)
	}
	return s, nil
}

// MarshalBinary implements [Snapshotter]; the bettor must be one too.
func (l *Betting) MarshalBinary() ([]byte, error) {
	b, err := l.saved()
	if err != nil {
		return nil, err
	}
	s := bettingSnapshot{State: l.state}
	if s.Bettor, err = b.MarshalBinary(); err != nil {
		return nil, err
	}
	return snapshot.Seal(snapshotMagic, l.String(), &s)
}

// UnmarshalBinary implements [Snapshotter].
func (l *Betting) UnmarshalBinary(data []byte) error {
	b, err := l.saved()
	if err != nil {
		return err
	}
	var s bettingSnapshot
	if err := snapshot.Open(data, snapshotMagic, l.String(), &s); err != nil {
		return err
	}
	if s.State.Rounds < 0 || !vec.IsFinite(s.State.Initial) {
		return snapshot.Bad("damaged: %d rounds from a log-wealth of %v", s.State.Rounds, s.State.Initial)
	}
	if err := b.UnmarshalBinary(s.Bettor); err != nil {
		return err
	}
	l.state = s.State
	return nil
}

// learnerBettor is the bettor that bets the points of a learner on ℝ.
type learnerBettor struct {
	learner Learner
	log     sum // ln Wealth
	one     [1]float64
}

// NewLearnerBettor is the other direction of the reduction: the bettor that bets the points of a
// learner on ℝ and gives it the subgradients −c_t. A learner whose regret at 0 never exceeds
// epsilon never bets more than it has; for another, Fraction may leave [−1, 1], and Observe then
// returns an error of code bad_input. The bettor is not a [Snapshotter].
func NewLearnerBettor(l Learner, epsilon float64) (Bettor, error) {
	if l == nil || l.Dim() != 1 {
		return nil, noregret.BadInputf("learner", "want a learner of dimension 1")
	}
	w, err := newWealth(epsilon)
	if err != nil {
		return nil, err
	}
	return &learnerBettor{learner: l, log: w.Log}, nil
}

func (b *learnerBettor) Fraction() float64 {
	x := b.learner.Predict()[0]
	if x == 0 {
		return 0
	}
	return math.Copysign(portable.Exp(portable.Log(math.Abs(x))-b.log.value()), x)
}

func (b *learnerBettor) LogWealth() float64 { return b.log.value() }

func (b *learnerBettor) Observe(c float64) error {
	c, err := checkCoin(c)
	if err != nil {
		return err
	}
	beta := b.Fraction()
	if !(math.Abs(beta) <= 1) {
		return noregret.BadInputf("learner", "it bets %v times the wealth: want at most all of it", math.Abs(beta))
	}
	change := portable.Log1p(float64(beta * c))
	if math.IsInf(change, -1) {
		return noregret.BadInputf("coin", "%v: it leaves the bettor without money", c)
	}
	b.one[0] = -c
	if err := b.learner.Update(b.one[:]); err != nil {
		return err
	}
	b.log.add(change)
	return nil
}

func (b *learnerBettor) String() string { return fmt.Sprintf("bettor(%s)", kindOf(b.learner)) }
