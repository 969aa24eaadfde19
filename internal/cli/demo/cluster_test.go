package demo

import (
	"testing"

	"github.com/noregret/noregret/internal/cli/clitest"
)

// TestClusterRefuses checks that bad flags are found before a node starts.
func TestClusterRefuses(t *testing.T) {
	cmds.Refused(t,
		clitest.Refusal{"demo cluster --kills 0 --keep kept", "--kills: 0 is out of range, want 1 to 1000"},
		clitest.Refusal{"demo cluster --kills 1001 --keep kept", "--kills: 1001 is out of range"},
		clitest.Refusal{"demo cluster now", "cluster takes no arguments"},
	)
}
