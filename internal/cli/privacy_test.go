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
	c, err := client.New(client.Options{URL: h.URL})
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
