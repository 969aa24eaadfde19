package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/policy"
	"github.com/noregret/noregret/server/internal/personalizer"
)

const shop = `name: shop
arms: [{name: NewsArticle, value: n}, {name: SportsArticle, value: s}, {name: EntertainmentArticle, value: e}]
metrics: [{name: reward, range: [-1, 1], default: 0}]
objective: {goals: [{metric: reward}]}
policy: {kind: fixed, split: {NewsArticle: 0.5, SportsArticle: 0.3, EntertainmentArticle: 0.2}}
attribution_window: 10m
round: {length: 1m}
`

// personalizerClient is a program written for Azure Personalizer: it has only a base address and a
// key.
type personalizerClient struct {
	t    testing.TB
	base string
	key  string
	// check checks an answer against the OpenAPI document.
	check func(r *http.Request, resp *http.Response, body []byte)
}

// post sends a request and returns the status and the body.
func (c *personalizerClient) post(path string, body any) (int, []byte) {
	c.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		c.t.Fatal(err)
	}
	r, err := http.NewRequest("POST", c.base+path, bytes.NewReader(text))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Ocp-Apim-Subscription-Key", c.key)
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	c.check(r, resp, b)
	return resp.StatusCode, b
}

type object = map[string]any

// sampleRank is the request of Personalizer's documentation.
func sampleRank() object {
	return object{
		"contextFeatures": []any{object{"timeOfDay": "Morning"}, object{"user": object{"profile": "new", "age": 31}}},
		"actions": []any{
			object{"id": "NewsArticle", "features": []any{object{"type": "News"}}},
			object{"id": "SportsArticle", "features": []any{object{"type": "Sports"}}},
			object{"id": "EntertainmentArticle", "features": []any{object{"type": "Entertainment"}}},
		},
		"excludedActions": []any{"SportsArticle"},
		"eventId":         "75269AD0-BFEE-4598-8196-C57383D38E10",
		"deferActivation": false,
	}
}

func (c *personalizerClient) rank(body object) (out personalizer.RankResponse) {
	c.t.Helper()
	status, b := c.post("/personalizer/v1.0/rank", body)
	if status != http.StatusCreated {
		c.t.Fatalf("status %d: %s", status, b)
	}
	if err := json.Unmarshal(b, &out); err != nil {
		c.t.Fatal(err)
	}
	return out
}

// done sends a request that must be answered with 204 and no body.
func (c *personalizerClient) done(path string, body any) {
	c.t.Helper()
	if status, b := c.post(path, body); status != http.StatusNoContent || len(b) > 0 {
		c.t.Fatalf("%s: status %d: %s", path, status, b)
	}
}

func (w *world) personalizer(name string) *personalizerClient {
	return &personalizerClient{
		t: w.t, base: w.http.URL + "/v1/experiments/" + name,
		check: func(r *http.Request, resp *http.Response, b []byte) { checkAnswer(w.t, w.server, r, resp, b) },
	}
}

// TestPersonalizer runs a client of Personalizer's through ranks, rewards, activations and a
// restart in between, and checks what counts.
func TestPersonalizer(t *testing.T) {
	w := newWorld(t)
	w.apply(shop)
	c := w.personalizer("shop")
	out := c.rank(sampleRank())
	probabilities := map[string]float64{}
	for _, a := range out.Ranking {
		probabilities[a.ID] = a.Probability
	}
	if math.Abs(probabilities["NewsArticle"]-5./7) > 1e-12 ||
		math.Abs(probabilities["EntertainmentArticle"]-2./7) > 1e-12 ||
		probabilities["SportsArticle"] != 0 || len(out.Ranking) != 3 || out.Ranking[1].ID != "SportsArticle" ||
		out.Ranking[0].ID != out.RewardActionID || out.EventID != "75269AD0-BFEE-4598-8196-C57383D38E10" {
		t.Errorf("the ranking is %+v", out)
	}
	if again := c.rank(sampleRank()); again.RewardActionID != out.RewardActionID {
		t.Errorf("the same event is ranked %q, then %q", out.RewardActionID, again.RewardActionID)
	}
	served, generated := map[string]int{}, map[string]bool{}
	events := []string{out.EventID}
	for range 200 {
		body := sampleRank()
		delete(body, "eventId")
		delete(body, "contextFeatures")
		body["excludedActions"] = nil
		out := c.rank(body)
		served[out.RewardActionID]++
		generated[out.EventID] = true
		events = append(events, out.EventID)
	}
	if len(generated) != 200 || len(served) != 3 || served["NewsArticle"] < 70 || served["NewsArticle"] > 130 {
		t.Errorf("%d identifiers, served %v", len(generated), served)
	}
	late := sampleRank()
	late["eventId"], late["deferActivation"], late["excludedActions"] = "late", true, nil
	c.rank(late)
	never := sampleRank()
	never["eventId"], never["deferActivation"], never["excludedActions"] = "never", true, nil
	c.rank(never)
	w.restart()
	c = w.personalizer("shop")
	for _, id := range events {
		c.done("/personalizer/v1.0/events/"+id+"/reward", object{"value": 0.5})
	}
	c.done("/events/"+events[1]+"/reward", object{"value": 1}) // the first value stays
	c.done("/personalizer/v1.1-preview.3/events/late/activate", nil)
	c.done("/events/late/reward", object{"value": -1})
	c.done("/events/never/reward", object{"value": 1})
	c.done("/events/nobody/reward", object{"value": 1})
	c.done("/events/nobody/activate", object{})
	w.wait(11 * time.Minute)
	c.done("/events/"+events[2]+"/reward", object{"value": 1}) // expired
	w.wait(2 * time.Hour)
	w.server.Tick()
	w.wait(2 * time.Hour)
	w.server.Tick()
	w.restart()
	var r api.Report
	w.get(200, &r, "GET", "/v1/experiments/shop/report", "")
	n, sum := int64(0), 0.0
	for _, a := range r.Arms {
		n += a.N
		sum += *a.Metrics["reward"].Mean * float64(a.N)
	}
	if want := 202 - r.Health.Redrawn; n != want || math.Abs(sum-(0.5*float64(want-1)-1)) > 1e-9 || r.Health.Open != 0 {
		t.Errorf("%d units with the sum %v, want %d: %+v", n, sum, want, r.Health)
	}
	if r.Health.SampleRatio.Mismatch {
		t.Error("sample ratio mismatch")
	}
	if u := r.Uniform; u == nil || u.Covered != n || u.Goals[0].Uniform.Estimate == nil {
		t.Errorf("against the uniform policy: %+v", r.Uniform)
	}
	status, page := w.do("GET", "/experiments/shop", "")
	if status != 200 || !strings.Contains(string(page), "Against the uniform policy") ||
		!strings.Contains(string(page), "Gain in reward") {
		t.Errorf("status %d: the page does not compare with the uniform policy", status)
	}
}

// TestPersonalizerPage runs the request of docs/personalizer.md on its definition.
func TestPersonalizerPage(t *testing.T) {
	page, err := os.ReadFile("../docs/personalizer.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	text, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("the page has no definition")
	}
	w := newWorld(t)
	w.apply(text)
	c := w.personalizer("food")
	out := c.rank(object{
		"contextFeatures": []any{object{"timeOfDay": "Morning"}},
		"actions": []any{
			object{"id": "pasta", "features": []any{object{"taste": "salty"}}},
			object{"id": "ice cream", "features": []any{object{"taste": "sweet"}}},
		},
		"excludedActions": []any{}, "eventId": "e1", "deferActivation": false,
	})
	if out.EventID != "e1" || len(out.Ranking) != 2 || out.Ranking[0].Probability+out.Ranking[1].Probability != 1 {
		t.Errorf("the ranking is %+v", out)
	}
	c.done("/personalizer/v1.0/events/e1/reward", object{"value": 1})
}

const contextualFood = `name: food
arms: [{name: pasta, value: 1}, {name: ice cream, value: 2}]
metrics: [{name: reward, range: [0, 1], default: 0}]
objective: {goals: [{metric: reward}]}
policy: {kind: squarecb, gamma: 20}
context:
  - {name: user.age, kind: number, range: [0, 100]}
  - {name: timeOfDay, kind: category, values: [Morning, Evening], optional: true}
exploration_floor: 0.1
attribution_window: 10m
round: {length: 1m, min_units: 10}
`

// TestPersonalizerContext ranks in contexts: the young like pasta, the old ice cream. After some
// rounds each gets what they like. Every fifth rank is deferred, and the service is restarted
// before the activation.
func TestPersonalizerContext(t *testing.T) {
	w := newWorld(t)
	w.apply(contextualFood)
	c := w.personalizer("food")
	rank := func(id string, age int, deferred bool, excluded ...string) personalizer.RankResponse {
		t.Helper()
		return c.rank(object{
			"eventId": id, "deferActivation": deferred, "excludedActions": excluded,
			"actions": []any{object{"id": "pasta"}, object{"id": "ice cream"}},
			"contextFeatures": []any{
				object{"timeOfDay": "Morning", "weather": "sunny"},
				object{"user": []any{object{"age": age}, object{"age": 0}}},
			},
		})
	}
	for round := range 4 {
		type event struct {
			id       string
			reward   int
			deferred bool
		}
		var events []event
		for i := range 200 {
			e := event{id: fmt.Sprint(round, "-", i), deferred: i%5 == 0}
			out := rank(e.id, i/2, e.deferred)
			if (out.RewardActionID == "pasta") == (i < 100) {
				e.reward = 1
			}
			events = append(events, e)
		}
		w.restart()
		c = w.personalizer("food")
		for _, e := range events {
			if e.deferred {
				c.done("/events/"+e.id+"/activate", nil)
			}
			c.done("/events/"+e.id+"/reward", object{"value": e.reward})
		}
		for range 2 {
			w.wait(12 * time.Minute)
			w.server.Tick()
			w.server.Tick()
		}
	}
	for age, want := range map[int]string{5: "pasta", 95: "ice cream"} {
		out := rank(fmt.Sprint("last-", age), age, false)
		for _, a := range out.Ranking {
			if a.ID == want && a.Probability < 0.7 {
				t.Errorf("%s has the probability %v at the age of %d", want, a.Probability, age)
			}
		}
		out = rank(fmt.Sprint("without-", age), age, false, want)
		if out.RewardActionID == want || out.Ranking[0].Probability+out.Ranking[1].Probability != 1 {
			t.Errorf("without %s at the age of %d: %+v", want, age, out)
		}
	}
	var r api.Report
	w.get(200, &r, "GET", "/v1/experiments/food/report", "")
	n := int64(0)
	for _, a := range r.Arms {
		n += a.N
	}
	if n+r.Health.Redrawn != 804 || r.Health.Orphans != 0 {
		t.Errorf("%d units and %d drawn again: %+v", n, r.Health.Redrawn, r.Health)
	}
	wants(t, w.text(200, "/experiments/food"), fmt.Sprintf("Drawn again, as the arm was excluded</dt><dd>%d units",
		r.Health.Redrawn))
	u := r.Uniform
	if u == nil || u.Covered != 800 || u.Goals[0].Gain.Estimate == nil || u.Goals[0].Uniform.Low == nil {
		t.Fatalf("against the uniform policy: %+v", u)
	}
	if g := u.Goals[0]; *g.Gain.Estimate < 0.1 || *g.Uniform.Low > 0.5 || *g.Uniform.High < 0.5 {
		t.Errorf("the uniform policy earns 0.5, the report has %v in [%v, %v], and a gain of %v",
			*g.Uniform.Estimate, *g.Uniform.Low, *g.Uniform.High, *g.Gain.Estimate)
	}
	status, b := c.post("/rank", sampleFood(object{"weather": "sunny"}))
	if status != http.StatusBadRequest || !strings.Contains(string(b), "user.age") {
		t.Errorf("without a feature: status %d: %s", status, b)
	}
}

// sampleFood is a rank of both arms with context features.
func sampleFood(features ...any) object {
	return object{"actions": []any{object{"id": "pasta"}, object{"id": "ice cream"}}, "contextFeatures": features}
}

// TestPersonalizerErrors checks the errors' statuses, codes and words.
func TestPersonalizerErrors(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.MaxBody = 2000 })
	w.apply(shop)
	w.apply(strings.NewReplacer("name: shop", "name: two", "metrics: [", "metrics: [{name: other}, ",
		"{metric: reward}", "{metric: reward}, {metric: other}").Replace(shop))
	w.apply(strings.NewReplacer("name: shop", "name: cost", "default: 0", "direction: down").Replace(shop))
	w.apply(strings.NewReplacer("name: shop", "name: small", "round:", "open_tokens: 1\nround:").Replace(shop))
	with := func(key string, value any) object {
		body := sampleRank()
		body[key] = value
		return body
	}
	c := w.personalizer("shop")
	c.rank(with("eventId", "ranked"))
	w.personalizer("small").rank(with("eventId", "first"))
	for _, f := range []struct {
		experiment, path string
		body             any
		status           int
		code, word       string
	}{
		{"shop", "/rank", with("actions", []any{}), 400, personalizer.BadRank, "at least one"},
		{"shop", "/rank", with("actions", 1), 400, personalizer.BadRank, "must be a list, not a number"},
		{
			"shop", "/rank", with("actions", []any{object{"id": "Other"}}), 400, personalizer.BadRank,
			`"Other" is not an arm of shop: add it`,
		},
		{
			"shop", "/rank", with("actions", []any{object{"id": "NewsArticle"}, object{"id": "NewsArticle"}}), 400,
			personalizer.BadRank, "twice",
		},
		{
			"shop", "/rank", with("excludedActions", []any{"NewsArticle", "SportsArticle", "EntertainmentArticle"}),
			400,
			personalizer.BadRank, "all actions are excluded",
		},
		{"shop", "/rank", with("eventId", ""), 400, personalizer.BadRank, "0 bytes"},
		{"shop", "/rank", object{
			"eventId": "ranked", "actions": []any{object{"id": "SportsArticle"}},
		}, 400, personalizer.BadRank, "ranked before"},
		{
			"shop", "/rank", with("contextFeatures", []any{strings.Repeat("x", 2000)}), 413, "PayloadSizeExceeded",
			"2000",
		},
		{"shop", "/events/e/reward", object{"value": 2}, 400, personalizer.BadReward, "[-1, 1]"},
		{"shop", "/events/e/reward", object{"value": nil}, 400, personalizer.BadReward, "missing"},
		{
			"shop", "/events/e/reward",
			object{"value": "1"},
			400, personalizer.BadReward,
			"must be a number in the range of float64, not a string",
		},
		{
			"shop", "/events/" + strings.Repeat("e", 513) + "/reward",
			object{"value": 1},
			400, personalizer.BadReward,
			"513 bytes",
		},
		{"shop", "/events/" + strings.Repeat("e", 513) + "/activate", nil, 400, personalizer.BadActivate, "513 bytes"},
		{"none", "/rank", sampleRank(), 404, "ResourceNotFound", `no experiment "none"`},
		{"none", "/events/e/reward", object{"value": 1}, 404, "ResourceNotFound", `no experiment "none"`},
		{"shop", "/personalizer/v2.0/rank", sampleRank(), 404, "ResourceNotFound", "v1.0"},
		{"two", "/rank", sampleRank(), 400, personalizer.BadRank, "2 goals"},
		{"two", "/events/e/reward", object{"value": 1}, 400, personalizer.BadReward, "2 goals"},
		{"cost", "/rank", sampleRank(), 400, personalizer.BadRank, "direction up"},
		{"small", "/rank", with("eventId", "second"), 429, "", "open_tokens"},
	} {
		status, b := w.personalizer(f.experiment).post(f.path, f.body)
		var e personalizer.Error
		if err := json.Unmarshal(b, &e); err != nil {
			t.Fatal(err)
		}
		if status != f.status || e.Error.Code != f.code || !strings.Contains(string(b), jsonText(f.word)) {
			t.Errorf("%s %s: status %d: %s, want %d, %s and %q", f.experiment, f.path, status, b, f.status, f.code,
				f.word)
		}
	}
}

// jsonText is a text as it is inside a JSON string.
func jsonText(s string) string { return strings.ReplaceAll(s, `"`, `\"`) }

// TestPersonalizerKey checks that the subscription key is the access token.
func TestPersonalizerKey(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens.yaml")
	const tokens = `tokens:
  - {name: boss, roles: [admin], token: 0123456789abcdef-boss}
  - {name: app, roles: [decide, feedback], token: 0123456789abcdef-app}
  - {name: reader, roles: [read], token: 0123456789abcdef-reader}
`
	if err := os.WriteFile(file, []byte(tokens), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, func(c *Config) { c.Tokens = file })
	w.token = "0123456789abcdef-boss"
	w.apply(shop)
	for key, want := range map[string]int{
		"": http.StatusUnauthorized, "wrong": http.StatusUnauthorized, "0123456789abcdef-reader": http.StatusForbidden,
		"0123456789abcdef-app": 0,
	} {
		c := w.personalizer("shop")
		c.key = key
		for path, good := range map[string]int{"/rank": 201, "/events/e/reward": 204, "/events/e/activate": 204} {
			body := sampleRank()
			body["value"] = 1
			status, _ := c.post("/personalizer/v1.0"+path, body)
			if want == 0 && status != good || want != 0 && status != want {
				t.Errorf("%s with the key %q: status %d", path, key, status)
			}
		}
	}
}

// TestPersonalizerContexts: nested features are found by their path, the first value of a name
// counts, and what is too large, too deep or there twice is refused.
func TestPersonalizerContexts(t *testing.T) {
	w := newWorld(t)
	w.apply(strings.ReplaceAll(news, "name: age", "name: user.age"))
	c := w.personalizer("news")
	deep := func(n int) json.RawMessage {
		return json.RawMessage(strings.Repeat("[", n) + strings.Repeat("]", n))
	}
	for i, q := range []struct {
		context any
		want    string // in the error, "" for none
	}{
		{[]any{object{"user": object{"age": 31}}}, ""},
		{[]any{object{"user.age": 31, "land": "de", "other": []any{object{"land": 7}}}}, ""},
		{[]any{object{"user": []any{1, object{"age": 31}, []any{object{"age": 400}}}}}, ""},
		{[]any{[]any{object{"user": object{"age": 31}}}, object{"user.age": 400}}, ""},
		{[]any{object{"user": object{"age": 400}}}, "400: want a number from 0 to 100"},
		{[]any{object{"user": object{"age": object{}}}}, "missing: want a number"},
		{[]any{object{"user": object{"age": 31}}, deep(62)}, ""},
		{[]any{object{"user": object{"age": 31}}, deep(63)}, "more than 64 lists and objects within each other"},
		{[]any{json.RawMessage(`{"user": {"age": 31, "age": 32}}`)}, "duplicate field"},
		{[]any{object{"user.age": 31, "x": strings.Repeat("x", policy.MaxContext-22)}}, ""},
		{[]any{object{"user.age": 31, "x": strings.Repeat("x", policy.MaxContext-21)}}, "65537 bytes"},
	} {
		status, b := c.post("/rank", object{
			"actions": []any{object{"id": "loud"}, object{"id": "plain"}}, "contextFeatures": q.context,
			"eventId": fmt.Sprint("e", i),
		})
		if q.want == "" && status != 201 || q.want != "" && (status != 400 || !strings.Contains(string(b), q.want)) {
			t.Errorf("%d: status %d: %s, want %q", i, status, b, q.want)
		}
	}
}
