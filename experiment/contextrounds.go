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
	if c := x.joiner.Version(t.Version); c != nil {
		if row := c.Find(t.Unit); row >= 0 && c.Context(row, v) {
			return v, nil
		}
	}
	return nil, noregret.Errorf(noregret.NotFound, "context",
		"the context of this decision is not kept, as the window "+
			"of version %d has closed or the exposure was not reported: want the context", t.Version)
}
