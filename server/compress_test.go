package server

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/noregret/noregret/api"
)

// raw sends a request whose answer the transport leaves as it is, and returns the answer with its
// body decompressed.
func (w *world) raw(method, path, body string, header ...string) (*http.Response, []byte) {
	w.t.Helper()
	r, err := http.NewRequest(method, w.http.URL+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.ContentLength >= 0 && method != "HEAD" && int64(len(b)) != resp.ContentLength {
		w.t.Errorf("%s: %d bytes, Content-Length %d", path, len(b), resp.ContentLength)
	}
	if err == nil && resp.Header.Get("Content-Encoding") == "gzip" && method != "HEAD" {
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(b)); err == nil {
			b, err = io.ReadAll(z)
		}
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return resp, b
}

// TestGzipAnswers checks which answers are compressed, that they are the same, and that a tag that
// came with a compressed answer is still that of the definition or the policy.
func TestGzipAnswers(t *testing.T) {
	w := newWorld(t)
	w.apply(manyArms(60))
	w.apply(toy)
	var units []string
	for i := range 100 {
		units = append(units, fmt.Sprintf("%q", fmt.Sprint("u", i)))
	}
	for _, c := range []struct {
		method, path, body, accept string
		compressed                 bool
	}{
		{"GET", "/v1/experiments/wide/report", "", "gzip", true},
		{"GET", "/v1/experiments/wide/report", "", "br;q=1.0, gzip;q=0.8, *;q=0.1", true},
		{"GET", "/v1/experiments/wide/report", "", "*", true},
		{"GET", "/v1/experiments/wide/report", "", "gzip;q=0, *", false},
		{"GET", "/v1/experiments/wide/report", "", "*;q=0", false},
		{"GET", "/v1/experiments/wide/report", "", "identity, br", false},
		{"GET", "/v1/experiments/wide/report", "", "gzip;q=much", false},
		{"GET", "/v1/experiments/wide/report", "", "", false},
		{"HEAD", "/v1/experiments/wide/report", "", "gzip", true},
		{"GET", "/v1/experiments/wide", "", "gzip", true},
		{"GET", "/v1/experiments/wide/policy", "", "gzip", true},
		{"GET", "/v1/experiments", "", "gzip", false}, // a few bytes
		{"GET", "/v1/export", "", "gzip", true},
		{"GET", "/openapi.json", "", "gzip", true},
		{"GET", "/experiments/wide", "", "gzip", true},
		{"GET", "/metrics", "", "gzip", true},
		{"GET", "/assets/style.css", "", "gzip", true},
		// a decision costs less than its compression
		{"POST", "/v1/experiments/toy/decide", `{"units": [` + strings.Join(units, ",") + `]}`, "gzip", false},
	} {
		name := fmt.Sprintf("%s %s with %q", c.method, c.path, c.accept)
		resp, b := w.raw(c.method, c.path, c.body, "Accept-Encoding", c.accept)
		if got := resp.Header.Get("Content-Encoding") == "gzip"; resp.StatusCode != 200 || got != c.compressed {
			t.Errorf("%s: status %d, compressed: %v, want %v", name, resp.StatusCode, got, c.compressed)
		}
		plain, want := w.raw(c.method, c.path, c.body, "Accept-Encoding", "identity")
		if c.method == "GET" && c.path != "/metrics" && c.path != "/experiments/wide" && !bytes.Equal(b, want) {
			t.Errorf("%s: another body of %d bytes, want %d", name, len(b), len(want))
		}
		if c.compressed && c.path != "/metrics" {
			if resp.Header.Get("Vary") != "Accept-Encoding" || plain.Header.Get("Vary") != "Accept-Encoding" {
				t.Errorf("%s: Vary is %q, and %q without compression", name, resp.Header["Vary"], plain.Header["Vary"])
			}
			if tag := resp.Header.Get("ETag"); tag != "" && tag != "W/"+plain.Header.Get("ETag") {
				t.Errorf("%s: the tag is %s, without compression %s", name, tag, plain.Header.Get("ETag"))
			}
		}
	}
	for _, path := range []string{"/v1/experiments/wide", "/v1/experiments/wide/policy"} {
		resp, _ := w.raw("GET", path, "", "Accept-Encoding", "gzip")
		again, _ := w.raw("GET", path, "", "Accept-Encoding", "gzip", "If-None-Match", resp.Header.Get("ETag"))
		if again.StatusCode != http.StatusNotModified {
			t.Errorf("%s with its own tag: status %d", path, again.StatusCode)
		}
	}
	resp, _ := w.raw("GET", "/v1/experiments/wide", "", "Accept-Encoding", "gzip")
	put, b := w.raw("PUT", "/v1/experiments/wide", manyArms(60), "Content-Type", "application/yaml", "If-Match",
		resp.Header.Get("ETag"))
	if put.StatusCode != 200 {
		t.Errorf("If-Match with the tag of a compressed answer: status %d: %s", put.StatusCode, b)
	}
	// An export of nothing is an error, which is not compressed.
	if resp, b := w.raw("GET", "/v1/export?experiment=none", "", "Accept-Encoding", "gzip"); resp.StatusCode != 404 ||
		resp.Header.Get("Content-Encoding") != "" || !json.Valid(b) {
		t.Errorf("status %d: %s", resp.StatusCode, b)
	}
}

// TestReportPages checks that the pages of a report together say of each arm what the whole report
// says, once, and that each says of the experiment what the whole one says.
func TestReportPages(t *testing.T) {
	w := newWorld(t)
	w.apply(manyArms(12))
	var items []item
	for i, d := range w.decide("wide", strings.Split("abcdefghijklmnopqrstu", "")...) {
		items = append(items, item{Token: d.Token, Metrics: map[string]float64{"x": float64(i%3) / 2, "y": 0.25}})
	}
	shown := make([]item, len(items))
	for i := range items {
		shown[i].Token = items[i].Token
	}
	w.post("/v1/exposures", shown...)
	w.post("/v1/feedback", items...)
	read := func(query string) (r api.Report) {
		w.get(200, &r, "GET", "/v1/experiments/wide/report"+query, "")
		return r
	}
	whole := read("")
	if len(whole.Arms) != 12 || len(whole.Lift.Quantities) == 0 || len(whole.Lift.Quantities[0].Arms) != 11 {
		t.Fatalf("%d arms, lift %+v", len(whole.Arms), whole.Lift)
	}
	after, pages := "", 0
	arms, mixture := map[string]api.ArmReport{}, map[string]float64{}
	lift := map[string]api.Comparison{}
	history := map[string]float64{}
	for {
		p := read("?limit=5&after=" + after)
		for name := range p.Arms {
			if _, twice := arms[name]; twice {
				t.Errorf("the arm %s is on two pages", name)
			}
		}
		maps.Copy(arms, p.Arms)
		maps.Copy(mixture, p.Mixture)
		maps.Copy(lift, p.Lift.Quantities[0].Arms)
		maps.Copy(history, p.History[0].Mixture)
		if !reflect.DeepEqual(p.Guardrails, whole.Guardrails) || !reflect.DeepEqual(p.Regret, whole.Regret) ||
			!reflect.DeepEqual(p.Lift.Quantities[0].Served, whole.Lift.Quantities[0].Served) ||
			p.Feedback != whole.Feedback {
			t.Error("a page says something else of the experiment than the whole report")
		}
		if pages++; p.Next == "" {
			break
		}
		if len(p.Arms) != 5 || len(p.Mixture) != 5 || len(p.History[0].Mixture) != 5 {
			t.Fatalf("a page of %d arms, %d shares, %d shares of a version", len(p.Arms), len(p.Mixture),
				len(p.History[0].Mixture))
		}
		after = p.Next
	}
	if pages != 3 || !reflect.DeepEqual(arms, whole.Arms) || !reflect.DeepEqual(mixture, whole.Mixture) ||
		!reflect.DeepEqual(lift, whole.Lift.Quantities[0].Arms) ||
		!reflect.DeepEqual(history, whole.History[0].Mixture) {
		t.Errorf("%d pages are together not the whole report", pages)
	}
	var list struct {
		Experiments []api.Summary
		Next        string
	}
	w.apply(toy)
	for _, c := range [][3]string{
		{"?limit=1", "toy", "toy"}, {"?limit=1&after=toy", "wide", ""}, {"?after=toy", "wide", ""},
	} {
		list.Next = ""
		w.get(200, &list, "GET", "/v1/experiments"+c[0], "")
		if len(list.Experiments) != 1 || list.Experiments[0].Name != c[1] || list.Next != c[2] {
			t.Errorf("%s: %+v", c[0], list)
		}
	}
	for query, want := range map[string]string{
		"limit=0": "want a number from 1 to 100000", "limit=x": "want a number", "limit=100001": "want a number",
		"after=" + strings.Repeat("a", 201): "201 bytes: want at most 200",
	} {
		for _, path := range []string{"/v1/experiments", "/v1/experiments/wide/report"} {
			if status, b := w.do("GET", path+"?"+query, ""); status != 400 || !bytes.Contains(b, []byte(want)) {
				t.Errorf("%s?%.20s: status %d: %s", path, query, status, b)
			}
		}
	}
}
