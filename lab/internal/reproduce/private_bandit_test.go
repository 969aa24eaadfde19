package reproduce

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/noregret/noregret/internal/cli/clitest"
	"github.com/noregret/noregret/internal/picture/svgcheck"
)

// A short game as JSON: without noise the regret is far below that of random arms, curves end at
// the means, and there is no reference for other options than the defaults. The picture has a line
// for every column.
func TestPrivateBandit(t *testing.T) {
	picture := filepath.Join(t.TempDir(), "bandit.svg")
	out := cmds.Printed(t, "private-bandit", "--dim", "8", "--rounds", "600", "--warm-up", "30", "--runs",
		"2",
		"--epsilon", "8", "--columns", "non-private,uniform,exponential-1", "--points", "5", "--progress", "quiet",
		"--plot", picture, "--json")
	var study struct {
		Dim, Arms, Rounds, Runs int
		Epsilon, Delta          float64
		Columns                 map[string]struct {
			Mean      float64  `json:"regret_mean"`
			SD        float64  `json:"regret_sd"`
			Reference *float64 `json:"reference_mean"`
			Curve     struct {
				Rounds   []int
				Mean, SD []float64
			}
		}
	}
	if err := json.Unmarshal([]byte(out), &study); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if study.Dim != 8 || study.Arms != 2 || study.Rounds != 600 || study.Runs != 2 || study.Epsilon != 8 ||
		study.Delta != 1.0/600 || len(study.Columns) != 3 {
		t.Errorf("the study is %+v", study)
	}
	for name, c := range study.Columns {
		k := len(c.Curve.Rounds) - 1
		if k != 4 || c.Curve.Rounds[k] != 600 || math.Abs(c.Curve.Mean[k]-c.Mean) > 1e-9 ||
			math.Abs(c.Curve.SD[k]-c.SD) > 1e-9 || c.Reference != nil {
			t.Errorf("%s: %+v", name, c)
		}
	}
	if greedy, random := study.Columns["non-private"].Mean, study.Columns["uniform"].Mean; !(greedy < 0.6*random) {
		t.Errorf("regret %g without noise, %g of random arms", greedy, random)
	}
	svg, err := os.ReadFile(picture)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"non-private", "uniform", "exponential-1", "= 8, 2 runs", "rounds"} {
		if !bytes.Contains(svg, []byte(want)) {
			t.Errorf("the picture lacks %q", want)
		}
	}
	if faults := svgcheck.Faults(svg); len(faults) > 0 {
		t.Errorf("the picture: %q", faults)
	}
	cmds.Refused(t,
		clitest.Refusal{"private-bandit --dim 4", "--dim: 4 is out of range, want 5 to 4096"},
		clitest.Refusal{"private-bandit --warm-up 5001", "--warm-up: 5001 is out of range"},
		clitest.Refusal{"private-bandit --epsilon 1,-1", "--epsilon: -1 is out of range"},
		clitest.Refusal{"private-bandit --columns greedy", `--columns: "greedy" is unknown, want some of`},
		clitest.Refusal{"private-bandit --plot x.gif", `--plot: "x.gif" is neither a .svg nor a .png file`},
		clitest.Refusal{"private-bandit --delta 1", "--delta: 1 is out of range"},
	)
}

// The references stand beside the default options alone.
func TestPrivateBanditReference(t *testing.T) {
	o := privateBanditOptions{}
	o.bandit.Dim, o.bandit.Arms, o.bandit.Rounds, o.bandit.WarmUp = 50, 2, 10000, 200
	if mean, sd := o.reference(8, "square-root-3"); mean != 260 || sd != 32 {
		t.Errorf("reference %g ± %g, want 260 ± 32", mean, sd)
	}
	for _, c := range []struct {
		epsilon float64
		column  string
	}{{2, "square-root-3"}, {1, "dp-ucb"}} {
		if mean, _ := o.reference(c.epsilon, c.column); mean == mean {
			t.Errorf("ε = %g, %s: reference %g", c.epsilon, c.column, mean)
		}
	}
	o.bandit.Dim = 40
	if mean, _ := o.reference(8, "square-root-3"); mean == mean {
		t.Errorf("d = 40: reference %g", mean)
	}
}
