package mixed

import (
	"math"

	"github.com/noregret/noregret/pasto/internal/stretch"
)

// part is the round of an arm as the newest stretch of it. Values are adjusted by the other arms of
// their rounds (see moments), so that what all arms have in common is no change; where rounds have
// one arm they are the arm's own.
func (x *armRound) part() stretch.Part {
	return stretch.Part{Weight: x.weight, Adjusted: x.adjusted, Size: x.Size, Raw: x.Mean}
}

// detector looks for changes of arms in what a model has observed.
type detector struct{ *Model }

// nearly is the part of the largest sign of a change that counts as another.
const nearly = 0.75

// Changed ends the round for the arms that were served in it, and begins those anew that have
// changed: the one with the largest sign of it, and those with nearly as large ones. It returns
// them; all other arms keep what is known about them.
func (e *Model) Changed() []int {
	most := 0.0
	e.changed, e.Probing = e.changed[:0], false
	for a := range e.round.arms {
		x := &e.round.arms[a]
		x.sign = detector{e}.signOfChange(x)
		if e.suspects() {
			detector{e}.suspect(x)
		}
		most = max(most, x.sign)
		e.Changes.End(x.Arm)
	}
	if most <= 1 {
		return nil
	}
	for a := range e.round.arms {
		if x := &e.round.arms[a]; x.sign >= float64(nearly*most) {
			e.changed = append(e.changed, x.Arm)
		}
	}
	if e.Recheck {
		e.Earlier.Mark(e.changed, e.Stats.Rounds, e.Stats.Standing, e.Stats.Adjusted)
	}
	e.Begin(e.changed)
	return e.changed
}

// keptGroups is the number of groups that what came before a change counts for at most.
const keptGroups = 3

// Moved returns an estimate v of metric i of arm k with this squared error, moved by z standard
// errors in its good direction. Optimistic ones, of z above 0, have the errors of [Model.Uneven].
// An arm that has hardly been served since the last change of any arm may have changed too: if what
// came before counted for three groups its error would be larger, and optimism takes the better one
// of both.
func (e *Model) Moved(k, i int, v, square, z float64) float64 {
	s, j, sign := &e.Stats, k*len(e.Metrics)+i, e.Metrics[i].Sign
	if z <= 0 {
		return v + float64(sign*float64(z*math.Sqrt(square)))
	}
	best := v + float64(sign*float64(z*math.Sqrt(e.Uneven(k, i, square))))
	if e.Earlier.Rounds == nil || e.Released.any() || e.Metrics[i].Relative && k == e.Control || !e.has(NoSince) {
		return best
	}
	keep := float64(keptGroups * (s.Weight[k] / s.Count[k]))
	by, left := e.Earlier.Discounted(k, j, s.Adjusted[j], s.Standing[k], keep)
	if left < s.Standing[k] {
		larger := e.Uneven(k, i, float64(square*(s.Standing[k]/left)))
		since := v + by + float64(sign*float64(z*math.Sqrt(larger)))
		best = float64(sign * max(float64(sign*best), float64(sign*since)))
	}
	return best
}

// agreement is the part of a sign of change in the raw values that the adjusted ones must show.
const agreement = 2. / 3

// signOfChange returns by how many times the allowed difference the recent values of an arm differ
// from its earlier ones, in the metric and stretch where that is most. Where effects of rounds are
// not shown the raw values must differ by that, which tells the arm that has changed from those
// that are compared with it, and the adjusted ones by most of it. It is 0 where no changes are
// looked for.
func (e detector) signOfChange(x *armRound) (most float64) {
	for _, p := range e.stretches(x) {
		for i := range e.Metrics {
			most = max(most, e.signOf(p, x.Arm, i))
		}
	}
	return most
}

// stretches returns the stretches of an arm that are to be compared in this round.
func (e detector) stretches(x *armRound) []stretch.Part {
	e.parts = e.parts[:0]
	if e.Changes.Newest(x.Arm) && e.has(NoSegments) {
		e.parts = append(e.parts, x.part())
	}
	if p, ok := e.Changes.Segment(x.Arm); ok && e.has(NoSegments) {
		e.parts = append(e.parts, p)
	}
	if p, ok := e.Changes.Block(x.Arm); ok && e.has(NoBlocks) {
		e.parts = append(e.parts, p)
	}
	return e.parts
}

// signOf is signOfChange for a stretch of arm k in metric i.
func (e detector) signOf(x stretch.Part, k, i int) float64 {
	s, j, test := &e.Stats, k*len(e.Metrics)+i, e.test(k, i)
	_, sign := test.Difference(s.Adjusted[j], s.Standing[k], x.Adjusted[i], x.Weight)
	if !e.Noise.shown(i) {
		_, own := test.Difference(s.Mean[j], s.Weight[k], x.Raw[i], x.Size)
		sign = min(sign/agreement, own)
	}
	return sign
}

// season is how many standard deviations of the effects of rounds a change of the raw values is
// allowed: a suspicion takes 0.8 of what is allowed, so that two of them are no reason for it.
const season = 2.5

// suspects reports whether an arm of which comparisons say nothing sure is a suspect at most, as it
// can be compared with the control in the rounds that follow.
func (e *Model) suspects() bool {
	return e.Control >= 0 && e.Threshold > 0 && e.Noise.Compared && e.has(NoCrash)
}

// suspect looks for an arm whose raw values got worse by more than is allowed, where comparisons
// say nothing sure. To begin an arm anew whose level all arms share would cost much learning, and
// an arm that has crashed and is served on would cost the guardrail: a suspect gets as many units
// as its guardrails allow if it has changed.
func (e detector) suspect(x *armRound) {
	k, m, newest := x.Arm, len(e.Metrics), x.part()
	if x.others == 0 {
		x.sign, newest.Weight = 0, 0
	}
	if x.sign > 1 || k == e.Control {
		return
	}
	e.tests = e.tests[:0]
	for i := range e.Metrics {
		test := e.test(k, i)
		if test.Sign = e.Metrics[i].Sign; e.Noise.shown(i) {
			test.Effects = float64(season*season*e.Noise.tau(i)) / e.Threshold / e.Threshold
		}
		e.tests = append(e.tests, test)
	}
	all := stretch.Part{Weight: e.Stats.Standing[k], Adjusted: e.Stats.Adjusted[k*m : (k+1)*m]}
	changed, is := e.Suspects.Look(k, newest, all, e.tests, e.stretches(x))
	x.sign, e.Probing = max(x.sign, changed), e.Probing || is
}

// test returns the test for changes of arm k in metric i. For units of a known range the ratio of
// the third moment to the variance is at most the width of the range.
func (e detector) test(k, i int) stretch.Test {
	s, t := &e.Stats, stretch.Test{}
	if !e.Metrics[i].Ignored {
		t.Threshold = e.Threshold
	}
	t.Variance, t.Noise = max(e.Variance(k, i), s.pooled(i)), e.Released.ofChange(k*len(e.Metrics)+i)
	switch {
	case !e.has(NoSkew):
	case s.unitsKnown(k, i) && e.Metrics[i].Width > 0:
		t.Ratio = e.Metrics[i].Width
	case s.Pool[i] > 0:
		t.Ratio = s.Third[i] / s.Pool[i]
	}
	return t
}
