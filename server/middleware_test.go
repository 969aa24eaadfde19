package server

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret/policy"
)

func TestRateLimit(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Rate, c.Burst = 0.001, 3 })
	got := []int{}
	for range 5 {
		status, _ := w.do("GET", "/v1/experiments", "")
		got = append(got, status)
	}
	if !slices.Equal(got, []int{200, 200, 200, 429, 429}) {
		t.Error(got)
	}
	w.get(200, nil, "GET", "/livez", "")
}

// TestOtherSites checks that requests that a page of another site makes a browser send change
// nothing, with or without access tokens.
func TestOtherSites(t *testing.T) {
	w := newWorld(t)
	w.apply(toy)
	for _, header := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Origin", "http://evil.example"}} {
		if status, b := w.do("POST", "/v1/experiments/toy/rollback", "", header...); status != http.StatusForbidden ||
			!strings.Contains(string(b), "the request comes from another site") {
			t.Errorf("a page of another site, %q: status %d: %s", header, status, b)
		}
	}
	if p := w.server.Policy("toy"); p.State != policy.Running {
		t.Errorf("it is %s", p.State)
	}
}

// TestAccess checks that each role opens only its routes, and that a bad token file changes
// nothing.
func TestAccess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const eye = "bb6b5cd29f8b3bf8cbd1a3a9c1cfdf1c4fb1c02cf6a6dd8e4ac8b0c4ac2ff4f1"
	write("tokens:\n  - {name: boss, roles: [admin], token: 0123456789abcdef-boss}\n  - {name: app, roles: [decide, " +
		"feedback], token: 0123456789abcdef-app}\n  - {name: eye, roles: [read], sha256: " + eye + "}\n")
	w := newWorld(t, func(c *Config) { c.Tokens = path })
	w.token = "0123456789abcdef-boss"
	w.apply(toy)
	try := func(token string) (n []int) {
		w.token = token
		for _, c := range [][3]string{
			{"GET", "/v1/experiments/toy/report", ""},
			{"POST", "/v1/experiments/toy/decide", `{"units": ["a"]}`},
			{"POST", "/v1/feedback", `{"items": [{"token": "x"}]}`},
			{"POST", "/v1/experiments/toy/pause", `{"reason": ""}`},
			{"GET", "/metrics", ""},
			{"GET", "/livez", ""},
		} {
			status, _ := w.do(c[0], c[1], c[2])
			n = append(n, status)
		}
		return n
	}
	for token, want := range map[string][]int{
		"":                        {401, 401, 401, 401, 401, 200},
		"0123456789abcdef-nobody": {401, 401, 401, 401, 401, 200},
		"0123456789abcdef-app":    {403, 200, 200, 403, 403, 200},
		eye:                       {401, 401, 401, 401, 401, 200}, // the hash is not the token
		"0123456789abcdef-boss":   {200, 200, 200, 200, 200, 200},
	} {
		if got := try(token); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", token, got, want)
		}
	}
	w.token = ""
	w.get(200, nil, "POST", "/v1/experiments/toy/decide", `{"units": ["a"]}`, "X-API-Key", "0123456789abcdef-app")
	// A bad file changes nothing and is logged once. A good one takes effect.
	write("tokens: [{name: app}]")
	for range 3 {
		if err := w.server.ReloadTokens(); err == nil || strings.Contains(err.Error(), "0123456789abcdef") {
			t.Errorf("a broken file: %v", err)
		}
	}
	if n := strings.Count(w.logs.String(), "the access tokens stay as they were"); n != 1 {
		t.Errorf("a broken file was logged %d times", n)
	}
	w.get(200, nil, "POST", "/v1/experiments/toy/decide", `{"units": ["a"]}`, "X-API-Key", "0123456789abcdef-app")
	write("tokens: [{name: app, roles: [read], token: 0123456789abcdef-new}]")
	if err := w.server.ReloadTokens(); err != nil {
		t.Error(err)
	}
	if n := strings.Count(w.logs.String(), "the access tokens were read again"); n != 1 {
		t.Errorf("a good file was logged %d times", n)
	}
	w.get(401, nil, "POST", "/v1/experiments/toy/decide", `{"units": ["a"]}`, "X-API-Key", "0123456789abcdef-app")
	w.get(200, nil, "GET", "/v1/experiments/toy/report", "", "Authorization", "bearer 0123456789abcdef-new")
	if strings.Contains(w.logs.String(), "0123456789abcdef") {
		t.Error("the logs hold an access token")
	}
}

// TestUnauthorizedSaysHow checks that the answer to a request without a token says how to send one.
func TestUnauthorizedSaysHow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.yaml")
	text := "tokens: [{name: a, roles: [read], token: 0123456789abcdef}]"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, func(c *Config) { c.Tokens = path })
	status, b := w.do("GET", "/v1/experiments", "")
	for _, want := range []string{"Authorization: Bearer TOKEN", "X-API-Key", "NOREGRET_TOKEN", "--token-file"} {
		if status != 401 || !strings.Contains(string(b), want) {
			t.Errorf("status %d, no %s: %s", status, want, b)
		}
	}
}
