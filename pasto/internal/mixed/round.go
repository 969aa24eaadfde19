package mixed

import (
	"math"
	"slices"

	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/check"
	"github.com/noregret/noregret/pasto/internal/round"
	"github.com/noregret/noregret/pasto/internal/stretch"
)

// armRound is what an arm was observed to be in a round, and what it tells.
type armRound struct {
	*round.Sum           // moments.add replaces Third
	known      bool      // it had been served before, since its last change
	alone      bool      // no other arm was in the round
	sigma      []float64 // M: variance of a unit before the round, +Inf while unknown
	adjusted   []float64 // M: mean, less what the other arms of the round deviate by
	square     []float64 // M: the squared innovation, of mean σ²
	weight     float64   // of adjusted; 0 for none
	share      float64   // of the known arms, by size, less for groups of few units
	standing   float64   // the weight as a reference of other arms
	others     float64   // Σ standing of the arms that it is adjusted by
	sign       float64   // of a change
	noisyRound
}

// roundSums are the arms of a round, in the order of their first groups.
type roundSums struct {
	sums  round.Sums
	arms  []armRound
	known []int // indices in arms of the known arms
}

// collect sums up the observations of a round.
func (r *roundSums) collect(s *moments, obs []pasto.Observation) {
	r.sums.Collect(obs, len(s.Rounds), len(s.Pool))
	n := len(r.sums.Arms)
	r.arms, r.known = slices.Grow(r.arms[:0], n)[:n], r.known[:0]
	for a := range r.arms {
		x := &r.arms[a]
		x.Sum, x.alone, x.bounded, x.noise = &r.sums.Arms[a], n == 1, false, x.noise[:0]
		for _, v := range []*[]float64{&x.sigma, &x.adjusted, &x.square} {
			*v = check.Zeros(*v, len(s.Pool))
		}
		for i := range x.sigma {
			x.sigma[i] = s.variance(x.Arm, i)
		}
		if x.known = s.Rounds[x.Arm] > 0; x.known {
			r.known = append(r.known, a)
		}
	}
}

// adjust computes the adjusted mean of each arm of the round, its weight, and its squared
// innovation: the mean less what the other known arms deviate by, weighted by standing. A round
// without other known arms is adjusted by nothing, and says nothing about an arm where effects of
// rounds are shown. Without effects the first value of an arm is in line with the others'. In
// metrics that are at least 0 deviations are taken to be in proportion, unless there is noise,
// which may leave next to nothing to be in proportion to.
func (e *Model) adjust() {
	total, shown, arms := 0.0, e.EffectsShown(), e.round.arms
	for a := range arms {
		x := &arms[a]
		// What its own mean misses stays the same for all rounds of a segment.
		x.standing = 1 / (1/x.Size + stretch.Segment/e.Stats.Standing[x.Arm])
		total += x.standing
	}
	for a := range arms {
		x := &arms[a]
		x.others, x.weight = total-x.standing, x.Size
		if (x.known || shown) && x.others > float64(1e-9*total) {
			x.weight = 1 / (1/x.Size + 1/x.others)
		} else if x.others = 0; (shown || e.suspects() && x.Arm != e.Control) && (x.known || x.alone) {
			x.weight = 0
		}
	}
	for i := range e.Metrics {
		e.adjustMetric(i, total)
	}
}

// references are sums over the known arms of a round, weighted by standing: what they deviate by
// from their means, these means, and the variance of the deviations.
type references struct{ off, base, missed float64 }

// reference returns what arm x contributes to the references in metric i, where all variances are
// even or their own.
func (e *Model) reference(x *armRound, i int, even bool) (f references) {
	old, mean, v := e.Stats.Standing[x.Arm], e.Stats.Adjusted[x.Arm*len(e.Metrics)+i], 1.0
	if !(old > 0) {
		return f
	}
	if !even {
		v = x.sigma[i]
	}
	return references{
		float64(x.standing * (x.Mean[i] - mean)), float64(x.standing * mean),
		float64(float64(x.standing*x.standing) * (float64(v*(1/x.Size+1/old)) + e.Released.between(&e.Stats, x, i))),
	}
}

// add adds sign times g.
func (f *references) add(g references, sign float64) {
	f.off += float64(sign * g.off)
	f.base += float64(sign * g.base)
	f.missed += float64(sign * g.missed)
}

// outlier is how many standard deviations an arm must be off in a round to be left out of what the
// others are adjusted by.
const outlier = 6

// adjustMetric adjusts the arms in metric i, where the standing of the known arms is total. An arm
// that is far off is left out of what the others are adjusted by.
func (e *Model) adjustMetric(i int, total float64) {
	arms, known, sum := e.round.arms, e.round.known, references{}
	even := slices.ContainsFunc(known, func(a int) bool {
		return !(arms[a].sigma[i] > 0) || math.IsInf(arms[a].sigma[i], 1)
	})
	for _, a := range known {
		sum.add(e.reference(&arms[a], i, even), 1)
	}
	worst, most := -1, float64(outlier*outlier)
	for a := range arms {
		x := &arms[a]
		e.adjustArm(x, sum, i, even)
		if v := x.square[i] / x.sigma[i]; !even && len(known) > 2 && v > most && x.standing < total/2 {
			worst, most = a, v
		}
	}
	if worst < 0 || !e.has(NoOutlier) {
		return
	}
	out := &arms[worst]
	sum.add(e.reference(out, i, even), -1)
	for a := range arms {
		if x := &arms[a]; a != worst && x.others > out.standing {
			x.others -= out.standing
			e.adjustArm(x, sum, i, even)
			x.others += out.standing
		}
	}
}

// adjustArm adjusts arm x in metric i by the sum of the references, less its own part.
func (e *Model) adjustArm(x *armRound, sum references, i int, even bool) {
	old, mean := e.Stats.Standing[x.Arm], e.Stats.Adjusted[x.Arm*len(e.Metrics)+i]
	more := 0.0 // the variance of what the others deviate by, in units of that of x
	x.adjusted[i] = x.Mean[i]
	if x.others > 0 {
		sum.add(e.reference(x, i, even), -1)
		off, base := sum.off/x.others, sum.base/x.others
		if more = max(sum.missed, 0) / x.others / x.others; !even && x.known {
			more /= x.sigma[i]
		}
		if e.Metrics[i].Positive && x.known && len(x.noise) == 0 && base > 0 && e.has(NoProportion) {
			off = float64(off * (mean / base))
		}
		x.adjusted[i] -= off
	}
	if old > 0 {
		if len(x.noise) > 0 {
			more += e.Released.between(&e.Stats, x, i) / x.sigma[i]
		}
		d := x.adjusted[i] - mean
		x.square[i] = float64(d*d) / (1/x.Size + 1/old + more)
	}
}
