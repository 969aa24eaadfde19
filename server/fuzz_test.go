package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/policy"
)

// fuzzBody sends bodies to a route. The answer must be one of those in the OpenAPI document and
// never a 5xx, and the state must remain one that can be saved and read.
func fuzzBody(f *testing.F, method, path, media string, seeds ...string) {
	config := testConfig(f)
	config.Now = func() time.Time { return time.Unix(1_800_000_000, 0) }
	s, err := New(config)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = s.Close() })
	send := func(method, path, media, body string) (*http.Request, *httptest.ResponseRecorder) {
		r := httptest.NewRequest(method, "http://127.0.0.1"+path, strings.NewReader(body))
		r.Header.Set("Content-Type", media)
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		return r, w
	}
	if _, w := send("PUT", "/v1/experiments/toy", "application/yaml", toy); w.Code != 201 {
		f.Fatal(w.Body)
	}
	token,
		err := s.live.signer.Append(nil, policy.Token{
		Experiment: "toy", Version: 1, Arm: 1, Propensity: .5, Unit: 7,
		Time: time.Unix(1_800_000_000, 0),
	})
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range seeds {
		f.Add(strings.ReplaceAll(seed, "TOKEN", string(token)))
	}
	f.Fuzz(func(t *testing.T, body string) {
		r, w := send(method, path, media, body)
		if w.Code >= 500 {
			t.Fatalf("status %d: %s", w.Code, w.Body)
		}
		checkAnswer(t, s, r, w.Result(), w.Body.Bytes())
		if w.Code/100 == 2 {
			b, err := s.live.state.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			if err := experiment.NewState().UnmarshalBinary(b); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func FuzzDecideBody(f *testing.F) {
	fuzzBody(f, "POST", "/v1/experiments/toy/decide", "application/json", `{"units": ["a", "b\u0000\"é"]}`,
		`{"units": []}`, `{`)
}

func FuzzFeedbackBody(f *testing.F) {
	fuzzBody(f, "POST", "/v1/feedback", "application/json",
		`{"items": [{"token": "TOKEN", "metrics": {"x": 1, "y": -3}}]}`,
		`{"items": [{"token": "x", "metrics": {"x": 1e308}}]}`)
}

func FuzzExposuresBody(f *testing.F) {
	fuzzBody(f, "POST", "/v1/exposures", "application/json", `{"items": [{"token": "TOKEN"}]}`,
		`{"items": [{"token": "TOKEN", "metrics": {"x": 1}}, {}]}`)
}

func FuzzAggregatesBody(f *testing.F) {
	fuzzBody(f, "POST", "/v1/aggregates", "application/json",
		`{"experiment": "toy", "source": "s", "sequence": 1, "items": [{"version": 1, "arm": "gain", "units": 3, `+
			`"metrics": {"x": {"n": 2, "sum": 3, "squares": 5}}}]}`,
		`{"experiment": "toy", "source": "t", "sequence": 2, "items": [{"version": 1, "arm": "control", "held_back": `+
			`true, "units": 1, "pairs": {"x": {"n": 1, "x": 1, "y": 1, "xx": 1, "yy": 1, "xy": 1}}}]}`)
}

func FuzzOFREPBody(f *testing.F) {
	fuzzBody(f, "POST", "/ofrep/v1/evaluate/flags/toy", "application/json",
		`{"context": {"targetingKey": "a", "more": [1]}}`, `{"context": 1}`)
}

func FuzzReasonBody(f *testing.F) {
	fuzzBody(f, "POST", "/v1/experiments/toy/rollback", "application/json", `{"reason": "x"}`, ``)
}

func FuzzDefinitionBody(f *testing.F) {
	fuzzBody(f, "PUT", "/v1/experiments/toy", "application/yaml", toy, strings.Replace(toy, "guard,", "other,", 1),
		strings.Replace(toy, "0.2", "0.3", 1))
}
