package reproduce

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/noregret/noregret/internal/cli/clitest"
	"github.com/noregret/noregret/internal/picture/svgcheck"
)

// A short study as JSON and as a table: a setting that cannot reach the gain has no median, and the
// picture has a line for the others.
func TestPrivatePasto(t *testing.T) {
	picture := filepath.Join(t.TempDir(), "pasto.svg")
	args := []string{
		"private-pasto", "--epsilon", "0,0.1", "--units", "10000,1000000", "--rounds", "30", "--runs", "3",
		"--progress", "quiet",
	}
	out := cmds.Printed(t, append(args, "--plot", picture, "--json")...)
	var rows []struct {
		Epsilon, Gain, Noise  float64
		Units                 int64
		Median                *float64 `json:"median_rounds"`
		Reached, Runs, Broken int
		Rounds                []int64
	}
	if err := json.Unmarshal([]byte(out), &rows); err != nil || len(rows) != 4 {
		t.Fatalf("%v: %s", err, out)
	}
	for i, r := range rows {
		if r.Epsilon != []float64{0, 0.1}[i/2] || r.Units != []int64{10_000, 1_000_000}[i%2] || r.Runs != 3 ||
			r.Broken != 0 || len(r.Rounds) != 3 || (r.Noise > 0) != (i/2 == 1) {
			t.Errorf("row %d: %+v", i, r)
		}
		many := r.Units == 1_000_000
		if (r.Median != nil) != many || (r.Reached == 3) != many || (r.Gain > 0.8) != many {
			t.Errorf("row %d: %+v", i, r)
		}
	}
	data, err := os.ReadFile(picture)
	if err != nil || !bytes.Contains(data, []byte("no privacy")) || !bytes.Contains(data, []byte("epsilon 0.1")) {
		t.Errorf("the picture lacks a line: %v", err)
	}
	if faults := svgcheck.Faults(data); len(faults) > 0 {
		t.Errorf("the picture: %q", faults)
	}
	text := cmds.Printed(t, args...)
	for _, want := range []string{"1000000 units", "no privacy", "epsilon 0.1", "0 of 12 runs broke the guardrail"} {
		if !strings.Contains(text, want) {
			t.Errorf("the table lacks %q:\n%s", want, text)
		}
	}
	cmds.Refused(t,
		clitest.Refusal{"private-pasto --arms 11", "--arms: 11 is out of range, want 2 to 10"},
		clitest.Refusal{"private-pasto --epsilon 1,-1", "--epsilon: -1 is out of range"},
		clitest.Refusal{"private-pasto --units 99", "--units: 99 is out of range, want 100 to 10000000"},
		clitest.Refusal{"private-pasto --rounds 0", "--rounds: 0 is out of range"},
		clitest.Refusal{"private-pasto --runs 0", "--runs: 0 is out of range"},
		clitest.Refusal{"private-pasto --contribution 0", "--contribution: 0 is out of range"},
		clitest.Refusal{"private-pasto --delta 1", "--delta: 1 is out of range"},
		clitest.Refusal{"private-pasto --plot x.gif", `--plot: "x.gif" is neither a .svg nor a .png file`},
	)
}
