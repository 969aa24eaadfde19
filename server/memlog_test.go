package server

import (
	"net/http"
	"testing"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/eventlog/memlog"
)

// TestAnotherLog runs the service on a log that is no directory: through outages of it, a crash and
// a restart, what was acknowledged is counted once.
func TestAnotherLog(t *testing.T) {
	storage := memlog.NewStorage()
	w := newLeakyWorld(t, func(c *Config) {
		c.Log, c.SnapshotEvery = func(o eventlog.Options) (eventlog.Log, error) { return storage.Open(o) }, 5
	})
	w.apply(toy)
	acknowledged := 0
	var sent []decision
	for outage := range 4 {
		ds := w.decide("toy", "a", "b", "c", "d", "e", "f", "g", "h")[2*outage:]
		storage.Break(2, outage%2 == 0)
		for _, d := range ds[:2] {
			sent = append(sent, d)
			status, b := w.do("POST", "/v1/feedback", feedbackFor(d))
			switch {
			case status == http.StatusOK:
				acknowledged++
			case status != http.StatusServiceUnavailable:
				t.Fatalf("%d %s", status, b)
			}
			_ = w.idle() // the error is the failure
		}
		storage.Break(0, false)
		if outage == 3 {
			w.http.Close()
			storage.Crash()
			_ = w.server.Close() // which reports that the log is closed
			w.start()
		} else {
			w.wait(lastRetry)
			w.server.Tick()
		}
		w.get(200, nil, "GET", "/readyz/writes", "")
		w.checkFolds()
	}
	w.settle()
	w.restart()
	w.checkFolds()
	var before, after api.Report
	w.get(200, &before, "GET", "/v1/experiments/toy/report", "")
	if n := before.Feedback.Accepted; n < int64(acknowledged) || n > 8 || acknowledged < 4 {
		t.Errorf("%d reports were acknowledged, %d are counted", acknowledged, n)
	}
	for _, d := range sent { // again, as clients do that had no answer
		w.get(200, nil, "POST", "/v1/feedback", feedbackFor(d))
	}
	w.settle()
	w.get(200, &after, "GET", "/v1/experiments/toy/report", "")
	if f := after.Feedback; f.Accepted != 8 || f.Duplicate != before.Feedback.Accepted {
		t.Errorf("%+v after all were sent again, %+v before", f, before.Feedback)
	}
}
