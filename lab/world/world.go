package world

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/scenario"
)

// Kind is a distribution of a metric's values over units.
type Kind int

const (
	// Bernoulli values are 0 or 1: a unit has clicked or not. The mean is a rate.
	Bernoulli Kind = iota
	// Normal values have a given standard deviation: a latency, a time on the page.
	Normal
	// Revenue is 0 for most units; a unit that has bought, by the Bernoulli metric Outcome.Of,
	// spends a lognormal amount.
	Revenue
	// Value is what Outcome.Value draws, unit by unit.
	Value
)

// Outcome says how the values of a metric are distributed over the units of a group.
type Outcome struct {
	Kind Kind
	// Deviation is the standard deviation of a unit's value, of Normal. A unit that returns keeps
	// the part Own of it, from 0 to 1: Own² of the variance is between units.
	Deviation, Own float64
	// Value draws the value of a unit for the mean of its arm and round, of Value. The values of
	// the metrics before it are in unit.
	Value func(r *random.SplitMix64, mean float64, unit []float64) float64
	// Of is the index of the Bernoulli metric that counts the purchases, of Revenue.
	Of int
	// Sigma is the standard deviation of the logarithm of what a buyer spends, of Revenue.
	Sigma float64
	// Cap winsorizes what a buyer spends, in multiples of its uncapped mean, of Revenue; 0 does
	// not. The metric's mean is that of the capped values.
	Cap float64
}

// Most is the largest amount that a buyer spends, in multiples of its mean, of Revenue.
func (o *Outcome) Most() float64 {
	if o.Cap == 0 {
		return math.Inf(1)
	}
	return o.Cap / cappedMean(o.Sigma, o.Cap)
}

// Phase is a part of a run in which the means stay the same.
type Phase struct {
	// From is the first round, counted from 0.
	From int
	// Means are the raw means per unit at level one, arm by arm. Arm 0 is the control.
	Means *pasto.Table
}

// World is one problem with the truth about it: what users bring to an experiment and what they
// could gain from it at best.
type World struct {
	// Goals is the objective. Guardrails that are relative compare with arm 0.
	Goals *pasto.Goals
	// Outcomes are the distributions of the metrics.
	Outcomes []Outcome
	// Margins are the units in which violations of the guardrails are reported, by metric: how far
	// the control is from the limit, or would be without noise of the design; 0 for other metrics.
	Margins []float64
	// Phases are in order of time; the first begins at round 0.
	Phases []Phase
	// Units is the number of units in each round. Its length is the number of rounds.
	Units []int
	// Levels are factors of all arms' means, by round and metric: seasons, growth, shocks. Nil
	// means one in all rounds. Mixtures are scored at level one.
	Levels [][]float64
	// Delay is the number of rounds by which observations come late.
	Delay int
	// Late are the numbers of rounds by which each metric comes late, by metric and at most Delay;
	// nil means Delay for all. A learner may use a metric before the others have come.
	Late []int
	// Tilts are factors of an arm's means, by round and arm, with a mean of one over the run: a
	// weekday that suits an arm. Nil means one. Mixtures are scored without them.
	Tilts [][]float64
	// Away reports whether an arm cannot be served in round t: it has not joined yet, is out of
	// stock, is sold on weekdays only. Nil means that none is. Arm 0 is never away.
	Away func(t, k int) bool
	// Segments are parts of the units that may get some of the arms only; nil means that all units
	// may get all.
	Segments []Segment
	// Repeats is the number of events that come from one person, of Bernoulli metrics, while units
	// are reported as independent: the variance of a mean is as many times what it seems. 0 is 1.
	Repeats int
	// Noise are factors of the deviations of Normal metrics, by metric and arm; nil means one, for
	// a metric or for all.
	Noise [][]float64
	// Giants are single units of a huge value beside those drawn.
	Giants []Giant

	truths []Truth
	states []int // of the rounds of a masked world, after Solve: indices of truths
}

// New returns a world whose rounds have the given number of units each, and whose means stay the
// same: rows has those of the arms, by metric.
func New(rounds, units int, outcomes []Outcome, rows ...[]float64) (*World, error) {
	means, err := pasto.TableOf(rows...)
	if err != nil {
		return nil, err
	}
	return &World{
		Outcomes: outcomes, Units: slices.Repeat([]int{units}, rounds), Phases: []Phase{{Means: means}},
	}, nil
}

// Giant is a unit with a huge value of a metric, in a round of an arm that has any units.
type Giant struct {
	Round, Arm, Metric int
	Value              float64
}

// deviation is the standard deviation of a unit's value of a Normal metric.
func (w *World) deviation(k, m int) float64 {
	if w.Noise == nil || w.Noise[m] == nil {
		return w.Outcomes[m].Deviation
	}
	return float64(w.Outcomes[m].Deviation * w.Noise[m][k])
}

// tilted is the factor of an arm's means in round t.
func (w *World) tilted(t, k int) float64 {
	if w.Tilts == nil {
		return 1
	}
	return w.Tilts[t][k]
}

// Arms is the number of arms, the control included.
func (w *World) Arms() int { return w.Phases[0].Means.Arms() }

// Rounds is the number of rounds of a run.
func (w *World) Rounds() int { return len(w.Units) }

// PhaseAt returns the index of the phase of round t, counted from 0.
func (w *World) PhaseAt(t int) int {
	i := len(w.Phases) - 1
	for w.Phases[i].From > t {
		i--
	}
	return i
}

// Level returns the factor of metric m in round t.
func (w *World) Level(t, m int) float64 {
	if w.Levels == nil {
		return 1
	}
	return w.Levels[t][m]
}

// Truth is the solution of a state, which its maker can compute. A state is a phase, with the arms
// that the units of a round may get.
type Truth struct {
	// Means are the arms' means as the objective sees them: contrasts of relative guardrails.
	Means *pasto.Table
	// Best is the certified optimum of what units can get, by arm, and Prices are those of its
	// guardrails.
	Best, Prices []float64

	phase   int
	control float64 // the reward of the control
	unit    float64 // the gain that counts as one
}

// Truth returns the truth of a state, given by its index. Solve must have been called.
func (w *World) Truth(state int) *Truth { return &w.truths[state] }

// StateAt returns the index of the state of round t: that of its phase, in a world without masks.
// Solve must have been called.
func (w *World) StateAt(t int) int {
	if !w.Masked() {
		return w.PhaseAt(t)
	}
	return w.states[t]
}

// leastUnit bounds the unit of values from below, as a share of the largest difference in the goals
// between an arm and the control: where almost nothing can be gained, almost nothing can be lost.
const leastUnit = 0.1

// Solve computes the certified optimum of each state, which [World.Truth] and [World.Rate] need. In
// a world with masks these are the phases with the masks of their rounds, in order of time, and the
// optimum is that of all policies that respect the masks. It returns an error of code bad_input if
// a policy could do more than 10,000 different things in a round.
func (w *World) Solve() error {
	w.truths, w.states = w.truths[:0], w.states[:0]
	if !w.Masked() {
		for i := range w.Phases {
			if err := w.solve(i, w.masks(w.Phases[i].From)); err != nil {
				return err
			}
		}
		return nil
	}
	known := map[string]int{}
	for t := range w.Units {
		masks := w.masks(t)
		key := fmt.Sprint(w.PhaseAt(t), masks)
		state, ok := known[key]
		if !ok {
			state, known[key] = len(w.truths), len(w.truths)
			if err := w.solve(w.PhaseAt(t), masks); err != nil {
				return err
			}
		}
		w.states = append(w.states, state)
	}
	return nil
}

// solve appends the truth of a phase under masks.
func (w *World) solve(phase int, masks []Segment) error {
	tr, err := newTruth(w.Goals, w.Phases[phase].Means, masks)
	if err != nil {
		return fmt.Errorf("phase %d: %w", phase, err)
	}
	tr.phase = phase
	w.truths = append(w.truths, tr)
	return nil
}

func newTruth(goals *pasto.Goals, raw *pasto.Table, masks []Segment) (Truth, error) {
	tr := Truth{Means: raw.Clone()}
	for k := range raw.Arms() {
		if err := goals.Contrast(tr.Means.Arm(k), raw.Arm(k), raw.Arm(0)); err != nil {
			return Truth{}, err
		}
	}
	shares, err := assignments(masks, raw.Arms())
	if err != nil {
		return Truth{}, err
	}
	means, err := pasto.NewTable(shares.Arms(), raw.Metrics())
	if err != nil {
		return Truth{}, err
	}
	for i := range shares.Arms() {
		tr.Means.Mean(means.Arm(i), shares.Arm(i))
	}
	t, err := scenario.NewTruth(context.Background(), goals, means)
	if err != nil {
		return Truth{}, err
	}
	if t.Best == nil {
		return Truth{}, t.Infeasible
	}
	tr.Best, tr.Prices = make([]float64, raw.Arms()), t.Best.Prices
	shares.Mean(tr.Best, t.Best.Mixture)
	if tr.Prices == nil {
		tr.Prices = make([]float64, goals.Dim())
	}
	tr.control = goals.Reward(tr.Means.Arm(0))
	// The reward of plain has no guardrails.
	plain := goals.Harden(func(*pasto.Metric) bool { return true })
	for i := range means.Arms() {
		d := plain.Reward(means.Arm(i)) - plain.Reward(tr.Means.Arm(0))
		tr.unit = max(tr.unit, float64(leastUnit*math.Abs(d)))
	}
	tr.unit = max(tr.unit, t.Optimum()-tr.control)
	if !(tr.unit > 0) {
		return Truth{}, noregret.Errorf(noregret.Internal, "world", "all arms are equal")
	}
	if !(t.Best.Gap <= float64(1e-6*tr.unit)) {
		return Truth{}, noregret.Errorf(noregret.Internal, "world", "the optimum is certified to %v only", t.Best.Gap)
	}
	return tr, nil
}

// violationPrice is the cost of violating a hard guardrail, in multiples of its certified price.
// From one on no mixture is worth more than the optimum; above one a violation never pays off.
const violationPrice = 2

// Score is the value of a mixture under the true means.
type Score struct {
	// Value is 0 for the control and 1 for the optimum. A violation of a hard guardrail costs twice
	// its certified price. Raw is the same without that.
	Value, Raw float64
	// Violation is the largest violation of a hard guardrail, in units of its margin, and Broken
	// reports whether there is one.
	Violation float64
	Broken    bool
	// Clear reports whether one is broken by more than .5 % of the control's mean.
	Clear bool
}

// Rate scores what units get by arm in a state, given by its index, using theta as workspace. Solve
// must have been called.
func (w *World) Rate(state int, p, theta []float64) Score {
	w.truths[state].Means.Mean(theta, p)
	return w.RateMeans(state, theta)
}

// RateDeployed scores a mixture as it would be served after the run: in the last phase or, in a
// masked world, in the second half of its rounds, in their mean. There it breaks a guardrail if it
// does so in one round. Solve must have been called.
func (w *World) RateDeployed(p, theta []float64) (s Score) {
	if !w.Masked() {
		return w.Rate(len(w.Phases)-1, p, theta)
	}
	half := w.Rounds() / 2
	for t := half; t < w.Rounds(); t++ {
		served, _ := w.Serve(t, p)
		one := w.Rate(w.StateAt(t), served, theta)
		s.Value += one.Value / float64(w.Rounds()-half)
		s.Raw += one.Raw / float64(w.Rounds()-half)
		s.Violation = max(s.Violation, one.Violation)
		s.Broken, s.Clear = s.Broken || one.Broken, s.Clear || one.Clear
	}
	return s
}

// RateMeans is [World.Rate] of a mixture by its means, as the objective sees them: for a learner
// whose arms are not the world's.
func (w *World) RateMeans(state int, theta []float64) (s Score) {
	tr := &w.truths[state]
	reward, cost := w.Goals.Reward(theta), 0.0
	for i := range w.Goals.Metrics() {
		m := &w.Goals.Metrics()[i]
		if !m.Hard {
			continue
		}
		v := m.Violation(theta[i])
		if v <= float64(rounding*w.Margins[i]) {
			continue
		}
		s.Broken = true
		s.Clear = s.Clear || v > float64(clearly*math.Abs(w.Phases[tr.phase].Means.Arm(0)[i]))
		s.Violation = max(s.Violation, v/w.Margins[i])
		cost += float64(violationPrice * tr.Prices[i] * v)
	}
	s.Raw = (reward - tr.control) / tr.unit
	s.Value = (reward - cost - tr.control) / tr.unit
	return s
}

// clearly is the part of the control's mean by which a guardrail is broken clearly.
const clearly = 0.005

// rounding is the share of a margin by which rounding may violate a guardrail.
const rounding = 1e-6

// cappedMean is E[min(X, c)] for a lognormal X of mean one, which is X's for c = 0.
func cappedMean(sigma, c float64) float64 {
	if c == 0 {
		return 1
	}
	d := portable.Log(c)/sigma + float64(sigma/2)
	return stat.NormalBelow(d-sigma) + float64(c*(1-stat.NormalBelow(d)))
}
