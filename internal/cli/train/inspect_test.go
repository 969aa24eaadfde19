package train

import (
	"testing"

	"github.com/noregret/noregret/internal/cli/clitest"
)

// TestInspectRefuses checks that bad flags are found before a model is read.
func TestInspectRefuses(t *testing.T) {
	cmds.Refused(t,
		clitest.Refusal{"inspect m.json --top -1", "--top: -1 is out of range, want at least 0"},
		clitest.Refusal{"inspect", "inspect takes one model file, got 0 arguments"},
		clitest.Refusal{"inspect a.json b.json", "inspect takes one model file, got 2 arguments"},
	)
}
