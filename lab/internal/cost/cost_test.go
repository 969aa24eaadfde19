package cost

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret/internal/cli/clitest"
	"github.com/noregret/noregret/internal/cli/command"
)

var cmds = clitest.Commands(func(*command.App) []*cobra.Command { return []*cobra.Command{Command()} })

// TestCost times small sizes: a line for each algorithm, an optimum and runs. A round of Algorithm
// 1 allocates nothing once its buffers have grown.
func TestCost(t *testing.T) {
	out := cmds.Printed(t, "cost", "--numbers", "300", "--rounds", "2", "--runs", "1", "--progress", "quiet")
	for _, want := range []string{"| default ", "| s-scgd ", "| optimum ", "1 runs of scenario b"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	f, err := goals(3)
	if err != nil {
		t.Fatal(err)
	}
	mu, err := means(100, 3)
	if err != nil {
		t.Fatal(err)
	}
	round, err := newRound("paper", f, mu)
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(20, func() { err = round() }); n > 0 || err != nil {
		t.Errorf("a round allocates %v times, %v", n, err)
	}
	cmds.Refused(t, clitest.Refusal{"cost --rounds 0", "--rounds: 0 is out of range"})
}
