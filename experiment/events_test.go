package experiment

import (
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/experiment/join"
)

// TestEventsAreStrict checks that events in the log are read strictly: null lists, which
// encoding/json writes for nil slices, are accepted, and forms that encoding/json would accept but
// noregret never writes are errors.
func TestEventsAreStrict(t *testing.T) {
	for payload, want := range map[string]string{
		`{"experiment": "x", "items": null}`:                      "",
		`{"experiment": "x", "items": [], "rejected": 2}`:         "",
		`{"experiment": "x", "items": [{"v": 1, "u": "\ud800"}]}`: "",
		`{"experiment": "x", "items": [{"v": 1, "v": 2}]}`:        "items[0].v: duplicate field",
		`{"experiment": "x", "items": [{"m": {"a": 1, "a": 2}}]}`: "items[0].m.a: duplicate field",
		`{"experiment": "x", "items": [{"m": {"a": null}}]}`: "items[0].m.a: must be a number in the range of " +
			"float64, not null",
		`{"Experiment": "x"}`:            "Experiment: unknown field; known fields: experiment, items, rejected",
		`{"experiment": "x", "item": 1}`: "item: unknown field; known fields: experiment, items, rejected",
		`{"experiment": "x"} {}`:         "text follows the value at byte 21",
	} {
		_, err := Units(Event{Kind: KindFeedback, Payload: []byte(payload)})
		got := ""
		if err != nil {
			got = err.Error()
		}
		if want != "" {
			want = "feedback: the event cannot be decoded: " + want
		}
		if got != want || err != nil && noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("%s\n got %s\nwant %s", payload, got, want)
		}
	}
}

// BenchmarkUnitsEvent decodes an event of 100 units.
func BenchmarkUnitsEvent(b *testing.B) {
	p := join.Units{Experiment: "ranking"}
	for range 100 {
		p.Items = append(p.Items, join.Unit{
			Version: 12, Arm: 3, Propensity: 0.25, Unit: "0123456789abcdef", Time: 1_700_000_000_000,
			Metrics: map[string]float64{"watch": 12.5, "clicks": 3},
		})
	}
	e, err := NewEvent(KindFeedback, 0, p)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Units(e); err != nil {
			b.Fatal(err)
		}
	}
}
