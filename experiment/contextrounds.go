package experiment

import (
	"encoding/json"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/policy"
)

// linearNumbers bounds the numbers of the contextual policies that are kept of earlier versions, of
// 8 bytes each. Tests lower it.
var linearNumbers = 1 << 20

// contextRounds has the methods of an experiment that keep its contextual policy.
type contextRounds struct{ *experimentState }

// renew begins a version with what a contextual policy has learned.
func (x contextRounds) renew(now int64, cause string, l *contextLearner) error {
	linear, err := l.seal(&x.roster)
	if err != nil {
		return err
	}
	p := append([]float64(nil), l.Serving()...)
	split, err := policy.NewSplit(p)
	if err != nil {
		return err
	}
	return x.renewLinear(now, cause, split, linear)
}

// carried returns the contextual policy of the running version for the arms of now, nil if
// there is none. An arm that came since has no share.
func (x contextRounds) carried() (*policy.Linear, error) {
	n := len(x.rounds.Versions)
	if n == 0 || x.Status == policy.RolledBack {
		return nil, nil
	}
	was := x.rounds.Versions[n-1].Linear
	if was == nil {
		return nil, nil
	}
	next, same, live := relinear(was, &x.roster), len(was.Arms) == len(x.roster.Arms), false
	for k := range next.Arms {
		same = same && next.Arms[k].Retired == was.Arms[k].Retired
		live = live || !next.Arms[k].Retired
	}
	if l, ok := x.learning.learner.(*contextLearner); ok && !live { // no arm with a model is left
		return l.seal(&x.roster)
	}
	if same {
		return was, nil
	}
	return next, next.Prepare(len(next.Arms))
}

// forgetLinear drops the contextual policies of old versions if all together are too large. That of
// the running version stays.
func (x *rounds) forgetLinear() {
	total := 0
	for i := len(x.Versions) - 1; i >= 0; i-- {
		v := x.Versions[i]
		if v.Linear == nil {
			continue
		}
		for k := range v.Linear.Arms {
			total += len(v.Linear.Arms[k].Mean) + len(v.Linear.Arms[k].Factor)
		}
		if total > linearNumbers && i < len(x.Versions)-1 {
			v.Linear, v.Forgotten = nil, true
		}
	}
}

// remaining returns the served mixture without retired arms.
func (x contextRounds) remaining() []float64 {
	p, left, active := x.rounds.served(len(x.roster.Arms)).Shares(), 0.0, 0.0
	for k := range p {
		if !x.roster.Arms[k].Active {
			p[k] = 0
			continue
		}
		left += p[k]
		active++
	}
	for k := range p {
		if x.roster.Arms[k].Active && !(left > 0) {
			p[k] = 1 / active
		}
	}
	return p
}

// vectorOf returns the vector of a decision's context: the given one, or that of the unit's
// exposure.
func (x contextRounds) vectorOf(t policy.Token, e *policy.Encoder, context json.RawMessage) ([]float64, error) {
	if len(context) > 0 {
		return e.Encode(nil, context)
	}
	v := make([]float64, e.Dim())
	if c := x.joiner.cohortOf(t.Version); c != nil {
		if row := c.find(t.Unit); row >= 0 && c.contexts.get(row, v) {
			return v, nil
		}
	}
	return nil, noregret.Errorf(noregret.NotFound, "context",
		"the context of this decision is not kept, as the window "+
			"of version %d has closed or the exposure was not reported: want the context", t.Version)
}
