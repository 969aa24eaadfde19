package experiment

import (
	"slices"
	"sync"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/propose"
	"github.com/noregret/noregret/experiment/propose/mixture"
	"github.com/noregret/noregret/pasto"
)

// mixtureLearner is the default policy: package mixture's proposal by the store of the fold, whose
// sums are of the definition's own metrics, so that they outlive a change of the goals, the
// guardrails, the memory and the bounds on shares.
//
// Arm 0 of the store is the control, or without one the first arm; the others follow in the order
// of the learner's arms. It is safe for concurrent readers.
type mixtureLearner struct {
	problem propose.Problem
	store   *compare.Store
	policy  *mixture.Policy
	options mixture.Options
	first   int // the index of the store's arm 0 among the learner's arms
	// last is the proposal by what the store has, nil before it is asked for.
	mutex sync.Mutex
	last  *propose.Proposal
	tried bool // last is up to date
}

// newMixtureLearner returns the learner of a roster that proposes by a store.
func newMixtureLearner(r *roster, store *compare.Store) (*mixtureLearner, error) {
	l := &mixtureLearner{store: store, first: max(slices.Index(r.LearnedArms, r.Control), 0)}
	p, o, err := l.pose(r)
	if err != nil {
		return nil, err
	}
	if err := l.change(p, o); err != nil {
		return nil, err
	}
	return l, nil
}

// pose returns the problem of the roster's definition and arms, in which those arms are retired
// that are now, and the options of its policy.
func (l *mixtureLearner) pose(r *roster) (p propose.Problem, o mixture.Options, err error) {
	names := make([]string, len(r.LearnedArms))
	for i, k := range r.LearnedArms {
		names[l.at(i)] = r.Arms[k].Name
	}
	q, err := propose.Of(r.def, names)
	if err != nil {
		return p, o, err
	}
	p, o = *q, mixture.OptionsOf(r.def)
	for k := range l.problem.Arms {
		p.Arms[k].Retired = l.problem.Arms[k].Retired
	}
	return p, o, nil
}

// at returns the index in the store of arm i of the learner.
func (l *mixtureLearner) at(i int) int {
	switch {
	case i == l.first:
		return 0
	case i < l.first:
		return i + 1
	}
	return i
}

// proposal returns what the policy proposes by what the store has, nil if it fails. It asks the
// policy once after each change.
func (l *mixtureLearner) proposal() *propose.Proposal {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if !l.tried {
		l.tried = true
		if p, err := l.policy.Propose(l.store); err == nil {
			l.last = p
		}
	}
	return l.last
}

// changed says that there is something new to propose by. What was proposed stays where the policy
// fails.
func (l *mixtureLearner) changed() { l.tried = false }

// shares returns shares of the proposal by arm of the learner.
func (l *mixtureLearner) shares(of func(*propose.Proposal) []float64) []float64 {
	out := make([]float64, len(l.problem.Arms))
	if p := l.proposal(); p != nil {
		for i := range out {
			if k := l.at(i); k < len(of(p)) {
				out[i] = of(p)[k]
			}
		}
	}
	return out
}

// Serving implements [mixer].
func (l *mixtureLearner) Serving() []float64 {
	return l.shares(func(p *propose.Proposal) []float64 { return p.Serving })
}

// Deployed implements [mixer].
func (l *mixtureLearner) Deployed() []float64 {
	return l.shares(func(p *propose.Proposal) []float64 { return p.Deployed })
}

// Observe implements [learner]. The policy reads the store of the fold instead.
func (l *mixtureLearner) Observe([]pasto.Observation) error {
	return noregret.Errorf(noregret.Internal, "learner", "the default policy reads sums, not means")
}

// AddArm implements [learner].
func (l *mixtureLearner) AddArm() (int, error) {
	p := l.problem
	p.Arms = append(slices.Clone(p.Arms), propose.Arm{Most: 1})
	return len(p.Arms) - 1, l.change(p, l.options)
}

// RetireArm implements [learner].
func (l *mixtureLearner) RetireArm(i int) error {
	if i < 0 || i >= len(l.problem.Arms) || i == l.first && !l.problem.NoControl {
		return noregret.BadInputf("arm", "%d is unknown, or the control", i)
	}
	p := l.problem
	p.Arms = slices.Clone(p.Arms)
	p.Arms[l.at(i)].Retired = true
	return l.change(p, l.options)
}

// change changes the problem and the options. An error leaves the learner as it was.
func (l *mixtureLearner) change(p propose.Problem, o mixture.Options) error {
	policy, err := mixture.New(&p, o)
	if err != nil {
		return err
	}
	l.problem, l.policy, l.options = p, policy, o
	l.changed()
	return nil
}

// redefine changes the problem to that of the roster's definition and arms; what was observed
// stays. Arms that are not planned are retired.
func (l *mixtureLearner) redefine(r *roster) error {
	p, o, err := l.pose(r)
	if err != nil {
		return err
	}
	for i, k := range r.LearnedArms {
		p.Arms[l.at(i)].Retired = !(stopView{r}).planned(k)
	}
	return l.change(p, o)
}

// MarshalBinary implements [learner]: a byte for each arm of the store, 1 if it is retired.
func (l *mixtureLearner) MarshalBinary() ([]byte, error) {
	out := make([]byte, len(l.problem.Arms))
	for k := range out {
		if l.problem.Arms[k].Retired {
			out[k] = 1
		}
	}
	return out, nil
}

// UnmarshalBinary implements [learner].
func (l *mixtureLearner) UnmarshalBinary(b []byte) error {
	n := len(l.problem.Arms)
	if len(b) != n {
		return noregret.BadInputf("learner", "%d bytes: want one for each of the %d arms", len(b), n)
	}
	p := l.problem
	p.Arms = slices.Clone(p.Arms)
	for k := range p.Arms {
		if b[k] > 1 {
			return noregret.BadInputf("learner", "byte %d is %d: want 0 or 1", k, b[k])
		}
		p.Arms[k].Retired = b[k] == 1
	}
	if err := p.Check(l.store); err != nil {
		return err
	}
	return l.change(p, l.options)
}
