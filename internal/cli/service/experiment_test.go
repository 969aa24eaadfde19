package service

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/noregret/noregret/internal/cli/clitest"
	"github.com/noregret/noregret/server/servicetest"
)

const coinDefinition = `name: coin
arms:
  - {name: heads, value: 1}
  - {name: tails, value: 0}
control: {arm: heads, share: 0.5}
metrics: [{name: won}]
objective: {goals: [{metric: won}]}
round: {length: 1m}
attribution_window: 10m
`

// TestExperimentCommands runs the experiment commands against a running service, in this process.
func TestExperimentCommands(t *testing.T) {
	_, url := servicetest.Start(t, nil)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	t.Setenv("NOREGRET_SERVER", url)
	file := filepath.Join(t.TempDir(), "coin.yaml")
	if err := os.WriteFile(file, []byte(coinDefinition), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ args, want string }{
		{"apply --check " + file, "coin: valid\n"},
		{"apply --dry-run " + file, "coin: would be created, version 1 begins\n\n+ name: \"coin\"\n"},
		{"list", "name  state  version  round  description\n"},
		{"apply " + file, "coin: created, version 1\n"},
		{"apply " + file, "coin: unchanged, version 1\n"},
		{"list", "coin  running"},
		{"list --json", `"name": "coin"`},
		{"report coin", "coin is running, version 1, round 1\n"},
		{"report coin --json", `"state": "running"`},
		{"pause coin --reason night", "coin: paused, version 2\n"},
		{"resume coin", "coin: running, version 3\n"},
		{"rollback coin", "coin: rolled_back, version 4\n"},
		{"resume coin", "coin: running, version 5\n"},
		{"veto coin tails --reason odd", "coin: running, version 6\n"},
		{"report coin", "arm tails gets no share: by hand, until the veto is lifted: odd"},
		{"veto coin tails --lift", "coin: running, version 7\n"},
		{"conclude coin --mixture heads=0.25 --mixture tails=0.75", "coin: concluded, version 8\n"},
		{"report coin", "with the mixture named"},
		{"delete coin --yes", "coin: deleted; noregret experiment restore coin brings it back until 20"},
		{"list --deleted", "restore until"},
		{"restore coin", "coin: concluded, version 8\n"},
		{"delete coin --yes --now", "coin: deleted for good\n"},
		{"schema", `"$schema"`},
	} {
		if got := cmds.Printed(t, append([]string{"experiment"},
			strings.Fields(step.args)...)...); !strings.Contains(got,
			step.want) {
			t.Errorf("%s prints %q, want %q", step.args, got, step.want)
		}
	}
	for args, want := range map[string]string{
		"report coin": "noregret: experiment: no experiment \"coin\" (\"noregret experiment list\" " +
			"lists them)\n",
		"apply none":             "noregret: none: the file cannot be read",
		"list --token-file none": "noregret: --token-file: the file cannot be read",
	} {
		status, _, stderr := cmds.Try(context.Background(), append([]string{"experiment"}, strings.Fields(args)...)...)
		if status != 3 || !strings.HasPrefix(stderr, want) {
			t.Errorf("%s: status %d, %q, want %q", args, status, stderr, want)
		}
	}
}

func TestExperimentRefuses(t *testing.T) {
	cmds.Refused(t, clitest.Refusal{"experiment nonsense", `unknown command "nonsense" for "noregret experiment"`})
}
