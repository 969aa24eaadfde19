package play

import (
	"testing"

	"github.com/noregret/noregret/internal/cli/clitest"
)

func TestLearnersRefuses(t *testing.T) {
	cmds.Refused(t,
		clitest.Refusal{"learners now", `unknown command "now" for "noregret learners"`},
		clitest.Refusal{"games now", `unknown command "now" for "noregret games"`},
	)
}
