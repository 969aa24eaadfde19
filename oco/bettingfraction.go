package oco

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/snapshot"
)

// FixedFractionBettor bets the same fraction β of its wealth in every round (Kelly 1956): the
// comparator of the coin-betting game, and the best bettor for independent ±1 coins of mean β.
//
// Guarantee: ln(1 + β·c) ≥ β·c − (−ln(1 − |β|) − |β|)·c² for |c| ≤ 1, as (x − ln(1 + x))/x² falls
// in x. So Wealth_t ≥ b·exp(β·S_t) with b = ε·exp(−(−ln(1 − |β|) − |β|)·Σc_i²). That grows with the
// sum of coins on one side only: the learner that plays its bets has a bound for u of the sign of
// β. A round costs O(1).
type FixedFractionBettor struct {
	beta, epsilon float64
	state         fixedFractionState
}

type fixedFractionState struct {
	Wealth  wealth
	Squares sum // Σ c²
}

// NewFixedFractionBettor bets the fraction beta, above −1 and below 1, from the wealth epsilon > 0.
func NewFixedFractionBettor(beta, epsilon float64) (*FixedFractionBettor, error) {
	if !(math.Abs(beta) < 1) {
		return nil, noregret.BadInputf("beta", "%v: want a number above -1 and below 1", beta)
	}
	w, err := newWealth(epsilon)
	if err != nil {
		return nil, err
	}
	return &FixedFractionBettor{beta: beta, epsilon: epsilon, state: fixedFractionState{Wealth: w}}, nil
}

// Fraction implements [Bettor].
func (b *FixedFractionBettor) Fraction() float64 { return b.beta }

// LogWealth implements [Bettor].
func (b *FixedFractionBettor) LogWealth() float64 { return b.state.Wealth.Log.value() }

// Observe implements [Bettor].
func (b *FixedFractionBettor) Observe(c float64) error {
	c, err := checkCoin(c)
	if err != nil {
		return err
	}
	b.state.Wealth.toss(b.beta, c)
	b.state.Squares.add(float64(c * c))
	return nil
}

// Conjugate implements [GuaranteedBettor]: (u/β)·(ln(u/(b·β)) − 1) for u/β > 0, 0 for u = 0, and
// +Inf for other u unless β = 0.
func (b *FixedFractionBettor) Conjugate(u float64) float64 {
	switch n := u / b.beta; {
	case b.state.Wealth.T == 0 || u == 0 && b.beta == 0:
		return -b.epsilon
	case u == 0:
		return 0
	case n > 0 && !math.IsInf(n, 1):
		size := math.Abs(b.beta)
		least := portable.Log(b.epsilon) + float64((portable.Log1p(-size)+size)*b.state.Squares.value())
		return float64(n * (portable.Log(math.Abs(u)) - portable.Log(size) - least - 1))
	}
	return math.Inf(1)
}

// String describes the bettor and its options in one line.
func (b *FixedFractionBettor) String() string {
	return fmt.Sprintf("fixed-fraction-bettor(beta=%v, epsilon=%v)", b.beta, b.epsilon)
}

// MarshalBinary implements [Snapshotter].
func (b *FixedFractionBettor) MarshalBinary() ([]byte, error) {
	return snapshot.Seal(snapshotMagic, b.String(), &b.state)
}

// UnmarshalBinary implements [Snapshotter].
func (b *FixedFractionBettor) UnmarshalBinary(data []byte) error {
	return restore(data, b.String(), &b.state, func(s *fixedFractionState) error {
		if q := s.Squares.value(); !(q >= 0 && q <= float64(s.Wealth.T)+1e-6) {
			return snapshot.Bad("damaged: squares of coins of sum %v after %d rounds", q, s.Wealth.T)
		}
		return s.Wealth.check()
	})
}

// ExponentialBettor bets by the exponential potential with a horizon T (Orabona and Pál 2016;
// Orabona 2019, section 9.6.1),
//
//	β_t = tanh(S_{t−1}/(t + T)),   S_t = Σ_{i≤t} c_i,
//
// which is (F_t(S+1) − F_t(S−1))/(F_t(S+1) + F_t(S−1)) for F_t(x) = ε·exp(x²/(2(t+T)) − Σ_{i≤t}
// 1/(2(i+T))).
//
// Guarantee: Wealth_t ≥ F_t(S_t) after every round. So Wealth_T ≥ (ε/√2)·exp(S_T²/(4T)): within the
// horizon it never loses more than 1 − 1/√2, 29.3 %, of its wealth. Rounds after the horizon are
// allowed; the part that it keeps then falls as √(T/(t+T)). A round costs O(1).
type ExponentialBettor struct {
	horizon int
	epsilon float64
	state   exponentialBettorState
}

type exponentialBettorState struct {
	Wealth   wealth
	Harmonic sum // Σ_{i≤t} 1/(i + T)
}

// NewExponentialBettor bets for the given number of rounds, at least 1, from the wealth epsilon >
// 0.
func NewExponentialBettor(rounds int, epsilon float64) (*ExponentialBettor, error) {
	if rounds < 1 {
		return nil, noregret.BadInputf("rounds", "%d: want at least 1", rounds)
	}
	w, err := newWealth(epsilon)
	if err != nil {
		return nil, err
	}
	return &ExponentialBettor{horizon: rounds, epsilon: epsilon, state: exponentialBettorState{Wealth: w}}, nil
}

// span is t + T for the round t.
func (b *ExponentialBettor) span(t int) float64 { return float64(t) + float64(b.horizon) }

// Fraction implements [Bettor].
func (b *ExponentialBettor) Fraction() float64 {
	return portable.Tanh(b.state.Wealth.Coins.value() / b.span(b.state.Wealth.T+1))
}

// LogWealth implements [Bettor].
func (b *ExponentialBettor) LogWealth() float64 { return b.state.Wealth.Log.value() }

// Observe implements [Bettor].
func (b *ExponentialBettor) Observe(c float64) error {
	c, err := checkCoin(c)
	if err != nil {
		return err
	}
	b.state.Wealth.toss(b.Fraction(), c)
	b.state.Harmonic.add(1 / b.span(b.state.Wealth.T))
	return nil
}

// Conjugate implements [GuaranteedBettor]. At the horizon ε + Conjugate(u) is at most |u|·√(2T·ln(1
// + 4T·u²/ε²)) + ε·(1 − 1/√2).
func (b *ExponentialBettor) Conjugate(u float64) float64 {
	if b.state.Wealth.T == 0 {
		return -b.epsilon
	}
	return exponentialConjugate(u, b.span(b.state.Wealth.T),
		portable.Log(b.epsilon)-float64(b.state.Harmonic.value()/2))
}

// String describes the bettor and its options in one line.
func (b *ExponentialBettor) String() string {
	return fmt.Sprintf("exponential-bettor(rounds=%d, epsilon=%v)", b.horizon, b.epsilon)
}

// MarshalBinary implements [Snapshotter].
func (b *ExponentialBettor) MarshalBinary() ([]byte, error) {
	return snapshot.Seal(snapshotMagic, b.String(), &b.state)
}

// UnmarshalBinary implements [Snapshotter].
func (b *ExponentialBettor) UnmarshalBinary(data []byte) error {
	return restore(data, b.String(), &b.state, func(s *exponentialBettorState) error {
		if h := s.Harmonic.value(); !(h >= 0 && h <= float64(s.Wealth.T)) {
			return snapshot.Bad("damaged: a harmonic sum of %v after %d rounds", h, s.Wealth.T)
		}
		return s.Wealth.check()
	})
}
