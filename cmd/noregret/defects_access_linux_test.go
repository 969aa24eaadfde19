package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
)

// accessDefects are those of who may do what, and of the API's document.
var accessDefects = []defect{
	{
		id: "e1", measures: "a token with the role feedback posts sums of 1,000,000 invented units",
		guards: "`TestSources`", run: inventedSums,
	},
	{
		id: "e2", measures: "somebody sends the sequence number 2^64−1 of a source; the source's next report",
		guards: "`TestSources`", run: leapingSequence,
	},
	{
		id: "h1", measures: "preflight of OFREP from https://shop.example, and then the evaluation",
		guards: "`TestCORS`, `TestBrowserOFREP`", run: preflight,
	},
	{
		id: "h2", measures: "a token with the role browser for the experiment toy: evaluates toy, and another one",
		guards: "`TestBrowserTokens`", run: browserToken,
	},
	{
		id:       "i1",
		measures: "OpenAPI: `pairs` of sums, properties of definitions, numbers without format, default answers",
		guards:   "`TestDocumentIsComplete`, `TestDocument`", run: describedAPI,
	},
	{
		id:       "i2",
		measures: "OpenAPI: errors of redocly, of spectral",
		guards:   "`make openapi-clients`", long: true, run: linted,
	},
	{
		id:       "scopes",
		measures: "a token for the experiment other with the roles decide and read: report of toy",
		guards:   "`TestScopes`", run: scopedToken,
	},
	{
		id: "units", measures: "an export for the role read: the plain hash of a unit can be found",
		guards: "`TestPseudonyms`", run: unitHashes,
	},
	{
		id: "logins", measures: "a session after 10,000 logins with another access token",
		guards: "`TestLoginsOfOneToken`", run: manyLogins,
	},
}

const accessTokens = `tokens:
  - {name: ops, roles: [admin], token: 0123456789abcdef-ops}
  - {name: app, roles: [decide, feedback], token: 0123456789abcdef-app}
  - {name: eye, roles: [read], token: 0123456789abcdef-eye}
  - {name: too, roles: [read], token: 0123456789abcdef-too}
`

// guarded starts the service with access tokens, more lines of them among them, and creates toy. It
// returns nil if the service refuses these lines.
func (r *rig) guarded(more string, args ...string) *living {
	r.t.Helper()
	l, message := r.try(append([]string{"--tokens", r.write("tokens.yaml", accessTokens+more)}, args...)...)
	if l == nil {
		if more == "" || !strings.Contains(message, "tokens.yaml:6") {
			r.t.Fatal(message)
		}
		return nil
	}
	l.token = "0123456789abcdef-ops"
	l.apply(toyOf(""))
	return l
}

func sums(source string, sequence uint64, units int) string {
	return fmt.Sprintf(`{"experiment":"toy","source":%q,"sequence":%d,"items":[{"version":1,"arm":"a","units":%d}]}`,
		source, sequence, units)
}

func inventedSums(r *rig) finding {
	l := r.guarded("")
	l.token = "0123456789abcdef-app"
	a := l.do("POST", "/v1/aggregates", sums("edge", 1, 1_000_000))
	return found(a.status == 403, "%d", a.status)
}

func leapingSequence(r *rig) finding {
	l := r.serve()
	l.apply(toyOf(""))
	a := l.do("POST", "/v1/aggregates", sums("edge", math.MaxUint64, 1))
	b := l.do("POST", "/v1/aggregates", sums("edge", 1, 10))
	var c counts
	_ = json.Unmarshal(b.body, &c)
	result := "rejected"
	switch {
	case c.Accepted == 1:
		result = "accepted"
	case c.Duplicate == 1:
		result = "duplicate"
	}
	return found(a.status == 400 && result == "accepted", "%d; %s", a.status, result)
}

const (
	shopOrigin = "https://shop.example"
	evaluateIt = `{"context":{"targetingKey":"ann"}}`
)

// page sends a request as a browser does for a page of the shop.
func (l *living) page(method, path, body string, headers ...string) answer {
	l.t.Helper()
	return l.do(method, path, body, append(headers, "Origin", shopOrigin, "Sec-Fetch-Site", "cross-site")...)
}

func preflight(r *rig) finding {
	l := r.serve(r.optional("--cors-origin", shopOrigin)...)
	l.apply(toyOf(""))
	const path = "/ofrep/v1/evaluate/flags/toy"
	a := l.page("OPTIONS", path, "", "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers",
		"content-type")
	b := l.page("POST", path, evaluateIt)
	allowed := a.header.Get("Access-Control-Allow-Origin") == shopOrigin &&
		b.header.Get("Access-Control-Allow-Origin") == shopOrigin
	text := "not allowed"
	if allowed {
		text = "allowed"
	}
	return found(a.status == 204 && b.status == 200 && allowed, "%d, %d, %s", a.status, b.status, text)
}

func browserToken(r *rig) finding {
	l := r.guarded("  - {name: page, roles: [browser], experiments: [toy], token: 0123456789abcdef-page}\n",
		r.optional("--cors-origin", shopOrigin)...)
	if l == nil {
		return found(false, "the service refuses the role")
	}
	l.token = "0123456789abcdef-page"
	a := l.page("POST", "/ofrep/v1/evaluate/flags/toy", evaluateIt)
	b := l.page("POST", "/ofrep/v1/evaluate/flags/other", evaluateIt)
	return found(a.status == 200 && b.status == 403, "%d, %d", a.status, b.status)
}

// numbers counts the schemas of numbers without a format, and the default answers, in a document.
func numbers(v any) (bare, defaults int) {
	switch v := v.(type) {
	case map[string]any:
		if kind := v["type"]; (kind == "number" || kind == "integer") && v["format"] == nil {
			bare++
		}
		if answers, ok := v["responses"].(map[string]any); ok && answers["default"] != nil {
			defaults++
		}
		for _, e := range v {
			b, d := numbers(e)
			bare, defaults = bare+b, defaults+d
		}
	case []any:
		for _, e := range v {
			b, d := numbers(e)
			bare, defaults = bare+b, defaults+d
		}
	}
	return bare, defaults
}

func describedAPI(r *rig) finding {
	var doc struct {
		Components struct {
			Schemas struct {
				Aggregate struct {
					Properties struct {
						Items struct {
							Items struct{ Properties map[string]any }
						}
					}
				}
				Definition struct{ Properties map[string]any }
			}
		}
	}
	var all any
	l := r.serve()
	b := l.do("GET", "/openapi.json", "").body
	if err := errors.Join(json.Unmarshal(b, &doc), json.Unmarshal(b, &all)); err != nil {
		r.t.Fatal(err)
	}
	pairs := "absent"
	if doc.Components.Schemas.Aggregate.Properties.Items.Items.Properties["pairs"] != nil {
		pairs = "there"
	}
	properties := len(doc.Components.Schemas.Definition.Properties)
	bare, defaults := numbers(all)
	return found(pairs == "there" && properties > 20 && bare == 0 && defaults == 0, "%s, %d, %d, %d",
		pairs, properties, bare, defaults)
}

func linted(r *rig) finding {
	const tools = "../../client/openapi"
	if _, err := exec.LookPath("npm"); err != nil {
		r.t.Skip("npm is not installed")
	}
	install := exec.Command("npm", "ci", "--no-audit", "--no-fund", "--loglevel=error", "--ignore-scripts")
	install.Dir = tools
	if out, err := install.CombinedOutput(); err != nil {
		r.t.Skipf("the npm registry cannot be reached: %v: %s", err, out)
	}
	l := r.serve()
	file := r.write("openapi.json", string(l.do("GET", "/openapi.json", "").body))
	count := func(tool string, args ...string) int {
		tool, err := filepath.Abs(filepath.Join(tools, "node_modules/.bin", tool))
		if err != nil {
			r.t.Fatal(err)
		}
		c := exec.Command(tool, append(args, file)...)
		c.Dir = tools
		c.Env = append(c.Environ(), "REDOCLY_TELEMETRY=off")
		out, err := c.Output()
		if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
			r.t.Fatal(err)
		}
		return strings.Count(string(out), `"severity": "error"`) + strings.Count(string(out), `"severity": 0`)
	}
	redocly := count("redocly", "lint", "--format", "json")
	spectral := count("spectral", "lint", "--quiet", "--format", "json")
	return found(redocly == 0 && spectral == 0, "%d, %d", redocly, spectral)
}

func scopedToken(r *rig) finding {
	l := r.guarded("  - {name: far, roles: [decide, read], experiments: [other], token: 0123456789abcdef-far}\n")
	if l == nil {
		return found(false, "the service refuses such tokens")
	}
	l.token = "0123456789abcdef-far"
	a := l.do("GET", "/v1/experiments/toy/report", "")
	return found(a.status == 403, "%d", a.status)
}

func unitHashes(r *rig) finding {
	l := r.guarded("")
	d := l.decide("ann", 1)[0]
	l.must("POST", "/v1/exposures", fmt.Sprintf(`{"items":[{"token":%q}]}`, d), nil)
	plain := string(l.do("GET", "/v1/export", "").body) // for the role admin
	_, hash, ok := strings.Cut(plain, `"u":"`)
	if !ok || len(hash) < 16 {
		r.t.Fatalf("no unit in the export: %s", plain)
	}
	l.token = "0123456789abcdef-eye"
	got := string(l.do("GET", "/v1/export", "").body)
	if !strings.Contains(got, `"u":"`) {
		r.t.Fatalf("no unit in the export: %s", got)
	}
	there := strings.Contains(got, hash[:16])
	return found(!there, "%s", map[bool]string{true: "yes", false: "no, a pseudonym is in its place"}[there])
}

func manyLogins(r *rig) finding {
	l := r.guarded("")
	l.token = ""
	l.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	login := func(token string) string {
		a := l.do("POST", "/login", "token=0123456789abcdef-"+token+"&next=%2F", "Content-Type",
			"application/x-www-form-urlencoded", "Sec-Fetch-Site", "same-origin")
		cookie, _, _ := strings.Cut(a.header.Get("Set-Cookie"), ";")
		if cookie == "" {
			r.t.Fatalf("no cookie: status %d: %.200s", a.status, a.body)
		}
		return cookie
	}
	first := login("eye")
	if a := l.do("GET", "/", "", "Cookie", first); a.status != 200 {
		r.t.Fatalf("status %d", a.status)
	}
	for range 10_100 {
		login("too")
	}
	a := l.do("GET", "/", "", "Cookie", first)
	return found(a.status == 200, "%s", map[bool]string{true: "goes on", false: "is over"}[a.status == 200])
}
