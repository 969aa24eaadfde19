package server

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret/api"
)

const (
	shopSite = "https://shop.example"
	evilSite = "https://evil.example"
	noPath   = "may not call this path"
)

// ask sends a request as a browser does for a page of an origin.
func (w *world) ask(method, path, body, token, origin string, header ...string) (*http.Response, []byte) {
	w.t.Helper()
	r, err := http.NewRequest(method, w.http.URL+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if origin != "" {
		r.Header.Set("Origin", origin)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return w.send(r, header...)
}

// TestCORS checks that pages of the listed origins may decide, and nothing else, with the headers
// that a browser needs, and that pages of other origins may do nothing.
func TestCORS(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.CORSOrigins = []string{"https://other.example", shopSite} })
	w.apply(toy)
	open := map[string]string{
		"/v1/experiments/toy/decide":   `{"units": ["ann"]}`,
		"/ofrep/v1/evaluate/flags/toy": `{"context": {"targetingKey": "ann"}}`,
		"/ofrep/v1/evaluate/flags":     `{"context": {"targetingKey": "ann"}}`,
	}
	for path, body := range open {
		resp, _ := w.ask("OPTIONS", path, "", "", shopSite, "Access-Control-Request-Method", "POST",
			"Access-Control-Request-Headers", "authorization,content-type")
		h := resp.Header
		if resp.StatusCode != 204 || h.Get("Access-Control-Allow-Origin") != shopSite ||
			h.Get("Access-Control-Allow-Methods") != "POST" ||
			h.Get("Access-Control-Allow-Headers") != "Authorization, Content-Type, Flagd-Selector, If-None-Match, "+
				"Noregret-Exposure, X-API-Key" ||
			h.Get("Access-Control-Max-Age") != "7200" || !slices.Contains(h.Values("Vary"), "Origin") {
			t.Errorf("OPTIONS %s: %d %v", path, resp.StatusCode, h)
		}
		for range 2 { // the second time with what a cache has
			resp, b := w.ask("POST", path, body, "", shopSite)
			h = resp.Header
			if resp.StatusCode != 200 || h.Get("Access-Control-Allow-Origin") != shopSite ||
				!strings.Contains(h.Get("Access-Control-Expose-Headers"), "ETag") ||
				!slices.Contains(h.Values("Vary"), "Origin") || h.Get("Access-Control-Allow-Credentials") != "" {
				t.Errorf("POST %s: %d %v %s", path, resp.StatusCode, h, b)
			}
		}
		for _, method := range []string{"OPTIONS", "POST"} {
			for _, origin := range []string{
				evilSite, "null", "", "https://SHOP.example", shopSite + ".evil.example",
			} {
				resp, b := w.ask(method, path, body, "", origin)
				if resp.StatusCode != 403 || resp.Header.Get("Access-Control-Allow-Origin") != "" {
					t.Errorf("%s %s from %q: %d %v %s", method, path, origin, resp.StatusCode, resp.Header, b)
				}
			}
		}
	}
	// An answer says for which origin it is even if the request has none: a cache may keep it.
	if resp, _ := w.ask("POST", "/ofrep/v1/evaluate/flags", open["/ofrep/v1/evaluate/flags"], "", "",
		"Sec-Fetch-Site", "none"); resp.StatusCode != 200 || !slices.Contains(resp.Header.Values("Vary"), "Origin") {
		t.Errorf("without an origin: %d %v", resp.StatusCode, resp.Header)
	}
	// Pages can read errors, too.
	if resp, _ := w.ask("POST", "/v1/experiments/none/decide", `{"units": ["ann"]}`, "",
		shopSite); resp.StatusCode != 404 || resp.Header.Get("Access-Control-Allow-Origin") != shopSite {
		t.Errorf("an unknown experiment: %d %v", resp.StatusCode, resp.Header)
	}
	// Everything else stays closed to pages of other sites.
	for _, rt := range w.server.router.all {
		path := strings.NewReplacer("{name}", "toy", "{key}", "toy", "{$}", "").Replace(rt.Pattern)
		if _, ok := open[path]; ok {
			continue
		}
		for _, method := range []string{rt.Method, "OPTIONS"} {
			resp, _ := w.ask(method, path, "", "", shopSite)
			if resp.StatusCode != 403 || resp.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s %s from a listed origin: %d %v", method, path, resp.StatusCode, resp.Header)
			}
		}
	}
}

// TestBrowserTokens checks that a token for browsers decides for its experiments in pages of its
// origins, that one with the role feedback reports for its experiments only, and that neither does
// anything else.
func TestBrowserTokens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.yaml")
	const boss, page, teller = "0123456789abcdef-boss", "0123456789abcdef-page", "0123456789abcdef-teller"
	text := "tokens:\n  - {name: boss, roles: [admin], token: " + boss + "}\n" +
		"  - {name: page, roles: [browser], experiments: [toy], origins: [" + shopSite + "], token: " + page + "}\n" +
		"  - {name: teller, roles: [browser, feedback], experiments: ['to*'], token: " + teller + "}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, func(c *Config) {
		c.Tokens, c.CORSOrigins, c.CORSFeedback = path, []string{shopSite, "https://other.example"}, true
	})
	w.token = boss
	w.apply(toy)
	w.apply(strings.Replace(toy, "name: toy", "name: secret", 1))
	const one, flags = "/v1/experiments/toy/decide", "/ofrep/v1/evaluate/flags"
	const units, unit = `{"units": ["ann"]}`, `{"context": {"targetingKey": "ann"}}`
	token := w.decide("toy", "ann")[0].Token
	secret := w.decide("secret", "ann")[0].Token
	item := func(token string) string { return `{"items": [{"token": "` + token + `", "metrics": {"x": 1}}]}` }
	for _, c := range []struct {
		name, method, path, body, token, origin string
		status                                  int
		contains                                string
	}{
		{"decide", "POST", one, units, page, shopSite, 200, `"token"`},
		{"a flag", "POST", flags + "/toy", unit, page, shopSite, 200, `"toy"`},
		{"another experiment", "POST", "/v1/experiments/secret/decide", units, page, shopSite, 403, "may not use"},
		{"another flag", "POST", flags + "/secret", unit, page, shopSite, 403, "may not use"},
		{"an unknown experiment", "POST", "/v1/experiments/none/decide", units, page, shopSite, 403, "may not use"},
		{"another listed origin", "POST", one, units, page, "https://other.example", 403, "pages of this origin"},
		{"a token without origins there", "POST", one, units, teller, "https://other.example", 200, `"token"`},
		{"an unlisted origin", "POST", one, units, page, evilSite, 403, "another site"},
		{"a policy", "GET", "/v1/experiments/toy/policy", "", page, "", 403, noPath},
		{"a report", "GET", "/v1/experiments/toy/report", "", page, "", 403, noPath},
		{"personalizer", "POST", "/v1/experiments/toy/rank", units, page, "", 403, noPath},
		{"sums", "POST", "/v1/aggregates", "{}", teller, "", 403, noPath},
		{"a change", "POST", "/v1/experiments/toy/pause", "{}", teller, "", 403, noPath},
		{"feedback without the role", "POST", "/v1/feedback", item(token), page, shopSite, 403, noPath},
		{"feedback", "POST", "/v1/feedback", item(token), teller, shopSite, 200, `"accepted":1`},
		{"feedback of another experiment", "POST", "/v1/feedback", item(secret), teller, shopSite, 200, "may not use"},
		{
			"feedback without a token", "POST", "/v1/feedback", `{"items": [{"decided": {"experiment": "toy", ` +
				`"version": 1, "unit": "bob", "time": 1793534400000}, "metrics": {"x": 1}}]}`, teller, shopSite, 200,
			"want a decision's token",
		},
	} {
		header := []string{}
		if c.origin == "" {
			header = []string{"Sec-Fetch-Site", "same-origin"}
		}
		resp, b := w.ask(c.method, c.path, c.body, c.token, c.origin, header...)
		if resp.StatusCode != c.status || !strings.Contains(string(b), c.contains) {
			t.Errorf("%s: status %d, want %d with %q: %s", c.name, resp.StatusCode, c.status, c.contains, b)
		}
	}
	// A program that sends no origin is no page.
	if resp, b := w.ask("POST", one, units, page, "", "Sec-Fetch-Site", "none"); resp.StatusCode != 403 {
		t.Errorf("without an origin: %d %s", resp.StatusCode, b)
	}
	// All flags are those of the token's experiments.
	if _, b := w.ask("POST", flags, unit, page, shopSite); !strings.Contains(string(b), `"toy"`) ||
		strings.Contains(string(b), "secret") {
		t.Errorf("all flags: %s", b)
	}
	// A page of the service's own host needs no --cors-origin, if the token has no origins.
	if resp, b := w.ask("POST", one, units, teller, w.http.URL, "Sec-Fetch-Site",
		"same-origin"); resp.StatusCode != 200 {
		t.Errorf("a page of the same origin: %d %s", resp.StatusCode, b)
	}
	if r, err := w.server.Report("secret"); err != nil || r.Feedback != (api.Counts{}) {
		t.Errorf("the other experiment: %+v, %v", r.Feedback, err)
	}
}
