package train

import (
	"testing"

	"github.com/noregret/noregret/internal/cli/clitest"
)

func TestMergeRefuses(t *testing.T) {
	cmds.Refused(t,
		clitest.Refusal{"merge a.json", "--model: is required: the "},
		clitest.Refusal{"merge --model m.json", "no shards: name the models of all shards"},
	)
}
