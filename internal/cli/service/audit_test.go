package service

import (
	"testing"

	"github.com/noregret/noregret/internal/cli/clitest"
)

func TestAuditRefuses(t *testing.T) {
	cmds.Refused(t,
		clitest.Refusal{"audit --limit 0", "--limit: 0 is out of range, want 1 to 1000"},
		clitest.Refusal{"audit now", `audit takes no arguments, got "now"`},
	)
}
