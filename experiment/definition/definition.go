package definition

import (
	"encoding/json"
	"regexp"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/strictjson"
	"github.com/noregret/noregret/policy"
)

// Definition describes an experiment. [Parse] reads one, fills in the defaults and checks it;
// docs/formats/definition.md explains every field, and [Schema] is its JSON Schema.
type Definition struct {
	// Name identifies the experiment: 1 to 63 of a-z, 0-9 and . _ -, beginning with a letter or
	// digit.
	Name string `json:"name" pattern:"^[a-z0-9][a-z0-9._-]{0,62}$"`
	// Description is for human readers.
	Description string `json:"description,omitempty" maxLength:"4096" line:"true"`
	// Project groups experiments: access tokens may be limited to some projects, and a flag set of
	// OFREP is a project. It has the form of a name; "" for none.
	Project string `json:"project,omitempty" pattern:"^[a-z0-9][a-z0-9._-]{0,62}$"`
	// Unit names the kind of units: "user" by default, "session", "request", ... It is not
	// interpreted. Each unit is one observation per policy version.
	Unit string `json:"unit" maxLength:"63" line:"true" default:"user"`
	// Salt keys the hash of the units; the name by default. Experiments with equal salts split
	// alike.
	Salt string `json:"salt" maxLength:"255" line:"true"`
	// Arms are the alternatives.
	Arms Arms `json:"arms"`
	// Control is the arm to compare with and to fall back to, nil for none.
	Control *Control `json:"control,omitempty"`
	// Metrics are the numbers reported for units.
	Metrics []Metric `json:"metrics" minItems:"1" maxItems:"60"`
	// Context declares what a contextual policy knows of a unit; other policies have none.
	Context []policy.Feature `json:"context,omitempty" maxItems:"1024"`
	// Objective is the quantity to maximize; a fixed policy needs none.
	Objective *Objective `json:"objective,omitempty"`
	// Guardrails are limits that must hold during the experiment.
	Guardrails []Guardrail `json:"guardrails,omitempty"`
	// Policy selects how the mixture is computed.
	Policy Rule `json:"policy"`
	// ExplorationFloor is the share of the learned traffic that is spread uniformly over all arms,
	// in [0, 1].
	ExplorationFloor float64 `json:"exploration_floor" minimum:"0" maximum:"1" default:"0"`
	// MaxShare bounds the shares of arms, nil for no bounds.
	MaxShare *MaxShare `json:"max_share,omitempty"`
	// Traffic is the share of the units, in (0, 1], that take part. The others get the control arm
	// and are not learned from.
	Traffic float64 `json:"traffic" exclusiveMinimum:"0" maximum:"1"`
	// Ramp lists the stages in which the learned mixture gets more and more of the traffic.
	Ramp []Stage `json:"ramp,omitempty" maxItems:"50"`
	// Round defines when a round ends.
	Round Round `json:"round"`
	// AttributionWindow is how long feedback counts after a decision, of metrics without a Window.
	AttributionWindow policy.Duration `json:"attribution_window"`
	// Drift fixes how many rounds the learner remembers.
	Drift Drift `json:"drift"`
	// Changes is "detect" (an arm whose metrics are found to have changed is learned anew) or
	// "none".
	Changes string `json:"changes" enum:"detect,none"`
	// Caution is the number of standard errors by which the default policy holds hard guardrails in
	// what it serves, nil for 3.
	Caution *float64 `json:"caution,omitempty" minimum:"0" maximum:"10"`
	// Strict holds hard guardrails by bounds that are valid in all rounds together with probability
	// 1 − alpha, in place of Caution.
	Strict bool `json:"strict,omitempty"`
	// Exploration is the budget for learning, nil for the learner's own.
	Exploration *Exploration `json:"exploration,omitempty"`
	// Privacy makes the policy differentially private with respect to a unit's feedback, nil for no
	// such promise.
	Privacy *Privacy `json:"privacy,omitempty"`
	// Stickiness is "round" (units are drawn anew in each round) or "unit" (a unit keeps its arm as
	// long as the mixture allows).
	Stickiness string `json:"stickiness" enum:"round,unit"`
	// HoldBack is the share of units, in [0, 1), that always get the control arm and are not
	// learned from.
	HoldBack float64 `json:"hold_back" minimum:"0" exclusiveMaximum:"1" default:"0"`
	// Exposure is "reported" or "immediate": whether units count when their exposure is reported,
	// or as soon as they are decided for.
	Exposure string `json:"exposure" enum:"reported,immediate"`
	// OpenTokens is the maximum number of units that wait for feedback at once. The service's
	// memory bounds it, too.
	OpenTokens int64 `json:"open_tokens" minimum:"1" maximum:"100000000"`
	// Plan has the expectations for package plan, nil for none. It does not affect the experiment.
	Plan *Plan `json:"plan,omitempty"`
}

// Arms are one of: a list of named values; a grid, all combinations of the parameters' values; a
// box of parameters, whose points the policy chooses itself.
type Arms struct {
	List []policy.Arm
	Grid map[string][]json.RawMessage
	Box  map[string]Side
	// Nodes is the number of initial points of a box, Every the most rounds between two plans. Nil
	// means the learner's default.
	Nodes, Every *int64
}

// Side is one parameter's interval in a box.
type Side struct {
	Low  float64 `json:"low" minimum:"-1e15" maximum:"1e15"`
	High float64 `json:"high" minimum:"-1e15" maximum:"1e15"`
}

// MarshalJSON implements [json.Marshaler].
func (a Arms) MarshalJSON() ([]byte, error) {
	if a.Grid == nil && a.Box == nil {
		return strictjson.Encode(a.List)
	}
	return strictjson.Encode(armsForm{Grid: a.Grid, Box: a.Box, Nodes: a.Nodes, Every: a.Every})
}

// Control is the arm to compare with and to fall back to.
type Control struct {
	// Arm is its name. It is one of the arms, or a further arm with the value given here.
	Arm string `json:"arm" minLength:"1" maxLength:"200" line:"true"`
	// Value is the arm's value if it is not one of the arms.
	Value json.RawMessage `json:"value,omitempty" schema:"ArmValue"`
	// Share is its least share, in [0, 1), of the learned traffic; for a box it is fixed, and the
	// policy divides the rest among the other arms. With a fixed policy, the share
	// is part of the split instead.
	Share float64 `json:"share,omitempty" minimum:"0" exclusiveMaximum:"1"`
}

// MaxShare bounds the shares of the arms other than the control.
type MaxShare struct {
	// Every is the maximum share, in (0, 1], of each arm; 0 for no bound.
	Every float64 `json:"every,omitempty" minimum:"0" maximum:"1"`
	// Arms are maximum shares, in [0, 1], by the arm's name. They replace Every.
	Arms map[string]float64 `json:"arms,omitempty" values:"share"`
}

// Of returns the maximum share of an arm.
func (m *MaxShare) Of(arm string) float64 {
	if m == nil {
		return 1
	}
	if v, ok := m.Arms[arm]; ok {
		return v
	}
	if m.Every > 0 {
		return m.Every
	}
	return 1
}

// Stage is a stage of a ramp: the share of the traffic that the learned mixture gets while the rest
// gets the control arm, and the conditions for the next stage. At least one of Units, Time and
// Guardrails is set; all that are set must hold.
type Stage struct {
	// Share is the learned mixture's, in (0, 1).
	Share float64 `json:"share" exclusiveMinimum:"0" exclusiveMaximum:"1"`
	// Units is the number of units that must have been exposed in the stage; 0 for any number.
	Units int64 `json:"units,omitempty" minimum:"0" maximum:"1000000000000"`
	// Time is how long the stage must have lasted; 0 for any time.
	Time policy.Duration `json:"time,omitempty"`
	// Guardrails is "held" if the next stage's mixture must hold every guardrail with confidence,
	// or "".
	Guardrails string `json:"guardrails,omitempty" enum:",held"`
}

// Metric is a number reported for units.
type Metric struct {
	Name string `json:"name" pattern:"^[A-Za-z_][A-Za-z0-9_.-]{0,63}$"`
	// Kind is "mean" (any number), "count" (a whole number, at least 0) or "ratio" (of two others).
	Kind string `json:"kind" enum:"mean,count,ratio"`
	// Numerator and Denominator name the metrics of a ratio.
	Numerator   string `json:"numerator,omitempty"`
	Denominator string `json:"denominator,omitempty"`
	// Range is the interval of one observation. Observations outside it are refused.
	Range []float64 `json:"range,omitempty" minItems:"2" maxItems:"2" minimum:"-1e15" maximum:"1e15"`
	// Cap limits what an observation counts as to [−Cap, Cap]; nil for no limit.
	Cap *Cap `json:"cap,omitempty"`
	// Default is the value of a unit whose window has closed without one; nil means that such units
	// do not count.
	Default *float64 `json:"default,omitempty" minimum:"-1e15" maximum:"1e15"`
	// Window is how long a value counts after the unit's decision; nil for the attribution window.
	Window *policy.Duration `json:"window,omitempty"`
	// Direction is the direction of improvement, "up" or "down".
	Direction string `json:"direction" enum:"up,down"`
	// Unit is the unit of measurement, for pages and pictures: "s", "EUR", ...
	Unit string `json:"unit,omitempty"`
}

// Objective is the weighted sum, or the soft minimum, of metrics in their directions of
// improvement.
type Objective struct {
	Goals []Goal `json:"goals" minItems:"1"`
	// Soft is the b ≥ 0 of the soft minimum −(1/b)·ln Σ exp(−b·w·x); 0 is the sum.
	Soft float64 `json:"soft,omitempty" minimum:"0" maximum:"1e15" default:"0"`
}

// Goal is a metric to improve.
type Goal struct {
	Metric string  `json:"metric"`
	Weight float64 `json:"weight" minimum:"1e-15" maximum:"1e15"`
}

// Guardrail is a metric that must not pass a limit: exactly one of Min, Max, MinChange and
// MaxChange.
type Guardrail struct {
	Metric string   `json:"metric"`
	Min    *float64 `json:"min,omitempty" minimum:"-1e15" maximum:"1e15"`
	Max    *float64 `json:"max,omitempty" minimum:"-1e15" maximum:"1e15"`
	// MinChange and MaxChange are relative to the control arm: −0.02 is 2 % below it.
	MinChange *float64 `json:"min_change,omitempty" exclusiveMinimum:"-1" maximum:"1e15"`
	MaxChange *float64 `json:"max_change,omitempty" exclusiveMinimum:"-1" maximum:"1e15"`
	// Penalty is the price λ > 0 of a soft guardrail: λ times the square of the violation is
	// subtracted from the objective. The violation is in units of the limit, or, where the limit is
	// a change or 0, of the control's mean.
	Penalty float64 `json:"penalty" minimum:"1e-15" maximum:"1e15"`
	// Hard makes the guardrail a constraint of the learner, which is the default; a soft one has a
	// price.
	Hard bool `json:"hard"`
	// Hold says where a hard guardrail must hold: "served", in what is served in every round, the
	// default where there is a control arm, or "deployed", in what would be deployed only. "" is
	// the default.
	Hold string `json:"hold,omitempty" enum:",served,deployed" default:""`
	// EachArm also applies the limit to each arm alone: an arm that breaks it with confidence is
	// vetoed.
	EachArm bool `json:"each_arm,omitempty"`
	// Alpha is the probability, in (0, 1), that the guardrail is ever called breached while it
	// holds.
	Alpha float64 `json:"alpha" exclusiveMinimum:"0" exclusiveMaximum:"1"`
	// Action is what a breach does: "alert", "shrink" (towards the control arm, as far as needed)
	// or "rollback" (to the control arm).
	Action string `json:"action" enum:"alert,shrink,rollback"`
}

// Rule selects how the mixture is computed.
type Rule struct {
	// Kind is "pasto" (a learned mixture that holds guardrails), "fixed", a bandit ("thompson",
	// "ucb", "kl-ucb" or "tsallis-inf"), or a contextual bandit ("lin-ucb", "lin-thompson" or
	// "squarecb").
	Kind string `json:"kind" enum:"pasto,fixed,thompson,ucb,kl-ucb,tsallis-inf,lin-ucb,lin-thompson,squarecb"`
	// Split is the fixed policy's: shares by arm that sum to 1.
	Split map[string]float64 `json:"split,omitempty" values:"share"`
	// Alpha is the multiple of the widths of lin-ucb and lin-thompson, in (0, 1000]; nil for 1.
	Alpha *float64 `json:"alpha,omitempty" exclusiveMinimum:"0" maximum:"1000" default:"1"`
	// Gamma is the factor of the rate of squarecb, in (0, 1e6]; nil for 1.
	Gamma *float64 `json:"gamma,omitempty" exclusiveMinimum:"0" maximum:"1e6" default:"1"`
}

// Round defines when a round ends: when it has lasted Length and has MinUnits exposed units.
type Round struct {
	Length   policy.Duration `json:"length"`
	MinUnits int64           `json:"min_units" minimum:"1" maximum:"1000000000"`
}

// Exploration is the budget for learning: what part of the served mixture is chosen to learn.
type Exploration struct {
	// Share is that part in the first round, in [0, 1]. It falls with the root of the number of
	// rounds.
	Share float64 `json:"share" minimum:"0" maximum:"1"`
}

// firstShare is the default of the share.
const firstShare = 0.5

// explorationForm has what was written before there was one rule of exploration.
type explorationForm struct {
	Share    *float64 `json:"share,omitempty"`
	Decay    *float64 `json:"decay,omitempty"`
	Optimism *float64 `json:"optimism,omitempty"`
}

// UnmarshalStrict implements [strictjson.Unmarshaler].
func (e *Exploration) UnmarshalStrict(_ byte, decode func(v any) error) error {
	var f explorationForm
	if err := decode(&f); err != nil {
		return err
	}
	switch {
	case f.Decay != nil:
		return noregret.BadInputf("decay", "is gone: the share of what explores falls with the root of the number of "+
			"rounds, want share only")
	case f.Optimism != nil:
		return noregret.BadInputf("optimism", "is gone: arms are tried as they could be better by their standard "+
			"errors, want share only")
	}
	e.Share = firstShare
	if f.Share != nil {
		e.Share = *f.Share
	}
	return nil
}

// Limits of a definition.
const (
	// MaxArms is the maximum number of arms.
	MaxArms = 1000
	// MaxMetrics is the maximum number of metrics.
	MaxMetrics = 60
)

var (
	nameForm   = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)
	metricForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,63}$`)
)

// ValidName reports whether name is a valid name of an experiment.
func ValidName(name string) bool { return nameForm.MatchString(name) }

// defaults fills in the texts that are missing or empty and depend on others.
func (d *Definition) defaults() {
	text := func(s *string, v string) {
		if *s == "" {
			*s = v
		}
	}
	text(&d.Unit, "user")
	text(&d.Salt, d.Name)
}

// presets returns a definition with the values of fields that may be left out. An explicit 0 or ""
// is kept and validated as such.
func presets() Definition {
	return Definition{
		Policy:            Rule{Kind: "pasto"},
		Traffic:           1,
		Round:             Round{Length: policy.Duration(time.Hour), MinUnits: 1},
		AttributionWindow: policy.Duration(24 * time.Hour),
		Drift:             Drift{Kind: "none"},
		Changes:           "detect",
		Stickiness:        "round",
		Exposure:          "reported",
		OpenTokens:        maxOpenTokens,
	}
}

// UnmarshalJSON reads any of the forms that [Arms.MarshalJSON] writes.
func (a *Arms) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '[' {
		return json.Unmarshal(data, &a.List)
	}
	var f armsForm
	if err := json.Unmarshal(data, &f); err != nil {
		return err
	}
	*a = f.arms()
	return nil
}

// arms returns what the form says. In a document 0 asks for the default, as leaving the field out
// does.
func (f *armsForm) arms() Arms {
	a := Arms{Grid: f.Grid, Box: f.Box}
	if f.Nodes != nil && *f.Nodes != 0 {
		a.Nodes = f.Nodes
	}
	if f.Every != nil && *f.Every != 0 {
		a.Every = f.Every
	}
	return a
}
