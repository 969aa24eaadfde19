package experiment

import (
	"bytes"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/experiment/guard"
	"github.com/noregret/noregret/policy"
)

// proposer asks the policy of an experiment what to serve, while an event is made that begins a
// version. It is the only code that asks: everything else reads what events say. It works on a copy
// of the parts that it changes, and returns all that it decides in a [Serving].
type proposer struct {
	*experimentState
	sealed *sealed // what a contextual policy has learned, nil before it was asked
}

// revision is that of the policies. A change of what one proposes, or of a learner's snapshots, is
// a new revision.
const revision = 3

// policyOf names the policy of a definition and its revision.
func policyOf(d *definition.Definition) (name string, rev int) {
	if d.Mixes() {
		return "mixture", revision
	}
	return d.Policy.Kind, revision
}

// proposer returns a proposer of the experiment.
func (x *experimentState) proposer() *proposer {
	y := *x
	y.roster.Arms, y.roster.LearnedArms = slices.Clone(x.roster.Arms), slices.Clone(x.roster.LearnedArms)
	y.guards.Guards = slices.Clone(x.guards.Guards)
	sums := *x.joiner // to which arms may be added
	sums.Arms = slices.Clip(sums.Arms)
	y.joiner = &sums
	return &proposer{experimentState: &y}
}

// proposed returns what an event at hand says, as a fold reads it.
func (x *experimentState) proposed(reason string, propose func(p *proposer, s *Serving) error) (*Serving, error) {
	p := x.proposer()
	s := &Serving{Version: x.rounds.Version + 1, Reason: reason, Stage: x.Ramp.Stage}
	if p.roster.def.Arms.Box != nil {
		s.Idle = p.idle()
	}
	if err := propose(p, s); err != nil {
		return nil, err
	}
	s.Promise = p.promise()
	if p.Status == policy.Concluded { // nothing is served instead
		s.Deployed = s.Shares.Shares()
		return s.read()
	}
	for i := range p.guards.Guards {
		if p.guards.Guards[i].Shrinking {
			s.Shrinking = append(s.Shrinking, i)
		}
	}
	if p.Status != policy.RolledBack && p.hasLearned() {
		if s.Deployed, _ = p.deployed(); len(s.Deployed) != len(p.roster.Arms) {
			s.Deployed = nil
		}
	}
	return s.read()
}

// seal returns what a contextual policy has learned.
func (p *proposer) seal(l *contextLearner) (_ *sealed, err error) {
	if p.sealed == nil {
		p.sealed, err = l.seal(&p.roster)
	}
	return p.sealed, err
}

// idle returns the arms of the learner that are not active.
func (p *proposer) idle() (arms []int) {
	for _, k := range p.roster.LearnedArms {
		if !p.roster.Arms[k].Active {
			arms = append(arms, k)
		}
	}
	return arms
}

// grow adds the points of a box that the learner has since chosen as arms.
func (p *proposer) grow(s *Serving) {
	b, ok := p.learning.learner.(pointChooser)
	if !ok {
		return
	}
	names, _, _ := p.roster.def.Sides()
	for i, k := range p.roster.LearnedArms {
		if i >= b.Arms() || point(names, i, b.Point(i)).Name != p.roster.Arms[k].Name ||
			!bytes.Equal(point(names, i, b.Point(i)).Value, p.roster.Arms[k].Value) {
			p.learning.learner = lost{} // another revision has chosen them
			return
		}
	}
	for i := len(p.roster.LearnedArms); i < b.Arms(); i++ {
		a := point(names, i, b.Point(i))
		s.Points = append(s.Points, a)
		p.push(a, false)
	}
	for i, share := range b.Serving() {
		p.roster.Arms[p.roster.LearnedArms[i]].Active = share > 0
	}
	s.Idle = p.idle()
}

// learned proposes what the policy has learned.
func (p *proposer) learned(s *Serving) (err error) {
	if p.Status == policy.RolledBack {
		shares := make([]float64, len(p.roster.Arms))
		shares[p.roster.Control] = 1
		s.Shares, err = policy.NewSplit(shares)
		return err
	}
	p.grow(s)
	if _, ok := p.learning.learner.(lost); ok && len(p.rounds.Versions) > 0 {
		return p.hold(s, p.rounds.served(len(p.roster.Arms)))
	}
	s.Policy, s.Revision = policyOf(p.roster.def)
	if l, ok := p.learning.learner.(*contextLearner); ok {
		sealed, err := p.seal(l)
		if err != nil {
			return err
		}
		s.Linear = sealed.linear
		s.Shares, err = policy.NewSplit(sealed.shares)
		return err
	}
	mixture := p.learnedMixture()
	guard.Dilute(mixture, guard.Share(p.roster.def, s.Stage), p.roster.Control)
	p.shrink(&p.guards.States, mixture)
	s.Shares, err = policy.NewSplit(mixture)
	return err
}

// learnedMixture returns the learner's mixture without stopped arms and within the bounds on
// shares. Where the control arm is not an arm of the learner, it adds its fixed share and the
// exploration floor.
func (p *proposer) learnedMixture() []float64 {
	q := make([]float64, len(p.roster.Arms))
	fixed, floor := 0.0, p.roster.def.ExplorationFloor
	switch {
	case p.roster.def.LearnsControl():
		floor = 0
	case p.roster.def.Policy.Kind != "fixed" && p.roster.Control >= 0:
		fixed = p.roster.def.Control.Share
		q[p.roster.Control] = fixed
	}
	made, active, arms := p.made(mixer.Serving), 0, stopView{&p.roster}
	for i := range made {
		if arms.planned(p.roster.LearnedArms[i]) {
			active++
		}
	}
	for i, v := range made {
		k, share := p.roster.LearnedArms[i], float64((1-floor)*v)
		if arms.planned(k) {
			share += floor / float64(active)
		}
		if p.roster.Arms[k].Active {
			q[k] += float64((1 - fixed) * share)
		}
	}
	arms.limit(q)
	return q
}

// made returns shares of the learner's arms, nil if it has none.
func (p *proposer) made(of func(mixer) []float64) []float64 {
	m, ok := p.learning.learner.(mixer)
	if !ok {
		return nil
	}
	shares := of(m)
	return shares[:min(len(shares), len(p.roster.LearnedArms))]
}

// shrink shrinks a mixture if guardrails require it, within the bounds on shares. Which of them go
// on to do so may change in of.
func (p *proposer) shrink(of *guard.States, q []float64) {
	of.Shrink(p.guardEvidence(true), q)
	normalize(q)
	arms := stopView{&p.roster}
	beyond := func(k int) bool { return q[k] > arms.maxShare(k)+shareTolerance }
	if p.roster.Control >= 0 && p.roster.def.MaxShare != nil && slices.ContainsFunc(p.roster.LearnedArms, beyond) {
		arms.bound(q) // shares of arms without a bound on their metric went to the others
	}
}

// deployed returns the shares that the policy would deploy, by arm, within the bounds on shares and
// without stopped arms.
func (p *proposer) deployed() ([]float64, error) {
	var best []float64
	if l, ok := p.learning.learner.(*contextLearner); ok {
		sealed, err := p.seal(l)
		if err != nil {
			return nil, err
		}
		best = sealed.best
	} else {
		best = p.made(mixer.Deployed)
	}
	q, total := make([]float64, len(p.roster.Arms)), 0.0
	for i, v := range best {
		if k := p.roster.LearnedArms[i]; p.roster.Arms[k].Active {
			q[k] = v
			total += v
		}
	}
	if !(total > 0) {
		return nil, nil
	}
	stopView{&p.roster}.limit(q)
	p.shrink(&guard.States{Guards: slices.Clone(p.guards.Guards)}, q)
	return q, nil
}

// hold proposes given shares, and the contextual policy as it is.
func (p *proposer) hold(s *Serving, shares *policy.Split) (err error) {
	s.Shares = shares.Pad(len(p.roster.Arms))
	s.Linear, s.Carried, err = p.carried()
	return err
}

// paused proposes a mixture of a paused experiment, shrunk if guardrails require it.
func (p *proposer) paused(s *Serving, mixture []float64) error {
	for len(mixture) < len(p.roster.Arms) {
		mixture = append(mixture, 0)
	}
	stopView{&p.roster}.limit(mixture)
	p.shrink(&p.guards.States, mixture)
	split, err := policy.NewSplit(mixture)
	if err != nil {
		return err
	}
	return p.hold(s, split)
}

// final proposes the mixture to conclude with: a named one, or that which the policy would deploy,
// with the best arm for each context if it is contextual.
func (p *proposer) final(s *Serving, named map[string]float64) (err error) {
	var shares []float64
	switch {
	case named != nil:
		shares, err = ending{p.experimentState}.namedMixture(named)
	case p.Status == policy.RolledBack:
		err = noregret.BadInputf("mixture", "the experiment is rolled back: name the mixture to conclude with")
	case !p.hasLearned():
		err = noregret.BadInputf("mixture", "nothing has been learned yet: name the mixture to conclude with")
	default:
		p.grow(s)
		s.Policy, s.Revision = policyOf(p.roster.def)
		shares, err = p.deployed()
	}
	if err != nil {
		return err
	}
	p.Status = policy.Concluded
	if s.Shares, err = policy.NewSplit(shares); err != nil || p.sealed == nil {
		return err
	}
	s.Linear = certain(p.sealed.linear)
	return s.Linear.Prepare(len(s.Linear.Arms))
}

// carried returns the contextual policy of the running version for the arms of now, nil if there is
// none, or true if it goes on as it is. An arm that came since has no share.
func (p *proposer) carried() (next *policy.Linear, same bool, err error) {
	if len(p.rounds.Versions) == 0 || p.Status == policy.RolledBack {
		return nil, false, nil
	}
	was := p.rounds.current().Linear
	if was == nil {
		return nil, false, nil
	}
	next, live := relinear(was, &p.roster), false
	same = len(was.Arms) == len(p.roster.Arms)
	for k := range next.Arms {
		same = same && next.Arms[k].Retired == was.Arms[k].Retired
		live = live || !next.Arms[k].Retired
	}
	if l, ok := p.learning.learner.(*contextLearner); ok && !live { // no arm with a model is left
		sealed, err := p.seal(l)
		if err != nil {
			return nil, false, err
		}
		return sealed.linear, false, nil
	}
	if same {
		return nil, true, nil
	}
	return next, false, next.Prepare(len(next.Arms))
}
