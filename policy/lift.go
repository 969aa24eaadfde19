package policy

// Verdict is what a comparison with the control arm says, in words.
type Verdict string

// The verdicts. Those of goals and of the objective say whether the interval of the lift is beyond
// 0 in the good direction, in the bad one, or in neither. Those of guardrails say whether the whole
// interval holds the limit, the estimate holds it, the estimate breaks it, or the whole interval
// breaks it.
const (
	Better       Verdict = "better"
	Worse        Verdict = "worse"
	NoDifference Verdict = "no difference seen yet"
	TooFew       Verdict = "not enough data"
	ShownToHold  Verdict = "shown to hold"
	HoldsSoFar   Verdict = "holds so far"
	NotYetClear  Verdict = "not yet clear"
	Broken       Verdict = "broken"
)

// Lift compares the arms, and the mixtures of them, with the control arm, by the units of the same
// versions: what all arms of a version have in common, such as a season, cancels.
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
	Kind string `json:"kind"`
	// Metric is "" for the objective.
	Metric string `json:"metric,omitempty"`
	// Direction is the good one, "up" or "down"; that of a guardrail is up for a lower limit.
	Direction string `json:"direction"`
	// Guardrail is the kind of a guardrail's limit: min, max, min_change or max_change.
	Guardrail string   `json:"guardrail,omitempty"`
	Limit     *float64 `json:"limit,omitempty"`
	// Arms are by name, without the control arm and retired arms that were never observed.
	Arms map[string]Comparison `json:"arms"`
	// Served is the mixture served now, Deployed that which the policy would deploy; nil if the
	// policy has learned nothing yet or the experiment is rolled back. SoFar is all that was
	// served.
	Served   Comparison  `json:"served"`
	Deployed *Comparison `json:"deployed"`
	SoFar    Comparison  `json:"so_far"`
}

// Comparison is the difference of an arm, or of a mixture, from the control arm.
type Comparison struct {
	// Interval is the difference in the metric's units; of a ratio, that of the ratios.
	Interval
	// Relative is the difference as a part of the size of the control's mean.
	Relative Interval `json:"relative"`
	Verdict  Verdict  `json:"verdict"`
}

// LiftPoint is how the mixtures stood against the control arm when a version began: the lift of the
// objective, by what was known then.
type LiftPoint struct {
	Served   Interval `json:"served"`
	Deployed Interval `json:"deployed"`
}
