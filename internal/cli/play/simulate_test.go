package play

import (
	"testing"

	"github.com/noregret/noregret/internal/cli/clitest"
)

// TestSimulateRefuses checks that bad flags are found before anything is played or drawn.
func TestSimulateRefuses(t *testing.T) {
	cmds.Refused(t,
		clitest.Refusal{"simulate a --algorithm=", "--algorithm: "},
		clitest.Refusal{"simulate a --algorithm nobody", "--algorithm: \"nobody\" is unknown"},
		clitest.Refusal{"simulate a --algorithm paper,paper", "--algorithm: paper is given twice"},
		clitest.Refusal{"simulate a --points 5 --at 3", "--points: 5 beside --at"},
		clitest.Refusal{"simulate a --noise NaN", "--noise: NaN is out of range"},
		clitest.Refusal{"simulate a --threshold Inf", "--threshold: +Inf is out of range"},
		clitest.Refusal{"simulate a --users 0", "--users: 0 is out of range, want at least 1"},
		clitest.Refusal{"simulate a --plot a.gif", "--plot: \"a.gif\""},
		clitest.Refusal{"simulate", "want one scenario of"},
	)
}
