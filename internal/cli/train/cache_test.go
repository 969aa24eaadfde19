package train

import (
	"testing"

	"github.com/noregret/noregret/internal/cli/clitest"
)

// TestCacheRefuses checks that bad flags are found before data are read or a file is made.
func TestCacheRefuses(t *testing.T) {
	cmds.Refused(t,
		clitest.Refusal{"cache data.svm", "--output: is required: the "},
		clitest.Refusal{"cache --output data.cache", "no data: name at least one file"},
		clitest.Refusal{"cache --output= data.svm", "--output: the file name is empty"},
	)
}
