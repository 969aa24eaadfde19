package experiment

import "github.com/noregret/noregret/policy"

// linearNumbers bounds the numbers of the contextual policies that are kept of earlier versions, of
// 8 bytes each. Tests lower it.
var linearNumbers = 1 << 20

// renewContextual begins a version with what a contextual policy has learned.
func (x *experimentState) renewContextual(now int64, cause string, l *contextLearner) error {
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

// carriedLinear returns the contextual policy of the running version for the arms of now, nil if
// there is none. An arm that came since has no share.
func (x *experimentState) carriedLinear() (*policy.Linear, error) {
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
	if l, ok := x.learning.learner.(*contextLearner); ok && !live { // all arms with a model are stopped
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
