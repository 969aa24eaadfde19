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

// TestMoved: what is in the laboratory now says where it has gone, whatever its flags.
func TestMoved(t *testing.T) {
	cmds.Refused(t,
		clitest.Refusal{
			"simulate drift --setting cost", `"noregret simulate drift" has moved: it is "noregret-lab drift" of`,
		},
		clitest.Refusal{"simulate private", `"noregret simulate private" has moved: it is "noregret-lab private"`},
		clitest.Refusal{
			"simulate private-bandit --help", `"noregret simulate private-bandit" has moved: it is "noregret-lab`,
		},
		clitest.Refusal{"simulate private-pasto", `"noregret simulate private-pasto" has moved`},
		clitest.Refusal{"papers spade-stamp --full", `"noregret papers" has moved: it is "noregret-lab papers"`},
		clitest.Refusal{
			"simulate rates-abrupt", `"noregret simulate rates-abrupt" has moved: it is "noregret-lab simulate rates-`,
		},
	)
}
