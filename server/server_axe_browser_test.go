package server

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// axeSum is the SHA-256 of testdata/axe/axe.min.js, that of the package axe-core 4.14.1 of npm.
const axeSum = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c"

// violations runs axe-core on the page, with all rules for WCAG 2.2 (A and AA) and its best
// practices, and returns what it finds.
func (b *browser) violations(axe string) []string {
	b.t.Helper()
	ask[bool](b, axe+"\n;true")
	found, err := chromedp.Run(b.ctx, chromedp.Evaluate[[]string](`axe.run().then(r => r.violations.map(v => v.id + ": " +
		v.help + ": " + v.nodes.map(n => n.target.join(" ") + " (" + n.failureSummary + ")").slice(0, 3).join("; ")))`,
		chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatal(err)
	}
	return found
}

// TestBrowserAxe checks every kind of page with axe-core, light on a desktop and dark on a phone.
func TestBrowserAxe(t *testing.T) {
	text, err := os.ReadFile("testdata/axe/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != axeSum {
		t.Fatalf("axe.min.js has the SHA-256 %x", sum)
	}
	_, config := withTokens(t)
	w := newWorld(t, config)
	w.token = "0123456789abcdef-boss"
	w.apply(toy)
	var tokens []string
	for round := range 4 {
		tokens = append(tokens, w.round("toy", round)...)
	}
	w.apply(strings.Replace(toy, "name: toy", "name: second\ndescription: another one", 1))
	w.apply(strings.Replace(toy, "name: toy", "name: second\ndescription: changed", 1))
	w.get(200, nil, "POST", "/v1/experiments/second/veto", `{"arm": "gain", "reason": "odd"}`)
	w.get(200, nil, "POST", "/v1/experiments/second/pause", `{"reason": "odd"}`)
	b := newBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 900), chromedp.Navigate(w.http.URL+"/login"), shows(`//h1[text()="Log in"]`))
	if got := b.violations("document.title = ''; " + string(text)); len(got) == 0 {
		t.Fatal("a page without a title has no violations: axe does not run")
	}
	check := func(name string) {
		t.Helper()
		for theme, width := range map[string]int64{"light": 1280, "dark": 360} {
			b.do(media("prefers-color-scheme", theme), chromedp.EmulateViewport(width, 800))
			for _, v := range b.violations(string(text)) {
				t.Errorf("%s, %s, %d pixels: %s", name, theme, width, v)
			}
		}
	}
	open := func(path string, ready ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		b.do(append([]chromedp.Action[chromedp.Void]{chromedp.Navigate(w.http.URL + path), shows(`//main//h1`)}, ready...)...)
	}
	open("/login")
	check("login")
	b.do(chromedp.KeyEvent("\t"))
	ask[bool](b, `(document.getElementById("token").value = "`+w.token+`",
		document.querySelector("main form").submit(), true)`)
	b.do(shows(`//h1[text()="Experiments"]`), shows(`//body[@data-events]`))
	check("list")
	for name, path := range map[string]string{
		"nothing found": "/?q=none", "explanation": "/experiments/toy/explain?token=" + url.QueryEscape(tokens[3]),
		"question for a token": "/experiments/toy/explain", "pause": "/experiments/toy/pause",
		"resume": "/experiments/second/resume", "rollback": "/experiments/toy/rollback",
		"conclusion": "/experiments/toy/conclude", "history": "/experiments/second/history",
		"missing": "/experiments/none",
	} {
		open(path)
		check(name)
	}
	for _, name := range []string{"toy", "second"} {
		open("/experiments/"+name, charted, shows(`//body[@data-events]`))
		check(name)
	}
	open("/experiments/toy/edit")
	check("editor")
	// The editor in the browser: a fault, a difference, a change.
	ask[bool](b, `(document.getElementById("definition").value = "name: toy", true)`)
	b.do(chromedp.Click(chromedp.Search(`//button[@value="review"]`)), shows(`//p[@role="alert"]`))
	check("fault in the editor")
	open("/experiments/toy/edit")
	ask[bool](b, `(document.getElementById("definition").value = document.getElementById("definition").value.
		replace("min_units: 10", "min_units: 11"), true)`)
	b.do(chromedp.Click(chromedp.Search(`//button[@value="review"]`)), shows(`//ins[contains(., "min_units: 11")]`))
	check("difference")
	b.shoot("test-difference")
	b.do(chromedp.Click(chromedp.Search(`//input[@name="confirm"]`)),
		chromedp.Click(chromedp.Search(`//button[@value="apply"]`)),
		shows(`//h1[text()="toy"]`))
	if d := definitionOf(t, w); d.Round.MinUnits != 11 {
		t.Errorf("the definition has min_units %d, want 11", d.Round.MinUnits)
	}
	for _, text := range b.complaints() {
		if !strings.Contains(text, "404") && !strings.Contains(text, "400") {
			t.Errorf("the console has %s", text)
		}
	}
}
