package service

import (
	"testing"

	"github.com/noregret/noregret/internal/cli/clitest"
)

func TestConcludeRefuses(t *testing.T) {
	cmds.Refused(t,
		clitest.Refusal{"experiment conclude", "conclude takes the name of one experiment, got 0 arguments"},
		clitest.Refusal{"experiment conclude coin --mixture heads", `--mixture: "heads": want ARM=SHARE`},
		clitest.Refusal{"experiment conclude coin --mixture =1", `--mixture: "=1": want ARM=SHARE`},
		clitest.Refusal{"experiment conclude coin --mixture heads=x", `--mixture: "heads=x": want a number as the share`},
		clitest.Refusal{
			"experiment conclude coin --mixture heads=1 --mixture heads=0",
			`--mixture: the arm "heads" is given twice`,
		},
	)
}
