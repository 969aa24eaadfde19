package experiment

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/internal/strictjson"
)

// KindAudit records what somebody did that changes no experiment: [AuditEvent].
const KindAudit = "audit"

// The actions of [AuditEvent].
const (
	// ActionBackup is a backup over HTTP, which has the keys.
	ActionBackup = "backup"
	// ActionTokens is a change of the file of access tokens.
	ActionTokens = "tokens"
)

// Author says who made an event, for the audit trail. Events that the service makes by itself have
// none.
type Author struct {
	// Who is the name of the access token, "" where none are required.
	Who string `json:"who,omitempty"`
	// From is the address of the client.
	From string `json:"from,omitempty"`
	// What says, for people, what was changed, where the event alone does not.
	What string `json:"what,omitempty"`
}

// AuditEvent is the payload of [KindAudit].
type AuditEvent struct {
	Action string  `json:"action"`
	By     *Author `json:"by"`
}

// maxWhat bounds the text of Author.What, in bytes.
const maxWhat = 500

// WithAuthor returns the event with its author. The payload must be one of this package, and have a
// field for the author.
func (e Event) WithAuthor(by Author) (Event, error) {
	by.What = cutText(by.What, maxWhat)
	b, err := strictjson.Encode(by)
	if err != nil {
		return e, noregret.BadInputf(e.Kind, "the author cannot be written: %w", err)
	}
	head, ok := bytes.CutSuffix(e.Payload, []byte("}"))
	if !ok || len(head) < 2 {
		return e, noregret.BadInputf(e.Kind, "the payload has no field beside which an author can be")
	}
	e.Payload = slices.Concat(head, []byte(`,"by":`), b, []byte("}"))
	return e, nil
}

// WithoutAddress returns the payload of an event without the address of its author. A payload
// without an address is returned as it is.
func WithoutAddress(payload []byte) []byte {
	var p struct {
		By *Author `json:"by"`
	}
	if !bytes.Contains(payload, []byte(`"by"`)) || json.Unmarshal(payload, &p) != nil || p.By == nil || p.By.From == "" {
		return payload
	}
	var fields map[string]json.RawMessage
	err := json.Unmarshal(payload, &fields)
	p.By.From = ""
	if err == nil {
		fields["by"], err = strictjson.Encode(p.By)
	}
	b, err2 := strictjson.Encode(fields)
	if err != nil || err2 != nil {
		return []byte("{}")
	}
	return b
}

// cutText cuts a text that has more than most bytes at the end of a word.
func cutText(text string, most int) string {
	if len(text) <= most {
		return text
	}
	text = strings.ToValidUTF8(text[:most-4], "")
	if i := strings.LastIndexByte(text, ' '); i > 0 {
		text = text[:i]
	}
	return text + " ..."
}

// mostAudits is the number of entries of the audit trail that the state keeps. The log has those
// before them for as long as it keeps events.
const mostAudits = 1000

// audited are the kinds of events that have authors.
var audited = []string{
	KindDefinition, KindDelete, KindRestore, KindPause, KindResume, KindRollback, KindAddArm, KindRetireArm,
	KindVetoArm, KindLiftArm, KindConclude, KindAudit,
}

// addAudit adds an event that was applied to the audit trail, if it has an author.
func addAudit(s *State, position uint64, e *Event, o *Outcome) {
	if s.scratch || o.Err != nil || !slices.Contains(audited, e.Kind) {
		return
	}
	var p struct {
		Action     string  `json:"action"`
		Experiment string  `json:"experiment"`
		Arm        string  `json:"arm"`
		Reason     string  `json:"reason"`
		By         *Author `json:"by"`
	}
	if json.Unmarshal(e.Payload, &p) != nil || p.By == nil {
		return
	}
	action := e.Kind
	if action == KindAudit {
		action = p.Action
	}
	s.trail = append(s.trail[max(0, len(s.trail)+1-mostAudits):len(s.trail):len(s.trail)], api.AuditEntry{
		Position: position, Hidden: s.hidden, Time: time.Unix(0, e.Time).UTC(), Action: action,
		Experiment: p.Experiment, Arm: p.Arm, Who: p.By.Who, From: p.By.From, What: p.By.What, Reason: p.Reason,
	})
}

// applyAudit applies an event that changes no experiment.
func applyAudit(e *Event) Outcome {
	var p AuditEvent
	if err := e.open(&p); err != nil {
		return Outcome{Err: err}
	}
	if p.Action == "" || p.By == nil {
		return Outcome{Err: noregret.BadInputf(e.Kind, "an action and its author are required")}
	}
	return Outcome{}
}

// Audit returns the entries of a state's audit trail before a position, 0 for the end, the newest
// first. Only those that keep returns true for are among them, nil for all. There are at most as
// many as the limit, 0 for all.
func Audit(s *State, keep func(e *api.AuditEntry) bool, before uint64, limit int) (out []api.AuditEntry) {
	for i := range slices.Backward(s.trail) {
		if limit > 0 && len(out) == limit {
			break
		}
		// keep sees all entries: it may depend on the newer ones.
		if e := &s.trail[i]; (keep == nil || keep(e)) && (before == 0 || e.Position < before) {
			out = append(out, *e)
		}
	}
	return out
}
