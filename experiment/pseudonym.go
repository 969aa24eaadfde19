package experiment

import (
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/internal/strictjson"
)

// Pseudonyms returns the payload of an event with other names in the place of the hashes of units.
// Payloads without units are returned as they are. What cannot be decoded and may have units
// becomes empty.
func Pseudonyms(kind string, payload []byte, of func(experiment, unit string) string) []byte {
	var to any
	e, err := Event{Kind: kind, Payload: payload}, error(nil)
	switch kind {
	case KindExposures, KindFeedback, KindPrivateFeedback:
		var p join.Units
		err = e.open(&p)
		for i := range p.Items {
			p.Items[i].Unit = of(p.Experiment, p.Items[i].Unit)
		}
		to = p
	default:
		return payload
	}
	if err != nil {
		to = join.Units{Experiment: Concerns(payload), Items: []join.Unit{}}
	}
	b, err := strictjson.Encode(to)
	if err != nil {
		return []byte("{}")
	}
	return b
}
