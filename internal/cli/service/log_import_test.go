package service

import (
	"testing"

	"github.com/noregret/noregret/internal/cli/clitest"
)

func TestImportRefuses(t *testing.T) {
	cmds.Refused(t,
		clitest.Refusal{"log import", "import takes one file, got 0 arguments"},
		clitest.Refusal{"log import a b", "import takes one file, got 2 arguments"},
	)
}
