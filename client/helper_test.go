package client_test

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/noregret/noregret/client"
	"github.com/noregret/noregret/server"
	"github.com/noregret/noregret/server/servicetest"
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

// service is a real service whose requests can be made to fail.
type service struct {
	*server.Server
	url    string
	client *client.Client
	// refuse is the number of requests still to fail with 503; count counts all requests.
	refuse, count atomic.Int64
	// answer, unless nil, answers instead of the service.
	answer atomic.Pointer[http.HandlerFunc]
}

func newService(t testing.TB) *service {
	t.Helper()
	running := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, running) })
	v := new(service)
	v.Server, v.url = servicetest.Start(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			v.count.Add(1)
			if answer := v.answer.Load(); answer != nil {
				(*answer)(w, r)
				return
			}
			if v.refuse.Add(-1) >= 0 {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			h.ServeHTTP(w, r)
		})
	})
	var err error
	o := client.DefaultOptions(v.url)
	o.Pause = time.Millisecond
	v.client, err = client.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.client.Apply(context.Background(), "toy", []byte(toy)); err != nil {
		t.Fatal(err)
	}
	return v
}

// counted returns how many units count in the report of toy.
func (s *service) counted(t *testing.T) (n int64) {
	t.Helper()
	r, err := s.Report("toy")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range r.Arms {
		n += a.N
	}
	return n
}

func units(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprint("user-", i))
	}
	return out
}
