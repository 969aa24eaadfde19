package server

import (
	ctx "context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/policy"
)

// benchContext is an experiment with 20 arms and, if the policy is contextual, 100 features.
func benchContext(name, kind string, features int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "name: %s\narms:\n", name)
	for k := range 20 {
		fmt.Fprintf(&b, "  - {name: arm-%d, value: %d}\n", k, k)
	}
	fmt.Fprintf(&b, "metrics: [{name: like, range: [0, 1], default: 0}]\nobjective: {goals: [{metric: like}]}\n"+
		"policy: {kind: %s}\nround: {length: 1m}\nattribution_window: 1m\nexposure: reported\n", kind)
	if features > 0 {
		b.WriteString("context:\n")
	}
	for i := range features {
		fmt.Fprintf(&b, "  - {name: x%d, kind: number, range: [-1, 1]}\n", i)
	}
	return b.String()
}

// BenchmarkDecideInContext measures a decision of the service for one unit, without the network:
// without a context, with a context of 100 numbers that is read only, and by the contextual
// policies that have learned from 2,000 units.
func BenchmarkDecideInContext(b *testing.B) {
	const features = 100
	w := newWorld(b)
	r := random.New(1, "bench")
	context := func() json.RawMessage {
		x := map[string]float64{}
		for i := range features {
			x[fmt.Sprint("x", i)] = float64(int(2000*r.Float64())-1000) / 1000
		}
		text, err := json.Marshal(x)
		if err != nil {
			b.Fatal(err)
		}
		return text
	}
	for _, kind := range []string{"thompson", policy.LinUCB, policy.LinThompson, policy.SquareCB} {
		n := features
		if kind == "thompson" {
			n = 0
		}
		w.apply(benchContext(kind, kind, n))
		body := `{"units": ["ann"]}`
		if n > 0 {
			for range 20 {
				w.learnBench(b, kind, context)
			}
			body = `{"units": [{"id": "ann", "context": ` + string(context()) + `}]}`
		}
		handler := w.server.Handler()
		b.Run(kind, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				url := "http://localhost/v1/experiments/" + kind + "/decide"
				q := httptest.NewRequest("POST", url, strings.NewReader(body))
				q.Header.Set("Content-Type", "application/json")
				a := httptest.NewRecorder()
				if handler.ServeHTTP(a, q); a.Code != http.StatusOK {
					b.Fatal(a.Body)
				}
			}
		})
	}
}

// learnBench lets a contextual experiment learn from 100 units.
func (w *world) learnBench(b *testing.B, name string, context func() json.RawMessage) {
	b.Helper()
	var units []api.UnitContext
	for i := range 100 {
		units = append(units, api.UnitContext{ID: fmt.Sprint(w.now.UnixNano(), "-", i), Context: context()})
	}
	var shown, said []api.FeedbackItem
	for i, d := range w.decideIn(name, units...) {
		shown = append(shown, api.FeedbackItem{Token: d.Token, Context: units[i].Context})
		said = append(said, api.FeedbackItem{Token: d.Token, Metrics: map[string]float64{"like": float64(i % 2)}})
	}
	for i, items := range [][]api.FeedbackItem{shown, said} {
		text, err := json.Marshal(map[string]any{"items": items})
		if err != nil {
			b.Fatal(err)
		}
		w.get(200, nil, "POST", []string{"/v1/exposures", "/v1/feedback"}[i], string(text))
	}
	w.wait(3 * time.Minute)
	if err := w.server.writer.closeRounds(ctx.Background()); err != nil {
		b.Fatal(err)
	}
}
