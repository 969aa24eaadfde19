package server

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/experiment/definition"
)

// TestTriedOnce checks that the writer applies the event that it has tried and does not compute the
// change again under the lock of the state. If it did, the definition would be the one with which
// the test replaces the payload.
func TestTriedOnce(t *testing.T) {
	w := newWorld(t)
	for _, description := range []string{"first", "other"} {
		d, err := definition.Parse("d", []byte("description: "+description+"\n"+toy))
		if err != nil {
			t.Fatal(err)
		}
		var tried time.Time
		_, err = w.server.writer.submit(context.Background(), &command{
			make: func(s *experiment.State, now int64) ([]experiment.Event, error) {
				tried = time.Unix(0, now).UTC()
				events, err := s.Plan(d, now)
				if err == nil {
					events[0], err = s.Try(d.Name, events[0])
					copy(events[0].Payload[bytes.Index(events[0].Payload, []byte(description)):], "again")
				}
				w.wait(time.Second)
				return events, err
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		r, err := w.server.Report(d.Name)
		if err != nil || !r.History[len(r.History)-1].Time.Equal(tried) {
			t.Errorf("%q: %v, the event was tried at %v", description, err, tried)
		}
		if got, err := w.server.Definition(d.Name); err != nil || got.Description != description {
			t.Errorf("%q: the change was computed again: %v, %v", description, got, err)
		}
	}
}

// TestTooMuchAtOnce checks that a request whose events do not fit into a group is refused and that
// the log stays usable.
func TestTooMuchAtOnce(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.MaxBody, c.MaxItems = 300_000, 100_000 })
	w.apply(strings.Replace(toy, "hold_back: 0.1", "exposure: immediate", 1))
	body := `{"units": ["` + strings.Repeat(`a","`, 50_000) + `a"]}`
	w.get(413, nil, "POST", "/v1/experiments/toy/decide", body)
	w.get(200, nil, "GET", "/readyz", "")
	w.get(200, nil, "POST", "/v1/experiments/toy/decide", `{"units": ["a"]}`)
}

// TestDiskFails checks that after a failure of the disk nothing more is acknowledged before the log
// is opened again, readiness of writes reports the failure and decisions are still answered. A new
// service on the same disk has everything that was acknowledged.
func TestDiskFails(t *testing.T) {
	mem := vfs.NewCrashableMem()
	var broken errorfs.Toggle
	broken.Injector = errorfs.ErrInjected.If(errorfs.Writes)
	w := newLeakyWorld(t, func(c *Config) { c.FS = errorfs.Wrap(mem, &broken) })
	w.apply(toy)
	d := w.decide("toy", "a", "b")
	if f := w.post("/v1/feedback", item{d[0].Token, map[string]float64{"x": 1}}); f.Accepted != 1 {
		t.Fatalf("%+v", f)
	}
	broken.On()
	w.get(503, nil, "POST", "/v1/feedback", fmt.Sprintf(`{"items": [{"token": %q, "metrics": {"x": 1}}]}`, d[1].Token))
	broken.Off()
	w.get(503, nil, "POST", "/v1/feedback", fmt.Sprintf(`{"items": [{"token": %q, "metrics": {"x": 1}}]}`, d[1].Token))
	w.get(503, nil, "GET", "/readyz/writes", "")
	w.get(200, nil, "GET", "/readyz", "")
	w.get(200, nil, "GET", "/livez", "")
	if len(w.decide("toy", "c")) != 1 {
		t.Error("no decision after the failure of the disk")
	}
	w.http.Close()
	_ = w.server.Close() // Close reports the failure
	w.config.FS = mem.CrashClone(vfs.CrashCloneCfg{})
	w.start()
	r, err := w.server.Report("toy")
	if err != nil || r.Feedback.Accepted < 1 {
		t.Errorf("%+v %v", r, err)
	}
}
