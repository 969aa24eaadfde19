package bandit

import "math/bits"

// core is what [Delayed] needs of a player: the parts of a round, which Draw and Update join.
type core interface {
	Player
	// pendingArm is the arm of a round that Draw has begun, none outside of a round.
	pendingArm() int
	// choose draws an arm and writes to c what learn needs to know of the draw. Propensity is NaN
	// if it takes distribution to compute it.
	choose(c *drawn, v *view, r Rand)
	// distribution writes the distribution of choose to p and returns a bound on its error.
	distribution(p []float64, v *view) (bound float64)
	// learn ends a round. It returns an error of code bad_input, and changes nothing, if the loss
	// is outside the range of the algorithm.
	learn(c *drawn, loss float64) error
	// lose ends a round whose loss is lost, given the mean loss of the rounds learned, NaN if there
	// is none. It reports whether the player put another number in the place of the loss.
	lose(c *drawn, mean float64) bool
	// add adds an arm, or returns why the algorithm cannot.
	add() error
	// renewed returns a new player of this number of arms with the same options, nil if the
	// algorithm cannot add arms.
	renewed(arms int) core
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
