package experiment

import (
	"encoding/json"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/internal/strictjson"
)

// Event is one step of the fold: the host appends it to its log and passes it to [State.Apply] in
// the log's order. docs/formats/events.md describes the payloads, which are JSON.
type Event struct {
	Kind    string
	Time    int64 // nanoseconds since 1970
	Payload []byte
	// parsed is the definition in the payload of an event of [State.Plan], so that it is parsed
	// once; nil for all other events.
	parsed *definition.Definition
	// units is what the payload of an event of [NewUnits] or [Event.Decoded] decodes to; nil for
	// all other events.
	units *join.Units
	// serves is the serving in the payload of an event that [State.Try] has completed and whose
	// definition is parsed; nil for all other events.
	serves *Serving
}

// The kinds of events.
const (
	// KindDefinition creates an experiment or changes its definition: [DefinitionEvent].
	KindDefinition = "definition"
	// KindDelete deletes an experiment, and KindRestore brings one back within the grace time of
	// its deletion: [NameEvent].
	KindDelete  = "delete"
	KindRestore = "restore"
	// KindExposures reports that units were exposed to their arms: [join.Units].
	KindExposures = "exposures"
	// KindFeedback reports metrics of units: [join.Units].
	KindFeedback = "feedback"
	// KindPrivateFeedback is KindFeedback of a private experiment. It advances no time but for its
	// own items, and has no public position: nobody may learn that it was there.
	KindPrivateFeedback = "privacy.feedback"
	// KindAggregate reports sums over units: [api.Aggregate].
	KindAggregate = "aggregate"
	// KindRound closes the running round: [NameEvent].
	KindRound = "round"
	// KindServe begins the policy version that guardrails ask for: [NameEvent].
	KindServe = "serve"
	// KindClock reports that time has passed: [NameEvent].
	KindClock = "clock"
	// KindPause and KindResume stop and start learning: [NameEvent].
	KindPause  = "pause"
	KindResume = "resume"
	// KindRollback gives every unit the control arm: [NameEvent].
	KindRollback = "rollback"
	// KindAddArm adds an arm and KindRetireArm retires one: [ArmEvent].
	KindAddArm    = "arm.add"
	KindRetireArm = "arm.retire"
	// KindVetoArm gives an arm no share until KindLiftArm: [ArmEvent].
	KindVetoArm = "arm.veto"
	KindLiftArm = "arm.lift"
	// KindGuardrail reports what a guardrail has done: [GuardEvent]. It changes nothing.
	KindGuardrail = "guardrail"
	// KindConclude ends an experiment: [ConcludeEvent].
	KindConclude = "conclude"
	// KindPrivacy records that the budget of a private experiment is reserved: [PrivacyEvent].
	KindPrivacy = "privacy.open"
	// KindRelease releases noisy sums of a private experiment: [ReleaseEvent].
	KindRelease = "privacy.release"
)

// NameEvent is the payload of events that concern a whole experiment.
type NameEvent struct {
	Experiment string `json:"experiment"`
	// Reason says, for people, who did it and why.
	Reason string `json:"reason,omitempty"`
	// Grace is, only in [KindDelete], for how many nanoseconds the experiment is kept and can be
	// restored, at most [MaxGrace]. 0 deletes it for good, also while it is kept.
	Grace int64   `json:"grace,omitempty"`
	By    *Author `json:"by,omitempty"`
	// Serves says what is served from then on, where the event begins a policy version.
	Serves *Serving `json:"serves,omitempty"`
	// Deployed are, only in [KindClock], the shares by arm that the policy would deploy since
	// windows have closed; nil if there are none.
	Deployed []float64 `json:"deployed,omitempty"`
}

// DefinitionEvent is the payload of [KindDefinition].
type DefinitionEvent struct {
	Experiment string          `json:"experiment"`
	Definition json.RawMessage `json:"definition"`
	By         *Author         `json:"by,omitempty"`
	// Serves says what is served from then on.
	Serves *Serving `json:"serves,omitempty"`
}

// ArmEvent is the payload of events that concern an arm. Only [KindAddArm] has a value, only
// [KindVetoArm] and [KindLiftArm] have a reason.
type ArmEvent struct {
	Experiment string          `json:"experiment"`
	Arm        string          `json:"arm"`
	Value      json.RawMessage `json:"value,omitempty"`
	// Reason says, for people, who did it and why.
	Reason string  `json:"reason,omitempty"`
	By     *Author `json:"by,omitempty"`
	// Serves says what is served from then on.
	Serves *Serving `json:"serves,omitempty"`
}

// ConcludeEvent is the payload of [KindConclude].
type ConcludeEvent struct {
	Experiment string `json:"experiment"`
	// Mixture has the shares by arm that are served from now on; nil means the shares that the
	// policy would deploy.
	Mixture map[string]float64 `json:"mixture,omitempty"`
	Reason  string             `json:"reason,omitempty"`
	By      *Author            `json:"by,omitempty"`
	// Serves says what is served from then on.
	Serves *Serving `json:"serves,omitempty"`
}

// PrivacyEvent is the payload of [KindPrivacy].
type PrivacyEvent struct {
	Experiment string `json:"experiment"`
	// Secret is 32 random bytes in hexadecimal: see docs/formats/events.md. An export leaves
	// it out.
	Secret    string        `json:"secret"`
	Statement *dp.Statement `json:"statement"`
}

// ReleaseEvent is the payload of [KindRelease].
type ReleaseEvent struct {
	Experiment string `json:"experiment"`
	// Step is the number of the release, from 1, and Version the one whose sums it adds.
	Step    int64  `json:"step,omitempty"`
	Version uint64 `json:"version,omitempty"`
	// Sums are the noisy sums of all decisions so far, at arm·metrics + metric, about the midpoints
	// of the metrics' ranges.
	Sums []float64 `json:"sums,omitempty"`
	// Ended is the reason why there are no more releases; the other fields are then empty.
	Ended string `json:"ended,omitempty"`
}

// NewEvent encodes a payload as an event.
func NewEvent(kind string, time int64, payload any) (Event, error) {
	b, err := strictjson.Encode(payload)
	if err != nil {
		return Event{}, noregret.BadInputf(kind, "the event cannot be written: %w", err)
	}
	return Event{Kind: kind, Time: time, Payload: b}, nil
}

// open decodes a payload. Unknown and duplicate fields are errors; null is an empty list, which is
// how encoding/json writes a nil slice.
func (e *Event) open(v any) error {
	if err := strictjson.Decode(e.Payload, v, strictjson.Rules{Stored: true}); err != nil {
		return noregret.BadInputf(e.Kind, "the event cannot be decoded: %w", err)
	}
	return nil
}

// Concerns returns the name of the experiment in an event's payload, or "" if there is none.
func Concerns(payload []byte) string {
	var p struct {
		Experiment string `json:"experiment"`
	}
	if json.Unmarshal(payload, &p) != nil {
		return ""
	}
	return p.Experiment
}

// Units decodes the payload of [KindExposures], [KindFeedback] and [KindPrivateFeedback].
func Units(e Event) (join.Units, error) {
	var p join.Units
	err := e.openUnits(&p)
	return p, err
}

// NewUnits is [NewEvent] for [KindExposures] and [KindFeedback], and several times as fast.
// [State.Apply] uses p instead of decoding the payload, so p must not be changed afterwards.
func NewUnits(kind string, time int64, p *join.Units) (Event, error) {
	if b, ok := join.EncodeUnits(p); ok {
		return Event{Kind: kind, Time: time, Payload: b, units: p}, nil
	}
	// The payload may decode to something else than p, such as a context without blanks.
	return NewEvent(kind, time, p)
}

// Decoded returns the event with its payload decoded, so that [State.Apply] spares that. The result
// of Apply is the same. Decoded is safe for concurrent use: a host may decode the next events while
// it applies one.
func (e Event) Decoded() Event {
	if e.units != nil || !isUnits(e.Kind) {
		return e
	}
	p := new(join.Units)
	if e.openUnits(p) == nil { // Apply reports the error
		e.units = p
	}
	return e
}

// openUnits decodes the payload of exposures or feedback.
func (e *Event) openUnits(p *join.Units) error {
	if join.ReadUnits(e.Payload, p) {
		return nil
	}
	return e.open(p)
}
