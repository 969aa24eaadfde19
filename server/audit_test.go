package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/internal/legible"
)

const auditTokens = `tokens:
  - {name: ann, roles: [admin], token: token-of-ann-012345}
  - {name: bob, roles: [admin], token: token-of-bob-012345}
  - {name: eye, roles: [read], token: token-of-eye-012345}
`

// lines are the entries of an audit trail without positions and times.
func lines(entries []api.AuditEntry) (out []string) {
	for _, e := range entries {
		out = append(out, strings.Join(slices.DeleteFunc([]string{
			e.Who, e.From, e.Experiment, e.Action, e.Arm, e.What,
			e.Reason,
		}, func(s string) bool { return s == "" }), " | "))
	}
	return out
}

// TestAudit makes every change that a principal can make and requires the trail to have each of
// them once, with the name of the token and the address behind a trusted proxy, also after a
// restart, and in an export. Changes that were refused, and those of the service itself, are not in
// it.
func TestAudit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(auditTokens)
	w := newWorld(t, func(c *Config) { c.Tokens, c.TrustedProxies = file, []string{"127.0.0.1"} })
	w.token = "token-of-ann-012345"
	w.apply(toy)
	w.apply(toy) // no change
	w.apply(strings.NewReplacer("share: 0.2", "share: 0.3", "hold_back: 0.1", "hold_back: 0.2").Replace(toy))
	w.token = "token-of-bob-012345"
	do := func(status int, method, path, body string) {
		t.Helper()
		if got, b := w.do(method, path, body, "X-Forwarded-For", "evil, 2001:db8::5"); got != status {
			t.Fatalf("%s %s: status %d: %s", method, path, got, b)
		}
	}
	const one = "/v1/experiments/toy"
	do(200, "POST", one+"/pause", `{"reason": "numbers look odd"}`)
	do(409, "POST", one+"/pause", `{"reason": "again"}`)
	do(200, "POST", one+"/resume", "")
	do(200, "POST", one+"/veto", `{"arm": "gain", "reason": "it crashes"}`)
	do(200, "POST", one+"/veto", `{"arm": "gain", "lift": true}`)
	do(200, "POST", one+"/rollback", "")
	do(200, "POST", one+"/conclude", `{"mixture": {"control": 1}, "reason": "done"}`)
	do(204, "DELETE", one, "")
	do(200, "GET", "/v1/backup", "")
	write(strings.Replace(auditTokens, "name: eye, roles: [read]", "name: eye, roles: [read, decide]", 1) +
		"  - {name: new, roles: [decide], token: token-of-new-012345}\n")
	if err := w.server.ReloadTokens(); err != nil {
		t.Fatal(err)
	}
	write(strings.ReplaceAll(auditTokens, "bob-012345", "bob-another-1"))
	if err := w.server.ReloadTokens(); err != nil {
		t.Fatal(err)
	}
	const bob = "bob | 2001:db8::5 | toy | "
	want := []string{
		"tokens | bob has another token, eye changed, new removed",
		"tokens | eye changed, new added",
		"bob | 2001:db8::5 | backup",
		bob + "delete", bob + "conclude | done", bob + "rollback", bob + "arm.lift | gain",
		bob + "arm.veto | gain | it crashes", bob + "resume", bob + "pause | numbers look odd",
		"ann | 127.0.0.1 | toy | definition | control.share, hold_back", "ann | 127.0.0.1 | toy | definition | created",
	}
	w.token = "token-of-ann-012345"
	check := func() {
		t.Helper()
		var all api.Audit
		w.get(200, &all, "GET", "/v1/audit", "")
		if got := lines(all.Entries); !slices.Equal(got, want) || all.Next != 0 {
			t.Errorf("next %d\n%s\nwant\n%s", all.Next, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	check()
	w.restart() // from the snapshot that the end has saved
	check()

	// Pages follow each other without gaps, and a name limits them.
	var seen []api.AuditEntry
	for before := uint64(0); ; {
		path := "/v1/audit?limit=5"
		if before > 0 {
			path += fmt.Sprint("&before=", before)
		}
		var page api.Audit
		w.get(200, &page, "GET", path, "")
		seen = append(seen, page.Entries...)
		if before = page.Next; before == 0 {
			break
		}
	}
	if got := lines(seen); !slices.Equal(got, want) {
		t.Errorf("pages: %q", got)
	}
	var of api.Audit
	w.get(200, &of, "GET", "/v1/audit?experiment=toy&limit=9", "")
	if got := lines(of.Entries); !slices.Equal(got, want[3:]) {
		t.Errorf("of one experiment: %q", got)
	}
	for _, query := range []string{"limit=0", "limit=1001", "before=0", "before=x"} {
		w.get(400, nil, "GET", "/v1/audit?"+query, "")
	}
	_, export := w.do("GET", "/v1/export", "")
	if got := bytes.Count(export, []byte(`"by":{`)); got != len(want) {
		t.Errorf("the export has %d authors, want %d", got, len(want))
	}
	if !bytes.Contains(export, []byte("2001:db8::5")) {
		t.Error("the export for the role admin has no address")
	}
	w.token = "token-of-eye-012345"
	_, export = w.do("GET", "/v1/export", "")
	if got := bytes.Count(export, []byte(`"who":"`)); got != len(want)-2 { // who changed the tokens is not known
		t.Errorf("the export for the role read has %d names, want %d: %s", got, len(want)-2, export)
	}
	if bytes.Contains(export, []byte("2001:db8::5")) || bytes.Contains(export, []byte("127.0.0.1")) {
		t.Errorf("the export for the role read has addresses: %s", export)
	}
	if status, _ := w.do("GET", "/v1/audit", ""); status != http.StatusForbidden {
		t.Errorf("the role read: status %d", status)
	}
}

// The pages of an experiment say who changed it, and from where to the role admin only.
func TestAuditOnThePage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens.yaml")
	if err := os.WriteFile(file, []byte(auditTokens), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, func(c *Config) { c.Tokens, c.TrustedProxies = file, []string{"127.0.0.1"} })
	w.token = "token-of-ann-012345"
	w.apply(toy)
	if status, b := w.do("POST", "/v1/experiments/toy/pause", `{"reason": "a <b> reason"}`, "X-Forwarded-For",
		"192.0.2.7"); status != 200 {
		t.Fatalf("status %d: %s", status, b)
	}
	history := func(token string) string {
		w.token = token
		_, b := w.do("GET", "/experiments/toy/history", "")
		return string(b)
	}
	wants(t, history("token-of-ann-012345"), "by ann", "from 127.0.0.1")
	page := history("token-of-eye-012345")
	wants(t, page, "by ann", "created")
	if strings.Contains(page, "127.0.0.1") {
		t.Error("the page of earlier definitions shows an address to the role read")
	}
	_, b := w.do("GET", "/experiments/toy", "")
	page = string(b)
	for _, want := range []string{
		"Who changed it", `<td data-label="Who">ann</td>`, "definition: created", "pause (a &lt;b&gt; reason)",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if strings.Contains(page, "192.0.2.7") {
		t.Error("the page shows an address")
	}
}

// An event of a version that wrote no authors is not in the trail, and the trail keeps the last
// entries only.
func TestAuditIsBounded(t *testing.T) {
	w := newWorld(t)
	w.apply(toy)
	for i := range 1010 {
		by := authorOf(t.Context(), fmt.Sprint("number ", i))
		if err := w.server.writer.note(t.Context(), "backup", by); err != nil {
			t.Fatal(err)
		}
	}
	all := w.server.live.audit(nil, 0, 0)
	if len(all) != 1000 || all[0].What != "number 1009" || all[999].What != "number 10" {
		t.Errorf("%d entries, %+v to %+v", len(all), all[0], all[len(all)-1])
	}
}

// TestAuditOfTokensWhileDown changes the file of access tokens between two runs of the service. The
// next run notes what changed, once, and no token is in its file.
func TestAuditOfTokensWhileDown(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(auditTokens)
	w := newWorld(t, func(c *Config) { c.Tokens = file })
	w.token = "token-of-ann-012345"
	stop := func() {
		t.Helper()
		w.http.Close()
		if err := w.server.Close(); err != nil {
			t.Fatal(err)
		}
	}
	check := func(want ...string) {
		t.Helper()
		var all api.Audit
		w.get(200, &all, "GET", "/v1/audit", "")
		if got := lines(all.Entries); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	check() // the first run has nothing to compare with
	stop()
	write(strings.ReplaceAll(auditTokens, "name: eye", "name: eye2"))
	w.start()
	check("tokens | eye2 added, eye removed")
	w.restart()
	check("tokens | eye2 added, eye removed")
	stop()
	write(strings.Replace(strings.ReplaceAll(auditTokens, "bob-012345", "bob-another-1"), "name: eye, roles: [read]",
		"name: eye, roles: [read, decide]", 1))
	w.start()
	check("tokens | bob has another token, eye added, eye2 removed", "tokens | eye2 added, eye removed")
	b, err := os.ReadFile(filepath.Join(w.config.Data, "tokens.json"))
	if err != nil || strings.Contains(string(b), "another") || !strings.Contains(string(b), `"name":"eye"`) {
		t.Errorf("%s, %v", b, err)
	}
}

// TestTextsForPeople: every operation of the document refuses a reason or a source that people
// could misread, or a definition with such a text.
func TestTextsForPeople(t *testing.T) {
	w := newWorld(t)
	w.apply(toy)
	hostile := []string{
		"fine\n2026-11-01T12:00:00Z  boss  deleted", "\x1b[2Jfine", "fine \u202e enif", "\u009b2J", "a\u2028b",
	}
	reasons, last := 0, w.server.log.Stats().Last
	for path, v := range doc().all["paths"].(map[string]any) {
		for method := range v.(map[string]any) {
			schema, _ := follow(t, "paths", path, method, "requestBody", "content", "application/json", "schema")
			fields, _ := schema["properties"].(map[string]any)
			for _, field := range []string{"reason", "source"} {
				if fields[field] == nil {
					continue
				}
				reasons++
				for _, text := range hostile {
					in := map[string]any{field: text}
					switch {
					case fields["arm"] != nil:
						in["arm"] = "gain"
					case field == "source":
						in["experiment"], in["sequence"], in["items"] = "toy", 1, []any{map[string]any{
							"version": 1, "arm": "gain", "units": 1, "metrics": map[string]any{},
						}}
					}
					body, err := json.Marshal(in)
					if err != nil {
						t.Fatal(err)
					}
					at := strings.ReplaceAll(path, "{name}", "toy")
					status, b := w.do(strings.ToUpper(method), at, string(body))
					if status != 400 || !strings.Contains(string(b), "want one line without control characters") {
						t.Errorf("%s %s with %q: status %d: %s", method, at, text, status, b)
					}
				}
			}
		}
	}
	if reasons < 6 {
		t.Errorf("%d operations take a reason or a source", reasons)
	}
	for _, text := range hostile {
		in, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		status, b := w.do("PUT", "/v1/experiments/toy", toy+"description: "+string(in)+"\n", "Content-Type",
			"application/yaml")
		if status != 400 || !strings.Contains(string(b), "control characters") {
			t.Errorf("the description %q: status %d: %s", text, status, b)
		}
	}
	w.apply(strings.Replace(toy, "name: gain", "name: g\u00e1in", 1))
	status, b := w.do("PUT", "/v1/experiments/toy", strings.Replace(toy, "name: gain", "name: ga\u0301in", 1),
		"Content-Type", "application/yaml")
	if status != 400 || !strings.Contains(string(b), "looks the same as the current or former arm") {
		t.Errorf("a new arm that looks like a former one: status %d: %s", status, b)
	}
	for _, e := range w.server.live.audit(func(*api.AuditEntry) bool { return true }, 0, 0) {
		if e.Position > last && strings.ContainsFunc(e.What+e.Reason, legible.Unclear) {
			t.Errorf("%+v", e)
		}
	}
}
