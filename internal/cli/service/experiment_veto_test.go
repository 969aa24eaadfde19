package service

import (
	"testing"

	"github.com/noregret/noregret/internal/cli/clitest"
)

func TestVetoRefuses(t *testing.T) {
	cmds.Refused(t,
		clitest.Refusal{"experiment veto coin", "veto takes the names of an experiment and of an arm, got 1 arguments"},
		clitest.Refusal{
			"experiment veto coin a b",
			"veto takes the names of an experiment and of an arm, got 3 arguments",
		},
	)
}
