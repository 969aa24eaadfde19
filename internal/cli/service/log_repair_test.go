package service

import (
	"testing"

	"github.com/noregret/noregret/internal/cli/clitest"
)

func TestRepairRefuses(t *testing.T) {
	cmds.Refused(t,
		clitest.Refusal{"log repair now", `repair takes no arguments, got "now"`},
		clitest.Refusal{
			"log repair --accept-loss -1",
			`invalid argument "-1" for "--accept-loss" flag: want a whole number, at least 0`,
		},
	)
}
