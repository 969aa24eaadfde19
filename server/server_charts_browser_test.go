package server

import (
	"context"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// chartOf is the JavaScript expression of the chart of a picture.
func chartOf(name string) string {
	return `document.querySelector('figure[data-name="` + name + `"]').chart.plot`
}

// TestBrowserCharts: the script replaces the pictures by charts, which show the values under the
// cursor, zoom together by mouse, by buttons and by keys, and keep the zoom when new values come.
func TestBrowserCharts(t *testing.T) {
	w, _ := played(t, toy, "toy")
	b := newBrowser(t)
	page := w.http.URL + "/experiments/toy"
	b.do(chromedp.EmulateViewport(1280, 900), chromedp.Navigate(page), charted, shows(`//body[@data-events]`))
	if n := ask[int](b, `[...document.querySelectorAll("figure picture")].filter(p => !p.hidden).length`); n != 0 {
		t.Errorf("%d pictures are shown beside their charts", n)
	}
	var values pictureSeries
	w.get(200, &values, "GET", "/experiments/toy/pictures/mixture.json", "")
	if got := ask[[]float64](b, chartOf("mixture")+`.data[0]`); len(got) != len(values.X) || got[1] != values.X[1] {
		t.Errorf("the chart has the times %v, want %v", got, values.X)
	}
	// A stack: the areas add up to 1.
	if got := ask[float64](b, chartOf("mixture")+`.data.at(-1)[2]`); got < 1-1e-9 || got > 1+1e-9 {
		t.Errorf("the stack ends at %v", got)
	}
	// The legend shows the present values, and under the cursor those of the version there.
	legend := func(name string) string {
		return ask[string](b, `document.querySelector('figure[data-name="`+name+`"] .u-legend').textContent`)
	}
	if got := legend("mixture"); !strings.Contains(got, "version 5") || !strings.Contains(got, " %") {
		t.Errorf("at rest the legend shows %q", got)
	}
	const over = `document.querySelector('figure[data-name="mixture"] .u-over').getBoundingClientRect()`
	ask[bool](b, `(document.querySelector('figure[data-name="mixture"]').scrollIntoView(), true)`)
	x, y := ask[float64](b, over+`.x`), ask[float64](b, over+`.y`)
	across := ask[float64](b, over+`.width`)
	b.do(chromedp.MouseEvent(chromedp.MouseMoved, x+3, y+50))
	for name := range map[string]bool{"mixture": true, "lift": true} {
		b.do(shows(`//figure[@data-name="` + name + `"]//td[contains(., "version 1")]`))
	}
	// Zooming one zooms all.
	whole := ask[float64](b, chartOf("regret")+`.scales.x.max - `+chartOf("regret")+`.scales.x.min`)
	width := func(name string) float64 {
		return ask[float64](b, `(`+chartOf(name)+`.scales.x.max - `+chartOf(name)+`.scales.x.min)`) / whole
	}
	b.do(chromedp.MouseEvent(chromedp.MousePressed, x+across*0.25, y+50, chromedp.ButtonLeft),
		chromedp.MouseEvent(chromedp.MouseMoved, x+across*0.75, y+60, chromedp.ButtonLeft),
		chromedp.MouseEvent(chromedp.MouseReleased, x+across*0.75, y+60, chromedp.ButtonLeft))
	for _, name := range []string{"mixture", "regret"} {
		if got := width(name); got < 0.45 || got > 0.55 {
			t.Errorf("after dragging over a half %s shows %v of the time", name, got)
		}
	}
	w.round("toy", 9)
	b.do(shows(`//figure[contains(@data-ready, "/mixture.json?at=6-")]`),
		shows(`//figure[contains(@data-ready, "/regret.json?at=6-")]`))
	if got := width("regret"); got > 0.55 {
		t.Errorf("a new version undoes the zoom: %v of the time", got)
	}
	b.do(chromedp.Click(chromedp.Search(`//button[@aria-label="All: Mixture"]`)))
	if got := width("lift"); got <= 1 {
		t.Errorf("All shows %v of the time before the new version", got)
	}
	// By keys alone, with the values as text.
	ask[bool](b, `(document.getElementById("plot-mixture").focus(), true)`)
	b.do(chromedp.KeyEvent("+"), chromedp.KeyEvent("+"))
	if got := width("objective"); got > 0.5 {
		t.Errorf("after two pluses the charts show %v of the time", got)
	}
	b.do(chromedp.KeyEvent("0"), chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowRight),
		shows(`//figure[@data-name="mixture"]/p[@role="status"][contains(., "version 2. ")][contains(., "control: ")]`))
	// A line can be hidden, with its band.
	b.do(chromedp.Click(chromedp.Search(
		`//figure[@data-name="regret"]//button[@class="u-label"][text()="what was served"]`)),
		shows(`//figure[@data-name="regret"]//button[@aria-pressed="false"][text()="what was served"]`))
	if got := b.complaints(); len(got) > 0 {
		t.Errorf("the console has %q", got)
	}
	// Without a script the pictures stay.
	b.do(func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, emulation.SetScriptExecutionDisabled,
			emulation.SetScriptExecutionDisabledParams{Value: true})
		return chromedp.Void{}, err
	}, chromedp.Navigate(page), shows(`//figure/picture[not(@hidden)]/img`))
	b.shoot("test-charts-noscript")
}

// TestBrowserWholePage: without scrolling all charts are there, so that a picture of the whole page
// has them. A print has the drawn pictures of the present values, light ones for dark screens, too,
// and no table that is cut off.
func TestBrowserWholePage(t *testing.T) {
	w, _ := played(t, toy, "toy")
	b := newBrowser(t)
	b.do(chromedp.EmulateViewport(700, 400), media("prefers-color-scheme", "dark"),
		chromedp.Navigate(w.http.URL+"/experiments/toy"),
		shows(`//div[@data-part="pictures"][not(.//figure[not(@data-ready)])]//div[@class="plot"]`))
	w.round("toy", 9)
	b.do(shows(`//figure[contains(@data-ready, "/mixture.json?at=6-")]`), func(ctx context.Context, t *chromedp.Target) (
		chromedp.Void, error,
	) {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Media: "print", Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}},
		})
		return chromedp.Void{}, err
	})
	const shown = `[...document.querySelectorAll(%s)].filter((e) => getComputedStyle(e).display !== "none").length`
	if n := ask[int](b, strings.Replace(shown, "%s", `"figure picture"`, 1)); n < 4 {
		t.Errorf("the print has %d pictures", n)
	}
	if n := ask[int](b, strings.Replace(shown, "%s", `".plot, .zoom, .actions"`, 1)); n > 0 {
		t.Errorf("the print has %d charts and buttons of the screen", n)
	}
	if got := ask[string](b, `document.querySelector('figure[data-name="mixture"] img').src`); !strings.Contains(got, "at=6-") {
		t.Errorf("the print has the picture %s of earlier values", got)
	}
	if n := ask[int](b, `document.querySelectorAll("figure picture source").length`); n > 0 {
		t.Errorf("the print may choose %d dark and narrow pictures", n)
	}
	const cut = `[...document.querySelectorAll(".scroll")].filter((e) => e.scrollWidth > e.clientWidth + 1).length`
	if n := ask[int](b, cut); n > 0 {
		t.Errorf("the print cuts off %d tables", n)
	}
	b.shoot("test-charts-print")
}
