package guard

import (
	"math"

	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/internal/portable"
)

// early returns the known values of an arm in a metric.
func (e *Evidence) early(arm, metric int) (out join.Early) {
	if of := e.Joined.Early; arm < len(of) && metric < len(of[arm]) {
		out = of[arm][metric]
	}
	return out
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
func (e *Evidence) boundedSide(g *definition.Guardrail) bool {
	_, up, relative, _ := g.Limit()
	metric := e.Definition.MetricIndex(g.Metric)
	if relative || e.Definition.RatioIndex(metric) >= 0 || up && math.IsInf(e.Definition.Highest(metric), 0) {
		return false
	}
	_, _, ok := join.EarlyScale(e.Definition, metric)
	return ok
}

// watchesEarly reports whether a guardrail also uses values that arrive before the windows of their
// units have closed.
func (e *Evidence) watchesEarly(g *definition.Guardrail) bool {
	return e.Definition.Metric(g.Metric).Default != nil && e.boundedSide(g)
}

// worst returns the number of an arm's units that count in a guardrail with a bounded side, a
// lower bound of the sum of their values, and the limit. All are scaled so that 0 is the best value
// for the arm and 1 the worst. In a metric with a default every exposed unit counts from its
// exposure on, as 0 until its value is known.
func (e *Evidence) worst(g *definition.Guardrail, k int) (n int64, s, limit float64) {
	c, up, _, _ := g.Limit()
	metric := e.Definition.MetricIndex(g.Metric)
	low, width, _ := join.EarlyScale(e.Definition, metric)
	n, seen, s := e.scaledValues(k, metric)
	limit = (c - low) / width
	if up { // the same of 1 − x
		return n, float64(seen) - s, 1 - limit
	}
	return n, s, limit
}

// beyond reports whether an arm by itself breaks a guardrail with a bounded side, with confidence:
// the probability that it ever reports true for any arm that holds the limit is at most the
// guardrail's alpha.
func (e *Evidence) beyond(g *definition.Guardrail, k int) bool {
	n, s, limit := e.worst(g, k)
	return s > float64(float64(n)*limit) && lowerRate(n, s, e.Part(g.Alpha, k)) > limit
}

// breachedEarly reports whether a mixture breaks a guardrail with confidence, by the values that
// are known before windows have closed.
func (e *Evidence) breachedEarly(g *definition.Guardrail, p []float64) bool {
	if !e.watchesEarly(g) {
		return false
	}
	estimate, limit := 0.0, 0.0
	for k, w := range p {
		if n, s, c := e.worst(g, k); n > 0 && w > 0 {
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
			n, s, _ := e.worst(g, k)
			sum += float64(w * lowerRate(n, s, e.armAlpha(g, k)))
		}
	}
	return sum > limit
}

// scaledValues returns the number of an arm's units that count in a metric, the number of known
// values, and their scaled sum.
func (e *Evidence) scaledValues(k, metric int) (n, seen int64, s float64) {
	a := e.Stats(k)
	if e.Definition.Metrics[metric].Default == nil {
		q := a.Metrics[metric]
		s, _ = join.EarlySum(e.Definition, metric, &q)
		return q.N, q.N, s
	}
	known := e.early(k, metric)
	return a.Units, known.N, known.Sum
}
