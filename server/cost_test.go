package server

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/internal/testsize"
)

// The bounds of what one request may cost: a fixed part, twice what an ordinary request of the
// same route costs, and a part for each byte of the body before compression. What one byte of
// gzip may stand for is bounded by the body's bound: see [TestCostOfLargeRequests]. They are an
// order of magnitude above what the routes need, and three below what a reader needs that is
// quadratic in a megabyte. The processor time is that of the process, whatever else runs on the
// machine.
const (
	fixedAlloc, allocPerByte = 2 << 20, 800
	fixedTime, timePerByte   = 500 * time.Millisecond, 5 * time.Microsecond
)

const costRank = `{"contextFeatures": [{"age": 4}, {"land": "de"}], "actions": [{"id": "loud", "features": [{"a": 1}]},
	{"id": "plain"}], "excludedActions": ["plain"], "eventId": "e1", "deferActivation": false}`

// costSamples are bodies that the operations accept, by operationId; TOKEN stands for a decision's
// token. An operation without a sample gets one that is made of its schema.
var costSamples = map[string]string{
	"decide":           `{"units": [{"id": "bob", "context": {"age": 4, "land": "de"}}]}`,
	"rank":             costRank,
	"rankPersonalizer": costRank,
	"postExposures": `{"items": [{"token": "TOKEN", "context": {"age": 4}}, {"decided": {"experiment": "news",
		"version": 1, "unit": "eve", "time": 1, "context": {"age": 5}}}]}`,
	"postFeedback": `{"items": [{"token": "TOKEN", "metrics": {"like": 1}}, {"decided": {"experiment": "news",
		"version": 1, "unit": "eve", "time": 1, "context": {"age": 5}}, "metrics": {"like": 1}}]}`,
	"postAggregates": `{"experiment": "toy", "source": "s", "sequence": 1, "items": [{"version": 1, "arm": "gain",
		"units": 3, "metrics": {"x": {"n": 2, "sum": 3, "squares": 5}}}]}`,
	"evaluateFlag":       `{"context": {"targetingKey": "a", "age": 4, "more": [1]}}`,
	"evaluateFlags":      `{"context": {"targetingKey": "a", "age": 4}}`,
	"vetoArm":            `{"arm": "loud", "lift": false, "reason": "r"}`,
	"concludeExperiment": `{"mixture": {"loud": 1}, "reason": "r"}`,
}

// costShape is a value of JSON of about n bytes.
type costShape struct {
	name string
	make func(n int) string
}

func nested(open, inner, end string, depth int) string {
	return strings.Repeat(open, depth) + inner + strings.Repeat(end, depth)
}

// spread joins items that depend on their number up to n bytes.
func spread(n int, item func(i int) string) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(item(i))
	}
	return b.String()
}

func repeated(text string) func(int) string { return func(int) string { return text } }

func costShapes() []costShape {
	member := func(i int) string { return fmt.Sprintf(`"k%d":1`, i) }
	text := func(n int) string { return `"` + strings.Repeat("x", n) + `"` }
	return []costShape{
		{"lists within each other", func(n int) string { return nested("[", "", "]", n/2) }},
		{"objects within each other", func(n int) string { return nested(`{"a":`, "1", "}", n/6) }},
		{"2000 lists around a long string", func(n int) string { return nested("[", text(n), "]", 2000) }},
		{"40 lists around a long string", func(n int) string { return nested("[", text(n), "]", 40) }},
		{"40 objects around a wide object", func(n int) string {
			return nested(`{"a":`, "{"+spread(n, member)+"}", "}", 40)
		}},
		{"lists in objects around empty objects", func(n int) string {
			return nested(`{"age":[`, spread(n, repeated("{}")), "]}", 20)
		}},
		{"a wide object", func(n int) string { return "{" + spread(n, member) + "}" }},
		{"a wide object below a long name", func(n int) string {
			return `{"` + strings.Repeat("y", n/2) + `":{` + spread(n/2, member) + "}}"
		}},
		{"one name again and again", func(n int) string { return "{" + spread(n, repeated(`"age":1`)) + "}" }},
		{"a list of numbers", func(n int) string { return "[" + spread(n, repeated("1")) + "]" }},
		{"a list of strings", func(n int) string { return "[" + spread(n, repeated(`"a"`)) + "]" }},
		{"a list of empty objects", func(n int) string { return "[" + spread(n, repeated("{}")) + "]" }},
		{"a list of empty lists", func(n int) string { return "[" + spread(n, repeated("[]")) + "]" }},
		{"a long string", text},
		{"a long string of escapes", func(n int) string { return `"` + strings.Repeat(`\u00e9`, n/6) + `"` }},
		{"a long name", func(n int) string { return "{" + text(n) + ":1}" }},
		{"a long number", func(n int) string { return strings.Repeat("7", n) }},
		{"no JSON", func(n int) string { return `{"a` + strings.Repeat("\\", n) }},
	}
}

// costPlace stands in a sample where a shape goes.
const costPlace = "@@here@@"

// places returns the sample with a place in each of its values in turn, with a further member in
// each of its objects, and with each of its lists repeated up to n bytes.
func places(t testing.TB, sample string, n int) []string {
	t.Helper()
	var root any
	if err := json.Unmarshal([]byte(sample), &root); err != nil {
		t.Fatalf("%v: %s", err, sample)
	}
	out := []string{`"` + costPlace + `"`}
	write := func() {
		b, err := json.Marshal(root)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(b))
	}
	var walk func(v any, set func(any))
	walk = func(v any, set func(any)) {
		if set != nil {
			set(costPlace)
			write()
			set(v)
		}
		switch v := v.(type) {
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(v)) {
				walk(v[k], func(x any) { v[k] = x })
			}
			v["further"] = costPlace
			write()
			delete(v, "further")
		case []any:
			for i := range v {
				walk(v[i], func(x any) { v[i] = x })
			}
			if len(v) > 0 && set != nil {
				one, _ := json.Marshal(v[0])
				set(slices.Repeat(v[:1], n/(len(one)+1)))
				write()
				set(v)
			}
		}
	}
	walk(root, nil)
	return out
}

// sampleOf returns a value of a schema of the document, as good as the schema says.
func sampleOf(t testing.TB, s map[string]any) any {
	t.Helper()
	if ref, ok := s["$ref"].(string); ok {
		s, _ = follow(t, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
	}
	for _, key := range []string{"default", "example", "const"} {
		if v, ok := s[key]; ok {
			return v
		}
	}
	if list, ok := s["enum"].([]any); ok {
		return list[0]
	}
	for _, key := range []string{"oneOf", "anyOf"} {
		if list, ok := s[key].([]any); ok {
			return sampleOf(t, list[0].(map[string]any))
		}
	}
	kind, _ := s["type"].(string)
	if list, ok := s["type"].([]any); ok {
		kind, _ = list[0].(string)
	}
	switch kind {
	case "object":
		out := map[string]any{}
		if all, ok := s["properties"].(map[string]any); ok {
			for name, p := range all {
				out[name] = sampleOf(t, p.(map[string]any))
			}
		}
		return out
	case "array":
		if items, ok := s["items"].(map[string]any); ok {
			return []any{sampleOf(t, items)}
		}
		return []any{}
	case "integer", "number":
		return 1
	case "boolean":
		return false
	}
	return "a"
}

// costWorld is a service whose requests are measured.
type costWorld struct {
	t       *testing.T
	w       *world
	handler http.Handler
	token   string
	op      string // the operation's identifier
	method  string
	path    string
	stream  bool
	base    cost // of an ordinary request
	most    cost // of a large one
	n       int
	sent    int // the hostile requests so far
}

// cost is what requests have cost.
type cost struct {
	bytes int64
	time  time.Duration
}

func newCostWorld(t *testing.T, op, method, path string) *costWorld {
	c := &costWorld{t: t, w: newWorld(t), op: op, method: method, n: testsize.Of(32<<10, 8<<10)}
	c.w.apply(news)
	c.w.apply(toy)
	c.handler = c.w.server.Handler()
	d := c.w.decideIn("news", api.UnitContext{ID: "ann", Context: json.RawMessage(`{"age": 4}`)})
	c.token = d[0].Token
	c.path = strings.NewReplacer("{name}", "news", "{key}", "news", "{event}", "e1", "{api}", "v1.0", "{file}",
		"style.css", "{picture}", "mixture").Replace(path)
	return c
}

// send sends a request and returns its status and its cost.
func (c *costWorld) send(query, media string, body []byte, zip bool) (int, cost) {
	c.t.Helper()
	if zip {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write(body)
		_ = z.Close()
		body = b.Bytes()
	}
	r := httptest.NewRequest(c.method, "http://127.0.0.1"+c.path+query, bytes.NewReader(body))
	if media != "" {
		r.Header.Set("Content-Type", media)
	}
	if zip {
		r.Header.Set("Content-Encoding", "gzip")
	}
	if c.stream { // it would last for ever
		ctx, cancel := context.WithCancel(r.Context())
		cancel()
		r = r.WithContext(ctx)
	}
	rec := httptest.NewRecorder()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begin := cpuTime()
	c.handler.ServeHTTP(rec, r)
	took := cpuTime() - begin
	runtime.ReadMemStats(&after)
	return rec.Code, cost{int64(after.TotalAlloc - before.TotalAlloc), took}
}

// check sends a hostile request, plain or compressed, and compares its cost with the bounds. A
// request that looks too costly is sent again: what another goroutine does is not its fault.
func (c *costWorld) check(what, query, media string, body []byte, zip bool) {
	c.t.Helper()
	size := int64(len(body) + len(query))
	mostBytes := fixedAlloc + 2*c.base.bytes + allocPerByte*size
	mostTime := fixedTime + 2*c.base.time + time.Duration(size)*timePerByte*time.Duration(testsize.Of(1, 8))
	var got cost
	for range 3 {
		status, now := c.send(query, media, body, zip)
		if status >= http.StatusInternalServerError && status != http.StatusServiceUnavailable {
			c.t.Errorf("%s %s: %s: status %d", c.method, c.path, what, status)
			return
		}
		if got = now; got.bytes <= mostBytes && got.time <= mostTime {
			return
		}
	}
	c.t.Errorf("%s %s: %.300s: %d bytes (compressed: %v) made the service allocate %d bytes and compute for %v: want "+
		"at most %d bytes and %v", c.method, c.path, what, size, zip, got.bytes, got.time, mostBytes, mostTime)
}

// hostile sends a body of n bytes: every other one is compressed.
func (c *costWorld) hostile(what, media string, body func(n int) string) {
	c.t.Helper()
	c.sent++
	c.check(what, "", media, []byte(strings.ReplaceAll(body(c.n), "TOKEN", c.token)), c.sent%2 == 0)
}

// both sends a body of n bytes compressed, and one of a quarter as it is.
func (c *costWorld) both(what, media string, body func(n int) string) {
	c.t.Helper()
	c.check(what, "", media, []byte(body(c.n)), true)
	c.check(what, "", media, []byte(body(c.n/4)), false)
}

// bodies sends hostile bodies of a media type that the operation reads.
func (c *costWorld) bodies(media string, schema map[string]any) {
	c.t.Helper()
	switch {
	case media == "application/yaml":
		c.yaml(media)
		return
	case strings.HasSuffix(media, "yaml"): // another name of the same
		return
	case media == "application/x-www-form-urlencoded":
		c.forms(media, schema)
		return
	}
	ordinary := c.ordinary(media, schema)
	for i, text := range places(c.t, ordinary, c.n) {
		if !strings.Contains(text, costPlace) {
			c.check("a long list", "", media, []byte(text), true)
			continue
		}
		where := strings.ReplaceAll(text, c.token, "TOKEN")
		for _, s := range costShapes() {
			body := func(n int) string { return strings.Replace(text, `"`+costPlace+`"`, s.make(n), 1) }
			if i == 0 {
				c.both(s.name+" as the body", media, body)
				continue
			}
			c.hostile(s.name+" in "+where, media, body)
		}
	}
}

// ordinary sends the ordinary body of a media type of JSON, which sets the base, and returns it.
func (c *costWorld) ordinary(media string, schema map[string]any) string {
	c.t.Helper()
	sample, ordinary := costSamples[c.op], ""
	switch {
	case c.op == "putExperiment":
		var v any
		if err := yaml.Unmarshal([]byte(news), &v); err != nil {
			c.t.Fatal(err)
		}
		b, err := json.Marshal(v)
		if err != nil {
			c.t.Fatal(err)
		}
		sample = string(b)
	case sample == "":
		b, err := json.Marshal(sampleOf(c.t, schema))
		if err != nil {
			c.t.Fatal(err)
		}
		ordinary = string(b)
	}
	if ordinary == "" {
		ordinary = sample
	}
	ordinary = strings.ReplaceAll(ordinary, "TOKEN", c.token)
	status, base := c.send("", media, []byte(ordinary), false)
	if sample != "" && status/100 != 2 {
		c.t.Errorf("%s: the sample of costSamples gets status %d", c.op, status)
	}
	c.base = base
	return ordinary
}

// yaml sends hostile definitions in YAML, where JSON is a style.
func (c *costWorld) yaml(media string) {
	for _, s := range costShapes() {
		c.both(s.name+" in YAML", media, func(n int) string { return "- " + s.make(n) })
		c.both(s.name+" as an arm in YAML", media, func(n int) string {
			return strings.Replace(news, "value: 1", "value: "+s.make(n), 1)
		})
	}
	for _, s := range []costShape{
		{"a bomb of aliases", func(int) string { return bomb() }},
		{"aliases of a long text", func(n int) string {
			return "- &a " + strings.Repeat("x", n/2) + "\n- [*a" + strings.Repeat(",*a", n/6) + "]"
		}},
		{"lists in one line", func(n int) string { return strings.Repeat("- ", n/2) + "1" }},
		{"blocks within each other", func(n int) string {
			var b strings.Builder
			for i := 0; b.Len() < n; i++ {
				b.WriteString(strings.Repeat(" ", i) + "a:\n")
			}
			return b.String()
		}},
		{"many lines", func(n int) string { return strings.Repeat("- a\n", n/4) }},
		{"many comments", func(n int) string { return strings.Repeat("# a\n", n/4) + "a: 1" }},
		{"many anchors", func(n int) string { return "- " + strings.Repeat("&a ", n/3) + "1" }},
		{"anchors and aliases", func(n int) string { return "- &a 1\n" + strings.Repeat("- *a\n", n/5) }},
		{"many documents", func(n int) string { return strings.Repeat("--- 1\n", n/6) }},
		{"a long text in lines", func(n int) string { return "a: |\n" + strings.Repeat("  x\n", n/4) }},
		{"complex keys", func(n int) string { return strings.Repeat("? ", n/2) + "1" }},
		{"tabs and quotes", func(n int) string { return "a: \"" + strings.Repeat("\\\n", n/2) + "\"" }},
	} {
		c.both(s.name+" in YAML", media, s.make)
	}
}

// forms sends hostile forms of a browser.
func (c *costWorld) forms(media string, schema map[string]any) {
	c.base = cost{}
	for _, pair := range []string{"a&", "a=b&", "%41", "=&", ";", "&"} {
		c.both("many of "+pair, media, func(n int) string { return strings.Repeat(pair, n/len(pair)) })
	}
	r := httptest.NewRequest("GET", "http://127.0.0.1"+c.path, nil)
	rec := httptest.NewRecorder()
	c.handler.ServeHTTP(rec, r)
	var secret []byte
	if m := regexp.MustCompile(`name="secret" value="([^"]*)"`).FindSubmatch(rec.Body.Bytes()); m != nil {
		secret = m[1]
	}
	fields, _ := schema["properties"].(map[string]any)
	_, c.base = c.send("", media, []byte("a=b"), false)
	for name := range fields {
		for _, s := range costShapes() {
			c.hostile(s.name+" as the field "+name, media, func(n int) string {
				form := url.Values{"secret": {string(secret)}, "confirm": {"yes"}}
				form.Set(name, s.make(n))
				return form.Encode()
			})
		}
	}
}

// queries sends hostile values of the operation's parameters, and bodies that it does not read.
func (c *costWorld) queries(names []string) {
	_, c.base = c.send("", "", nil, false)
	_, again := c.send("", "", nil, false)
	c.base.bytes, c.base.time = max(c.base.bytes, again.bytes), max(c.base.time, again.time)
	shapes := costShapes()
	for _, name := range names {
		for _, s := range shapes {
			c.check(s.name+" as the parameter "+name, "?"+name+"="+url.QueryEscape(s.make(c.n/4)), "", nil, false)
		}
		if name == "context" {
			for _, s := range shapes {
				c.check(s.name+" as the parameter context with a token",
					"?token="+c.token+"&context="+url.QueryEscape(`{"age": `+s.make(c.n/4)+"}"), "", nil, false)
			}
		}
	}
	c.check("many parameters", "?"+strings.Repeat("a=1&", c.n/16), "", nil, false)
	for _, s := range shapes[:4] {
		c.both(s.name+" as a body that is not read", "application/json", s.make)
	}
}

// parametersOf returns the names of the parameters of the query of an operation.
func parametersOf(t testing.TB, item, op map[string]any) (names []string) {
	t.Helper()
	for _, from := range []map[string]any{item, op} {
		list, _ := from["parameters"].([]any)
		for _, p := range list {
			one := p.(map[string]any)
			if ref, ok := one["$ref"].(string); ok {
				one, _ = follow(t, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
			}
			if one["in"] == "query" {
				names = append(names, one["name"].(string))
			}
		}
	}
	return names
}

// all sends hostile requests of every kind that suits the operation of the document.
func (c *costWorld) all(path, method string, parameters []string) {
	c.t.Helper()
	operation := []string{"paths", path, method}
	events, _ := follow(c.t, append(operation, "responses", "200", "content", "text/event-stream")...)
	c.stream = events != nil
	content, _ := follow(c.t, append(operation, "requestBody", "content")...)
	for media := range content {
		schema, _ := follow(c.t, append(operation, "requestBody", "content", media, "schema")...)
		c.bodies(media, schema)
	}
	if len(content) == 0 || len(parameters) > 0 {
		c.queries(parameters)
	}
}

// TestCostOfRequests sends hostile requests to every operation of the OpenAPI document: nesting,
// wide objects, long strings and others, in every place of a body that the operation accepts,
// plain and compressed by gzip. The processor time and the memory that an answer takes are
// bounded by the bytes sent.
func TestCostOfRequests(t *testing.T) {
	testsize.NoRace(t)
	seen := map[string]bool{}
	for path, v := range doc().all["paths"].(map[string]any) {
		item := v.(map[string]any)
		for method := range item {
			if method == "parameters" {
				continue
			}
			op, _ := follow(t, "paths", path, method)
			id := op["operationId"].(string)
			seen[id] = true
			t.Run(id, func(t *testing.T) {
				newCostWorld(t, id, strings.ToUpper(method), path).all(path, method, parametersOf(t, item, op))
			})
		}
	}
	for id := range costSamples {
		if !seen[id] {
			t.Errorf("costSamples has %s, which is no operation", id)
		}
	}
}

// TestOneReader checks that the service reads JSON of requests by package web only: encoding/json
// has no bound of depth that suits, and its users read twice what they could read once. The files
// that may use it read what the service itself has written.
func TestOneReader(t *testing.T) {
	own := []string{"keys.go", "restore.go", "revisions.go"}
	use := regexp.MustCompile(`json\.(Unmarshal|NewDecoder|Valid|Compact|Indent)\(|yaml\.(Unmarshal|NewDecoder)\(`)
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "servicetest" || d.Name() == "access"):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || slices.Contains(own, path):
			return nil
		}
		text, err := os.ReadFile(path)
		if err == nil && use.Match(text) {
			t.Errorf("%s uses %s: want web.ReadJSON or web.DecodeJSON", path, use.Find(text))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
