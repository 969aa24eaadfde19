package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/noregret/noregret/experiment"
)

// TestHostile sends what should not be sent, and wants the exact answer that docs/service.md
// promises. The state must be the same afterwards.
func TestHostile(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.MaxBody, c.MaxItems, c.MaxAnswer = 4096, 50, 1024 })
	w.apply(toy)
	w.apply("name: wide\narms: [{name: a, value: 1}, {name: b, value: " + strings.Repeat("x", 1018) +
		"}]\nmetrics: [{name: x}]\npolicy: {kind: fixed, split: {a: 1}}")
	good := w.decide("toy", "ann")[0].Token
	page, err := os.ReadFile("../docs/service.md")
	if err != nil {
		t.Fatal(err)
	}
	before, err := w.server.State()
	if err != nil {
		t.Fatal(err)
	}
	const decide, feedback = "/v1/experiments/toy/decide", "/v1/feedback"
	for _, c := range []struct {
		name, method, path, body, media string
		status                          int
		detail                          string
	}{
		{
			"a body of a megabyte", "POST", decide, `{"units": ["` + strings.Repeat("x", 1<<20) + `"]}`,
			"application/json", 413, "more than 4096 bytes",
		},
		{
			"too many units", "POST", decide, `{"units": [` + strings.Repeat(`"x",`, 50) + `"x"]}`, "application/json",
			413, "51 units: want 1 to 50",
		},
		{
			"units whose values are too large together", "POST", "/v1/experiments/wide/decide", `{"units": ["a", "b"]}`,
			"application/json", 413, "2 units of values of up to 1020 bytes each: want at most 1",
		},
		{
			"flags whose values are too large together", "POST", "/ofrep/v1/evaluate/flags",
			`{"context": {"targetingKey": "a"}}`, "application/json", 413,
			"2 experiments with values of up to 1032 bytes together: want at most 1024; evaluate them one by one",
		},
		{"no units", "POST", decide, `{"units": []}`, "application/json", 400, "0 units: want 1 to 50"},
		{"an empty unit", "POST", decide, `{"units": [""]}`, "application/json", 400, "it has 0 bytes: want 1 to 512"},
		{
			"a unit of 600 bytes", "POST", decide, `{"units": ["` + strings.Repeat("x", 600) + `"]}`,
			"application/json",
			400, "it has 600 bytes: want 1 to 512",
		},
		{"no JSON", "POST", decide, `{"units": [`, "application/json", 400, "not valid JSON: it ends too early"},
		{
			"two values", "POST", decide, `{"units": ["a"]} {"units": ["b"]}`, "application/json", 400,
			"text follows the value at byte 18",
		},
		{
			"an unknown field", "POST", decide, `{"unit": "a"}`, "application/json", 400,
			`unknown field; known fields: units`,
		},
		{
			"a wrong type", "POST", decide, `{"units": "secret-unit"}`, "application/json", 400,
			`must be a list, not a string`,
		},
		{
			"deep nesting", "POST", decide, strings.Repeat("[", 2000) + strings.Repeat("]", 2000), "application/json",
			400,
			"must be an object, not a list",
		},
		{
			"another media type", "POST", decide, `units=a`, "application/x-www-form-urlencoded", 415,
			`"application/x-www-form-urlencoded": want application/json`,
		},
		{
			"an unknown experiment", "POST", "/v1/experiments/none/decide", `{"units": ["a"]}`, "application/json", 404,
			`there is no experiment "none"`,
		},
		{"a wrong method", "GET", feedback, "", "", 405, "want POST"},
		{
			"a path that is not there", "GET", "/v1/secrets", "", "", 404,
			"no such path: /openapi.json lists those of the API",
		},
		{
			"a name that climbs", "PUT", "/v1/experiments/..%2F..%2Fetc%2Fpasswd",
			`{"name": "../../etc/passwd", "arms": [{"name": "a", "value": 1}], "metrics": [{"name": "m"}]}`,
			"application/json", 400,
			`"../../etc/passwd": want 1 to 63 of a-z, 0-9 and . _ -, beginning with a letter or digit`,
		},
		{
			"another name than the path's", "PUT", "/v1/experiments/other", toy, "application/yaml", 400,
			`"toy" in the definition: want "other", as in the path`,
		},
		{
			"a bomb of YAML aliases", "PUT", "/v1/experiments/toy", bomb(), "application/yaml", 400,
			"more than 200000 values, or deeper than 64",
		},
		{
			"a definition that is refused", "PUT", "/v1/experiments/toy",
			strings.Replace(toy, "share: 0.2", "share: 7", 1), "application/yaml", 400, "7: want a share in [0, 1)",
		},
		{
			"a change that is not allowed", "PUT", "/v1/experiments/toy",
			strings.Replace(toy, "hold_back: 0.1", "hold_back: 0.2", 1), "application/yaml", 409,
			"it cannot change while the experiment runs: delete the experiment, or make one of another name",
		},
		{"a resume of what runs", "POST", "/v1/experiments/toy/resume", "", "", 409, "it is running already"},
		{
			"a number out of all ranges", "POST", feedback, `{"items": [{"token": "x", "metrics": {"x": 1e999}}]}`,
			"application/json", 400, "must be a number in the range of float64, not a number",
		},
		{
			"null for a number", "POST", feedback, `{"items": [{"token": "x", "metrics": {"x": null}}]}`,
			"application/json", 400, "must be a number in the range of float64, not null",
		},
		{
			"null for a body", "POST", "/v1/experiments/toy/pause", `null`, "application/json", 400,
			"must be an object, not null",
		},
		{
			"a field twice", "POST", decide, `{"units": ["ann"], "units": ["eve"]}`, "application/json", 400,
			"duplicate field",
		},
		{
			"a metric twice", "POST", feedback, `{"items": [{"token": "x", "metrics": {"x": 3, "x": 9}}]}`,
			"application/json", 400, "duplicate field",
		},
		{
			"a field in capitals", "POST", decide, `{"UNITS": ["ann"]}`, "application/json", 400,
			`unknown field; known fields: units`,
		},
		{
			"a unit that is not UTF-8", "POST", decide, "{\"units\": [\"a\xff\"]}", "application/json", 400,
			"not valid UTF-8",
		},
		{
			"half of a surrogate pair", "POST", decide, `{"units": ["\ud800"]}`, "application/json", 400,
			"unpaired surrogate at byte 12",
		},
		{
			"a null sum", "POST", "/v1/aggregates",
			`{"experiment": "toy", "source": "s", "sequence": 1, "items": [{"version": 1, "arm": "a", "units": 1, "metrics": {"x": {"n": 1, "sum": null, "squares": 1}}}]}`, "application/json", 400, "must be a number in the range of float64, not null",
		},
		{
			"a parameter that nobody reads", "GET", "/v1/export?fro=3", "", "", 400,
			`the parameter "fro" is unknown: want from, experiment`,
		},
		{
			"an export of an unknown experiment", "GET", "/v1/export?experiment=nonesuch", "", "", 404,
			`there is no experiment "nonesuch"`,
		},
		{
			"a path with an empty part", "GET", "/v1//experiments", "", "", 404,
			"no such path: /openapi.json lists those of the API",
		},
		{
			"a path that climbs", "GET", "/v1/experiments/../../etc/passwd", "", "", 404,
			"no such path: /openapi.json lists those of the API",
		},
		{
			"too many items", "POST", feedback, `{"items": [` + strings.Repeat(`{"token": "x"},`, 50) +
				`{"token": "x"}]}`,
			"application/json", 413, "51 items: want 1 to 50",
		},
		{
			"too many exposures", "POST", "/v1/exposures",
			`{"items": [` + strings.Repeat(`{"token": "x"},`, 50) + `{"token": "x"}]}`, "application/json", 413,
			"51 items: want 1 to 50",
		},
		{
			"too many sums", "POST", "/v1/aggregates",
			`{"experiment": "toy", "source": "s", "sequence": 1, "items": [` +
				strings.Repeat(`{"version": 1, "arm": "a", "units": 1},`, 50) +
				`{"version": 1, "arm": "a", "units": 1}]}`, "application/json", 413, "51 items: want 1 to 50",
		},
		{"no items", "POST", feedback, `{"items": []}`, "application/json", 400, "0 items: want 1 to 50"},
		{
			"a wait of an hour", "GET", "/v1/experiments/toy/policy?wait=1h", "", "", 400,
			"want a length of time from 0s to 1m0s",
		},
		{
			"an explanation without a token", "GET", "/v1/experiments/toy/explain", "", "", 400,
			"want a decision's token as ?token=",
		},
		{
			"an explanation of a forged token", "GET", "/v1/experiments/toy/explain?token=" + tamper(good), "", "", 400,
			"the token cannot be read or was changed",
		},
		{
			"sums of an unknown experiment", "POST", "/v1/aggregates",
			`{"experiment": "none", "source": "s", "sequence": 1, "items": [{"version": 1, "arm": "a", "units": 1}]}`,
			"application/json", 404, `there is no experiment "none"`,
		},
		{
			"sums without a source", "POST", "/v1/aggregates",
			`{"experiment": "toy", "source": "", "sequence": 1, "items": [{"version": 1, "arm": "a", "units": 1}]}`,
			"application/json", 400, "want a source of 1 to 200 bytes and a sequence number from 1",
		},
	} {
		var header []string
		if c.media != "" {
			header = []string{"Content-Type", c.media}
		}
		status, b := w.do(c.method, c.path, c.body, header...)
		var p experiment.Problem
		if err := json.Unmarshal(b, &p); err != nil || status != c.status || p.Status != c.status ||
			p.Detail != c.detail || p.Type != "about:blank" {
			t.Errorf("%s: status %d, want %d: %s", c.name, status, c.status, b)
		}
		if row := fmt.Sprintf("| %s | %d | `%s` |", c.name, c.status,
			strings.ReplaceAll(c.detail, "|", `\|`)); !strings.Contains(string(page), row) {
			t.Errorf("docs/service.md lacks the row\n%s", row)
		}
	}
	after, err := w.server.State()
	if err != nil || after.Digest != before.Digest {
		t.Errorf("the state changed: %+v, %+v, %v", before, after, err)
	}
	if strings.Contains(w.logs.String(), "secret-unit") {
		t.Error("the logs hold a unit")
	}
}

// TestOtherSites: what a page of another site makes a browser send changes nothing, with access
// tokens or without.
func TestOtherSites(t *testing.T) {
	w := newWorld(t)
	w.apply(toy)
	for _, header := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Origin", "http://evil.example"}} {
		if status, b := w.do("POST", "/v1/experiments/toy/rollback", "", header...); status != http.StatusForbidden ||
			!strings.Contains(string(b), "the request comes from another site") {
			t.Errorf("a page of another site, %q: status %d: %s", header, status, b)
		}
	}
	if p := w.server.Policy("toy"); p.State != experiment.Running {
		t.Errorf("it is %s", p.State)
	}
}

// TestHostileItems: items of feedback are judged one by one, with the fates that docs/service.md
// promises.
func TestHostileItems(t *testing.T) {
	w := newWorld(t)
	w.apply(toy)
	good := w.decide("toy", "ann")[0].Token
	page, err := os.ReadFile("../docs/service.md")
	if err != nil {
		t.Fatal(err)
	}
	other,
		err := experiment.NewSigner(experiment.Keys{
		Current: 1,
		Secrets: map[byte][]byte{1: []byte("somebody else's secret")},
	})
	if err != nil {
		t.Fatal(err)
	}
	b, err := other.Append(nil, experiment.Token{Experiment: "toy", Version: 1, Propensity: 1, Time: w.now})
	if err != nil {
		t.Fatal(err)
	}
	stranger := string(b)
	for _, c := range []struct {
		name, token string
		metrics     map[string]float64
		status      experiment.ItemStatus
		text        string
	}{
		{"a genuine token", good, map[string]float64{"x": 1}, "accepted", ""},
		{"a token that is replayed", good, map[string]float64{"x": 1}, "duplicate", ""},
		{
			"a forged signature", tamper(good),
			map[string]float64{"x": 1},
			"rejected",
			"the token cannot be read or was changed",
		},
		{
			"a token of another key", stranger,
			map[string]float64{"x": 1},
			"rejected",
			"the token cannot be read or was changed",
		},
		{"no token", "", map[string]float64{"x": 1}, "rejected", "the token cannot be read or was changed"},
		{
			"a token of 2000 characters", strings.Repeat("A", 2000),
			map[string]float64{"x": 1},
			"rejected",
			"the token cannot be read or was changed",
		},
		{
			"an unknown metric", good,
			map[string]float64{"z": 1},
			"rejected",
			"metrics.z: it is no metric: want one of x, y",
		},
		{
			"a value out of its range", good,
			map[string]float64{"y": 11},
			"rejected",
			"metrics.y: 11: want a number in [-10, 10]",
		},
		{"no metrics", good, nil, "rejected", "metrics: none: want at least one of x, y"},
	} {
		f := w.post("/v1/feedback", item{c.token, c.metrics})
		if len(f.Items) != 1 || f.Items[0].Status != c.status || f.Items[0].Error != c.text {
			t.Errorf("%s: %+v", c.name, f)
		}
		if row := fmt.Sprintf("| %s | 200 | %s", c.name, c.status); !strings.Contains(string(page), row) {
			t.Errorf("docs/service.md lacks the row %s", row)
		}
	}
}

func bomb() string {
	b := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'j'; c++ {
		p := string(c - 1)
		b += string(c) + ": &" + string(c) + " [*" + strings.Repeat(p+",*", 9) + p + "]\n"
	}
	return b
}

// TestSlowAndRaw: clients that send slowly are cut off, headers beyond the limit refused.
func TestSlowAndRaw(t *testing.T) {
	noLeaks(t)
	s, err := New(Config{Data: t.TempDir(), FS: vfs.NewMem(), Tick: time.Hour, RequestTime: 150 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	l, err := s.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l, nil, time.Minute) }()
	for name, c := range map[string]struct {
		send string
		want string
	}{
		"slow headers": {"GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Slow: ", ""},
		"a slow body": {"POST /v1/experiments/x/decide HTTP/1.1\r\nHost: localhost\r\nContent-Type: " +
			"application/json\r\nContent-Length: 100\r\n\r\n{", "HTTP/1.1 400 Bad Request"},
		"headers of 1 MB": {"GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Long: " + strings.Repeat("x", 1<<20) +
			"\r\n\r\n", "HTTP/1.1 431 Request Header Fields Too Large"},
		"no HTTP": {"\x16\x03\x01\x02\x00\r\n\r\n", "HTTP/1.1 400 Bad Request"},
		"two lengths": {"POST /v1/feedback HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
			"1\r\nContent-Length: 2\r\n\r\nab", "HTTP/1.1 400 Bad Request"},
		"a path that climbs": {
			"GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
			"HTTP/1.1 404 Not Found",
		},
		"the host of another": {
			"POST /v1/feedback HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 2\r\n\r\n{}",
			"HTTP/1.1 421 Misdirected Request",
		},
	} {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = io.WriteString(conn, c.send) }()
		line, err := bufio.NewReader(conn).ReadString('\n')
		if c.want == "" && (!errors.Is(err, io.EOF) || line != "") || c.want != "" &&
			strings.TrimSpace(line) != c.want {
			t.Errorf("%s: %q, %v; want %q", name, line, err, c.want)
		}
		_ = conn.Close()
	}
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// TestTooMuchAtOnce: a request that becomes more than the log takes at once is refused, and the log
// stays well.
func TestTooMuchAtOnce(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.MaxBody, c.MaxItems = 300_000, 100_000 })
	w.apply(strings.Replace(toy, "hold_back: 0.1", "exposure: immediate", 1))
	body := `{"units": ["` + strings.Repeat(`a","`, 50_000) + `a"]}`
	w.get(413, nil, "POST", "/v1/experiments/toy/decide", body)
	w.get(200, nil, "GET", "/readyz", "")
	w.get(200, nil, "POST", "/v1/experiments/toy/decide", `{"units": ["a"]}`)
}

// TestDiskFails: when the disk fails, nothing more is acknowledged, readiness says so, decisions go
// on, and a new service on the same disk has all that was acknowledged.
func TestDiskFails(t *testing.T) {
	mem := vfs.NewCrashableMem()
	var broken errorfs.Toggle
	broken.Injector = errorfs.ErrInjected.If(errorfs.Writes)
	w := newLeakyWorld(t, func(c *Config) { c.FS = errorfs.Wrap(mem, &broken) })
	w.apply(toy)
	d := w.decide("toy", "a", "b")
	if f := w.post("/v1/feedback", item{d[0].Token, map[string]float64{"x": 1}}); f.Accepted != 1 {
		t.Fatalf("%+v", f)
	}
	broken.On()
	w.get(503, nil, "POST", "/v1/feedback", fmt.Sprintf(`{"items": [{"token": %q, "metrics": {"x": 1}}]}`, d[1].Token))
	broken.Off()
	w.get(503, nil, "POST", "/v1/feedback", fmt.Sprintf(`{"items": [{"token": %q, "metrics": {"x": 1}}]}`, d[1].Token))
	w.get(503, nil, "GET", "/readyz", "")
	w.get(200, nil, "GET", "/livez", "")
	if len(w.decide("toy", "c")) != 1 {
		t.Error("decisions stopped")
	}
	w.http.Close()
	_ = w.server.Close() // it reports the failure
	w.config.FS = mem.CrashClone(vfs.CrashCloneCfg{})
	w.start()
	r, err := w.server.Report("toy")
	if err != nil || r.Feedback.Accepted < 1 {
		t.Errorf("%+v %v", r, err)
	}
}
