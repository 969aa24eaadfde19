package main

import (
	"encoding/json"
	"math"
	"testing"
)

// TestSimulateDrift compares a cell with its exact expected loss: gradient descent in batches of
// 207 rounds loses 26.305986 + 0.09·72.961798 of 4,845.5 in 5,000 rounds.
func TestSimulateDrift(t *testing.T) {
	out := printed(t, "simulate", "drift", "--setting", "gradient", "--pattern", "1", "--noise", "0.3", "--rounds",
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
	if !ok || len(percent) != 2 || len(cell) != 8 {
		t.Fatalf("%s", out)
	}
	exact := 100 * (26.305986 + 0.09*72.961798) / 4845.5
	if v, ok := percent["5000"].(float64); !ok || math.Abs(v-exact) > 0.03 {
		t.Errorf("loss %v %%, want %v", percent["5000"], exact)
	}
	if v, ok := cell["alpha"].(float64); !ok || math.Abs(v-0.454) > 0.05 {
		t.Errorf("alpha %v", cell["alpha"])
	}
}

func TestSimulateDriftRefuses(t *testing.T) {
	checkRefused(t,
		refusal{"simulate drift --plot a.jpg", `--plot: "a.jpg" is neither`},
		refusal{"simulate drift --runs -1", "--runs: -1 is out of range"},
		refusal{"simulate drift --policy never", `--policy: "never": want restarted, plain or fixed:STEP`},
		refusal{"simulate drift --rates --noise 1", "--rates: given beside flags of a cell"},
	)
}
