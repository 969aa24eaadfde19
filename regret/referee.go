package regret

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/loss"
)

// Options control what [Play] measures. The zero value compares with the best fixed point and notes
// no curve.
type Options struct {
	// Comparator is the fixed point to compare with; nil is the best one in hindsight.
	Comparator []float64
	// Moving is a sequence u_1, u_2, ... to measure the dynamic regret against, as a function that
	// writes u_t; nil for none. It is called once a round, in order.
	Moving func(dst []float64, t int)
	// Dynamic, if not nil, measures the dynamic regret against the losses' own minimizers, their
	// variation and the regret on intervals. The losses are then kept, in O(T·d) memory, and each
	// must have a minimum on the set.
	Dynamic *DynamicOptions
	// Checkpoints is the number of rounds, spread evenly over log T, at which the regret so far and
	// the bound are noted for the curve; 0 for none. Each costs a search for the best point, unless
	// a Comparator is given. Games without a Summary have a curve only with a Comparator.
	Checkpoints int
	// Progress, if not nil, is called from time to time with the rounds done and the learner's mean
	// loss.
	Progress func(rounds int, meanLoss float64)
}

// Point is one point of a certificate's curve.
type Point struct {
	Round  int
	Loss   float64 // of the learner, so far
	Regret float64 // against the comparator, or the best point so far
	Bound  float64 // +Inf for none
}

// Certificate compares a learner's regret with its theorem's bound.
type Certificate struct {
	Rounds int
	// LearnerLoss is Σ l_t(x_t), ComparatorLoss Σ l_t(u).
	LearnerLoss, ComparatorLoss float64
	// Magnitude is Σ |l_t(x_t)|, the scale of LearnerLoss's rounding where losses cancel.
	Magnitude float64
	// Comparator is u: the one given, or the best fixed point in hindsight. If the losses have no
	// minimum it is the one that the game names, or nil: then ComparatorLoss is −Inf and Regret
	// +Inf.
	Comparator []float64
	// Gap certifies the comparator: no fixed point of the set has a loss below ComparatorLoss −
	// Gap. It is 0 for a given comparator and +Inf for one that the game names.
	Gap float64
	// Regret is LearnerLoss − ComparatorLoss. Unless the comparator was given, no fixed point has a
	// regret above Regret + Gap.
	Regret float64
	// DynamicRegret is the regret against the moving comparators, NaN without them.
	DynamicRegret float64
	// Bound is the learner's guarantee against Comparator; +Inf if it gives none.
	Bound float64
	// SharpBound is the learner's second guarantee against Comparator, which depends on more of the
	// run and is never above Bound; NaN if the learner has none.
	SharpBound float64
	// Curve has the checkpoints.
	Curve []Point
	// Dynamic compares with moving comparators; nil unless [Options.Dynamic] asks for it.
	Dynamic *Dynamics
	// Noisy reports that the game added noise to the player's feedback. The bounds are then ones of
	// the expected regret, at most.
	Noisy bool
}

// Ratio is Regret/Bound, the share of the bound that was used; NaN if there is no bound.
func (c *Certificate) Ratio() float64 {
	if math.IsInf(c.Bound, 1) || c.Bound == 0 {
		return math.NaN()
	}
	return c.Regret / c.Bound
}

// Tightest is the checkpoint with the largest ratio of regret to bound, where the bound was
// tightest; nil without a bound.
func (c *Certificate) Tightest() *Point {
	var best *Point
	for i := range c.Curve {
		p := &c.Curve[i]
		if p.Bound > 0 && !math.IsInf(p.Bound, 1) && (best == nil || p.Regret*best.Bound > best.Regret*p.Bound) {
			best = p
		}
	}
	return best
}

// Holds reports whether the regret against Comparator is within the bound, up to rounding: 1e-9 of
// the bound and 1e-12 of the losses, of the learner's in magnitude. It is true for a bound of +Inf
// and false for one that is NaN. For a [RandomizedPlayer] the bound is one of the expected regret,
// which a run may exceed. With noise in the feedback the bound is one of the expected regret, too,
// of which a run says nothing by itself: it is then always true. Take the mean over runs.
func (c *Certificate) Holds() bool {
	if math.IsInf(c.Bound, 1) || c.Noisy {
		return true
	}
	size := max(c.Magnitude, math.Abs(c.LearnerLoss)) + math.Abs(c.ComparatorLoss)
	return c.Regret <= c.Bound+float64(1e-9*math.Abs(c.Bound))+float64(1e-12*size)
}

// Play plays a learner for the given number of rounds, from the game's start. It ends early with an
// error if the learner refuses a round, the game fails or ctx ends, which is noticed within 256
// rounds. Besides what the learner, the game and its summary need it allocates O(d), and nothing
// per round.
//
// Play passes features, whole losses, strong convexity and the sparse subgradients of a
// [loss.SparseFunction] to learners that accept them; other learners get dense subgradients. A
// [RandomizedPlayer] shows the game its distribution and pays the loss of the vertex drawn. A
// player with the method UpdateCost(v float64) error observes the value of the loss at its point
// instead of a subgradient. In games with noise every number of the feedback has noise added, and
// players get dense subgradients or costs only.
func Play(ctx context.Context, player Player, game Game, rounds int, options Options) (*Certificate, error) {
	if player == nil || game == nil {
		return nil, noregret.Errorf(noregret.Usage, "play", "the player or the game is nil")
	}
	set := game.Set()
	d := set.Dim()
	if player.Dim() != d {
		return nil, noregret.BadInputf("player", "dimension %d, but the game has %d", player.Dim(), d)
	}
	if rounds < 1 {
		return nil, noregret.Errorf(noregret.Usage, "rounds", "%d: want at least 1", rounds)
	}
	if options.Checkpoints < 0 {
		return nil, noregret.Errorf(noregret.Usage, "checkpoints", "%d: want at least 0", options.Checkpoints)
	}
	if u := options.Comparator; u != nil && (len(u) != d || !set.Contains(u, 1e-9)) {
		return nil, noregret.BadInputf("comparator", "%v is not in the set %v", u, set)
	}
	if a, ok := game.(admitter); ok {
		if err := a.Admit(player); err != nil {
			return nil, err
		}
	}
	game.Restart()
	r := &round{player: player, game: game, g: make([]float64, d), u: make([]float64, d)}
	r.drawn, _ = player.(RandomizedPlayer)
	if n, ok := game.(noisyGame); ok {
		r.noise = n.Noise()
	}
	if options.Dynamic != nil {
		var err error
		if r.history, err = newHistory(options.Dynamic, set, rounds); err != nil {
			return nil, err
		}
	}
	if options.Checkpoints > 0 {
		r.marks = checkpoints(rounds, options.Checkpoints)
	}
	for t := 1; t <= rounds; t++ {
		if t&255 == 1 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if options.Progress != nil && t > 1 {
				options.Progress(t-1, r.paid.value()/float64(t-1))
			}
		}
		if err := r.play(t, &options); err != nil {
			return nil, fmt.Errorf("round %d: %w", t, err)
		}
	}
	c := &Certificate{
		Rounds: rounds, LearnerLoss: r.paid.value(), Magnitude: r.magnitude, DynamicRegret: math.NaN(),
		Curve: r.curve, Noisy: r.noise != nil,
	}
	if options.Moving != nil {
		c.DynamicRegret = r.dynamic.value()
	}
	if err := r.compare(ctx, c, &options); err != nil {
		return nil, err
	}
	if r.history != nil {
		var err error
		if c.Dynamic, err = r.history.measure(ctx, game, player); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// checkpoints spreads about n rounds evenly over the logarithm, the last among them.
func checkpoints(rounds, n int) []int {
	var marks []int
	for k := range n {
		f := 1.0
		if n > 1 {
			f = float64(k) / float64(n-1)
		}
		marks = append(marks, min(int(math.Round(portable.Exp(f*portable.Log(float64(rounds))))), rounds))
	}
	marks[n-1] = rounds
	slices.Sort(marks)
	return slices.Compact(marks)
}

// round is a game in progress.
type round struct {
	player        Player
	drawn         RandomizedPlayer // nil for others
	game          Game
	g, u          []float64
	paid, against total // the learner's loss; the given comparator's
	dynamic       total
	magnitude     float64 // Σ |l_t(x_t)|
	marks         []int
	curve         []Point
	noise         func() float64 // in the feedback; nil for none
	history       *history       // nil unless the dynamics are measured
}

func (r *round) play(t int, o *Options) error {
	if z := r.game.Features(); z != nil {
		if p, ok := r.player.(featurePlayer); ok {
			if err := p.Features(z); err != nil {
				return err
			}
		}
	}
	x := r.player.Predict()
	shown := x
	if r.drawn != nil {
		shown = r.drawn.Distribution()
	}
	f, err := r.game.Next(shown)
	if err != nil {
		return err
	}
	v := f.Value(x)
	if v-v != 0 {
		return noregret.Errorf(noregret.Diverged, "loss", "%v at the point %v", v, x)
	}
	r.paid.add(v)
	r.magnitude += math.Abs(v)
	if o.Comparator != nil {
		r.against.add(f.Value(o.Comparator))
	}
	if o.Moving != nil {
		o.Moving(r.u, t)
		r.dynamic.add(v)
		r.dynamic.add(-f.Value(r.u))
	}
	if s := r.game.Summary(); s != nil && o.Comparator == nil {
		if err := s.Add(f); err != nil {
			return err
		}
	}
	if r.history != nil {
		if err := r.history.add(f, v); err != nil {
			return err
		}
	}
	if err := r.update(f, x, v); err != nil {
		return err
	}
	if len(r.marks) > 0 && r.marks[0] == t {
		r.marks = r.marks[1:]
		return r.note(t, o)
	}
	return nil
}

// update passes a loss to the learner in the richest form that it accepts: whole, as a subgradient
// with the loss's strong convexity, as a sparse subgradient, or as a dense one. A player of costs
// gets the value v at x.
func (r *round) update(f loss.Function, x []float64, v float64) error {
	if p, ok := r.player.(costPlayer); ok {
		if r.noise != nil {
			v += r.noise()
		}
		return p.UpdateCost(v)
	}
	if p, ok := r.player.(lossPlayer); ok && r.noise == nil {
		return p.UpdateLoss(f)
	}
	if p, ok := r.player.(curvedPlayer); ok {
		if c, ok := f.(loss.Curvature); ok && c.StrongConvexity() > 0 {
			r.subgradient(f, x)
			return p.UpdateCurved(r.g, c.StrongConvexity())
		}
	}
	if p, ok := r.player.(sparsePlayer); ok && r.noise == nil {
		if g, ok := r.sparseSubgradient(f, x); ok {
			return p.UpdateSparse(g)
		}
	}
	r.subgradient(f, x)
	return r.player.Update(r.g)
}

// subgradient writes the subgradient that the player sees to r.g.
func (r *round) subgradient(f loss.Function, x []float64) {
	f.Subgradient(r.g, x)
	if r.noise != nil {
		for i := range r.g {
			r.g[i] += r.noise()
		}
	}
}

// sparseSubgradient returns the subgradient of the round's loss as its non-zeros, if the loss or
// the game knows that they are few.
func (r *round) sparseSubgradient(f loss.Function, x []float64) (g loss.Sparse, ok bool) {
	if s, sparse := f.(loss.SparseFunction); sparse {
		if g, ok = s.SparseSubgradient(x); ok {
			return g, true
		}
	}
	if s, sparse := r.game.(sparseGame); sparse {
		return s.sparseSubgradient(x)
	}
	return g, false
}

// note adds a point to the curve.
func (r *round) note(t int, o *Options) error {
	p := Point{Round: t, Loss: r.paid.value(), Bound: math.Inf(1)}
	u, least := o.Comparator, r.against.value()
	if u == nil {
		s := r.game.Summary()
		if s == nil {
			return nil // the best point of a prefix would take a replay for each
		}
		var err error
		if least, _, err = s.Best(r.u, r.game.Set()); err != nil {
			return err
		}
		u = r.u
		if math.IsInf(least, -1) {
			if u, least = r.named(s); u == nil {
				return nil
			}
		}
	}
	p.Regret = p.Loss - least
	if b, ok := r.player.(bounder); ok {
		var err error
		if p.Bound, err = b.Bound(u); err != nil {
			return err
		}
	}
	r.curve = append(r.curve, p)
	return nil
}

// named returns the comparator that the game names if there is no best point, and its loss; nil if
// it names none.
func (r *round) named(s Summary) (u []float64, value float64) {
	g, ok := r.game.(comparing)
	if !ok {
		return nil, math.Inf(-1)
	}
	if u = g.Comparator(); u == nil {
		return nil, math.Inf(-1)
	}
	return u, s.Loss(u)
}

// compare fills in the comparator's side of the certificate.
func (r *round) compare(ctx context.Context, c *Certificate, o *Options) error {
	u := o.Comparator
	switch s := r.game.Summary(); {
	case u != nil:
		c.ComparatorLoss = r.against.value()
	case s != nil:
		u = make([]float64, len(r.g))
		least, gap, err := s.Best(u, r.game.Set())
		if err != nil {
			return err
		}
		c.ComparatorLoss, c.Gap = least, gap
		if math.IsInf(least, -1) {
			if u, c.ComparatorLoss = r.named(s); u != nil {
				c.Gap = math.Inf(1)
			}
		}
	default:
		var err error
		if u, c.ComparatorLoss, c.Gap, err = Replay(ctx, r.game, c.Rounds); err != nil {
			return err
		}
	}
	if c.Gap > 0 && !math.IsInf(c.ComparatorLoss, 0) {
		// The loss itself is a rounded number.
		c.Gap += float64(0x1p-50 * math.Abs(c.ComparatorLoss))
	}
	c.Regret = c.LearnerLoss - c.ComparatorLoss
	c.Bound, c.SharpBound = math.Inf(1), math.NaN()
	if u == nil {
		return nil
	}
	c.Comparator = slices.Clone(u)
	if b, ok := r.player.(bounder); ok {
		var err error
		if c.Bound, err = b.Bound(u); err != nil {
			return err
		}
	}
	if b, ok := r.player.(sharpBounder); ok {
		var err error
		if c.SharpBound, err = b.SharpBound(u); err != nil {
			return err
		}
	}
	return nil
}
