package policy

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/noregret/noregret/experiment/plan"
	"github.com/noregret/noregret/internal/cli/clitest"
)

func TestPlanRefuses(t *testing.T) {
	cmds.Refused(t,
		clitest.Refusal{"plan", "plan takes the file of one definition, got 0 arguments"},
		clitest.Refusal{"plan a b", "plan takes the file of one definition, got 2 arguments"},
		clitest.Refusal{"plan a --runs -1", "--runs: -1 is out of range, want 0 to 100,000"},
		clitest.Refusal{"plan a --horizon 0", "--horizon: 0 is out of range, want days above 0 and at most 3660"},
	)
}

// stopper is standard output that cancels a context with the first text.
type stopper struct {
	text   bytes.Buffer
	cancel func()
}

func (s *stopper) Write(p []byte) (int, error) {
	s.cancel()
	return s.text.Write(p)
}

// The closed form is printed before the simulation begins, and stays when that is interrupted: as
// text and as JSON, with the number of complete runs.
func TestPlanInterrupted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "split.yaml")
	if err := os.WriteFile(path, []byte(planned), 0o600); err != nil {
		t.Fatal(err)
	}
	closed := cmds.Printed(t, "plan", path, "--runs", "0")
	ctx, cancel := context.WithCancel(context.Background())
	out, errs := &stopper{cancel: cancel}, &bytes.Buffer{}
	status := cmds.Run(ctx, []string{"plan", path}, strings.NewReader(""), out, errs)
	if status != 1 || errs.String() != "noregret: interrupted\n" || out.text.String() != closed {
		t.Errorf("status %d, stderr %q, stdout\n%swant\n%s", status, errs, out.text.String(), closed)
	}
	status, text, _ := cmds.Try(ctx, "plan", path, "--json")
	var r plan.Result
	if err := json.Unmarshal([]byte(text), &r); err != nil || status != 1 || r.Runs != 0 || r.RunsAsked != 20 ||
		r.Guardrails[0].Held.ClosedForm == nil {
		t.Errorf("status %d, %v, %+v", status, err, r)
	}
	r.Runs, r.RunsAsked = 7, 20
	var b bytes.Buffer
	err := writeSimulated(&b, &r)
	if err != nil || !strings.Contains(b.String(), "simulation: 7 of 20 runs of 28 days") {
		t.Errorf("%v: %s", err, b.String())
	}
}

const planned = `
name: button
arms: [{name: old, value: 1}, {name: new, value: 2}]
control: {arm: old}
metrics: [{name: clicks, kind: count, range: [0, 1]}]
guardrails: [{metric: clicks, min_change: -0.05}]
policy: {kind: fixed, split: {old: 0.5, new: 0.5}}
attribution_window: 1h
plan: {units_per_day: 100000, expect: {clicks: {mean: 0.02}}, days: [14]}
`
