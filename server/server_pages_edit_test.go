package server

import (
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/noregret/noregret/experiment/definition"
)

// field finds the value of a hidden field, and area the text of the definition's field.
var (
	field = regexp.MustCompile(`name="(tag|definition|secret)" value="([^"]*)"`)
	area  = regexp.MustCompile(`(?s)<textarea[^>]*>\n(.*)</textarea>`)
)

// formOf returns what the form on a page has.
func formOf(page string) url.Values {
	form := url.Values{}
	for _, m := range field.FindAllStringSubmatch(page, -1) {
		form.Set(m[1], html.UnescapeString(m[2]))
	}
	if m := area.FindStringSubmatch(page); m != nil {
		form.Set("definition", html.UnescapeString(m[1]))
	}
	return form
}

func definitionOf(t *testing.T, w *world) *definition.Definition {
	t.Helper()
	d, err := w.server.Definition("toy")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestEditPage: the page shows the definition, then what a text would change, and changes it only
// after the confirmation.
func TestEditPage(t *testing.T) {
	w, _ := played(t, toy, "toy")
	form := formOf(w.text(200, "/experiments/toy/edit"))
	shown, err := definition.Parse("shown", []byte(form.Get("definition")))
	if err != nil {
		t.Fatal(err)
	}
	want, _ := definition.Tag(definitionOf(t, w))
	if got, _ := definition.Tag(shown); got != want || form.Get("tag") != want {
		t.Errorf("the page shows %s with the tag %s, want %s", got, form.Get("tag"), want)
	}
	send := func(status int, step string, change func(f url.Values)) string {
		t.Helper()
		f := url.Values{"step": {step}}
		for name, v := range form {
			f[name] = v
		}
		change(f)
		resp, page := w.sendForm("/experiments/toy/edit", f)
		if resp.StatusCode != status {
			t.Fatalf("%s: status %d, want %d: %s", step, resp.StatusCode, status, page)
		}
		return page
	}
	none := func(url.Values) {}
	wants(t, send(200, "review", none), "nothing would change")

	// What is wrong is shown with its place, and the text stays.
	page := send(400, "review", func(f url.Values) {
		f.Set("definition", strings.Replace(f.Get("definition"), "share: 0.2", "share: 7", 1))
	})
	wants(t, page, `role="alert"`, "<code>line 13: control.share</code>", "want a share", "share: 7")
	wants(t, send(400, "apply", func(f url.Values) { f.Set("definition", "name: <script>") }), "&lt;script&gt;")
	wants(t, send(400, "review", func(f url.Values) {
		f.Set("definition", strings.Replace(f.Get("definition"), "name: toy", "name: other", 1))
	}), "the name of an experiment cannot change")
	wants(t, send(409, "review", func(f url.Values) {
		f.Set("definition", strings.Replace(f.Get("definition"), "salt: toy", "salt: new", 1))
	}), "cannot become", "while the experiment runs")

	form.Set("definition", strings.ReplaceAll(strings.Replace(form.Get("definition"), "share: 0.2", "share: 0.3", 1),
		"\n", "\r\n")) // as browsers send it
	page = send(200, "review", none)
	wants(t, page, "<del>−   share: 0.2</del>", "<ins>+   share: 0.3</ins>", `<span>  control:</span>`)
	if n := strings.Count(page, "<ins>") + strings.Count(page, "<del>"); n != 2 {
		t.Errorf("%d lines differ, want 2", n)
	}
	form = formOf(page)
	wants(t, send(400, "apply", none), "tick the box", "<ins>")
	wants(t, send(403, "apply", func(f url.Values) {
		f.Set("confirm", "yes")
		f.Set("secret", "x")
	}), "Nothing was changed", "<ins>")
	wants(t, send(200, "edit", none), "share: 0.3", "<textarea")
	if got := definitionOf(t, w).Control.Share; got != 0.2 {
		t.Fatalf("the share is %v before the confirmation", got)
	}

	// Another change comes first.
	w.apply(strings.Replace(toy, "min_units: 10", "min_units: 20", 1))
	page = send(412, "apply", func(f url.Values) { f.Set("confirm", "yes") })
	wants(t, page, "changed meanwhile", "<del>−   min_units: 20</del>", "<ins>+   min_units: 10</ins>")
	if got := definitionOf(t, w).Control.Share; got != 0.2 {
		t.Fatalf("the share is %v although another change came first", got)
	}
	form = formOf(page)
	if got := send(303, "apply", func(f url.Values) { f.Set("confirm", "yes") }); got != "" {
		t.Errorf("%s", got)
	}
	if d := definitionOf(t, w); d.Control.Share != 0.3 || d.Round.MinUnits != 10 {
		t.Errorf("%+v", d)
	}
	wants(t, w.text(404, "/experiments/none/edit"), "no experiment")
}

// TestEditNeedsAdmin: a reader may look at what a text would change, and cannot change it.
func TestEditNeedsAdmin(t *testing.T) {
	w, _ := newGuarded(t)
	resp, _ := w.login(readerToken, "/")
	cookie := strings.SplitN(resp.Header.Get("Set-Cookie"), ";", 2)[0]
	_, b := w.do("GET", "/experiments/toy/edit", "", "Cookie", cookie)
	form := formOf(string(b))
	form.Set("definition", strings.Replace(form.Get("definition"), "share: 0.2", "share: 0.3", 1))
	form.Set("step", "review")
	_, page := w.sendForm("/experiments/toy/edit", form, "Cookie", cookie)
	wants(t, page, "<ins>", `name="token"`)
	form = formOf(page)
	form.Set("step", "apply")
	form.Set("confirm", "yes")
	for token, want := range map[string]int{"": 403, readerToken: 403} {
		form.Set("token", token)
		if resp, page := w.sendForm("/experiments/toy/edit", form, "Cookie", cookie); resp.StatusCode != want ||
			token != "" && strings.Contains(page, token) {
			t.Errorf("token %q: %d: %s", token, resp.StatusCode, page)
		}
	}
	if got := definitionOf(t, w).Control.Share; got != 0.2 {
		t.Fatalf("a reader has changed the share to %v", got)
	}
	form.Set("token", "0123456789abcdef-boss")
	if resp, page := w.sendForm("/experiments/toy/edit", form, "Cookie", cookie); resp.StatusCode != 303 {
		t.Errorf("an admin: %d: %s", resp.StatusCode, page)
	}
	if got := definitionOf(t, w).Control.Share; got != 0.3 {
		t.Errorf("the share is %v", got)
	}
}

// TestReviewByReader: what a reader reviews does not go through the writer, for which feedback
// waits. A change that is not possible is refused when somebody makes it.
func TestReviewByReader(t *testing.T) {
	w, _ := newGuarded(t)
	resp, _ := w.login(readerToken, "/")
	cookie := strings.SplitN(resp.Header.Get("Set-Cookie"), ";", 2)[0]
	_, b := w.do("GET", "/experiments/toy/edit", "", "Cookie", cookie)
	form := formOf(string(b))
	form.Set("definition", strings.Replace(form.Get("definition"), "salt: toy", "salt: new", 1))
	form.Set("step", "review")
	resp, page := w.sendForm("/experiments/toy/edit", form, "Cookie", cookie)
	if resp.StatusCode != 200 {
		t.Errorf("a review: status %d: %s", resp.StatusCode, page)
	}
	wants(t, page, "<ins>+ salt: new</ins>")
	form = formOf(page)
	form.Set("step", "apply")
	form.Set("confirm", "yes")
	form.Set("token", "0123456789abcdef-boss")
	resp, page = w.sendForm("/experiments/toy/edit", form, "Cookie", cookie)
	if resp.StatusCode != 409 {
		t.Errorf("a change that is not possible: status %d: %s", resp.StatusCode, page)
	}
	wants(t, page, "cannot become", "while the experiment runs", "<ins>")
}

// TestHistoryPage checks that the page has each definition as the difference from the one before,
// with who made it, also after a restart, and none of an experiment of the same name before.
func TestHistoryPage(t *testing.T) {
	w, _ := newGuarded(t)
	w.token = "0123456789abcdef-boss"
	w.apply(strings.Replace(toy, "share: 0.2", "share: 0.4", 1))
	w.get(200, nil, "POST", "/v1/experiments/toy/pause", "")
	w.apply(strings.NewReplacer("share: 0.2", "share: 0.4", "min_units: 10", "min_units: 30").Replace(toy))
	for _, when := range []string{"now", "after a restart"} {
		_, b := w.do("GET", "/experiments/toy/history", "")
		page := string(b)
		wants(t, page, "<del>−   share: 0.2</del>", "<ins>+   share: 0.4</ins>", "<del>−   min_units: 10</del>",
			"<ins>+   min_units: 30</ins>", "</time> by boss", "control:\n  arm: control\n  share: 0.2\n")
		if strings.Count(page, "<ins>") != 2 || strings.Count(page, "<section>") != 3 ||
			strings.Index(page, "min_units: 30") > strings.Index(page, "share: 0.4") {
			t.Errorf("%s: want three definitions and two differences, the newest first: %s", when, page)
		}
		w.restart()
	}
	w.get(204, nil, "DELETE", "/v1/experiments/toy", "")
	w.get(404, nil, "GET", "/experiments/toy/history", "")
	w.apply(toy)
	_, b := w.do("GET", "/experiments/toy/history", "")
	if page := string(b); strings.Count(page, "<section>") != 1 || strings.Contains(page, "0.4") {
		t.Errorf("the page of the new experiment: %s", page)
	}
}
