package api

import "encoding/json"

// Preview says what applying a definition would change.
type Preview struct {
	// Next is the policy version that would be in force.
	Next uint64 `json:"next"`
	// Changes lists the fields that differ, in the order of the definition, each with its defaults.
	Changes []FieldChange `json:"changes"`
	// Shares lists the arms with their share of the units now and then. Those of a contextual
	// policy are means over recent contexts.
	Shares []ShareChange `json:"shares"`
	// Evidence says what would be kept of what has been learned, and what would begin anew.
	Evidence []string `json:"evidence"`
}

// FieldChange is a field in which two definitions differ. Before or After is left out if the
// definition does not have the field.
type FieldChange struct {
	// Path names the field: "round.length", "arms.blue", "guardrails[0].min". The path of a list
	// whose elements have only changed their order is that of the list, and the values are the
	// elements' names.
	Path   string          `json:"path"`
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
}

// ShareChange is the share of an arm before and after a change: 0 for an arm that is not there.
type ShareChange struct {
	Arm    string  `json:"arm"`
	Before float64 `json:"before"`
	After  float64 `json:"after"`
}
