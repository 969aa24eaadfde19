package server

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// browser is a tab of a headless Chromium that records the errors on its console.
type browser struct {
	t   *testing.T
	ctx context.Context
	mu  sync.Mutex
	bad []string
}

// chromium returns the browser's path. Without a browser the test is skipped; .ci/run installs one
// and sets NOREGRET_BROWSER=required.
func chromium(t *testing.T) string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("NOREGRET_BROWSER") == "required" {
		t.Fatal("no Chromium is installed")
	}
	t.Skip("NOT RUN: no Chromium is installed (Debian: apt-get install chromium)")
	return ""
}

func newBrowser(t *testing.T) *browser {
	t.Helper()
	path := chromium(t)
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.UserDataDir(filepath.Join(t.TempDir(), "chromium")),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("no-proxy-server", true),
	)
	// limit bounds the time that a test waits.
	limit, cancelLimit := context.WithTimeout(context.Background(), 2*time.Minute)
	b := &browser{t: t}
	allocator, cancelAllocator := chromedp.NewExecAllocator(limit, options...)
	ctx, cancel := chromedp.NewContext(allocator, chromedp.WithListener(b.listen))
	b.ctx = ctx
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Logf("closing the browser: %v", err)
		}
		cancel()
		cancelAllocator()
		cancelLimit()
	})
	return b
}

// listen records errors on the console: of scripts, of the network and of the
// Content-Security-Policy.
func (b *browser) listen(ev any) {
	text := ""
	switch ev := ev.(type) {
	case *log.EventEntryAdded:
		if ev.Entry.Level == "error" || ev.Entry.Level == "warning" {
			text = fmt.Sprintf("%s: %s (%s)", ev.Entry.Level, ev.Entry.Text, ev.Entry.URL)
		}
	case *runtime.EventExceptionThrown:
		text = "exception: " + ev.ExceptionDetails.Text
	case *runtime.EventConsoleAPICalled:
		text = "console." + string(ev.Type)
	}
	if text != "" {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.bad = append(b.bad, text)
	}
}

// complaints returns the errors since its last call.
func (b *browser) complaints() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	bad := b.bad
	b.bad = nil
	return bad
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// ask evaluates a JavaScript expression.
func ask[T any](b *browser, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// media emulates a preference of the user.
func media(name, value string) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia,
			emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: name, Value: value}}})
		return chromedp.Void{}, err
	}
}

// shoot saves a screenshot of the page in the directory NOREGRET_SCREENSHOTS, if that is set.
func (b *browser) shoot(name string) {
	b.t.Helper()
	dir := os.Getenv("NOREGRET_SCREENSHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o666); err != nil {
		b.t.Fatal(err)
	}
}

// shows waits until an element matches an XPath expression.
func shows(xpath string) chromedp.Action[chromedp.Void] {
	return chromedp.WaitReady(chromedp.Search(xpath))
}

// loaded waits for the pictures, but for those that only a print loads; everything else has been
// loaded before.
const loaded = `Promise.all([...document.images].filter(i => i.loading !== "lazy").map(async (i) => {
		await i.decode();
		return i.naturalWidth > 0;
	})).then((all) => all.every((there) => there))`

func (b *browser) pictures() {
	b.t.Helper()
	ok, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](loaded, chromedp.EvalAwaitPromise))
	if err != nil || !ok {
		b.t.Errorf("a picture is not shown: %v", err)
	}
}

// withoutScript returns the address of the first picture that a page shows where no script replaces
// it by a chart.
func (b *browser) withoutScript(path string) string {
	b.t.Helper()
	expression := fmt.Sprintf(`(async () => {
		const text = await (await fetch(%q)).text();
		const picture = new DOMParser().parseFromString(text, "text/html").querySelector("picture");
		document.body.append(document.adoptNode(picture));
		const image = picture.querySelector("img");
		await image.decode();
		picture.remove();
		return image.currentSrc;
	})()`, path)
	at, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatal(err)
	}
	return at
}

// charted scrolls over the pictures and back, and waits until the script has replaced every picture
// by a chart.
func charted(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
	const scroll = `(async () => {
		for (const f of document.querySelectorAll("figure[data-series]")) {
			f.scrollIntoView();
			await new Promise((done) => new IntersectionObserver(([e], o) => {
				if (e.isIntersecting) { o.disconnect(); done(); }
			}).observe(f));
		}
		window.scrollTo(0, 0);
		return true;
	})()`
	if _, err := chromedp.Evaluate[bool](scroll, chromedp.EvalAwaitPromise)(ctx, t); err != nil {
		return chromedp.Void{}, err
	}
	return shows(`//div[@data-part="pictures"][not(.//figure[not(@data-ready)])]//div[@class="plot"]`)(ctx, t)
}

// wide is the number of pixels by which the page is wider than the window.
const wide = `document.documentElement.scrollWidth - document.documentElement.clientWidth`

// TestBrowser opens the pages in a real browser.
func TestBrowser(t *testing.T) {
	w, tokens := played(t, hostile, "hostile")
	b := newBrowser(t)
	w.apply(toy)
	pages := []string{
		"/", "/experiments/hostile", "/experiments/hostile/explain?token=" + tokens[3],
		"/experiments/hostile/explain", "/experiments/none",
	}
	b.do(chromedp.EmulateViewport(1280, 900), chromedp.Navigate(w.http.URL+"/"))
	ask[bool](b, `(console.error("a try"), true)`)
	if got := b.complaints(); len(got) != 1 || got[0] != "console.error" {
		t.Fatalf("errors on the console are not recorded: %q", got)
	}
	for _, theme := range []string{"light", "dark"} {
		for _, width := range []int64{1280, 360} {
			b.do(media("prefers-color-scheme", theme), chromedp.EmulateViewport(width, 800))
			for i, path := range pages {
				b.do(chromedp.Navigate(w.http.URL+path), shows(`//main//h1`))
				b.pictures()
				if path == pages[1] {
					b.do(charted)
				}
				if got := ask[int](b, wide); got > 0 {
					t.Errorf("%s at %d pixels: %d pixels too wide", path, width, got)
				}
				background := ask[string](b, `getComputedStyle(document.body).backgroundColor`)
				want := map[string]string{"light": "rgb(244, 246, 248)", "dark": "rgb(18, 21, 26)"}[theme]
				if background != want {
					t.Errorf("%s, %s: background %s", path, theme, background)
				}
				if path == pages[1] && !strings.Contains(b.withoutScript(path), "theme="+theme) {
					t.Errorf("%s: the pictures are not in the theme", theme)
				}
				b.shoot(fmt.Sprintf("test-%s-%d-%d", theme, width, i))
			}
		}
	}
	b.switchAxis(w.http.URL + "/experiments/hostile")
	got := b.complaints()
	for _, text := range got {
		// The browser reports the missing page.
		if !strings.Contains(text, "404") || !strings.Contains(text, "/experiments/none") {
			t.Errorf("the console has %s", text)
		}
	}
	if ask[bool](b, `"alert" in window && document.querySelector("main script, main img[onerror]") !== null`) {
		t.Error("a name became an element")
	}
}

// switchAxis checks the lift table and switches the axis from times to policy versions and back.
func (b *browser) switchAxis(page string) {
	b.t.Helper()
	const lift = `//div[@data-part="lift"]`
	b.do(chromedp.Navigate(page), shows(lift+`//th[@scope="row"][contains(., "served now")]`),
		shows(lift+`//td[@class="lift"]/span[contains(@class, "state")]`), shows(`//img[contains(@src, "/lift.svg")]`))
	if got := ask[int](b, `document.querySelectorAll('[data-part=lift] tbody tr').length`); got != 6 {
		b.t.Errorf("the lift table has %d rows, want 3 mixtures and 3 arms", got)
	}
	for _, axis := range []string{"version", "time"} {
		b.do(chromedp.Click(chromedp.Search(`//nav[@class="axis"]/a[@href="?axis=`+axis+`"]`)),
			shows(`//nav[@class="axis"]/a[@href="?axis=`+axis+`"][@aria-current="true"]`),
			shows(`//body[@data-events]`))
		b.do(charted)
		b.pictures()
		if got := ask[bool](b, `[...document.images].every(i => i.src.includes("axis=`+axis+`"))`); !got {
			b.t.Errorf("the pictures are not by %s", axis)
		}
	}
}

// TestBrowserLive checks that events change the page without a reload and leave the focus where it
// was.
func TestBrowserLive(t *testing.T) {
	w, _ := played(t, toy, "toy")
	b := newBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 900), chromedp.Navigate(w.http.URL+"/experiments/toy"),
		shows(`//dd[@id="version"][text()="5"]`), shows(`//body[@data-events]`))
	ask[bool](b, `(window.same = true, document.querySelector("[data-part=arms]").parentElement.focus(), true)`)
	w.round("toy", 9)
	b.do(shows(`//dd[@id="version"][text()="6"]`), shows(`//figure[contains(@data-ready, "/mixture.json?at=6-")]`))
	w.get(200, nil, "POST", "/v1/experiments/toy/pause", `{"reason": "for <the> browser"}`)
	b.do(shows(`//div[@data-part="summary"]//dd[text()="paused"]`),
		shows(`//div[@data-part="events"]//td[contains(., "for <the> browser")]`))
	b.pictures()
	if !ask[bool](b, `window.same === true &&
		document.activeElement === document.querySelector("[data-part=arms]").parentElement`) {
		t.Error("the page was loaded again, or the focus is lost")
	}
	b.do(chromedp.Navigate(w.http.URL+"/"), shows(`//body[@data-events]`))
	ask[bool](b, `(document.getElementById("to-toy").focus(), true)`)
	w.apply(strings.Replace(toy, "name: toy", "name: second", 1))
	b.do(shows(`//a[@href="/experiments/second"]`))
	if got := ask[string](b, `document.activeElement.id`); got != "to-toy" {
		t.Errorf("the focus is on %q", got)
	}
	if got := b.complaints(); len(got) > 0 {
		t.Errorf("the console has %q", got)
	}
}

// TestBrowserLiveAgain checks that a page says that it is no longer up to date, and gets news again
// after an answer that is no stream, such as that of a service that starts.
func TestBrowserLiveAgain(t *testing.T) {
	w, _ := played(t, toy, "toy")
	var starts atomic.Bool
	front := httptest.NewServer(http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) {
		if starts.Load() {
			to.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.http.Config.Handler.ServeHTTP(to, r)
	}))
	t.Cleanup(front.Close)
	b := newBrowser(t)
	b.do(chromedp.Navigate(front.URL+"/experiments/toy"), shows(`//body[@data-events]`))
	starts.Store(true)
	front.CloseClientConnections()
	b.do(shows(`//span[@id="late"][contains(., "No longer up to date")]`))
	starts.Store(false)
	w.get(200, nil, "POST", "/v1/experiments/toy/pause", `{"reason": "for the browser"}`)
	b.do(shows(`//div[@data-part="summary"]//dd[text()="paused"]`), shows(`//span[@id="late"][not(text())]`))
}

// TestBrowserKeyboard checks that Tab visibly reaches every link, form and scrolling table, and
// that the login works with the keyboard alone.
func TestBrowserKeyboard(t *testing.T) {
	_, config := withTokens(t)
	w := newWorld(t, config)
	b := newBrowser(t)
	w.token = "0123456789abcdef-boss"
	w.apply(toy)
	token := w.decide("toy", "ann")[0].Token
	b.do(chromedp.EmulateViewport(1280, 900), chromedp.Navigate(w.http.URL+"/experiments/toy"),
		shows(`//h1[text()="Log in"]`))
	tab := func() string {
		b.do(chromedp.KeyEvent(kb.Tab))
		return ask[string](b, `(() => { const e = document.activeElement; const s = getComputedStyle(e);
			if (e !== document.body && s.outlineStyle === "none") return "no outline on " + e.outerHTML;
			return e.id || e.getAttribute("aria-labelledby") || e.getAttribute("aria-label") ||
				e.textContent.trim(); })()`)
	}
	until := func(want string) {
		t.Helper()
		var seen []string
		for range 20 {
			got := tab()
			if got == want {
				return
			}
			seen = append(seen, got)
		}
		t.Fatalf("Tab does not reach %q: %q", want, seen)
	}
	until("token")
	b.do(chromedp.KeyEvent("0123456789abcdef-wrong"), chromedp.KeyEvent(kb.Enter),
		shows(`//p[@role="alert"][contains(., "not known")]`))
	until("token")
	b.do(chromedp.KeyEvent(readerToken), chromedp.KeyEvent(kb.Enter),
		shows(`//h1[text()="toy"]`), shows(`//body[@data-events]`), charted)
	var order []string
	inFigures := 0
	for range 80 {
		at := tab()
		if ask[bool](b, `document.activeElement.closest("figure") !== null`) {
			inFigures++
			continue
		}
		if order = append(order, at); at == "API" {
			break
		}
	}
	if inFigures < 5*8 { // each has the chart, a line, five buttons and two links
		t.Errorf("Tab visits %d parts of the charts", inFigures)
	}
	got := strings.Join(order, "|")
	want := "Skip to the content|noregret|Log out|to-explain|to-pause|to-rollback|to-conclude|to-edit|to-history|" +
		"time|policy version|h-lift|h-guard|h-arms|h-audit|h-events|API"
	if !strings.HasPrefix(got, want) {
		t.Errorf("Tab visits %q, want %q", got, want)
	}
	b.do(chromedp.Navigate(w.http.URL+"/experiments/toy/explain"), shows(`//textarea`))
	until("token")
	b.do(chromedp.KeyEvent(token))
	until("Explain")
	b.do(chromedp.KeyEvent(kb.Enter), shows(`//h2[contains(., "The decision")]`))
	until("Log out")
	b.do(chromedp.KeyEvent(kb.Enter), shows(`//h1[text()="Log in"]`))
	b.do(chromedp.Navigate(w.http.URL+"/"), shows(`//h1[text()="Log in"]`))
	for _, text := range b.complaints() {
		if !strings.Contains(text, "403") { // the answer to the wrong token
			t.Errorf("the console has %s", text)
		}
	}
}
