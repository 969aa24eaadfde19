package oco

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/vec"
)

// ExpertBetting is expert advice by coin betting (Orabona and Pál 2016; Orabona 2019, section 9.5),
// on the simplex of ℝ^d, with a prior π and no learning rate. Expert i has a bettor with initial
// wealth 1. For losses g_t whose largest and least differ by at most R,
//
//	x_{t,i} ∝ π_i·max(bet_{t,i}, 0), and x_t = π if no bet is above 0;
//	c_{t,i} = (⟨g_t, x_t⟩ − g_{t,i})/R for a bet above 0, and the positive part of that for others.
//
// Guarantee (Bound), for every u at once (Theorem 9.17): R·√(2T·(KL(u; π) + ½·ln T + 1 + ½·ln π))
// with the bets of [KTBettor], for any T; R·√(2(t + T)·(KL(u; π) + ½·Σ_{i≤t} 1/(i + T))) with those
// of [ExponentialBettor] of horizon T, at the horizon √(4T·(KL(u; π) + ½·ln 2)). As the bound holds
// for every prior and u, it adapts to the share of good experts: see QuantileBound. Hedge needs a
// rate for each KL(u; π).
//
// A subgradient with a range above R, by more than a relative 1e-12, is refused. A round costs O(d)
// time; memory is O(d).
type ExpertBetting struct {
	options  ExpertBettingOptions
	prior    []float64
	logPrior []float64
	state    expertBettingState
	point    []float64
	next     []float64 // fractions
	fresh    bool
	text     string
}

// ExpertBettingOptions are the parameters of [NewExpertBetting]. Begin with
// [DefaultExpertBettingOptions].
type ExpertBettingOptions struct {
	// Range is R, a bound on max g_t − min g_t, above 0.
	Range float64
	// Prior is π, nonnegative and of sum 1 within 1e-12; nil is uniform. An expert of prior 0 has
	// weight 0 for good.
	Prior []float64
	// Horizon is T for the bets of [ExponentialBettor]; 0 stands for those of [KTBettor].
	Horizon int
}

// DefaultExpertBettingOptions are the range 1, the uniform prior and no horizon.
func DefaultExpertBettingOptions() ExpertBettingOptions { return ExpertBettingOptions{Range: 1} }

type expertBettingState struct {
	T        int
	Coins    []float64
	Log      []float64 // ln Wealth
	Harmonic sum       // Σ_{i≤t} 1/(i + T)
}

// NewExpertBetting plays with d ≥ 1 experts.
func NewExpertBetting(d int, o ExpertBettingOptions) (*ExpertBetting, error) {
	if err := checkDim(d, 6*float64(d)); err != nil {
		return nil, err
	}
	if err := positive("range", o.Range); err != nil {
		return nil, err
	}
	if o.Horizon < 0 {
		return nil, noregret.BadInputf("horizon", "%d: want a number of rounds, 0 if it is not known", o.Horizon)
	}
	p, err := priorOn(d, o.Prior)
	if err != nil {
		return nil, err
	}
	l := &ExpertBetting{
		options: o, prior: p, logPrior: make([]float64, d), point: make([]float64, d), next: make([]float64, d),
	}
	for i, v := range p {
		l.logPrior[i] = portable.Log(v)
	}
	l.state.Coins, l.state.Log = make([]float64, d), make([]float64, d)
	l.text = fmt.Sprintf("expert-betting(d=%d, range=%v, horizon=%d, prior=%s)", d, o.Range, o.Horizon, digest(p))
	return l, nil
}

// Dim implements [Learner].
func (l *ExpertBetting) Dim() int { return len(l.prior) }

// Rounds implements [Counter].
func (l *ExpertBetting) Rounds() int { return l.state.T }

// Predict implements [Learner].
func (l *ExpertBetting) Predict() []float64 {
	if l.fresh {
		return l.point
	}
	l.fresh = true
	round, top := float64(l.state.T+1), math.Inf(-1)
	for i, s := range l.state.Coins {
		beta := s / (round + float64(l.options.Horizon))
		if l.options.Horizon > 0 {
			beta = portable.Tanh(beta)
		}
		l.next[i] = beta
		if l.point[i] = math.Inf(-1); beta > 0 {
			l.point[i] = l.logPrior[i] + portable.Log(beta) + l.state.Log[i]
		}
		top = max(top, l.point[i])
	}
	if math.IsInf(top, -1) {
		copy(l.point, l.prior)
		return l.point
	}
	convex.Softmax(l.point, l.point)
	return l.point
}

// LogWealth is the logarithm of the wealth of expert i. The mean of the wealths under the prior
// never rises above 1.
func (l *ExpertBetting) LogWealth(i int) float64 { return l.state.Log[i] }

// Update implements [Learner].
func (l *ExpertBetting) Update(g []float64) error {
	if _, err := checkVector("gradient", g, l.Dim()); err != nil {
		return err
	}
	width := spread(g)
	if !(width <= l.options.Range*(1+1e-12)) {
		return noregret.BadInputf("gradient", "its values differ by %v: want at most the range %v", width,
			l.options.Range)
	}
	x := l.Predict()
	// The mean loss is taken from the least one, so that equal losses give coins of exactly 0.
	least := g[0]
	for _, v := range g {
		least = min(least, v)
	}
	var mean float64
	for i, v := range g {
		mean += float64(x[i] * (v - least))
	}
	for i, v := range g {
		c := min(max((mean-(v-least))/l.options.Range, -1), 1)
		if !(l.next[i] > 0) {
			c = max(c, 0)
		}
		l.state.Log[i] += portable.Log1p(float64(l.next[i] * c))
		l.state.Coins[i] += c
	}
	l.state.T++
	if l.options.Horizon > 0 {
		l.state.Harmonic.add(1 / (float64(l.state.T) + float64(l.options.Horizon)))
	}
	l.fresh = false
	return nil
}

// guarantee is the bound for a relative entropy of kl.
func (l *ExpertBetting) guarantee(kl float64) float64 {
	n := float64(l.state.T)
	switch {
	case l.state.T == 0:
		return 0
	case l.options.Horizon > 0:
		kl += float64(l.state.Harmonic.value() / 2)
		n += float64(l.options.Horizon)
	default:
		kl += float64(portable.Log(math.Pi*n)/2) + 1
	}
	return orInf(float64(l.options.Range * math.Sqrt(2*n*kl)))
}

// Bound implements [Bounder].
func (l *ExpertBetting) Bound(u []float64) (float64, error) {
	if err := checkFinite("comparator", u, l.Dim()); err != nil {
		return 0, err
	}
	if !onSimplex(u) {
		return math.Inf(1), nil
	}
	var kl sum
	for i, v := range u {
		switch {
		case v <= 0:
		case l.prior[i] == 0:
			return math.Inf(1), nil
		default:
			kl.add(float64(v * portable.Log(v/l.prior[i])))
		}
	}
	return l.guarantee(max(kl.value(), 0)), nil
}

// QuantileBound is the bound for a share of the experts. If the best experts, down to expert i,
// have a total prior weight of at least mass, above 0 and at most 1, the regret to expert i is at
// most QuantileBound(mass). With a uniform prior the regret to the k-th best of d experts is at
// most QuantileBound(k/d), of order √(T·ln(d/k)) (Orabona 2019, Remark 9.16).
func (l *ExpertBetting) QuantileBound(mass float64) (float64, error) {
	if !(mass > 0 && mass <= 1) {
		return 0, noregret.BadInputf("mass", "%v: want a number above 0, at most 1", mass)
	}
	return l.guarantee(-portable.Log(mass)), nil
}

// String describes the learner and its options in one line.
func (l *ExpertBetting) String() string { return l.text }

// MarshalBinary implements [Snapshotter].
func (l *ExpertBetting) MarshalBinary() ([]byte, error) {
	return snapshot.Seal(snapshotMagic, l.text, &l.state)
}

// UnmarshalBinary implements [Snapshotter].
func (l *ExpertBetting) UnmarshalBinary(data []byte) error {
	l.fresh = false
	return restore(data, l.text, &l.state, func(s *expertBettingState) error {
		if h := s.Harmonic.value(); !(h >= 0) || !vec.IsFinite(h) {
			return snapshot.Bad("damaged: a harmonic sum of %v", h)
		}
		return checkCoins(l.Dim(), s.T, s.Coins, s.Log)
	})
}
