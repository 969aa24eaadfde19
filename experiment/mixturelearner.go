package experiment

import (
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/propose"
	"github.com/noregret/noregret/experiment/propose/mixture"
	"github.com/noregret/noregret/pasto"
)

// mixtureLearner is the default policy: package mixture's proposal by the sums within rounds of
// package compare. The sums are of the definition's own metrics, so that they outlive a change of
// the goals, the guardrails and the bounds on shares.
//
// Arm 0 of the store is the control; the others follow in the order of the learner's arms.
type mixtureLearner struct {
	problem propose.Problem
	store   *compare.Store
	policy  *mixture.Policy
	options mixture.Options
	control int // the control's index among the learner's arms
	// last is the proposal by what the store has.
	last              *propose.Proposal
	serving, deployed []float64 // by arm of the learner
}

// newMixtureLearner returns the learner of a roster that has observed nothing.
func newMixtureLearner(r *roster) (*mixtureLearner, error) {
	l := &mixtureLearner{control: slices.Index(r.LearnedArms, r.Control)}
	if err := l.pose(r); err != nil {
		return nil, err
	}
	store, err := l.problem.Store()
	if err != nil {
		return nil, err
	}
	l.store = store
	return l, l.propose()
}

// pose makes the problem of the roster's definition and arms. It keeps which arms are retired.
func (l *mixtureLearner) pose(r *roster) error {
	names := make([]string, len(r.LearnedArms))
	for i, k := range r.LearnedArms {
		names[l.at(i)] = r.Arms[k].Name
	}
	q, err := propose.Of(r.def, names)
	if err != nil {
		return err
	}
	p := *q
	l.options = mixture.DefaultOptions()
	if c := r.def.Caution; c != nil {
		l.options.Caution, l.options.Deployed = *c, min(l.options.Deployed, *c)
	}
	for k := range l.problem.Arms {
		p.Arms[k].Retired = l.problem.Arms[k].Retired
	}
	policy, err := mixture.New(&p, l.options)
	if err != nil {
		return err
	}
	l.problem, l.policy = p, policy
	return nil
}

// at returns the index in the store of arm i of the learner.
func (l *mixtureLearner) at(i int) int {
	switch {
	case i == l.control:
		return 0
	case i < l.control:
		return i + 1
	}
	return i
}

// propose asks the policy for the mixtures by what the store has.
func (l *mixtureLearner) propose() error {
	p, err := l.policy.Propose(l.store)
	if err != nil {
		return err
	}
	l.last = p
	l.serving, l.deployed = make([]float64, len(p.Serving)), make([]float64, len(p.Serving))
	for i := range l.serving {
		l.serving[i], l.deployed[i] = p.Serving[l.at(i)], p.Deployed[l.at(i)]
	}
	return nil
}

// Serving implements [learner].
func (l *mixtureLearner) Serving() []float64 { return l.serving }

// Deployed implements [learner].
func (l *mixtureLearner) Deployed() []float64 { return l.deployed }

// Observe implements [learner]. The policy takes versions by its method observe instead.
func (l *mixtureLearner) Observe([]pasto.Observation) error {
	return noregret.Errorf(noregret.Internal, "learner", "the default policy observes sums, not means")
}

// observe adds the sums of a version to the store and proposes anew. The factors are those by which
// returning units raise the variance of each metric, nil for none. What the store refuses, it does
// not know.
func (l *mixtureLearner) observe(r *roster, stats []armStats, factors []float64) error {
	in := &guardInput{roster: r, inflation: factors}
	var round []compare.Sums
	for m := range r.def.Metrics {
		round = round[:0]
		for i, k := range r.LearnedArms {
			if k >= len(stats) || !r.takes(k) {
				continue
			}
			s := compare.Sums{Arm: l.at(i)}
			if j := r.def.RatioIndex(m); j >= 0 {
				q := &stats[k].Pairs[j]
				s.N, s.X, s.XX, s.Y, s.YY, s.XY = float64(q.N), q.X, q.XX, q.Y, q.YY, q.Cross
			} else {
				q := &stats[k].Metrics[m]
				s.N, s.X, s.XX = float64(q.N), q.Mean, q.M2
			}
			if f := in.inflated(m); f != 1 {
				s.XX, s.YY, s.XY = float64(s.XX*f), float64(s.YY*f), float64(s.XY*f)
			}
			if s.N > 0 {
				round = append(round, s)
			}
		}
		if err := l.store.Add(m, round); err != nil {
			return err
		}
	}
	return l.propose()
}

// AddArm implements [learner].
func (l *mixtureLearner) AddArm() (int, error) {
	l.store.AddArm()
	p := l.problem
	p.Arms = append(slices.Clone(p.Arms), propose.Arm{Most: 1})
	return len(p.Arms) - 1, l.change(p)
}

// RetireArm implements [learner].
func (l *mixtureLearner) RetireArm(i int) error {
	if i < 0 || i >= len(l.problem.Arms) || i == l.control {
		return noregret.BadInputf("arm", "%d is unknown, or the control", i)
	}
	p := l.problem
	p.Arms = slices.Clone(p.Arms)
	p.Arms[l.at(i)].Retired = true
	return l.change(p)
}

// change changes the problem and proposes anew.
func (l *mixtureLearner) change(p propose.Problem) error {
	policy, err := mixture.New(&p, l.options)
	if err != nil {
		return err
	}
	l.problem, l.policy = p, policy
	return l.propose()
}

// redefine changes the problem to that of the roster's definition; what was observed stays. Arms
// that are not planned are retired.
func (l *mixtureLearner) redefine(r *roster) error {
	for l.store.Arms() < len(r.LearnedArms) {
		l.store.AddArm()
	}
	if err := l.pose(r); err != nil {
		return err
	}
	for i, k := range r.LearnedArms {
		l.problem.Arms[l.at(i)].Retired = !(stopView{r}).planned(k)
	}
	return l.change(l.problem)
}

// MarshalBinary implements [learner]: a byte for each arm of the store, 1 if it is retired, then
// the store.
func (l *mixtureLearner) MarshalBinary() ([]byte, error) {
	out := make([]byte, len(l.problem.Arms))
	for k := range out {
		if l.problem.Arms[k].Retired {
			out[k] = 1
		}
	}
	store, err := l.store.MarshalBinary()
	return append(out, store...), err
}

// UnmarshalBinary implements [learner].
func (l *mixtureLearner) UnmarshalBinary(b []byte) error {
	n := len(l.problem.Arms)
	if len(b) < n {
		return noregret.BadInputf("learner", "%d bytes: want one for each of the %d arms, and a store", len(b), n)
	}
	p := l.problem
	p.Arms = slices.Clone(p.Arms)
	for k := range p.Arms {
		if b[k] > 1 {
			return noregret.BadInputf("learner", "byte %d is %d: want 0 or 1", k, b[k])
		}
		p.Arms[k].Retired = b[k] == 1
	}
	store := new(compare.Store)
	if err := store.UnmarshalBinary(b[n:]); err != nil {
		return err
	}
	if err := p.Check(store); err != nil {
		return err
	}
	l.store = store
	return l.change(p)
}
