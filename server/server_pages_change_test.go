package server

import (
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/noregret/noregret/policy"
)

// secretOf finds the secret in the form of a page.
var secretOf = regexp.MustCompile(`name="secret" value="([^"]+)"`)

// change sends the form of a page that changes the experiment toy.
func (w *world) change(kind string, form url.Values, header ...string) (*http.Response, string) {
	w.t.Helper()
	if !form.Has("secret") {
		form.Set("secret", w.secret(header...))
	}
	return w.sendForm("/experiments/toy/"+kind, form, header...)
}

// secret returns the secret of the session's forms, "" if the page with a form is not shown.
func (w *world) secret(header ...string) string {
	w.t.Helper()
	_, page := w.do("GET", "/experiments/toy/edit", "", header...)
	if m := secretOf.FindSubmatch(page); m != nil {
		return string(m[1])
	}
	return ""
}

// sendForm sends a form.
func (w *world) sendForm(path string, form url.Values, header ...string) (*http.Response, string) {
	w.t.Helper()
	r, err := http.NewRequest("POST", w.http.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, b := w.send(r, header...)
	return resp, string(b)
}

// conclude sends the form of the page that concludes an experiment.
func (w *world) conclude(form url.Values, header ...string) (*http.Response, string) {
	w.t.Helper()
	return w.change("conclude", form, header...)
}

// stateOf returns the state of the experiment and its policy version.
func stateOf(t *testing.T, w *world) (policy.Status, uint64) {
	t.Helper()
	r, err := w.server.Report("toy")
	if err != nil {
		t.Fatal(err)
	}
	return r.State, r.Version
}

// TestConcludePage: the page shows what would be served for good, asks for a confirmation, and
// concludes with it; the page of the experiment says so.
func TestConcludePage(t *testing.T) {
	w, _ := played(t, toy, "toy")
	wants(t, w.text(200, "/experiments/toy"), `href="/experiments/toy/conclude"`)
	wants(t, w.text(200, "/experiments/toy/conclude"), "The mixture that would be deployed", `name="confirm"`)
	if resp, page := w.conclude(url.Values{"reason": {"no tick"}}); resp.StatusCode != 400 ||
		!strings.Contains(page, "Confirm the change") || !strings.Contains(page, `value="no tick"`) {
		t.Errorf("without the confirmation: %d: %s", resp.StatusCode, page)
	}
	if resp, _ := w.conclude(url.Values{"confirm": {"yes"}}, "Sec-Fetch-Site", "cross-site"); resp.StatusCode != 403 {
		t.Errorf("from another site: %d", resp.StatusCode)
	}
	if state, _ := stateOf(t, w); state != policy.Running {
		t.Fatalf("the experiment is %s", state)
	}
	secret := w.secret()
	if resp, page := w.conclude(url.Values{"confirm": {"yes"}, "secret": {secret[1:]}}); resp.StatusCode != 403 ||
		!strings.Contains(page, "Nothing was changed") {
		t.Errorf("with a wrong secret: %d: %s", resp.StatusCode, page)
	}
	if state, _ := stateOf(t, w); state != policy.Running {
		t.Fatalf("the experiment is %s", state)
	}
	resp, _ := w.conclude(url.Values{"confirm": {"yes"}, "reason": {"it is better"}})
	if to := resp.Header.Get("Location"); resp.StatusCode != 303 || to != "/experiments/toy" {
		t.Errorf("confirmed: %d to %q", resp.StatusCode, to)
	}
	if state, _ := stateOf(t, w); state != policy.Concluded {
		t.Errorf("the experiment is %s", state)
	}
	page := w.text(200, "/experiments/toy")
	wants(t, page, "Concluded <time", "Reason: it is better", "No promise holds: the experiment is concluded")
	if strings.Contains(page, "/conclude") {
		t.Error("the page still offers to conclude")
	}
	wants(t, w.text(200, "/experiments/toy/conclude"), "concluded already")
	wants(t, w.text(200, "/experiments/toy/edit"), "cannot change any more")
	if resp, page := w.conclude(url.Values{"confirm": {"yes"}, "secret": {secret}}); resp.StatusCode != 409 ||
		!strings.Contains(page, "the experiment is concluded") {
		t.Errorf("again: %d: %s", resp.StatusCode, page)
	}
}

// TestConcludeNothing: an experiment that has learned nothing yet cannot be concluded.
func TestConcludeNothing(t *testing.T) {
	w := newWorld(t)
	w.apply(toy)
	wants(t, w.text(200, "/experiments/toy/conclude"), "nothing has been learned")
	if resp, page := w.conclude(url.Values{"confirm": {"yes"}}); resp.StatusCode != 409 ||
		!strings.Contains(page, "nothing has been learned yet") {
		t.Errorf("%d: %s", resp.StatusCode, page)
	}
}

// TestConcludeNeedsAdmin: where tokens are required, neither the session of a reader nor a token
// with another role concludes; the session of an admin does, by its own form.
func TestConcludeNeedsAdmin(t *testing.T) {
	w, _ := newGuarded(t)
	resp, _ := w.login(readerToken, "/")
	cookie := strings.SplitN(resp.Header.Get("Set-Cookie"), ";", 2)[0]
	before, version := stateOf(t, w)
	for name, form := range map[string]url.Values{
		"no token": {"confirm": {"yes"}}, "a reader": {"confirm": {"yes"}, "token": {readerToken}},
		"a stranger": {"confirm": {"yes"}, "token": {"0123456789abcdef-nobody"}},
	} {
		if resp, page := w.conclude(form, "Cookie", cookie); resp.StatusCode != 403 ||
			!strings.Contains(page, "not a token with the role admin") {
			t.Errorf("%s: %d: %s", name, resp.StatusCode, page)
		}
	}
	if resp,
		_ := w.conclude(url.Values{"confirm": {"yes"}, "token": {"0123456789abcdef-boss"}}); resp.StatusCode != 303 ||
		!strings.HasPrefix(resp.Header.Get("Location"), "/login") {
		t.Errorf("without a session: %d to %q", resp.StatusCode, resp.Header.Get("Location"))
	}
	if state, v := stateOf(t, w); state != before || v != version {
		t.Errorf("the experiment is %s, version %d", state, v)
	}
	// The token is good: what is refused is that nothing has been learned.
	if resp, page := w.conclude(url.Values{"confirm": {"yes"}, "token": {"0123456789abcdef-boss"}}, "Cookie",
		cookie); resp.StatusCode != 409 {
		t.Errorf("an admin: %d: %s", resp.StatusCode, page)
	}
}

// TestChangePages: the dashboard pauses, resumes and rolls back, says what that does, and offers
// what the state allows.
func TestChangePages(t *testing.T) {
	w, _ := played(t, toy, "toy")
	for _, step := range []struct {
		kind, says string
		tick       bool
		want       policy.Status
		offers     string
	}{
		{"pause", "nothing is learned from it", false, policy.Paused, "resume rollback conclude edit"},
		{"resume", "learns again", false, policy.Running, "pause rollback conclude edit"},
		{
			"rollback", "Every unit gets the control arm <strong>control</strong>", true, policy.RolledBack,
			"resume conclude edit",
		},
		{"resume", "instead of the control arm", false, policy.Running, "pause rollback conclude edit"},
	} {
		page := w.text(200, "/experiments/toy/"+step.kind)
		wants(t, page, step.says, `method="post" action="/experiments/toy/`+step.kind+`"`)
		if strings.Contains(page, `name="token"`) || strings.Contains(page, `name="confirm"`) != step.tick {
			t.Errorf("%s: the form asks for a token, or the box is wrong: %s", step.kind, page)
		}
		before, _ := stateOf(t, w)
		if resp, _ := w.change(step.kind, url.Values{"secret": {""}, "confirm": {"yes"}}); resp.StatusCode != 403 {
			t.Errorf("%s without the secret: %d", step.kind, resp.StatusCode)
		}
		if step.tick {
			if resp, page := w.change(step.kind, url.Values{}); resp.StatusCode != 400 ||
				!strings.Contains(page, "tick the box") {
				t.Errorf("%s without the box: %d", step.kind, resp.StatusCode)
			}
		}
		if state, _ := stateOf(t, w); state != before {
			t.Fatalf("%s has become %s", before, state)
		}
		form := url.Values{"reason": {"because of <" + step.kind + ">"}, "confirm": {"yes"}}
		if resp, page := w.change(step.kind, form); resp.StatusCode != 303 ||
			resp.Header.Get("Location") != "/experiments/toy" {
			t.Errorf("%s: %d to %q: %s", step.kind, resp.StatusCode, resp.Header.Get("Location"), page)
		}
		if state, _ := stateOf(t, w); state != step.want {
			t.Errorf("%s: the experiment is %s", step.kind, state)
		}
		page = w.text(200, "/experiments/toy")
		wants(t, page, "because of &lt;"+step.kind+"&gt;")
		var offers []string
		for _, m := range regexp.MustCompile(`id="to-([a-z]+)" href="/experiments/toy/`).FindAllStringSubmatch(page, -1) {
			offers = append(offers, m[1])
		}
		if got := strings.Join(offers, " "); got != "explain "+step.offers+" history" {
			t.Errorf("after %s the page offers %q, want %q", step.kind, got, step.offers)
		}
		if resp, page := w.change(step.kind, form); resp.StatusCode != 409 || !strings.Contains(page, "already") &&
			!strings.Contains(page, "only a running experiment") {
			t.Errorf("%s again: %d: %s", step.kind, resp.StatusCode, page)
		}
		wants(t, w.text(200, "/experiments/toy/"+step.kind), "already.</p>")
	}
	w.apply("name: ab\narms: [{name: a, value: 1}, {name: b, value: 2}]\nmetrics: [{name: x}]\npolicy: {kind: fixed, " +
		"split: {a: 0.5, b: 0.5}}\n")
	wants(t, w.text(200, "/experiments/ab/rollback"), "no control arm")
	if strings.Contains(w.text(200, "/experiments/ab"), "/ab/rollback") {
		t.Error("a rollback without a control arm is offered")
	}
	wants(t, w.text(404, "/experiments/none/pause"), "no experiment")
}

// TestAdminSession: the session of an admin changes by its own forms and by no others: not with the
// secret of another session, nor from another site, nor after the token has lost its role.
func TestAdminSession(t *testing.T) {
	w, path := newGuarded(t)
	session := func(token string) string {
		resp, _ := w.login(token, "/")
		return strings.SplitN(resp.Header.Get("Set-Cookie"), ";", 2)[0]
	}
	admin, other, reader := session("0123456789abcdef-boss"), session("0123456789abcdef-boss"), session(readerToken)
	_, page := w.do("GET", "/experiments/toy/pause", "", "Cookie", admin)
	if strings.Contains(string(page), `name="token"`) {
		t.Error("the form of an admin asks for a token")
	}
	_, page = w.do("GET", "/experiments/toy/pause", "", "Cookie", reader)
	if !strings.Contains(string(page), `name="token"`) {
		t.Error("the form of a reader does not ask for a token")
	}
	for name, send := range map[string]func() (*http.Response, string){
		"another session's form": func() (*http.Response, string) {
			return w.change("pause", url.Values{"secret": {w.secret("Cookie", other)}}, "Cookie", admin)
		},
		"no secret": func() (*http.Response, string) {
			return w.change("pause", url.Values{"secret": {""}}, "Cookie", admin)
		},
		"another site": func() (*http.Response, string) {
			return w.change("pause", url.Values{"secret": {w.secret("Cookie", admin)}}, "Cookie", admin, "Origin",
				"https://evil.example")
		},
		"a reader": func() (*http.Response, string) { return w.change("pause", url.Values{}, "Cookie", reader) },
		"a reader with another secret": func() (*http.Response, string) {
			return w.change("pause", url.Values{
				"secret": {w.secret("Cookie", admin)}, "token": {"0123456789abcdef-boss"},
			}, "Cookie", reader)
		},
	} {
		if resp, page := send(); resp.StatusCode != 403 {
			t.Errorf("%s: %d: %s", name, resp.StatusCode, page)
		}
		if state, _ := stateOf(t, w); state != policy.Running {
			t.Fatalf("%s: the experiment is %s", name, state)
		}
	}
	if resp, page := w.change("pause", url.Values{}, "Cookie", admin); resp.StatusCode != 303 {
		t.Errorf("an admin: %d: %s", resp.StatusCode, page)
	}
	if resp, page := w.change("resume", url.Values{"token": {"0123456789abcdef-boss"}}, "Cookie",
		reader); resp.StatusCode != 303 {
		t.Errorf("a reader with the token of an admin: %d: %s", resp.StatusCode, page)
	}
	text := "tokens: [{name: boss, roles: [read], token: 0123456789abcdef-boss}]"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := w.server.ReloadTokens(); err != nil {
		t.Fatal(err)
	}
	if resp, _ := w.change("pause", url.Values{}, "Cookie", admin); resp.StatusCode != 403 {
		t.Errorf("an admin no more: %d", resp.StatusCode)
	}
	if strings.Contains(w.logs.String(), w.secret("Cookie", admin)) {
		t.Error("the logs have a form's secret")
	}
}

// TestPageShowsStops checks that the page of an experiment shows the stage of the ramp with what it
// waits for, an arm that is vetoed, and what is promised of the guardrails.
func TestPageShowsStops(t *testing.T) {
	w := newWorld(t)
	w.apply(strings.Replace(toy, "hard: false", "hard: true", 1) + "ramp: [{share: 0.25, units: 5000}, {share: 0.5, " +
		"time: 1h}]\n")
	w.get(200, nil, "POST", "/v1/experiments/toy/veto", `{"arm": "gain", "reason": "odd"}`)
	wants(t, w.text(200, "/experiments/toy"), "stage 1 of 2, 25.0 % of the traffic", "waits for units: 0 of 5000",
		`<span class="state breached">stopped</span> <small>by hand, until the veto is lifted: odd</small>`,
		`<span class="state ok">promised</span> What is served holds each hard guardrail`)
}
