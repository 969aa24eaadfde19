package cli

import (
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/client"
	"github.com/noregret/noregret/server"
)

// The command prints the ledger that a service keeps in its data directory: the whole budget is
// spent when the experiment begins, releases count as steps, and the run is closed when the
// experiment is deleted.
func TestPrivacyLedgerOfService(t *testing.T) {
	var clock atomic.Int64
	clock.Store(time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC).UnixNano())
	data := t.TempDir()
	config := server.DefaultConfig(data)
	config.Tick, config.Logger, config.Now = time.Hour, slog.New(slog.DiscardHandler), func() time.Time {
		return time.Unix(0, clock.Load())
	}
	s, err := server.New(config)
	if err != nil {
		t.Fatal(err)
	}
	stop := sync.OnceFunc(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	defer stop()
	h := httptest.NewServer(s.Handler())
	defer h.Close()
	c, err := client.New(client.DefaultOptions(h.URL))
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	if _, err := c.Apply(ctx, "secret", []byte(`name: secret
arms: [{name: control, value: 0}, {name: gain, value: 1}]
control: {arm: control, share: 0.3}
metrics: [{name: buy, range: [0, 100], default: 0}]
objective: {goals: [{metric: buy}]}
round: {length: 1m, min_units: 10}
attribution_window: 10m
privacy: {epsilon: 1, delta: 1e-6, unit_contribution: 2, rounds: 8}
`)); err != nil {
		t.Fatal(err)
	}
	check := func(run string) {
		t.Helper()
		out := cmds.Printed(t, "privacy", "ledger", filepath.Join(data, "privacy", "ledger"))
		for _, want := range []string{
			`(?m)^account +secret$`, `(?m)^protects +replace-one, unit: one user with at most 2 records$`,
			`(?m)^budget +epsilon 1, delta 1e-06 \(GDP\)$`, `(?m)^spent +epsilon (1|0\.9999)`,
			`(?m)^remaining +epsilon 0$`, "(?m)^sums +" + run,
		} {
			if !regexp.MustCompile(want).MatchString(out) {
				t.Errorf("the ledger of the service has no %s:\n%s", want, out)
			}
		}
	}
	check(`reserved +0 .*sums of feedback by arm and metric`)
	for step := range 2 {
		var units []string
		for i := range 50 {
			units = append(units, fmt.Sprint("u", step, "-", i))
		}
		ds, err := c.Decide(ctx, "secret", units...)
		if err != nil {
			t.Fatal(err)
		}
		var shown []api.FeedbackItem
		for _, d := range ds {
			shown = append(shown, api.FeedbackItem{Token: d.Token})
		}
		if f, err := c.Exposures(ctx, shown...); err != nil || f.Accepted != 50 {
			t.Fatal(f, err)
		}
		paid := api.FeedbackItem{Token: ds[0].Token, Metrics: map[string]float64{"buy": 73.125}}
		if f, err := c.Feedback(ctx, paid); err != nil || f.Accepted != 1 {
			t.Fatal(f, err)
		}
		for range 3 {
			clock.Add(int64(12 * time.Minute))
			s.Tick()
		}
		s.Tick()
		check(fmt.Sprintf(`active +%d `, step+1))
	}
	if err := c.Delete(ctx, "secret", "", true); err != nil {
		t.Fatal(err)
	}
	s.Tick()
	check(`closed +2 `)

	// The log of a deleted experiment has its feedback, which no export shows, with a ledger or
	// without.
	stop()
	for range 2 {
		out := cmds.Printed(t, "log", "export", "--data", data)
		if strings.Contains(out, "73.125") || !strings.Contains(out, `"kind":"privacy.feedback"`) {
			t.Errorf("an export has raw feedback, or no event of any:\n%s", out)
		}
		_ = os.Rename(filepath.Join(data, "privacy"), filepath.Join(data, "lost"))
	}
}

// A budget that protects little is a warning and no refusal, for a training and for a plan, and
// what is spent is a number, also where the conversion of the accounting has none.
func TestPrivacyWarnings(t *testing.T) {
	t.Chdir(t.TempDir())
	rows := strings.Repeat("-1 1:0 2:0.5\n1 1:1 2:0.5\n", 6)
	if err := os.WriteFile("in.svm", []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		epsilon, delta string
		weak, likely   bool
	}{
		{"1", "1e-5", false, false},
		{"10", "0.09", false, false},
		{"11", "1e-5", true, false},
		{"1", "0.1", false, true},
	} {
		name := "e" + tc.epsilon + "d" + tc.delta
		for _, args := range [][]string{
			{
				"train", "--private", "--new-account", "--ledger", name + ".ledger", "--epsilon", tc.epsilon, "--delta",
				tc.delta, "--horizon", "10", "--labels", "-1,1", "--dim", "2", "--model", name + ".json", "--batch",
				"2", "in.svm",
			},
			{"privacy", "plan", "--epsilon", tc.epsilon, "--delta", tc.delta, "--horizon", "10", "--dim", "2"},
			{
				"privacy", "plan", "--epsilon", tc.epsilon, "--delta", tc.delta, "--horizon", "30", "--records", "3",
				"--batch", "2", "--dim", "2",
			},
		} {
			status, _, stderr := cmds.Try(t.Context(), args...)
			weak := strings.Contains(stderr, "warning: epsilon = "+tc.epsilon+" is above 10")
			likely := strings.Contains(stderr, "warning: delta = ") && strings.Contains(stderr, "at least 1/n = 0.1")
			if status != 0 || weak != tc.weak || likely != tc.likely {
				t.Errorf("%q: status %d, warnings %v %v, want %v %v: %s", args, status, weak, likely, tc.weak,
					tc.likely, stderr)
			}
		}
	}
	args := []string{
		"train", "--private", "--new-account", "--ledger", "huge", "--epsilon", "2000", "--delta", "1e-5", "--horizon",
		"10", "--labels", "-1,1", "--dim", "2", "--model", "huge.json", "in.svm",
	}
	status, stdout, stderr := cmds.Try(t.Context(), args...)
	if status != 0 || !regexp.MustCompile(`(?m)^ledger +huge, epsilon [0-9.]+ of 2000 is spent, [0-9.e-]+ remains$`).
		MatchString(stdout) {
		t.Errorf("status %d, %s\n%s", status, stderr, stdout)
	}
	_, stdout, _ = cmds.Try(t.Context(), "privacy", "ledger", "huge")
	if !regexp.MustCompile(`(?m)^spent +epsilon [0-9.]+, rho [0-9.]+$`).MatchString(stdout) {
		t.Errorf("the ledger:\n%s", stdout)
	}
	_, stdout, _ = cmds.Try(t.Context(), "privacy", "ledger", "--json", "huge")
	if !regexp.MustCompile(`"epsilon_spent": [0-9.]+,`).MatchString(stdout) {
		t.Errorf("the ledger in JSON:\n%s", stdout)
	}
	status, stdout, stderr = cmds.Try(t.Context(), "privacy", "plan", "--epsilon", "2000", "--delta", "1e-5",
		"--horizon", "10", "--dim", "2", "--json")
	if status != 0 || strings.Contains(stdout, "null") {
		t.Errorf("a plan: status %d %s\n%s", status, stderr, stdout)
	}
}
