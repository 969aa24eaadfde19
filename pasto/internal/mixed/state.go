package mixed

import (
	"math"

	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/pasto/internal/check"
	"github.com/noregret/noregret/pasto/internal/lists"
	"github.com/noregret/noregret/pasto/internal/stretch"
	"github.com/noregret/noregret/pasto/internal/twoway"
)

// State is what a model keeps, as a snapshot holds it.
type State struct {
	Stats    moments
	Noise    noise
	Joint    twoway.Sums // without arms where there are too many
	Changes  stretch.Means
	Suspects stretch.Suspects
	Earlier  stretch.Earlier // before the last change that was found
	Released released
}

// lists are the numbers of arms and metrics.
func (s *State) lists() lists.Of {
	return lists.Of{&s.Stats, &s.Noise, &s.Changes, &s.Suspects, &s.Earlier}
}

// Grow makes room for arms that have not been served: all of them in an empty state.
func (s *State) Grow(arms, metrics int) {
	before := len(s.Stats.Rounds)
	s.lists().Grow(arms, metrics)
	s.Released.grow(arms * metrics)
	s.Joint.Grow(before, arms, metrics)
}

// Rounds returns the number of rounds with observations of arm k since it began.
func (s *State) Rounds(k int) float64 { return s.Stats.Rounds[k] }

// Groups returns the number of groups of arm k.
func (s *State) Groups(k int) float64 { return s.Stats.Count[k] }

// Size returns the size of all groups of arm k.
func (s *State) Size(k int) float64 { return s.Stats.Weight[k] }

// Fits reports whether s is a state of n arms and m metrics that a model can be in after so many
// rounds, which it may have discounted.
func (s *State) Fits(n, m, rounds int, discounted bool) bool {
	return s.lists().Fit(n, m) && check.NonNegative([]float64{s.Stats.Freedom, s.Noise.Pairs}, 2) &&
		s.Released.fits(n*m, rounds) && s.Joint.Fits(n, m) && s.armsFit(rounds, discounted)
}

// armsFit reports whether the arms' numbers fit each other and the sums over them.
func (s *State) armsFit(most int, discounted bool) bool {
	u, d, free := &s.Stats, &s.Changes, 0.0
	for k, rounds := range u.Rounds {
		switch {
		case rounds != math.Trunc(rounds) || rounds > float64(most) || u.Count[k] < rounds && !discounted:
			return false
		case (rounds > 0) != (u.Weight[k] > 0) || (rounds > 0) != (u.Heavy[k] > 0) || rounds == 0 && u.Free[k] > 0:
			return false
		case !d.Fit(k, rounds, u.Standing[k]) || !check.AtMost(u.Standing[k], u.Weight[k]):
			return false
		case !s.Suspects.Fit(k, rounds, u.Standing[k], u.Weight[k]) || !s.Earlier.Fit(k, rounds, u.Standing[k]):
			return false
		case !check.AtMost(u.Heavy[k], float64(u.Weight[k]*u.Weight[k])) ||
			!check.AtMost(float64(u.Weight[k]*u.Weight[k]), float64(u.Heavy[k]*max(rounds, 1))):
			return false
		}
		free += u.Free[k]
	}
	return vec.IsFinite(u.Freedom) && u.Freedom >= free-0.5
}
