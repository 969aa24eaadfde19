package train

import (
	"testing"

	"github.com/noregret/noregret/internal/cli/clitest"
)

func TestCompareRefuses(t *testing.T) {
	cmds.Refused(
		t,
		clitest.Refusal{"compare --splits 0 x", "--splits: 0 is out of range, want at least 1"},
		clitest.Refusal{"compare --train-share 0 x", "--train-share: 0 is out of range"},
		clitest.Refusal{"compare --folds -2 x", "--folds: -2 is out of range, want at least 1"},
		clitest.Refusal{"compare --measure f1,f1 x", "--measure: f1 is given twice"},
		clitest.Refusal{
			"compare --measure f1,macro_f1 x",
			"--measure: f1, macro_f1 are measures of two classes and of several",
		},
		clitest.Refusal{
			"compare --measure macro_f1 --algorithm stamp,logistic x",
			"no algorithm for multiclass data is named",
		},
		clitest.Refusal{"compare --measure f1 --against svm x", `--against: "svm" is not one of the algorithms`},
		clitest.Refusal{"compare --measure f1 --algorithm stamp,stamp x", "--algorithm: stamp is given twice"},
	)
}
