package service

import (
	"testing"

	"github.com/noregret/noregret/internal/cli/clitest"
)

func TestSchemaRefuses(t *testing.T) {
	cmds.Refused(t,
		clitest.Refusal{"experiment schema now", `schema takes no arguments, got "now"`},
	)
}
