package drifting

import (
	"math"
	"slices"

	"github.com/noregret/noregret/forget"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/check"
	"github.com/noregret/noregret/pasto/internal/mixed"
)

// keptRound is a round of a window.
type keptRound struct {
	Arms      []int
	Size      []float64
	Values    []float64 // Q·M
	Variances []float64 // Q·M: of a unit, −1 where it is unknown; nil if none is known
}

// keep returns a copy of a round.
func keep(obs []pasto.Observation, metrics int) keptRound {
	var r keptRound
	for i := range obs {
		o := &obs[i]
		r.Arms, r.Size = append(r.Arms, o.Arm), append(r.Size, o.Size)
		r.Values = append(r.Values, o.Metrics...)
		if o.Variances == nil {
			continue
		}
		if r.Variances == nil {
			r.Variances = slices.Repeat([]float64{-1}, len(obs)*metrics)
		}
		for j, v := range o.Variances {
			if !math.IsNaN(v) {
				r.Variances[i*metrics+j] = v
			}
		}
	}
	return r
}

// observations returns the round, in the memory of obs.
func (r *keptRound) observations(obs []pasto.Observation, metrics int) []pasto.Observation {
	obs = obs[:0]
	for i, k := range r.Arms {
		o := pasto.Observation{Arm: k, Size: r.Size[i], Metrics: r.Values[i*metrics : (i+1)*metrics]}
		if r.Variances != nil {
			o.Variances = slices.Clone(r.Variances[i*metrics : (i+1)*metrics])
			for j, v := range o.Variances {
				if v < 0 {
					o.Variances[j] = math.NaN()
				}
			}
		}
		obs = append(obs, o)
	}
	return obs
}

// fits reports whether a round is one of these numbers of arms and metrics.
func (r *keptRound) fits(arms, metrics int) bool {
	n := len(r.Arms)
	return n > 0 && !slices.ContainsFunc(r.Arms, func(k int) bool { return k < 0 || k >= arms }) &&
		check.Vector("", r.Size, n) == nil && check.Vector("", r.Values, n*metrics) == nil &&
		(r.Variances == nil || check.Vector("", r.Variances, n*metrics) == nil)
}

// slide takes a round, and drops those that are too old. It returns how many arms were begun anew.
func (l *Learner) slide(obs []pasto.Observation) (changed int) {
	metrics := l.metrics
	var relearn bool
	if l.d.Kept, relearn = forget.Slide(l.d.Kept, keep(obs, metrics), l.rule.Rounds); !relearn {
		return l.take(obs)
	}
	model := l.in.Model()
	*model.State = mixed.State{}
	model.Grow(l.Arms(), metrics)
	model.Resize()
	var buffer []pasto.Observation
	for i := range l.d.Kept {
		buffer = l.d.Kept[i].observations(buffer, metrics)
		model.Observe(buffer)
		arms := model.Changed()
		if i == len(l.d.Kept)-1 && len(arms) > 0 {
			changed = len(arms)
			l.memory.Note(arms, "change", 0)
		}
	}
	return changed
}
