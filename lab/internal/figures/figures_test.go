package figures

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret/internal/cli/clitest"
	"github.com/noregret/noregret/internal/cli/command"
)

var cmds = clitest.Commands(func(*command.App) []*cobra.Command { return Commands() })

// TestDraw draws a picture of each command, with its table.
func TestDraw(t *testing.T) {
	for args, file := range map[string]string{
		"figures figure3-start0.02-sd5.png --runs 2": "figure3-start0.02-sd5",
		"bandits two-stochastic.svg --runs 2":        "two-stochastic",
	} {
		dir := t.TempDir()
		out := cmds.Printed(t, append(strings.Fields(args), "--dir", dir)...)
		table, err := os.ReadFile(filepath.Join(dir, file+".txt"))
		if err != nil || !strings.Contains(out, "| "+file) || len(table) == 0 {
			t.Errorf("%s: %v, %q in\n%s", args, err, table, out)
		}
		pictures, err := filepath.Glob(filepath.Join(dir, file+".[ps][nv]g"))
		if err != nil || len(pictures) != 1 {
			t.Errorf("%s: %v, %v", args, pictures, err)
		}
	}
	cmds.Refused(t,
		clitest.Refusal{"figures figure5.png", `no picture is named "figure5.png"; there are figure3-sd5.png`},
		clitest.Refusal{"bandits --runs 0", "--runs: 0 is out of range"},
	)
}
