package mixed

import "github.com/noregret/noregret/pasto/internal/stretch"

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
	e.changed = e.changed[:0]
	for a := range e.round.arms {
		x := &e.round.arms[a]
		x.sign = detector{e}.signOfChange(x)
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
	e.Begin(e.changed)
	return e.changed
}

// agreement is the part of a sign of change in the raw values that the adjusted ones must show.
const agreement = 2. / 3

// signOfChange returns by how many times the allowed difference the recent values of an arm differ
// from its earlier ones, in the metric and stretch where that is most. Where effects of rounds are
// not shown the raw values must differ by that, which tells the arm that has changed from those
// that are compared with it, and the adjusted ones by most of it. It is 0 where no changes are
// looked for.
func (e detector) signOfChange(x *armRound) (most float64) {
	segments := e.has(NoSegments)
	segment, long := e.Changes.Segment(x.Arm)
	block, due := e.Changes.Block(x.Arm)
	for i := range e.Metrics {
		if e.Metrics[i].Ignored || !(e.Threshold > 0) {
			continue
		}
		if e.Changes.Newest(x.Arm) && segments {
			most = max(most, e.signOf(x.part(), x.Arm, i), e.signOfCrash(x, i))
		}
		if long && segments {
			most = max(most, e.signOf(segment, x.Arm, i))
		}
		if due && e.has(NoBlocks) {
			most = max(most, e.signOf(block, x.Arm, i))
		}
	}
	return most
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

// signOfCrash is signOfChange for a hard guardrail that got worse in the newest round. The raw
// values must differ by what is allowed beside effects of rounds, and the adjusted ones by most of
// what these do, surely or not: beside an arm that has nearly all units the others have too few to
// tell, or there are none. It is then likelier that the arm has changed than that all have. To
// begin it anew by mistake costs some learning, and a crash that goes on costs the guardrail.
func (e detector) signOfCrash(x *armRound, i int) float64 {
	if !e.Metrics[i].Hard || !e.has(NoCrash) {
		return 0
	}
	s, k, j, test := &e.Stats, x.Arm, x.Arm*len(e.Metrics)+i, e.test(x.Arm, i)
	by, _ := test.Difference(s.Adjusted[j], s.Standing[k], x.adjusted[i], x.weight)
	if e.Noise.shown(i) {
		test.Effects = e.Noise.tau(i)
	}
	raw, sign := test.Difference(s.Mean[j], s.Weight[k], x.Mean[i], x.Size)
	worse := -float64(e.Metrics[i].Sign * raw)
	if !(worse > 0) || x.weight > 0 && -float64(e.Metrics[i].Sign*by) < float64(agreement*worse) {
		return 0
	}
	return sign
}

// test returns the test for changes of arm k in metric i. For units of a known range the ratio of
// the third moment to the variance is at most the width of the range.
func (e detector) test(k, i int) stretch.Test {
	s, t := &e.Stats, stretch.Test{Threshold: e.Threshold}
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
