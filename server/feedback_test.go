package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/policy"
	"github.com/noregret/noregret/server/internal/web"
)

// tamper changes a character of a token's signature.
func tamper(token string) string {
	b := []byte(token)
	if i := len(b) - 5; b[i] == 'A' {
		b[i] = 'B'
	} else {
		b[i] = 'A'
	}
	return string(b)
}

// TestAppendResult: the answer is the JSON that encoding/json writes, whatever the errors have in
// them.
func TestAppendResult(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := api.FeedbackResult{Items: []api.ItemResult{}}
		for range rapid.IntRange(0, 4).Draw(t, "items") {
			f.Items = append(f.Items, api.ItemResult{
				Status: rapid.SampledFrom([]api.ItemStatus{
					api.Accepted, api.Duplicate, api.Late, api.Rejected,
				}).Draw(t, "status"),
				Error: rapid.OneOf(rapid.Just(""), rapid.String()).Draw(t, "error"),
			})
		}
		f.Count()
		f.Late += rapid.IntRange(0, 1000).Draw(t, "late")
		want, err := web.EncodeJSON(f)
		if err != nil {
			t.Fatal(err)
		}
		got := appendResult([]byte("x"), &f)
		var a, b api.FeedbackResult
		if err := errors.Join(json.Unmarshal(want, &a), json.Unmarshal(got[1:], &b)); err != nil || !cmp.Equal(a, b) {
			t.Fatalf("got %s, %v\nwant %s", got[1:], err, want)
		}
	})
}

// TestRefusedSumsComeAgain checks that a report whose sums were all refused does not use up its
// sequence number.
func TestRefusedSumsComeAgain(t *testing.T) {
	w := newWorld(t)
	w.apply(toy)
	send := func(units, sequence int) (f api.FeedbackResult) {
		w.get(200, &f, "POST", "/v1/aggregates",
			fmt.Sprintf(
				`{"experiment": "toy", "source": "s", "sequence": %d, "items": [{"version": 1, "arm": "gain", `+
					`"units": %d}]}`, sequence, units))
		return f
	}
	if f := send(-2, 1); f.Rejected != 1 {
		t.Errorf("%+v", f)
	}
	if f := send(2, 1); f.Accepted != 1 {
		t.Errorf("corrected: %+v", f)
	}
	if f := send(2, 1); f.Duplicate != 1 {
		t.Errorf("again: %+v", f)
	}
}

// TestOneBadItem checks that an item of a wrong form is rejected by itself, with its fault, and
// counted for the experiment that it names.
func TestOneBadItem(t *testing.T) {
	w := newWorld(t)
	w.apply(toy)
	ds := w.decide("toy", "ann", "bob", "eve")
	send := func(path, format string, args ...any) (f api.FeedbackResult) {
		t.Helper()
		w.get(200, &f, "POST", path, fmt.Sprintf(format, args...))
		return f
	}
	f := send("/v1/feedback", `{"items": [{"token": %q, "metrics": {"x": 1}}, {"token": %q, "metrics": {"x": "1"}}, 7, `+
		`{"token": %q, "metrics": {"x": 1}, "extra": 1}, {"token": %q, "metrics": {"x": 2}}]}`, ds[0].Token, ds[1].Token,
		ds[1].Token, ds[2].Token)
	if f.Accepted != 2 || f.Rejected != 3 || len(f.Items) != 5 || f.Items[4].Status != api.Accepted ||
		!strings.HasPrefix(f.Items[1].Error, "metrics.x: must be a number") ||
		!strings.Contains(f.Items[2].Error, "must be an object, not a number") ||
		!strings.Contains(f.Items[3].Error, "unknown field") {
		t.Errorf("%+v", f)
	}
	f = send("/v1/exposures", `{"items": [null, {"token": %q}]}`, ds[0].Token)
	if f.Accepted != 1 || f.Rejected != 1 || f.Items[1].Status != api.Accepted {
		t.Errorf("%+v", f)
	}
	report, err := w.server.Report("toy")
	if err != nil || report.Feedback.Rejected != 2 {
		t.Errorf("%+v, %v", report.Feedback, err)
	}
	// What is no list of items is refused as a whole.
	for _, body := range []string{`{"items": 3}`, `{"items": [{"token": "x"`, `{"items": [{}], "more": 1}`} {
		if status, b := w.do("POST", "/v1/feedback", body); status != 400 {
			t.Errorf("%s: status %d: %s", body, status, b)
		}
	}
}

// TestHostileItems checks that items of feedback are judged one by one, with the results that
// docs/service.md states.
func TestHostileItems(t *testing.T) {
	w := newWorld(t)
	w.apply(toy)
	good := w.decide("toy", "ann")[0].Token
	page, err := os.ReadFile("../docs/service.md")
	if err != nil {
		t.Fatal(err)
	}
	other,
		err := policy.NewSigner(policy.Keys{
		Current: 1,
		Secrets: map[byte][]byte{1: []byte("somebody else's secret")},
	})
	if err != nil {
		t.Fatal(err)
	}
	b, err := other.Append(nil, policy.Token{Experiment: "toy", Version: 1, Propensity: 1, Time: w.now})
	if err != nil {
		t.Fatal(err)
	}
	stranger := string(b)
	rows := func(name string, status api.ItemStatus) {
		t.Helper()
		if row := fmt.Sprintf("| %s | 200 | %s", name, status); !strings.Contains(string(page), row) {
			t.Errorf("docs/service.md lacks the row %s", row)
		}
	}
	for _, c := range []struct {
		name, token string
		metrics     map[string]float64
		status      api.ItemStatus
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
			"metrics.z: not a metric: want one of x, y",
		},
		{
			"a value out of its range", good,
			map[string]float64{"y": 11},
			"rejected",
			"metrics.y: 11: want a number in [-10, 10]",
		},
		{"no metrics", good, nil, "rejected", "metrics: none: at least one of x, y is required"},
	} {
		f := w.post("/v1/feedback", item{c.token, c.metrics})
		if len(f.Items) != 1 || f.Items[0].Status != c.status || f.Items[0].Error != c.text {
			t.Errorf("%s: %+v", c.name, f)
		}
		rows(c.name, c.status)
	}
	for name, text := range map[string]string{
		"a number beyond float64": `{"token": "x", "metrics": {"x": 1e999}}`,
		"null for a number":       `{"token": "x", "metrics": {"x": null}}`,
		"a metric twice":          `{"token": "x", "metrics": {"x": 3, "x": 9}}`,
		"an unknown field":        `{"token": "x", "metric": {"x": 3}}`,
	} {
		var f api.FeedbackResult
		w.get(200, &f, "POST", "/v1/feedback", `{"items": [`+text+`]}`)
		if f.Rejected != 1 {
			t.Errorf("%s: %+v", name, f)
		}
		rows(name, api.Rejected)
	}
}

// TestClaimsCountForTheSender: a token that may use only cart sends items that name blog, forged or
// not its own. Nothing of blog moves: no count, problem, alert, event or metric. The refusals are
// those of the sender, and what it may use keeps its own.
func TestClaimsCountForTheSender(t *testing.T) {
	w := scoped(t)
	w.as("boss")
	at := w.now.UnixMilli()
	forge, err := policy.NewSigner(policy.Keys{Secrets: map[byte][]byte{0: []byte("0123456789abcdef")}})
	if err != nil {
		t.Fatal(err)
	}
	forged, err := forge.Append(nil, policy.Token{
		Experiment: "blog", Version: 1, Arm: 1, Propensity: .5, Unit: 7, Time: w.now,
	})
	if err != nil {
		t.Fatal(err)
	}
	real := w.decide("blog", "ann")[0].Token
	changed := []byte(w.decide("blog", "eve")[0].Token)
	changed[len(changed)-1] ^= 1
	mine := w.decide("cart", "ann")[0].Token
	last := w.server.log.Stats().Last
	w.as("program")
	for _, path := range []string{"/v1/feedback", "/v1/exposures"} {
		var items []string
		for range 5 {
			for _, token := range []string{string(forged), string(changed), real} {
				items = append(items, fmt.Sprintf(`{"token": %q}`, token), fmt.Sprintf(`{"token": %q, "x": 1}`, token))
			}
			items = append(items, fmt.Sprintf(
				`{"decided": {"experiment": "blog", "version": 1, "unit": "bob", "time": %d}}`, at), "7")
		}
		var f api.FeedbackResult
		w.get(200, &f, "POST", path, `{"items": [`+strings.Join(items, ", ")+`]}`)
		if f.Rejected != len(items) {
			t.Errorf("%s: %+v", path, f)
		}
	}
	if got := w.server.log.Stats().Last; got != last {
		t.Errorf("%d events came of claims", got-last)
	}
	// What has a right signature, or is a decision that the sender may report, counts.
	var f api.FeedbackResult
	w.get(200, &f, "POST", "/v1/feedback", fmt.Sprintf(`{"items": [{"token": %q, "x": 1}, {"decided": {"experiment":
		"cart", "version": 9, "unit": "bob", "time": %d}}]}`, mine, at))
	w.as("boss")
	for name, want := range map[string]api.Counts{"blog": {}, "cart": {Rejected: 2}} {
		r, err := w.server.Report(name)
		if err != nil || r.Feedback != want || r.Health.Exposures != (api.Counts{}) || len(r.Health.Problems) > 0 {
			t.Errorf("%s: %+v, %+v, %v", name, r.Feedback, r.Health, err)
		}
	}
	w.server.alerts.look()
	var alerts api.Alerts
	w.get(200, &alerts, "GET", "/v1/alerts", "")
	if len(alerts.Active) != 2 {
		t.Errorf("%d alerts: %+v", len(alerts.Active), alerts.Active)
	}
	for _, a := range alerts.Active {
		if a.Kind != "refused" || a.Token != "program" || a.Experiment != "" || !strings.Contains(a.Text,
			`the access token "program" sends items that count for no experiment`) {
			t.Errorf("%+v", a)
		}
	}
	_, b := w.do("GET", "/metrics", "")
	for want, there := range map[string]bool{
		`noregret_sender_refused_share{kind="exposures",token="program"} 1`: true,
		`noregret_sender_refused_share{kind="feedback",token="program"}`:    true,
		`noregret_refused_share{experiment="blog"`:                          false,
	} {
		if strings.Contains(string(b), want) != there {
			t.Errorf("the metrics have %s: %v", want, !there)
		}
	}
	w.wait(watchPeriod)
	w.server.Tick()
	if !strings.Contains(w.logs.String(), `token=program first_reason=`) {
		t.Errorf("the log does not say who: %s", w.logs.String())
	}
	for range 3 { // nothing of it is kept
		w.wait(watchPeriod)
		w.server.Tick()
	}
	if n := len(w.server.intake.flows); n > 0 {
		t.Errorf("%d flows are kept", n)
	}
}

// TestClaimsWithoutTokens: where no access token is required, a forged token counts for nobody's
// experiment, and is seen.
func TestClaimsWithoutTokens(t *testing.T) {
	w := newWorld(t)
	w.apply(toy)
	changed := []byte(w.decide("toy", "ann")[0].Token)
	changed[len(changed)-1] ^= 1
	var items []item
	for range 20 {
		items = append(items, item{string(changed), map[string]float64{"x": 1}})
	}
	if f := w.post("/v1/feedback", items...); f.Rejected != 20 {
		t.Errorf("%+v", f)
	}
	if got := w.problems("toy"); got != "" {
		t.Errorf("the problems are %q", got)
	}
	w.server.alerts.look()
	var alerts api.Alerts
	w.get(200, &alerts, "GET", "/v1/alerts", "")
	if len(alerts.Active) != 1 || alerts.Active[0].Experiment != "" || alerts.Active[0].Key != "refused::feedback:" {
		t.Errorf("%+v", alerts.Active)
	}
}
