package service

import (
	"testing"

	"github.com/noregret/noregret/internal/cli/clitest"
)

func TestExplainRefuses(t *testing.T) {
	cmds.Refused(t,
		clitest.Refusal{
			"experiment explain a",
			"explain takes the name of an experiment and the token of a decision, got",
		},
		clitest.Refusal{"experiment explain a b --context {", `--context: "{": want JSON`},
	)
}
