package server

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"image/png"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret/api"
)

// pictureSeries is what the script gets for a picture.
type pictureSeries struct {
	Axis     string
	Stacked  bool
	X        []float64
	Versions []uint64
	Lines    []struct {
		Name              string
		Values, Low, High []*float64
		Level             bool
	}
	Now []struct{ Low, High float64 }
}

// TestSeries checks the values of the pictures against the report: on both axes, with bands, levels
// and the interval of now, each kept until the next known one.
func TestSeries(t *testing.T) {
	w, _ := played(t, toy, "toy")
	r, err := w.server.Report("toy")
	if err != nil {
		t.Fatal(err)
	}
	get := func(path string) (s pictureSeries) {
		w.get(200, &s, "GET", "/experiments/toy/pictures/"+path, "")
		return s
	}
	n := len(r.History)
	mixture := get("mixture.json")
	if mixture.Axis != "time" || !mixture.Stacked || len(mixture.X) != n+1 || len(mixture.Lines) != 3 {
		t.Fatalf("%+v", mixture)
	}
	for i, h := range append(r.History, r.History[n-1]) {
		if i < n && mixture.X[i] != float64(h.Time.UnixNano())/1e9 || mixture.Versions[i] != h.Version {
			t.Errorf("version %d at %v", mixture.Versions[i], mixture.X[i])
		}
		for _, l := range mixture.Lines {
			if l.Values[i] == nil || *l.Values[i] != h.Mixture[l.Name] {
				t.Errorf("version %d: %s has %v, want %v", h.Version, l.Name, l.Values[i], h.Mixture[l.Name])
			}
		}
	}
	if end := mixture.X[n]; end <= mixture.X[n-1] || end < float64(r.Time.Unix()) {
		t.Errorf("the last version ends at %v", end)
	}
	if s := get("mixture.json?axis=version"); s.Axis != "version" || s.X[0] != 1 || s.X[n] != float64(r.Version)+1 {
		t.Errorf("by version: %v", s.X)
	}
	regret := get("regret.json")
	var last *float64
	for _, h := range r.History {
		if h.Regret != nil {
			last = h.Regret
		}
	}
	if l := regret.Lines[0]; last == nil || l.Values[n] == nil || *l.Values[n] != *last || l.Low != nil {
		t.Errorf("regret %+v, want %v at the end", l, last)
	}
	if l := regret.Lines[1]; !l.Level || *l.Values[0] != 0 || *l.Values[n] != 0 {
		t.Errorf("the level %+v", l)
	}
	guard := get("guardrail-0.json")
	if g := r.Guardrails[0]; len(guard.Now) != 1 || guard.Now[0].Low != *g.Low || guard.Now[0].High != *g.High {
		t.Errorf("the interval %+v", guard.Now)
	}
	var seen *float64
	for i, h := range r.History {
		if m := h.Metrics["y"]; m != nil {
			seen = m
		}
		if got := guard.Lines[0].Values[i]; (got == nil) != (seen == nil) || got != nil && *got != *seen {
			t.Errorf("version %d: %v, want %v", h.Version, got, seen)
		}
	}
	band := guard.Lines[1]
	if last := r.Guardrails[0]; *band.Values[n] != *last.Estimate || *band.Low[n] != *last.Low ||
		*band.High[n] != *last.High || len(guard.Lines) != 3 || !guard.Lines[2].Level {
		t.Errorf("the band ends with %v [%v, %v]", *band.Values[n], *band.Low[n], *band.High[n])
	}
	for i, h := range r.History {
		p := h.Guardrails[0]
		if p.Limit != 0 || band.Low[i] != nil && (*band.Low[i] != *p.Low || *band.High[i] != *p.High) {
			t.Errorf("version %d: %+v, and the band is [%v, %v]", h.Version, p, *band.Low[i], *band.High[i])
		}
	}
	if l := get("lift.json").Lines; len(l) == 0 || !l[len(l)-1].Level {
		t.Errorf("%+v", l)
	}
	w.get(400, nil, "GET", "/experiments/toy/pictures/mixture.json?axis=x", "")
	w.get(404, nil, "GET", "/experiments/none/pictures/mixture.json", "")
}

// download gets a file that a browser saves.
func (w *world) download(path, media, name string) []byte {
	w.t.Helper()
	r, err := http.NewRequest("GET", w.http.URL+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	resp, b := w.send(r)
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != media ||
		resp.Header.Get("Content-Disposition") != fmt.Sprintf("attachment; filename=%q", name) {
		w.t.Fatalf("%s: %d, %v", path, resp.StatusCode, resp.Header)
	}
	return b
}

// TestPictureFiles checks the CSV, which has all arms and all versions, and the PNG.
func TestPictureFiles(t *testing.T) {
	text := "name: many\nmetrics: [{name: x}]\npolicy: {kind: fixed, split: {"
	arms := "arms: ["
	for i := range 12 {
		name := fmt.Sprintf(`"=a,%d"`, i)
		text += fmt.Sprintf("%s: %d, ", name, map[bool]int{true: 1}[i == 0])
		arms += fmt.Sprintf("{name: %s, value: %d}, ", name, i)
	}
	w := newWorld(t)
	w.apply(strings.TrimSuffix(text, ", ") + "}}\n" + strings.TrimSuffix(arms, ", ") + "]\n")
	w.get(200, nil, "POST", "/v1/experiments/many/pause", `{"reason": "+1"}`)
	b := w.download("/experiments/many/pictures/mixture.csv", "text/csv; charset=utf-8", "many-mixture.csv")
	rows, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var r api.Report
	w.get(200, &r, "GET", "/v1/experiments/many/report", "")
	if len(rows) != 1+len(r.History) || len(rows[0]) != 3+12 || rows[0][3] != "'=a,0" || rows[1][3] != "1" ||
		rows[1][4] != "0" {
		t.Errorf("%q", rows)
	}
	if at, err := time.Parse(time.RFC3339Nano, rows[1][1]); err != nil || !at.Equal(r.History[0].Time) ||
		rows[1][0] != "1" {
		t.Errorf("%q: %v", rows[1], err)
	}
	b = w.download("/experiments/many/pictures/mixture.png", "image/png", "many-mixture.png")
	picture, err := png.Decode(bytes.NewReader(b))
	if err != nil || picture.Bounds().Dx() != 960 || picture.Bounds().Dy() != 672 {
		t.Errorf("%v: %v", picture.Bounds(), err)
	}
	page := w.text(200, "/experiments/many")
	wants(t, page, `data-series="/experiments/many/pictures/mixture.json?at=`, `href="/experiments/many/pictures/mixture.csv?at=`,
		`src="/assets/uplot.js" defer`)
}
