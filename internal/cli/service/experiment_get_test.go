package service

import (
	"testing"

	"github.com/noregret/noregret/internal/cli/clitest"
)

func TestGetRefuses(t *testing.T) {
	cmds.Refused(t, clitest.Refusal{"experiment get", "get takes the name of one experiment, got 0 arguments"})
}
