package api

import (
	"encoding/json"
	"time"

	"github.com/noregret/noregret/policy"
)

// GuardState is the state of a guardrail.
type GuardState string

// The states, in this order: there are no data; the limit holds with confidence; the estimate is
// within the limit; the estimate is beyond the limit, but the confidence sequence includes values
// within it; the limit is broken with confidence; the experiment is rolled back, so nothing is
// evaluated.
const (
	GuardUnknown    GuardState = "unknown"
	GuardHeld       GuardState = "held"
	GuardOk         GuardState = "ok"
	GuardWatch      GuardState = "watch"
	GuardBreached   GuardState = "breached"
	GuardRolledBack GuardState = "rolled_back"
)

// Verdict returns what a state says about the limit, in the words that people read everywhere:
// [ShownToHold], [NotYetKnown] or [ShownBroken]. A state that names an action, such as
// [GuardRolledBack], follows a breach.
func (s GuardState) Verdict() Verdict {
	switch s {
	case GuardHeld:
		return ShownToHold
	case GuardBreached, GuardRolledBack:
		return ShownBroken
	}
	return NotYetKnown
}

// Report is the state of an experiment in the form of the API (docs/formats/report.md). Unknown
// numbers are null.
type Report struct {
	Name        string        `json:"name"`
	Description string        `json:"description,omitempty"`
	State       policy.Status `json:"state"`
	Version     uint64        `json:"version"`
	Round       uint64        `json:"round"`
	// Headline says how the experiment stands and what to do next.
	Headline *Headline `json:"headline"`
	// Created is the time of the experiment's first event, Time that of the latest event of any
	// experiment.
	Created time.Time `json:"created"`
	Time    time.Time `json:"time"`
	// Mixture holds the exact shares by arm among units that take part.
	Mixture map[string]float64 `json:"mixture" values:"share"`
	// Deployed is the mixture that the policy would serve if nothing more were to be learned, in
	// the same form; nil before it has learned anything and while the experiment is rolled back.
	Deployed map[string]float64 `json:"deployed" nullable:"true" values:"share"`
	// Traffic is the share of units that take part, among those not held back.
	Traffic float64 `json:"traffic" exclusiveMinimum:"0" maximum:"1"`
	// Ramp is nil without a ramp and after the ramp has ended.
	Ramp *RampReport `json:"ramp,omitempty"`
	// Conclusion is how the experiment ended, nil before it has.
	Conclusion *Conclusion `json:"conclusion,omitempty"`
	// Arms are by name, including retired ones.
	Arms map[string]ArmReport `json:"arms"`
	// HoldBack describes the units held back and those that do not take part, nil if there are
	// none.
	HoldBack   *ArmReport        `json:"hold_back,omitempty"`
	Feedback   Counts            `json:"feedback"`
	Guardrails []GuardrailReport `json:"guardrails"`
	// Promise says what is promised of the guardrails, nil if there are none.
	Promise *Promise `json:"promise,omitempty"`
	// Drift says how many rounds the learner remembers, nil where the definition does not say it.
	Drift *DriftReport `json:"drift,omitempty"`
	// Privacy says what is released of the feedback and what that costs, nil unless the experiment
	// is private.
	Privacy *PrivacyReport `json:"privacy,omitempty"`
	// Lift compares the arms and the mixtures with the control arm.
	Lift   Lift   `json:"lift"`
	Health Health `json:"health"`
	// Regret is nil without an objective.
	Regret *Regret `json:"regret"`
	// Uniform compares what was served with the uniform policy, nil without an objective or where
	// the policy chooses the points of a box.
	Uniform *UniformReport `json:"uniform,omitempty"`
	// History lists at most 256 versions, the oldest first; the older half is thinned out.
	History []HistoryPoint `json:"history"`
	// Notes lists the latest notes, the oldest first.
	Notes []NoteReport `json:"notes"`
	// Next is the last arm of a page that has further ones after it, "" otherwise.
	Next string `json:"next,omitempty"`
}

// Headline says in one sentence how an experiment stands.
type Headline struct {
	// Text says what is gained with its interval, whether each guardrail is shown to hold, is not
	// yet known or is shown broken, and what to do next.
	Text string `json:"text"`
	// Next is what to do: one of [NextWait] and the constants below it.
	Next string `json:"next" enum:"wait,conclude,add_arms,drop_metric,look,resume,nothing"`
	// Days estimates for how many days more the slowest quantity stays open, nil if there is no
	// estimate or nothing to wait for.
	Days *float64 `json:"days,omitempty"`
}

// What a [Headline] advises. NextLook says that something is wrong, and NextDropMetric that a
// quantity would stay open for so long that it should not be waited for.
const (
	NextWait       = "wait"
	NextConclude   = "conclude"
	NextAddArms    = "add_arms"
	NextDropMetric = "drop_metric"
	NextLook       = "look"
	NextResume     = "resume"
	NextNothing    = "nothing"
)

// PrivacyReport is the state of a private experiment. Everything in it is public.
type PrivacyReport struct {
	// Epsilon and Delta are the budget, all of which is reserved when the experiment begins.
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
	// Spent is the ε, for Delta, of everything that the ledger has charged to the experiment. Where
	// the ledger does not say it, the whole budget counts as spent, and Unknown says why.
	Spent   float64 `json:"spent"`
	Unknown string  `json:"spent_unknown,omitempty"`
	// UnitContribution is the number of a unit's decisions whose feedback counts, and Excess the
	// number of exposures beyond it.
	UnitContribution int   `json:"unit_contribution"`
	Excess           int64 `json:"excess"`
	// Rounds is the most releases, Released the number so far, and Waiting the number of versions
	// whose release is due.
	Rounds   int64 `json:"rounds"`
	Released int64 `json:"released"`
	Waiting  int   `json:"waiting"`
	// Counts are the decisions behind the last release, by arm.
	Counts map[string]int64 `json:"counts"`
	// Sums are the last release: by arm and metric, the sum of the values of all decisions that
	// count, with noise. Noise is the standard deviation of the noise, by metric. Mixtures and
	// means follow from them.
	Sums  map[string]map[string]float64 `json:"sums"`
	Noise map[string]float64            `json:"noise"`
	// Ended is the reason why nothing more is released, "" while there are releases.
	Ended string `json:"ended,omitempty"`
	// Statement says what is protected and what is not, in words, and Withheld lists what a report
	// has in other experiments.
	Statement string   `json:"statement"`
	Withheld  []string `json:"withheld"`
}

// DriftReport says how the learner forgets.
type DriftReport struct {
	// Memory is the number of rounds that the definition lets it remember.
	Memory float64 `json:"memory"`
}

// ArmReport describes an arm.
type ArmReport struct {
	// Place is the number of the arm in the order in which the experiment got its arms, from 0. It
	// never changes, so that an arm has one colour in all pictures.
	Place int `json:"place"`
	// N is the number of units exposed.
	N       int64           `json:"n"`
	Active  bool            `json:"active"`
	Control bool            `json:"control"`
	Value   json.RawMessage `json:"value,omitempty"`
	// Stopped is the reason why an active arm gets no share, "" if it may be served.
	Stopped string                  `json:"stopped,omitempty"`
	Metrics map[string]MetricReport `json:"metrics"`
}

// RampReport describes the stage of a ramp.
type RampReport struct {
	// Stage is the number of the stage, from 1, and Stages the number of stages.
	Stage  int `json:"stage" minimum:"1"`
	Stages int `json:"stages"`
	// Share is the share of the traffic that gets the learned mixture.
	Share float64   `json:"share"`
	Since time.Time `json:"since"`
	// Waits lists the conditions that must hold before the next stage begins, at the end of a
	// round.
	Waits []string `json:"waits"`
}

// Conclusion records how an experiment ended, with the evidence at that time.
type Conclusion struct {
	Time    time.Time `json:"time"`
	Version uint64    `json:"version"`
	Reason  string    `json:"reason,omitempty"`
	// Source is "deployed" if the policy chose the mixture, "named" if it was given by hand.
	Source  string             `json:"source" enum:"deployed,named"`
	Mixture map[string]float64 `json:"mixture"`
	// Value is the objective of the mixture by the means at that time, nil if too few arms had a
	// mean.
	Value *float64 `json:"value"`
	// Units is the number of units exposed until that time and not held back.
	Units      int64                `json:"units"`
	Arms       map[string]ArmReport `json:"arms"`
	Guardrails []GuardrailReport    `json:"guardrails"`
}

// MetricReport is the mean of N units with a 95 % confidence sequence. For a ratio, it is the ratio
// of the means.
type MetricReport struct {
	Mean *float64 `json:"mean"`
	Low  *float64 `json:"low"`
	High *float64 `json:"high"`
	N    int64    `json:"n"`
}

// GuardrailReport describes a guardrail: the value that the limit applies to (a change relative to
// the control arm for min_change and max_change) of the mixture served now, and its confidence
// sequence.
type GuardrailReport struct {
	Metric string     `json:"metric"`
	Kind   string     `json:"kind" enum:"min,max,min_change,max_change"`
	Limit  float64    `json:"limit"`
	State  GuardState `json:"state"`
	Since  time.Time  `json:"since"`
	Interval
	// Served is the same for the average of the mixtures served in all versions.
	Served Interval `json:"served"`
	Alpha  float64  `json:"alpha"`
	Action string   `json:"action" enum:"alert,shrink,rollback"`
	// Acted is the last action of the guardrails on this metric, nil if there was none. It stays
	// when the experiment is rolled back and resumed.
	Acted *GuardAction `json:"acted,omitempty"`
}

// GuardAction is what was done about a breach of a guardrail.
type GuardAction struct {
	Action string    `json:"action" enum:"alert,shrink,rollback"`
	Time   time.Time `json:"time"`
	// Version is the policy version that was served when the guardrail was breached.
	Version uint64 `json:"version"`
}

// Promise says what is promised of the guardrails in what is served.
type Promise struct {
	// Holds reports whether every served mixture holds every hard guardrail, in all rounds together
	// with probability at least 1 − Alpha.
	Holds bool    `json:"holds"`
	Alpha float64 `json:"alpha,omitempty"`
	// Text says it in words, or why nothing is promised.
	Text string `json:"text"`
}

// Interval is an estimate with the ends of its confidence sequence.
type Interval struct {
	Estimate *float64 `json:"estimate"`
	Low      *float64 `json:"low"`
	High     *float64 `json:"high"`
}

// Regret compares what was served with the best single arm, by the current means, which compare the
// arms within versions (docs/formats/report.md). The numbers are in units of the objective, per
// unit; a negative regret is a gain.
type Regret struct {
	// BestSingle is the best arm if served alone, and its value.
	BestSingle struct {
		Arm   string   `json:"arm"`
		Value *float64 `json:"value"`
	} `json:"best_single"`
	// Mixture is the value of the mixture served now, Average that of all served mixtures that are
	// kept.
	Mixture *float64 `json:"mixture"`
	Average *float64 `json:"average"`
	// PerUnit is BestSingle − Average, Total is PerUnit·Units.
	PerUnit *float64 `json:"per_unit"`
	Total   *float64 `json:"total"`
	Units   int64    `json:"units"`
}

// UniformReport compares what was served with the uniform policy, which gives all arms that a unit
// allows the same share, over the versions whose window has closed and in which each arm was
// expected to have 10 units at least.
type UniformReport struct {
	// Units is the number of units of all versions whose window has closed, Covered that of the
	// versions that count here.
	Units   int64 `json:"units"`
	Covered int64 `json:"covered"`
	// Goals are the goals of the objective.
	Goals []UniformGoal `json:"goals"`
}

// UniformGoal is the comparison in a goal's metric, with 95 % confidence sequences: the mean of
// what was served, the estimated mean of the uniform policy for the same units, and the first less
// the second.
type UniformGoal struct {
	Metric  string   `json:"metric"`
	Served  Interval `json:"served"`
	Uniform Interval `json:"uniform"`
	Gain    Interval `json:"gain"`
	// MeanWeight is the mean of the units' weights, 1 up to chance if units were served and
	// reported by the propensities; null without a unit. Otherwise the estimates are of other units
	// than the served ones: feedback is lost more often for some arms than for others, for example.
	MeanWeight *float64 `json:"mean_weight"`
}

// HistoryPoint is a policy version: what it served and, once its window has closed, its results.
type HistoryPoint struct {
	Version uint64             `json:"version"`
	Round   uint64             `json:"round"`
	Time    time.Time          `json:"time"`
	Cause   string             `json:"cause"`
	Mixture map[string]float64 `json:"mixture"`
	// Value is the objective of the mixture by the means known when the version was made.
	Value *float64 `json:"value"`
	// Deployed is the mixture that the policy would have deployed when the version began, nil if it
	// had not learned anything. Lift is nil without a control arm or an objective.
	Deployed map[string]float64 `json:"deployed" nullable:"true"`
	Lift     *LiftPoint         `json:"lift"`
	// Units and Metrics are the version's results, 0 and null until its window has closed.
	Units   int64               `json:"units"`
	Metrics map[string]*float64 `json:"metrics"`
	// Regret is the average loss per unit against the best single arm, over all units so far, by
	// the current means; null without an objective.
	Regret *float64 `json:"regret"`
	// Guardrails are those of the version with the values of its mixture, by what was known when it
	// ended or when the guardrails changed, of the running version by what is known now.
	Guardrails []GuardrailPoint `json:"guardrails"`
}

// GuardrailPoint is what was known of a guardrail at a time. The interval is that of
// [GuardrailReport], unknown in a private experiment.
type GuardrailPoint struct {
	Metric string  `json:"metric"`
	Kind   string  `json:"kind" enum:"min,max,min_change,max_change"`
	Limit  float64 `json:"limit"`
	Interval
	// Served is the same for the average of the mixtures served until then.
	Served Interval `json:"served"`
}

// NoteReport is a note for people: something that happened to the experiment.
type NoteReport struct {
	Time time.Time `json:"time"`
	Text string    `json:"text"`
}

// Health describes whether the data can be trusted.
type Health struct {
	// SampleRatio is the sequential test that units are exposed as decided. Mismatch is an alarm at
	// level 1e-4; P is valid at all times.
	SampleRatio struct {
		Mismatch bool    `json:"mismatch"`
		P        float64 `json:"p"`
	} `json:"sample_ratio"`
	// Missing is the share of units of closed windows for which a metric was never reported.
	Missing map[string]float64 `json:"missing"`
	// DuplicateValues counts values of metrics that the unit had reported before.
	DuplicateValues int64 `json:"duplicate_values"`
	// Orphans counts values whose unit's exposure was never reported.
	Orphans int64 `json:"orphans"`
	// Dead lists arms with a share that have no units although at least 20 were expected.
	Dead []string `json:"dead"`
	// Unlearned counts units that the policy has not learned from, because a metric was missing or
	// the experiment was paused.
	Unlearned int64 `json:"unlearned"`
	// Replaced counts units without a reward in whose place the policy tsallis-inf learned a mean:
	// that of the other units of their arm in the version, or of the version. A loss that was not
	// seen is not 0.
	Replaced int64 `json:"replaced,omitempty"`
	// Redrawn counts ranked units whose arm was excluded, so that another one was drawn for them.
	// They are not counted otherwise and not learned from.
	Redrawn int64 `json:"redrawn,omitempty"`
	// Open counts units that wait for feedback.
	Open int64 `json:"open"`
	// Exposures counts the reported exposures by result.
	Exposures Counts `json:"exposures"`
	// Problems describes what is wrong.
	Problems []string `json:"problems"`
}
