package tables

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret/internal/cli/clitest"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/pasto/scenario"
)

var cmds = clitest.Commands(func(*command.App) []*cobra.Command { return Commands() })

// TestTables: no cell is outside its tolerance, with the runs and the columns that a test has time
// for. With fewer runs the errors that they estimate are far too small for some rows.
func TestTables(t *testing.T) {
	testsize.NoRace(t)
	for _, c := range []struct {
		args, short, full string
		want              []string
	}{
		{
			"tables 9.1", "--runs 500 --rounds 1000", "--runs 1000 --rounds 10000",
			[]string{"Table 9.1", "| variance 5 ", "[0.622]", "[0.910]", "π_1 = 0.98", "[-15.406]"},
		},
		{
			"tables 9.2 9.3", "--runs 40 --rounds 1000", "--runs 200 --rounds 1000",
			[]string{"Table 9.2", "[-24.800]", "Table 9.3", "plug-in", `\|γg\| ≤ 0.1`},
		},
		{
			"tables 9.4", "--runs 300 --rounds 1000", "--runs 4000 --rounds 1000",
			[]string{"Table 9.4", "[0.840]", "U_0 one noisy look per arm"},
		},
		{"tables 9.5", "--runs 10 --rounds 10000", "--runs 100 --rounds 20000", []string{"Table 9.5", "[0.912]"}},
		{
			"floors", "--runs 8 --rounds 30000", "--runs 40 --rounds 100000",
			[]string{"floors", "[at least 0.970]", "[at most 0.050]", "least R from 10000", "recall"},
		},
	} {
		t.Run(c.args, func(t *testing.T) {
			args := c.full
			if testsize.Short() {
				args = c.short
			}
			out := cmds.Printed(t, strings.Fields(c.args+" "+args+" --progress quiet")...)
			for _, text := range c.want {
				if !strings.Contains(out, text) {
					t.Errorf("no %q in\n%s", text, out)
				}
			}
		})
	}
}

// TestRefused: an unknown table and empty measurements are usage errors.
func TestRefused(t *testing.T) {
	cmds.Refused(t,
		clitest.Refusal{"tables 9.6", `no table is named "9.6"; there are 9.1, 9.2`},
		clitest.Refusal{"tables --runs 1", "--runs: 1 is out of range"},
		clitest.Refusal{"floors --rounds 0", "--rounds: 0 is out of range"},
	)
}

// TestStated: every line has something stated, or a dash, for each round of its row's plays.
func TestStated(t *testing.T) {
	for _, list := range slices.Concat(reference, defaultFloors) {
		for _, w := range list.rows {
			rounds := 0
			for _, p := range w.plays {
				rounds += len(p.at)
			}
			for _, l := range w.lines {
				if n := len(strings.Fields(l.stated)); n != rounds {
					t.Errorf("%s, %s, %s: %d numbers for %d rounds", list.title, w.name, l.of.name, n, rounds)
				}
			}
		}
	}
}

// TestCatalogueIsTheTables: the catalogue has the algorithms of the tables, with the same results
// run by run.
func TestCatalogueIsTheTables(t *testing.T) {
	for name, make := range map[string]maker{
		"paper": algorithm(paper), "arm-means": algorithm(means), "doubly-robust": algorithm(robust),
		"snips": algorithm(snips),
	} {
		o, err := scenario.DefaultOptions("a")
		if err != nil {
			t.Fatal(err)
		}
		o.Runs, o.Rounds, o.Seed, o.Algorithm, o.Checkpoints = 3, 100, 1, name, []int{3, 100}
		named, err := scenario.Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		o.New = make
		own, err := scenario.Run(t.Context(), o)
		if err != nil || fmt.Sprint(named.Objective.Mean) != fmt.Sprint(own.Objective.Mean) {
			t.Errorf("%s: %v, %v, want %v", name, err, own.Objective.Mean, named.Objective.Mean)
		}
	}
}
