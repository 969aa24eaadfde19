package api

// Verdict is the result of a comparison with the control arm, in words.
type Verdict string

// The verdicts. Those of goals and of the objective say whether the interval of the lift excludes 0
// in the good direction, excludes it in the bad direction, or includes it. [TooFew] says that there
// is no interval, or one that excludes next to nothing. Those of guardrails say whether the whole
// interval holds the limit, some of it does, or the whole interval breaks it.
const (
	Better       Verdict = "better"
	Worse        Verdict = "worse"
	NoDifference Verdict = "no difference seen yet"
	TooFew       Verdict = "not enough data"
	ShownToHold  Verdict = "shown to hold"
	NotYetKnown  Verdict = "not yet known"
	ShownBroken  Verdict = "shown broken"
)

// Lift compares the arms, and mixtures of them, with the control arm, by the units of the same
// versions. Effects that all arms of a version share, such as a season, cancel.
type Lift struct {
	// Control is the arm that the others are compared with. It is "" if nothing can be compared;
	// Reason then says why.
	Control string `json:"control"`
	Reason  string `json:"reason,omitempty"`
	// Alpha is the probability that any interval of a quantity ever misses.
	Alpha float64 `json:"alpha"`
	// Quantities lists the objective, the goals and the guardrails, in this order.
	Quantities []LiftQuantity `json:"quantities"`
}

// The kinds of a [LiftQuantity].
const (
	LiftObjective = "objective"
	LiftGoal      = "goal"
	LiftGuardrail = "guardrail"
)

// LiftQuantity is what is compared: the objective, or the metric of a goal or of a guardrail.
type LiftQuantity struct {
	// Kind is "objective", "goal" or "guardrail".
	Kind string `json:"kind" enum:"objective,goal,guardrail"`
	// Metric is "" for the objective.
	Metric string `json:"metric,omitempty"`
	// Direction is the good direction, "up" or "down". For a guardrail with a lower limit it is
	// "up".
	Direction string `json:"direction" enum:"up,down"`
	// Guardrail is the kind of a guardrail's limit: min, max, min_change or max_change.
	Guardrail string   `json:"guardrail,omitempty" enum:"min,max,min_change,max_change"`
	Limit     *float64 `json:"limit,omitempty"`
	// Arms holds the comparisons by arm, without the control arm and retired arms that were never
	// observed.
	Arms map[string]Comparison `json:"arms"`
	// Served is the mixture served now, SoFar everything served so far. Deployed is the mixture
	// that the policy would deploy; it is nil if the policy has learned nothing yet or the
	// experiment is rolled back.
	Served   Comparison  `json:"served"`
	Deployed *Comparison `json:"deployed"`
	SoFar    Comparison  `json:"so_far"`
}

// Comparison is the difference of an arm, or of a mixture, from the control arm.
type Comparison struct {
	// Interval is the difference in the metric's units; for a ratio, the difference of the ratios.
	Interval
	// Relative is the difference divided by the absolute value of the control's mean.
	Relative Interval `json:"relative"`
	Verdict  Verdict  `json:"verdict"`
}

// LiftPoint is the lift of the objective of the mixtures when a version began, by the estimates of
// that time.
type LiftPoint struct {
	Served   Interval `json:"served"`
	Deployed Interval `json:"deployed"`
}
