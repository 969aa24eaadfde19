package experiment

import (
	"errors"
	"slices"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/internal/column"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/policy"
)

// learning holds what a policy can learn from, as the fold counts it, and beside it the learner.
type learning struct {
	learner learner
	// Store has the sums of all versions that are learned from, nil for contextual policies. The
	// fold adds to it; policies and reports read it.
	Store     *compare.Store `json:"store,omitempty"`
	Recent    []roundStats   `json:"recent"`
	Unlearned int64          `json:"unlearned"` // units that could not be learned from
	// Replaced are the units in whose place a bandit on estimated losses learned a mean, as they
	// had no reward.
	Replaced int64 `json:"replaced,omitempty"`
	// Deployed are the shares that the policy would deploy, as the last event says that tells of
	// it; Untold is whether windows have closed since.
	Deployed column.Float64s `json:"deployed,omitempty"`
	Untold   bool            `json:"untold,omitempty"`
	// Promised is what was promised of the guardrails when the running version began.
	Promised *api.Promise `json:"promised,omitempty"`
}

// closeLearningRound counts the units of a version that a policy learns from, and passes them to
// the learner. It returns the number of units that a policy cannot use, and of those in whose place
// it learns a mean.
func (x *learning) closeLearningRound(r *roster, of *roundStats, joined *join.Joiner) (unlearned, replaced int64) {
	stats := of.Stats
	if r.goals == nil {
		return 0, 0
	}
	for _, k := range r.LearnedArms {
		if k < len(stats) {
			unlearned += stats[k].Units
		}
	}
	arms := stopView{r}
	if r.def.Bandit() {
		of := r.rewards(of, joined.Returns.Factors())
		if l, ok := x.learner.(*rewardLearner); ok && of.learned > 0 {
			_ = l.take(of.batch, of.shares, of.asleep) // what it refuses, it does not know
		}
		for _, b := range of.batch {
			if b.Size > 0 {
				arms.observed(r.LearnedArms[b.Arm])
			}
		}
		return unlearned - of.learned, of.replaced
	}
	if r.def.Mixes() {
		if l, ok := x.learner.(*mixtureLearner); ok {
			l.changed()
		}
		for _, k := range r.LearnedArms {
			if k < len(stats) && r.takes(k) && r.valued(&stats[k]) {
				unlearned -= stats[k].Units
				arms.observed(k)
			}
		}
		return unlearned, 0
	}
	var round []pasto.Observation
	for _, o := range r.observations(stats, joined.Arms) {
		if r.takes(r.LearnedArms[o.Arm]) {
			round = append(round, o)
		}
	}
	if len(round) > 0 {
		_ = x.learner.Observe(round)
	}
	for i := range round {
		unlearned -= int64(round[i].Size)
		arms.observed(r.LearnedArms[round[i].Arm])
	}
	return unlearned, 0
}

// takes reports whether a policy learns from observations of an arm: the default one from those of
// every arm that it plans with, as units of a version may mature when the guardrails no longer
// leave their arm a share; from points of a box always, as they come and go; a fixed one from those
// of arms in its split.
func (x *roster) takes(k int) bool {
	switch {
	case x.def.Arms.Box != nil:
		return true
	case x.def.Policy.Kind == "fixed":
		return x.Arms[k].Active && x.def.Policy.Split[x.Arms[k].Name] > 0
	}
	return (stopView{x}).planned(k)
}

// taught returns the error of a learner while an event is made, which is then refused. An event of
// the log has been accepted: a learner that refuses it knows less, and nothing else depends on it.
func (x *experimentState) taught(err error) error {
	if x.event.ask {
		return err
	}
	return nil
}

// advance closes the versions whose window has ended.
func (x *experimentState) advance(now int64) {
	stops := stopper{x}
	suspended, closed := stops.suspended(), false
	for c := x.joiner.Close(x.roster.def, now); c != nil; c = x.joiner.Close(x.roster.def, now) {
		x.mature(c)
		if c.Last {
			c.Release()
		}
		closed = true
	}
	if closed {
		x.learning.Untold = x.Status != policy.RolledBack && x.Status != policy.Concluded
	}
	if closed && x.Private == nil {
		v := x.guards.VetoCrashing(x.guardEvidence(true), x.roster.stoppable(), suspended)
		x.tellVerdict(&v, now)
	}
	v := x.guards.Release(x.roster.def, x.roster.stoppable(), suspended)
	x.tellVerdict(&v, now)
}

// mature hands metrics of a version whose window has closed to all who sum versions, and to the
// learner.
func (x *experimentState) mature(c *join.Closed) {
	x.health.apply(c)
	if v := x.rounds.versionOf(c.Version.Version); v != nil {
		if c.Last {
			v.Seen = c.All.Units
		}
		for _, i := range c.Metrics {
			if n, mean := c.All.Mean(x.roster.def, i); n > 0 {
				v.Observed[i] = &mean
			}
		}
	}
	if x.Private != nil {
		x.Private.mature(x.roster.def, c.Version)
		x.learning.Unlearned += c.All.Units - c.Counted
		return
	}
	complete := completes(x.roster.def, c)
	x.closeGuarded(c, complete)
	x.learnFrom(c, complete)
	c.Learned = c.Learned || complete
}

// completes reports whether a policy learns from a version now: all metrics that it needs have
// closed, or after a change of the goals any others, and it has not learned from it before.
func completes(d *definition.Definition, c *join.Closed) bool {
	if c.Learned || c.Last {
		return !c.Learned
	}
	return !slices.ContainsFunc(d.LearnedMetrics(), func(m int) bool { return !c.Version.Closed(m) })
}

// learnFrom adds metrics of a version whose window has closed to the store. If the version is
// complete, it counts what a policy learns from it, and passes it to the learner.
func (x *experimentState) learnFrom(c *join.Closed, complete bool) {
	arms := c.Arms()
	if x.roster.def.Contextual() && c.Learnable {
		if complete {
			x.learnContexts(c)
		}
		return
	}
	if !c.Learnable {
		for _, k := range x.roster.LearnedArms {
			if complete && k < len(arms) && x.roster.goals != nil {
				x.learning.Unlearned += arms[k].Units
			}
		}
		return
	}
	if x.learning.Store != nil {
		x.learning.Store.AddVersion(x.roster.def, c.Metrics, x.roster.Control, arms, x.joiner.Returns.Factors())
	}
	if !complete {
		x.learning.rememberLater(x.roster.def, c)
		x.learning.storeChanged()
		return
	}
	round := roundStats{Stats: arms, Mixture: c.Mixture, Masked: c.Masked}
	x.learning.remember(x.roster.def, &round, c)
	unlearned, replaced := x.learning.closeLearningRound(&x.roster, &round, x.joiner)
	x.learning.Unlearned += unlearned
	x.learning.Replaced += replaced
}

// learnContexts passes a version to a contextual learner.
func (x *experimentState) learnContexts(c *join.Closed) {
	for _, a := range c.Arms() {
		x.learning.Unlearned += a.Units
	}
	l, _ := x.learning.learner.(*contextLearner)
	learned := x.roster.contextual(c.Version, func(at, arm int, v []float64, reward float64) {
		stopView{&x.roster}.observed(arm)
		if l != nil {
			l.learn(c.Version, at, arm, v, reward)
		}
	})
	if l != nil && learned > 0 {
		_ = l.endRound(&x.roster)
	}
	x.learning.Unlearned -= learned
}

// storeChanged tells the learner that the store has another metric of a version.
func (x *learning) storeChanged() {
	if l, ok := x.learner.(*mixtureLearner); ok {
		l.changed()
	}
}

// rebuildLearner creates a learner for the definition and trains it on the rounds that are kept. If
// that fails, the learner stays as it was.
func (x *learning) rebuildLearner(r *roster, joined *join.Joiner) error {
	if err := fix(x.Store, r.def); err != nil {
		return err
	}
	if l, ok := x.learner.(*mixtureLearner); ok && r.def.Mixes() {
		x.learner = lost{} // what is kept it has observed: it is only counted again
		for i := range x.Recent {
			_, _ = x.closeLearningRound(r, &x.Recent[i], joined)
		}
		x.learner = l
		return l.redefine(r) // its sums do not depend on what is wanted
	}
	m, err := makeLearner(r, x.Store)
	if err == nil {
		for i, k := range r.LearnedArms {
			if !(stopView{r}).planned(k) && r.def.Policy.Kind != "fixed" && r.def.Arms.Box == nil {
				err = errors.Join(err, m.RetireArm(i))
			}
		}
	}
	before := x.learner
	if x.learner = m; err != nil {
		x.learner = lost{}
	}
	for i := range x.Recent {
		// What cannot be used was counted when it was new.
		_, _ = x.closeLearningRound(r, &x.Recent[i], joined)
	}
	if err != nil && before != nil {
		x.learner = before
	}
	return err
}

// restoreLearner restores the learner from its snapshot.
func (x *learning) restoreLearner(r *roster, saved []byte) error {
	if len(saved) == 0 {
		x.learner = lost{}
		return nil
	}
	m, err := makeLearner(r, x.Store)
	if err != nil {
		return err
	}
	if err := m.UnmarshalBinary(saved); err != nil {
		return err
	}
	x.learner = m
	return nil
}

// remakeArms adds arms to the learner and retires others. The store has the arms already.
func (x *learning) remakeArms(r *roster, added int, retired []int) error {
	if l, ok := x.learner.(*mixtureLearner); ok && added+len(retired) > 0 {
		return l.redefine(r)
	}
	for range added {
		if _, err := x.learner.AddArm(); err != nil {
			return err
		}
	}
	for _, k := range retired {
		if err := x.learner.RetireArm(slices.Index(r.LearnedArms, k)); err != nil {
			return err
		}
	}
	return nil
}
