package policy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/internal/cli/clitest"
	"github.com/noregret/noregret/policy"
)

// TestEvaluatePolicyRefuses checks that bad flags are found before the log is read.
func TestEvaluatePolicyRefuses(t *testing.T) {
	cmds.Refused(t,
		clitest.Refusal{"evaluate-policy", "evaluate-policy takes one LOG, got 0 arguments"},
		clitest.Refusal{"evaluate-policy a b", "evaluate-policy takes one LOG, got 2 arguments"},
		clitest.Refusal{"evaluate-policy x --clip 0", "--clip: 0 is out of range, want a finite number above 0"},
		clitest.Refusal{"evaluate-policy x --switch Inf", "--switch: +Inf is out of range"},
		clitest.Refusal{"evaluate-policy x --max-weight 0", "--max-weight: 0 is out of range"},
		clitest.Refusal{"evaluate-policy x --rewards 1,0", "--rewards: [1 0]: want two numbers"},
		clitest.Refusal{"evaluate-policy x --format xml", `invalid argument "xml" for "--format" flag: want auto or csv`},
		clitest.Refusal{"evaluate-policy -", "--arms: standard input or a pipe is read once"},
	)
}

const shop = `name: shop
arms: [{name: small, value: 1}, {name: large, value: 2}]
metrics: [{name: bought, range: [0, 1], default: 0}]
objective: {goals: [{metric: bought}]}
policy: {kind: fixed, split: {small: 0.75, large: 0.25}}
attribution_window: 10m
round: {length: 5m, min_units: 1}
`

// writeExport writes the export of an experiment in which every second unit of the arm large buys,
// and no other. It returns the share of buyers among the units of large.
func writeExport(t *testing.T, path string) float64 {
	t.Helper()
	state, now := experiment.NewState(), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var events []eventlog.Record
	apply := func(kind string, payload any) {
		t.Helper()
		e, err := experiment.NewEvent(kind, now.UnixNano(), payload)
		if err != nil {
			t.Fatal(err)
		}
		logged, o, err := state.Step(e)
		if err != nil || o.Err != nil {
			t.Fatal(err, o.Err)
		}
		for _, e := range logged {
			events = append(events, eventlog.Record{
				Position: uint64(len(events) + 1),
				Event:    eventlog.Event{Kind: e.Kind, Time: e.Time, Payload: e.Payload},
			})
		}
	}
	d, err := definition.Parse("shop.yaml", []byte(shop))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	apply(experiment.KindDefinition, experiment.DefinitionEvent{Experiment: "shop", Definition: text})
	large, bought := 0.0, 0.0
	for i := range 2000 {
		now = now.Add(time.Second)
		a := state.Policy("shop").Decide(fmt.Sprint("unit", i))
		token := policy.Token{
			Experiment: "shop", Version: a.Version, Arm: a.Arm, Propensity: a.Propensity, Unit: a.Unit, Time: now,
		}
		units := func(kind string, metrics map[string]float64) {
			apply(kind, join.Units{Experiment: "shop", Items: []join.Unit{
				join.UnitOf(token, metrics),
			}})
		}
		units(experiment.KindExposures, nil)
		if a.Arm == 1 {
			if large++; int(large)%2 == 0 {
				bought++
				units(experiment.KindFeedback, map[string]float64{"bought": 1})
			}
		}
	}
	var out bytes.Buffer
	if _, err := eventlog.Export(&out, func(yield func(eventlog.Record, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return bought / large
}

// TestEvaluatePolicyOfExport evaluates an arm of an experiment of the service by name, from the
// service's export: the self-normalized value is the mean of the arm's own units.
func TestEvaluatePolicyOfExport(t *testing.T) {
	path := filepath.Join(t.TempDir(), "export.jsonl")
	want := writeExport(t, path)
	var out, stderr bytes.Buffer
	if status := cmds.Run(context.Background(), []string{
		"evaluate-policy", path, "--policy", "large", "--max-weight", "4", "--json",
	}, nil, &out, &stderr); status != 0 {
		t.Fatal(stderr.String())
	}
	var report struct {
		Format   string    `json:"format"`
		Rows     int       `json:"rows"`
		Arms     int       `json:"arms"`
		Rewards  []float64 `json:"rewards"`
		Policies []struct {
			Estimates []struct {
				Estimator string  `json:"estimator"`
				Value     float64 `json:"value"`
			} `json:"estimates"`
		} `json:"policies"`
	}
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		t.Fatal(err)
	}
	if report.Format != "export" || report.Rows != 2000 || report.Arms != 2 || report.Rewards[1] != 1 {
		t.Errorf("%+v", report)
	}
	if e := report.Policies[0].Estimates[1]; e.Estimator != "self-normalized" || math.Abs(e.Value-want) > 1e-12 {
		t.Errorf("%+v, want %v", e, want)
	}
	if status := cmds.Run(context.Background(), []string{"doctor", path}, nil, &out, &stderr); status != 0 {
		t.Error(stderr.String())
	}
}
