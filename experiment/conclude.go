package experiment

import (
	"maps"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
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
	p, source, err := x.finalMixture(e.Mixture)
	if err != nil {
		return err
	}
	split, err := policy.NewSplit(p)
	if err != nil {
		return err
	}
	p = split.Shares()
	c := &api.Conclusion{
		Time: stamp(now), Reason: e.Reason, Source: source, Mixture: map[string]float64{},
		Arms: map[string]api.ArmReport{}, Guardrails: []api.GuardrailReport{}, Units: x.roster.units(),
	}
	for k := range x.roster.Arms {
		if p[k] > 0 {
			c.Mixture[x.roster.Arms[k].Name] = p[k]
		}
		c.Arms[x.roster.Arms[k].Name] = x.roster.namedArm(k, x.guards.Returns.factor)
	}
	in := x.guardInput(false)
	for i := range x.guards.Guards {
		g := x.guards.report(in, p, i)
		if g.Since = stamp(now); x.Private == nil {
			b := x.guards.slack(in, i, p, nil)
			g.State = b.classify()
		}
		c.Guardrails = append(c.Guardrails, g)
	}
	if v, ok := valuer(x).recordedValue(p); ok {
		c.Value = &v
	}
	if x.Joint != nil {
		x.Joint.Concluded = valuer(x).known(p)
	}
	x.Status = policy.Concluded
	for i := range x.guards.Guards {
		x.guards.Guards[i].Shrinking = false
	}
	x.note(now, "%s", withReason("concluded with the mixture "+source, e.Reason))
	linear, err := x.finalLinear(source)
	if err == nil {
		err = x.renewLinear(now, "concluded", split, linear)
	}
	c.Version, x.Conclusion = x.rounds.Version, c
	return err
}

// finalLinear returns the contextual policy to conclude with: the best arm for each context, or nil
// if the mixture was named or the policy is not contextual.
func (x ending) finalLinear(source string) (*policy.Linear, error) {
	l, ok := x.learning.learner.(*contextLearner)
	if !ok || source == "named" {
		return nil, nil
	}
	linear, err := l.seal(&x.roster)
	if err != nil {
		return nil, err
	}
	linear = certain(linear)
	return linear, linear.Prepare(len(linear.Arms))
}

// finalMixture returns the mixture to conclude with, by arm: the named one, or the one that the
// policy would deploy, within the bounds on shares and without stopped arms.
func (x ending) finalMixture(named map[string]float64) (p []float64, source string, err error) {
	if named != nil {
		p, err = x.namedMixture(named)
		return p, "named", err
	}
	switch {
	case x.Status == policy.RolledBack:
		return nil, "", noregret.BadInputf("mixture",
			"the experiment is rolled back: name the mixture to conclude with")
	case !x.learned():
		return nil, "", noregret.BadInputf("mixture",
			"nothing has been learned yet: name the mixture to conclude with")
	}
	if l, ok := x.learning.learner.(*contextLearner); ok {
		if _, err := l.seal(&x.roster); err != nil {
			return nil, "", err
		}
	}
	return x.deployed(&x.guards, x.guardInput(true)), "deployed", nil
}

// learned reports whether the policy has observed anything that it learns from.
func (x ending) learned() bool {
	return x.roster.def.Policy.Kind == "fixed" || slices.ContainsFunc(x.roster.Arms, func(a armState) bool {
		return a.Observed
	})
}

// deployed returns the mixture that the policy would deploy, by arm, within the bounds on shares
// and without stopped arms. It may change which guardrails shrink the mixture.
func (x ending) deployed(of *guards, in *guardInput) []float64 {
	p := make([]float64, len(x.roster.Arms))
	for i, v := range x.learning.learner.Deployed() {
		if k := x.roster.LearnedArms[i]; x.roster.Arms[k].Active {
			p[k] = v
		}
	}
	stopView{&x.roster}.limit(p)
	of.shrink(in, p)
	normalize(p)
	return p
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
		case v > 0 && x.roster.Arms[k].Stop == vetoed:
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
func (x *roster) namedArm(k int, factors []float64) api.ArmReport {
	a := x.armReport(&x.Arms[k].Stats, factors)
	a.Place, a.Active, a.Control, a.Value = k, x.Arms[k].Active, k == x.Control, x.Arms[k].Value
	if x.Arms[k].Active {
		a.Stopped = x.Arms[k].Why
	}
	return a
}
