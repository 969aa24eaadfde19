package mixed

import (
	"math"
	"slices"

	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/stretch"
	"github.com/noregret/noregret/pasto/internal/twoway"
)

// Metric is what a model must know about a metric.
type Metric struct {
	Sign     float64 // of its good direction
	Relative bool    // differences from the control matter
	Ignored  bool    // no change and no effect of a round is looked for
	Hard     bool    // it has a hard guardrail
	Positive bool    // its range begins at 0
	Low      float64 // the lower end of the range of a unit's value
	Width    float64 // of that range, 0 if it is unknown
}

// Problem is what a model must know beside the observations.
type Problem struct {
	Control   int     // the arm that differences are taken from; −1 for none
	Threshold float64 // standard errors at which an arm counts as changed; 0 looks for no changes
	Metrics   []Metric
	Recheck   bool  // arms are looked at again after a change of any of them: see Model.Moved
	Without   Rules // rules that are switched off
}

// Model estimates the means of arms from rounds of observations. It works on a [State], of which
// the estimates are a function. A Model is not safe for concurrent use, and allocates nothing once
// its buffers have grown.
type Model struct {
	*State
	Problem
	Usable  []bool    // arms with a mean and a standard error, of the last Estimate
	rows    []float64 // K·M: V̂
	squared []float64 // K·M: squared standard errors, without what all arms have in common
	level   []float64 // M: the squared error that all arms have in common
	apart   []float64 // K·M: of y_k − y_control, where a metric is relative
	within  []float64 // 2·K·M: rows and apart by comparisons within rounds
	inverse twoway.Inverse
	round   roundSums
	sum     []float64 // M
	changed []int
	tests   []stretch.Test // M
	parts   []stretch.Part // of an arm
	Probing bool           // an arm of the last round is or was a suspect
	Doubled bool           // in the last round the size of an arm reached or passed a power of two
	watcher
}

// Key is what the inside of a learner is opened by: only packages of pasto can make one.
type Key struct{ _ byte }

// New returns a model on a state.
func New(p Problem, s *State) *Model {
	m := &Model{Problem: p, State: s}
	m.Resize()
	return m
}

// Resize makes room for as many arms as the state has, and takes it for another one.
func (e *Model) Resize() {
	arms, metrics := len(e.Stats.Rounds), len(e.Metrics)
	e.rows, e.squared = make([]float64, arms*metrics), make([]float64, arms*metrics)
	e.level, e.sum = make([]float64, metrics), make([]float64, metrics)
	e.Usable = make([]bool, arms)
	if slices.ContainsFunc(e.Metrics, func(x Metric) bool { return x.Relative }) {
		e.apart = make([]float64, arms*metrics)
	}
	e.Stats.rules = e.Without
}

// Observe adds the observations of a round, and returns how many of its arms had no data.
func (e *Model) Observe(obs []pasto.Observation) (first int) {
	e.round.collect(&e.Stats, obs)
	e.collectReleased(obs)
	e.Noise.addProducts(&e.Stats, &e.round, &e.Released)
	e.adjust()
	e.Noise.addExcess(&e.Stats, &e.round)
	e.watch()
	e.Doubled = false
	for a := range e.round.arms {
		x := &e.round.arms[a]
		if n := e.Stats.Weight[x.Arm]; n > 0 && e.has(NoDoubled) {
			e.Doubled = e.Doubled || math.Ilogb(n+x.Size) > math.Ilogb(n)
		}
		e.Stats.add(x)
		e.addReleased(x)
		if x.weight > 0 || e.suspects() {
			e.Changes.Add(x.Arm, x.part())
		}
	}
	e.Joint.Add(e.round.sums.Arms, e.sum)
	return len(e.round.arms) - len(e.round.known)
}

// Begin begins these arms anew. What others have shown beside them stays by the joint estimates,
// whether effects of rounds are shown or not.
func (e *Model) Begin(arms []int) {
	if len(arms) == 0 {
		return
	}
	e.inverse.C = 0
	if e.Joint.Any() && e.inverse.Invert(&e.Joint, twoway.MostShared, e.Control) {
		for i := range e.Metrics {
			e.inverse.Estimate(i, e.rows)
		}
	}
	for _, k := range arms {
		e.Joint.Forget(k, e.rows)
		e.Stats.forget(k)
		e.Released.forget(k, len(e.Metrics))
		e.lists().Clear(k, len(e.Metrics))
	}
}
