package bandit

import "math/bits"

// none is the pending arm before the draw.
const none = -1

// state is what a [Player] has seen: the statistics of the arms, which its rule reads. Snapshots
// have the exported fields.
type state struct {
	Rounds  int
	Pending int       // the arm of a round that Draw has begun, none outside of a round
	Pulls   []int     // the numbers of losses of the arms, of which the sum is Rounds
	Means   []float64 // their means, 0 without a loss
	// Sums are the sums of the estimated losses for rules on estimates, those of the losses
	// themselves for [BernoulliThompson], nil for other rules.
	Sums      []float64
	Committed int     // the arm that [ExploreThenCommit] stays with, none before
	In        []bool  // the arms that [Elimination] has left
	Squares   float64 // for [Elimination]: Σ (loss − mean of its arm)²

	unseen int // arms without a loss
	first  int // the first of them, at the earliest
}

// count adds a loss of an arm and ends the round.
func (s *state) count(arm int, loss float64) {
	if s.Pulls[arm] == 0 {
		s.unseen--
	}
	s.Pulls[arm]++
	s.Means[arm] += (loss - s.Means[arm]) / float64(s.Pulls[arm])
	s.Rounds++
	s.Pending = none
}

// settle reports whether the parts of a state that was read fit so many arms, and computes the
// rest.
func (s *state) settle(arms int) bool {
	ok := len(s.Pulls) == arms && len(s.Means) == arms && finite(s.Means) && s.Pending >= none && s.Pending < arms &&
		s.Committed >= none && s.Committed < arms
	total := 0
	for _, n := range s.Pulls {
		if n == 0 {
			s.unseen++
		}
		ok = ok && n >= 0 && n <= s.Rounds-total
		total += n
	}
	return ok && total == s.Rounds
}

// lowestArm returns the allowed arm of the lowest mean, the first of several, and the one with the
// fewest draws if none has a loss.
func (s *state) lowestArm(v *view) int {
	arm := none
	for k, m := range s.Means {
		if s.Pulls[k] > 0 && v.allows(k) && (arm == none || m < s.Means[arm]) {
			arm = k
		}
	}
	if arm == none {
		return v.first(len(s.Pulls), func(int) bool { return true })
	}
	return arm
}

// fresh returns the arm without a loss to draw next, none if one with a loss is to be drawn. An arm
// comes first until it has been drawn without a loss as often as the patience of the view allows.
func (s *state) fresh(v *view) int {
	if s.unseen == 0 {
		return none
	}
	if v == lockstep {
		for s.Pulls[s.first] > 0 {
			s.first++
		}
		return s.first
	}
	arm := v.first(len(s.Pulls), func(k int) bool { return s.Pulls[k] == 0 })
	if arm == none || v.draws(arm) < v.patience() {
		return arm
	}
	for k, n := range s.Pulls {
		if n > 0 && v.allows(k) {
			return none
		}
	}
	return arm
}

// view is what a draw depends on besides the losses.
type view struct {
	allowed []bool // nil if all arms are
	live    []bool // the arms that are not retired, nil if none is; allowed has no others
	asleep  bool   // some live arm is not allowed
	chosen  []int  // the draws of each arm so far, nil if each has had its loss
	total   int    // the sum of chosen
}

// lockstep is the view of Draw. Nobody changes it.
var lockstep = &view{}

func (v *view) allows(k int) bool { return v.allowed == nil || v.allowed[k] }

// draws is the number of draws of arm k that count where arms take turns.
func (v *view) draws(k int) int {
	if v.chosen == nil {
		return 0
	}
	return v.chosen[k]
}

// first returns the allowed arm below d with the fewest draws so far that keep accepts, the first
// of several, and none if it accepts none.
func (v *view) first(d int, keep func(k int) bool) int {
	arm := none
	for k := range d {
		if v.allows(k) && keep(k) && (arm == none || v.draws(k) < v.draws(arm)) {
			arm = k
		}
	}
	return arm
}

// patience is the number of draws of an arm without a loss from which on arms with losses come
// first: about log₂ of all draws. An arm whose losses never arrive takes no more than that.
func (v *view) patience() int { return 1 + bits.Len(uint(v.total)) }

// drawn is what a player needs to know of a draw when its loss arrives.
type drawn struct {
	Arm        int
	Propensity float64
	// Base has a bit for each arm whose estimate has a base in that round, see [ReducedVariance];
	// nil for other players.
	Base []uint64
	// Allowed has a bit for each arm that was allowed, for players on estimates; nil if all were.
	Allowed []uint64
}

// setBits appends a bit for each element that is true.
func setBits(words []uint64, of []bool) []uint64 {
	for range (len(of) + 63) / 64 {
		words = append(words, 0)
	}
	for i, ok := range of {
		if ok {
			words[i>>6] |= 1 << (i & 63)
		}
	}
	return words
}

func hasBit(words []uint64, i int) bool { return words[i>>6]>>(i&63)&1 == 1 }
