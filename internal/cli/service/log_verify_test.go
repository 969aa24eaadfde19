package service

import (
	"testing"

	"github.com/noregret/noregret/internal/cli/clitest"
)

func TestVerifyRefuses(t *testing.T) {
	cmds.Refused(t,
		clitest.Refusal{"log verify now", `verify takes no arguments, got "now"`},
	)
}
