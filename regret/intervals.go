package regret

import (
	"context"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/loss"
)

// sliding is a summary from which losses can be taken away.
type sliding interface {
	Summary
	// remove takes away a loss that was added.
	remove(f loss.Function) error
}

// emptySummary returns a summary for losses of the kind of f, nil if there is none.
func emptySummary(f loss.Function) (Summary, error) {
	d := f.Dim()
	switch f := f.(type) {
	case *loss.Linear:
		return NewLinearSummary(d), nil
	case *loss.SquaredDistance:
		return NewDistanceSummary(d), nil
	case *loss.Composite:
		if _, linear := f.F.(*loss.Linear); linear {
			return NewCompositeSummary(d), nil
		}
	case *Tilt:
		return NewTiltSummary(f.Shape), nil
	case *loss.Example:
		if _, squared := f.Loss.(loss.Squared); squared {
			return NewSquareSummary(d)
		}
		if _, absolute := f.Loss.(loss.Absolute); absolute && d == 1 && f.Z[0] == 1 {
			return NewAbsoluteSummary(), nil
		}
	}
	return nil, nil
}

// intervals finds the intervals with the largest regret; lowest holds the least of each round.
func (h *history) intervals(ctx context.Context, game Game, m *least, lowest []float64) ([]Interval, error) {
	s, err := emptySummary(h.losses[0])
	if err != nil {
		return nil, err
	}
	if h.lengths == nil {
		var all []Interval
		for n := 1; 2*n-1 <= len(h.losses); n *= 2 {
			v, err := h.covering(ctx, n, s, m, lowest)
			if err != nil {
				return nil, err
			}
			all = append(all, v)
		}
		return all, nil
	}
	w, ok := s.(sliding)
	if !ok {
		return nil, noregret.Errorf(noregret.Usage, "lengths",
			"%v: the intervals of a length are compared for linear losses, squared distances and tilts only, and the "+
				"losses are of type %T; the geometric covering intervals are for all", h.lengths, h.losses[0])
	}
	all := make([]Interval, 0, len(h.lengths))
	for _, n := range h.lengths {
		v, err := h.slide(ctx, n, w, game.Set())
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

// covering compares the intervals [i·n, (i+1)·n − 1], i ≥ 1, of rounds counted from 1.
func (h *history) covering(ctx context.Context, n int, s Summary, m *least, lowest []float64) (Interval, error) {
	worst := Interval{Length: n, Regret: math.Inf(-1)}
	u := make([]float64, m.set.Dim())
	for first := n; first+n-1 <= len(h.losses); first += n {
		if err := ctx.Err(); err != nil {
			return worst, err
		}
		losses := h.losses[first-1 : first-1+n]
		var paid total
		for _, v := range h.paid[first-1 : first-1+n] {
			paid.add(v)
		}
		var value, gap float64
		var err error
		switch {
		case n == 1:
			value = lowest[first-1]
		case s != nil:
			s.Reset()
			for _, f := range losses {
				if err := s.Add(f); err != nil {
					return worst, err
				}
			}
			value, gap, err = s.Best(u, m.set)
		default:
			value, gap, err = m.search(u, losses)
		}
		if err != nil {
			return worst, err
		}
		if r := paid.value() - value; r > worst.Regret {
			worst.First, worst.Regret, worst.Gap = first, r, gap
		}
	}
	return worst, nil
}

// slide compares all intervals of a length.
func (h *history) slide(ctx context.Context, n int, s sliding, set convex.Set) (Interval, error) {
	worst := Interval{Length: n, Regret: math.Inf(-1)}
	u := make([]float64, set.Dim())
	s.Reset()
	var paid total
	for t, f := range h.losses {
		if t&255 == 0 && ctx.Err() != nil {
			return worst, ctx.Err()
		}
		if err := s.Add(f); err != nil {
			return worst, err
		}
		paid.add(h.paid[t])
		if t >= n {
			if err := s.remove(h.losses[t-n]); err != nil {
				return worst, err
			}
			paid.add(-h.paid[t-n])
		}
		if t < n-1 {
			continue
		}
		value, gap, err := s.Best(u, set)
		if err != nil {
			return worst, err
		}
		if r := paid.value() - value; r > worst.Regret {
			worst.First, worst.Regret, worst.Gap = t-n+2, r, gap
		}
	}
	return worst, nil
}
