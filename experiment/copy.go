package experiment

import (
	"slices"

	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/guard"
	"github.com/noregret/noregret/experiment/join"
)

// copy returns a copy of everything that changes and is persisted. It shares the learner, the
// policy with the original, and the pages of the versions' rows until one of them changes them; it
// does not have the rows' indices.
func (x *experimentState) copy() *experimentState { return x.copyWith(x.joiner.Copy()) }

// copyWith is copy with a joiner, which is a copy.
func (x *experimentState) copyWith(joiner *join.Joiner) *experimentState {
	y := *x
	y.roster, y.rounds, y.learning = x.roster.copy(), x.rounds.copy(), x.learning.copy()
	y.guards, y.health = guards{x.guards.Copy(), new(guard.Cache)}, x.health.copy()
	y.Tight, y.Uniform, y.Notes = x.Tight.Copy(), x.Uniform.Copy(), slices.Clone(x.Notes)
	y.joiner = joiner
	y.Private, y.Sequences = x.Private.copy(), x.Sequences.Copy()
	return &y
}

// fork returns an independent copy: it shares nothing that changes.
func (x *experimentState) fork() (*experimentState, error) {
	b, err := x.learning.learner.MarshalBinary()
	if err != nil {
		return nil, err
	}
	y := x.copyWith(x.joiner.Fork())
	return y, y.learning.restoreLearner(&y.roster, b)
}

func (x *roster) copy() roster {
	y := *x
	y.Arms = slices.Clone(x.Arms)
	y.LearnedArms = slices.Clone(x.LearnedArms)
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
		r := x.Recent[i]
		r.Stats, r.Mixture = compare.CopyStats(r.Stats), slices.Clone(r.Mixture)
		y.Recent[i] = r
	}
	return y
}

func (x *health) copy() health {
	y := *x
	y.Matured, y.Missing = slices.Clone(x.Matured), slices.Clone(x.Missing)
	return y
}
