package oco

import (
	"fmt"
	"math"

	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/snapshot"
)

// NewtonBettor chooses its fraction by the online Newton step on the losses −ln(1 + β·c_t)
// (Cutkosky and Orabona 2018, Algorithm 1): with γ = (2 − ln 3)/2,
//
//	z_t = −c_t/(1 + β_t·c_t),   A_t = 1 + Σ_{i≤t} z_i²,   β_{t+1} = β_t − z_t/(γ·A_t), clipped to [−½, ½].
//
// It adapts to the coins: where [KTBettor] has the number of rounds in its guarantee, NewtonBettor
// has Σc². Take it if most coins are far smaller than 1, as when a Lipschitz constant is a loose
// bound on the subgradients.
//
// Guarantee: for fractions up to ½, −ln(1 + β·c) lies above its tangent by (γ/2)·z²·(β − β_t)², so
// that the log-wealth is within (γ/2)·β² + ln(A_t)/(2γ) of that of every fixed β in [−½, ½]. With
// ln(1 + x) ≥ x − x² that gives, for Q = Σc² + γ/2 and S = |Σc|,
//
//	Wealth_t ≥ ε·A_t^(−1/(2γ))·exp(S²/(4Q)) for S ≤ Q, ε·A_t^(−1/(2γ))·exp(S/2 − Q/4) for others,
//
// and for the learner that plays the bets a regret of order |u|·L·√(Q·ln(|u|Q/ε)) +
// |u|·L·ln(|u|Q/ε) + L·ε. A round costs O(1).
type NewtonBettor struct {
	epsilon float64
	state   newtonBettorState
}

type newtonBettorState struct {
	Wealth  wealth
	Beta    float64
	Slopes  sum // Σ z²
	Squares sum // Σ c²
}

// newtonGamma is (2 − ln 3)/2.
const newtonGamma = 0.4506938556659452

// NewNewtonBettor begins with the wealth epsilon > 0.
func NewNewtonBettor(epsilon float64) (*NewtonBettor, error) {
	w, err := newWealth(epsilon)
	if err != nil {
		return nil, err
	}
	return &NewtonBettor{epsilon: epsilon, state: newtonBettorState{Wealth: w}}, nil
}

// Fraction implements [Bettor].
func (b *NewtonBettor) Fraction() float64 { return b.state.Beta }

// LogWealth implements [Bettor].
func (b *NewtonBettor) LogWealth() float64 { return b.state.Wealth.Log.value() }

// Observe implements [Bettor].
func (b *NewtonBettor) Observe(c float64) error {
	c, err := checkCoin(c)
	if err != nil {
		return err
	}
	st := &b.state
	z := -c / (1 + float64(st.Beta*c))
	st.Wealth.toss(st.Beta, c)
	st.Squares.add(float64(c * c))
	st.Slopes.add(float64(z * z))
	st.Beta = min(max(st.Beta-z/float64(newtonGamma*(1+st.Slopes.value())), -0.5), 0.5)
	return nil
}

// Conjugate implements [GuaranteedBettor].
func (b *NewtonBettor) Conjugate(u float64) float64 {
	if b.state.Wealth.T == 0 {
		return -b.epsilon
	}
	q := b.state.Squares.value() + newtonGamma/2
	logB := portable.Log(b.epsilon) - float64(portable.Log1p(b.state.Slopes.value())/(2*newtonGamma))
	size := math.Abs(u)
	// The guarantee rises by (b/2)·e^(Q/4) where its two parts meet, at S = Q.
	// Above that slope the largest S·u − φ(S) is at an S > Q.
	if log := portable.Log(2*size) - logB; log > q/4 && size > 0 {
		return float64(2 * size * (log + float64(q/4) - 1))
	}
	return exponentialConjugate(u, 2*q, logB)
}

// String describes the bettor and its options in one line.
func (b *NewtonBettor) String() string { return fmt.Sprintf("newton-bettor(epsilon=%v)", b.epsilon) }

// MarshalBinary implements [Snapshotter].
func (b *NewtonBettor) MarshalBinary() ([]byte, error) {
	return snapshot.Seal(snapshotMagic, b.String(), &b.state)
}

// UnmarshalBinary implements [Snapshotter].
func (b *NewtonBettor) UnmarshalBinary(data []byte) error {
	return restore(data, b.String(), &b.state, func(s *newtonBettorState) error {
		n := float64(s.Wealth.T)
		if z, q := s.Slopes.value(), s.Squares.value(); !(math.Abs(s.Beta) <= 0.5 && z >= 0 && z <= float64(4*n)+1e-6 &&
			q >= 0 && q <= n+1e-6) {
			return snapshot.Bad("damaged: a fraction of %v, squares of sum %v and %v after %v rounds", s.Beta, z, q, n)
		}
		return s.Wealth.check()
	})
}
