package api

import (
	"encoding/json"
	"time"

	"github.com/noregret/noregret/policy"
)

// Problem is the form of every error: RFC 9457, application/problem+json.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	// Code is the module's, Place where the fault lies: "definition:12: arms[0].name", "items", ...
	Code  string `json:"code" enum:"internal,usage,bad_input,not_found,diverged"`
	Place string `json:"place,omitempty"`
}

// Summary is an experiment in a list.
type Summary struct {
	Name        string        `json:"name"`
	Description string        `json:"description,omitempty"`
	State       policy.Status `json:"state"`
	Version     uint64        `json:"version"`
	Round       uint64        `json:"round"`
	// Deleted says that the experiment was deleted and can be restored, nil for one that is there.
	Deleted *Deletion `json:"deleted,omitempty"`
}

// Deletion says when an experiment was deleted, until when it can be restored, and why it was
// deleted.
type Deletion struct {
	Time   time.Time `json:"time"`
	Until  time.Time `json:"until"`
	Reason string    `json:"reason,omitempty"`
}

// Applied is the result of applying a definition, or of asking what that would change: Created and
// Changed are then what would be, and Version is the one in force, 0 for none.
type Applied struct {
	Name    string `json:"name"`
	Version uint64 `json:"version"`
	Created bool   `json:"created"`
	Changed bool   `json:"changed"`
	// Warnings says what an operator should know of a private experiment that begins: the account
	// that it opens beside those of others, and a budget that protects little.
	Warnings []string `json:"warnings,omitempty"`
	// Preview says what would change, nil if the definition has been applied.
	Preview *Preview `json:"preview,omitempty"`
}

// UnitContext is a unit to decide for, with its context if the policy is contextual.
type UnitContext struct {
	ID      string          `json:"id" minLength:"1" maxLength:"512"`
	Context json.RawMessage `json:"context,omitempty" schema:"Context"`
}

// Decision is a decision in an answer of the API.
type Decision struct {
	Unit       string          `json:"unit"`
	Arm        string          `json:"arm"`
	Value      json.RawMessage `json:"value"`
	Propensity float64         `json:"propensity" exclusiveMinimum:"0" maximum:"1"`
	Version    uint64          `json:"version"`
	Token      string          `json:"token"`
}

// Decisions is the answer to a request for decisions, in the order of its units.
type Decisions struct {
	Decisions []Decision `json:"decisions"`
}

// Node is the part of a process in a cluster, and how old its state is.
type Node struct {
	// Role is leads for the node that appends to the log, and alone for a service without others.
	Role string `json:"role" enum:"leads,follows,alone"`
	// Term is that of the cluster's lease, and Leader the address of the node that leads, if one is
	// known. Address is this node's.
	Term    uint64 `json:"term,omitempty"`
	Leader  string `json:"leader,omitempty"`
	Address string `json:"address,omitempty"`
	// Age is how many seconds ago the state had all events of the log.
	Age float64 `json:"age" minimum:"0"`
	// Position is that of the state, and End the latest one that the log is known to have.
	Position uint64 `json:"position,omitempty"`
	End      uint64 `json:"end,omitempty"`
}

// StateName identifies a state: its position in the log and its digest. Any two folds of the same
// log agree on both.
type StateName struct {
	Position uint64 `json:"position"`
	Digest   string `json:"digest" pattern:"^[0-9a-f]{64}$"`
}
