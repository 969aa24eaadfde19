package stretch

import (
	"slices"

	"github.com/noregret/noregret/pasto/internal/check"
	"github.com/noregret/noregret/pasto/internal/lists"
)

// Earlier is what the arms were like when a change of one of them was found, so that what they have
// been like since can be told from all of it. The lists are empty until then.
type Earlier struct {
	Rounds []float64 `of:"arm,optional"`         // that each arm had
	Weight []float64 `of:"arm,optional"`         // of its values
	Mean   []float64 `of:"both,signed,optional"` // of these
}

// Fit reports whether what arm k was like may be a part of as many rounds with this weight in all.
func (e *Earlier) Fit(k int, rounds, weight float64) bool {
	return e.Rounds == nil || e.Rounds[k] <= rounds && check.AtMost(e.Weight[k], weight)
}

// another is the number of rounds after which the change of an arm is another than the last one
// found. Arms that changed at the same time are found one after the other.
const another = 4 * Segment

// Mark keeps what the arms are like now, by these rounds, weights and means, if one of the arms
// that are found to have changed has had enough rounds since the last mark.
func (e *Earlier) Mark(changed []int, rounds, weights, means []float64) {
	if !slices.ContainsFunc(changed, func(k int) bool { return e.since(k, rounds[k]) >= another }) {
		return
	}
	lists.Of{e}.Give(len(rounds), len(means)/len(rounds))
	copy(e.Rounds, rounds)
	copy(e.Weight, weights)
	copy(e.Mean, means)
}

// since returns the number of rounds of arm k since the mark, of rounds in all: all of them before
// there is a mark.
func (e *Earlier) since(k int, rounds float64) float64 {
	if e.Rounds == nil {
		return rounds
	}
	return rounds - e.Rounds[k]
}

// Discounted returns what number j of arm k would be, of a mean of this weight in all, if what came
// before the mark had no more weight than keep: by how much it would be more, and the weight it
// would have then.
func (e *Earlier) Discounted(k, j int, mean, weight, keep float64) (by, left float64) {
	if e.Rounds == nil || !(e.Weight[k] > keep) {
		return 0, weight
	}
	// mean·weight = Mean·Weight + since·(weight − Weight), and the discounted one is
	// (Mean·keep + since·(weight − Weight))/left.
	left = weight - e.Weight[k] + keep
	return float64((mean-e.Mean[j])*(e.Weight[k]-keep)) / left, left
}
