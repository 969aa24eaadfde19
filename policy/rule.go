package policy

import (
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/named"
	"github.com/noregret/noregret/internal/vec"
)

// Rule turns estimated rewards of arms into a distribution over them. The kinds are those of
// [Linear], which is a rule with a linear model; other models use Shares.
type Rule struct {
	// Kind is one of [LinearKinds].
	Kind string
	// Alpha multiplies the widths, in [0, MaxAlpha]; Gamma is the rate of squarecb, in [0, 1e100];
	// the share Floor is spread evenly, in [0, 1].
	Alpha, Gamma, Floor float64
}

// check returns an error, with the given prefix of the place, if a field is out of its range.
func (r Rule) check(prefix string) error {
	if !slices.Contains(LinearKinds(), r.Kind) {
		return noregret.BadInputf(prefix+"kind", "%s", named.Unknown(r.Kind, LinearKinds()))
	}
	for _, c := range []struct {
		place       string
		value, most float64
	}{{"alpha", r.Alpha, MaxAlpha}, {"gamma", r.Gamma, 1e100}, {"floor", r.Floor, 1}} {
		if !(c.value >= 0 && c.value <= c.most) {
			return noregret.BadInputf(prefix+c.place, "%v: want a number from 0 to %v", c.value, c.most)
		}
	}
	return nil
}

// Shares returns the distribution over the allowed arms, all if allowed is nil, given the score and
// the width of each; widths may be nil for squarecb. The number of arms that the formulas of
// [Linear] call n is that of the allowed arms. It reuses dst if that has room, and then allocates
// nothing unless allowed is nil. It returns an error of code bad_input if the rule is not valid,
// the lengths differ, no arm is allowed, or the score of an allowed arm is not of size at most
// 1e150 or its width not from 0 to 1e150.
func (r Rule) Shares(dst, scores, widths []float64, allowed []bool) ([]float64, error) {
	if err := r.check(""); err != nil {
		return nil, err
	}
	n := len(scores)
	if allowed == nil {
		allowed = slices.Repeat([]bool{true}, n)
	}
	if len(allowed) != n || len(widths) != n && !(r.Kind == SquareCB && widths == nil) {
		return nil, noregret.BadInputf("scores", "%d scores, %d widths, %d arms: want equal numbers", n, len(widths),
			len(allowed))
	}
	if !slices.Contains(allowed, true) {
		return nil, noregret.BadInputf("allowed", "no arm is allowed: at least one must be")
	}
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	s.grow(n, 0)
	for k, a := range allowed {
		s.scores[k], s.widths[k] = 0, 0
		if !a {
			continue
		}
		s.scores[k] = scores[k]
		if r.Kind != SquareCB {
			s.widths[k] = widths[k]
		}
		if !(math.Abs(s.scores[k]) <= 1e150 && s.widths[k] >= 0 && s.widths[k] <= 1e150) {
			return nil, noregret.BadInputf("scores", "arm %d has the score %v and the width %v: "+
				"want numbers of size at most 1e150, no width below 0", k, s.scores[k], s.widths[k])
		}
	}
	p := zeros(dst, n)
	r.distribute(p, s, allowed)
	return p, nil
}

// distribute writes the distribution, given scores and widths. It overwrites the widths. p is 0.
func (r Rule) distribute(p []float64, s *scratch, allowed []bool) {
	switch r.Kind {
	case LinUCB:
		for k := range s.scores {
			s.hazards[k] = s.scores[k] + float64(r.Alpha*s.widths[k])
		}
		greedy(p, s.hazards, allowed)
	case LinThompson:
		vec.Scale(s.widths, r.Alpha)
		thompson(p, s, allowed)
	default:
		inverseGaps(p, s.scores, r.Gamma, allowed)
	}
	if r.Floor == 0 {
		return
	}
	even := r.Floor / float64(count(allowed))
	for k := range p {
		if allowed[k] {
			p[k] = float64((1-r.Floor)*p[k]) + even
		}
	}
}

// count returns the number of allowed arms.
func count(allowed []bool) int {
	n := 0
	for _, a := range allowed {
		if a {
			n++
		}
	}
	return n
}

// best returns the first arm of the greatest index among those allowed, and the number of arms of
// that index.
func best(index []float64, allowed []bool) (arm, ties int) {
	arm = -1
	for k, v := range index {
		switch {
		case !allowed[k]:
		case arm < 0 || v > index[arm]:
			arm, ties = k, 1
		case v == index[arm]:
			ties++
		}
	}
	return arm, ties
}

// greedy shares everything among the arms of the greatest index.
func greedy(p, index []float64, allowed []bool) {
	arm, ties := best(index, allowed)
	for k, v := range index {
		if v == index[arm] && allowed[k] {
			p[k] = 1 / float64(ties)
		}
	}
}

// inverseGaps is inverse gap weighting.
func inverseGaps(p, scores []float64, gamma float64, allowed []bool) {
	arm, _ := best(scores, allowed)
	n, others := float64(count(allowed)), 0.0
	for k, v := range scores {
		if k != arm && allowed[k] {
			p[k] = 1 / (n + float64(gamma*(scores[arm]-v)))
			others += p[k]
		}
	}
	p[arm] = max(1-others, 0)
}
