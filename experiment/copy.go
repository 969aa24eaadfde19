package experiment

import (
	"slices"

	"github.com/noregret/noregret/experiment/compare"
)

// copy returns a copy of everything that changes and is persisted. It shares the learner, the
// policy with the original, and the pages of the cohorts' rows until one of them changes them; it
// does not have the rows' indices.
func (x *experimentState) copy() *experimentState {
	y := *x
	y.roster, y.rounds, y.learning = x.roster.copy(), x.rounds.copy(), x.learning.copy()
	y.guards, y.lifts, y.joiner, y.health = x.guards.copy(), x.lifts.copy(), x.joiner.copy(), x.health.copy()
	y.senders, y.Ratio = x.senders.copy(), x.Ratio.copy()
	y.Kept, y.Uniform, y.Notes = x.Kept.copy(), x.Uniform.copy(), slices.Clone(x.Notes)
	y.Private, y.Sequences = x.Private.copy(), x.Sequences.Copy()
	return &y
}

// fork returns an independent copy: it shares nothing that changes.
func (x *experimentState) fork() (*experimentState, error) {
	b, err := x.learning.learner.MarshalBinary()
	if err != nil {
		return nil, err
	}
	y := x.copy()
	for i, c := range y.joiner.cohorts {
		c.rows.search(&x.joiner.cohorts[i].rows)
	}
	if err := y.Kept.restore(); err != nil {
		return nil, err
	}
	return y, y.learning.restoreLearner(&y.roster, b)
}

func (x *roster) copy() roster {
	y := *x
	y.Arms = slices.Clone(x.Arms)
	for k := range y.Arms {
		y.Arms[k].Stats = x.Arms[k].Stats.Copy()
		y.Arms[k].Early = slices.Clone(x.Arms[k].Early)
	}
	y.EarlyContrasts = slices.Clone(x.EarlyContrasts)
	for i := range y.EarlyContrasts {
		logs := slices.Clone(y.EarlyContrasts[i].Logs)
		for k := range logs {
			logs[k] = slices.Clone(logs[k])
		}
		y.EarlyContrasts[i].Logs = logs
	}
	y.Holdout, y.LearnedArms = x.Holdout.Copy(), slices.Clone(x.LearnedArms)
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
	if x.Store != nil {
		y.Store = x.Store.Copy()
	}
	y.Recent = make([]roundStats, len(x.Recent))
	for i := range x.Recent {
		r := &x.Recent[i]
		y.Recent[i] = roundStats{compare.CopyStats(r.Stats), slices.Clone(r.Mixture), r.Masked}
	}
	y.told.Notes = slices.Clone(x.told.Notes)
	if x.told.Forgotten != nil {
		f := *x.told.Forgotten
		f.Events = slices.Clone(f.Events)
		y.told.Forgotten = &f
	}
	return y
}

// copy leaves out the bounds, which are computed again.
func (x *guards) copy() guards {
	return guards{
		Guards: slices.Clone(x.Guards), Returns: x.Returns.copy(), Actions: slices.Clone(x.Actions),
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
	d.Stats, d.Later = compare.CopyStats(c.Stats), compare.CopyStats(c.Later)
	d.Sums.Missing = slices.Clone(c.Sums.Missing)
	d.rows, d.contexts, d.Masks = c.rows.copy(), c.contexts.copy(), c.Masks.copy()
	return &d
}
