package server

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestRequestID: a right identifier comes back, a wrong one is replaced, also for paths that are
// not there, and two new ones differ.
func TestRequestID(t *testing.T) {
	w := newWorld(t)
	made := regexp.MustCompile(`^[A-Z2-7]{26}$`)
	seen := map[string]bool{}
	for _, path := range []string{"/livez", "/nowhere", "/v1//state", "/v1/experiments"} {
		for _, id := range []string{
			"", "a", "Shop-7_x.9", strings.Repeat("x", 128), strings.Repeat("x", 129), "a b", "ü", "a\"b", "a/b",
		} {
			r, err := http.NewRequest("GET", w.http.URL+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if id != "" {
				r.Header.Set("X-Request-Id", id)
			}
			resp, _ := w.send(r)
			got := resp.Header.Get("X-Request-Id")
			if kept := regexp.MustCompile(`^[\w.-]{1,128}$`).MatchString(id); kept != (got == id) || !kept &&
				(!made.MatchString(got) || seen[got]) {
				t.Errorf("%s: the identifier %.20q of %q", path, got, id)
			}
			seen[got] = true
		}
	}
}

// TestAccessLog: a request has one line, with the token, the client and the route, whatever the
// answer is, and without its path, query and body.
func TestAccessLog(t *testing.T) {
	var lines lockedBuffer
	tokens := filepath.Join(t.TempDir(), "tokens.yaml")
	text := "tokens: [{name: ops, roles: [admin], token: a-token-of-some-length}]"
	if err := os.WriteFile(tokens, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, func(c *Config) {
		c.Tokens = tokens
		c.AccessLog = slog.New(slog.NewJSONHandler(&lines, nil))
		c.TrustedProxies = []string{"127.0.0.1"}
	})
	w.token = "a-token-of-some-length"
	w.apply(toy)
	before := strings.Count(lines.String(), "\n")
	status, answer := w.do("POST", "/v1/experiments/toy/decide", `{"units": ["secret-unit"]}`, "X-Request-Id", "mine",
		"X-Forwarded-For", "192.0.2.9")
	if status != 200 {
		t.Fatalf("status %d: %s", status, answer)
	}
	w.do("GET", "/v1/experiments/toy/explain?token=secret-unit", "")
	w.do("HEAD", "/v1/backup", "")
	w.token = ""
	w.do("GET", "/v1/experiments", "", "Authorization", "Bearer secret-unit")
	w.do("GET", "/secret-unit", "")
	w.do("GET", "/experiments/toy", "") // leads to the login
	got := strings.Split(strings.TrimSpace(lines.String()), "\n")[before:]
	want := []struct {
		ID, Client, Token, Method, Route, Experiment string
		Status, Bytes                                int
		Seconds                                      float64
	}{
		{
			ID: "mine", Client: "192.0.2.9", Token: "ops", Method: "POST", Route: "POST /v1/experiments/{name}/decide",
			Experiment: "toy", Status: 200, Bytes: len(answer),
		},
		{Token: "ops", Method: "GET", Route: "GET /v1/experiments/{name}/explain", Experiment: "toy", Status: 400},
		{Token: "ops", Method: "HEAD", Route: "GET /v1/backup", Status: 200},
		{Method: "GET", Route: "GET /v1/experiments", Status: 401},
		{Method: "GET", Route: "/", Status: 404},
		{Method: "GET", Route: "GET /experiments/{name}", Experiment: "toy", Status: 303},
	}
	if len(got) != len(want) {
		t.Fatalf("%d lines, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
	for i, line := range got {
		g := want[i]
		g.ID, g.Bytes = "", 0
		if err := json.Unmarshal([]byte(line), &g); err != nil {
			t.Fatal(err)
		}
		if g.ID == "" || i == 0 && g.Bytes != want[i].Bytes || g.Seconds <= 0 || g.Client == "" {
			t.Errorf("%s", line)
		}
		if want[i].ID == "" {
			want[i].ID, want[i].Client = g.ID, g.Client
		}
		if want[i].Bytes == 0 {
			want[i].Bytes = g.Bytes
		}
		want[i].Seconds = g.Seconds
		if g != want[i] {
			t.Errorf("%s\nwant %+v", line, want[i])
		}
	}
	if strings.Contains(lines.String(), "secret-unit") {
		t.Errorf("the log names a unit or a token: %s", lines.String())
	}
}
