package experiment

import (
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/internal/strictjson"
)

// Redact returns the payload of an event as it may leave the data directory. Feedback of a private
// experiment becomes an event without items, so that positions stay as they are, and the secret of
// its state is left out. Private reports whether a name is or was that of a private experiment.
// Other payloads are returned as they are. What cannot be decoded and may be feedback becomes
// empty.
func Redact(kind string, payload []byte, private func(name string) bool) []byte {
	var to any
	switch kind {
	case KindFeedback, KindPrivateFeedback, KindAggregate:
		name := Concerns(payload)
		if name != "" && kind != KindPrivateFeedback && !private(name) {
			return payload
		}
		to = join.Units{Experiment: name, Items: []join.Unit{}}
	case KindPrivacy:
		var p PrivacyEvent
		e := Event{Kind: kind, Payload: payload}
		if e.open(&p) != nil {
			p = PrivacyEvent{Experiment: Concerns(payload)}
		}
		p.Secret = ""
		to = p
	default:
		return payload
	}
	b, err := strictjson.Encode(to)
	if err != nil {
		return []byte("{}")
	}
	return b
}

// Releasing reports whether an experiment is private and will release more, also if it was deleted
// and can be restored.
func Releasing(s *State, name string) bool {
	x := find(s, name)
	return x != nil && x.Private != nil && x.Private.Ended == ""
}
