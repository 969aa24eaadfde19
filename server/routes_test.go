package server

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/noregret/noregret/api"
)

// TestHostile sends bad requests and requires the exact answers that docs/service.md states. The
// state must be the same afterwards.
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
			"units whose values are too large in total", "POST", "/v1/experiments/wide/decide", `{"units": ["a", "b"]}`,
			"application/json", 413, "2 units of values of up to 1020 bytes each: want at most 1",
		},
		{
			"flags whose values are too large in total", "POST", "/ofrep/v1/evaluate/flags",
			`{"context": {"targetingKey": "a"}}`, "application/json", 413,
			"2 experiments with values of up to 1032 bytes together: want at most 1024; evaluate them one by one",
		},
		{"no units", "POST", decide, `{"units": []}`, "application/json", 400, "0 units: want 1 to 50"},
		{"an empty unit", "POST", decide, `{"units": [""]}`, "application/json", 400, "0 bytes: want 1 to 512"},
		{
			"a unit of 600 bytes", "POST", decide, `{"units": ["` + strings.Repeat("x", 600) + `"]}`,
			"application/json",
			400, "600 bytes: want 1 to 512",
		},
		{"no JSON", "POST", decide, `{"units": [`, "application/json", 400, "not valid JSON: truncated"},
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
			"more than 64 lists and objects within each other",
		},
		{
			"another media type", "POST", decide, `units=a`, "application/x-www-form-urlencoded", 415,
			`"application/x-www-form-urlencoded": want application/json`,
		},
		{
			"an unknown experiment", "POST", "/v1/experiments/none/decide", `{"units": ["a"]}`, "application/json", 404,
			`no experiment "none"`,
		},
		{"a wrong method", "GET", feedback, "", "", 405, "want POST"},
		{
			"an unknown path", "GET", "/v1/secrets", "", "", 404,
			"no such path: /openapi.json lists those of the API",
		},
		{
			"a name with parent directories", "PUT", "/v1/experiments/..%2F..%2Fetc%2Fpasswd",
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
			"more than 1332 values with aliases written out, or deeper than 64",
		},
		{
			"an invalid definition", "PUT", "/v1/experiments/toy",
			strings.Replace(toy, "share: 0.2", "share: 7", 1), "application/yaml", 400, "7: want a share in [0, 1)",
		},
		{
			"a forbidden change", "PUT", "/v1/experiments/toy",
			toy + "\nstickiness: unit\n", "application/yaml", 409,
			`"round" cannot become "unit" while the experiment runs: delete the experiment, or make one of another name`,
		},
		{"resuming a running experiment", "POST", "/v1/experiments/toy/resume", "", "", 409, "already running"},
		{
			"null for a body", "POST", "/v1/experiments/toy/pause", `null`, "application/json", 400,
			"must be an object, not null",
		},
		{
			"a field twice", "POST", decide, `{"units": ["ann"], "units": ["eve"]}`, "application/json", 400,
			"duplicate field",
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
			`{"experiment": "toy", "source": "s", "sequence": 1, "items": [{"version": 1, "arm": "a", "units": 1, ` +
				`"metrics": {"x": {"n": 1, "sum": null, "squares": 1}}}]}`,
			"application/json", 400, "must be a number in the range of float64, not null",
		},
		{
			"an unknown parameter", "GET", "/v1/export?fro=3", "", "", 400,
			`the parameter "fro" is unknown: want from, experiment, units`,
		},
		{
			"an export of an unknown experiment", "GET", "/v1/export?experiment=nonesuch", "", "", 404,
			`no experiment "nonesuch"`,
		},
		{
			"a path with an empty part", "GET", "/v1//experiments", "", "", 404,
			"no such path: /openapi.json lists those of the API",
		},
		{
			"a path with parent directories", "GET", "/v1/experiments/../../etc/passwd", "", "", 404,
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
			"application/json", 404, `no experiment "none"`,
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
		var p api.Problem
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

func bomb() string {
	b := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'j'; c++ {
		p := string(c - 1)
		b += string(c) + ": &" + string(c) + " [*" + strings.Repeat(p+",*", 9) + p + "]\n"
	}
	return b
}
