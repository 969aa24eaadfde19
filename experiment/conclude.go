package experiment

import (
	"maps"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/guard"
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/experiment/report"
	"github.com/noregret/noregret/policy"
)

// errConcluded refuses changes of an experiment that is over.
var errConcluded = noregret.BadInputf("state", "the experiment is concluded: it can only be deleted")

// frozen reports whether nothing is learned and no round ends.
func (x *experimentState) frozen() bool {
	return x.Status == policy.Paused || x.Status == policy.Concluded
}

// ending has the methods of an experiment that end it.
type ending struct{ *experimentState }

// conclude ends the experiment with a mixture that is served from now on, and records the evidence.
func (x ending) conclude(e *ConcludeEvent, now int64) error {
	if err := x.checkCapacity(); err != nil {
		return err
	}
	s, err := x.serving("concluded", func(p *proposer, s *Serving) error { return p.final(s, e.Mixture) })
	if err != nil {
		return err
	}
	p, source := s.Shares.Shares(), "deployed"
	if e.Mixture != nil {
		source = "named"
	}
	c := &api.Conclusion{
		Time: stamp(now), Reason: e.Reason, Source: source, Mixture: map[string]float64{},
		Arms: map[string]api.ArmReport{}, Guardrails: []api.GuardrailReport{}, Units: x.joiner.Units(),
	}
	for k := range x.roster.Arms {
		if p[k] > 0 {
			c.Mixture[x.roster.Arms[k].Name] = p[k]
		}
		c.Arms[x.roster.Arms[k].Name] = x.roster.namedArm(k, x.joiner)
	}
	in := x.guardEvidence(false)
	for i := range x.guards.Guards {
		g := x.guards.Report(in, i, p)
		if g.Since = stamp(now); x.Private == nil {
			b := x.guards.Slack(in, i, p)
			g.State = b.State()
		}
		c.Guardrails = append(c.Guardrails, g)
	}
	c.Value = x.facts().Values().Of(p)
	x.Status, x.Wanted = policy.Concluded, nil
	x.note(now, "%s", withReason("concluded with the mixture "+source, e.Reason))
	err = x.follow(now, s)
	c.Version, x.Conclusion = x.rounds.Version, c
	return err
}

// hasLearned reports whether there is anything that the policy learns from.
func (x *experimentState) hasLearned() bool {
	return x.roster.def.Policy.Kind == "fixed" || slices.ContainsFunc(x.roster.Arms, func(a armState) bool {
		return a.Observed
	})
}

// namedMixture checks a mixture given by name.
func (x ending) namedMixture(named map[string]float64) ([]float64, error) {
	p, total := make([]float64, len(x.roster.Arms)), 0.0
	for _, name := range slices.Sorted(maps.Keys(named)) {
		v, place := named[name], "mixture."+name
		k := slices.IndexFunc(x.roster.Arms, func(a armState) bool { return a.Name == name })
		switch {
		case k < 0 || !x.roster.Arms[k].Active:
			return nil, noregret.BadInputf(place, "%q is not an active arm", name)
		case !(v >= 0 && v <= 1):
			return nil, noregret.BadInputf(place, "%v: want a share in [0, 1]", v)
		case v > 0 && x.roster.Arms[k].Stop == guard.Vetoed:
			return nil, noregret.BadInputf(place, "%q is vetoed: lift the veto first", name)
		}
		p[k] = v
		total += v
	}
	if math.Abs(total-1) > 1e-9 {
		return nil, noregret.BadInputf("mixture", "the shares sum to %v: want 1", total)
	}
	return p, nil
}

// namedArm returns the report of an arm with its name and value.
func (x *roster) namedArm(k int, joined *join.Joiner) api.ArmReport {
	a := report.Means(x.def, &joined.Arms[k], joined.Returns.Factors())
	a.Place, a.Active, a.Control, a.Value = k, x.Arms[k].Active, k == x.Control, x.Arms[k].Value
	if x.Arms[k].Active {
		a.Stopped = x.Arms[k].Why
	}
	return a
}
