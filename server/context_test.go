package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/policy"
)

const news = `name: news
arms:
  - {name: classic, value: 0}
  - {name: loud, value: 1}
  - {name: plain, value: 2}
control: {arm: classic}
metrics: [{name: like, range: [0, 1], default: 0}]
objective: {goals: [{metric: like}]}
policy: {kind: lin-thompson}
context:
  - {name: age, kind: number, range: [0, 100]}
  - {name: land, kind: category, values: [de, fr], optional: true}
exploration_floor: 0.05
round: {length: 1m, min_units: 10}
attribution_window: 10m
`

// decideIn decides for units in contexts.
func (w *world) decideIn(name string, units ...api.UnitContext) []decision {
	w.t.Helper()
	in, err := json.Marshal(map[string]any{"units": units})
	if err != nil {
		w.t.Fatal(err)
	}
	var out struct{ Decisions []decision }
	w.get(200, &out, "POST", "/v1/experiments/"+name+"/decide", string(in))
	return out.Decisions
}

// learnNews lets the young like loud and the old classic, in rounds of 200 units.
func (w *world) learnNews(rounds int) {
	w.t.Helper()
	for round := range rounds {
		var units []api.UnitContext
		for i := range 200 {
			units = append(units, api.UnitContext{
				ID: fmt.Sprintf("unit-%d-%d", round, i), Context: json.RawMessage(fmt.Sprintf(`{"age": %d}`, i/2)),
			})
		}
		var said []item
		for i, d := range w.decideIn("news", units...) {
			like := map[string]float64{"like": 0}
			if d.Arm == "loud" && i < 100 || d.Arm == "classic" && i >= 100 {
				like["like"] = 1
			}
			if i%10 != 3 { // a tenth never says anything
				said = append(said, item{d.Token, like})
			}
		}
		w.post("/v1/feedback", said...)
		w.wait(12 * time.Minute)
		w.decideIn("news", api.UnitContext{ID: "late", Context: json.RawMessage(`{"age": 1}`)})
		if err := w.server.writer.closeRounds(context.Background()); err != nil {
			w.t.Fatal(err)
		}
	}
}

// TestDecideInContext: after some rounds the young get one arm and the old another, the propensity
// is that of the policy for the context, and the log has the contexts.
func TestDecideInContext(t *testing.T) {
	w := newWorld(t)
	w.apply(news)
	w.learnNews(4)
	young := api.UnitContext{ID: "ann", Context: json.RawMessage(`{"age": 10, "land": "de"}`)}
	old := api.UnitContext{ID: "ann", Context: json.RawMessage(`{"age": 90}`)}
	ds := w.decideIn("news", young, old)
	if ds[0].Arm != "loud" || ds[1].Arm != "classic" || ds[0].Propensity < 0.8 || ds[1].Propensity < 0.8 {
		t.Errorf("%+v", ds)
	}
	var p policy.Policy
	w.get(200, &p, "GET", "/v1/experiments/news/policy", "")
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	local, err := policy.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	for i, u := range []api.UnitContext{young, old} {
		x, err := local.Linear.Encoder().Encode(nil, u.Context)
		if err != nil {
			t.Fatal(err)
		}
		if d := local.DecideIn(u.ID, x); d.Name != ds[i].Arm || d.Propensity != ds[i].Propensity {
			t.Errorf("a copy of the policy decides %+v, the service %+v", d, ds[i])
		}
	}
	var e api.Explanation
	w.get(200, &e, "GET", "/v1/experiments/news/explain?token="+ds[0].Token, "")
	if !e.Consistent || len(e.Scores) != 3 || e.Scores[1].Arm != "loud" || len(e.Scores[1].Contributions) != 3 {
		t.Errorf("%+v", e)
	}
	wants(t, w.text(200, "/experiments/news/explain?token="+ds[0].Token), "Scores by feature",
		`<th scope="row">age</th>`, `<th scope="row">land=de</th>`, `<th scope="row">Width</th>`)
	w.get(200, &e, "GET", "/v1/experiments/news/explain?token="+ds[1].Token+"&context="+
		url.QueryEscape(`{"age": 90}`), "")
	if !e.Consistent || e.Arm != "classic" {
		t.Errorf("%+v", e)
	}
	w.get(200, &e, "GET", "/v1/experiments/news/explain?token="+ds[1].Token+"&context="+
		url.QueryEscape(`{"age": 10}`), "")
	if e.Consistent {
		t.Errorf("another context explains the decision: %+v", e)
	}
	if _, b := w.do("GET", "/v1/export?experiment=news", ""); !strings.Contains(string(b),
		`"c":{"age":10,"land":"de"}`) {
		t.Errorf("the log has not the context: %s", b[len(b)-500:])
	}
	before, err := w.server.live.name(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.restart()
	if after, err := w.server.live.name(t.Context()); err != nil || after.Digest != before.Digest {
		t.Errorf("after a restart the state is %v, was %v: %v", after, before, err)
	}
}

// TestContextsRefused: a context that does not fit is refused with its place, and nothing is
// logged.
func TestContextsRefused(t *testing.T) {
	w := newWorld(t)
	w.apply(news)
	w.apply(toy)
	last := w.server.log.Stats().Last
	for body, want := range map[string]string{
		`{"units": [{"id": "a", "context": {"age": 1}}, {"id": "b", "context": {"age": 200}}]}`: "units[1].context.age" +
			": 200: want a number from 0 to 100",
		`{"units": ["a"]}`: "units[0].context.age: missing",
		`{"units": [{"id": "a", "context": {"age": 1, "shoes": 44}}]}`:  "units[0].context.shoes: unknown feature",
		`{"units": [{"id": "a", "context": {"age": 1, "land": "it"}}]}`: "units[0].context.land",
		`{"units": [{"id": "a", "context": {"age": 1}, "more": 1}]}`:    "more",
		`{"units": [{"id": "", "context": {"age": 1}}]}`:                "units[0]",
		`{"units": [7]}`: "units[0]: want a unit's name, or",
	} {
		var p api.Problem
		w.get(400, &p, "POST", "/v1/experiments/news/decide", body)
		if text := p.Place + ": " + p.Detail; !strings.Contains(text, want) {
			t.Errorf("%s: %s, want %s", body, text, want)
		}
	}
	var p api.Problem
	w.get(400, &p, "POST", "/v1/experiments/toy/decide", `{"units": [{"id": "a", "context": {"age": 1}}]}`)
	if !strings.Contains(p.Detail, "does not look at it") || p.Place != "units[0].context" {
		t.Errorf("%+v", p)
	}
	if got := w.server.log.Stats().Last; got != last {
		t.Errorf("%d events, %d before", got, last)
	}
	if ds := w.decideIn("toy", api.UnitContext{ID: "ann"}); ds[0].Token == "" ||
		ds[0].Arm != w.decide("toy", "ann")[0].Arm {
		t.Errorf("%+v", ds)
	}
	// After a rollback contexts are not looked at, and not refused.
	w.get(200, nil, "POST", "/v1/experiments/news/rollback", "{}")
	w.decideIn("news", api.UnitContext{ID: "a", Context: json.RawMessage(`{"age": 1}`)})
	w.decide("news", "b")
	r, err := w.server.Report("news")
	if err != nil || r.Arms["classic"].N != 2 {
		t.Errorf("%+v, %v", r.Arms, err)
	}
}

// TestOFREPContext: a flag takes the declared fields of the evaluation's context, and ignores
// others.
func TestOFREPContext(t *testing.T) {
	w := newWorld(t)
	w.apply(strings.Replace(news, "round:", "exposure: immediate\nround:", 1))
	w.apply(toy)
	w.learnNews(3)
	var f flag
	w.get(200, &f, "POST", "/ofrep/v1/evaluate/flags/news",
		`{"context": {"targetingKey": "ann", "age": 10, "land": null, "plan": {"paid": true}}}`)
	d := w.decideIn("news", api.UnitContext{ID: "ann", Context: json.RawMessage(`{"age": 10}`)})[0]
	if f.Reason != "TARGETING_MATCH" || f.Variant != d.Arm || f.Metadata.Propensity != d.Propensity ||
		f.Metadata.Context != `{"age":10}` {
		t.Errorf("%+v, decided %+v", f, d)
	}
	var e flagFailure
	w.get(400, &e, "POST", "/ofrep/v1/evaluate/flags/news", `{"context": {"targetingKey": "ann", "age": "ten"}}`)
	if e.ErrorCode != "INVALID_CONTEXT" || !strings.Contains(e.ErrorDetails, "context.age") {
		t.Errorf("%+v", e)
	}
	var all struct {
		Flags []struct{ Key, Reason, ErrorCode string }
	}
	w.get(200, &all, "POST", "/ofrep/v1/evaluate/flags", `{"context": {"targetingKey": "ann"}}`)
	if len(all.Flags) != 2 || all.Flags[0].ErrorCode != "INVALID_CONTEXT" || all.Flags[1].Reason != "SPLIT" {
		t.Errorf("%+v", all)
	}
	w.get(200, &all, "POST", "/ofrep/v1/evaluate/flags", `{"context": {"targetingKey": "ann", "age": 3}}`)
	if all.Flags[0].Reason != "TARGETING_MATCH" {
		t.Errorf("%+v", all)
	}
}

// TestReportedContext: with reported exposures the context comes with the exposure.
func TestReportedContext(t *testing.T) {
	w := newWorld(t)
	w.apply(strings.Replace(news, "round:", "exposure: reported\nround:", 1))
	d := w.decideIn("news", api.UnitContext{ID: "ann", Context: json.RawMessage(`{"age": 10}`)})[0]
	for body, want := range map[string]api.ItemStatus{
		`{"items": [{"token": "` + d.Token + `"}]}`:                          api.Rejected,
		`{"items": [{"token": "` + d.Token + `", "context": {"age": 300}}]}`: api.Rejected,
	} {
		var f api.FeedbackResult
		w.get(200, &f, "POST", "/v1/exposures", body)
		if f.Items[0].Status != want || !strings.Contains(f.Items[0].Error, "context.age") {
			t.Errorf("%s: %+v", body, f)
		}
	}
	var f api.FeedbackResult
	w.get(200, &f, "POST", "/v1/exposures", `{"items": [{"token": "`+d.Token+`", "context": {"age": 10}}]}`)
	if f.Accepted != 1 {
		t.Errorf("%+v", f)
	}
	w.get(200, &f, "POST", "/v1/feedback", `{"items": [{"token": "`+d.Token+`", "metrics": {"like": 1}}]}`)
	if f.Accepted != 1 {
		t.Errorf("%+v", f)
	}
}

// TestContextSize: no route takes a context of more than 64 KiB, whether the policy looks at it or
// not.
func TestContextSize(t *testing.T) {
	w := newWorld(t)
	w.apply(news)
	w.apply(shop)
	token := w.decideIn("news", api.UnitContext{ID: "ann", Context: json.RawMessage(`{"age": 10}`)})[0].Token
	context := `{"age": 10` + strings.Repeat(" ", policy.MaxContext) + "}"
	decided := `{"experiment": "news", "version": 1, "unit": "eve", "time": 1, "context": ` + context + "}"
	flag := `{"context": ` + strings.Replace(context, "{", `{"targetingKey": "a", `, 1) + "}"
	for _, c := range []struct{ path, body string }{
		{"/v1/experiments/news/decide", `{"units": [{"id": "ann", "context": ` + context + "}]}"},
		{"/v1/experiments/news/rank", `{"actions": [{"id": "loud"}], "contextFeatures": [` + context + "]}"},
		{"/v1/experiments/shop/rank", `{"actions": [{"id": "NewsArticle"}], "contextFeatures": [` + context + "]}"},
		{"/ofrep/v1/evaluate/flags/news", flag},
		{"/ofrep/v1/evaluate/flags/shop", flag},
		{"/v1/exposures", `{"items": [{"token": "` + token + `", "context": ` + context + "}]}"},
		{"/v1/exposures", `{"items": [{"decided": ` + decided + "}]}"},
		{"/v1/feedback", `{"items": [{"decided": ` + decided + `, "metrics": {"like": 1}}]}`},
	} {
		if _, b := w.do("POST", c.path, c.body); !strings.Contains(string(b), "bytes: want at most 65536") {
			t.Errorf("%s: %s", c.path, b)
		}
	}
}
