package service

import (
	"testing"

	"github.com/noregret/noregret/internal/cli/clitest"
)

func TestChangeRefuses(t *testing.T) {
	cmds.Refused(t,
		clitest.Refusal{"experiment pause", "pause takes the name of one experiment, got 0 arguments"},
		clitest.Refusal{"experiment resume a b", "resume takes the name of one experiment, got 2 arguments"},
		clitest.Refusal{"experiment rollback a b", "rollback takes the name of one experiment, got 2 arguments"},
	)
}
