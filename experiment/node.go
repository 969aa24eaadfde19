package experiment

import (
	"encoding/json"

	"github.com/noregret/noregret"
)

// The kinds of events of the nodes of a cluster. They concern no experiment, advance no time and
// have no public position ([IsHidden]).
const (
	// KindLeads says that a node begins to lead: only it appends from now on. [LeadsEvent].
	KindLeads = "node.leads"
	// KindDigest says what an earlier state of the leading node was: [DigestEvent].
	KindDigest = "node.digest"
)

// LeadsEvent is the payload of [KindLeads]. Later versions may add fields.
type LeadsEvent struct {
	// Term is that of the node's lease, and Address where other nodes reach it.
	Term    uint64 `json:"term"`
	Address string `json:"address"`
	// Protocol is the version of the rules of which the node makes use from now on: a node that
	// does not know it must not go on.
	Protocol int `json:"protocol"`
	// Keys has a digest of each key that signs tokens, by its number, and Key is the number of the
	// one that this node signs with.
	Keys map[string]string `json:"keys"`
	Key  string            `json:"key"`
}

// DigestEvent is the payload of [KindDigest].
type DigestEvent struct {
	// Position is that of an earlier event of the same kind, 0 for none, and Digest that of the
	// state right after it ([Frozen.Digest]).
	Position uint64 `json:"position,omitempty"`
	Digest   string `json:"digest,omitempty"`
}

// Leader returns what the node has said of itself that led last, nil if none has.
func Leader(s *State) *LeadsEvent {
	if s.leads == nil {
		return nil
	}
	l := *s.leads
	return &l
}

// OpenLeads decodes the payload of [KindLeads], and OpenDigest that of [KindDigest]. Both pass over
// fields that they do not know.
func OpenLeads(e Event) (l LeadsEvent, err error) { return l, openNode(e, &l) }

// OpenDigest decodes the payload of [KindDigest].
func OpenDigest(e Event) (d DigestEvent, err error) { return d, openNode(e, &d) }

func openNode(e Event, v any) error {
	if err := json.Unmarshal(e.Payload, v); err != nil {
		return noregret.BadInputf(e.Kind, "the event cannot be decoded: %w", err)
	}
	return nil
}

// isNode reports whether events of a kind are of the nodes of a cluster.
func isNode(kind string) bool { return kind == KindLeads || kind == KindDigest }

// applyNode applies an event of a node.
func applyNode(s *State, e Event) Outcome {
	s.hidden++
	if e.Kind == KindDigest {
		_, err := OpenDigest(e)
		return Outcome{Err: err}
	}
	l, err := OpenLeads(e)
	if err == nil {
		s.leads = &l
	}
	return Outcome{Err: err}
}
