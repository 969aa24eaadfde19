package experiment

import (
	"math"

	"github.com/noregret/noregret/confseq"
	"github.com/noregret/noregret/experiment/definition"
)

// slackBounds is the slack of a mixture in a guardrail, with its bounds: y − c for a lower limit, c
// − y for an upper one; y − (control + change·|control|) for a change.
type slackBounds struct {
	// estimate is computed from the observed arms; NaN without any.
	estimate float64
	// low and high are the ends of the confidence sequence. Each is passed with probability at most
	// alpha.
	low, high float64
	// served is the same for what was served in all versions.
	served servedSlack
	// level is the control's mean in the rounds compared, for a change.
	level float64
	// open lists the arms with a share, except the control, whose own sequence is still unbounded.
	open []int
}

type servedSlack struct{ estimate, low, high, level float64 }

// servedAlpha is the part of a guardrail's alpha for the sequence of what was served. The arms'
// sequences share the rest.
const servedAlpha = 0.8

// armAlpha returns arm k's part of what the arms' sequences share of a guardrail's alpha. The
// initial arms share half of it equally; the i-th later arm gets 1/(i(i+1)) of the other half. The
// sum never exceeds the whole, however many arms are added.
//
// If early values count ([lowerRate]), their bounds get as much as the sequences.
func (x *roster) armAlpha(g *definition.Guardrail, k int) float64 {
	alpha := float64((1 - servedAlpha) * g.Alpha)
	if (earlyView{x}).watchesEarly(g) {
		alpha /= 2
	}
	return x.part(alpha, k)
}

// part returns arm k's part of a probability that is divided among all arms.
func (x *roster) part(alpha float64, k int) float64 {
	half := alpha / 2
	if k < x.InitialArms {
		return half / float64(x.InitialArms)
	}
	i := float64(k - x.InitialArms + 1)
	return half / float64(i*(i+1))
}

// armBound is an arm's cached confidence sequence; it is valid while the statistics it was computed
// from are unchanged.
type armBound struct {
	of       confseq.Sequence
	alpha    float64
	from, to float64
}

// ofControl returns the limit y + change·|y| for a change relative to the control's mean y.
func ofControl(y, change float64) float64 { return y + float64(change*math.Abs(y)) }

// armSlack is an arm's part of the slack of a mixture, before the sign of an upper limit.
type armSlack struct {
	mean     float64 // NaN if it is not observed
	from, to float64
	weight   float64 // the arm's part of what was served
	level    float64 // the control's mean in its rounds, for a change
}

// slack returns the slack of a mixture in guardrail i. Each arm's sequence has its own part of
// alpha, so all of them hold simultaneously at all times, for any mixture. The sequence of what was
// served is shifted to a mixture p by the arms' sequences, weighted by the difference of the two
// mixtures. An unobserved arm counts with its metric's range. The cached bounds are those of the
// last call with the same guardrail; a caller that may run concurrently passes nil.
func (x *guards) slack(in *guardInput, i int, p []float64, kept []armBound) slackBounds {
	g := &in.def.Guardrails[i]
	_, up, relative, _ := g.Limit()
	var served servedSlack
	var arm func(k int) armSlack
	if relative {
		arm, served = x.relativeSlack(in, i)
	} else {
		arm, served = in.plainSlack(g, kept)
	}
	b := mixedSlack(len(in.Arms), in.Control, p, arm, served)
	if !up {
		b.estimate, b.low, b.high = -b.estimate, -b.high, -b.low
		b.served = servedSlack{-b.served.estimate, -b.served.high, -b.served.low, b.served.level}
	}
	return b
}

// mixedSlack returns the slack of a mixture p of arms, given that of each arm and of what was
// served, before the sign of an upper limit.
func mixedSlack(arms, control int, p []float64, arm func(k int) armSlack, served servedSlack) slackBounds {
	b := slackBounds{served: served}
	share, direct := 0.0, servedSlack{low: b.served.low, high: b.served.high}
	for k := range arms {
		weight := 0.0
		if k < len(p) {
			weight = p[k]
		}
		a := arm(k)
		if weight > 0 {
			if !math.IsNaN(a.mean) {
				share += weight
				b.estimate += float64(weight * a.mean)
				b.level += float64(weight * a.level)
			}
			if k != control && (math.IsInf(a.from, 0) || math.IsInf(a.to, 0)) {
				b.open = append(b.open, k)
			}
			b.low += float64(weight * a.from)
			b.high += float64(weight * a.to)
		}
		switch moved := weight - a.weight; {
		case moved > 0:
			direct.low += float64(moved * a.from)
			direct.high += float64(moved * a.to)
		case moved < 0:
			direct.low += float64(moved * a.to)
			direct.high += float64(moved * a.from)
		}
	}
	b.low, b.high = max(b.low, direct.low), min(b.high, direct.high)
	if !(share > 0) || math.IsNaN(b.served.estimate) {
		b.estimate, b.low, b.high = math.NaN(), math.Inf(-1), inf()
	} else {
		b.estimate /= share
		b.level /= share
	}
	return b
}

// plainSlack returns the arms' parts of the slack in a guardrail with a fixed limit, and that of
// all units served.
func (in *guardInput) plainSlack(g *definition.Guardrail, kept []armBound) (func(k int) armSlack, servedSlack) {
	limit, _, _, _ := g.Limit()
	metric := in.def.MetricIndex(g.Metric)
	least, most := in.def.Span(metric, limit)
	inflation := in.inflated(metric)
	off := limit
	if in.def.RatioIndex(metric) >= 0 {
		off = 0 // the limit is in the contrast
	}
	var all confseq.Sequence
	sequences := make([]confseq.Sequence, len(in.Arms))
	for k := range in.Arms {
		sequences[k] = in.sums.Arms[k].Observations(in.def, metric, limit)
		all.Merge(sequences[k])
	}
	served := servedSlack{math.NaN(), math.Inf(-1), inf(), math.NaN()}
	if all.N > 0 {
		s := deflate(all, inflation)
		from, to := s.Interval(float64(2*servedAlpha*g.Alpha), least, most)
		served = servedSlack{all.Mean - off, from - off, to - off, math.NaN()}
	}
	return func(k int) armSlack {
		s := deflate(sequences[k], inflation)
		var keep *armBound
		if k < len(kept) {
			keep = &kept[k]
		}
		from, to := bound(&s, float64(2*in.armAlpha(g, k)), least, most, keep)
		a := armSlack{mean: math.NaN(), from: from - off, to: to - off}
		if s.N > 0 {
			a.mean = s.Mean - off
			a.weight = float64(sequences[k].N) / float64(all.N)
		}
		return a
	}, served
}

// deflate returns a sequence of as many independent observations as have the same variance of the
// mean.
func deflate(s confseq.Sequence, inflation float64) confseq.Sequence {
	if inflation > 1 && s.N > 0 {
		n := max(int64(float64(s.N)/inflation), 1)
		s.M2 *= float64(n) / float64(s.N)
		s.N = n
	}
	return s
}

// deflatePair is deflate for both variables of a ratio.
func deflatePair(p confseq.Pair, inflation float64) confseq.Pair {
	if inflation > 1 && p.N > 0 {
		n := max(int64(float64(p.N)/inflation), 1)
		f := float64(n) / float64(p.N)
		p.N = n
		p.XX *= f
		p.YY *= f
		p.Cross *= f
	}
	return p
}

// bound returns a sequence's interval, from the cache if the sequence is unchanged.
func bound(s *confseq.Sequence, alpha, least, most float64, keep *armBound) (from, to float64) {
	if keep != nil && keep.of == *s && keep.alpha == alpha {
		return keep.from, keep.to
	}
	from, to = s.Interval(alpha, least, most)
	if keep != nil {
		*keep = armBound{*s, alpha, from, to}
	}
	return from, to
}

// relativeSlack returns the arms' parts of the slack in a guardrail relative to the control, and
// that of what was served, by the contrasts of all versions.
func (x *guards) relativeSlack(in *guardInput, i int) (func(k int) armSlack, servedSlack) {
	g := &in.def.Guardrails[i]
	metric := in.def.MetricIndex(g.Metric)
	c := in.compared(metric)
	change := in.change(i)
	o := confseq.ContrastOptions{Width: in.def.Width(metric), Tight: x.Guards[i].Tight, Inflation: in.inflated(metric)}
	served := servedSlack{math.NaN(), math.Inf(-1), inf(), math.NaN()}
	if c.Served.Weight > 0 {
		served.estimate, served.level = c.Served.Mean(change), c.Served.Level/c.Served.Weight
		served.low, served.high = c.Served.Interval(change, float64(servedAlpha*g.Alpha), o)
	}
	total := 0.0
	for k := range c.Arms {
		total += c.Arms[k].Weight
	}
	least, most := in.def.Lowest(metric), in.def.Highest(metric)
	if in.def.RatioIndex(metric) >= 0 {
		least, most = math.Inf(-1), inf()
	}
	return func(k int) armSlack {
		if k < len(c.Arms) && c.Arms[k].Weight > 0 {
			a := &c.Arms[k]
			from, to := a.Interval(change, in.armAlpha(g, k), o)
			return armSlack{a.Mean(change), from, to, a.Weight / total, a.Level / a.Weight}
		}
		control := float64((1 + change) * (c.Served.Level / c.Served.Weight))
		if math.IsNaN(control) {
			return armSlack{mean: math.NaN(), from: math.Inf(-1), to: inf()}
		}
		return armSlack{mean: math.NaN(), from: least - control, to: most - control}
	}, served
}

// change returns the change that guardrail i allows, relative to the control's mean with its sign:
// y is held to (1 + change)·control.
func (in *guardInput) change(i int) float64 {
	g := &in.def.Guardrails[i]
	limit, _, _, _ := g.Limit()
	if in.compared(in.def.MetricIndex(g.Metric)).Served.Level < 0 {
		return -limit
	}
	return limit
}

// tighten fixes where the sequence of a relative guardrail is the tightest, as soon as there is
// enough to say.
func (x *guards) tighten(in *guardInput, i int) {
	_, _, relative, _ := in.def.Guardrails[i].Limit()
	if !relative || x.Guards[i].Tight > 0 {
		return
	}
	c := in.compared(in.def.MetricIndex(in.def.Guardrails[i].Metric))
	x.Guards[i].Tight = c.Served.Tight(in.change(i))
}
