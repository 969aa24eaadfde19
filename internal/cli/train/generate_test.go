package train

import (
	"testing"

	"github.com/noregret/noregret/internal/cli/clitest"
)

// TestGenerateRefuses checks that bad flags are found before the file is made.
func TestGenerateRefuses(t *testing.T) {
	cmds.Refused(t,
		clitest.Refusal{"generate g1 --rows 0 --output g1.svm", "--rows: 0 is out of range, want at least 1"},
		clitest.Refusal{"generate g1 --output=", "--output: the file name is empty"},
		clitest.Refusal{"generate g1 --format xml --output g1.svm", "invalid argument \"xml\""},
		clitest.Refusal{"generate", "generate takes the name of one data set"},
		clitest.Refusal{"generate g1 g3", "generate takes the name of one data set"},
	)
}
