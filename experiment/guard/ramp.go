package guard

import (
	"fmt"
	"time"

	"github.com/noregret/noregret/experiment/definition"
)

// Ramp is the progress of a definition's ramp.
type Ramp struct {
	// Stage is the index of the definition's stages, their number when the ramp is over.
	Stage int `json:"stage"`
	// Since is when the stage began, in nanoseconds since 1970, and Units the units of all arms
	// then.
	Since int64 `json:"since"`
	Units int64 `json:"units"`
}

// Share returns the share of the traffic that the learned mixture gets in a stage.
func Share(d *definition.Definition, stage int) float64 {
	if stage < len(d.Ramp) {
		return d.Ramp[stage].Share
	}
	return 1
}

// Dilute leaves a share of the traffic to the mixture and gives the rest to the control arm.
func Dilute(p []float64, share float64, control int) {
	if share == 1 {
		return
	}
	for k := range p {
		p[k] = float64(share * p[k])
	}
	p[control] += 1 - share
}

// Over reports whether the last stage of the ramp is over, or there is none.
func (x *Ramp) Over(d *definition.Definition) bool { return x.Stage >= len(d.Ramp) }

// Enter begins a stage.
func (x *Ramp) Enter(stage int, now, units int64) { *x = Ramp{stage, now, units} }

// Follow continues with the ramp of another definition, in its first stage whose share is at least
// the current one.
func (x *Ramp) Follow(before, d *definition.Definition, now, units int64) {
	share, stage := Share(before, x.Stage), 0
	for stage < len(d.Ramp) && d.Ramp[stage].Share < share {
		stage++
	}
	x.Enter(stage, now, units)
}

// Describe says what is served in the stage.
func (x *Ramp) Describe(d *definition.Definition) string {
	if x.Over(d) {
		return "ramp: over, the learned mixture gets all of the traffic"
	}
	return fmt.Sprintf("ramp: stage %d of %d, %v of the traffic", x.Stage+1, len(d.Ramp), Share(d, x.Stage))
}

// Waits returns a text for each condition that the stage still waits for, none if the next stage
// may begin. The units are those of all arms. Learned returns the mixture that the ramp leads to;
// it is asked only where the mixture of the next stage must be shown to hold the guardrails.
func (x *Ramp) Waits(s *States, e *Evidence, now, units int64, learned func() []float64) (texts []string) {
	d := e.Definition
	stage := &d.Ramp[x.Stage]
	if n := units - x.Units; n < stage.Units {
		texts = append(texts, fmt.Sprintf("units: %d of %d", n, stage.Units))
	}
	if t := now - x.Since; t < int64(stage.Time) {
		texts = append(texts, "time: "+time.Duration(t).Round(time.Second).String()+" of "+
			time.Duration(stage.Time).String())
	}
	if stage.Guardrails == "held" {
		p := learned()
		Dilute(p, Share(d, x.Stage+1), e.Control)
		for i := range d.Guardrails {
			if !s.Shown(e, i, p) {
				texts = append(texts, "guardrail "+d.Guardrails[i].Metric+": the mixture of the next stage is not "+
					"shown to hold it")
			}
		}
	}
	return texts
}
