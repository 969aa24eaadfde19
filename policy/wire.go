package policy

import (
	"encoding/json"
	"time"
)

// The forms of the service's API that server and client share. docs/service.md and the OpenAPI
// document describe them.

// Problem is the form of every error: RFC 9457, application/problem+json.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	// Code is the module's, Place where the fault lies: "definition:12: arms[0].name", "items", ...
	Code  string `json:"code"`
	Place string `json:"place,omitempty"`
}

// Summary is an experiment in a list.
type Summary struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	State       Status `json:"state"`
	Version     uint64 `json:"version"`
	Round       uint64 `json:"round"`
}

// AuditEntry says who changed something.
type AuditEntry struct {
	// Position is that of the event in the log.
	Position uint64    `json:"position"`
	Time     time.Time `json:"time"`
	// Action is the kind of the event, such as definition, pause or conclude, or "backup" or "tokens".
	Action string `json:"action"`
	// Experiment and Arm are what was changed, "" for what concerns no experiment, or no single arm.
	Experiment string `json:"experiment,omitempty"`
	Arm        string `json:"arm,omitempty"`
	// Who is the name of the access token, "" where none are required, and From the client's address.
	Who  string `json:"who,omitempty"`
	From string `json:"from,omitempty"`
	// What says what was changed, such as the fields of a definition.
	What   string `json:"what,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// Audit is a page of the audit trail, the newest entry first.
type Audit struct {
	Entries []AuditEntry `json:"entries"`
	// Next is the position before which the next page begins, 0 if this is the last one.
	Next uint64 `json:"next,omitempty"`
}

// Applied is the result of applying a definition.
type Applied struct {
	Name    string `json:"name"`
	Version uint64 `json:"version"`
	Created bool   `json:"created"`
	Changed bool   `json:"changed"`
}

// UnitContext is a unit to decide for, with its context if the policy is contextual.
type UnitContext struct {
	ID      string          `json:"id"`
	Context json.RawMessage `json:"context,omitempty"`
}

// Decision is a decision in an answer of the API.
type Decision struct {
	Unit       string          `json:"unit"`
	Arm        string          `json:"arm"`
	Value      json.RawMessage `json:"value"`
	Propensity float64         `json:"propensity"`
	Version    uint64          `json:"version"`
	Token      string          `json:"token"`
}

// StateName identifies a state: its position in the log and its digest. Any two folds of the same
// log agree on both.
type StateName struct {
	Position uint64 `json:"position"`
	Digest   string `json:"digest"`
}
