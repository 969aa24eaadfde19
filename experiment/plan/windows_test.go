package plan

import (
	"context"
	"strings"
	"testing"

	"github.com/noregret/noregret/experiment/definition"
)

// TestWindows: the closed form waits for the window of each metric that decides, and for no other
// one.
func TestWindows(t *testing.T) {
	days := func(clicks, buys, revenue string) (gain, held float64) {
		t.Helper()
		text := shopWith("{metric: buys, min_change: -0.05}", ", range: [0, 1e6], default: 0, window: "+revenue)
		for name, window := range map[string]string{"clicks": clicks, "buys": buys} {
			text = strings.Replace(text, "{name: "+name+", kind: count, range: [0, 1]}",
				"{name: "+name+", kind: count, range: [0, 1], default: 0, window: "+window+"}", 1)
		}
		d, err := definition.Parse("shop.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		r, err := Closed(context.Background(), d)
		if err != nil {
			t.Fatal(err)
		}
		return *r.Gain.Days.ClosedForm, *r.Guardrails[0].Held.ClosedForm
	}
	soon, held := days("6h", "6h", "6h")
	if other, h := days("6h", "6h", "7d"); other != soon || h != held {
		t.Errorf("a metric that decides nothing, with a window of a week: %v and %v days, want %v and %v", other, h,
			soon, held)
	}
	// The guardrail holds the mixture back until it has matured.
	guarded, h := days("6h", "7d", "6h")
	late, all := days("7d", "7d", "7d")
	if !(guarded >= soon+6 && guarded <= late && h > held+6 && all > held+6) {
		t.Errorf("gain on day %v with a guardrail of a week, %v with one of six hours, %v with all of a week; held on "+
			"%v, %v, %v", guarded, soon, late, h, held, all)
	}
	goal, h := days("7d", "6h", "6h")
	if !(goal >= soon+6 && goal <= late+1 && h < held+6) {
		t.Errorf("gain on day %v with a goal of a week, %v with one of six hours; held on %v", goal, soon, h)
	}
}
