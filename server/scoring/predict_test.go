package scoring_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/server/scoring"
)

// quiet is a service without a log.
func quiet(t testing.TB, m *classify.Model) *scoring.Service {
	t.Helper()
	c := scoring.DefaultConfig()
	c.Logger = slog.New(slog.DiscardHandler)
	s, err := scoring.New(m, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// serve answers a request without a network.
func serve(s *scoring.Service, method, path, body, media string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://127.0.0.1"+path, strings.NewReader(body))
	r.Header.Set("Content-Type", media)
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w
}

// FuzzPredict: any body is answered or refused with what is wrong; a refused one changes nothing,
// and the ids of an answer are of rows.
func FuzzPredict(f *testing.F) {
	csv, svm := quiet(f, people(f)), quiet(f, numbers(f))
	f.Add(false, `{"rows":[{"age":75,"city":"Paris","note":1},{"age":null}]}`)
	f.Add(false, `{"rows":[{"age":1,"ag":2},[],7,null]}`)
	f.Add(true, "1:2 4:1\n-1 1:0.5 # comment\n\n1:1e39\n")
	f.Fuzz(func(t *testing.T, lines bool, body string) {
		s, media, label := csv, "application/json", "no"
		if lines {
			s, media, label = svm, "text/x-svmlight", "-1"
		}
		before := serve(s, "GET", "/v1/model", "", media).Body.String()
		w := serve(s, "POST", "/v1/predict", body, media)
		if w.Code != http.StatusOK {
			var p api.Problem
			err := json.Unmarshal(w.Body.Bytes(), &p)
			if err != nil || w.Code != 400 && w.Code != 413 || p.Detail == "" {
				t.Fatalf("%d %s %v", w.Code, w.Body, err)
			}
			if after := serve(s, "GET", "/v1/model", "", media).Body.String(); after != before {
				t.Fatalf("refused, and the model is %s, before it was %s", after, before)
			}
			return
		}
		var answer scoring.PredictAnswer
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || len(answer.Predictions) == 0 {
			t.Fatalf("%s %v", w.Body, err)
		}
		id := answer.Predictions[len(answer.Predictions)-1].ID
		labels := fmt.Sprintf(`{"labels":[{"id":%q,"label":%q}]}`, id, label)
		w = serve(s, "POST", "/v1/labels", labels, "application/json")
		if !strings.Contains(w.Body.String(), `"accepted"`) {
			t.Fatalf("%s is answered %s", id, w.Body)
		}
	})
}

// BenchmarkPredict measures rows per second of requests of 1 and of 100 rows, without a network.
func BenchmarkPredict(b *testing.B) {
	for _, n := range []int{1, 100} {
		for name, model := range map[string]func(testing.TB) *classify.Model{"json": people, "svmlight": numbers} {
			b.Run(fmt.Sprintf("%s/rows=%d", name, n), func(b *testing.B) {
				s := quiet(b, model(b))
				media, body := "text/x-svmlight", strings.Repeat("1:2.25 4:1\n", n)
				if name == "json" {
					media = "application/json"
					body = `{"rows":[` + strings.Repeat(`{"age":75,"city":"Paris","note":1},`, n-1) + `{"age":21}]}`
				}
				b.ReportAllocs()
				for b.Loop() {
					if w := serve(s, "POST", "/v1/predict", body, media); w.Code != http.StatusOK {
						b.Fatal(w.Body)
					}
				}
				b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
			})
		}
	}
}
