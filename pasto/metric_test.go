package pasto_test

import (
	"math"
	"strings"
	"testing"

	"github.com/noregret/noregret/pasto"
)

// Invalid metrics, names and tables are errors.
func TestRefusedMetrics(t *testing.T) {
	nan := math.NaN()
	for name, m := range map[string][]pasto.Metric{
		"none":        {},
		"no name":     {{}},
		"twice":       {{Name: "x"}, {Name: "x"}},
		"no primary":  {{Name: "x", Role: pasto.Guardrail}},
		"lambda":      {{Name: "x"}, {Name: "y", Role: pasto.Guardrail, Lambda: -1}},
		"threshold":   {{Name: "x"}, {Name: "y", Role: pasto.Guardrail, Threshold: nan}},
		"weight":      {{Name: "x", Weight: -1}},
		"range":       {{Name: "x", Lower: 1, Upper: 0}},
		"hard metric": {{Name: "x", Hard: true}},
		"direction":   {{Name: "x", Direction: 3}},
		"role":        {{Name: "x", Role: 8}},
		"slack":       {{Name: "x"}, {Name: "y", Role: pasto.Guardrail, Slack: -1}},
	} {
		if _, err := pasto.NewGoals(m, 0); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if _, err := pasto.NewGoals([]pasto.Metric{{Name: "x"}}, -1); err == nil {
		t.Error("negative softness is accepted")
	}
	if err := pasto.ValidateNames([]string{"a", "b", "a"}); err == nil || !strings.Contains(err.Error(), "arms[2]") {
		t.Errorf("%v", err)
	}
	if pasto.ValidateNames(nil) == nil || pasto.ValidateNames([]string{""}) == nil ||
		pasto.ValidateNames([]string{"a", "b"}) != nil {
		t.Error("ValidateNames accepted a bad list or refused a good one")
	}
	for _, rows := range [][][]float64{{}, {{}}, {{1, 2}, {1}}, {{1, nan}}} {
		if _, err := pasto.TableOf(rows...); err == nil {
			t.Errorf("%v is accepted", rows)
		}
	}
}

// A field that a metric omits means the same as its default written out. The metrics of the goals,
// which files and snapshots show, stay as given.
func TestEnsureDefaults(t *testing.T) {
	given := []pasto.Metric{
		{Name: "gain"},
		{Name: "speed", Role: pasto.Guardrail, Direction: pasto.Down, Threshold: 3, Upper: 40},
		{Name: "trust", Role: pasto.Guardrail, Hard: true, Slack: 0.1},
		{Name: "seen", Role: pasto.Report},
	}
	full := []pasto.Metric{
		{Name: "gain", Weight: 1},
		{Name: "speed", Role: pasto.Guardrail, Direction: pasto.Down, Threshold: 3, Lambda: 5, Slack: 4e-8, Upper: 40},
		{Name: "trust", Role: pasto.Guardrail, Hard: true, Slack: 0.1},
		{Name: "seen", Role: pasto.Report},
	}
	for i, m := range given {
		if got := m.EnsureDefaults(); got != full[i] || got.EnsureDefaults() != full[i] {
			t.Errorf("%+v: got %+v, want %+v", m, got, full[i])
		}
	}
	f, err := pasto.NewGoals(given, 0)
	if err != nil {
		t.Fatal(err)
	}
	g, err := pasto.NewGoals(full, 0)
	if err != nil {
		t.Fatal(err)
	}
	if theta := []float64{2, 3.5, -0.05, 9}; f.Value(theta) != g.Value(theta) || f.Value(theta) != 2-5*0.25 {
		t.Errorf("values %v and %v, want 0.75", f.Value(theta), g.Value(theta))
	}
	if f.Metrics()[0].Weight != 0 || f.String() == g.String() {
		t.Error("the metrics as given have changed")
	}
	if !given[1].HasRange() || given[0].HasRange() || !given[0].Admits(1e9) || given[1].Admits(-1) {
		t.Error("ranges")
	}
}
