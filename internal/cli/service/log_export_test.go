package service

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/internal/cli/clitest"
)

func TestExportRefuses(t *testing.T) {
	cmds.Refused(t,
		clitest.Refusal{"log export now", `export takes no arguments, got "now"`},
		clitest.Refusal{"log export --from -1", `invalid argument "-1" for "--from" flag: want a whole number, at least 0`},
	)
}

// The offline export shows no feedback of a deleted private experiment where the ledger is lost and
// the log has dropped the events that say that it was private: the state in the log says so.
func TestExportOfDeletedPrivate(t *testing.T) {
	var clock atomic.Int64
	data := t.TempDir()
	s, c, stop := clockedService(t, data, 30*time.Minute, &clock)
	ctx := t.Context()
	if _, err := c.Apply(ctx, "secret", []byte(`name: secret
arms: [{name: control, value: 0}, {name: gain, value: 1}]
metrics: [{name: buy, range: [0, 100], default: 0}]
objective: {goals: [{metric: buy}]}
round: {length: 1m, min_units: 10}
attribution_window: 10m
privacy: {epsilon: 1, delta: 1e-6, rounds: 8}
`)); err != nil {
		t.Fatal(err)
	}
	clock.Add(int64(time.Hour))
	ds, err := c.Decide(ctx, "secret", "ann")
	if err != nil {
		t.Fatal(err)
	}
	if f, err := c.Exposures(ctx, api.FeedbackItem{Token: ds[0].Token}); err != nil || f.Accepted != 1 {
		t.Fatal(f, err)
	}
	paid := api.FeedbackItem{Token: ds[0].Token, Metrics: map[string]float64{"buy": 73.125}}
	if f, err := c.Feedback(ctx, paid); err != nil || f.Accepted != 1 {
		t.Fatal(f, err)
	}
	if err := c.Delete(ctx, "secret", "", true); err != nil {
		t.Fatal(err)
	}
	s.Tick()
	stop()
	if err := os.RemoveAll(filepath.Join(data, "privacy")); err != nil {
		t.Fatal(err)
	}
	out := cmds.Printed(t, "log", "export", "--data", data)
	if strings.Contains(out, "privacy.open") || !strings.Contains(out, `"kind":"privacy.feedback"`) {
		t.Fatalf("the log has the creation, or no feedback: the test tests nothing:\n%s", out)
	}
	if strings.Contains(out, "73.125") {
		t.Errorf("the export has raw feedback:\n%s", out)
	}
	snapshot := filepath.Join(t.TempDir(), "snapshot")
	status, _, stderr := cmds.Try(ctx, "log", "export", "--data", data, "--snapshot", snapshot)
	if status == 0 || !strings.Contains(stderr, "secret") {
		t.Errorf("the snapshot: status %d, %q", status, stderr)
	}
}
