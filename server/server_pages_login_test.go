package server

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const readerToken = "0123456789abcdef-eye"

func withTokens(t testing.TB) (string, func(*Config)) {
	path := filepath.Join(t.TempDir(), "tokens.yaml")
	text := "tokens:\n  - {name: boss, roles: [admin], token: 0123456789abcdef-boss}\n  - {name: app, roles: " +
		"[decide, feedback], token: 0123456789abcdef-app}\n  - {name: eye, roles: [read], token: " + readerToken + "}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, func(c *Config) { c.Tokens = path }
}

// login submits the form of /login.
func (w *world) login(token, next string, header ...string) (*http.Response, string) {
	w.t.Helper()
	r, err := http.NewRequest("POST", w.http.URL+"/login",
		strings.NewReader(url.Values{"token": {token}, "next": {next}}.Encode()))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, b := w.send(r, header...)
	return resp, string(b)
}

// newGuarded returns a world with access tokens and an experiment, and the path of the token file.
func newGuarded(t *testing.T) (w *world, path string) {
	t.Helper()
	path, tokens := withTokens(t)
	w = newWorld(t, tokens)
	w.token = "0123456789abcdef-boss"
	w.apply(toy)
	w.token = ""
	return w, path
}

// TestLoginForms checks that pages redirect to the form, that the form admits tokens of the role
// read, and that it redirects only to this site.
func TestLoginForms(t *testing.T) {
	w, _ := newGuarded(t)
	for path, to := range map[string]string{
		"/":                    "/login?next=%2F",
		"/experiments/toy?a=b": "/login?next=%2Fexperiments%2Ftoy%3Fa%3Db",
	} {
		r, err := http.NewRequest("GET", w.http.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != 303 || resp.Header.Get("Location") != to {
			t.Errorf("%s: %d to %q", path, resp.StatusCode, resp.Header.Get("Location"))
		}
	}
	for _, path := range []string{"/live", "/experiments/toy/live", "/experiments/toy/pictures/mixture.svg"} {
		w.get(401, nil, "GET", path, "")
	}
	w.get(200, nil, "GET", "/login?next=//evil.example", "", "Accept", "text/html")
	for token, want := range map[string]string{
		"": "not known", "0123456789abcdef-nobody": "not known",
		"0123456789abcdef-app": "lacks the role read",
	} {
		resp, page := w.login(token, "/")
		if resp.StatusCode != 403 || len(resp.Cookies()) != 0 || !strings.Contains(page, want) || token != "" &&
			strings.Contains(page, token) {
			t.Errorf("%q: status %d, %q", token, resp.StatusCode, page)
		}
	}
	if resp, _ := w.login(readerToken, "/", "Sec-Fetch-Site", "cross-site"); resp.StatusCode != 403 ||
		len(resp.Cookies()) != 0 {
		t.Errorf("a form of another site: status %d", resp.StatusCode)
	}
	for next, to := range map[string]string{
		"/experiments/toy": "/experiments/toy", "//evil.example": "/",
		"https://evil.example": "/", `/\evil.example`: "/", "": "/", "/logout": "/",
	} {
		if resp, _ := w.login(readerToken, next); resp.StatusCode != 303 || resp.Header.Get("Location") != to {
			t.Errorf("next %q: %d to %q", next, resp.StatusCode, resp.Header.Get("Location"))
		}
	}
}

// TestLoginCookie checks that the cookie opens pages and nothing else, and that it ends by its age,
// by logging out and when its token is removed.
func TestLoginCookie(t *testing.T) {
	w, path := newGuarded(t)
	resp, _ := w.login(readerToken, "/")
	c := resp.Cookies()[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Secure || c.Path != "/" ||
		strings.Contains(c.Value, readerToken) {
		t.Errorf("%+v", c)
	}
	cookie := c.Name + "=" + c.Value
	status := func(path string) int {
		got, _ := w.do("GET", path, "", "Cookie", cookie)
		return got
	}
	for path, want := range map[string]int{
		"/": 200, "/experiments/toy": 200, "/experiments/toy/pictures/mixture.svg": 200,
		"/experiments/toy/explain": 200,
		"/v1/experiments":          401, "/v1/experiments/toy/report": 401, "/v1/export": 401, "/metrics": 401,
	} {
		if got := status(path); got != want {
			t.Errorf("%s with the cookie: status %d, want %d", path, got, want)
		}
	}
	if got, _ := w.do("POST", "/v1/experiments/toy/pause", "", "Cookie", cookie); got != 401 {
		t.Errorf("a change with the cookie: status %d", got)
	}
	if got, _ := w.do("GET", "/", "", "Authorization", "Bearer "+readerToken); got != 200 {
		t.Errorf("a page with the token: status %d", got)
	}
	w.wait(13 * time.Hour)
	if got := status("/"); got != 303 {
		t.Errorf("after 13 hours: status %d", got)
	}
	resp, _ = w.login(readerToken, "/")
	cookie = resp.Cookies()[0].Name + "=" + resp.Cookies()[0].Value
	if got, _ := w.do("POST", "/logout", "", "Cookie", cookie); got != 303 {
		t.Errorf("logout: status %d", got)
	}
	if got := status("/"); got != 303 {
		t.Errorf("after the logout: status %d", got)
	}
	resp, _ = w.login(readerToken, "/")
	cookie = resp.Cookies()[0].Name + "=" + resp.Cookies()[0].Value
	if err := os.WriteFile(path, []byte("tokens: [{name: eye, roles: [read], token: 0123456789abcdef-new}]"),
		0o600); err != nil {
		t.Fatal(err)
	}
	if err := w.server.ReloadTokens(); err != nil {
		t.Fatal(err)
	}
	if got := status("/"); got != 303 {
		t.Errorf("after the token was removed: status %d", got)
	}
	if logs := w.logs.String(); strings.Contains(logs, readerToken) || strings.Contains(logs, c.Value) {
		t.Error("the logs hold a token or a cookie")
	}
}

// FuzzLogin checks that only a form with a token of the role read gets a cookie, and that no form
// makes the service fail or redirects a browser to another site.
func FuzzLogin(f *testing.F) {
	for _, body := range []string{
		"", "token=x", "token=" + readerToken + "&next=/experiments/toy",
		"token=" + readerToken + "&next=//evil.example", "token=" + readerToken + "&next=/\x1a",
		"token=" + readerToken + "&next=/%2e%zz", "%", "a=b&&;=%zz", "token=%00&token=" + readerToken,
	} {
		f.Add([]byte(body))
	}
	_, config := withTokens(f)
	w := newWorld(f, config)
	f.Fuzz(func(t *testing.T, body []byte) {
		r := httptest.NewRequest("POST", "/login", bytes.NewReader(body))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		rec := httptest.NewRecorder()
		w.server.Handler().ServeHTTP(rec, r)
		form, err := url.ParseQuery(string(body))
		good := err == nil && slices.Contains([]string{readerToken, "0123456789abcdef-boss"},
			strings.TrimSpace(form.Get("token")))
		if entered := rec.Header().Get("Set-Cookie") != ""; entered != good || rec.Code >= 500 {
			t.Errorf("%q: status %d, cookie %v", body, rec.Code, entered)
		}
		if to, err := url.Parse(rec.Header().Get("Location")); err != nil || to.Host != "" || to.Scheme != "" {
			t.Errorf("%q: to %q", body, rec.Header().Get("Location"))
		}
	})
}

// TestFailedLogins: a failed login is a line of the log with the client's address and without the
// token, by the form of /login, by that of a change, and by a header; of one address there is one
// line a minute, which says how many had none. A request without a token is none.
func TestFailedLogins(t *testing.T) {
	path, tokens := withTokens(t)
	w := newWorld(t, tokens, func(c *Config) { c.TrustedProxies = []string{"127.0.0.1"} })
	failed := func() (lines []string) {
		for line := range strings.Lines(w.logs.String()) {
			if strings.Contains(line, `msg="a login failed"`) {
				lines = append(lines, line)
			}
		}
		return lines
	}
	expect := func(n int, parts ...string) {
		t.Helper()
		lines := failed()
		if len(lines) != n {
			t.Fatalf("%d lines, want %d: %q", len(lines), n, lines)
		}
		for _, p := range parts {
			if !strings.Contains(lines[n-1], p) {
				t.Errorf("the line lacks %s: %s", p, lines[n-1])
			}
		}
	}
	from := func(address string) []string { return []string{"X-Forwarded-For", address} }
	w.do("GET", "/v1/experiments", "", from("192.0.2.1")...)
	w.do("GET", "/", "", from("192.0.2.1")...)
	expect(0)
	w.login("guessed-token-1", "/", from("192.0.2.1")...)
	expect(1, "level=WARN", "client=192.0.2.1", "by=form", "without_line=0")
	for range 5 {
		w.login("guessed-token-2", "/", from("192.0.2.1")...)
	}
	expect(1)
	w.do("GET", "/v1/experiments", "", append(from("2001:db8::7"), "Authorization", "Bearer guessed-token-3")...)
	expect(2, "client=2001:db8::7", "by=header", "without_line=5")
	w.login("0123456789abcdef-app", "/", from("192.0.2.3")...) // which may not read
	expect(3, "client=192.0.2.3", "by=form", "token=app")
	w.wait(time.Minute)
	w.do("GET", "/v1/experiments", "", append(from("192.0.2.1"), "X-API-Key", "guessed-token-4")...)
	expect(4, "client=192.0.2.1")
	for i := range 300 {
		header := append(from(fmt.Sprint("192.0.3.", i%250)), "Authorization", "Basic Z3Vlc3NlZA==")
		w.do("GET", "/v1/state", "", header...)
	}
	if n := len(failed()); n > 4+60 {
		t.Errorf("%d lines within a minute", n)
	}
	w.login("0123456789abcdef-boss", "/", from("192.0.2.9")...)
	w.token = "0123456789abcdef-boss"
	if _, b := w.do("GET", "/metrics", ""); !strings.Contains(string(b), "noregret_failed_logins_total 309\n") {
		t.Errorf("%s", b)
	}
	for _, secret := range []string{"guessed", "Z3Vlc3NlZA", "0123456789abcdef", path + "x"} {
		if strings.Contains(w.logs.String(), secret) {
			t.Errorf("the log has %s", secret)
		}
	}
}
