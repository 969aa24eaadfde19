package experiment

import (
	"math"

	"github.com/noregret/noregret/confseq"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/portable"
)

// earlySum sums the known values of an arm's exposed units in a metric with a default: the reported
// values, and the defaults of units whose window has closed. The values of the other units are
// pending.
type earlySum struct {
	N int64 `json:"n"`
	// Sum is Σ (x − low)/width with each term cut to [0, 1], where low is the metric's lowest value
	// and width that of its range, or 1 for a count without a range.
	Sum float64 `json:"sum"`
}

// earlyView has the methods of the roster that work with early values.
type earlyView struct{ *roster }

// scale returns the lowest value of a metric and the width by which its values are scaled; ok
// is false for a mean without a range.
func (x earlyView) scale(metric int) (low, width float64, ok bool) {
	low, high := x.def.Lowest(metric), x.def.Highest(metric)
	switch {
	case math.IsInf(low, 0):
		return 0, 0, false
	case math.IsInf(high, 0):
		return low, 1, true
	}
	return low, high - low, true
}

// sum returns the known values of an arm in a metric, nil if there are none.
func (x earlyView) sum(arm, metric int) *earlySum {
	if a := &x.Arms[arm]; metric < len(a.Early) {
		return &a.Early[metric]
	}
	return nil
}

// add adds the value of an exposed unit in a metric with a default when it becomes known.
func (x earlyView) add(c *cohort, slot, metric int, v float64) {
	low, width, ok := x.scale(metric)
	if slot == len(c.Mixture) || !ok {
		return
	}
	e, scaled := x.own(slot, metric), max((v-low)/width, 0)
	e.N++
	e.Sum += min(scaled, 1)
	earlyContrastView(x).report(c, slot, metric, 1, min(scaled, 1), scaled)
}

// addSums adds the values of n units, given their sum and the sum of their squares.
func (x earlyView) addSums(c *cohort, slot, metric int, q confseq.Sequence) {
	if slot == len(c.Mixture) || q.N == 0 {
		return
	}
	if s, ok := x.scaledSum(metric, &q); ok {
		e := x.own(slot, metric)
		e.N += q.N
		e.Sum += s
		earlyContrastView(x).reportSums(c, slot, metric, &q, s)
	}
}

func (x earlyView) own(arm, metric int) *earlySum {
	a := &x.Arms[arm]
	for len(a.Early) <= metric {
		a.Early = append(a.Early, earlySum{})
	}
	return &a.Early[metric]
}

// scaledSum returns Σ (x − low)/width of observations, or, for a count without a range, a lower
// bound of the number of those above 0: at least (Σx)²/Σx², by Cauchy and Schwarz.
func (x earlyView) scaledSum(metric int, q *confseq.Sequence) (s float64, ok bool) {
	low, width, ok := x.scale(metric)
	n := float64(q.N)
	switch {
	case !ok || q.N == 0:
		return 0, ok
	case !math.IsInf(x.def.Highest(metric), 0):
		return n * min(max((q.Mean-low)/width, 0), 1), true
	}
	squares := q.M2 + float64(float64(n*q.Mean)*q.Mean)
	if !(squares > 0) {
		return 0, true
	}
	return min(float64(n*q.Mean)/squares*float64(n*q.Mean), n), true
}

// earlyRate is a value of λ in [lowerRate].
type earlyRate struct{ lambda, cost, expm1 float64 }

// earlyRates are 8, 8/√2, 8/2, ...; the costs are ln 1/w with weights w that sum to 1.
var earlyRates = func() (out [26]earlyRate) {
	total, lambda := 0.0, 8.0
	for j := range out {
		total += 1 / float64(j+2)
	}
	for j := range out {
		out[j] = earlyRate{lambda, portable.Log(float64(total * float64(j+2))), portable.Expm1(lambda)}
		lambda *= math.Sqrt2 / 2
	}
	return out
}()

// lowerRate returns a lower bound of the mean of observations in [0, 1], for n of them with a sum
// of at least s. It holds for all n at once with probability 1 − alpha: with mean μ each exp(λ·s −
// n·ln(1 − μ + μ·e^λ)) is a supermartingale that begins at 1, as e^(λx) is convex (Hoeffding 1963),
// and by Ville's inequality it ever reaches 1/(w·alpha) with probability at most w·alpha. The bound
// grows with s. It therefore remains valid if pending values count as 0, the lowest value: it can
// then only be too small.
func lowerRate(n int64, s, alpha float64) float64 {
	if n == 0 || !(s > 0) {
		return 0
	}
	low, l := 0.0, portable.Log(alpha)
	for j := range earlyRates {
		r := &earlyRates[j]
		if e := (float64(r.lambda*s) - r.cost + l) / float64(n); e > 0 {
			low = max(low, portable.Expm1(e)/r.expm1)
		}
	}
	return low
}

// boundedSide reports whether the values of a guardrail's metric are bounded on the side that is
// good for an arm, so that [lowerRate] applies.
func (x earlyView) boundedSide(g *definition.Guardrail) bool {
	_, up, relative, _ := g.Limit()
	metric := x.def.MetricIndex(g.Metric)
	if relative || x.def.RatioIndex(metric) >= 0 || up && math.IsInf(x.def.Highest(metric), 0) {
		return false
	}
	_, _, ok := x.scale(metric)
	return ok
}

// watchesEarly reports whether a guardrail also uses values that arrive before the windows of their
// units have closed.
func (x earlyView) watchesEarly(g *definition.Guardrail) bool {
	return x.def.Metric(g.Metric).Default != nil && x.boundedSide(g)
}

// worstValues returns the number of an arm's units that count in a guardrail with a bounded side, a
// lower bound of the sum of their values, and the limit. All are scaled so that 0 is the best value
// for the arm and 1 the worst. In a metric with a default every exposed unit counts from its
// exposure on, as 0 until its value is known.
func (x earlyView) worstValues(g *definition.Guardrail, k int) (n int64, s, limit float64) {
	c, up, _, _ := g.Limit()
	metric := x.def.MetricIndex(g.Metric)
	low, width, _ := x.scale(metric)
	n, known, s := x.scaledValues(k, metric)
	limit = (c - low) / width
	if up { // the same of 1 − x
		return n, float64(known) - s, 1 - limit
	}
	return n, s, limit
}

// beyond reports whether an arm by itself breaks a guardrail with a bounded side, with confidence:
// the probability that it ever reports true for any arm that holds the limit is at most the
// guardrail's alpha.
func (x earlyView) beyond(g *definition.Guardrail, k int) bool {
	n, s, limit := x.worstValues(g, k)
	return s > float64(float64(n)*limit) && lowerRate(n, s, x.part(g.Alpha, k)) > limit
}

// breachedEarly reports whether a mixture breaks a guardrail with confidence, by the values that
// are known before windows have closed.
func (x earlyView) breachedEarly(g *definition.Guardrail, p []float64) bool {
	if !x.watchesEarly(g) {
		return false
	}
	estimate, limit := 0.0, 0.0
	for k, w := range p {
		if n, s, c := x.worstValues(g, k); n > 0 && w > 0 {
			estimate += float64(w * (s / float64(n)))
			limit = c
		}
	}
	if !(estimate > limit) {
		return false
	}
	sum := 0.0
	for k, w := range p {
		if w > 0 {
			n, s, _ := x.worstValues(g, k)
			sum += float64(w * lowerRate(n, s, x.armAlpha(g, k)))
		}
	}
	return sum > limit
}

// scaledValues returns the number of an arm's units that count in a metric, the number of known
// values, and their scaled sum.
func (x earlyView) scaledValues(k, metric int) (n, known int64, s float64) {
	a := &x.Arms[k].Stats
	if x.def.Metrics[metric].Default == nil {
		q := a.Metrics[metric]
		s, _ = x.scaledSum(metric, &q)
		return q.N, q.N, s
	}
	if e := x.sum(k, metric); e != nil {
		return a.Units, e.N, e.Sum
	}
	return a.Units, 0, 0
}
