package experiment

import (
	"slices"
	"time"

	"github.com/noregret/noregret/pasto"
)

// value is the objective of a mixture by the arms' means. Ok is false where an arm of some share
// has none.
func (x *live) value(p []float64) (v float64, ok bool) {
	means, known := x.means()
	return x.valueBy(p, means, known)
}

// valueBy is value for means at hand.
func (x *live) valueBy(p []float64, means [][]float64, known []bool) (v float64, ok bool) {
	if means == nil {
		return 0, false
	}
	theta, total := make([]float64, x.goals.Dim()), 0.0
	for k, w := range p {
		if w > 0 && known[k] {
			total += w
		}
	}
	if !(total > 0.9) { // too much of it is unknown
		return 0, false
	}
	for k, w := range p {
		if w > 0 && known[k] {
			for i, u := range means[k] {
				theta[i] += float64(w / total * u)
			}
		}
	}
	v = x.goals.Value(theta)
	return v, finite(v)
}

// means are what the objective sees of each arm, by all that was ever observed; nil without an
// objective.
func (x *live) means() (means [][]float64, known []bool) {
	if x.goals == nil {
		return nil, nil
	}
	for k := range x.Arms {
		dst := make([]float64, x.goals.Dim())
		known = append(known, goalVector(dst, x.def, &x.Arms[k].Stats, x.controlStats()))
		means = append(means, dst)
	}
	return means, known
}

func (x *live) controlStats() *armStats {
	if x.Control < 0 {
		return nil
	}
	return &x.Arms[x.Control].Stats
}

// closeLearningRound lets the learner observe a version, and returns how many of its units it could
// not use.
func (x *live) closeLearningRound(stats []armStats) (unlearned int64) {
	if x.goals == nil {
		return 0
	}
	var control *armStats
	if x.Control >= 0 && x.Control < len(stats) {
		if control = &stats[x.Control]; control.Units == 0 {
			control = x.controlStats() // none in this round: all rounds'
		}
	}
	var round []pasto.Observation
	served := x.learner.Serving()
	for i, k := range x.Learn {
		if k >= len(stats) || stats[k].Units == 0 {
			continue
		}
		dst := make([]float64, x.goals.Dim())
		if !x.Arms[k].Active || i >= len(served) || !(served[i] > 0) || !goalVector(dst, x.def, &stats[k], control) {
			unlearned += stats[k].Units
			continue
		}
		round = append(round, pasto.Observation{Arm: i, Metrics: dst, Size: float64(stats[k].Units)})
	}
	if len(round) == 0 {
		return unlearned
	}
	if err := x.learner.Observe(round); err != nil {
		for i := range round {
			unlearned += int64(round[i].Size)
		}
		return unlearned
	}
	x.grow()
	return unlearned
}

// grace is how long after a version's end units may still be decided for under it: by the service
// while the event that ends the version is being made durable, and by a copy of its policy. A 20th
// of the attribution window; at least five seconds, as a disk or a network may take that, or the
// window if that is shorter; and at most a minute.
func (x *live) grace() int64 {
	w := int64(x.def.AttributionWindow)
	return min(max(w/20, min(w, int64(5*time.Second))), int64(time.Minute))
}

// matures is when a cohort's window has closed for every unit that may have been decided for under
// it.
func (x *live) matures(c *cohort) int64 {
	return c.Sealed + x.grace() + int64(x.def.AttributionWindow)
}

// advance lets the cohorts whose window has closed mature, and forgets sources whose last report
// was before every version that is open: a report of theirs that came again would be late as a
// whole.
func (x *live) advance(now int64) {
	n := len(x.cohorts)
	for len(x.cohorts) > 1 && x.cohorts[0].Sealed > 0 && x.matures(x.cohorts[0]) <= now {
		x.mature(x.cohorts[0])
		x.cohorts = x.cohorts[1:]
	}
	if len(x.cohorts) < n {
		x.Sources = slices.DeleteFunc(x.Sources, func(s source) bool { return s.Version < x.cohorts[0].Version })
	}
}

func (x *live) mature(c *cohort) {
	x.Ratio.mature(x, c)
	m := c.mature(x.def, func(slot, metric int, v float64) {
		x.count(c, slot, metric, v)
	}, func(slot, ratio int, a, b float64) {
		c.Stats[slot].Pairs[ratio].Add(a, b)
		x.stats(c, slot).Pairs[ratio].Add(a, b)
	})
	for slot := range c.Later {
		c.Stats[slot].merge(&c.Later[slot])
		x.stats(c, slot).merge(&c.Later[slot])
	}
	x.Orphans += m.Orphans
	x.Matured += m.Units
	for i, n := range m.Missing {
		x.Missing[i] += n
	}
	arms := c.Stats[:len(c.Mixture)]
	if v := x.versionOf(c.Version); v != nil {
		all := newArmStats(x.def)
		for k := range arms {
			all.merge(&arms[k])
		}
		v.Seen = all.Units
		for i := range v.Observed {
			if n, mean := all.of(x.def, i); n > 0 {
				v.Observed[i] = &mean
			}
		}
	}
	if c.Learn {
		x.remember(arms)
		x.Unlearned += x.closeLearningRound(arms)
		return
	}
	for _, k := range x.Learn {
		if k < len(arms) && x.goals != nil {
			x.Unlearned += arms[k].Units
		}
	}
}

// remember keeps a matured version's statistics; the two oldest are merged where there are too
// many.
func (x *live) remember(arms []armStats) {
	x.Recent = append(x.Recent, roundStats{cloneStats(arms)})
	keep := keepRecent
	if x.def.Drift.Kind == "window" {
		if n := int(x.def.Drift.Rounds); len(x.Recent) > min(n, keep) {
			x.Recent = slices.Clone(x.Recent[1:])
		}
		return
	}
	if len(x.Recent) > keep {
		a, b := &x.Recent[0], &x.Recent[1]
		for len(a.Stats) < len(b.Stats) {
			a.Stats = append(a.Stats, newArmStats(x.def))
		}
		for k := range b.Stats {
			a.Stats[k].merge(&b.Stats[k])
		}
		x.Recent = slices.Delete(x.Recent, 1, 2)
	}
}

// stats are the whole-life statistics that a slot of a cohort counts in.
func (x *live) stats(c *cohort, slot int) *armStats {
	if slot == len(c.Mixture) {
		return &x.Held
	}
	return &x.Arms[slot].Stats
}

// count adds a value of an exposed unit.
func (x *live) count(c *cohort, slot, metric int, v float64) {
	// Values are in range, so that the sums cannot leave that of float64.
	_ = c.Stats[slot].Metrics[metric].Add(v)
	_ = x.stats(c, slot).Metrics[metric].Add(v)
}
