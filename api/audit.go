package api

import "time"

// AuditEntry says who changed something.
type AuditEntry struct {
	// Position is that of the event in the log, for who may see how much feedback private
	// experiments get, and else the public one: see docs/privacy.md.
	Position uint64 `json:"position"`
	// Hidden is how much smaller the public position is, in the state only: answers leave it out.
	Hidden uint64    `json:"hidden,omitempty" hidden:"true"`
	Time   time.Time `json:"time"`
	// Action is the kind of the event, such as definition, pause or conclude, or "backup" or
	// "tokens".
	Action string `json:"action"`
	// Experiment and Arm are what was changed, "" for what concerns no experiment, or no single
	// arm.
	Experiment string `json:"experiment,omitempty"`
	Arm        string `json:"arm,omitempty"`
	// Who is the name of the access token, "" where none are required, and From the client's
	// address.
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
