package server

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/server/internal/access"
)

// scoped is a service with experiments of two projects and tokens that are limited to some of
// them.
func scoped(t *testing.T, with ...func(*Config)) *world {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tokens.yaml")
	text := "tokens:\n"
	for name, rest := range map[string]string{
		"boss":    "roles: [admin]",
		"shop":    "roles: [admin], projects: [shop]",
		"cart":    "roles: [admin], experiments: ['cart*']",
		"reader":  "roles: [read], projects: ['sh*'], experiments: [blog]",
		"program": "roles: [decide, feedback], projects: [shop]",
		"edge":    "roles: [aggregate], sources: [s], projects: [shop]",
	} {
		text += fmt.Sprintf("  - {name: %s, %s, token: 0123456789abcdef-%s}\n", name, rest, name)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, append(with, func(c *Config) { c.Tokens = path })...)
	w.as("boss")
	w.apply(inProject("cart", "shop"))
	w.apply(inProject("blog", "news"))
	w.apply(inProject("secret", ""))
	return w
}

func (w *world) as(name string) { w.token = "0123456789abcdef-" + name }

// inProject is toy by another name in a project.
func inProject(name, project string) string {
	text := strings.Replace(toy, "name: toy", "name: "+name, 1)
	if project != "" {
		text += "project: " + project + "\n"
	}
	return text
}

// TestScopesOfAllRoutes checks that a token which is limited to some experiments gets 403 for
// every route of another experiment and for every route of all of them, except those that keep to
// its experiments themselves. A route that is added needs no line here.
func TestScopesOfAllRoutes(t *testing.T) {
	w := scoped(t)
	named, whole := 0, 0
	for _, rt := range w.server.router.all {
		if rt.Method == otherMethod || rt.Role == access.Anyone || rt.Scoped {
			continue
		}
		path := strings.NewReplacer("{name}", "secret", "{key}", "secret", "{$}", "").Replace(rt.Pattern)
		if path == rt.Pattern {
			whole++
		} else {
			named++
		}
		for _, token := range []string{"shop", "cart"} {
			w.as(token)
			status, b := w.do(rt.Method, path, "")
			if text := string(b); status != http.StatusForbidden || !strings.Contains(text, "may not") {
				t.Errorf("%s %s with the token %s: status %d: %.200s", rt.Method, path, token, status, text)
			}
		}
	}
	if named < 15 || whole < 2 {
		t.Errorf("%d routes of an experiment, %d of all", named, whole)
	}
}

// TestScopes checks what tokens may do that are limited to some experiments or projects, where the
// route alone does not tell.
func TestScopes(t *testing.T) {
	w := scoped(t)
	mine, foreign := w.decide("cart", "ann")[0].Token, w.decide("secret", "ann")[0].Token
	sums := func(name string) string {
		return `{"experiment": "` + name + `", "source": "s", "sequence": 1, "items": [{"version": 1, "arm": "gain", ` +
			`"units": 1}]}`
	}
	report := `{"items": [{"token": "` + mine + `"}, {"token": "` + foreign + `"}]}`
	const unit, units = `{"context": {"targetingKey": "ann"}}`, `{"units": ["ann"]}`
	const v1 = "/v1/experiments"
	for _, c := range []struct {
		token, method, path, body string
		status                    int
		with, without             string
	}{
		{"reader", "GET", v1, "", 200, `"cart"`, `"secret"`},
		{"reader", "GET", v1 + "?limit=1", "", 200, `"next":"blog"`, `"secret"`},
		{"reader", "GET", v1 + "/blog/report", "", 200, `"blog"`, ""},
		{"reader", "GET", v1 + "/none", "", 403, "may not use", ""},
		{"reader", "GET", "/", "", 200, "/experiments/cart", "secret"},
		{"reader", "GET", "/experiments/cart", "", 200, "cart", ""},
		{"reader", "GET", "/v1/export?experiment=cart", "", 200, "cart", "secret"},
		{"reader", "GET", "/v1/export?experiment=secret", "", 403, "limited to some experiments", ""},
		{"reader", "GET", "/v1/export", "", 403, "limited to some experiments", ""},
		{"reader", "GET", "/v1/state", "", 200, "digest", ""},
		{"program", "POST", v1 + "/cart/decide", units, 200, "token", ""},
		{"program", "POST", v1 + "/secret/decide", units, 403, "may not use", ""},
		{"program", "POST", "/ofrep/v1/evaluate/flags/blog", unit, 403, "may not use", ""},
		{"program", "POST", "/ofrep/v1/evaluate/flags", unit, 200, `"cart"`, `"secret"`},
		{"program", "POST", "/ofrep/v1/evaluate/flags?flagSet=news", unit, 200, `"flags":[]`, "blog"},
		{"program", "POST", "/v1/exposures", report, 200, `"accepted":1`, `"rejected":0`},
		{"edge", "POST", "/v1/aggregates", sums("secret"), 403, "may not use", ""},
		{"edge", "POST", "/v1/aggregates", sums("cart"), 200, "", ""},
		{"shop", "PUT", v1 + "/new", inProject("new", "shop"), 201, "", ""},
		{"shop", "PUT", v1 + "/new2", inProject("new2", ""), 403, "may not use", ""},
		// A definition is no way into a project, nor out of it.
		{"shop", "PUT", v1 + "/secret", inProject("secret", "shop"), 403, "may not use", ""},
		{"shop", "PUT", v1 + "/new", inProject("new", "news"), 403, "may not use", ""},
		{"shop", "PUT", v1 + "/secret?dry_run=true", inProject("secret", "shop"), 403, "may not use", ""},
		{"cart", "PUT", v1 + "/cart-2", inProject("cart-2", ""), 201, "", ""},
		{"cart", "POST", v1 + "/cart/pause", "", 200, "paused", ""},
		{"boss", "PUT", v1 + "/secret", inProject("secret", "shop"), 200, "", ""},
		{"shop", "POST", v1 + "/secret/pause", "", 200, "paused", ""}, // it is in the project now
		{"boss", "GET", "/v1/export", "", 200, "secret", ""},
	} {
		w.as(c.token)
		header := []string{}
		if c.method == "PUT" {
			header = []string{"Content-Type", "application/yaml"}
		}
		status, b := w.do(c.method, c.path, c.body, header...)
		text := string(b)
		if status != c.status || !strings.Contains(text, c.with) ||
			c.without != "" && strings.Contains(text, c.without) {
			t.Errorf("%s: %s %s: status %d, want %d with %q and without %q: %.600s", c.token, c.method, c.path, status,
				c.status, c.with, c.without, text)
		}
	}
}

// TestScopedOperations: who is limited to some experiments gets the audit trail, the alerts and
// the metrics of these, and no name or number of another one, nor of the service.
func TestScopedOperations(t *testing.T) {
	w := scoped(t)
	acts := func(name, project string) string {
		return strings.Replace(inProject(name, project), "hard: false", "hard: false, action: rollback", 1)
	}
	for name, project := range map[string]string{"cart": "shop", "blog": "news", "secret": ""} {
		w.apply(acts(name, project))
		w.breakGuard(name)
	}
	w.get(200, nil, "POST", "/v1/experiments/secret/resume", `{"reason": "a hidden reason"}`)
	// And then another one of this name in the project of the token.
	w.apply(inProject("gone", "news"))
	w.get(200, nil, "POST", "/v1/experiments/gone/pause", `{"reason": "of the news"}`)
	w.get(204, nil, "DELETE", "/v1/experiments/gone", "")
	w.apply(inProject("gone", "shop"))
	w.look()
	only := func(what, text string, with, without []string) {
		t.Helper()
		for _, x := range with {
			if !strings.Contains(text, x) {
				t.Errorf("%s lacks %s: %.800s", what, x, text)
			}
		}
		for _, x := range without {
			if strings.Contains(text, x) {
				t.Errorf("%s has %s: %.800s", what, x, text)
			}
		}
	}
	others := []string{"secret", "blog", "hidden", "news"}
	for _, token := range []string{"shop", "cart"} {
		w.as(token)
		mine := []string{`"cart"`}
		theirs := slices.Concat(others, []string{"tokens", "backup"})
		if token == "shop" {
			mine = append(mine, `"gone"`)
		} else {
			theirs = append(theirs, "gone")
		}
		var trail api.Audit
		w.get(200, &trail, "GET", "/v1/audit", "")
		_, b := w.do("GET", "/v1/audit", "")
		only(token+"'s trail", string(b), mine, theirs)
		var page api.Audit
		w.get(200, &page, "GET", "/v1/audit?limit=1", "")
		w.get(200, &page, "GET", fmt.Sprint("/v1/audit?limit=1&before=", page.Next), "")
		if !slices.Equal(page.Entries, trail.Entries[1:2]) {
			t.Errorf("the second page is %+v, want %+v", page.Entries, trail.Entries[1:2])
		}
		w.get(200, &page, "GET", "/v1/audit?experiment=cart", "")
		if len(page.Entries) != 2 {
			t.Errorf("%+v", page)
		}
		w.get(403, nil, "GET", "/v1/audit?experiment=secret", "")
		_, b = w.do("GET", "/v1/alerts", "")
		only(token+"'s alerts", string(b), []string{`"key":"action:cart:gain"`}, others)
		_, b = w.do("GET", "/metrics", "")
		only(token+"'s metrics", string(b), []string{
			`noregret_decisions_total{experiment="cart"} 400`, `noregret_feedback_total{experiment="cart",status="accepted"} 400`,
		}, slices.Concat(others, []string{
			"noregret_http", "noregret_log", "noregret_items", "go_", "process_", "noregret_alerts",
		}))
	}
	w.as("boss")
	w.get(200, nil, "GET", "/v1/audit?experiment=secret", "")
	_, b := w.do("GET", "/metrics", "")
	only("all metrics", string(b), []string{`experiment="secret"`, "noregret_http_requests_total", "go_goroutines"}, nil)
	w.as("program") // without the role read
	w.get(403, nil, "GET", "/metrics", "")
}

// TestScopeBeforeExistence: who may not use an experiment gets the same answer whether it is
// there, was deleted or never was.
func TestScopeBeforeExistence(t *testing.T) {
	w := scoped(t, func(c *Config) { c.DeleteGrace = 7 * 24 * time.Hour })
	requests := func(name string) []string {
		aggregate := fmt.Sprintf(`{"experiment": %q, "source": "s", "sequence": 1, "items": []}`, name)
		var out []string
		for _, q := range [][4]string{
			{"edge", "POST", "/v1/aggregates", aggregate},
			{"program", "POST", "/v1/experiments/NAME/decide", `{"units": ["a"]}`},
			{"program", "POST", "/v1/experiments/NAME/rank", costRank},
			{"program", "POST", "/ofrep/v1/evaluate/flags/NAME", `{"context": {"targetingKey": "a"}}`},
			{"program", "POST", "/v1/exposures", fmt.Sprintf(`{"items": [{"decided": {"experiment": %q, "version": 1,
				"unit": "a", "time": 1}}]}`, name)},
			{"reader", "GET", "/v1/experiments/NAME/report", ""},
			{"reader", "GET", "/v1/experiments/NAME/explain?token=a", ""},
			{"reader", "GET", "/v1/export?experiment=NAME", ""},
			{"reader", "GET", "/experiments/NAME", ""},
			{"shop", "GET", "/v1/audit?experiment=NAME", ""},
			{"shop", "DELETE", "/v1/experiments/NAME", ""},
			{"shop", "POST", "/v1/experiments/NAME/restore", ""},
		} {
			w.as(q[0])
			status, b := w.do(q[1], strings.ReplaceAll(q[2], "NAME", name), q[3])
			text := strings.ReplaceAll(string(b), name, "NAME")
			if status < 400 && q[2] != "/v1/exposures" {
				t.Errorf("%s %s of %s: status %d", q[1], q[2], name, status)
			}
			out = append(out, fmt.Sprintf("%s %s: %d %s", q[1], q[2], status, text))
		}
		return out
	}
	there := requests("secret")
	w.as("boss")
	w.get(204, nil, "DELETE", "/v1/experiments/secret", "")
	deleted, never := requests("secret"), requests("nosuch")
	for i := range there {
		if deleted[i] != there[i] || never[i] != there[i] {
			t.Errorf("there:   %s\ndeleted: %s\nnever:   %s", there[i], deleted[i], never[i])
		}
	}
	w.as("shop") // the name of what was deleted is as taken as before
	for _, path := range []string{"/v1/experiments/secret", "/v1/experiments/secret?dry_run=true"} {
		status, b := w.do("PUT", path, inProject("secret", "shop"), "Content-Type", "application/yaml")
		if status != 403 || strings.Contains(string(b), "deleted") {
			t.Errorf("PUT %s: status %d: %s", path, status, b)
		}
	}
}

// TestStreamOfLostExperiment checks that the stream of a page ends when its experiment is no
// longer one that the visitor's token may use, without what comes after that.
func TestStreamOfLostExperiment(t *testing.T) {
	w := scoped(t)
	r, err := http.NewRequestWithContext(t.Context(), "GET", w.http.URL+"/experiments/cart/live", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer 0123456789abcdef-reader")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	lines := bufio.NewReader(resp.Body)
	if text, err := lines.ReadString('\n'); err != nil || resp.StatusCode != 200 {
		t.Fatalf("status %d: %s: %v", resp.StatusCode, text, err)
	}
	w.as("boss")
	w.apply(inProject("cart", "news"))
	w.get(200, nil, "POST", "/v1/experiments/cart/pause", `{"reason": "of news only"}`)
	end := time.AfterFunc(10*time.Second, func() { _ = resp.Body.Close() })
	defer end.Stop()
	rest, err := io.ReadAll(lines)
	if err != nil || strings.Contains(string(rest), "of news only") {
		t.Errorf("%v: %s", err, rest)
	}
}
