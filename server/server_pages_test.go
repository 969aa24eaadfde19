package server

import (
	"bufio"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret/server/internal/dashboard"
)

// played returns a world with an experiment that has completed some rounds.
func played(t testing.TB, text, name string, change ...func(*Config)) (w *world, tokens []string) {
	t.Helper()
	w = newWorld(t, change...)
	w.apply(text)
	for round := range 4 {
		tokens = append(tokens, w.round(name, round)...)
	}
	w.wait(10 * time.Minute)
	w.server.Tick()
	return w, tokens
}

// round sends exposures and feedback of 40 units and ends the round.
func (w *world) round(name string, round int) (tokens []string) {
	w.t.Helper()
	var units []string
	for i := range 40 {
		units = append(units, fmt.Sprintf("u%d-%d", round, i))
	}
	var shown, said []item
	for i, d := range w.decide(name, units...) {
		tokens = append(tokens, d.Token)
		shown = append(shown, item{Token: d.Token})
		said = append(said,
			item{d.Token, map[string]float64{"x": float64(len(d.Arm)%5) + float64(i%3), "y": 1 + float64(i%2)}})
	}
	w.post("/v1/exposures", shown...)
	w.post("/v1/feedback", said...)
	w.wait(time.Minute)
	w.server.Tick()
	return tokens
}

// text gets a page and checks what all pages have in common.
func (w *world) text(status int, path string) string {
	w.t.Helper()
	resp, err := http.Get(w.http.URL + path)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	if resp.StatusCode != status {
		w.t.Fatalf("%s: status %d, want %d: %s", path, resp.StatusCode, status, b)
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
		if got := resp.Header.Get("Content-Security-Policy"); got != dashboard.ContentSecurityPolicy ||
			strings.Contains(got, "unsafe") {
			w.t.Errorf("%s: policy %q", path, got)
		}
		for _, bad := range []string{"style=", "onclick", "onload", "http://", "https://"} {
			if strings.Contains(string(b), " "+bad) || strings.Contains(string(b), `"`+bad) {
				w.t.Errorf("%s has %q in it", path, bad)
			}
		}
		for _, want := range []string{
			"<!DOCTYPE html>", `<html lang="en">`, `class="skip" href="#main"`,
			`<main id="main"`, "<title>", `name="viewport"`,
		} {
			if !strings.Contains(string(b), want) {
				w.t.Errorf("%s lacks %s", path, want)
			}
		}
	}
	return string(b)
}

func wants(t *testing.T, page string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(page, p) {
			t.Errorf("the page lacks %q:\n%s", p, page)
		}
	}
}

// TestPages checks that every page agrees with the report.
func TestPages(t *testing.T) {
	w, tokens := played(t, toy, "toy")
	r, err := w.server.Report("toy")
	if err != nil {
		t.Fatal(err)
	}
	wants(t, w.text(200, "/"), `href="/experiments/toy"`, "running", `<td class="n" data-label="Units">160</td>`,
		fmt.Sprintf(`<td class="n" data-label="Version">%d</td>`, r.Version), `class="state unknown">not yet known<`, `class="state ok">good<`,
		`<noscript><meta http-equiv="refresh"`, `data-live="/live"`, `role="status"`, "<caption>", `scope="col"`)
	page := w.text(200, "/experiments/toy")
	gain := r.Arms["gain"].Metrics["x"]
	wants(t, page, "<h1>toy</h1>", fmt.Sprintf(`id="version">%d<`, r.Version), dashboard.Figure(*gain.Mean),
		dashboard.Interval(gain.Low, gain.High), dashboard.Interval(r.Guardrails[0].Low, r.Guardrails[0].High),
		"at least 0", r.Regret.BestSingle.Arm+": "+dashboard.Figure(*r.Regret.BestSingle.Value),
		dashboard.Figure(*r.Regret.PerUnit),
		"160 accepted, 0 duplicate", "No problem is known", "created", "held back",
		`data-live="/experiments/toy/live?axis=time"`)
	best, err := w.server.Optimum("toy")
	if err != nil || best == nil {
		t.Fatal(err)
	}
	wants(t, page, "Best mixture, by what is known</dt><dd>"+dashboard.Figure(best.Value))
	goal := r.Lift.Quantities[1]
	wants(t, page, "Differences from the control arm "+r.Lift.Control, "<th scope=\"col\">goal "+goal.Metric+"</th>",
		string(goal.SoFar.Verdict), "would be deployed", "served so far",
		`<a href="?axis=time" aria-current="true">`)
	wants(t, w.text(200, "/experiments/toy?axis=version"), `<a href="?axis=version" aria-current="true">`,
		`data-live="/experiments/toy/live?axis=version"`, "axis=version&amp;theme=dark")
	w.get(400, nil, "GET", "/experiments/toy/pictures/lift.svg?axis=z", "")
	var addresses []string
	for _, m := range regexp.MustCompile(`(?:src|srcset)="(/experiments/[^"]*)"`).FindAllStringSubmatch(page, -1) {
		addresses = append(addresses, strings.ReplaceAll(m[1], "&amp;", "&"))
	}
	if len(addresses) != 20 {
		t.Fatalf("pictures %q", addresses)
	}
	for _, a := range addresses {
		svg := w.text(200, a)
		if err := wellFormed(svg); err != nil || !strings.Contains(svg, "time (UTC)") {
			t.Errorf("%s: %v\n%.300s", a, err, svg)
		}
		svg = w.text(200, strings.Replace(a, "axis=time", "axis=version", 1))
		if err := wellFormed(svg); err != nil || !strings.Contains(svg, "policy version") {
			t.Errorf("%s by version: %v\n%.300s", a, err, svg)
		}
		if strings.Contains(svg, "#1B1F25") != strings.Contains(a, "dark") {
			t.Errorf("%s is not drawn in its theme", a)
		}
	}
	wants(t, w.text(200, "/experiments/toy/pictures/guardrail-0.svg"), "limit: at least 0",
		"interval of the current mixture")
	for _, path := range []string{
		"/experiments/toy/pictures/guardrail-1.svg",
		"/experiments/toy/pictures/guardrail-.svg", "/experiments/toy/pictures/x.svg",
		"/experiments/toy/pictures/mixture.gif", "/experiments/toy/pictures/x.json",
		"/experiments/none/pictures/mixture.svg",
	} {
		w.get(404, nil, "GET", path, "")
	}
	w.get(400, nil, "GET", "/experiments/toy/pictures/mixture.svg?theme=red", "")
	wants(t, w.text(404, "/experiments/none"), "no experiment")
	wants(t, w.text(404, "/experiments/none/explain"), "no experiment")
	w.get(404, nil, "GET", "/experiments/none/live", "")

	e, err := w.server.Explain("toy", tokens[7])
	if err != nil {
		t.Fatal(err)
	}
	page = w.text(200, "/experiments/toy/explain?token="+tokens[7])
	wants(t, page, "<strong>"+e.Arm+"</strong>", e.Hash, e.Unit, "falls here", "the decision is the same",
		"What was known when version 1")
	if strings.Count(page, "falls here") != 1 {
		t.Error("the draw falls on several arms")
	}
	wants(t, w.text(200, "/experiments/toy/explain"), `<label for="token">`, "<textarea")
	wants(t, w.text(400, "/experiments/toy/explain?token=%22%3E%3Cscript%3Ealert(1)%3C/script%3E"), `role="alert"`,
		"&lt;script&gt;alert(1)")
	wants(t, w.text(400, "/experiments/toy/explain?token="+tamper(tokens[0])), "changed")
}

func wellFormed(text string) error {
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// TestPagesEmpty checks the pages of an experiment without data and of a service without
// experiments.
func TestPagesEmpty(t *testing.T) {
	w := newWorld(t)
	wants(t, w.text(200, "/"), "There are none yet")
	w.apply(toy)
	wants(t, w.text(200, "/experiments/toy"), "unknown", "Nothing is known yet")
	w.apply("name: ab\narms: [{name: a, value: 1}, {name: b, value: 2}]\nmetrics: [{name: x}]\npolicy: {kind: fixed, " +
		"split: {a: 0.5, b: 0.5}}\n")
	page := w.text(200, "/experiments/ab")
	wants(t, page, "None are defined", "The experiment has no objective")
	if strings.Contains(page, "objective.svg") {
		t.Error("a picture without an objective")
	}
	for _, name := range []string{"mixture", "objective", "guardrail-0"} {
		if err := wellFormed(w.text(200, "/experiments/toy/pictures/"+name+".svg")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	w.get(404, nil, "GET", "/experiments/ab/pictures/objective.svg", "")
	w.get(200, nil, "POST", "/v1/experiments/toy/rollback", `{"reason": "<b>why</b>"}`)
	wants(t, w.text(200, "/experiments/toy"), "rolled back", "&lt;b&gt;why&lt;/b&gt;")
}

const hostile = `name: hostile
description: '</h1><script>alert(1)</script>'
unit: '"><script>alert(1)</script>'
arms:
  - {name: '<script>alert(1)</script>', value: {a: '</code><img src=x onerror=alert(1)>'}}
  - {name: '"><img src=x onerror=alert(1)>', value: "{{.}} ' onmouseover='alert(1)"}
  - {name: ']]></text><script>alert(1)</script>', value: ' '}
  - {name: '𝕏 &amp; javascript:alert(1)', value: []}
control: {arm: '<script>alert(1)</script>', share: 0.2}
metrics:
  - {name: x, unit: '<img src=x onerror=alert(1)>'}
  - {name: y, range: [-10, 10]}
objective: {goals: [{metric: x}]}
guardrails: [{metric: y, min: 0, hard: false}]
round: {length: 1m, min_units: 10}
attribution_window: 10m
`

// TestPagesEscape checks that names and values are text in pages, streams and pictures.
func TestPagesEscape(t *testing.T) {
	w, tokens := played(t, hostile, "hostile")
	sources := map[string]string{}
	for _, path := range []string{"/", "/experiments/hostile", "/experiments/hostile/explain?token=" + tokens[3]} {
		sources[path] = w.text(200, path)
	}
	for _, name := range []string{"mixture", "objective", "guardrail-0"} {
		svg := w.text(200, "/experiments/hostile/pictures/"+name+".svg")
		if err := wellFormed(svg); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		sources[name] = svg
	}
	for name, text := range w.events("/experiments/hostile/live", 1)[0] {
		sources["live "+name] = text
	}
	for name, text := range sources {
		for _, bad := range []string{
			"<script>alert", "<img src=x", "</h1><script", "]]></text><script",
			" ' onmouseover='",
		} {
			if strings.Contains(text, bad) {
				t.Errorf("%s has %q unescaped", name, bad)
			}
		}
	}
	wants(t, sources["mixture"], "&lt;script&gt;alert(1)")
	wants(t, sources["/experiments/hostile"], "&lt;script&gt;alert(1)&lt;/script&gt;",
		"&lt;img src=x onerror=alert(1)&gt;")
}

// events reads the first n events of a stream.
func (w *world) events(path string, n int, between ...func()) (out []map[string]string) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", w.http.URL+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
		w.t.Fatalf("%s: status %d, %s", path, resp.StatusCode, resp.Header.Get("Content-Type"))
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<22)
	for len(out) < n && lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			var parts map[string]string
			if err := json.Unmarshal([]byte(data), &parts); err != nil {
				w.t.Fatal(err)
			}
			if out = append(out, parts); len(between) > 0 {
				between[0]()
				between = between[1:]
			}
		}
	}
	if len(out) < n {
		w.t.Fatalf("%s ended after %d events: %v", path, len(out), lines.Err())
	}
	return out
}

// TestLive checks that the stream sends all parts first and then those that change, and that it
// ends with the experiment.
func TestLive(t *testing.T) {
	w := newWorld(t)
	w.apply(toy)
	got := w.events("/experiments/toy/live", 3, func() {
		w.get(200, nil, "POST", "/v1/experiments/toy/pause", "")
	}, func() {
		w.get(204, nil, "DELETE", "/v1/experiments/toy", "")
	})
	if len(got[0]) != 11 {
		t.Errorf("the first event has %d parts, want all 11", len(got[0]))
	}
	if !strings.Contains(got[1]["summary"], "paused") || got[1]["guardrails"] != "" || got[1]["events"] == "" {
		t.Errorf("the second event: %v", got[1])
	}
	if len(got[2]) != 0 {
		t.Errorf("the last event: %v", got[2])
	}
	list := w.events("/live", 2, func() { w.apply(strings.Replace(toy, "name: toy", "name: other", 1)) })
	if strings.Contains(list[0]["list"], "other") || !strings.Contains(list[1]["list"], "/experiments/other") {
		t.Errorf("%v", list)
	}
}

func TestAssets(t *testing.T) {
	w := newWorld(t)
	for file, media := range map[string]string{
		"style.css": "text/css; charset=utf-8",
		"live.js":   "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml",
		"charts.js": "text/javascript; charset=utf-8", "uplot.js": "text/javascript; charset=utf-8",
		"uplot.css": "text/css; charset=utf-8", "uplot-licence.txt": "text/plain; charset=utf-8",
	} {
		resp, err := http.Get(w.http.URL + "/assets/" + file)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != media {
			t.Errorf("%s: %d %s", file, resp.StatusCode, resp.Header.Get("Content-Type"))
		}
		if status, _ := w.do("GET", "/assets/"+file, "", "If-None-Match", resp.Header.Get("ETag")); status != 304 {
			t.Errorf("%s again: status %d", file, status)
		}
	}
	for _, file := range []string{"layout.html", "LICENSE", "none.css", "..%2Fpages.go", "%2e%2e"} {
		w.get(404, nil, "GET", "/assets/"+file, "")
	}
}

// TestLiveOutlasts checks that a stream may last longer than other requests, which may read and
// write for three times RequestTime. Its four events have three pauses of LivePace between them.
func TestLiveOutlasts(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.RequestTime = dashboard.LivePace * 5 / 6 })
	w.apply(toy)
	l, err := w.server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- w.server.Serve(ctx, l, nil, time.Minute) }()
	defer func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	w.http.URL = "http://" + l.Addr().String()
	step := func(what string) func() {
		return func() {
			for { // on a busy machine the writer may answer too late, so try again
				status, b := w.do("POST", "/v1/experiments/toy/"+what, "")
				if status == http.StatusOK || status == http.StatusConflict {
					return
				}
				if status != http.StatusServiceUnavailable {
					t.Fatalf("%s: status %d: %s", what, status, b)
				}
			}
		}
	}
	w.events("/experiments/toy/live", 4, step("pause"), step("resume"), step("rollback"))
}
