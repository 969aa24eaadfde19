package server

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/noregret/noregret/policy"
)

// conclude sends the form of the page that concludes an experiment.
func (w *world) conclude(form url.Values, header ...string) (*http.Response, string) {
	w.t.Helper()
	r, err := http.NewRequest("POST", w.http.URL+"/experiments/toy/conclude", strings.NewReader(form.Encode()))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, b := w.send(r, header...)
	return resp, string(b)
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
		!strings.Contains(page, "Confirm that") || !strings.Contains(page, `value="no tick"`) {
		t.Errorf("without the confirmation: %d: %s", resp.StatusCode, page)
	}
	if resp, _ := w.conclude(url.Values{"confirm": {"yes"}}, "Sec-Fetch-Site", "cross-site"); resp.StatusCode != 403 {
		t.Errorf("from another site: %d", resp.StatusCode)
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
	if resp, page := w.conclude(url.Values{"confirm": {"yes"}}); resp.StatusCode != 409 ||
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

// TestConcludeNeedsAdmin: where tokens are required, neither a session nor a token with another
// role concludes.
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

// TestPageShowsStops checks that the page of an experiment shows the stage of the ramp with what it
// waits for, an arm that is vetoed, and what is promised of the guardrails.
func TestPageShowsStops(t *testing.T) {
	w := newWorld(t)
	w.apply(strings.Replace(toy, "hard: false", "hard: true", 1) + "ramp: [{share: 0.25, units: 5000}, {share: 0.5, " +
		"time: 1h}]\n")
	w.get(200, nil, "POST", "/v1/experiments/toy/veto", `{"arm": "gain", "reason": "odd"}`)
	wants(t, w.text(200, "/experiments/toy"), "stage 1 of 2, 25.0 % of the traffic", "waits for units: 0 of 5000",
		`<span class="state breached">stopped</span> <small>by hand, until the veto is lifted: odd</small>`,
		`<span class="state ok">promised</span> What is served holds every hard guardrail`)
}
