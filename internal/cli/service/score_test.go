package service

import (
	"testing"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret/internal/cli/clitest"
	"github.com/noregret/noregret/internal/cli/command"
)

// TestScoreRefuses: bad flags are found before the model is read or an address is opened.
func TestScoreRefuses(t *testing.T) {
	score := clitest.Commands(func(a *command.App) []*cobra.Command { return []*cobra.Command{NewScoreCommand(a)} })
	score.Refused(t,
		clitest.Refusal{"score", "--model: is required"},
		clitest.Refusal{"score --model m.json --drain -1s", "--drain: -1s is out of range, want a length of time"},
		clitest.Refusal{"score --model m.json --tls-cert cert.pem", "--tls-cert: TLS needs both"},
		clitest.Refusal{"score --model m.json --listen nonsense", `listen: "nonsense" is no address: want HOST:PORT`},
		clitest.Refusal{"score --model m.json --listen 0.0.0.0:0", "listen: 0.0.0.0:0 can be reached by others"},
		clitest.Refusal{"score --model m.json --rate -1", "rate: -1: want"},
		clitest.Refusal{"score --model m.json --max-items 0", "max items: 0: want at least 1"},
		clitest.Refusal{"score --model m.json --max-body 1", "max body: 1: want 1024 to 8388608 bytes"},
		clitest.Refusal{"score --model m.json --window 0", "window: 0: want 1 to 1000000 rows"},
		clitest.Refusal{"score --model m.json --max-waiting 0", "max waiting: 0: want 1 to 100000000 rows"},
		clitest.Refusal{"score --model m.json --waiting-memory 1", "waiting memory: 1: want at least 65536 bytes"},
		clitest.Refusal{"score --model m.json --unseen never", "invalid argument \"never\""},
		clitest.Refusal{"score --model m.json now", "score takes no arguments, got \"now\""},
	)
}
