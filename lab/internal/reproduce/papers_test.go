package reproduce

import (
	"testing"

	"github.com/noregret/noregret/internal/cli/clitest"
)

// TestPapersRefuses checks that the name of a paper is required.
func TestPapersRefuses(t *testing.T) {
	cmds.Refused(t,
		clitest.Refusal{"papers", "papers takes the name of one paper (spade-stamp or struct-svm), got"},
		clitest.Refusal{
			"papers nonsense --json", `papers takes the name of one paper (spade-stamp or struct-svm), got "nonsense"`,
		},
	)
}
