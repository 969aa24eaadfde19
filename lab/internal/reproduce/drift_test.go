package reproduce

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/noregret/noregret/internal/cli/clitest"
	"github.com/noregret/noregret/internal/picture/svgcheck"
	"github.com/noregret/noregret/lab/papers"
)

// TestDrift compares a cell with its exact expected loss: gradient descent in batches of
// 207 rounds loses 26.305986 + 0.09·72.961798 of 4,845.5 in 5,000 rounds.
func TestDrift(t *testing.T) {
	out := cmds.Printed(t, "drift", "--setting", "gradient", "--pattern", "1", "--noise", "0.3", "--rounds",
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

func TestDriftRefuses(t *testing.T) {
	cmds.Refused(t,
		clitest.Refusal{"drift --plot a.jpg", `--plot: "a.jpg" is neither`},
		clitest.Refusal{"drift --runs -1", "--runs: -1 is out of range"},
		clitest.Refusal{"drift --policy never", `--policy: "never": want restarted, plain or fixed:STEP`},
		clitest.Refusal{"drift --rates --noise 1", "--rates: given beside flags of a cell"},
		clitest.Refusal{"drift --pattern 4", "--pattern: 4: want 1, 2 or 3"},
		clitest.Refusal{"drift --policy fixed:3", `--policy: "fixed:3": want a step above 0 and at most 2`},
		clitest.Refusal{"drift --noise -1", "--noise: -1: want a standard deviation"},
		clitest.Refusal{"drift --rounds 1", "--rounds: 1: want from 2 to"},
		clitest.Refusal{"drift --runs 0", "--runs: 0 is out of range"},
		clitest.Refusal{"drift a", `drift takes no arguments, got "a"`},
	)
}

// An interrupted simulation prints what is complete, says how much that is, and ends with status 1.
func TestInterruptedSimulations(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, args := range []string{
		"drift --setting cost --rounds 500 --json", "drift --json", "drift --rates --json",
		"private --p inf --dim 5 --rounds 100 --json", "private --json",
		"private --p inf --dim 5 --rounds 100", "drift",
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
		if err := json.Unmarshal([]byte(text), &all); err != nil || len(all) == 0 {
			t.Errorf("%s: %v in %q", args, err, stdout)
		}
		for _, v := range all {
			if asked, ok := v["runs_asked"].(float64); v["runs"] != 0.0 || !ok || asked == 0 {
				t.Errorf("%s: %v of %v runs, want 0", args, v["runs"], v["runs_asked"])
			}
		}
	}
	var out bytes.Buffer
	cell := papers.DriftResult{Runs: 7, Asked: 20, Horizons: []papers.DriftHorizon{{Rounds: 500, Regret: 1}}}
	if err := driftCell(&cell).Write(&out, false); err != nil || !strings.Contains(out.String(), "7 of 20 runs") {
		t.Errorf("%v: %s", err, out.String())
	}
}

// driftCellOutput is the exact output of a cell as JSON, and driftTextOutput that of another as a
// table.
const (
	driftCellOutput = `{
  "setting": "gradient",
  "pattern": 1,
  "noise": 0.3,
  "policy": "restarted",
  "one_minus_alpha": 0.637917110014506,
  "c": 0.16907285308117442,
  "r2": 1,
  "loss_percent": {
    "500": 1.942914487122025,
    "1000": 1.478611007671143
  },
  "runs": 20,
  "runs_asked": 20
}
`
	driftTextOutput = `### cost feedback, ramp, noise 0, fixed:0.01, 2 runs

| rounds | regret  | error | loss %  | error |
| ------ | ------- | ----- | ------- | ----- |
| 500    | 40.4473 | 0.82  | 10.5263 | 0.21  |

regret ≈ C·T^(1−α): 1−α -, C -, R² -
`
)

// TestDriftOutput: a cell is the same bytes for any number of workers, and one horizon has no fit.
func TestDriftOutput(t *testing.T) {
	one := strings.Fields("drift --setting gradient --pattern 1 --noise 0.3 --runs 20 --policy restarted --json")
	for _, more := range []string{"--rounds 500,1000 --workers 1", "--rounds 1000,500,500 --workers 3"} {
		if got := cmds.Printed(t, append(one, strings.Fields(more)...)...); got != driftCellOutput {
			t.Errorf("%s: %s", more, got)
		}
	}
	text := "drift --setting cost --pattern 3 --noise 0 --rounds 500 --runs 2 --policy fixed:0.01"
	if got := cmds.Printed(t, strings.Fields(text)...); got != driftTextOutput {
		t.Errorf("%s", got)
	}
}

// TestDriftTables: all cells are beside the published numbers, and pictures are legible.
func TestDriftTables(t *testing.T) {
	dir := t.TempDir()
	tables, rates := filepath.Join(dir, "tables.svg"), filepath.Join(dir, "rates.svg")
	out := cmds.Printed(t, "drift", "--runs", "1", "--seed", "3", "--plot", tables)
	for _, want := range []string{
		"(?m)^### Table 3: gradient descent, noisy gradients, 1 run; published numbers in brackets$",
		`(?m)^\| 1 − α +\| 0\.[0-9]+ \[0\.54\]`,
		`(?m)^\| 5000 restarted +\| 0\.[0-9]+ \[0\.56\] `,
		"(?m)^### Table 4: estimated gradient step, noisy costs, 1 run; published numbers in brackets$",
		`(?m)^\| 25000 fixed:0.001 .* \[3\.91\] +\|$`,
	} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if !testing.Short() {
		cmds.Printed(t, "drift", "--rates", "--runs", "1", "--plot", rates)
	} else {
		rates = tables
	}
	for _, path := range []string{tables, rates} {
		svg, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if faults := svgcheck.Faults(svg); len(faults) > 0 {
			t.Errorf("%s: %q", path, faults)
		}
	}
}
