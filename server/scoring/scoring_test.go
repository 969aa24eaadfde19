package scoring_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/server/scoring"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// trained trains a model on a text.
func trained(t testing.TB, task classify.Task, measure, text string, opt classify.Options, read dataset.Options,
) *classify.Model {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := dataset.Load(t.Context(), []string{path}, read)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = set.Close() }()
	data, err := classify.NewData(set, task)
	if err != nil {
		t.Fatal(err)
	}
	if opt.Measure, err = task.Measure(measure); err != nil {
		t.Fatal(err)
	}
	result, err := classify.Fit(t.Context(), data, opt)
	if err != nil {
		t.Fatal(err)
	}
	m, err := classify.NewModel(result, opt, data)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// people is a calibrated model of CSV: who is old, or from Rome.
func people(t testing.TB) *classify.Model {
	var text strings.Builder
	text.WriteString("age,city,note,label\n")
	for row := range 60 {
		i := row * 7 % 60 // ages that follow the order of the rows would be an index
		city := []string{"Rome", "Paris"}[i%2]
		label := "no"
		if i > 40 || i%10 == 0 {
			label = "yes"
		}
		fmt.Fprintf(&text, "%d,%s,%d,%s\n", 20+i, city, i%7, label)
	}
	return trained(t, classify.Binary, "f1", text.String(), classify.Options{
		Algorithm: "logistic", Calibration: classify.CalibrationPlatt,
	}, dataset.Options{})
}

// numbers is a model of svmlight without probabilities.
func numbers(t testing.TB) *classify.Model {
	return trained(t, classify.Binary, "f1", "1 1:2\n1 1:3 4:1\n1 1:2.5\n-1 1:0.1\n-1 1:0.5 2:1\n-1 1:-1\n-1 1:0.2\n",
		classify.Options{Algorithm: "logistic", Calibration: classify.CalibrationNone}, dataset.Options{})
}

// tags is a model of the labels a and b, of which a row may have several.
func tags(t testing.TB) *classify.Model {
	return trained(t, classify.Multilabel, "micro_f1", strings.Repeat("a,b 1:2 2:2\nb 2:2\na 1:2\n 3:1\n", 5),
		classify.Options{Algorithm: "logistic", Calibration: classify.CalibrationNone},
		dataset.Options{AllowNoLabel: true})
}

// world is a service on the loopback interface.
type world struct {
	t    testing.TB
	http *httptest.Server
}

func newWorld(t testing.TB, m *classify.Model, change ...func(*scoring.Config)) *world {
	t.Helper()
	c := scoring.DefaultConfig()
	c.Logger = slog.New(slog.DiscardHandler)
	for _, f := range change {
		f(&c)
	}
	s, err := scoring.New(m, c)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, http: httptest.NewServer(s.Handler())}
	t.Cleanup(func() {
		w.http.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// do makes a request; headers are names and values in turn.
func (w *world) do(method, path, body string, headers ...string) (status int, answer []byte) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.http.URL+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := w.http.Client().Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if answer, err = io.ReadAll(resp.Body); err != nil {
		w.t.Fatal(err)
	}
	return resp.StatusCode, answer
}

// get decodes the answer to a request that must succeed.
func get[T any](w *world, method, path, body string, headers ...string) (v T) {
	w.t.Helper()
	status, answer := w.do(method, path, body, headers...)
	d := json.NewDecoder(bytes.NewReader(answer))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil || status != http.StatusOK {
		w.t.Fatalf("%s %s %s: %d %s %v", method, path, body, status, answer, err)
	}
	return v
}

func (w *world) predict(body string, headers ...string) scoring.PredictAnswer {
	w.t.Helper()
	return get[scoring.PredictAnswer](w, "POST", "/v1/predict", body, headers...)
}

func (w *world) model() scoring.ModelAnswer {
	w.t.Helper()
	return get[scoring.ModelAnswer](w, "GET", "/v1/model", "")
}

// label sends labels, ids and labels in turn, and returns what became of them.
func (w *world) label(items ...string) (out []api.ItemResult) {
	w.t.Helper()
	var r scoring.LabelRequest
	for i := 0; i < len(items); i += 2 {
		r.Labels = append(r.Labels, scoring.LabelItem{ID: items[i], Label: scoring.TrueLabel(items[i+1])})
	}
	body, err := json.Marshal(r)
	if err != nil {
		w.t.Fatal(err)
	}
	return get[scoring.LabelAnswer](w, "POST", "/v1/labels", string(body)).Results
}

// TestPredictByName: rows are read by the names of columns, and answered as the model does.
func TestPredictByName(t *testing.T) {
	m := people(t)
	w := newWorld(t, m)
	body := `{"rows":[{"age":75,"city":"Paris","note":1},{"note":1,"age":21,"city":"Rome"},{"age":30,"city":"Berlin","note":2}]}`
	got := w.predict(body, "Content-Type", "application/json; charset=utf-8")
	ignored := []dataset.IgnoredColumn{{Name: "city", Value: "Berlin"}}
	if len(got.Predictions) != 3 || got.Ignored != 1 || !slices.Equal(got.IgnoredColumns, ignored) {
		t.Fatalf("%+v", got)
	}
	p, err := dataset.NewRowParser(m.Schema, dataset.UnseenIgnore)
	if err != nil {
		t.Fatal(err)
	}
	var request scoring.PredictRequest
	if err := json.Unmarshal([]byte(body), &request); err != nil {
		t.Fatal(err)
	}
	b, _, err := p.Objects(request.Rows)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for i, x := range got.Predictions {
		index, value := b.Row(i)
		raw := m.Classifier().RawScores(nil, index, value)
		want := "no"
		if raw[0] > m.Models[0].Threshold {
			want = "yes"
		}
		seen[want] = true
		if x.Label == nil || *x.Label != want || *x.Score != raw[0] || *x.Probability != m.Probabilities(nil, raw)[0] ||
			x.Labels != nil || x.Scores != nil || x.Probabilities != nil {
			t.Errorf("row %d: %+v, want %s and %v", i, x, want, raw)
		}
	}
	if len(seen) != 2 {
		t.Error("all rows have one label: this shows little")
	}
	if again := newWorld(t, m).predict(body); !reflect.DeepEqual(again, got) {
		t.Errorf("another service of the model answers %+v", again)
	}
	var z bytes.Buffer
	gz := gzip.NewWriter(&z)
	if _, err := gz.Write([]byte(body)); err != nil || gz.Close() != nil {
		t.Fatal(err)
	}
	if again := newWorld(t, m).predict(z.String(), "Content-Encoding", "gzip"); !reflect.DeepEqual(again, got) {
		t.Errorf("a compressed body is answered %+v", again)
	}
}

// TestPredictLines: lines of svmlight are answered as the same rows in JSON, whatever the case and
// the parameters of the media type.
func TestPredictLines(t *testing.T) {
	m := numbers(t)
	want := newWorld(t, m).predict(`{"rows":[{"1":2.25},{"4":1,"1":-1},{"9":3}]}`)
	if want.Ignored != 1 || want.Predictions[0].Probability != nil {
		t.Errorf("%+v", want)
	}
	for _, media := range []string{
		"text/x-svmlight", "text/x-svmlight;charset=utf-8", "Text/X-SVMlight ; charset=utf-8",
	} {
		got := newWorld(t, m).predict("1:2.25\n# a comment\n1 1:-1 4:1\n-1 9:3\n", "Content-Type", media)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", media, got, want)
		}
	}
	jsonl := trained(t, classify.Binary, "f1", strings.Repeat("{\"label\":1,\"a\":2}\n{\"label\":0,\"a\":-1}\n", 5),
		classify.Options{Algorithm: "logistic", Calibration: classify.CalibrationNone}, dataset.Options{})
	a := newWorld(t, jsonl).predict("{\"a\":3}\n{\"a\":-2}\n", "Content-Type", "application/jsonl")
	b := newWorld(t, jsonl).predict(`{"rows":[{"a":3},{"a":-2}]}`)
	if !reflect.DeepEqual(a, b) || *a.Predictions[0].Label != "1" || *a.Predictions[1].Label != "0" {
		t.Errorf("%+v, %+v", a, b)
	}
}

// TestSeveralLabels: the forms of the answers of models of several classes and of several labels.
func TestSeveralLabels(t *testing.T) {
	three := trained(t, classify.Multiclass, "macro_f1", strings.Repeat("a 1:2\nb 2:2\nc 3:2\n", 5),
		classify.Options{Algorithm: "logistic", Calibration: classify.CalibrationNone}, dataset.Options{})
	w := newWorld(t, three)
	p := w.predict(`{"rows":[{"2":3}]}`).Predictions[0]
	if p.Label == nil || *p.Label != "b" || len(p.Scores) != 3 || p.Score != nil || p.Labels != nil {
		t.Errorf("%+v", p)
	}
	for name, s := range p.Scores {
		if (s >= 0) != (name == "b") {
			t.Errorf("the scores are %v", p.Scores)
		}
	}
	if r := w.label(p.ID, "c"); r[0].Status != api.Accepted {
		t.Error(r)
	}
	if f := w.model().Figures; f.Rows != 1 || *f.Window.Accuracy != 0 || f.Window.AUC != nil {
		t.Errorf("%+v", f)
	}
	w = newWorld(t, tags(t))
	got := w.predict(`{"rows":[{"1":3,"2":3},{"3":3}]}`).Predictions
	if p := got[0]; p.Labels == nil || !reflect.DeepEqual(*p.Labels, []string{"a", "b"}) || p.Label != nil ||
		len(p.Scores) != 2 {
		t.Errorf("%+v", p)
	}
	if p := got[1]; p.Labels == nil || len(*p.Labels) != 0 {
		t.Errorf("%+v", p)
	}
	if r := w.label(got[0].ID, "b,a", got[1].ID, "a"); r[0].Status != api.Accepted || r[1].Status != api.Accepted {
		t.Error(r)
	}
	if f := w.model().Figures; *f.Window.Accuracy != 0.5 || *f.Value != 0.8 {
		t.Errorf("%+v", f)
	}
}

// TestRefused: what is wrong is named, and nothing has changed.
func TestRefused(t *testing.T) {
	small := func(c *scoring.Config) { c.MaxBody, c.MaxItems = 1024, 3 }
	strict := func(c *scoring.Config) { c.Unseen = dataset.UnseenError }
	csv, svm := newWorld(t, people(t), small), newWorld(t, numbers(t), small, strict)
	id := csv.predict(`{"rows":[{"age":75}]}`).Predictions[0].ID
	one := `{"id":"` + id + `","label":"yes"}`
	for _, c := range []struct {
		w                   *world
		method, path, media string
		body                string
		status              int
		place, detail       string
	}{
		{csv, "POST", "/v1/predict", "", `{"rows":[{"age":1},{"ag":3}]}`, 400, `rows[1]."ag"`, `the model has no such column: want some of "age", "city", "note"`},
		{csv, "POST", "/v1/predict", "", `{"rows":[{"age":1},{"age":"old"}]}`, 400, `rows[1]`, `column "age": cell "old"`},
		{csv, "POST", "/v1/predict", "", `{"rows":[{"age":1},[2]]}`, 400, `rows[1]`, "want a JSON object"},
		{csv, "POST", "/v1/predict", "", `{"rows":[{"age":1,"age":1}]}`, 400, `rows[0].age`, "duplicate"},
		{csv, "POST", "/v1/predict", "", `{"rows":[{"age":{"a":1}}]}`, 400, `rows[0]."age"`, "want a number, a text"},
		{csv, "POST", "/v1/predict", "", `{"rows":[]}`, 400, "rows", "there are none: want 1 to 3"},
		{csv, "POST", "/v1/predict", "", `{"row":[{"age":1}]}`, 400, "row", "known fields: rows"},
		{csv, "POST", "/v1/predict", "", `{"rows":[{"age":1}]`, 400, "body", ""},
		{csv, "POST", "/v1/predict", "", `{"rows":[{},{},{},{}]}`, 413, "rows", "4: want at most 3 in a request"},
		{csv, "POST", "/v1/predict", "", `{"rows":[{"city":"` + strings.Repeat("x", 1024) + `"}]}`, 413, "body", "more than 1024 bytes"},
		{csv, "POST", "/v1/predict", "text/csv", "age\n3\n", 415, "Content-Type", `"text/csv": want application/json`},
		{csv, "POST", "/v1/predict", "text/x-svmlight", "1:2\n", 415, "Content-Type", "want application/json"},
		{csv, "GET", "/v1/predict", "", "", 405, "", ""},
		{csv, "POST", "/v1/nothing", "", "", 404, "", "docs/how-to/score.md"},
		{csv, "POST", "/v1/labels", "", `{"labels":[]}`, 400, "labels", "there are none"},
		{csv, "POST", "/v1/labels", "", `{"labels":[` + one + `,{"id":7}]}`, 400, "", ""},
		{csv, "POST", "/v1/labels", "", `{"labels":[` + strings.Repeat(one+",", 3) + one + `]}`, 413, "labels", "4: want at most 3"},
		{svm, "POST", "/v1/predict", "text/x-svmlight", "1:2\n1:x\n", 400, "line:2", "x"},
		{svm, "POST", "/v1/predict", "text/x-svmlight", "1:2\n9:1\n", 400, "line:2", "9"},
		{svm, "POST", "/v1/predict", "text/x-svmlight", "1:2\n1:2\n1:2\n1:2\n", 413, "rows", "4: want at most 3"},
		{svm, "POST", "/v1/predict", "text/x-svmlighter", "1:2\n", 415, "Content-Type", "want application/json or"},
		{svm, "POST", "/v1/predict", "", `{"rows":[{"1":1},{"9":1}]}`, 400, "rows[1]", "9"},
		{svm, "POST", "/v1/predict", "", `{"rows":[{"1":1},{"x":1}]}`, 400, `rows[1]."x"`, "want the number of a feature"},
	} {
		headers := []string{"Content-Type", c.media}
		if c.media == "" {
			headers = nil
		}
		status, answer := c.w.do(c.method, c.path, c.body, headers...)
		var p api.Problem
		if err := json.Unmarshal(answer, &p); err != nil || status != c.status || p.Status != c.status ||
			c.place != "" && p.Place != c.place || !strings.Contains(p.Detail, c.detail) {
			t.Errorf("%s %s %.80s: %d %s %v, want %d at %q with %q", c.method, c.path, c.body, status, answer, err,
				c.status, c.place, c.detail)
		}
	}
	for w, n := range map[*world]uint64{csv: 1, svm: 0} {
		if got := w.model(); got.Counts != (scoring.Counts{Predictions: n, Waiting: int(n)}) || got.Figures.Rows != 0 {
			t.Errorf("%+v after what was refused", got)
		}
	}
}

// TestLabelsAsWritten: a label is the same however it is written, and a list of labels may be an
// array.
func TestLabelsAsWritten(t *testing.T) {
	w := newWorld(t, numbers(t))
	p := w.predict(`{"rows":[{"1":2},{"1":2},{"1":2},{"1":2},{"1":-1},{"1":0}]}`).Predictions
	for i, label := range []string{`"+1"`, `"1.0"`, `1`, `true`, `-1`, `0`} {
		body := `{"labels":[{"id":"` + p[i].ID + `","label":` + label + `}]}`
		got := get[scoring.LabelAnswer](w, "POST", "/v1/labels", body).Results[0]
		if want := label != "0"; (got.Status == api.Accepted) != want {
			t.Errorf("%s: %+v", label, got)
		}
	}
	for _, label := range []string{"null", "{}", "[[1]]", `["1,2"]`, `[""]`, `[null]`} {
		if status, answer := w.do("POST", "/v1/labels", `{"labels":[{"id":"1-0","label":`+label+`}]}`); status != 400 {
			t.Errorf("%s: %d %s", label, status, answer)
		}
	}
	several := newWorld(t, tags(t))
	q := several.predict(`{"rows":[{"1":2},{"1":2},{"1":2}]}`).Predictions
	for i, label := range []string{`["b","a"]`, `"a,b"`, `[]`} {
		body := `{"labels":[{"id":"` + q[i].ID + `","label":` + label + `}]}`
		if got := get[scoring.LabelAnswer](several, "POST", "/v1/labels", body).Results[0]; got.Status != api.Accepted {
			t.Errorf("%s: %+v", label, got)
		}
	}
}

// TestLabels: labels come late, twice, to no row and out of order; each is answered for itself.
func TestLabels(t *testing.T) {
	w := newWorld(t, people(t), func(c *scoring.Config) { c.Serving.MaxWaiting, c.Serving.Window = 4, 2 })
	p := w.predict(`{"rows":[{"age":75},{"age":21},{"age":76},{"age":22}]}`).Predictions
	q := w.predict(`{"rows":[{"age":77}]}`).Predictions
	got := w.label(p[3].ID, "no", p[0].ID, "yes", p[3].ID, "no", p[3].ID, "yes", "7-0", "no", p[2].ID, "perhaps",
		q[0].ID, "no", p[1].ID, "no")
	want := []api.ItemStatus{
		api.Accepted, api.Late, api.Duplicate, api.Rejected, api.Rejected, api.Rejected, api.Accepted, api.Accepted,
	}
	for i, r := range got {
		if r.Status != want[i] || (r.Error != "") != (want[i] == api.Rejected) {
			t.Errorf("item %d: %+v, want %s", i, r, want[i])
		}
	}
	if !strings.Contains(got[5].Error, `"perhaps" did not occur in training: want one of ["yes" "no"]`) {
		t.Error(got[5].Error)
	}
	m := w.model()
	if want := (scoring.Counts{
		Predictions: 5, Waiting: 1, Accepted: 3, Duplicate: 1, Late: 1, Rejected: 3, Dropped: 1,
	}); m.Counts != want {
		t.Errorf("%+v, want %+v", m.Counts, want)
	}
	// Of the three, p[3] and p[1] were right and q[0] was wrong; the window has the last two.
	f := m.Figures
	if f.Rows != 3 || *f.Value != 0 || f.Window.Rows != 2 || *f.Window.Accuracy != 0.5 || f.Window.Brier == nil {
		t.Errorf("%+v", f)
	}
	if m.Task != "binary" || m.Measure != "f1" || !m.Calibrated || len(m.Thresholds) != 1 ||
		len(m.Digest) != len("sha256:")+64 || !reflect.DeepEqual(m.Labels, []string{"yes", "no"}) {
		t.Errorf("%+v", m)
	}
	_, metrics := w.do("GET", "/metrics", "")
	for _, line := range []string{
		"noregret_predictions_total 5", `noregret_labels_total{status="accepted"} 3`,
		`noregret_labels_total{status="late"} 1`, `noregret_labels_total{status="rejected"} 3`,
		"noregret_rows_dropped_total 1", "noregret_rows_waiting 1", `noregret_progressive_rows{scope="all"} 3`,
		`noregret_progressive_value{figure="f1",scope="all"} 0`, `noregret_progressive_value{figure="brier",scope="window"} 0.`,
	} {
		if !strings.Contains("\n"+string(metrics), "\n"+line) {
			t.Errorf("no %s in\n%s", line, metrics)
		}
	}
}

// TestTokens: each route needs its role.
func TestTokens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.yaml")
	text := "tokens:\n  - {name: asks, roles: [decide], token: token-that-asks-01}\n" +
		"  - {name: tells, roles: [feedback], token: token-that-tells-01}\n" +
		"  - {name: looks, roles: [read], token: token-that-looks-01}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, people(t), func(c *scoring.Config) { c.Tokens = path })
	for _, c := range []struct{ method, path, body, token string }{
		{"POST", "/v1/predict", `{"rows":[{"age":75}]}`, "token-that-asks-01"},
		{"POST", "/v1/labels", `{"labels":[{"id":"1","label":"no"}]}`, "token-that-tells-01"},
		{"GET", "/v1/model", "", "token-that-looks-01"},
		{"GET", "/metrics", "", "token-that-looks-01"},
	} {
		for _, token := range []string{
			"", "token-that-asks-01", "token-that-tells-01", "token-that-looks-01", "token-of-nobody-01",
		} {
			want := http.StatusForbidden
			switch token {
			case c.token:
				want = http.StatusOK
			case "", "token-of-nobody-01":
				want = http.StatusUnauthorized
			}
			status, answer := w.do(c.method, c.path, c.body, "Authorization", "Bearer "+token)
			if token == "" {
				status, answer = w.do(c.method, c.path, c.body)
			}
			if status != want {
				t.Errorf("%s %s with %q: %d %s, want %d", c.method, c.path, token, status, answer, want)
			}
		}
	}
	if status, _ := w.do("GET", "/readyz", ""); status != http.StatusOK {
		t.Errorf("/readyz: %d", status)
	}
}

// TestTogether: requests at the same time get ids of their own, and no label is lost.
func TestTogether(t *testing.T) {
	w := newWorld(t, people(t), func(c *scoring.Config) { c.Data, c.SaveEvery = t.TempDir(), 7 })
	const clients, each = 8, 20
	ids := make([][]string, clients)
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			for i := range each {
				p := w.predict(fmt.Sprintf(`{"rows":[{"age":%d},{"age":%d}]}`, 20+c, 20+i)).Predictions
				ids[c] = append(ids[c], p[0].ID, p[1].ID)
				if r := w.label(p[0].ID, "no"); r[0].Status != api.Accepted {
					t.Error(r)
				}
			}
		})
	}
	all.Wait()
	seen := map[string]bool{}
	for _, of := range ids {
		for _, id := range of {
			seen[id] = true
		}
	}
	const n = clients * each
	got := w.model()
	if len(seen) != 2*n || got.Counts.Accepted != n || got.Counts.Waiting != n || got.Figures.Rows != n {
		t.Errorf("%d ids, %+v", len(seen), got)
	}
}

func TestNewRefuses(t *testing.T) {
	c := scoring.DefaultConfig()
	c.Serving.Window = 0
	if _, err := scoring.New(numbers(t), c); noregret.CodeOf(err) != noregret.Usage {
		t.Error(err)
	}
	c = scoring.DefaultConfig()
	c.MaxBody = 1
	if _, err := scoring.New(numbers(t), c); noregret.CodeOf(err) != noregret.Usage {
		t.Error(err)
	}
	m := numbers(t)
	m.Schema.Format = dataset.IDX
	if _, err := scoring.New(m, scoring.DefaultConfig()); noregret.CodeOf(err) != noregret.Usage ||
		!strings.Contains(err.Error(), "whose rows are not text") {
		t.Error(err)
	}
}
