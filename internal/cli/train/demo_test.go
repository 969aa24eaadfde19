package train

import (
	"testing"

	"github.com/noregret/noregret/internal/cli/clitest"
)

// TestDemoClassifierRefuses checks that bad flags are found before a file is written.
func TestDemoClassifierRefuses(t *testing.T) {
	cmds.Refused(t,
		clitest.Refusal{"classifier --rows 999 --keep kept", "--rows: 999 is out of range, want at least 1000"},
		clitest.Refusal{"classifier now", "classifier takes no arguments"},
	)
}
