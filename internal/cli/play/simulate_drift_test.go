package play

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/noregret/noregret/internal/cli/clitest"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/papers"
)

// TestSimulateDrift compares a cell with its exact expected loss: gradient descent in batches of
// 207 rounds loses 26.305986 + 0.09·72.961798 of 4,845.5 in 5,000 rounds.
func TestSimulateDrift(t *testing.T) {
	out := cmds.Printed(t, "simulate", "drift", "--setting", "gradient", "--pattern", "1", "--noise", "0.3", "--rounds",
		"1000,5000", "--runs", "40", "--policy", "restarted", "--json")
	var cell map[string]any
	if err := json.Unmarshal([]byte(out), &cell); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{
		"setting": "gradient", "pattern": 1.0, "noise": 0.3, "policy": "restarted",
	} {
		if cell[key] != want {
			t.Errorf("%s is %v, want %v", key, cell[key], want)
		}
	}
	percent, ok := cell["loss_percent"].(map[string]any)
	if !ok || len(percent) != 2 || len(cell) != 10 || cell["runs"] != 40.0 || cell["runs_asked"] != 40.0 {
		t.Fatalf("%s", out)
	}
	exact := 100 * (26.305986 + 0.09*72.961798) / 4845.5
	if v, ok := percent["5000"].(float64); !ok || math.Abs(v-exact) > 0.03 {
		t.Errorf("loss %v %%, want %v", percent["5000"], exact)
	}
	if v, ok := cell["one_minus_alpha"].(float64); !ok || math.Abs(v-0.546) > 0.05 {
		t.Errorf("one_minus_alpha %v", cell["one_minus_alpha"])
	}
}

func TestSimulateDriftRefuses(t *testing.T) {
	cmds.Refused(t,
		clitest.Refusal{"simulate drift --plot a.jpg", `--plot: "a.jpg" is neither`},
		clitest.Refusal{"simulate drift --runs -1", "--runs: -1 is out of range"},
		clitest.Refusal{"simulate drift --policy never", `--policy: "never": want restarted, plain or fixed:STEP`},
		clitest.Refusal{"simulate drift --rates --noise 1", "--rates: given beside flags of a cell"},
	)
}

// An interrupted simulation prints what is complete, says how much that is, and ends with status 1.
func TestInterruptedSimulations(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, args := range []string{
		"simulate drift --setting cost --rounds 500 --json", "simulate drift --json", "simulate drift --rates --json",
		"simulate private --p inf --dim 5 --rounds 100 --json", "simulate private --json",
		"simulate private --p inf --dim 5 --rounds 100", "simulate drift",
	} {
		status, stdout, stderr := cmds.Try(ctx, strings.Fields(args)...)
		if status != 1 || stderr != "noregret: interrupted\n" {
			t.Errorf("%s: status %d, stderr %q", args, status, stderr)
		}
		if !strings.Contains(args, "--json") {
			if stdout != "" {
				t.Errorf("%s: no run is complete, and it printed %q", args, stdout)
			}
			continue
		}
		var all []map[string]any
		text := strings.TrimSpace(stdout)
		if !strings.HasPrefix(text, "[") {
			text = "[" + text + "]"
		}
		if err := json.Unmarshal([]byte(text), &all); err != nil {
			t.Errorf("%s: %v in %s", args, err, stdout)
		}
		for _, v := range all {
			if asked, ok := v["runs_asked"].(float64); v["runs"] != 0.0 || !ok || asked == 0 {
				t.Errorf("%s: %v of %v runs, want 0", args, v["runs"], v["runs_asked"])
			}
		}
	}
	var out bytes.Buffer
	a := &command.App{Stdout: &out}
	cell := papers.DriftResult{Runs: 7, Horizons: []papers.DriftHorizon{{Rounds: 500, Regret: 1}}}
	if err := writeDriftCell(a, &cell, 20, false); err != nil || !strings.Contains(out.String(), "7 of 20 runs") {
		t.Errorf("%v: %s", err, out.String())
	}
}
