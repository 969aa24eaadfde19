package guard

import (
	"math"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/confseq"
	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/definition"
)

// Bounds is the slack of a mixture in a guardrail, with its bounds: y − c for a lower limit, c − y
// for an upper one; y − (control + change·|control|) for a change.
type Bounds struct {
	// Estimate is computed from the observed arms; NaN without any.
	Estimate float64
	// Low and High are the ends of the confidence sequence. Each is passed with probability at most
	// alpha.
	Low, High float64
	// Served is the same for what was served in all versions.
	Served Served
	// Level is the control's mean in the rounds compared, for a change.
	Level float64
	// Open lists the arms with a share, except the control, whose own sequence is still unbounded.
	Open []int
}

// Served is the slack of what was served, NaN and infinite where it is unknown. Level is the
// control's mean in the rounds compared.
type Served struct{ Estimate, Low, High, Level float64 }

// Own is an arm's part of the slack of a mixture, before the sign of an upper limit.
type Own struct {
	Mean     float64 // NaN if it is not observed
	From, To float64 // the ends of its confidence sequence
	Weight   float64 // the arm's part of what was served
	Level    float64 // the control's mean in its rounds, for a change
}

// Mix returns the slack of a mixture p of arms, given that of each arm and of what was served,
// before the sign of an upper limit. The sequence of what was served is shifted to p by the arms'
// sequences, weighted by the difference of the two mixtures.
func Mix(arms, control int, p []float64, arm func(k int) Own, served Served) Bounds {
	b := Bounds{Served: served}
	share, direct := 0.0, Served{Low: b.Served.Low, High: b.Served.High}
	for k := range arms {
		weight := 0.0
		if k < len(p) {
			weight = p[k]
		}
		a := arm(k)
		if weight > 0 {
			if !math.IsNaN(a.Mean) {
				share += weight
				b.Estimate += float64(weight * a.Mean)
				b.Level += float64(weight * a.Level)
			}
			if k != control && (math.IsInf(a.From, 0) || math.IsInf(a.To, 0)) {
				b.Open = append(b.Open, k)
			}
			b.Low += float64(weight * a.From)
			b.High += float64(weight * a.To)
		}
		switch moved := weight - a.Weight; {
		case moved > 0:
			direct.Low += float64(moved * a.From)
			direct.High += float64(moved * a.To)
		case moved < 0:
			direct.Low += float64(moved * a.To)
			direct.High += float64(moved * a.From)
		}
	}
	b.Low, b.High = max(b.Low, direct.Low), min(b.High, direct.High)
	if !(share > 0) || math.IsNaN(b.Served.Estimate) {
		b.Estimate, b.Low, b.High = math.NaN(), math.Inf(-1), math.Inf(1)
	} else {
		b.Estimate /= share
		b.Level /= share
	}
	return b
}

// State returns the state of a guardrail with the slack.
func (b *Bounds) State() api.GuardState {
	switch {
	case math.IsNaN(b.Estimate):
		return api.GuardUnknown
	case b.High < 0, b.Estimate < 0 && b.Served.High < 0:
		return api.GuardBreached
	case b.Estimate < 0:
		return api.GuardWatch
	case b.Low >= 0:
		return api.GuardHeld
	}
	return api.GuardOk
}

// Slack returns the slack of a mixture in guardrail i. Each arm's sequence has its own part of
// alpha, so all of them hold simultaneously at all times, for any mixture. An unobserved arm counts
// with its metric's range. O(K).
func (x *States) Slack(e *Evidence, i int, p []float64) Bounds {
	_, up, _, _ := e.Definition.Guardrails[i].Limit()
	arm, served := x.slacks(e, i)
	b := Mix(len(e.Joined.Arms), e.Control, p, arm, served)
	if !up {
		b.Estimate, b.Low, b.High = -b.Estimate, -b.High, -b.Low
		b.Served = Served{-b.Served.Estimate, -b.Served.High, -b.Served.Low, b.Served.Level}
	}
	return b
}

// slacks returns the arms' parts of the slack in guardrail i, and that of what was served, before
// the sign of an upper limit.
func (x *States) slacks(e *Evidence, i int) (func(k int) Own, Served) {
	if _, _, relative, _ := e.Definition.Guardrails[i].Limit(); relative {
		return x.relative(e, i)
	}
	return e.plain(i)
}

// Arms returns the state of guardrail i for each arm by itself, and for all that was served.
func (x *States) Arms(e *Evidence, i int) (own func(k int) api.GuardState, served api.GuardState) {
	_, up, _, _ := e.Definition.Guardrails[i].Limit()
	arm, all := x.slacks(e, i)
	state := func(estimate, low, high float64) api.GuardState {
		if !up {
			estimate, low, high = -estimate, -high, -low
		}
		b := Bounds{Estimate: estimate, Low: low, High: high, Served: Served{Estimate: estimate, Low: low, High: high}}
		return b.State()
	}
	return func(k int) api.GuardState {
		a := arm(k)
		return state(a.Mean, a.From, a.To)
	}, state(all.Estimate, all.Low, all.High)
}

// armBound is an arm's confidence sequence; it is valid while the observations it was computed from
// are unchanged.
type armBound struct {
	of       confseq.Sequence
	alpha    float64
	from, to float64
}

// kept returns where the bounds of the arms in guardrail i are kept, nil if they are not.
func (e *Evidence) kept(i int) []armBound {
	if e.Cache == nil || !e.Fold {
		return nil
	}
	c := e.Cache
	for len(c.bounds) < len(e.Definition.Guardrails) {
		c.bounds = append(c.bounds, nil)
	}
	for len(c.bounds[i]) < len(e.Joined.Arms) {
		c.bounds[i] = append(c.bounds[i], armBound{})
	}
	return c.bounds[i]
}

// plain returns the arms' parts of the slack in a guardrail with a fixed limit, and that of all
// units served.
func (e *Evidence) plain(i int) (func(k int) Own, Served) {
	d := e.Definition
	g := &d.Guardrails[i]
	limit, _, _, _ := g.Limit()
	metric := d.MetricIndex(g.Metric)
	least, most := d.Span(metric, limit)
	inflation, off := e.inflated(metric), limit
	if d.RatioIndex(metric) >= 0 {
		off = 0 // the limit is in the observations
	}
	var all confseq.Sequence
	sequences := make([]confseq.Sequence, len(e.Joined.Arms))
	for k := range sequences {
		sequences[k] = e.Stats(k).Observations(d, metric, limit)
		all.Merge(sequences[k])
	}
	served := Served{math.NaN(), math.Inf(-1), math.Inf(1), math.NaN()}
	if all.N > 0 {
		s := compare.Deflate(all, inflation)
		from, to := s.Interval(float64(2*servedAlpha*g.Alpha), least, most)
		served = Served{all.Mean - off, from - off, to - off, math.NaN()}
	}
	kept := e.kept(i)
	return func(k int) Own {
		s := compare.Deflate(sequences[k], inflation)
		var keep *armBound
		if k < len(kept) {
			keep = &kept[k]
		}
		from, to := bound(&s, float64(2*e.armAlpha(g, k)), least, most, keep)
		a := Own{Mean: math.NaN(), From: from - off, To: to - off}
		if s.N > 0 {
			a.Mean = s.Mean - off
			a.Weight = float64(sequences[k].N) / float64(all.N)
		}
		return a
	}, served
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

// relative returns the arms' parts of the slack in a guardrail relative to the control, and that of
// what was served, by the comparisons of all versions.
func (x *States) relative(e *Evidence, i int) (func(k int) Own, Served) {
	d := e.Definition
	g := &d.Guardrails[i]
	metric := d.MetricIndex(g.Metric)
	c, change := e.Compared(metric), e.change(g)
	o := confseq.ContrastOptions{Width: d.Width(metric), Tight: x.Guards[i].Tight, Inflation: e.inflated(metric)}
	served := Served{math.NaN(), math.Inf(-1), math.Inf(1), math.NaN()}
	if c.Served.Weight > 0 {
		served.Estimate, served.Level = c.Served.Mean(change), c.Served.Level/c.Served.Weight
		served.Low, served.High = c.Served.Interval(change, float64(servedAlpha*g.Alpha), o)
	}
	total := 0.0
	for k := range c.Arms {
		total += c.Arms[k].Weight
	}
	least, most := d.Lowest(metric), d.Highest(metric)
	if d.RatioIndex(metric) >= 0 {
		least, most = math.Inf(-1), math.Inf(1)
	}
	return func(k int) Own {
		if k < len(c.Arms) && c.Arms[k].Weight > 0 {
			a := &c.Arms[k]
			from, to := a.Interval(change, e.armAlpha(g, k), o)
			return Own{a.Mean(change), from, to, a.Weight / total, a.Level / a.Weight}
		}
		control := float64((1 + change) * (c.Served.Level / c.Served.Weight))
		if math.IsNaN(control) {
			return Own{Mean: math.NaN(), From: math.Inf(-1), To: math.Inf(1)}
		}
		return Own{Mean: math.NaN(), From: least - control, To: most - control}
	}, served
}

// change returns the change that a guardrail allows, relative to the control's mean with its sign:
// y is held to (1 + change)·control.
func (e *Evidence) change(g *definition.Guardrail) float64 {
	limit, _, _, _ := g.Limit()
	if e.Compared(e.Definition.MetricIndex(g.Metric)).Served.Level < 0 {
		return -limit
	}
	return limit
}
