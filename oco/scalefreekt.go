package oco

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/vec"
)

// Stake is the state of the bettor of one coordinate in [ScaleFreeKT] and in
// [LinearDescent.BettingStep].
type Stake struct {
	// Sum is θ, the sum of the coins so far, and Mass is G, that of their absolute values; both in
	// units of the subgradient.
	Sum, Mass float64
	// Largest is h, the largest |g| so far.
	Largest float64
	// Wealth is the wealth in units of h, 0 before the first subgradient that is not 0.
	Wealth float64
}

// bet is the point that the bettor plays, β·Wealth with β = θ/(G + h).
func (s *Stake) bet() float64 {
	if s.Largest == 0 {
		return 0
	}
	return float64(s.Sum / (s.Mass + s.Largest) * s.Wealth)
}

// toss ends a round with the subgradient −gain; epsilon is the initial wealth.
func (s *Stake) toss(gain, epsilon float64) {
	size := math.Abs(gain)
	switch {
	case size == 0:
		return
	case s.Largest == 0: // nothing was bet yet, so that h may be that of this round
		s.Largest, s.Wealth = size, epsilon
	}
	coin := min(max(gain, -s.Largest), s.Largest)
	s.Wealth = float64(s.Wealth * (1 + float64(coin/s.Largest*(s.Sum/(s.Mass+s.Largest)))))
	s.Sum += coin
	s.Mass += math.Abs(coin)
	if size > s.Largest {
		s.Wealth = epsilon + float64((s.Wealth-epsilon)*(s.Largest/size))
		s.Largest = size
	}
}

// inRange reports whether bets and sums stay in the range of float64.
func (s *Stake) inRange() bool { return s.Wealth <= maxWealth && vec.IsFinite(s.Mass+s.Largest) }

// maxWealth is the largest wealth that stakes keep, about exp(maxLogWealth).
const maxWealth = 1e299

// rescaled returns the stake when the unit of the coordinate changes so that its weight is
// multiplied by ratio.
func (s Stake) rescaled(ratio float64) Stake {
	return Stake{Sum: s.Sum / ratio, Mass: s.Mass / ratio, Largest: s.Largest / ratio, Wealth: s.Wealth * ratio}
}

// check returns an error for a restored stake that no game leads to.
func (s *Stake) check() error {
	none := *s == Stake{}
	if !none && !(s.Largest > 0 && s.Wealth > 0 && s.inRange() &&
		s.Mass >= 0 && math.Abs(s.Sum) <= s.Mass*(1+1e-9)) {
		return snapshot.Bad("damaged: a bettor has %+v", *s)
	}
	return nil
}

// ScaleFreeKT is coordinate-wise coin betting that knows neither a learning rate, nor the size of
// u, nor a Lipschitz constant. In each coordinate, with h_t = max_{i<t} |g_i|, the clipped
// subgradient ḡ_t = g_t·min(1, h_t/|g_t|), θ = −Σ_{i<t} ḡ_i and G = Σ_{i<t} |ḡ_i|, it plays
//
//	x_t = θ/(G + h_t)·Wealth,
//
// the bet of Krichevsky and Trofimov ([KTBettor]) with Σ|c_i| for the number of rounds. The wealth,
// in units of h_t, begins with ε and is multiplied by 1 + β_t·c_t, c_t = −ḡ_t/h_t. When h grows
// from h_t to h_{t+1}, it becomes ε + (Wealth − ε)·h_t/h_{t+1}. In the first round h is |g_1|, as
// nothing is bet. The clipping is that of Cutkosky (2019); the clock Σ|c_i| is in Orabona and
// Tommasi (2017). Multiplying the subgradients of a coordinate by a constant changes no point, and
// rounds with a subgradient of 0 change nothing: a sparse round costs O(nnz), exactly.
//
// Guarantee (Bound): let F(S, G) = 2^G·B((G+1+S)/2, (G+1−S)/2)/π with the Beta function B. A coin
// of ±1 multiplies F(S, G) by 1 ± β, and ln F(S+a, G+a) is convex in a, so that F(S, G) grows by at
// most the factor 1 + β·c for every |c| ≤ 1. As F is the mean of (2p)^((G+S)/2)·(2−2p)^((G−S)/2)
// over p ~ Beta(½, ½), h·(F(θ/h, G/h) − 1) falls in h. So after every round
//
//	Wealth ≥ ε·F(θ/h, G/h) ≥ ε·exp(θ²/(2hG))/√(2π(G/h + 1)),
//
// and the regret is at most the sum over the coordinates of
//
//	h·(ε + f*(u_i)) + h·|u_i| + Σ_t (h_{t+1} − h_t)·|x_{t,i}|
//
// with f the last expression as a function of θ/h (see [Betting]). Its main term is of order
// |u_i|·√(h·Σ|g_i|·ln(|u_i|·Σ|g_i|/(h·ε))). Take ε of the order of the weights expected, divided
// by the number of coordinates that matter; it enters in a logarithm. Predict costs O(d); memory is
// O(d).
type ScaleFreeKT struct {
	epsilon float64
	state   scaleFreeKTState
	point   []float64
	next    []Stake // after the round, by the place in the subgradient
}

type scaleFreeKTState struct {
	T        int
	Stakes   []Stake
	Overhead sum // Σ (h_{t+1} − h_t)·|x_t| of all coordinates
}

// NewScaleFreeKT plays on ℝ^d. Epsilon is ε, the initial wealth of each coordinate.
func NewScaleFreeKT(d int, epsilon float64) (*ScaleFreeKT, error) {
	if err := checkDim(d, 9*float64(d)); err != nil {
		return nil, err
	}
	if err := positive("epsilon", epsilon); err != nil {
		return nil, err
	}
	if epsilon > maxWealth {
		return nil, noregret.BadInputf("epsilon", "%v: want at most %v", epsilon, maxWealth)
	}
	l := &ScaleFreeKT{epsilon: epsilon, point: make([]float64, d), next: make([]Stake, d)}
	l.state.Stakes = make([]Stake, d)
	return l, nil
}

// Dim implements [Learner].
func (l *ScaleFreeKT) Dim() int { return len(l.point) }

// Rounds implements [Counter].
func (l *ScaleFreeKT) Rounds() int { return l.state.T }

// At implements [SparseLearner].
func (l *ScaleFreeKT) At(i int) float64 { return l.state.Stakes[i].bet() }

// Predict implements [Learner].
func (l *ScaleFreeKT) Predict() []float64 {
	for i := range l.point {
		l.point[i] = l.state.Stakes[i].bet()
	}
	return l.point
}

// toss writes coordinate i after the round to next[k] and adds to the overhead. It returns an error
// if a number leaves its range.
func (l *ScaleFreeKT) toss(k, i int, g float64, overhead *sum) error {
	s := l.state.Stakes[i]
	if rise := math.Abs(g) - s.Largest; rise > 0 && s.Largest > 0 {
		overhead.add(float64(rise * math.Abs(s.bet())))
	}
	s.toss(-g, l.epsilon)
	if !s.inRange() || !vec.IsFinite(overhead.value()) {
		return noregret.BadInputf("gradient", "%v in coordinate %d: the wealth, the sum of the subgradients or their "+
			"products with the point leave the range of float64", g, i)
	}
	l.next[k] = s
	return nil
}

// check computes the state after a round with the subgradient g in next and returns the overhead.
func (l *ScaleFreeKT) check(g []float64) (sum, error) {
	overhead := l.state.Overhead
	if err := checkFinite("gradient", g, l.Dim()); err != nil {
		return overhead, err
	}
	for i, v := range g {
		if err := l.toss(i, i, v, &overhead); err != nil {
			return overhead, err
		}
	}
	return overhead, nil
}

func (l *ScaleFreeKT) checkGradient(g []float64) error {
	_, err := l.check(g)
	return err
}

// Update implements [Learner]. It refuses a subgradient after which the wealth of a coordinate is
// above 1e299, or a sum of the bound leaves the range of float64.
func (l *ScaleFreeKT) Update(g []float64) error {
	overhead, err := l.check(g)
	if err != nil {
		return err
	}
	copy(l.state.Stakes, l.next)
	l.state.Overhead = overhead
	l.state.T++
	return nil
}

// UpdateSparse implements [SparseLearner].
func (l *ScaleFreeKT) UpdateSparse(g Sparse) error {
	if _, err := checkSparse("gradient", g, l.Dim()); err != nil {
		return err
	}
	overhead := l.state.Overhead
	for k, i := range g.Index {
		if err := l.toss(k, int(i), g.Value[k], &overhead); err != nil {
			return err
		}
	}
	for k, i := range g.Index {
		l.state.Stakes[i] = l.next[k]
	}
	l.state.Overhead = overhead
	l.state.T++
	return nil
}

// Bound implements [Bounder].
func (l *ScaleFreeKT) Bound(u []float64) (float64, error) {
	if err := checkFinite("comparator", u, l.Dim()); err != nil {
		return 0, err
	}
	total := l.state.Overhead
	for i, v := range u {
		s := &l.state.Stakes[i]
		if s.Largest == 0 {
			continue
		}
		clock := s.Mass / s.Largest
		log := portable.Log(l.epsilon) - float64(portable.Log(float64(2*math.Pi*(clock+1)))/2)
		total.add(float64(s.Largest * max(l.epsilon+exponentialConjugate(v, clock, log), 0)))
		total.add(float64(s.Largest * math.Abs(v)))
	}
	return orInf(total.value()), nil
}

// String describes the learner and its options in one line.
func (l *ScaleFreeKT) String() string {
	return fmt.Sprintf("scale-free-kt(d=%d, epsilon=%v)", l.Dim(), l.epsilon)
}

// MarshalBinary implements [Snapshotter].
func (l *ScaleFreeKT) MarshalBinary() ([]byte, error) {
	return snapshot.Seal(snapshotMagic, l.String(), &l.state)
}

// UnmarshalBinary implements [Snapshotter].
func (l *ScaleFreeKT) UnmarshalBinary(data []byte) error {
	return restore(data, l.String(), &l.state, func(s *scaleFreeKTState) error {
		if v := s.Overhead.value(); !(v >= 0) || !vec.IsFinite(v) || s.T < 0 || len(s.Stakes) != l.Dim() {
			return snapshot.Bad("damaged: %d bettors and an overhead of %v after %d rounds", len(s.Stakes), v, s.T)
		}
		for i := range s.Stakes {
			if err := s.Stakes[i].check(); err != nil {
				return err
			}
		}
		return nil
	})
}
