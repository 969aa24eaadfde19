package mixed

import (
	"math"
	"reflect"
	"strings"

	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/pasto/internal/check"
	"github.com/noregret/noregret/pasto/internal/twoway"
)

// State is what a model keeps, as a snapshot holds it. Lists of numbers have tags: of:"arm" for one
// of each arm, "metric", or "both" for a table of arms and metrics, whose rows are an arm's;
// "signed" where numbers may be negative, and "units" where there are none without variances of
// units.
type State struct {
	Stats    moments
	Noise    noise
	Joint    twoway.Sums // without arms where there are too many
	Changes  detector
	Released released
}

// tables calls f with each list of numbers, what it is of, and whether numbers may be negative.
func (s *State) tables(f func(v *[]float64, of string, signed bool)) {
	for _, part := range []any{&s.Stats, &s.Noise, &s.Changes} {
		p := reflect.ValueOf(part).Elem()
		for i := range p.NumField() {
			of, kind, _ := strings.Cut(p.Type().Field(i).Tag.Get("of"), ",")
			if of != "" && (kind != "units" || s.Stats.UnitSize != nil) {
				f(p.Field(i).Addr().Interface().(*[]float64), of, kind == "signed")
			}
		}
	}
}

// size is how many numbers a list has.
func size(of string, arms, metrics int) int {
	switch of {
	case "arm":
		return arms
	case "metric":
		return metrics
	}
	return arms * metrics
}

// Grow makes room for arms that have not been served: all of them in an empty state.
func (s *State) Grow(arms, metrics int) {
	before := len(s.Stats.Rounds)
	s.tables(func(v *[]float64, of string, _ bool) {
		*v = append(*v, make([]float64, size(of, arms, metrics)-len(*v))...)
	})
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
	u, ok := &s.Stats, true
	s.tables(func(v *[]float64, of string, signed bool) {
		of1 := size(of, n, m)
		ok = ok && check.Vector("", *v, of1) == nil && (signed || check.NonNegative(*v, of1))
	})
	if !ok || !check.NonNegative([]float64{u.Freedom, s.Noise.Pairs}, 2) || !s.Released.fits(n*m, rounds) ||
		u.UnitSize == nil && (u.UnitSquares != nil || u.UnitTotal != nil || u.UnitPool != nil) {
		return false
	}
	return s.Joint.Fits(n, m) && s.armsFit(rounds, discounted)
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
	}
	return vec.IsFinite(u.Freedom) && u.Freedom >= free-0.5
}

// atMost is x ≤ y but for rounding of running sums.
func atMost(x, y float64) bool { return x <= float64(y*(1+1e-6)) }
