package propose

import "github.com/noregret/noregret/experiment/compare"

// Policy proposes shares.
type Policy interface {
	// Propose returns a proposal for the next round by what the store has. It does not change the
	// store, and its result depends on nothing but the policy's problem and the store.
	Propose(s *compare.Store) (*Proposal, error)
}

// Proposal is what a policy proposes.
type Proposal struct {
	// Serving are the shares by arm for the next round, and Deployed those that would be deployed
	// if the experiment ended now. They are at least 0 and sum to 1.
	Serving, Deployed []float64
	// Exploration is the share ε of Serving that is there to learn, before the step towards the
	// control.
	Exploration float64
	// Step is the part of the way that what was to be served is moved towards the control, in [0,
	// 1], and StepBy is the guardrail that asked for it, −1 for none.
	Step   float64
	StepBy int
	// Guardrails say where each guardrail stands; those of soft ones have estimates only.
	Guardrails []State
	// Changed lists the contrasts whose memory is not all rounds: what the metric was in the arm
	// before does not agree with what it is now.
	Changed []Change
	// Unknown lists the arms about which nothing is known yet in some metric that counts.
	Unknown []int
}

// State is where a guardrail stands in what is served. Slacks are in the metric's units, those of
// ratios in units of the ratio; they are negative where the limit is broken.
type State struct {
	// Known reports whether the control's level is known; the rest is 0 otherwise.
	Known bool
	// Control is the estimated slack of the control.
	Control float64
	// Slack is the estimate for the mixture that is served, and Error its standard error.
	Slack, Error float64
	// Price is what a unit of slack is worth, in units of the goals.
	Price float64
	// Recent reports that the recent memory binds, or asked for the step towards the control.
	Recent bool
}

// Change says that the contrast of an arm in a metric is that of a shorter memory.
type Change struct {
	Arm, Metric int
	// Rounds is the length of the memory.
	Rounds int
}
