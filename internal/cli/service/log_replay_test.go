package service

import (
	"testing"

	"github.com/noregret/noregret/internal/cli/clitest"
)

func TestReplayRefuses(t *testing.T) {
	cmds.Refused(t,
		clitest.Refusal{"log replay now", `replay takes no arguments, got "now"`},
	)
}
