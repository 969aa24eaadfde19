package experiment

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/noregret/noregret/experiment/join"
)

// TestNewUnits: an event of NewUnits has the payload of NewEvent, and what it spares the fold to
// decode is what the payload decodes to.
func TestNewUnits(t *testing.T) {
	name := rapid.StringMatching("[a-z0-9_ <&\x7f]{0,8}|[a\"\\\\\n\u00e9\u2028]{1,4}")
	number := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{
		0, math.Copysign(0, -1), 1e-6, 9.99e-7, 1e-9, -1e-10, 1e-123, 1e20, 1e21, 123456789e30, .1, math.MaxFloat64,
		math.SmallestNonzeroFloat64, math.NaN(), math.Inf(-1),
	}))
	check := func(t interface{ Fatalf(string, ...any) }, p join.Units) (spared bool) {
		want, wantErr := NewEvent(KindFeedback, 7, p)
		got, err := NewUnits(KindFeedback, 7, &p)
		if (err == nil) != (wantErr == nil) || err == nil && (string(got.Payload) != string(want.Payload) ||
			got.Kind != want.Kind || got.Time != want.Time) {
			t.Fatalf("%+v\n got %s, %v\nwant %s, %v", p, got.Payload, err, want.Payload, wantErr)
		}
		if got.units == nil {
			return false
		}
		var strict join.Units
		decoded, err := Units(want)
		if d := cmp.Diff(decoded, *got.units); err != nil || d != "" {
			t.Fatalf("%s: %v\n%s", want.Payload, err, d)
		}
		err = want.open(&strict)
		if d := cmp.Diff(decoded, strict); err != nil || d != "" {
			t.Fatalf("%s: %v\n%s", want.Payload, err, d)
		}
		return true
	}
	if !check(t, join.Units{Experiment: "toy", Rejected: 1, Items: []join.Unit{
		{Version: 3, Arm: 1, Propensity: .25, Unit: "5f3a", Time: 9, Metrics: map[string]float64{"x": 1e-9, "n": -2}},
	}}) {
		t.Error("a simple event does not spare the fold to decode it")
	}
	rapid.Check(t, func(t *rapid.T) {
		p := join.Units{
			Experiment: name.Draw(t, "experiment"), Rejected: rapid.Int64Range(0, 2).Draw(t, "rejected"),
			Items: []join.Unit{},
		}
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			e := join.Unit{
				Version: rapid.Uint64().Draw(t, "version"), Arm: rapid.Int().Draw(t, "arm"),
				Propensity: number.Draw(t, "propensity"), Unit: name.Draw(t, "unit"),
				Time:    rapid.Int64().Draw(t, "time"),
				Metrics: rapid.MapOfN(name, number, 0, 3).Draw(t, "metrics"),
			}
			if len(e.Metrics) == 0 {
				e.Metrics = nil
			}
			if rapid.IntRange(0, 9).Draw(t, "contextual") == 0 {
				e.Context = json.RawMessage(`{"a": 1}`)
			}
			p.Items = append(p.Items, e)
		}
		check(t, p)
	})
}

// FuzzUnits: what the fast reader of units accepts, Event.open reads in the same way, and what it
// leaves to Event.open has the same result and the same error.
func FuzzUnits(f *testing.F) {
	const one = `{"experiment":"toy","items":[{"v":12,"a":3,"p":0.25,"u":"0123456789abcdef","t":1700000000000`
	f.Add(one + `}]}`)
	f.Add(one + `,"m":{"x":1.5,"n":-2}},{"v":0,"a":-1,"p":0,"u":"","t":-7}],"rejected":4}`)
	for _, end := range []string{
		`,"m":{"x":1,"x":2}}]}`, `,"m":{}}]}`, `,"m":null}]}`, `,"m":{"x":01}}]}`, `,"m":{"x":-0}}]}`, `,"m":{"x":1.}}]}`,
		`,"m":{"x":1e3}}]}`, `,"m":{"x":99999999999999999999.5}}]}`, `,"c":{}}]}`, `}],"rejected":-0}`, `}],"rejected":00}`,
		`}]} `, `}]}x`, `}`, `}],"rejected":9223372036854775808}`, `,"m":{"x\n":1}}]}`, `,"m":{"é":1}}]}`, `5}]}`, `},]}`,
	} {
		f.Add(one + end)
	}
	f.Fuzz(func(t *testing.T, payload string) {
		e := Event{Kind: KindFeedback, Payload: []byte(payload)}
		var want join.Units
		wantErr := e.open(&want)
		got, err := Units(e)
		if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
			t.Fatalf("%s\n got %v\nwant %v", payload, err, wantErr)
		}
		if d := cmp.Diff(want, got); err == nil && d != "" {
			t.Fatalf("%s\n%s", payload, d)
		}
		if d := e.Decoded(); (d.units != nil) != (wantErr == nil) {
			t.Fatalf("%s: decoded ahead: %v, want %v", payload, d.units, wantErr)
		}
	})
}
