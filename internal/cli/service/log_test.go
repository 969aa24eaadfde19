package service

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/noregret/noregret/internal/cli/clitest"
	"github.com/noregret/noregret/server/servicetest"
)

// TestLogCommands runs the log commands in this process, on a running service and on the data
// directory that an import of its export makes.
func TestLogCommands(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	_, url := servicetest.Start(t, nil)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	if err := os.WriteFile("coin.yaml", []byte(coinDefinition), 0o600); err != nil {
		t.Fatal(err)
	}
	cmds.Printed(t, "experiment", "apply", "coin.yaml", "--server", url)
	cmds.Printed(t, "experiment", "pause", "coin", "--server", url)
	for _, step := range []struct{ args, want string }{
		{"replay --server " + url, "decisions            0\n"},
		{"export --experiment coin --server " + url, `"kind":`},
		{"export --output events.jsonl --server " + url, ""},
		{"import events.jsonl --data copy", "imported 2 events, the log ends at 2\n"},
		{"verify --data copy", "the log is sound\n"},
		{"verify --data copy --json", `"findings": []`},
		{"repair --data copy", "nothing was changed\n"},
		{"replay --data copy --json", `"same": true`},
		{"export --data copy --output again.jsonl", ""},
	} {
		if got := cmds.Printed(t, append([]string{"log"}, strings.Fields(step.args)...)...); !strings.Contains(got,
			step.want) {
			t.Errorf("%s prints %q, want %q", step.args, got, step.want)
		}
	}
	first, err := os.ReadFile(filepath.Join(dir, "events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := os.ReadFile("again.jsonl"); err != nil || !bytes.Equal(first, again) || len(first) == 0 {
		t.Errorf("the export of the import differs: %v", err)
	}
}

func TestLogRefuses(t *testing.T) {
	cmds.Refused(t, clitest.Refusal{"log nonsense", `unknown command "nonsense" for "noregret log"`})
}
