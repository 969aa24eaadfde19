package service

import (
	"testing"

	"github.com/noregret/noregret/internal/cli/clitest"
)

func TestApplyRefuses(t *testing.T) {
	cmds.Refused(t,
		clitest.Refusal{"experiment apply", "apply takes the files of definitions, got none"},
		clitest.Refusal{"experiment apply --check --dry-run x", "--check: it asks no service"},
	)
}
