package service

import (
	"testing"

	"github.com/noregret/noregret/internal/cli/clitest"
)

func TestDiffRefuses(t *testing.T) {
	cmds.Refused(t, clitest.Refusal{"experiment diff", "diff takes the file of a definition, got 0 arguments"})
}
