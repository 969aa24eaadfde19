package service

import (
	"testing"

	"github.com/noregret/noregret/internal/cli/clitest"
)

func TestBackupRefuses(t *testing.T) {
	cmds.Refused(t,
		clitest.Refusal{"backup", "--output: is required: the file to write, or -"},
		clitest.Refusal{
			"backup -o b.tar --data d --server http://127.0.0.1:1",
			"--data: and --server exclude each other",
		},
		clitest.Refusal{"backup now", `backup takes no arguments, got "now"`},
	)
}
