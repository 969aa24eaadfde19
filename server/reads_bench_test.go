package server

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// manyArms is the definition of an experiment with n arms.
func manyArms(n int) string {
	var b strings.Builder
	b.WriteString("name: wide\narms:\n")
	for k := range n {
		fmt.Fprintf(&b, "  - {name: arm-%d, value: %d}\n", k, k)
	}
	b.WriteString("control: {arm: arm-0, share: 0.1}\nmetrics:\n  - {name: x, range: [0, 1]}\n" +
		"  - {name: y, range: [0, 1]}\nobjective: {goals: [{metric: x}]}\n" +
		"guardrails: [{metric: y, max: 0.9, hard: false}]\n" +
		"round: {length: 1m, min_units: 10}\nattribution_window: 10m\n")
	return b.String()
}

// BenchmarkFeedbackBesideReports measures the time of a feedback item, alone and while 16 clients
// read the report of an experiment with 1,000 arms without a pause.
func BenchmarkFeedbackBesideReports(b *testing.B) {
	w := newWorld(b, func(c *Config) { c.FS = nil })
	w.apply(manyArms(1000))
	w.apply(toy)
	for round := range 5 {
		units := make([]string, 3000)
		for i := range units {
			units[i] = fmt.Sprint(round, "-", i)
		}
		var items []item
		for _, d := range w.decide("wide", units...) {
			items = append(items, item{Token: d.Token, Metrics: map[string]float64{"x": 0.5, "y": 0.25}})
		}
		for part := range slices.Chunk(items, 1000) {
			for i := range part {
				part[i].Metrics = nil
			}
			w.post("/v1/exposures", part...)
			for i := range part {
				part[i].Metrics = map[string]float64{"x": 0.5, "y": 0.25}
			}
			w.post("/v1/feedback", part...)
		}
		w.wait(time.Minute)
		w.server.Tick()
	}
	w.wait(20 * time.Minute)
	w.server.Tick()
	const senders, each = 32, 100
	http.DefaultTransport.(*http.Transport).MaxIdleConnsPerHost = 64
	for _, readers := range []int{0, 16} {
		b.Run(fmt.Sprintf("readers=%d", readers), func(b *testing.B) {
			var stop atomic.Bool
			var reports, bytes atomic.Int64
			var wg sync.WaitGroup
			for range readers {
				wg.Go(func() {
					for !stop.Load() {
						resp, err := http.Get(w.http.URL + "/v1/experiments/wide/report")
						if err != nil {
							b.Error(err)
							return
						}
						n, _ := io.Copy(io.Discard, resp.Body)
						_ = resp.Body.Close()
						if resp.StatusCode != 200 {
							b.Error(resp.Status)
							return
						}
						reports.Add(1)
						bytes.Store(n)
					}
				})
			}
			units := make([]string, senders*each)
			for i := range units {
				units[i] = fmt.Sprint(readers, "u", i)
			}
			decided := w.decide("toy", units...)
			took, begin := make([]time.Duration, len(units)), time.Now()
			for b.Loop() {
				var sending sync.WaitGroup
				for s := range senders {
					sending.Go(func() {
						for i := s * each; i < (s+1)*each; i++ {
							body := fmt.Sprintf(`{"items": [{"token": %q, "metrics": {"x": 1}}]}`, decided[i].Token)
							t := time.Now()
							resp, err := http.Post(w.http.URL+"/v1/feedback", "application/json",
								strings.NewReader(body))
							if err != nil {
								b.Error(err)
								return
							}
							_, _ = io.Copy(io.Discard, resp.Body)
							_ = resp.Body.Close()
							took[i] = time.Since(t)
						}
					})
				}
				sending.Wait()
			}
			stop.Store(true)
			spent := time.Since(begin)
			wg.Wait()
			slices.Sort(took)
			ms := func(q float64) float64 { return took[int(q*float64(len(took)-1))].Seconds() * 1e3 }
			b.ReportMetric(ms(0.5), "ms/p50")
			b.ReportMetric(ms(0.99), "ms/p99")
			b.ReportMetric(float64(reports.Load())/spent.Seconds(), "reports/s")
			b.ReportMetric(float64(bytes.Load())/1e6, "MB/report")
		})
	}
}
