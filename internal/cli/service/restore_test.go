package service

import (
	"testing"

	"github.com/noregret/noregret/internal/cli/clitest"
)

func TestRestoreRefuses(t *testing.T) {
	cmds.Refused(t,
		clitest.Refusal{"restore", "restore takes one file, got 0 arguments"},
		clitest.Refusal{"restore a.tar b.tar", "restore takes one file, got 2 arguments"},
	)
}
