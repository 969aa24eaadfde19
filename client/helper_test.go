package client_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"github.com/noregret/noregret/client"
	"github.com/noregret/noregret/server"
)

const toy = `name: toy
arms:
  - {name: control, value: 0.25}
  - {name: gain, value: 1}
  - {name: guard, value: -1}
control: {arm: control, share: 0.2}
metrics:
  - {name: x}
  - {name: clicks, kind: count, default: 0}
  - {name: shown, kind: count}
  - {name: rate, kind: ratio, numerator: clicks, denominator: shown}
objective: {goals: [{metric: x}]}
round: {length: 1ms}
attribution_window: 1h
hold_back: 0.1
stickiness: unit
`

// service is a real one, behind a gate that can be shut.
type service struct {
	*server.Server
	url    string
	client *client.Client
	// refuse makes the next so many requests fail with 503, count counts all.
	refuse, count atomic.Int64
}

func newService(t testing.TB) *service {
	t.Helper()
	running := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, running) })
	s, err := server.New(server.Config{Data: t.TempDir(), FS: vfs.NewMem(), Tick: time.Hour, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	v := &service{Server: s}
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v.count.Add(1)
		if v.refuse.Add(-1) >= 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		s.Handler().ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		s.Drain()
		h.Close()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	v.url = h.URL
	v.client, err = client.New(client.Options{URL: h.URL, Pause: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.client.Apply(context.Background(), "toy", []byte(toy)); err != nil {
		t.Fatal(err)
	}
	return v
}

func units(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprint("user-", i))
	}
	return out
}
