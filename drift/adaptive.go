package drift

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/experts"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/loss"
)

// AdaptiveOptions are the parameters of [NewAdaptive]. The zero value is refused: Set and Lipschitz
// are required.
type AdaptiveOptions struct {
	// Set is a bounded set, of diameter D.
	Set convex.Set
	// First is the first point, nil for the projection of the origin.
	First []float64
	// Lipschitz G > 0 bounds the gradients. Longer ones are shortened to G, and the bounds of all
	// rounds grow by D times what is cut off.
	Lipschitz float64
	// Curvature H is the strong convexity of the losses, 0 for convex ones.
	Curvature float64
}

// Adaptive is strongly adaptive: its regret is small on every interval of rounds at once (Daniely,
// Gonen and Shalev-Shwartz 2015), and so it needs to know neither a horizon nor the variation. A
// gradient descent starts at the beginning of each interval of the geometric covering
// ([experts.Covering]), so that ⌊log₂t⌋ + 1 are active in round t, and their weighted mean is
// played. All take the gradient g_t there, as the loss s_t(x) = ⟨g_t, x − x_t⟩ + (H/2)·‖x − x_t‖².
//
// For H = 0 the weights are those of coin betting ([experts.Coin]), and the descents take the steps
// D/(G·√n) on n rounds. For H > 0 the weights are those of following the leading history (Hazan and
// Seshadhri 2009) at the rate α = H/(G+HD)², for which s_t is α-exp-concave, and the descents take
// the steps 1/(H·k).
//
// Guarantee: [Adaptive.IntervalBound] on every interval, and DynamicBound. With noisy gradients
// they hold in expectation, for comparators that are fixed in advance. A round costs O(d·log t) and
// as many projections. It allocates nothing, except in rounds 1, 2, 4, 8, ..., in which one more
// descent begins.
type Adaptive struct {
	o        AdaptiveOptions
	diameter float64
	alpha    float64 // 0 for coin betting
	start    []float64
	point    []float64
	g        []float64
	weights  []float64
	fresh    bool // point and weights are those of the round
	text     string
	s        adaptiveState
}

type adaptiveState struct {
	T      int // rounds finished
	Slots  experts.Covering[slot]
	Excess float64 // Σ max(‖g_t‖ − G, 0)
}

// slot is the descent on the current interval of length 2^j.
type slot struct {
	X      []float64
	Start  int          // first round of the interval
	Coin   experts.Coin // whose count is that of the rounds of the interval, for H = 0
	Weight float64      // of following the leading history
}

// NewAdaptive returns the learner, or an error of code bad_input that names the option out of
// range.
func NewAdaptive(o AdaptiveOptions) (*Adaptive, error) {
	diameter, err := diameterOf(o.Set)
	if err != nil {
		return nil, err
	}
	if err := checkPositive("lipschitz", o.Lipschitz); err != nil {
		return nil, err
	}
	if !(o.Curvature >= 0) || math.IsInf(o.Curvature, 1) {
		return nil, noregret.BadInputf("curvature", "%v: want a finite number, at least 0", o.Curvature)
	}
	d := o.Set.Dim()
	first, err := firstPoint(o.First, d)
	if err != nil {
		return nil, err
	}
	if o.First != nil && !o.Set.Contains(first, 1e-12) {
		return nil, noregret.BadInputf("first", "%s: want a point of %v", brief(first), o.Set)
	}
	o.Set.Project(first, first)
	o.First = nil
	l := &Adaptive{o: o, diameter: diameter, start: first, point: make([]float64, d), g: make([]float64, d)}
	if o.Curvature > 0 {
		steepest := o.Lipschitz + float64(o.Curvature*diameter)
		l.alpha = o.Curvature / float64(steepest*steepest)
	}
	copy(l.point, first)
	l.text = fmt.Sprintf("adaptive(%v, first=%s, lipschitz=%v, curvature=%v)", o.Set, brief(first), o.Lipschitz,
		o.Curvature)
	l.begin()
	return l, nil
}

// begin begins round T+1. A slot that starts again keeps its point.
func (l *Adaptive) begin() {
	t := l.s.T + 1
	_ = l.s.Slots.Begin(t, func(_ int, old *slot) (slot, error) { // never fails
		s := slot{Start: t, Coin: experts.NewCoin()}
		if old == nil {
			s.X = slices.Clone(l.point)
			l.weights = append(l.weights, 0)
		} else {
			s.X = old.X
		}
		return s, nil
	})
	if l.alpha > 0 {
		l.shareWeight(experts.Begun(t), t)
	}
	l.fresh = false
}

// shareWeight gives the new descents the weight 1/t together, or all of it if no other is active.
func (l *Adaptive) shareWeight(begun, t int) {
	old := 0.0
	for j := begun; j < len(l.s.Slots); j++ {
		old += l.s.Slots[j].Weight
	}
	share := 1 / float64(t)
	if !(old > 0) {
		share = 1
	}
	for j := range l.s.Slots {
		if s := &l.s.Slots[j]; j < begun {
			s.Weight = share / float64(begun)
		} else {
			s.Weight *= (1 - share) / max(old, math.SmallestNonzeroFloat64)
		}
	}
}

// Dim implements [oco.Learner].
func (l *Adaptive) Dim() int { return len(l.point) }

// Rounds implements [oco.Counter].
func (l *Adaptive) Rounds() int { return l.s.T }

// Learners is the number of descents that are active in the current round, ⌊log₂t⌋ + 1.
func (l *Adaptive) Learners() int { return len(l.s.Slots) }

// weigh computes the weights of the round.
func (l *Adaptive) weigh() {
	total, priors := 0.0, 0.0
	for j := range l.s.Slots {
		s := &l.s.Slots[j]
		if l.alpha > 0 {
			l.weights[j] = s.Weight
		} else {
			l.weights[j] = prior(s.Start) * s.Coin.Bet()
			priors += prior(s.Start)
		}
		total += l.weights[j]
	}
	for j := range l.weights {
		if total > 0 {
			l.weights[j] /= total
		} else {
			l.weights[j] = prior(l.s.Slots[j].Start) / priors
		}
	}
}

// prior is the prior weight of a descent that starts in round t, up to a factor:
// 1/(t²·(1+⌊log₂t⌋)).
func prior(t int) float64 {
	return 1 / (float64(float64(t)*float64(t)) * float64(bits.Len(uint(t))))
}

// Predict implements [oco.Learner].
func (l *Adaptive) Predict() []float64 {
	if l.fresh {
		return l.point
	}
	l.weigh()
	clear(l.point)
	for j, w := range l.weights {
		vec.AddScaled(l.point, w, l.s.Slots[j].X)
	}
	l.o.Set.Project(l.point, l.point) // rounding may have left the set
	l.fresh = true
	return l.point
}

// Update implements [oco.Learner]. A gradient longer than G is shortened to G.
func (l *Adaptive) Update(g []float64) error {
	if len(g) != len(l.g) {
		return noregret.BadInputf("gradient", "%d values: want %d", len(g), len(l.g))
	}
	for i, v := range g {
		if !vec.IsFinite(v) {
			return noregret.BadInputf(fmt.Sprintf("gradient[%d]", i), "%v: want a finite number", v)
		}
	}
	x := l.Predict()
	l.s.Excess += shorten(l.g, g, l.o.Lipschitz)
	if l.alpha > 0 {
		l.follow(x)
	} else {
		l.gamble(x)
	}
	for j := range l.s.Slots {
		l.descend(&l.s.Slots[j], j, x)
	}
	l.s.T++
	l.begin()
	return nil
}

// UpdateLoss implements [oco.LossLearner]: Update with the subgradient at Predict().
func (l *Adaptive) UpdateLoss(f loss.Function) error {
	if f == nil || f.Dim() != len(l.g) {
		return noregret.BadInputf("loss", "want a function of dimension %d", len(l.g))
	}
	f.Subgradient(l.g, l.Predict())
	return l.Update(l.g)
}

// gamble tosses the coins of the slots: what each would have gained over the mean, in [−1, 1].
func (l *Adaptive) gamble(x []float64) {
	for j := range l.s.Slots {
		s := &l.s.Slots[j]
		coin := 0.0
		for i, v := range l.g {
			coin += float64(v * (x[i] - s.X[i]))
		}
		s.Coin.Toss(min(max(coin/float64(l.o.Lipschitz*l.diameter), -1), 1))
	}
}

// follow multiplies the weights by exp(−α·s_t) and makes them sum to 1.
func (l *Adaptive) follow(x []float64) {
	total, half := 0.0, l.o.Curvature/2
	for j := range l.s.Slots {
		s := &l.s.Slots[j]
		v := 0.0
		for i, g := range l.g {
			by := s.X[i] - x[i]
			v += float64(by * (g + float64(half*by)))
		}
		s.Weight = float64(s.Weight * portable.Exp(-float64(l.alpha*v)))
		total += s.Weight
	}
	for j := range l.s.Slots {
		l.s.Slots[j].Weight /= total
	}
}

// descend takes the step of slot j.
func (l *Adaptive) descend(s *slot, j int, x []float64) {
	h := l.o.Curvature
	step := l.diameter / l.o.Lipschitz / math.Sqrt(math.Ldexp(1, j))
	if h > 0 {
		step = 1 / float64(h*float64(l.s.T+2-s.Start))
	}
	for i, g := range l.g {
		s.X[i] -= float64(step * (g + float64(h*(s.X[i]-x[i]))))
	}
	l.o.Set.Project(s.X, s.X)
}

// IntervalBound bounds the regret against any fixed point on every interval of n ≤ end rounds that
// ends with round end. Such an interval is a sequence of intervals of the descents of at most two
// of each length 2^j ≤ n. With gradients of at most G, the regret on one of m rounds up to round r
// is at most
//
//	G·D·(√m + √(m·(7·ln r + 5)))            for H = 0,
//	((G+HD)²/H)·(½·(1+ln m) + ln(2r·(1+log₂r)))   for H > 0.
func (l *Adaptive) IntervalBound(n, end int) (float64, error) {
	if n < 1 || end < n {
		return 0, noregret.BadInputf("interval",
			"%d rounds up to round %d: want 1 or more that begin with round 1 or later",
			n, end)
	}
	gd := float64(l.o.Lipschitz * l.diameter)
	r := float64(end)
	total := 0.0
	for m := 1; ; m *= 2 {
		root := math.Sqrt(float64(m))
		part := float64(gd*root) * (1 + math.Sqrt(float64(7*portable.Log(r))+5))
		if l.alpha > 0 {
			part = (float64((1+portable.Log(float64(m)))/2) + portable.Log(float64(2*r*float64(bits.Len(uint(end)))))) /
				l.alpha
		}
		total += 2 * part
		if m > n/2 {
			return total, nil
		}
	}
}

// Bound implements [oco.Bounder], for points of the set.
func (l *Adaptive) Bound(u []float64) (float64, error) {
	if len(u) != len(l.g) || !vec.Finite(u) {
		return 0, noregret.BadInputf("comparator", "%s: want %d finite numbers", brief(u), len(l.g))
	}
	switch {
	case !l.o.Set.Contains(u, 1e-9):
		return math.Inf(1), nil
	case l.s.T == 0:
		return 0, nil
	}
	b, err := l.IntervalBound(l.s.T, l.s.T)
	return b + l.excess(), err
}

// excess is D·Σ max(‖g_t‖ − G, 0), the most that shortened gradients hide of the regret.
func (l *Adaptive) excess() float64 { return float64(l.diameter * l.s.Excess) }

// DynamicBound implements [DynamicBounder]: the least over Δ of ⌈n/Δ⌉ times the bound on intervals
// of Δ rounds, and 2Δ·V (Zhang, Yang, Jin and Zhou, "Dynamic regret of strongly adaptive methods",
// 2018).
func (l *Adaptive) DynamicBound(variation float64) (float64, error) {
	return overPartitions(l.s.T, variation, func(batches, size int) (float64, error) {
		b, err := l.IntervalBound(size, l.s.T)
		return float64(float64(batches)*b) + l.excess(), err
	})
}

// String describes the learner and its options in one line.
func (l *Adaptive) String() string { return l.text }

// MarshalBinary implements [oco.Snapshotter].
func (l *Adaptive) MarshalBinary() ([]byte, error) {
	return snapshot.Seal(snapshotMagic, l.text, &l.s)
}

// UnmarshalBinary implements [oco.Snapshotter]. An error changes nothing.
func (l *Adaptive) UnmarshalBinary(data []byte) error {
	var s adaptiveState
	if err := snapshot.Open(data, snapshotMagic, l.text, &s); err != nil {
		return err
	}
	if s.T < 0 || len(s.Slots) != experts.Running(s.T+1) || !(s.Excess >= 0) {
		return snapshot.Bad("damaged: %d descents in round %d", len(s.Slots), s.T+1)
	}
	for j := range s.Slots {
		p := &s.Slots[j]
		if len(p.X) != len(l.g) || !vec.Finite(p.X) || p.Start != experts.BegunAt(s.T+1, j) || p.Coin.Check() != nil ||
			!(p.Weight >= 0 && p.Weight <= 2) {
			return snapshot.Bad("damaged: descent %d starts in round %d", j, p.Start)
		}
	}
	l.s = s
	l.weights = make([]float64, len(s.Slots))
	l.fresh = false
	return nil
}
