package experiment

import (
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/guard"
	"github.com/noregret/noregret/policy"
)

// rampWaits returns a text for each condition that the stage of the ramp still waits for. Learned
// is the mixture that the ramp leads to.
func (x *experimentState) rampWaits(now int64, learned func() []float64) []string {
	return x.Ramp.Waits(&x.guards.States, x.guardEvidence(false), now, x.joiner.Units(), learned)
}

// nextStage returns the stage of the ramp that the next round begins with: the next one if its
// gates are open.
func (p *proposer) nextStage(now int64) int {
	if p.Ramp.Over(p.roster.def) || p.Status != policy.Running || len(p.rampWaits(now, p.learnedMixture)) > 0 {
		return p.Ramp.Stage
	}
	return p.Ramp.Stage + 1
}

// undiluted returns the mixture of the running version without what the ramp gives to the control
// arm.
func (x *experimentState) undiluted() []float64 {
	p, share := x.rounds.served(len(x.roster.Arms)).Shares(), guard.Share(x.roster.def, x.Ramp.Stage)
	if !(share > 0) {
		return p
	}
	rest := 1.0
	for k := range p {
		if k != x.roster.Control {
			p[k] /= share
			rest -= p[k]
		}
	}
	p[x.roster.Control] = max(rest, 0)
	return p
}

// rampReport returns the report of the ramp, nil without one and when it is over.
func (x *experimentState) rampReport(now int64) *api.RampReport {
	d := x.roster.def
	if x.Ramp.Over(d) || x.Status == policy.Concluded {
		return nil
	}
	return &api.RampReport{
		Stage: x.Ramp.Stage + 1, Stages: len(d.Ramp), Share: guard.Share(d, x.Ramp.Stage),
		Since: stamp(x.Ramp.Since), Waits: append([]string{}, x.rampWaits(now, x.undiluted)...),
	}
}

// outside returns the share of units that get the control arm regardless of the mixture, in
// 2^-64ths: those held back and, until the experiment is concluded, those that do not take part.
func (x *experimentState) outside() uint64 {
	out := x.roster.def.HoldBack
	if x.Status != policy.Concluded {
		out += float64((1 - out) * (1 - x.roster.def.Traffic))
	}
	return policy.Fraction(out)
}
