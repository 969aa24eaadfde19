package service

import (
	"testing"

	"github.com/noregret/noregret/internal/cli/clitest"
)

func TestListRefuses(t *testing.T) {
	cmds.Refused(t,
		clitest.Refusal{"experiment list now", `list takes no arguments, got "now"`},
	)
}
