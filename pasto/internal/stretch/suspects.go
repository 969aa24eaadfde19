package stretch

import (
	"math"
	"slices"

	"github.com/noregret/noregret/pasto/internal/check"
	"github.com/noregret/noregret/pasto/internal/lists"
)

// Suspects are arms whose values got worse in rounds that had too few units of other arms to tell
// whether these did as well. They are compared with others in the rounds that follow, by the
// sequential probability ratio test (Wald 1945) of two hypotheses: that an arm has changed by as
// much as its values, and that it has not, beside what all arms have in common. What they were like
// before stays as it was meanwhile.
type Suspects struct {
	Change   []float64 `of:"both,signed"` // by which the values changed; all 0 for an arm that is no suspect
	Standing []float64 `of:"arm"`         // the weight of the adjusted values before
	Before   []float64 `of:"both,signed"` // their mean
	Weight   []float64 `of:"arm"`         // of the adjusted values since
	Mean     []float64 `of:"both,signed"` // of these
	Size     []float64 `of:"arm"`         // of all values before, and since the arm began or comparisons cleared it
	Raw      []float64 `of:"both,signed"` // their mean
}

// Of returns the changes of arm k, and whether it is a suspect.
func (s *Suspects) Of(k int) (change []float64, ok bool) {
	m := len(s.Change) / len(s.Weight)
	change = s.Change[k*m : (k+1)*m]
	return change, slices.ContainsFunc(change, func(v float64) bool { return v != 0 })
}

// Fit reports whether what there is of arm k may be of as many rounds with this weight and size in
// all.
func (s *Suspects) Fit(k int, rounds, weight, size float64) bool {
	change, is := s.Of(k)
	return (!is || rounds > 0) && check.AtMost(s.Standing[k]+s.Weight[k], weight) && check.AtMost(s.Size[k], size) &&
		!slices.ContainsFunc(change, func(v float64) bool { return math.Abs(v) > 2*check.Largest })
}

const (
	// suspicion is how much of what a test allows is enough for an arm to be a suspect.
	suspicion = 0.8
	// sure is the logarithm of the likelihood ratio that settles whether a suspect has changed.
	sure = 10
	// deeper is how many times as much worse a suspect must get for the comparisons to begin again.
	deeper = 1.25
	// certain is the evidence where there is no scatter.
	certain = 1e100
)

// Look adds the newest round of arm k, whose adjusted values count where it was compared with
// others: their weight is above 0. All are the adjusted values of all rounds, tests those of the
// metrics, and parts the stretches to look at. It reports whether the arm is a suspect or was one
// before the round, and returns a number above 1 if it has changed, else 0: how sure that is.
func (s *Suspects) Look(k int, newest, all Part, tests []Test, parts []Part) (sign float64, is bool) {
	m := len(tests)
	change, is := s.Of(k)
	if !is {
		lists.Average(k, s.Size, s.Raw, newest.Size, newest.Raw)
		if worst, ok := s.worst(k, tests, parts); ok {
			s.begin(k, worst, all, tests)
		} else {
			return 0, false
		}
	} else {
		s.deepen(k, newest, tests)
		if newest.Weight > 0 {
			lists.Average(k, s.Weight, s.Mean, newest.Weight, newest.Adjusted)
		}
	}
	own, back, n := 0.0, 0.0, 0.0
	for i, c := range change {
		if j := k*m + i; c != 0 {
			own += tests[i].Evidence(s.Before[j], s.Standing[k], s.Mean[j], s.Weight[k], c)
			back += tests[i].Evidence(s.Raw[j], s.Size[k], newest.Raw[i], newest.Size, c)
			n++
		}
	}
	// Metrics may depend on each other, so that their evidence does not add up: its mean counts.
	if own > float64(sure*n) {
		return own / n, true
	}
	if min(own, back) < -float64(sure*n) {
		lists.Of{s}.Clear(k, m)
		lists.Average(k, s.Size, s.Raw, newest.Size, newest.Raw)
	}
	return 0, true
}

// worst returns the stretch in which the raw values of an arm got worse by the largest multiple of
// what is allowed, and whether that is more than suspicion.
func (s *Suspects) worst(k int, tests []Test, parts []Part) (worst Part, ok bool) {
	most := suspicion
	for _, p := range parts {
		for i := range tests {
			by, sign := tests[i].Difference(s.Raw[k*len(tests)+i], s.Size[k], p.Raw[i], p.Size)
			if sign > most && float64(tests[i].Sign*by) < 0 {
				most, worst, ok = sign, p, true
			}
		}
	}
	return worst, ok
}

// begin makes an arm a suspect that got worse in a stretch. What came before that is kept.
func (s *Suspects) begin(k int, p, all Part, tests []Test) {
	for i := range tests {
		j, test := k*len(tests)+i, &tests[i]
		by, sign := test.Difference(s.Raw[j], s.Size[k], p.Raw[i], p.Size)
		if s.Raw[j] = p.Raw[i] - by; sign > suspicion && float64(test.Sign*by) < 0 {
			s.Change[j] = by
		}
		s.Before[j] = all.Adjusted[i]
		if by, _ := test.Difference(all.Adjusted[i], all.Weight, p.Adjusted[i], p.Weight); by != 0 {
			s.Before[j] = p.Adjusted[i] - by
		}
	}
	s.Size[k] -= p.Size
	s.Standing[k] = max(all.Weight-p.Weight, 0)
}

// deepen begins the comparisons of a suspect again that got much worse than it was.
func (s *Suspects) deepen(k int, newest Part, tests []Test) {
	m := len(tests)
	for i := range tests {
		j := k*m + i
		by, sign := tests[i].Compare(s.Raw[j], s.Size[k], newest.Raw[i], newest.Size)
		if sign > 1 && float64(tests[i].Sign*by) < -float64(deeper*math.Abs(s.Change[j])) {
			s.Change[j], s.Weight[k] = by, 0
			clear(s.Mean[k*m : (k+1)*m])
		}
	}
}

// Evidence returns the logarithm of the likelihood ratio for a change by c against no change, where
// the values of a stretch of this weight have the mean, and those of an old weight had the mean
// before.
func (t *Test) Evidence(before, old, mean, weight, c float64) float64 {
	if !(old > 0) || !(weight > 0) || c == 0 {
		return 0
	}
	ratio := float64(c*(2*(mean-before)-c)) / 2
	if square := t.square(old, weight); square > 0 {
		return ratio / square
	}
	return math.Copysign(certain, ratio)
}

// square is the squared error of the difference of two means of these weights.
func (t *Test) square(old, weight float64) float64 {
	square := float64(t.Variance * (1/old + 1/weight))
	if t.Noise > 0 {
		square += float64(t.Noise * (1/weight/weight + 1/old/old))
	}
	return square
}
