package definition

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

// windows is a definition with metrics of three windows.
const windows = `name: x
arms: [{name: a, value: 1}, {name: b, value: 2}]
control: {arm: a, share: 0.5}
metrics:
  - {name: click, window: 1h}
  - {name: seen, kind: count, window: 60m}
  - {name: rate, kind: ratio, numerator: click, denominator: seen}
  - {name: buy, window: 7d}
  - {name: stay}
objective: {goals: [{metric: stay}, {metric: click}]}
guardrails: [{metric: rate, min: 0}]
attribution_window: 1d
`

func TestWindows(t *testing.T) {
	d, err := Parse("d.yaml", []byte(windows))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []time.Duration{time.Hour, time.Hour, time.Hour, 168 * time.Hour, 24 * time.Hour} {
		if got := d.Window(i); got != want {
			t.Errorf("%s has the window %v, want %v", d.Metrics[i].Name, got, want)
		}
	}
	if shortest, longest := d.Windows(); shortest != time.Hour || longest != 168*time.Hour {
		t.Errorf("windows from %v to %v", shortest, longest)
	}
	if got := d.LearnedMetrics(); !slices.Equal(got, []int{0, 2, 4}) {
		t.Errorf("learned metrics %v, want those of goals and guardrails", got)
	}
	// The JSON form reads as it was written.
	text, err := json.Marshal(d)
	if err != nil || strings.Count(string(text), `"window":`) != 3 {
		t.Fatalf("%s, %v", text, err)
	}
	again, err := Parse("d.json", text)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := json.Marshal(again); err != nil || string(b) != string(text) {
		t.Errorf("%s became %s: %v", text, b, err)
	}
	// A bandit learns from its goals, whatever the guardrails wait for.
	d.Policy.Kind = "thompson"
	if got := d.LearnedMetrics(); !slices.Equal(got, []int{0, 4}) {
		t.Errorf("learned metrics of a bandit: %v", got)
	}
	if d.Objective = nil; len(d.LearnedMetrics()) != len(d.Metrics) {
		t.Errorf("learned metrics without an objective: %v", d.LearnedMetrics())
	}
	// A change of the attribution window moves the metrics that have none of their own.
	d.AttributionWindow /= 2
	if d.Window(4) != 12*time.Hour || d.Window(0) != time.Hour {
		t.Errorf("windows %v and %v", d.Window(4), d.Window(0))
	}
}
