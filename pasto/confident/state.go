package confident

import (
	"math"
	"slices"

	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/pasto/internal/check"
)

// state is the state of a [Learner]. An active arm with Rounds 0 has not been served since the
// start or its last change. It has Count 0 if it was never served; else it has Count 1 and its
// earlier mean and size.
type state struct {
	T             int
	Began         int     // the round of the last change
	Next          int     // the round in which to solve again
	First         float64 // size of the first round
	AllObserved   bool    // every arm has been served at some time
	Unobserved    int     // active arms with Rounds 0
	Underobserved int     // other active arms of fewer than fewGroups groups
	Found         int     // changes
	Live          int
	Active        []bool
	Stats         armStats
	Noise         noise
	Joint         joint // without arms where there are too many
	Changes       detector
	Dispersion    []float64 // M: by how much the scatter exceeds the known variances of units
	Solved        []float64 // K: Count at the last solution
	Width         float64   // what p⁺ promises beyond p⁻, as a part of the objective's range
	Up, Down      []float64 // p⁺ and p⁻
	Safe          []float64 // the cautious mixture that is served where guardrails are promised
	Serving       []float64
}

// newState is the state at the start: mixtures are uniform, or the control arm if there is one.
func newState(arms, m, control int) state {
	s := state{Width: 1, Noise: newNoise(m)}
	if arms <= mostJoint {
		s.Joint = newJoint(arms, m)
	}
	for _, v := range s.perMetric() {
		*v = make([]float64, m)
	}
	for i := range s.Dispersion {
		s.Dispersion[i] = 1
	}
	s.Active = make([]bool, arms)
	for _, v := range s.perArm() {
		*v = make([]float64, arms)
	}
	for _, v := range s.rows() {
		*v = make([]float64, arms*m)
	}
	for k := range arms {
		s.Active[k] = true
		s.Changes.BlockLimit[k] = 2 * firstBlock
		for _, p := range s.mixtures() {
			if (*p)[k] = 1 / float64(arms); control >= 0 {
				(*p)[k] = 0
			}
		}
	}
	if control >= 0 {
		for _, p := range s.mixtures() {
			(*p)[control] = 1
		}
	}
	s.Live, s.Unobserved = arms, arms
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
	s.Changes.BlockLimit[len(s.Active)-1] = 2 * firstBlock
}

// count adds n to the number that arm k, which is or was active, belongs to: Unobserved,
// Underobserved or none.
func (s *state) count(k, n int) {
	switch {
	case s.Stats.Rounds[k] == 0:
		s.Unobserved += n
	case s.Stats.Count[k] < fewGroups:
		s.Underobserved += n
	}
}

// mixtures lists the mixtures.
func (s *state) mixtures() [4]*[]float64 {
	return [...]*[]float64{&s.Up, &s.Down, &s.Safe, &s.Serving}
}

// perArm lists the numbers of each arm.
func (s *state) perArm() []*[]float64 {
	a, b, d, p := s.Stats.Raw.perArm(), s.Stats.Fair.perArm(), s.Changes.perArm(), s.mixtures()
	return slices.Concat(a[:], b[:], d[:], p[:], []*[]float64{&s.Stats.Count, &s.Stats.Rounds, &s.Solved})
}

// rows lists the numbers of each arm and metric.
func (s *state) rows() []*[]float64 {
	a, b, d := &s.Stats.Raw, &s.Stats.Fair, s.Changes.perMetric()
	return append(d[:], &a.Mean, &a.Squares, &b.Mean, &b.Squares)
}

// perMetric lists the numbers of each metric.
func (s *state) perMetric() []*[]float64 {
	a, b := s.Stats.Raw.perMetric(), s.Stats.Fair.perMetric()
	return slices.Concat(a[:], b[:], []*[]float64{
		&s.Stats.Calm, &s.Noise.Shared, &s.Noise.Across, &s.Noise.Inner, &s.Noise.Lone.Square, &s.Noise.Lone.Product,
		&s.Dispersion,
	})
}

// mostRounds is more than any learner lives to see.
const mostRounds = min(1<<53, math.MaxInt)

// nonNegative reports whether v has n finite numbers of at least 0.
func nonNegative(v []float64, n int) bool {
	return check.Vector("", v, n) == nil && !slices.ContainsFunc(v, func(x float64) bool { return x < 0 })
}

// fits reports whether s is a state of n arms and m metrics that a learner can be in.
func (s *state) fits(n, m int) bool {
	if n < 1 || len(s.Active) != n || !s.scalarsFit() {
		return false
	}
	for _, v := range s.perArm() {
		if !nonNegative(*v, n) {
			return false
		}
	}
	for _, v := range s.rows() {
		signed := v == &s.Stats.Raw.Mean || v == &s.Stats.Fair.Mean || v == &s.Changes.BlockMean ||
			v == &s.Changes.LastMean ||
			v == &s.Changes.BlockRaw || v == &s.Changes.LastRaw
		if check.Vector("", *v, n*m) != nil || !signed && !nonNegative(*v, n*m) {
			return false
		}
	}
	for _, v := range s.perMetric() {
		if check.Vector("", *v, m) != nil || v != &s.Noise.Shared && v != &s.Noise.Across && !nonNegative(*v, m) {
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

// scalarsFit reports whether the numbers that are not of arms or metrics are in their ranges.
func (s *state) scalarsFit() bool {
	a, u := &s.Noise.Lone, &s.Stats
	return nonNegative([]float64{
		u.Raw.Freedom, u.Fair.Freedom, u.Raw.Total, u.Fair.Total, u.CalmFreedom, u.Raw.KeptFreedom, u.Fair.KeptFreedom,
		s.Noise.Pairs, s.Noise.AcrossOf, s.Noise.Inners, s.Noise.Between,
		a.Rounds, a.Inverse, a.Part, a.Sized, a.Heavy, s.First, s.Width, 1 - s.Width,
	}, 19) && a.Rounds <= float64(s.T) && 0 <= s.T && s.T <= mostRounds && 0 <= s.Next && s.Next <= mostRounds &&
		0 <= s.Began && s.Began <= s.T && 0 <= s.Found && s.Found <= mostRounds
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
	u, raw, fair, d := &s.Stats, &s.Stats.Raw, &s.Stats.Fair, &s.Changes
	live, size, free := 0, 0.0, raw.KeptFreedom
	seen := state{Stats: armStats{Rounds: u.Rounds, Count: u.Count}}
	for k, active := range s.Active {
		count := u.Count[k]
		switch {
		case (count > 0) != (raw.Weight[k] > 0) || (count > 0) != (raw.Heavy[k] > 0) || u.Rounds[k] > count ||
			u.Rounds[k] > float64(s.T):
			return false
		case u.Rounds[k] == 0 && count != 0 && count != 1:
			return false
		case d.Next[k] > u.Rounds[k] || d.BlockRounds[k] > d.Next[k] || d.BlockLimit[k] < 2*firstBlock ||
			d.Next[k] != math.Trunc(d.Next[k]) || d.BlockRounds[k] != math.Trunc(d.BlockRounds[k]):
			return false
		case !atMost(d.BlockWeight[k], fair.Weight[k]) || !atMost(d.LastWeight[k], fair.Weight[k]) ||
			!atMost(fair.Exposed[k], fair.Weight[k]) || !atMost(fair.Weight[k], raw.Weight[k]) ||
			!atMost(raw.Exposed[k], raw.Weight[k]):
			return false
		case !atMost(raw.Heavy[k], float64(raw.Weight[k]*raw.Weight[k])) ||
			!atMost(float64(raw.Weight[k]*raw.Weight[k]), float64(raw.Heavy[k]*max(u.Rounds[k], 1))):
			return false
		}
		size += raw.Weight[k]
		free += raw.Free[k]
		if active {
			live++
			seen.count(k, 1)
		}
	}
	// Spread is a running sum, and may be less than 0 by what rounding does to it.
	return live > 0 && s.Live == live && s.Unobserved == seen.Unobserved && s.Underobserved == seen.Underobserved &&
		vec.IsFinite(raw.Spread) && raw.Spread >= -float64(1e-6*size) && raw.Freedom >= free-0.5 &&
		vec.IsFinite(fair.Spread) && fair.Spread >= -float64(1e-6*size)
}

// atMost is x ≤ y but for rounding of running sums.
func atMost(x, y float64) bool { return x <= float64(y*(1+1e-6)) }
