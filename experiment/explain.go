package experiment

import (
	"encoding/json"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/policy"
)

// PolicyAt returns the policy of an earlier version. The last 64 to 2048 versions are kept,
// depending on the number of arms, except those whose stream of links began before; versions from
// before an experiment of the same name was deleted are not.
func (s *State) PolicyAt(name string, n uint64) (*policy.Policy, error) {
	x := s.live[name]
	if x == nil {
		return nil, s.Deleted.NotThere(name)
	}
	if n == x.rounds.Version {
		return x.rounds.policy, nil
	}
	v := x.rounds.versionOf(n)
	if v == nil || v.Forgotten || v.State != policy.RolledBack && v.First < x.rounds.Versions[0].Version {
		return nil, notKept(name, n, x)
	}
	return x.rounds.policyOf(&x.roster, v)
}

func notKept(name string, n uint64, x *experimentState) error {
	first := x.rounds.Versions[0]
	if first.State != policy.RolledBack && first.First < first.Version { // its stream began before
		if i := slices.IndexFunc(x.rounds.Versions, func(v *version) bool {
			return v.State == policy.RolledBack || v.First == v.Version
		}); i >= 0 {
			first = x.rounds.Versions[i]
		}
	}
	e := noregret.BadInputf("version", "version %d of %q cannot be explained: only versions %d to %d of the current "+
		"experiment can; noregret log replay repeats older decisions, as far back as the log reaches", n, name,
		first.Version, x.rounds.Version)
	e.Code = noregret.NotFound
	return e
}

// Explain explains the decision of a verified token. The context of a contextual decision is that
// of the unit's exposure, which is kept until the window of its version has closed.
func (s *State) Explain(t policy.Token) (*api.Explanation, error) { return s.ExplainIn(t, nil) }

// ExplainIn is [State.Explain] with the context of a contextual decision; nil for that of the
// unit's exposure. If that was in a file and cannot be read back, the error wraps a
// [pages.ReadError].
func (s *State) ExplainIn(t policy.Token, context json.RawMessage) (out *api.Explanation, err error) {
	defer catchLost(&err)
	p, err := s.PolicyAt(t.Experiment, t.Version)
	if err != nil {
		return nil, err
	}
	x := s.live[t.Experiment]
	v := x.rounds.versionOf(t.Version)
	d := p.Explain(t)
	if p.Linear != nil && !d.HeldBack {
		vector, err := contextRounds{x}.vectorOf(t, p.Linear.Encoder(), context)
		if err != nil {
			return nil, err
		}
		if d, err = p.ExplainIn(t, vector); err != nil {
			return nil, err
		}
	} else if len(context) > 0 && p.Linear == nil {
		return nil, noregret.BadInputf("context", "version %d does not look at it: want none", t.Version)
	}
	e := &api.Explanation{Derivation: *d}
	e.Policy = api.PolicyFacts{
		Made: stamp(v.Time), Cause: v.Cause, Units: map[string]uint64{},
		Known: map[string]map[string]api.KnownMetric{},
	}
	if v.Shown != nil {
		e.Policy.Value = v.Shown.Value
	}
	m := len(x.roster.def.Metrics)
	for k := range v.Units {
		name := x.roster.Arms[k].Name
		e.Policy.Units[name], e.Policy.Known[name] = v.Units[k], map[string]api.KnownMetric{}
		for i := range m {
			q := api.KnownMetric{N: v.N[k*m+i]}
			if q.N > 0 {
				q.Mean = known(v.Mean[k*m+i])
			}
			e.Policy.Known[name][x.roster.def.Metrics[i].Name] = q
		}
	}
	return e, nil
}
