package jetstream

import (
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"
)

// answered returns a connection to a server without JetStream, for which a test answers.
func answered(t *testing.T, o *Options) *wire {
	t.Helper()
	s, err := server.NewServer(&server.Options{DontListen: true, NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("the server does not start")
	}
	o.Connect, o.Timeout = append(o.Connect, nats.InProcessServer(s)), 100*time.Millisecond
	w, err := dial(t.Context(), *o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.conn.Close)
	return w
}

// TestBucketAsksAgain loses the first request for a bucket, as a server may that has just started:
// a node that comes back must not wait for the answer.
func TestBucketAsksAgain(t *testing.T) {
	o := DefaultOptions()
	w := answered(t, &o)
	asked := make(chan struct{}, 100)
	if _, err := w.conn.Subscribe(api+"STREAM.INFO.KV_"+o.Stream+"-nodes", func(m *nats.Msg) {
		asked <- struct{}{}
		if len(asked) > 1 {
			_ = m.Respond([]byte(`{"config": {"name": "KV_` + o.Stream + `-nodes", "max_msgs_per_subject": 1}}`))
		}
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := bucket(t.Context(), w, o, true, "nodes", js.KeyValueConfig{}); err != nil || len(asked) < 2 {
		t.Errorf("asked %d times: %v", len(asked), err)
	}
}
