package guard

import (
	"math"
	"slices"

	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/internal/column"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/vec"
)

// Versus compares the arms with the control arm in a guardrail with a relative limit, by the
// values that arrive before the windows of their units have closed.
//
// Each value is scaled to a badness b in [0, 1], 0 being the best value for an arm. The limit then
// says b_k ≤ β·b_0 + γ for the means of arm k and of the control ([versusLimit]). A
// unit that arm k or the control gets in a version is one of arm k with the odds p_k : p_0,
// whatever it will report. Let o = β·p_k/p_0. For each ratio ρ > 1 the process of arm k begins at 1
// and is multiplied
//
//	by (ρ·(1+o)/(1+ρ·o))^b    for a report of arm k with the badness b
//	by ((1+o)/(1+ρ·o))^b      for one of the control
//	by 1/(1 + γ·w·(ρ−1)/(1+ρ·o)), w = p_k/(p_k+p_0), for each unit of either.
//
// With β = 1 and γ = 0 it is the likelihood ratio of the shares in which bad reports divide between
// the two arms: of rates that differ by the factor ρ, against equal ones.
//
// Theorem. Let G be the history of the arrivals of units of either arm and of the reports, in which
// the arm of a unit is seen with its report. Let m_k(a) be the density over ages a of the mean
// badness reported at age a by a unit if it gets arm k, and m_0(a) that of the same unit with the
// control; they may differ between units and depend on the past. If ∫ max(m_k − β·m_0, 0) da ≤ γ
// for every unit, the process is at all times at most a supermartingale in G that begins at 1.
//
// Proof. As exp is convex, f^b ≤ 1 + (f−1)·b. Given a report at age a the arm is k with odds
// p_k·dP_k : p_0·dP_0, since "not reported yet" is in both. So a report for which m_k = β·m_0
// multiplies by 1 in the mean, as p_k·β·(ρ−1)/(1+ρ·o) = p_0·(ρ−1)·o/(1+ρ·o). What m_k has beyond
// that adds w·(ρ−1)/(1+ρ·o) times its integral to the mean of a unit's factor, at most
// γ·w·(ρ−1)/(1+ρ·o). The process pays that when the unit arrives; what a unit without a report may
// still add is at least 0. □
//
// By Ville's inequality the mean of the processes over the ratios ever reaches 1/α with probability
// at most α: the statement holds at all times at once, and whatever changes for all arms (a season,
// growth, a crash of all) cancels, since it compares reports of the same versions. With γ = 0 the
// condition says that, at every age, arm k reports at most β times what the control reports. That
// is the limit itself if the reports of all arms take equally long. If those of the control come
// later than those of the arm, an arm may be stopped that is found to hold the limit when its
// window has closed, and is then served.
//
// A bound of the control's own mean is no alternative: before a window has closed the units that
// have not reported may still report anything, and one from closed windows breaks when all arms
// change.
type Versus struct {
	Guardrail int `json:"guardrail"`
	// From is the first version that counts.
	From uint64 `json:"from"`
	// Logs has the logarithms of the processes over the versions whose window has closed, by arm
	// and ratio. An arm without any has no values, and the list ends at the last arm with some.
	Logs []column.Float64s `json:"logs"`
}

func (x *Versus) copy() Versus {
	y := Versus{x.Guardrail, x.From, slices.Clone(x.Logs)}
	for k := range y.Logs {
		y.Logs[k] = slices.Clone(y.Logs[k])
	}
	return y
}

// earlyRatios are √2, 2, 2·√2, ..., 16.
var earlyRatios = func() (out [8]float64) {
	r := 1.0
	for j := range out {
		r *= math.Sqrt2
		out[j] = r
	}
	return out
}()

// leastLog bounds the logarithms of the processes below, so that they stay finite.
const leastLog = -1e100

// versusLimit returns β and γ of a guardrail, ok if its limit is relative and early values can be
// compared: the metric has a default, its lowest value is at least 0, and its values are bounded on
// the side that is good for an arm.
func versusLimit(d *definition.Definition, g *definition.Guardrail) (beta, gamma float64, ok bool) {
	change, lower, relative, _ := g.Limit()
	metric := d.MetricIndex(g.Metric)
	if !relative || d.RatioIndex(metric) >= 0 || d.Metrics[metric].Default == nil ||
		d.Contextual() || d.Privacy != nil || !(change > -1) {
		return 0, 0, false
	}
	low, width, ok := join.EarlyScale(d, metric)
	if !ok || low < 0 || lower && math.IsInf(d.Highest(metric), 0) {
		return 0, 0, false
	}
	// low + width·b_k ≤ (1 + change)·(low + width·b_0), or the same of high − width·b and ≥. A
	// negative γ would only make the limit harder to hold.
	beta, gamma = 1+change, float64(change*low)/width
	if lower {
		gamma = -float64(change*d.Highest(metric)) / width
	}
	return beta, max(gamma, 0), true
}

// begin begins the comparisons of early values anew, from a version on.
func (x *States) begin(d *definition.Definition, from uint64) {
	x.Early = nil
	for i := range d.Guardrails {
		if _, _, ok := versusLimit(d, &d.Guardrails[i]); ok {
			x.Early = append(x.Early, Versus{Guardrail: i, From: from, Logs: []column.Float64s{}})
		}
	}
}

// earlyFits reports whether the comparisons may be those of the definition's guardrails and a
// number of arms.
func (x *States) earlyFits(d *definition.Definition, arms int) bool {
	i := 0
	for g := range d.Guardrails {
		if _, _, ok := versusLimit(d, &d.Guardrails[g]); !ok {
			continue
		}
		if i == len(x.Early) {
			return false
		}
		e := &x.Early[i]
		odd := func(l column.Float64s) bool { return len(l) > 0 && len(l) != len(earlyRatios) }
		if e.Guardrail != g || len(e.Logs) > arms || slices.ContainsFunc(e.Logs, odd) {
			return false
		}
		i++
	}
	return i == len(x.Early)
}

// badness returns the badness of the known values of an arm in a version. The control's values of a
// count without a range are not cut: whether a larger one is as bad as several of the arm is
// unknown.
func badness(e *Evidence, g *definition.Guardrail, v *join.Version, k int) float64 {
	metric := e.Definition.MetricIndex(g.Metric)
	if k >= len(v.Early) || metric >= len(v.Early[k]) {
		return 0
	}
	early := &v.Early[k][metric]
	sum := early.Sum
	if k == e.Control {
		sum = early.Uncut
	}
	if _, lower, _, _ := g.Limit(); lower {
		sum = float64(early.N) - sum
	}
	return max(sum, 0)
}

// ofVersion returns what a version adds to the logarithms of the processes, by arm. Values that
// became known after the first unit that did not allow all arms do not count, as the shares of such
// units are unknown.
func (x *Versus) ofVersion(e *Evidence, v *join.Version) [][len(earlyRatios)]float64 {
	out := make([][len(earlyRatios)]float64, len(v.Mixture))
	if v.Version < x.From {
		return out
	}
	g := &e.Definition.Guardrails[x.Guardrail]
	beta, gamma, _ := versusLimit(e.Definition, g)
	control := v.Mixture[e.Control]
	common := badness(e, g, v, e.Control)
	for k, p := range v.Mixture {
		o := float64(beta * (p / control))
		if k == e.Control || !(o > 0) || !vec.IsFinite(o) {
			continue
		}
		bad, n := badness(e, g, v, k), float64(v.ExposedEarly(k)+v.ExposedEarly(e.Control))
		if bad == 0 && common == 0 && (gamma == 0 || n == 0) {
			continue
		}
		for j, r := range earlyRatios {
			f := (1 + o) / (1 + float64(r*o)) // of a report of the control with badness 1
			arm := float64(r * f)
			out[k][j] = float64(bad*portable.Log(arm)) + float64(common*portable.Log(f))
			if gamma > 0 {
				w := p / (p + control)
				out[k][j] -= float64(n * portable.Log(1+float64(gamma*float64(w*(arm-1)))))
			}
		}
	}
	return out
}

// Close adds metrics of a version whose window has closed to the comparisons of early values.
func (x *States) Close(e *Evidence, of *join.Closed) {
	v := of.Version
	for i := range x.Early {
		c := &x.Early[i]
		if _, now := slices.BinarySearch(of.Metrics, c.metric(e.Definition)); !now {
			continue
		}
		for k, logs := range c.ofVersion(e, v) {
			if logs == [len(earlyRatios)]float64{} {
				continue
			}
			for len(c.Logs) <= k {
				c.Logs = append(c.Logs, column.Float64s{})
			}
			if len(c.Logs[k]) == 0 {
				c.Logs[k] = make(column.Float64s, len(earlyRatios))
			}
			for j, l := range logs {
				c.Logs[k][j] = max(c.Logs[k][j]+l, leastLog)
			}
		}
	}
	if e.Cache != nil && e.Fold && of.Last {
		e.Cache.Close(v.Version)
	}
}

// metric returns the index of the metric that is compared.
func (x *Versus) metric(d *definition.Definition) int {
	return d.MetricIndex(d.Guardrails[x.Guardrail].Metric)
}

// logs returns the logarithms of an arm's processes over all versions, by the index of the
// comparison.
func (x *States) logs(e *Evidence, at, k int) (out [len(earlyRatios)]float64) {
	c := &x.Early[at]
	if k < len(c.Logs) {
		copy(out[:], c.Logs[k])
	}
	metric := c.metric(e.Definition)
	for _, v := range e.Joined.Versions {
		if v.Closed(metric) {
			continue
		}
		if of := x.openLogs(e, at, v); k < len(of) {
			for j, l := range of[k] {
				out[j] += l
			}
		}
	}
	return out
}

// openLogs returns what an open version adds to the logarithms of a comparison.
func (x *States) openLogs(e *Evidence, at int, v *join.Version) [][len(earlyRatios)]float64 {
	kept := e.opened(v)
	if at < len(kept.early) && kept.early[at] != nil {
		return kept.early[at]
	}
	of := x.Early[at].ofVersion(e, v)
	if e.Fold {
		for len(kept.early) < len(x.Early) {
			kept.early = append(kept.early, nil)
		}
		kept.early[at] = of
	}
	return of
}

// beyondEarly reports whether an arm breaks guardrail i relative to the control with confidence, by
// early values. The probability that it ever reports true for any arm that holds the limit is at
// most the part servedAlpha of the guardrail's alpha; the sequences of the arms have the rest.
// Returning units, which raise the variance by a factor, count as fewer.
func (x *States) beyondEarly(e *Evidence, i, k int, inflation float64) bool {
	at := slices.IndexFunc(x.Early, func(c Versus) bool { return c.Guardrail == i })
	if at < 0 {
		return false
	}
	logs := x.logs(e, at, k)
	most := slices.Max(logs[:])
	if !(most > 0) {
		return false
	}
	sum := 0.0
	for _, l := range logs {
		sum += portable.Exp((l - most) / inflation)
	}
	evidence := most/inflation + portable.Log(sum/float64(len(logs)))
	return evidence >= -portable.Log(e.earlyAlpha(&e.Definition.Guardrails[i], k))
}

// initialAlpha is the part of the alpha for early values that the initial arms share.
const initialAlpha = 0.8

// earlyAlpha returns arm k's part of the alpha for early values: the initial arms but the control
// have even parts of most of it, and the i-th later arm 1/(i(i+1)) of the rest.
func (e *Evidence) earlyAlpha(g *definition.Guardrail, k int) float64 {
	alpha := float64(servedAlpha * g.Alpha)
	if k < e.Initial {
		return float64(initialAlpha*alpha) / float64(e.Initial-1)
	}
	i := float64(k - e.Initial + 1)
	return float64((1-initialAlpha)*alpha) / float64(i*(i+1))
}
