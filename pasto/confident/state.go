package confident

import (
	"math"
	"slices"

	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/pasto/internal/check"
)

// state is the state of a [Learner].
type state struct {
	T           int
	Began       int  // the round of the last change
	Next        int  // the round in which to solve again
	AllObserved bool // every arm has been served at some time
	Unobserved  int  // active arms with Rounds 0
	Found       int  // changes
	Live        int
	Active      []bool
	Stats       armStats
	Noise       noise
	Joint       joint // without arms where there are too many
	Changes     detector
	Width       float64   // what p⁺ promises beyond p⁻, as a part of the objective's range
	Up, Down    []float64 // p⁺ and p⁻
	Safe        []float64 // what is served where guardrails are promised, beside what is explored
	Serving     []float64
}

// newState is the state at the start: mixtures are uniform, or the control arm if there is one.
func newState(arms, m, control int) state {
	s := state{Width: 1, Live: arms, Unobserved: arms, Active: make([]bool, arms)}
	if arms <= mostJoint {
		s.Joint = newJoint(arms, m)
	}
	for _, v := range s.perMetric() {
		*v = make([]float64, m)
	}
	for _, v := range s.perArm() {
		*v = make([]float64, arms)
	}
	for _, v := range s.rows() {
		*v = make([]float64, arms*m)
	}
	for k := range arms {
		s.Active[k] = true
		for _, p := range s.mixtures() {
			if control < 0 {
				(*p)[k] = 1 / float64(arms)
			} else if k == control {
				(*p)[k] = 1
			}
		}
	}
	return s
}

// grow adds an arm never served, of share 0.
func (s *state) grow(m int) {
	s.Live++
	s.Unobserved++
	s.Active = append(s.Active, true)
	for _, v := range s.perArm() {
		*v = append(*v, 0)
	}
	for _, v := range s.rows() {
		*v = append(*v, make([]float64, m)...)
	}
	if s.Stats.UnitSize != nil {
		s.Stats.UnitSize = append(s.Stats.UnitSize, make([]float64, m)...)
		s.Stats.UnitSquares = append(s.Stats.UnitSquares, make([]float64, m)...)
	}
	s.Joint.grow(m)
}

// mixtures lists the mixtures, perArm the numbers of each arm, rows those of each arm and metric,
// and perMetric those of each metric.
func (s *state) mixtures() []*[]float64 { return []*[]float64{&s.Up, &s.Down, &s.Safe, &s.Serving} }

func (s *state) perArm() []*[]float64 {
	return slices.Concat(s.Stats.perArm(), s.Changes.perArm(), s.mixtures())
}

func (s *state) rows() []*[]float64 { return slices.Concat(s.Stats.rows(), s.Changes.rows()) }

func (s *state) perMetric() []*[]float64 {
	return slices.Concat(s.Stats.perMetric(), s.Noise.perMetric())
}

// mostRounds is more than any learner lives to see.
const mostRounds = min(1<<53, math.MaxInt)

// nonNegative reports whether v has n finite numbers of at least 0.
func nonNegative(v []float64, n int) bool {
	return check.Vector("", v, n) == nil && !slices.ContainsFunc(v, func(x float64) bool { return x < 0 })
}

// fits reports whether s is a state of n arms and m metrics that a learner can be in.
func (s *state) fits(n, m int) bool {
	if n < 1 || len(s.Active) != n || s.T < 0 || s.T > mostRounds || s.Next < 0 || s.Next > mostRounds ||
		s.Began < 0 || s.Began > s.T || s.Found < 0 || s.Found > mostRounds ||
		!nonNegative([]float64{s.Stats.Freedom, s.Noise.Pairs, s.Width, 1 - s.Width}, 4) {
		return false
	}
	for _, v := range s.perArm() {
		if !nonNegative(*v, n) {
			return false
		}
	}
	signed := []*[]float64{
		&s.Stats.Mean, &s.Stats.Adjusted, &s.Changes.SegmentMean, &s.Changes.BlockMean,
		&s.Changes.SegmentRaw, &s.Changes.BlockRaw, &s.Noise.Across,
	}
	for _, v := range s.rows() {
		if check.Vector("", *v, n*m) != nil || !slices.Contains(signed, v) && !nonNegative(*v, n*m) {
			return false
		}
	}
	for _, v := range s.perMetric() {
		if check.Vector("", *v, m) != nil || !slices.Contains(signed, v) && !nonNegative(*v, m) {
			return false
		}
	}
	for _, p := range s.mixtures() {
		if check.Mixture("", *p, n) != nil {
			return false
		}
	}
	u := &s.Stats
	if u.UnitSize != nil && !(nonNegative(u.UnitSize, n*m) && nonNegative(u.UnitSquares, n*m) &&
		nonNegative(u.UnitTotal, m) && nonNegative(u.UnitPool, m)) {
		return false
	}
	return s.Joint.fits(n, m) && s.armsFit()
}

// fits reports whether the sums are those of n arms, or of none.
func (j *joint) fits(n, m int) bool {
	if len(j.Size) == 0 {
		return len(j.Cross) == 0 && len(j.Own) == 0 && len(j.Level) == 0
	}
	return nonNegative(j.Size, n) && nonNegative(j.Cross, n*n) && check.Vector("", j.Own, n*m) == nil &&
		check.Vector("", j.Level, n*m) == nil && nonNegative([]float64{j.Total, j.Heavy}, 2)
}

// armsFit reports whether the arms' numbers fit each other and the sums over them.
func (s *state) armsFit() bool {
	u, d := &s.Stats, &s.Changes
	live, unobserved, free := 0, 0, 0.0
	for k, active := range s.Active {
		rounds := u.Rounds[k]
		switch {
		case rounds != math.Trunc(rounds) || rounds > float64(s.T) || u.Count[k] < rounds:
			return false
		case (rounds > 0) != (u.Weight[k] > 0) || (rounds > 0) != (u.Heavy[k] > 0) || rounds == 0 && u.Free[k] > 0:
			return false
		case d.Rounds[k] > rounds || d.BlockRounds[k] > d.Rounds[k] || d.BlockLimit[k] > mostBlock ||
			d.Rounds[k] != math.Trunc(d.Rounds[k]) || d.BlockRounds[k] != math.Trunc(d.BlockRounds[k]):
			return false
		case !atMost(d.BlockWeight[k], u.Standing[k]) || !atMost(d.SegmentWeight[k], u.Standing[k]) ||
			!atMost(u.Standing[k], u.Weight[k]):
			return false
		case !atMost(u.Heavy[k], float64(u.Weight[k]*u.Weight[k])) ||
			!atMost(float64(u.Weight[k]*u.Weight[k]), float64(u.Heavy[k]*max(rounds, 1))):
			return false
		}
		free += u.Free[k]
		if active {
			live++
			if rounds == 0 {
				unobserved++
			}
		}
	}
	return live > 0 && s.Live == live && s.Unobserved == unobserved && vec.IsFinite(u.Freedom) && u.Freedom >= free-0.5
}

// atMost is x ≤ y but for rounding of running sums.
func atMost(x, y float64) bool { return x <= float64(y*(1+1e-6)) }
