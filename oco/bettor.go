package oco

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/vec"
)

// Bettor plays the coin-betting game (Orabona 2019, section 9.1). It begins with Wealth_0 = ε > 0.
// In round t it bets the fraction β_t of its wealth on the coin c_t ∈ [−1, 1], so that
//
//	Wealth_t = Wealth_{t−1}·(1 + β_t·c_t) = ε + Σ_{i≤t} c_i·x_i,   x_t = β_t·Wealth_{t−1}.
//
// A bettor that makes much money is a learner without a learning rate: see [Betting]. Wealth is
// held as its logarithm, which does not overflow. A bettor is deterministic, allocates nothing per
// round and is not safe for concurrent use. [KTBettor], [NewtonBettor], [ExponentialBettor] and
// [FixedFractionBettor] are bettors; [NewLearnerBettor] makes one of a learner.
type Bettor interface {
	// Fraction is β_t, from −1 to 1; the sign is that of the coins on which it bets.
	Fraction() float64
	// LogWealth is ln Wealth_{t−1}.
	LogWealth() float64
	// Observe ends the round with the coin c_t. A coin outside [−1, 1], by more than 1e-12, is
	// refused with an error of code bad_input and changes nothing.
	Observe(c float64) error
}

// GuaranteedBettor is a bettor with a lower bound on its wealth. All bettors of this package but
// that of [NewLearnerBettor] are such.
type GuaranteedBettor interface {
	Bettor
	// Conjugate is φ*(u) = sup_S S·u − φ(S), or an upper bound on it, where φ is the function with
	// Wealth_t ≥ φ(Σ_{i≤t} c_i) after the rounds so far, whatever their coins were. By the duality
	// of reward and regret (Orabona 2019, Theorem 9.6) the learner that plays the bets has regret
	// at most ε + φ*(u). It is +Inf where that says nothing.
	Conjugate(u float64) float64
}

// Bet is β_t·Wealth_{t−1}, the bet of the current round. It is an error of code diverged if the
// wealth is above the largest float64.
func Bet(b Bettor) (float64, error) {
	w := portable.Exp(b.LogWealth())
	if !vec.IsFinite(w) {
		return 0, noregret.Errorf(noregret.Diverged, "bet", "the wealth, exp(%v), leaves the range of float64",
			b.LogWealth())
	}
	return float64(b.Fraction() * w), nil
}

// wealth is the state that bettors share. Its sums are compensated, so that bets are exact to the
// last digits after millions of rounds.
type wealth struct {
	T     int
	Coins sum // Σ c
	Log   sum // ln Wealth
}

// newWealth is the wealth ε before the first round.
func newWealth(epsilon float64) (w wealth, err error) {
	if err := positive("epsilon", epsilon); err != nil {
		return w, err
	}
	w.Log.add(portable.Log(epsilon))
	return w, nil
}

// toss ends a round in which the fraction beta was bet on coin c, which has been checked.
func (w *wealth) toss(beta, c float64) {
	w.Log.add(portable.Log1p(float64(beta * c)))
	w.Coins.add(c)
	w.T++
}

// check returns an error for a restored state that no game leads to.
func (w *wealth) check() error {
	s, log := w.Coins.value(), w.Log.value()
	if w.T < 0 || !(math.Abs(s) <= float64(w.T)+1e-6) || !vec.IsFinite(log) {
		return snapshot.Bad("damaged: coins of sum %v and a log-wealth of %v after %d rounds", s, log, w.T)
	}
	return nil
}

// checkCoin returns the coin, clamped to [−1, 1] where rounding has left that interval.
func checkCoin(c float64) (float64, error) {
	if !(math.Abs(c) <= 1+1e-12) {
		return 0, noregret.BadInputf("coin", "%v: want a number from -1 to 1", c)
	}
	return min(max(c, -1), 1), nil
}

// exponentialConjugate is f*(θ) of f(x) = b·exp(x²/(2a)) for a, b > 0, with b given as its
// logarithm (Orabona 2019, Lemma 9.7): with W·e^W = a·θ²/b²,
//
//	f*(θ) = √a·|θ|·(√W − 1/√W),   f*(0) = −b.
func exponentialConjugate(theta, a, logB float64) float64 {
	logZ := portable.Log(a) + float64(2*(portable.Log(math.Abs(theta))-logB))
	if !(logZ > -700) { // also for θ = 0
		return -portable.Exp(logB)
	}
	root := math.Sqrt(portable.LambertW0Exp(logZ))
	return float64(math.Sqrt(a) * math.Abs(theta) * (root - 1/root))
}

// KTBettor is the bettor of Krichevsky and Trofimov (1981; Orabona and Pál 2016; Orabona 2019,
// Algorithm 9.1),
//
//	β_t = (Σ_{i<t} c_i)/t.
//
// It needs to know nothing and can never lose all: 1 + β_t·c ≥ 1/t.
//
// Guarantee, for coins in [−1, 1] and S_t = Σ_{i≤t} c_i, with F_t(x) =
// 2^t·Γ((t+1+x)/2)·Γ((t+1−x)/2) / (π·Γ(t+1)): after every round
//
//	Wealth_t ≥ ε·F_t(S_t) ≥ (ε/(e·√(πt)))·exp(S_t²/(2t))
//
// (Orabona and Pál 2016), with equality in the first place for coins ±1. For those its log-wealth
// is also within ½·ln t + ln 2 of that of the best fixed fraction in hindsight (Theorem 9.3; the
// book states it for all coins, for which it fails). A round costs O(1).
type KTBettor struct {
	epsilon float64
	state   wealth
}

// NewKTBettor begins with the wealth epsilon > 0.
func NewKTBettor(epsilon float64) (*KTBettor, error) {
	w, err := newWealth(epsilon)
	if err != nil {
		return nil, err
	}
	return &KTBettor{epsilon: epsilon, state: w}, nil
}

// Fraction implements [Bettor].
func (b *KTBettor) Fraction() float64 { return b.state.Coins.value() / float64(b.state.T+1) }

// LogWealth implements [Bettor].
func (b *KTBettor) LogWealth() float64 { return b.state.Log.value() }

// Observe implements [Bettor].
func (b *KTBettor) Observe(c float64) error {
	c, err := checkCoin(c)
	if err != nil {
		return err
	}
	b.state.toss(b.Fraction(), c)
	return nil
}

// Conjugate implements [GuaranteedBettor].
func (b *KTBettor) Conjugate(u float64) float64 { return ktConjugate(u, b.state.T, b.epsilon) }

// ktConjugate is the conjugate of the guarantee of [KTBettor] after t rounds from wealth ε.
func ktConjugate(u float64, t int, epsilon float64) float64 {
	if t == 0 {
		return -epsilon // S = 0
	}
	n := float64(t)
	return exponentialConjugate(u, n, portable.Log(epsilon)-1-float64(portable.Log(math.Pi*n)/2))
}

// String describes the bettor and its options in one line.
func (b *KTBettor) String() string { return fmt.Sprintf("kt-bettor(epsilon=%v)", b.epsilon) }

// MarshalBinary implements [Snapshotter].
func (b *KTBettor) MarshalBinary() ([]byte, error) {
	return snapshot.Seal(snapshotMagic, b.String(), &b.state)
}

// UnmarshalBinary implements [Snapshotter].
func (b *KTBettor) UnmarshalBinary(data []byte) error {
	return restore(data, b.String(), &b.state, (*wealth).check)
}
