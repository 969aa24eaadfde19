package server

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret/eventlog"
)

// TestLargerThanTheLog defines what does not fit into an event of the log, such as where the
// servers of a stream take smaller messages than the service makes: the client reads how much does,
// and everything else goes on.
func TestLargerThanTheLog(t *testing.T) {
	const most = 2 << 10
	c := newCluster(t, 1, func(o *Config) {
		inner := o.Log
		o.Log = func(e eventlog.Options) (eventlog.Log, error) {
			e.MaxEventBytes = most
			return inner(e)
		}
	})
	m := c.nodes[0]
	c.look()
	m.apply(toy)
	large := strings.Replace(strings.Replace(toy, "name: toy", "name: large", 1), "boost: 1",
		`boost: "`+strings.Repeat("x", most)+`"`, 1)
	status, b := m.do("PUT", "/v1/experiments/large", large, "Content-Type", "application/yaml")
	if status != http.StatusRequestEntityTooLarge || !strings.Contains(string(b), "want at most 2048") {
		t.Errorf("%d %s", status, b)
	}
	if err := m.server.writer.refusal(); err != nil {
		t.Errorf("an event that is too large is taken for a failure of the log: %v\n%s", err, m.logs)
	}
	for _, d := range m.decide("toy", units("a", 5)...) {
		m.feedback(d)
	}
	if n := m.accepted(); n != 5 {
		t.Errorf("%d units count after it, want 5", n)
	}
	// An event that the service makes by itself is refused, and the others of its group are not.
	m.apply(strings.Replace(toy, "name: toy", "name: toy2", 1))
	m.server.writer.largest = 0 // nobody else is at work
	c.clock.wait(20 * time.Minute)
	m.server.Tick()
	if err := m.server.writer.refusal(); err != nil || !strings.Contains(m.logs.String(), "max_payload") {
		t.Errorf("%v\n%s", err, m.logs)
	}
}
