package experiment

import (
	"testing"

	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/strictjson"
)

// FuzzBegin checks that every accepted definition can begin. [definition.Parse] builds no learner,
// so its rules must be as strict as the learners'.
func FuzzBegin(f *testing.F) {
	for _, text := range []string{
		`{"name":"x","arms":{"box":{"w":{"low":0,"high":1}}},"metrics":[{"name":"m"}],
		  "objective":{"goals":[{"metric":"m"}]}}`,
		`{"name":"x","arms":[{"name":"a","value":1},{"name":"b","value":2}],"metrics":[{"name":"m","range":[0,1]}],
		  "objective":{"goals":[{"metric":"m","weight":1e-15}],"soft":3},"control":{"arm":"a","share":0.1},
		  "guardrails":[{"metric":"m","max_change":0.1,"penalty":1e15,"action":"shrink"}],
		  "drift":{"kind":"discount","rate":0.01},"exploration_floor":1,"hold_back":0.5}`,
		`{"name":"x","arms":{"grid":{"w":[1,2],"v":["a","b"]}},"metrics":[{"name":"m"}],
		  "objective":{"goals":[{"metric":"m"}]},"guardrails":[{"metric":"m","min":1e15,"hard":true}]}`,
		`{"name":"x","arms":[{"name":"a","value":1}],"metrics":[{"name":"m"}],
		  "policy":{"kind":"fixed","split":{"a":1}}}`,
		`{"name":"x","arms":[{"name":"a","value":1}],"metrics":[{"name":"m"}],"objective":{"goals":[{"metric":"m"}]},
		  "drift":{"kind":"window","rounds":100000}}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := definition.Parse("f", []byte(text))
		if err != nil || d.Arms.Nodes != nil && *d.Arms.Nodes > 50 || len(d.Arms.Box) > 3 {
			return
		}
		out, err := strictjson.Encode(d)
		if err != nil {
			t.Fatal(err)
		}
		e, err := NewEvent(KindDefinition, 1, DefinitionEvent{Experiment: d.Name, Definition: out})
		if err != nil {
			t.Fatal(err)
		}
		s := NewState()
		if _, o, err := s.Step(e); err != nil || o.Err != nil {
			t.Fatalf("an accepted definition cannot begin: %v %v", err, o.Err)
		}
		s.Policy(d.Name).Decide("unit")
	})
}
