package scoring_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/server/scoring"
)

// steps is a model of svmlight that can learn from single rows.
func steps(t testing.TB) *classify.Model {
	var text strings.Builder
	for i := range 60 {
		fmt.Fprintf(&text, "%d 1:%d 2:%d\n", i/40, i, i%7)
	}
	return trained(t, classify.Binary, "f1", text.String(), classify.Options{
		Algorithm: "stamp", Calibration: classify.CalibrationNone,
	}, dataset.Options{})
}

// TestLearn: labels change the model, as [classify.Continuation] says, and the model file is that
// of the model that answers.
func TestLearn(t *testing.T) {
	m := steps(t)
	w := newWorld(t, m, func(c *scoring.Config) { c.Serving.Learn = true })
	want, err := classify.Continue(m)
	if err != nil {
		t.Fatal(err)
	}
	check := func(n int64) {
		t.Helper()
		learned, held := want.Learned()
		l := w.model().Learning
		if l == nil || *l != (scoring.Learning{Learned: learned, Held: held}) || learned+held != n {
			t.Errorf("%+v after %d labels, want %d and %d", l, n, learned, held)
		}
		now, err := want.Model()
		if err != nil {
			t.Fatal(err)
		}
		var file bytes.Buffer
		if err := classify.WriteModel(&file, now); err != nil {
			t.Fatal(err)
		}
		status, got := w.do("GET", "/v1/model/file", "")
		if status != http.StatusOK || !bytes.Equal(got, file.Bytes()) {
			t.Errorf("the model file after %d labels is %d %.100s", n, status, got)
		}
	}
	check(0)
	for round := range 15 {
		var rows, labels []string
		for i := range 20 {
			rows = append(rows, fmt.Sprintf(`{"1":%d,"2":%d}`, i*3+1, i%5+1))
		}
		predictions := w.predict(`{"rows":[` + strings.Join(rows, ",") + `]}`).Predictions
		for i, p := range predictions {
			index, value := []uint32{0, 1}, []float32{float32(i*3 + 1), float32(i%5 + 1)}
			if got := want.Score(index, value); *p.Score != got {
				t.Fatalf("round %d, row %d: the score is %v, want %v", round, i, *p.Score, got)
			}
		}
		for i := range rows {
			index, value := []uint32{0, 1}, []float32{float32(i*3 + 1), float32(i%5 + 1)}
			e := classify.Example{Index: index, Value: value, Weight: 1, Positive: i%3 == 0}
			if err := want.Observe(e); err != nil {
				t.Fatal(err)
			}
			labels = append(labels, map[bool]string{true: "1", false: "0"}[e.Positive])
		}
		items := make([]string, 0, 2*len(labels))
		for i, p := range predictions {
			items = append(items, p.ID, labels[i])
		}
		w.label(items...)
	}
	check(300)
	if v := w.model(); *v.Figures.Value == 1 || v.Figures.Rows != 300 {
		t.Errorf("%+v", v)
	}
}

// TestFarRowIsTold: rows that are not learned from are in the answer and the metrics, and the first
// of them in the log.
func TestFarRowIsTold(t *testing.T) {
	var log bytes.Buffer
	w := newWorld(t, steps(t), func(c *scoring.Config) {
		c.Serving.Learn, c.Logger = true, slog.New(slog.NewTextHandler(&log, nil))
	})
	for i := range 302 {
		a := i % 60
		if i >= 300 {
			a = 1e9
		}
		p := w.predict(fmt.Sprintf(`{"rows":[{"1":%d,"2":%d}]}`, a, i%7)).Predictions[0]
		w.label(p.ID, map[bool]string{true: "1", false: "0"}[i%60 >= 40])
	}
	if l := w.model().Learning; *l != (scoring.Learning{Learned: 300, Skipped: 2}) {
		t.Errorf("%+v", l)
	}
	_, metrics := w.do("GET", "/metrics", "")
	for _, line := range []string{"noregret_rows_skipped 2", "noregret_learning_stopped 0"} {
		if !strings.Contains(string(metrics), "\n"+line+"\n") {
			t.Errorf("no %s in\n%s", line, metrics)
		}
	}
	w.http.Close()
	if n := strings.Count(log.String(), "far larger"); n != 1 {
		t.Errorf("%d lines in\n%s", n, log.String())
	}
}

// TestNoLearning: without it the model stays, and so does its file.
func TestNoLearning(t *testing.T) {
	m := numbers(t)
	w := newWorld(t, m)
	p := w.predict(`{"rows":[{"1":1}]}`).Predictions[0]
	w.label(p.ID, "1")
	_, answer := w.do("GET", "/v1/model", "")
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(answer, &fields); err != nil || string(fields["learning"]) != "null" {
		t.Errorf("%s, %v", answer, err)
	}
	var file bytes.Buffer
	if err := classify.WriteModel(&file, m); err != nil {
		t.Fatal(err)
	}
	if _, got := w.do("GET", "/v1/model/file", ""); !bytes.Equal(got, file.Bytes()) {
		t.Errorf("%.100s", got)
	}
}
