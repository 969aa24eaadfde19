package regret

import (
	"context"
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/memory"
	"github.com/noregret/noregret/loss"
)

// DynamicOptions control what [Options.Dynamic] measures. The zero value takes the intervals of the
// geometric covering.
type DynamicOptions struct {
	// Lengths are the lengths of the intervals for the interval regret: all intervals of each
	// length are compared. They are available for linear losses, with or without an l1 part,
	// squared distances and tilts. nil is for the geometric covering intervals [i·2^j, (i+1)·2^j −
	// 1], i ≥ 1, of every length 2^j (Daniely, Gonen and Shalev-Shwartz 2015).
	Lengths []int
}

// Dynamics compare a player with moving comparators.
type Dynamics struct {
	// Regret is the dynamic regret Σ l_t(x_t) − Σ min_x l_t(x), against the sequence of the losses'
	// own minimizers over the set.
	Regret float64
	// ComparatorLoss is Σ min_x l_t(x). No sequence has a loss below ComparatorLoss − Gap.
	ComparatorLoss, Gap float64
	// Variation is how much the losses change.
	Variation Variation
	// Bound is the player's guarantee for the dynamic regret with this variation, +Inf if it gives
	// none or the variation is not known exactly. With noise in the feedback, or for a player that
	// draws, it bounds the expectation.
	Bound float64
	// Intervals hold, for each length, the interval with the largest regret against its own best
	// fixed point: the interval or adaptive regret.
	Intervals []Interval
}

// Interval is a run of rounds and the regret in it.
type Interval struct {
	// First is the first round, counted from 1, and Length the number of rounds.
	First, Length int
	// Regret is the player's loss in these rounds minus that of the best fixed point for them. No
	// fixed point has a regret above Regret + Gap.
	Regret, Gap float64
}

// Worst is the interval with the largest regret; the zero Interval if there are none.
func (d *Dynamics) Worst() Interval {
	var worst Interval
	for i, v := range d.Intervals {
		if i == 0 || v.Regret > worst.Regret {
			worst = v
		}
	}
	return worst
}

// Holds reports whether the dynamic regret is within the bound, up to rounding.
func (d *Dynamics) Holds() bool {
	return math.IsInf(d.Bound, 1) ||
		d.Regret <= d.Bound+float64(1e-9*math.Abs(d.Bound))+float64(1e-12*math.Abs(d.ComparatorLoss))
}

// dynamicBounder is a player with a guarantee for its dynamic regret against losses of a variation.
type dynamicBounder interface {
	DynamicBound(variation float64) (float64, error)
}

// history holds the losses of a game and what the player paid.
type history struct {
	lengths []int
	losses  []loss.Function
	paid    []float64
}

func newHistory(o *DynamicOptions, set convex.Set, rounds int) (*history, error) {
	for i, n := range o.Lengths {
		if n < 1 || n > rounds {
			return nil, noregret.Errorf(noregret.Usage, fmt.Sprintf("lengths[%d]", i),
				"%d: want a length from 1 to the %d rounds", n, rounds)
		}
	}
	// A loss and its minimizer have d numbers each, and a few words besides.
	size := float64(rounds) * float64(2*float64(set.Dim())+12)
	if err := memory.Check("rounds", fmt.Sprintf("the dynamic regret of %d rounds", rounds), size); err != nil {
		return nil, err
	}
	return &history{lengths: o.Lengths}, nil
}

// add keeps a round's loss and what the player paid.
func (h *history) add(f loss.Function, paid float64) error {
	f, err := keep(f)
	if err != nil {
		return err
	}
	h.losses, h.paid = append(h.losses, f), append(h.paid, paid)
	return nil
}

// measure computes the dynamics of a game that has ended.
func (h *history) measure(ctx context.Context, game Game, player Player) (*Dynamics, error) {
	set := game.Set()
	d := set.Dim()
	m, points, lowest := newLeast(set), make([]float64, len(h.losses)*d), make([]float64, len(h.losses))
	var paid, comparator, gap total
	for t, f := range h.losses {
		if t&255 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		v, g, err := m.of(points[t*d:(t+1)*d], f)
		if err != nil {
			return nil, fmt.Errorf("round %d: %w", t+1, err)
		}
		lowest[t] = v
		paid.add(h.paid[t])
		comparator.add(v)
		gap.add(g)
	}
	c := &Dynamics{
		ComparatorLoss: comparator.value(), Gap: gap.value(), Bound: math.Inf(1),
		Variation: variation(set, h.losses, points),
	}
	c.Regret = paid.value() - c.ComparatorLoss
	if b, ok := player.(dynamicBounder); ok && c.Variation.Exact {
		v := c.Variation.Hull // only values at minimizers enter the bounds
		if math.IsNaN(v) {
			v = c.Variation.Total
		}
		var err error
		if c.Bound, err = b.DynamicBound(v); err != nil {
			return nil, err
		}
	}
	var err error
	c.Intervals, err = h.intervals(ctx, game, m, lowest)
	return c, err
}
