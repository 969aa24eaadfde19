package experiment

import "slices"

// copy returns a copy of everything that changes and is persisted. It shares the learner, the
// policy and the cohorts' indices with the original, which a frozen state never changes.
func (x *experimentState) copy() *experimentState {
	y := *x
	y.roster, y.rounds, y.learning = x.roster.copy(), x.rounds.copy(), x.learning.copy()
	y.guards, y.lifts, y.joiner, y.health = x.guards.copy(), x.lifts.copy(), x.joiner.copy(), x.health.copy()
	y.senders, y.Ratio = x.senders.copy(), x.Ratio.copy()
	y.Ranks, y.Uniform, y.Notes = x.Ranks.copy(), x.Uniform.copy(), slices.Clone(x.Notes)
	return &y
}

// fork returns an independent copy: it shares nothing that changes.
func (x *experimentState) fork() (*experimentState, error) {
	b, err := x.learning.learner.MarshalBinary()
	if err != nil {
		return nil, err
	}
	y := x.copy()
	for _, c := range y.joiner.cohorts {
		if err := c.restore(y.roster.def); err != nil {
			return nil, err
		}
	}
	if err := y.Ranks.restore(); err != nil {
		return nil, err
	}
	return y, y.learning.restoreLearner(&y.roster, b)
}

func (x *roster) copy() roster {
	y := *x
	y.Arms = slices.Clone(x.Arms)
	for k := range y.Arms {
		y.Arms[k].Stats = x.Arms[k].Stats.copy()
		y.Arms[k].Early = slices.Clone(x.Arms[k].Early)
	}
	y.Holdout, y.LearnedArms = x.Holdout.copy(), slices.Clone(x.LearnedArms)
	return y
}

func (x *rounds) copy() rounds {
	y := *x
	y.Versions = make([]*version, len(x.Versions))
	for i, v := range x.Versions {
		w := *v
		w.Observed = slices.Clone(v.Observed)
		y.Versions[i] = &w
	}
	return y
}

func (x *learning) copy() learning {
	y := *x
	y.Recent = make([]roundStats, len(x.Recent))
	for i := range x.Recent {
		y.Recent[i] = roundStats{copyStats(x.Recent[i].Stats), slices.Clone(x.Recent[i].Mixture)}
	}
	return y
}

// copy leaves out the bounds, which are computed again.
func (x *guards) copy() guards {
	return guards{
		Guards: slices.Clone(x.Guards), Contrasts: copyContrasts(x.Contrasts), Returns: x.Returns.copy(),
	}
}

func (x *joiner) copy() joiner {
	y := *x
	y.cohorts = make([]*cohort, len(x.cohorts))
	for i, c := range x.cohorts {
		y.cohorts[i] = c.copy()
	}
	return y
}

func (x *health) copy() health {
	y := *x
	y.Missing = slices.Clone(x.Missing)
	return y
}

func (r *ratioTest) copy() ratioTest {
	y := *r
	y.Seen, y.Expected, y.Streams = slices.Clone(r.Seen), slices.Clone(r.Expected), slices.Clone(r.Streams)
	return y
}

func (c *cohort) copy() *cohort {
	d := *c
	d.Centre, d.Test.Masked = slices.Clone(c.Centre), slices.Clone(c.Test.Masked)
	d.Stats, d.Later, d.Sums.Missing = copyStats(c.Stats), copyStats(c.Later), slices.Clone(c.Sums.Missing)
	d.Unit, d.Slot = slices.Clone(c.Unit), slices.Clone(c.Slot)
	d.Mask, d.Values, d.contexts = slices.Clone(c.Mask), slices.Clone(c.Values), c.contexts.copy()
	return &d
}
