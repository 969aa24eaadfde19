package oco

import (
	"fmt"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/vec"
)

// CoordinateKT is coordinate-wise coin betting (Orabona and Pál 2016; Orabona 2019, Algorithm 9.3):
// a copy of [NewKT] in each coordinate, with coins c_{t,i} = −g_{t,i}/L for ‖g_t‖∞ ≤ L. In
// dimension 1 it is Algorithm 9.2. It needs L, and neither a learning rate nor the size of u.
//
// Guarantee (Bound): L·Σ_i ε + f*(u_i) with the f of [KTBettor], which is at most
//
//	L·Σ_i |u_i|·√(T·ln(1 + 24T²u_i²/ε²)) + L·d·ε,
//
// of order ‖u‖₁·√(T·ln(T‖u‖∞/ε)). Take ε of order 1/d.
//
// A coordinate whose subgradient is 0 keeps its wealth and its coins; only t in β = S/t advances.
// So a sparse round costs O(nnz), exactly, and At costs O(1). With OwnClocks a copy does not count
// the rounds in which its subgradient is 0: T in the bound of coordinate i is then the number of
// its other rounds, which is better for rare features. Predict costs O(d); memory is O(d).
type CoordinateKT struct {
	options CoordinateKTOptions
	d       int
	state   coordinateKTState
	point   []float64
	next    []float64 // coins of the round
}

// CoordinateKTOptions are the parameters of [NewCoordinateKT]. The zero value is refused: Lipschitz
// and Epsilon are above 0.
type CoordinateKTOptions struct {
	// Lipschitz is L, a bound on ‖g_t‖∞. A subgradient above it is refused.
	Lipschitz float64
	// Epsilon is ε, the initial wealth of each coordinate and its regret at 0, divided by L.
	Epsilon float64
	// OwnClocks makes each coordinate count only the rounds in which its subgradient is not 0.
	OwnClocks bool
}

type coordinateKTState struct {
	T      int
	Coins  []float64 // Σ c
	Log    []float64 // ln Wealth
	Clocks []float64 // the coordinates' rounds, nil unless they have clocks of their own
}

// NewCoordinateKT plays on ℝ^d.
func NewCoordinateKT(d int, o CoordinateKTOptions) (*CoordinateKT, error) {
	if err := checkDim(d, 5*float64(d)); err != nil {
		return nil, err
	}
	if err := positive("lipschitz", o.Lipschitz); err != nil {
		return nil, err
	}
	if err := positive("epsilon", o.Epsilon); err != nil {
		return nil, err
	}
	start := portable.Log(o.Epsilon)
	if start > maxLogWealth {
		return nil, noregret.BadInputf("epsilon", "%v: want at most exp(%v)", o.Epsilon, maxLogWealth)
	}
	l := &CoordinateKT{options: o, d: d, point: make([]float64, d), next: make([]float64, d)}
	l.state.Coins, l.state.Log = make([]float64, d), make([]float64, d)
	for i := range l.state.Log {
		l.state.Log[i] = start
	}
	if o.OwnClocks {
		l.state.Clocks = make([]float64, d)
	}
	return l, nil
}

// Dim implements [Learner].
func (l *CoordinateKT) Dim() int { return l.d }

// Rounds implements [Counter].
func (l *CoordinateKT) Rounds() int { return l.state.T }

// fraction is β of coordinate i in the current round.
func (l *CoordinateKT) fraction(i int) float64 {
	if l.state.Clocks != nil {
		return l.state.Coins[i] / (l.state.Clocks[i] + 1)
	}
	return l.state.Coins[i] / float64(l.state.T+1)
}

// At implements [SparseLearner].
func (l *CoordinateKT) At(i int) float64 {
	if l.state.Coins[i] == 0 {
		return 0
	}
	return float64(l.fraction(i) * portable.Exp(l.state.Log[i]))
}

// Predict implements [Learner].
func (l *CoordinateKT) Predict() []float64 {
	for i := range l.point {
		l.point[i] = l.At(i)
	}
	return l.point
}

// LogWealth is the logarithm of the wealth of coordinate i.
func (l *CoordinateKT) LogWealth(i int) float64 { return l.state.Log[i] }

// coin writes the coin of coordinate i for the subgradient g to next[k], and returns the error of
// [Betting.Update].
func (l *CoordinateKT) coin(k, i int, g float64) error {
	c, err := coinOf(g, l.options.Lipschitz, l.fraction(i), l.state.Log[i])
	if err != nil {
		return fmt.Errorf("coordinate %d: %w", i, err)
	}
	l.next[k] = c
	return nil
}

// toss ends the round of coordinate i with coin c ≠ 0. A coin that has underflowed to 0 counts as a
// round, too.
func (l *CoordinateKT) toss(i int, c float64) {
	l.state.Log[i] += portable.Log1p(float64(l.fraction(i) * c))
	l.state.Coins[i] += c
	if l.state.Clocks != nil {
		l.state.Clocks[i]++
	}
}

func (l *CoordinateKT) checkGradient(g []float64) error {
	if err := checkFinite("gradient", g, l.d); err != nil {
		return err
	}
	for i, v := range g {
		if v != 0 {
			if err := l.coin(i, i, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// Update implements [Learner].
func (l *CoordinateKT) Update(g []float64) error {
	if err := l.checkGradient(g); err != nil {
		return err
	}
	for i, v := range g {
		if v != 0 {
			l.toss(i, l.next[i])
		}
	}
	l.state.T++
	return nil
}

// UpdateSparse implements [SparseLearner].
func (l *CoordinateKT) UpdateSparse(g Sparse) error {
	if _, err := checkSparse("gradient", g, l.d); err != nil {
		return err
	}
	for k, i := range g.Index {
		if g.Value[k] != 0 {
			if err := l.coin(k, int(i), g.Value[k]); err != nil {
				return err
			}
		}
	}
	for k, i := range g.Index {
		if g.Value[k] != 0 {
			l.toss(int(i), l.next[k])
		}
	}
	l.state.T++
	return nil
}

// Bound implements [Bounder].
func (l *CoordinateKT) Bound(u []float64) (float64, error) {
	if err := checkFinite("comparator", u, l.d); err != nil {
		return 0, err
	}
	var total sum
	for i, v := range u {
		t := l.state.T
		if l.state.Clocks != nil {
			t = int(l.state.Clocks[i])
		}
		total.add(max(l.options.Epsilon+ktConjugate(v, t, l.options.Epsilon), 0))
	}
	return orInf(float64(l.options.Lipschitz * total.value())), nil
}

// String describes the learner and its options in one line.
func (l *CoordinateKT) String() string {
	return fmt.Sprintf("coordinate-kt(d=%d, lipschitz=%v, epsilon=%v, own-clocks=%t)", l.d, l.options.Lipschitz,
		l.options.Epsilon, l.options.OwnClocks)
}

// MarshalBinary implements [Snapshotter].
func (l *CoordinateKT) MarshalBinary() ([]byte, error) {
	return snapshot.Seal(snapshotMagic, l.String(), &l.state)
}

// UnmarshalBinary implements [Snapshotter].
func (l *CoordinateKT) UnmarshalBinary(data []byte) error {
	return restore(data, l.String(), &l.state, func(s *coordinateKTState) error {
		if err := checkCoins(l.d, s.T, s.Coins, s.Log); err != nil || !l.options.OwnClocks {
			return err
		}
		for _, n := range s.Clocks {
			if !(n >= 0 && n <= float64(s.T)) {
				return snapshot.Bad("damaged: a coordinate has %v of %d rounds", n, s.T)
			}
		}
		return checkState(l.d, s.T, s.Clocks)
	})
}

// checkCoins returns an error for the restored coins and log-wealths of d bettors that no t rounds
// lead to.
func checkCoins(d, t int, coins, log []float64) error {
	if err := checkState(d, t, coins, log); err != nil {
		return err
	}
	if m := vec.MaxAbs(coins); m > float64(t)+1e-6 {
		return snapshot.Bad("damaged: coins of sum %v after %d rounds", m, t)
	}
	return nil
}
