package experiment

import (
	"slices"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/policy"
)

// rampState is the progress of the ramp.
type rampState struct {
	Stage int   `json:"stage"` // index of the definition's stages; their number when the ramp is over
	Since int64 `json:"since"` // when the stage began
	Units int64 `json:"units"` // units of all arms when the stage began
}

// rampShare returns the share of the traffic that the learned mixture gets in a stage.
func rampShare(d *definition.Definition, stage int) float64 {
	if stage < len(d.Ramp) {
		return d.Ramp[stage].Share
	}
	return 1
}

// dilute leaves a share of the traffic to the mixture and gives the rest to the control arm.
func dilute(p []float64, share float64, control int) {
	if share == 1 {
		return
	}
	for k := range p {
		p[k] = float64(share * p[k])
	}
	p[control] += 1 - share
}

// enter begins a stage.
func (x *rampState) enter(stage int, now, units int64) { *x = rampState{stage, now, units} }

// ramp has the methods of an experiment that concern its ramp.
type ramp struct{ *experimentState }

// waits returns a text for each condition that the stage still waits for, none if the next stage
// may begin. Learned is the mixture that the ramp leads to.
func (x ramp) waits(now int64, learned func() []float64) (texts []string) {
	s := &x.roster.def.Ramp[x.Ramp.Stage]
	if n := x.roster.units() - x.Ramp.Units; n < s.Units {
		texts = append(texts, "units: "+itoa(int(n))+" of "+itoa(int(s.Units)))
	}
	if t := now - x.Ramp.Since; t < int64(s.Time) {
		texts = append(texts, "time: "+time.Duration(t).Round(time.Second).String()+" of "+
			time.Duration(s.Time).String())
	}
	if s.Guardrails == "held" {
		p := learned()
		dilute(p, rampShare(x.roster.def, x.Ramp.Stage+1), x.roster.Control)
		in := x.guardInput(false)
		for i := range x.roster.def.Guardrails {
			if !x.guards.shown(in, i, p) {
				texts = append(texts, "guardrail "+x.roster.def.Guardrails[i].Metric+": the mixture of the next "+
					"stage is not shown to hold it")
			}
		}
	}
	return texts
}

// shown reports whether a mixture is shown to hold guardrail i. Arms without any bound are left out
// if they have no more than [shrinkAllowance] together: those of few units would keep a ramp from
// the units by which they would get a bound.
func (x *guards) shown(in *guardInput, i int, p []float64) bool {
	b := x.slack(in, i, p, nil)
	if b.low >= 0 {
		return true
	}
	rest, aside := slices.Clone(p), 0.0
	for _, k := range b.open {
		aside += rest[k]
		rest[k] = 0
	}
	if !(aside > 0 && aside <= shrinkAllowance) {
		return false
	}
	for k := range rest {
		rest[k] /= 1 - aside
	}
	return x.slack(in, i, rest, nil).low >= 0
}

// nextStage returns the stage of the ramp that the next round begins with: the next one if its
// gates are open.
func (p *proposer) nextStage(now int64) int {
	x := ramp{p.experimentState}
	if x.Ramp.Stage >= len(x.roster.def.Ramp) || x.Status != policy.Running ||
		len(x.waits(now, p.learnedMixture)) > 0 {
		return x.Ramp.Stage
	}
	return x.Ramp.Stage + 1
}

// enter begins a stage, if it is another one.
func (x ramp) enter(stage int, now int64) {
	if stage == x.Ramp.Stage {
		return
	}
	x.Ramp.enter(stage, now, x.roster.units())
	if x.Ramp.Stage < len(x.roster.def.Ramp) {
		x.note(now, "ramp: stage %d of %d, %v of the traffic", x.Ramp.Stage+1, len(x.roster.def.Ramp),
			rampShare(x.roster.def, x.Ramp.Stage))
	} else {
		x.note(now, "ramp: over, the learned mixture gets all of the traffic")
	}
}

// undiluted returns the mixture of the running version without what the ramp gives to the control
// arm.
func (x ramp) undiluted() []float64 {
	p, share := x.rounds.served(len(x.roster.Arms)).Shares(), rampShare(x.roster.def, x.Ramp.Stage)
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

// change continues with the ramp of a new definition, in its first stage whose share is at least
// the current one.
func (x ramp) change(before *definition.Definition, now int64) {
	if sameJSON(before.Ramp, x.roster.def.Ramp) {
		return
	}
	share, stage := rampShare(before, x.Ramp.Stage), 0
	for stage < len(x.roster.def.Ramp) && x.roster.def.Ramp[stage].Share < share {
		stage++
	}
	x.Ramp.enter(stage, now, x.roster.units())
}

// report returns the report of the ramp, nil without one and when it is over.
func (x ramp) report(now int64) *api.RampReport {
	if x.Ramp.Stage >= len(x.roster.def.Ramp) || x.Status == policy.Concluded {
		return nil
	}
	return &api.RampReport{
		Stage: x.Ramp.Stage + 1, Stages: len(x.roster.def.Ramp), Share: rampShare(x.roster.def, x.Ramp.Stage),
		Since: stamp(x.Ramp.Since), Waits: append([]string{}, x.waits(now, x.undiluted)...),
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
