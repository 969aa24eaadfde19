package experiment

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/noregret/noregret"
)

// Event is what the state is folded from: what the host appends to its log and hands to
// [State.Apply], in the log's order. docs/formats/events.md describes the payloads, which are JSON.
type Event struct {
	Kind    string
	Time    int64 // nanoseconds since 1970
	Payload []byte
}

// The kinds of events.
const (
	// KindDefinition creates an experiment, or changes what may change of it: [DefinitionEvent].
	KindDefinition = "definition"
	// KindDelete removes an experiment: [NameEvent].
	KindDelete = "delete"
	// KindExposures says that units saw what was decided: [UnitsEvent].
	KindExposures = "exposures"
	// KindFeedback reports metrics of units: [UnitsEvent].
	KindFeedback = "feedback"
	// KindAggregate reports sums over units: [AggregateEvent].
	KindAggregate = "aggregate"
	// KindRound closes the running round: [NameEvent].
	KindRound = "round"
	// KindClock says only that time has passed: [NameEvent].
	KindClock = "clock"
	// KindPause and KindResume stop and start learning: [NameEvent].
	KindPause  = "pause"
	KindResume = "resume"
	// KindRollback gives every unit the control arm: [NameEvent].
	KindRollback = "rollback"
	// KindAddArm adds an arm and KindRetireArm takes one out: [ArmEvent].
	KindAddArm    = "arm.add"
	KindRetireArm = "arm.retire"
)

// NameEvent is the payload of events that concern a whole experiment.
type NameEvent struct {
	Experiment string `json:"experiment"`
	// Reason is for people: who did it and why.
	Reason string `json:"reason,omitempty"`
}

// DefinitionEvent is the payload of [KindDefinition].
type DefinitionEvent struct {
	Experiment string          `json:"experiment"`
	Definition json.RawMessage `json:"definition"`
}

// ArmEvent is the payload of [KindAddArm] and [KindRetireArm]; to retire an arm its value is left
// out.
type ArmEvent struct {
	Experiment string          `json:"experiment"`
	Arm        string          `json:"arm"`
	Value      json.RawMessage `json:"value,omitempty"`
}

// UnitsEvent is the payload of [KindExposures] and [KindFeedback].
type UnitsEvent struct {
	Experiment string      `json:"experiment"`
	Items      []UnitEvent `json:"items"`
	// Rejected counts items that named this experiment and were refused before they became an
	// event.
	Rejected int64 `json:"rejected,omitempty"`
}

// UnitEvent is what a verified token said, with the metrics reported for it.
type UnitEvent struct {
	Version    uint64             `json:"v"`
	Arm        int                `json:"a"`
	Propensity float64            `json:"p"`
	Unit       string             `json:"u"` // the unit's hash, 16 hexadecimal digits
	Time       int64              `json:"t"` // of the decision, in milliseconds since 1970
	Metrics    map[string]float64 `json:"m,omitempty"`
}

// UnitOf makes the event of a token.
func UnitOf(t Token, metrics map[string]float64) UnitEvent {
	return UnitEvent{t.Version, t.Arm, t.Propensity, unitText(t.Unit), t.Time.UnixMilli(), metrics}
}

// AggregateEvent is the payload of [KindAggregate]: sums that a source formed itself. A source
// numbers its reports upwards; one with a number not above the last is a duplicate.
type AggregateEvent struct {
	Experiment string          `json:"experiment"`
	Source     string          `json:"source"`
	Sequence   uint64          `json:"sequence"`
	Items      []AggregateItem `json:"items"`
}

// AggregateItem are the sums of one policy version and arm.
type AggregateItem struct {
	Version uint64 `json:"version"`
	Arm     string `json:"arm"`
	// HeldBack marks the units that are held back.
	HeldBack bool `json:"held_back,omitempty"`
	// Units is the number of units exposed.
	Units int64 `json:"units"`
	// Metrics are by name; units without a value do not count in a metric.
	Metrics map[string]Sums `json:"metrics,omitempty"`
	// Pairs are of ratios: the units that have both parts, with a default in the place of one that
	// is missing.
	Pairs map[string]PairSums `json:"pairs,omitempty"`
}

// Sums are the number of values, their sum and the sum of their squares.
type Sums struct {
	N       int64   `json:"n"`
	Sum     float64 `json:"sum"`
	Squares float64 `json:"squares"`
}

// PairSums are the number of units with both parts of a ratio, the numerator x and the denominator
// y, and their sums, sums of squares and sum of products.
type PairSums struct {
	N  int64   `json:"n"`
	X  float64 `json:"x"`
	Y  float64 `json:"y"`
	XX float64 `json:"xx"`
	YY float64 `json:"yy"`
	XY float64 `json:"xy"`
}

// Add counts a unit.
func (p *PairSums) Add(x, y float64) {
	p.N++
	p.X += x
	p.Y += y
	p.XX += float64(x * x)
	p.YY += float64(y * y)
	p.XY += float64(x * y)
}

// NewEvent makes an event of a payload.
func NewEvent(kind string, time int64, payload any) (Event, error) {
	b, err := encode(payload)
	if err != nil {
		return Event{}, noregret.BadInputf(kind, "the event cannot be written: %w", err)
	}
	return Event{kind, time, b}, nil
}

// encode is the package's one way to write JSON: compact, and without the escapes for HTML, which
// would change the values of arms from one reading to the next.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// open reads a payload; unknown fields are refused.
func (e *Event) open(v any) error {
	d := json.NewDecoder(bytes.NewReader(e.Payload))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return noregret.BadInputf(e.Kind, "the event cannot be read: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return noregret.BadInputf(e.Kind, "the event cannot be read: text after its end")
	}
	return nil
}

// Concerns is the experiment that an event's payload names, "" for none.
func Concerns(payload []byte) string {
	var p struct {
		Experiment string `json:"experiment"`
	}
	if json.Unmarshal(payload, &p) != nil {
		return ""
	}
	return p.Experiment
}

// Hash is the unit's hash, [Hash]("unit", salt, unit).
func (e *UnitEvent) Hash() (unit uint64, ok bool) { return parseUnit(e.Unit) }

// Units reads the payload of [KindExposures] and [KindFeedback].
func Units(e Event) (UnitsEvent, error) {
	var p UnitsEvent
	err := e.open(&p)
	return p, err
}
