package server

import (
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// TestListSearch checks that the list shows what the query selects, by words, state, guardrails and
// problems, and that its stream does so, too.
func TestListSearch(t *testing.T) {
	w, _ := played(t, strings.Replace(toy, "name: toy", "name: toy\ndescription: Colours of the Button", 1), "toy")
	w.apply(strings.Replace(toy, "name: toy", "name: tea", 1))
	w.apply(strings.Replace(toy, "name: toy", "name: button-2", 1))
	w.get(200, nil, "POST", "/v1/experiments/tea/pause", "")
	w.get(200, nil, "POST", "/v1/experiments/button-2/rollback", "")
	row := regexp.MustCompile(`id="to-([^"]+)" href="/experiments/`)
	names := func(text string) string {
		var out []string
		for _, m := range row.FindAllStringSubmatch(text, -1) {
			out = append(out, m[1])
		}
		return strings.Join(out, " ")
	}
	for query, want := range map[string]string{
		"":                           "button-2 tea toy",
		"q=BUTTON":                   "button-2 toy",
		"q=button+colours":           "toy",
		"q=colours+x":                "",
		"state=paused":               "tea",
		"state=rolled_back":          "button-2",
		"state=running&q=t":          "toy",
		"only=guardrails":            "button-2",
		"only=problems":              "",
		"state=no&only=no":           "button-2 tea toy",
		"q=%22%3E%3Cscript%3E%00%ff": "",
	} {
		page := w.text(200, "/?"+query)
		if got := names(page); got != want {
			t.Errorf("%q: %q, want %q", query, got, want)
		}
		if strings.Contains(page, `"><script>`) {
			t.Errorf("%q is not escaped", query)
		}
		live := regexp.MustCompile(`data-live="([^"]*)"`).FindStringSubmatch(page)[1]
		live = html.UnescapeString(live)
		if u, err := url.Parse(live); err != nil || u.Path != "/live" {
			t.Errorf("%q: the stream is at %q", query, live)
		}
		if got := names(w.events(live, 1)[0]["list"]); got != want {
			t.Errorf("%q: the stream has %q, want %q", query, got, want)
		}
	}
	wants(t, w.text(200, "/?q=button&state=paused"), "0 of 3 experiments", "None of them", `value="button"`,
		`<option value="paused" selected>`)
	if got := names(w.events("/live", 1)[0]["list"]); got != "button-2 tea toy" {
		t.Errorf("after the searches all viewers see %q", got)
	}
}
