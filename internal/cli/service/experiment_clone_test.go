package service

import (
	"testing"

	"github.com/noregret/noregret/internal/cli/clitest"
)

func TestCloneRefuses(t *testing.T) {
	cmds.Refused(t,
		clitest.Refusal{
			"experiment clone a",
			"clone takes the names of an experiment and of the new one, got 1 arguments",
		},
	)
}
