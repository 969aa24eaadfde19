package train

import (
	"testing"

	"github.com/noregret/noregret/internal/cli/clitest"
)

func TestAlgorithmsRefuses(t *testing.T) {
	cmds.Refused(t,
		clitest.Refusal{"algorithms now", `algorithms takes no arguments, got "now"`},
		clitest.Refusal{
			"algorithms --task three",
			`invalid argument "three" for "--task" flag: want binary or multiclass or multilabel`,
		},
	)
}
