package server

import (
	"bytes"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

func TestMetricsAreWellFormed(t *testing.T) {
	w := newWorld(t)
	w.apply(toy)
	w.decide("toy", "a", "b")
	families, err := w.server.metrics.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
	_, b := w.do("GET", "/metrics", "")
	for _, want := range []string{
		`noregret_decisions_total{experiment="toy"} 2`, `noregret_policy_version{experiment="toy"} 1`,
		`noregret_log_last_position 1`,
		`noregret_guardrail_state{experiment="toy",guardrail="0",metric="y"} 0`,
		`noregret_http_request_duration_seconds_bucket{route="POST /v1/experiments/{name}/decide"`,
		`noregret_http_requests_total{code="200",route="POST /v1/experiments/{name}/decide"} 1`,
	} {
		if !bytes.Contains(b, []byte(want)) {
			t.Errorf("%s is missing", want)
		}
	}
}
