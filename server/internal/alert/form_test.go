package alert

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret/api"
)

// posted is a request to a webhook.
type posted struct {
	header http.Header
	body   string
}

// formed runs a sender in a form, without a secret, with a clock of its own. The machine's clock is
// an hour behind.
func formed(t *testing.T, form Form, path string) (*sending, chan posted) {
	t.Helper()
	got := make(chan posted, 100)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got <- posted{r.Header, string(b)}
	}))
	t.Cleanup(server.Close)
	x := &sending{begun: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC), pauses: make(chan time.Duration)}
	s, err := Open(Options{
		URL: server.URL + path, Form: form, Service: "https://decisions.example/", Now: x.now,
		Wall: func() time.Time { return x.now().Add(-time.Hour) },
		File: filepath.Join(t.TempDir(), "alerts.json"), Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		s.Run(t.Context())
		close(done)
	}()
	t.Cleanup(func() { <-done })
	x.Sender = s
	return x, got
}

// next waits for the next request.
func next(t *testing.T, got chan posted) posted {
	t.Helper()
	select {
	case p := <-got:
		return p
	case <-time.After(time.Minute):
		t.Fatal("no request came")
		panic("unreachable")
	}
}

// TestSlack: a message is text of which nothing has a meaning to Slack, and has a link.
func TestSlack(t *testing.T) {
	s, got := formed(t, Slack, "/services/T/B/x")
	s.Begin(nil)
	s.Update(map[string]api.Alert{"breach:a:m": {
		Kind: "breach", Experiment: "a", Metric: "<!channel>", Text: "the guardrail on <!channel> & \"*m*\" is broken",
	}}, nil)
	p := next(t, got)
	want := `Alert: the guardrail on &lt;!channel&gt; &amp; "*m*" is broken (breach of the experiment a, since ` +
		"2026-11-01T12:00:00Z)\n<https://decisions.example/experiments/a>"
	var message map[string]any
	if err := json.Unmarshal([]byte(p.body), &message); err != nil || message["text"] != want ||
		message["mrkdwn"] != false || len(message) != 3 {
		t.Errorf("%v: %s", err, p.body)
	}
	if p.header.Get(SignatureHeader) != "" || p.header.Get("Content-Type") != "application/json" {
		t.Errorf("%v", p.header)
	}
	s.passed.Add(int64(time.Minute))
	s.Update(nil, []api.Alert{{ID: "x", Key: "action:a:m:rollback", Kind: "action", Experiment: "a", Text: "b"}})
	if a, b := next(t, got).body, next(t, got).body; !strings.Contains(a, `"Resolved: the guardrail`) ||
		!strings.Contains(b, `"Happened: b (action of the experiment a`) {
		t.Errorf("%s, %s", a, b)
	}
	if n := len(got); n > 0 {
		t.Errorf("%d more", n)
	}
}

// managedIn reads the alerts of a request, as the API of version 2 describes them.
func managedIn(t *testing.T, p posted) []managed {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(p.body))
	d.DisallowUnknownFields()
	var out []managed
	if err := d.Decode(&out); err != nil || len(out) == 0 {
		t.Fatalf("%v: %s", err, p.body)
	}
	for _, a := range out {
		if a.Labels["alertname"] == "" || a.EndsAt.Before(a.StartsAt) {
			t.Errorf("an Alertmanager refuses %+v", a)
		}
		for name, value := range a.Labels {
			if value == "" {
				t.Errorf("the label %s is empty", name)
			}
		}
	}
	return out
}

// TestAlertmanager: what is wrong is sent every minute by the sender's clock until it has ended, as
// an Alertmanager forgets it otherwise; then its end is sent, with the same labels. What has
// happened fires once, until some minutes after its request. No time is after that of the machine's
// clock.
func TestAlertmanager(t *testing.T) {
	s, got := formed(t, Alertmanager, "/prefix/api/v2/alerts")
	s.Begin(nil)
	wrong := map[string]api.Alert{
		"breach:a:m:0": {Kind: "breach", Experiment: "a", Metric: "m", Text: "broken"},
		"disk:log":     {Kind: "disk", Text: "full"},
	}
	s.Update(wrong, nil)
	first := append(managedIn(t, next(t, got)), managedIn(t, next(t, got))...)
	a := first[0]
	wall := s.now().Add(-time.Hour)
	if a.Labels["alertname"] != "noregret_breach" || a.Labels["experiment"] != "a" || a.Labels["metric"] != "m" ||
		a.Labels["key"] != "breach:a:m:0" || a.Annotations["summary"] != "broken" || !a.StartsAt.Equal(wall) ||
		!a.EndsAt.Equal(wall.Add(activeTime)) || a.Generator != "https://decisions.example/experiments/a" {
		t.Errorf("%+v", a)
	}
	if b := first[1]; b.Labels["key"] != "disk:log" || b.Generator != "https://decisions.example/" {
		t.Errorf("%+v", b)
	}
	for range 3 {
		// The first minute has begun with the first alerts.
		if p := managedIn(t, next(t, got)); len(p) != 2 {
			t.Errorf("%+v", p)
		}
		for range 11 {
			s.passed.Add(int64(5 * time.Second))
			s.Update(wrong, nil)
		}
		s.drained(t)
		if n := len(got); n > 0 {
			t.Fatalf("%d requests within a minute", n)
		}
		s.passed.Add(int64(5 * time.Second))
		s.Update(wrong, nil)
	}
	next(t, got)
	s.Update(nil, []api.Alert{{
		ID: "action:a:m:shrink:1", Key: "action:a:m:shrink", Kind: "action", Since: s.now(), Experiment: "a",
		Text: "acted",
	}})
	wall = s.now().Add(-time.Hour)
	end := managedIn(t, next(t, got))[0]
	if !end.EndsAt.Equal(wall) || !end.StartsAt.Equal(wall) || len(end.Labels) != len(a.Labels) {
		t.Errorf("%+v", end)
	}
	for name, value := range a.Labels {
		if end.Labels[name] != value {
			t.Errorf("the end has %s=%s, want %s", name, end.Labels[name], value)
		}
	}
	next(t, got)
	if v := managedIn(t, next(t, got))[0]; v.Labels["id"] != "action:a:m:shrink:1" || !v.EndsAt.After(wall) {
		t.Errorf("%+v", v)
	}
	s.passed.Add(int64(5 * time.Minute))
	s.Update(nil, nil)
	s.drained(t)
	if n := len(got); n > 0 {
		t.Errorf("%d more: %+v", n, <-got)
	}
}

// TestForms: what does not fit together is refused.
func TestForms(t *testing.T) {
	for _, c := range []struct {
		form    Form
		address string
		secret  bool
		want    string
	}{
		{"", "http://a", false, "signed"},
		{JSON, "http://a", false, "signed"},
		{JSON, "http://a", true, ""},
		{Slack, "http://a", false, ""},
		{Slack, "http://a", true, ""},
		{Alertmanager, "http://a/api/v2/alerts", false, ""},
		{Alertmanager, "http://a/api/v1/alerts", false, "/api/v2/alerts"},
		{"pager", "http://a", true, "json, slack or alertmanager"},
	} {
		err := c.form.Check(c.address, c.secret)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
