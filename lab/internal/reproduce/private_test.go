package reproduce

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/noregret/noregret/internal/cli/clitest"
	"github.com/noregret/noregret/internal/picture/svgcheck"
)

// One cell as JSON: the sound calibration is far from the published number, and the tight one near
// it.
func TestPrivate(t *testing.T) {
	out := cmds.Printed(t, "private", "--p", "inf", "--dim", "5", "--rounds", "1000", "--runs", "3",
		"--columns",
		"non-private,tree,square-root-tight", "--progress", "quiet", "--json")
	var cell struct {
		P           string
		Dim, Rounds int
		Published   float64
		Columns     map[string]struct {
			Mean    float64 `json:"subopt_mean"`
			SD      float64 `json:"subopt_sd"`
			Seconds float64
		}
	}
	if err := json.Unmarshal([]byte(out), &cell); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	c := cell.Columns
	if cell.P != "inf" || cell.Dim != 5 || cell.Rounds != 1000 || math.Abs(cell.Published-0.112) > 1e-12 ||
		len(c) != 3 {
		t.Errorf("the cell is %+v", cell)
	}
	if !(c["non-private"].Mean < 0.01 && c["square-root-tight"].Mean < 0.15 && c["tree"].Mean > 0.4) {
		t.Errorf("suboptimality: %+v: want little without noise, less than 0.15 with a tight clip, and much without it",
			c)
	}
	cmds.Refused(t,
		clitest.Refusal{"private --p 1.5,1", `--p: "1" is out of range, want a number above 1, or inf`},
		clitest.Refusal{"private --dim 5,0", "--dim: 0 is out of range, want at least 1"},
		clitest.Refusal{"private --plot x", `--plot: "x" is neither a .svg nor a .png file`},
		clitest.Refusal{"private --p 1", `--p: "1" is out of range, want a number above 1, or inf`},
		clitest.Refusal{"private --rounds 0", "--rounds: 0 is out of range"},
		clitest.Refusal{"private --columns forest", `--columns: "forest" is unknown, want some of`},
		clitest.Refusal{"private --epsilon -1", "--epsilon: -1 is out of range"},
	)
}

// Lists of norms, dimensions and rounds are all combinations, in the order of the published table,
// and the picture has a panel for each norm, a place for each cell and the published numbers.
func TestPrivateLists(t *testing.T) {
	picture := filepath.Join(t.TempDir(), "cells.svg")
	out := cmds.Printed(t, "private", "--p", "1.5,inf", "--dim", "2,5", "--rounds", "100,1000", "--runs",
		"1",
		"--columns", "non-private,printed-typo-unsafe", "--progress", "quiet", "--plot", picture, "--json")
	var cells []struct {
		P           any
		Dim, Rounds int
		Published   *float64
	}
	if err := json.Unmarshal([]byte(out), &cells); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if len(cells) != 8 {
		t.Fatalf("%d cells, want 8", len(cells))
	}
	if b := cells[1]; b.Dim != 5 || b.Rounds != 100 || b.P != 1.5 || b.Published != nil ||
		cells[3].Rounds != 1000 || *cells[3].Published != 0.0172 ||
		cells[7].P != "inf" || *cells[7].Published != 0.112 {
		t.Errorf("the cells are %+v", cells)
	}
	svg, err := os.ReadFile(picture)
	if err != nil {
		t.Fatal(err)
	}
	for want, n := range map[string]int{
		"p = 1.5, 1 run": 1, "p = inf, 1 run": 1, "d=5": 4, "non-private": 2, "printed-typo-unsafe": 2,
		">published<": 2,
	} {
		if got := strings.Count(string(svg), want); got != n {
			t.Errorf("the picture has %q %d times, want %d", want, got, n)
		}
	}
	if faults := svgcheck.Faults(svg); len(faults) > 0 {
		t.Errorf("the picture: %q", faults)
	}
}
