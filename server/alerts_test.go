package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/server/internal/alert"
)

// webhook receives alerts. Its change is for newWorld.
type webhook struct {
	t   *testing.T
	got chan api.Alert
	url string
	// signed has the signature of each attempt.
	signed chan string
}

func newWebhook(t *testing.T) *webhook {
	t.Helper()
	h := &webhook{t: t, got: make(chan api.Alert, 1000), signed: make(chan string, 1000)}
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var a api.Alert
		if err := json.NewDecoder(r.Body).Decode(&a); err != nil {
			t.Error(err)
		}
		h.signed <- r.Header.Get(alert.SignatureHeader)
		h.got <- a
	}))
	t.Cleanup(s.Close)
	h.url = s.URL
	return h
}

func (h *webhook) config(c *Config) {
	file := filepath.Join(h.t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("0123456789abcdef"), 0o600); err != nil {
		h.t.Fatal(err)
	}
	c.AlertWebhook, c.AlertSecretFile = h.url, file
}

// expect waits for alerts, each of state and key, in any order.
func (h *webhook) expect(want ...string) {
	h.t.Helper()
	var got []string
	for range want {
		select {
		case a := <-h.got:
			got = append(got, a.State+" "+a.Key)
			if a.Text == "" || a.Since.IsZero() {
				h.t.Errorf("%+v", a)
			}
		case <-time.After(time.Minute):
			h.t.Fatalf("only %q came, want %q", got, want)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		h.t.Errorf("%q, want %q", got, want)
	}
}

// look lets enough time pass for the service to look at what is wrong.
func (w *world) look() {
	w.wait(alertPeriod)
	w.server.Tick()
}

// TestAlerts lets a guardrail be broken, so that it acts, items be refused, and units of one arm
// only be exposed. Each makes one alert, and one when it is over; a restart makes none again.
func TestAlerts(t *testing.T) {
	h := newWebhook(t)
	w := newWorld(t, h.config)
	w.apply(strings.Replace(toy, "hard: false", "hard: false, action: rollback", 1))
	w.look()
	d := w.decide("toy", unitNames("u", 400)...)
	var shown, said []item
	for i := range d {
		shown = append(shown, item{Token: d[i].Token})
		said = append(said, item{Token: d[i].Token, Metrics: map[string]float64{"y": -9}})
	}
	w.post("/v1/exposures", shown...)
	w.post("/v1/feedback", said...)
	w.look()
	h.expect("happened action:toy:y:rollback", "raised action:toy:gain", "raised action:toy:guard")
	var bad []item
	for i := range 50 {
		bad = append(bad, item{Token: d[i].Token, Metrics: map[string]float64{"y": 1e6}})
	}
	w.post("/v1/feedback", bad...)
	w.look()
	h.expect("raised refused:toy:feedback")
	w.look()
	w.drained()
	w.restart() // which forgets the last minutes
	w.look()
	h.expect("resolved refused:toy:feedback")

	w.apply(strings.NewReplacer("name: toy", "name: odd",
		"guardrails: [{metric: y, min: 0, hard: false}]\n", "").Replace(toy))
	var odd []item
	for _, d := range w.decide("odd", unitNames("u", 3000)...) {
		if d.Arm != "control" {
			odd = append(odd, item{Token: d.Token})
		}
	}
	w.post("/v1/exposures", odd...)
	w.look()
	h.expect("raised sample_ratio:odd")
	var now api.Alerts
	w.get(200, &now, "GET", "/v1/alerts", "")
	if len(now.Active) != 3 || now.Active[2].Kind != "sample_ratio" || !now.Webhook || now.Failure != "" {
		t.Errorf("%+v", now)
	}
	w.get(204, nil, "DELETE", "/v1/experiments/odd", "")
	w.look()
	h.expect("resolved sample_ratio:odd")
	w.get(204, nil, "POST", "/v1/alerts/test", "")
	h.expect("happened test")
	if len(h.got) > 0 {
		t.Errorf("another one: %+v", <-h.got)
	}
}

// A guardrail that only alerts is broken until it is not; the alert says so.
func TestAlertOfBreach(t *testing.T) {
	h := newWebhook(t)
	w := newWorld(t, h.config)
	w.apply(strings.Replace(toy, "hard: false", "hard: false, action: alert", 1))
	w.look()
	var shown, said []item
	for _, d := range w.decide("toy", unitNames("u", 400)...) {
		shown = append(shown, item{Token: d.Token})
		said = append(said, item{Token: d.Token, Metrics: map[string]float64{"y": -9}})
	}
	w.post("/v1/exposures", shown...)
	w.post("/v1/feedback", said...)
	w.look()
	h.expect("raised breach:toy:y:0", "happened action:toy:y:alert")
	w.get(204, nil, "DELETE", "/v1/experiments/toy", "")
	w.look()
	h.expect("resolved breach:toy:y:0")
}

// TestAlertsOfRestored: what a guardrail did is sent once, also when the experiment is deleted
// meanwhile and comes back, before or after a restart. What it did just before the deletion is
// sent, too.
func TestAlertsOfRestored(t *testing.T) {
	for _, restart := range []bool{false, true} {
		for _, told := range []bool{false, true} {
			t.Run(fmt.Sprintf("restart %t, told %t", restart, told), func(t *testing.T) {
				h := newWebhook(t)
				w := newWorld(t, h.config, func(c *Config) { c.DeleteGrace = 7 * 24 * time.Hour })
				w.apply(strings.Replace(toy, "hard: false", "hard: false, action: alert", 1))
				w.look()
				var shown, said []item
				for _, d := range w.decide("toy", unitNames("u", 400)...) {
					shown = append(shown, item{Token: d.Token})
					said = append(said, item{Token: d.Token, Metrics: map[string]float64{"y": -9}})
				}
				w.post("/v1/exposures", shown...)
				w.post("/v1/feedback", said...)
				if told {
					w.look()
					h.expect("raised breach:toy:y:0", "happened action:toy:y:alert")
				} else {
					w.wait(alertPeriod / 2)
					w.server.Tick() // the guardrail acts, and nobody looks
				}
				w.get(204, nil, "DELETE", "/v1/experiments/toy", "")
				w.look()
				if told {
					h.expect("resolved breach:toy:y:0")
				} else {
					h.expect("happened action:toy:y:alert")
				}
				if w.drained(); restart {
					w.restart()
					w.look()
				}
				w.get(200, nil, "POST", "/v1/experiments/toy/restore", "")
				w.look()
				h.expect("raised breach:toy:y:0")
				w.get(204, nil, "POST", "/v1/alerts/test", "") // which comes last
				h.expect("happened test")
				if len(h.got) > 0 {
					t.Errorf("restart %v, told %v: another one: %+v", restart, told, <-h.got)
				}
			})
		}
	}
}

// TestAlertOfDisk lets the disk be full for a while. The alert does not need the disk.
func TestAlertOfDisk(t *testing.T) {
	h := newWebhook(t)
	disk := &faultyDisk{fails: changes}
	w := newLeakyWorld(t, h.config, func(c *Config) { c.FS = errorfs.Wrap(vfs.NewMem(), disk) })
	w.apply(toy)
	w.look()
	disk.fail(syscall.ENOSPC)
	if status, _ := w.do("POST", "/v1/experiments/toy/pause", ""); status != 503 {
		t.Fatalf("status %d", status)
	}
	w.look()
	h.expect("raised disk:log")
	disk.heal()
	w.wait(time.Minute)
	w.server.Tick()
	w.look()
	h.expect("resolved disk:log")
}

// TestAlertOfClock sets the machine's clock.
func TestAlertOfClock(t *testing.T) {
	h := newWebhook(t)
	m := &stepped{wall: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)}
	w := newWorld(t, h.config, func(c *Config) { c.Now, c.Elapsed = m.now, m.since })
	w.server.Tick()
	m.pass(2*alertPeriod, -2*time.Hour)
	w.server.Tick()
	h.expect("raised clock:step")
	m.pass(2*alertPeriod, 2*time.Hour)
	w.server.Tick()
	m.pass(2*alertPeriod, 0)
	w.server.Tick()
	h.expect("resolved clock:step")
}

// Without a webhook the alerts are shown, a test says what is missing, and no file is written.
func TestNoWebhook(t *testing.T) {
	w := newWorld(t)
	w.look()
	status, b := w.do("POST", "/v1/alerts/test", "")
	if status != 409 || !strings.Contains(string(b), "--alert-webhook") {
		t.Errorf("status %d: %s", status, b)
	}
	if _, err := os.Stat(filepath.Join(w.config.Data, "alerts.json")); err == nil {
		t.Error("a file was written")
	}
	c := testConfig(t)
	c.AlertWebhook = "http://127.0.0.1:1"
	if _, err := New(c); err == nil || !strings.Contains(err.Error(), "both an address and a file") {
		t.Errorf("%v", err)
	}
}

// TestAlertsAreSignedByTheMachinesClock: after a step of the machine's clock the service's time is
// hours from it for long. A receiver, whose clock is right, would refuse signatures by that time.
func TestAlertsAreSignedByTheMachinesClock(t *testing.T) {
	m := &stepped{wall: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)}
	h := newWebhook(t)
	w := newWorld(t, h.config, func(c *Config) { c.Now, c.Elapsed = m.now, m.since })
	m.pass(alertPeriod, 3*time.Hour)
	if off := m.now().Sub(w.server.config.Now()); off < 2*time.Hour {
		t.Fatalf("the service's time has followed up to %v", off)
	}
	if status, b := w.do("POST", "/v1/alerts/test", ""); status != 204 {
		t.Fatalf("status %d: %s", status, b)
	}
	<-h.got
	if got, want := <-h.signed, fmt.Sprintf("t=%d,", m.now().Unix()); !strings.HasPrefix(got, want) {
		t.Errorf("signed as %s, want %s: the machine's time", got, want)
	}
}

// breakGuard lets the guardrail of an experiment like toy act.
func (w *world) breakGuard(name string) {
	w.t.Helper()
	var shown, said []item
	for _, d := range w.decide(name, unitNames("u", 400)...) {
		shown = append(shown, item{Token: d.Token})
		said = append(said, item{Token: d.Token, Metrics: map[string]float64{"y": -9}})
	}
	w.post("/v1/exposures", shown...)
	w.post("/v1/feedback", said...)
}

// TestAlertsOfANewService: a new service sends what a guardrail has done before it has looked for
// the first time, and so does one that is killed before that. What had happened before the service
// had a webhook is not sent, nor is anything twice.
func TestAlertsOfANewService(t *testing.T) {
	h := newWebhook(t)
	disk := vfs.NewCrashableMem()
	w := newLeakyWorld(t, h.config, func(c *Config) { c.FS = disk })
	w.apply(strings.Replace(toy, "hard: false", "hard: false, action: rollback", 1))
	w.breakGuard("toy")
	file := filepath.Join(w.config.Data, "alerts.json")
	killed := disk.CrashClone(vfs.CrashCloneCfg{})
	before, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	w.look()
	h.expect("happened action:toy:y:rollback", "raised action:toy:gain", "raised action:toy:guard")
	w.drained()
	w.restart()
	w.look()
	w.look()

	// As a kill before the first look has left the disk.
	w.end()
	w.config.FS = killed
	again := killed.CrashClone(vfs.CrashCloneCfg{})
	if err := os.WriteFile(file, before, 0o600); err != nil {
		t.Fatal(err)
	}
	w.start()
	w.look()
	h.expect("happened action:toy:y:rollback", "raised action:toy:gain", "raised action:toy:guard")
	w.drained()

	// A service that gets its webhook only now.
	w.end()
	w.config.FS = again
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	w.start()
	w.look()
	h.expect("raised action:toy:gain", "raised action:toy:guard")
	w.drained()
	if len(h.got) > 0 {
		t.Errorf("another one: %+v", <-h.got)
	}
}

// drained waits until no alert waits.
func (w *world) drained() {
	w.t.Helper()
	for end := time.Now().Add(time.Minute); w.server.alerts.sender.Status(nil).Waiting > 0; {
		if time.Now().After(end) {
			w.t.Fatal("an alert still waits")
		}
	}
}

// TestAlertsAreLogged: each alert is one line of the service's log, also without a webhook: what
// begins, what ends, and what a guardrail has done, also in the last seconds before the end.
func TestAlertsAreLogged(t *testing.T) {
	w := newWorld(t)
	w.apply(strings.Replace(toy, "hard: false", "hard: false, action: rollback", 1))
	w.breakGuard("toy")
	w.look()
	w.look()
	lines := func(parts ...string) (n int) {
		for line := range strings.Lines(w.logs.String()) {
			hit := true
			for _, p := range append(parts, "msg=alert ") {
				hit = hit && strings.Contains(line, p)
			}
			if hit {
				n++
			}
		}
		return n
	}
	for _, want := range [][]string{
		{"state=happened", "key=action:toy:y:rollback", "kind=action", "experiment=toy", "metric=y", "level=WARN"},
		{"state=raised", "key=action:toy:gain", "experiment=toy", "arm=gain", "level=WARN"},
		{"state=raised", "key=action:toy:guard", "experiment=toy", "arm=guard", "level=WARN"},
	} {
		if n := lines(want...); n != 1 {
			t.Errorf("%d lines with %q:\n%s", n, want, w.logs.String())
		}
	}
	w.get(204, nil, "DELETE", "/v1/experiments/toy", "")
	w.look()
	if n := lines("state=resolved", "key=action:toy:gain", "level=INFO"); n != 1 || lines() != 5 {
		t.Errorf("%d lines:\n%s", lines(), w.logs.String())
	}
	w.apply(strings.NewReplacer("hard: false", "hard: false, action: rollback", "name: toy", "name: last").Replace(toy))
	w.breakGuard("last")
	w.restart()
	if n := lines("state=happened", "key=action:last:y:rollback"); n != 1 {
		t.Errorf("%d lines of what happened in the last seconds:\n%s", n, w.logs.String())
	}
	w.look()
	if n := lines("state=happened"); n != 2 {
		t.Errorf("%d lines:\n%s", n, w.logs.String())
	}
}
