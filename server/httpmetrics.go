package server

import (
	"fmt"
	"net/http"
	"runtime"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/noregret/noregret/server/internal/web"
)

// httpMetrics are the metrics of requests and of the process.
type httpMetrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	streams  *prometheus.HistogramVec
	limited  prometheus.Counter

	scrapes chan struct{} // holds a value for each answer that is being made
}

// scrapes bounds the number of answers with metrics at once.
const scrapes = 4

func newHTTPMetrics() *httpMetrics {
	m := &httpMetrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "noregret_http_requests_total", Help: "Requests answered, by route and status.",
		}, []string{"route", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "noregret_http_request_duration_seconds", Help: "Time to answer a request, by route.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1, 5},
		}, []string{"route"}),
		streams: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "noregret_http_stream_duration_seconds", Help: "How long polls and streams lasted, by route.",
			Buckets: []float64{.1, 1, 5, 15, 30, 60, 300, 1800, 7200},
		}, []string{"route"}),
		limited: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "noregret_http_limited_total",
			Help: "Requests refused by the limit of their rate.",
		}),
		scrapes: make(chan struct{}, scrapes),
	}
	m.registry.MustRegister(m.requests, m.duration, m.streams, m.limited, buildInfo(), collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// buildInfo is a gauge of 1 with the program's version as labels.
func buildInfo() prometheus.Collector {
	version := "unknown"
	if b, ok := debug.ReadBuildInfo(); ok {
		version = b.Main.Version
	}
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "noregret_build_info", Help: "1, labelled with the program's version and that of Go.",
		ConstLabels: prometheus.Labels{"version": version, "goversion": runtime.Version()},
	}, func() float64 { return 1 })
}

// answer answers with metrics, a few at once.
func (m *httpMetrics) answer(w http.ResponseWriter, r *http.Request, from prometheus.Gatherer) error {
	select {
	case m.scrapes <- struct{}{}:
		defer func() { <-m.scrapes }()
	default:
		return web.Unavailable(fmt.Errorf("%d answers with metrics are being made", scrapes))
	}
	promhttp.HandlerFor(from, promhttp.HandlerOpts{}).ServeHTTP(w, r)
	return nil
}
