package experiment

import (
	"slices"

	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/policy"
)

// renewChanged begins a version after a change of the definition or of the arms. A paused
// experiment continues to serve its mixture, except for what the change requires.
func (x *experimentState) renewChanged(now int64, cause string, before *definition.Definition, added int,
	retired []int,
) error {
	switch {
	case x.Status != policy.Paused:
		return x.renew(now, cause)
	case x.roster.def.Contextual():
		return x.renewPaused(now, cause, contextRounds{x}.remaining())
	case x.roster.def.Policy.Kind == "fixed":
		if len(retired) > 0 || !sameJSON(before.Policy, x.roster.def.Policy) {
			return x.renew(now, cause) // a fixed split follows the definition
		}
	case added > 0 || len(retired) > 0 || before.ExplorationFloor != x.roster.def.ExplorationFloor ||
		before.ControlShare() != x.roster.def.ControlShare():
		return x.renewPaused(now, cause, x.carried(before, retired))
	}
	return x.renewWith(now, cause, x.rounds.served(len(x.roster.Arms)))
}

// renewPaused is renew for a mixture of a paused experiment, shrunk if guardrails require it.
func (x *experimentState) renewPaused(now int64, cause string, mixture []float64) error {
	return x.begin(now, cause, func(p *proposer, s *Serving) error { return p.paused(s, mixture) })
}

// carried returns the served mixture with a new share of the control arm, a new exploration floor,
// and without retired arms. The served mixture is (1−c)·((1−f)·v + f·u) plus the control arm's
// share c, with v learned and u uniform, possibly shrunk by a factor. carried replaces c, f and u
// and redistributes the shares in v of retired arms proportionally. A new arm has no share in v
// before the experiment is resumed.
func (x *experimentState) carried(before *definition.Definition, retired []int) []float64 {
	p := x.rounds.served(len(x.roster.Arms)).Shares()
	if x.roster.def.LearnsControl() {
		x.keepControl(p, retired)
		return p
	}
	control, shared := x.roster.Control, x.roster.Control >= 0 && x.roster.learns(x.roster.Control)
	if shared { // the control arm has its share beside what it is given as an arm
		p[control] = max(p[control]-before.ControlShare(), 0)
	}
	mass, had, has := 0.0, 0, 0
	for _, k := range x.roster.LearnedArms {
		mass += p[k]
		if p[k] > 0 {
			had++
		}
		if x.roster.Arms[k].Active {
			has++
		}
	}
	if !(mass > 0) {
		return p // all units get the control arm
	}
	f, next, learned := before.ExplorationFloor, x.roster.def.ExplorationFloor, 0.0
	v := make([]float64, len(p))
	for _, k := range x.roster.LearnedArms {
		if p[k] > 0 && f < 1 && !slices.Contains(retired, k) {
			v[k] = max(p[k]/mass-f/float64(had), 0)
			learned += v[k]
		}
	}
	mass *= (1 - x.roster.def.ControlShare()) / (1 - before.ControlShare())
	rest := 1.0
	for _, k := range x.roster.LearnedArms {
		even := 0.0
		if x.roster.Arms[k].Active {
			even = 1 / float64(has)
		}
		if learned > 0 {
			v[k] /= learned
		} else {
			v[k] = even
		}
		p[k] = float64(mass * (float64((1-next)*v[k]) + float64(next*even)))
		rest -= p[k]
	}
	switch {
	case shared:
		p[control] += max(rest, 0)
	case control >= 0:
		p[control] = max(rest, 0)
	}
	return p
}

// keepControl gives the control arm the shares of retired arms, and its least share: what is moved
// to it breaks no guardrail that the mixture and the control hold.
func (x *experimentState) keepControl(p []float64, retired []int) {
	rest := 0.0
	for k := range p {
		if slices.Contains(retired, k) {
			p[k] = 0
		} else if k != x.roster.Control {
			rest += p[k]
		}
	}
	scale := 1.0
	if most := 1 - x.roster.def.Control.Share; rest > most {
		scale = most / rest
	}
	left := 1.0
	for k := range p {
		if k != x.roster.Control {
			p[k] = float64(scale * p[k])
			left -= p[k]
		}
	}
	p[x.roster.Control] = max(left, 0)
}
