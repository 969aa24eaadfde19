package server

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret/eventlog"
)

// TestStarting checks the answers of a service that recovers.
func TestStarting(t *testing.T) {
	c, err := testConfig(t).resolve()
	if err != nil {
		t.Fatal(err)
	}
	s := &starting{config: &c}
	s.position.Store(256)
	s.last.Store(1000)
	for path, want := range map[string]int{"/livez": 200, "/readyz": 503, "/readyz/writes": 503, "/v1/state": 503} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if w.Code != want || want == 503 && !strings.Contains(w.Body.String(), "it has read 256 of 1000 events") {
			t.Errorf("%s: status %d: %s", path, w.Code, w.Body)
		}
	}
}

// TestProgress checks that a recovery reports how far it is.
func TestProgress(t *testing.T) {
	w := newWorld(t)
	w.apply(toy)
	d := w.decide("toy", "a")[0]
	for range 600 {
		w.post("/v1/exposures", item{Token: d.Token})
	}
	var seen []uint64
	state, _, err := recoverState(t.Context(), w.server.log, nil, watch{progress: func(position, last uint64) {
		if last != 601 {
			t.Errorf("%d events", last)
		}
		seen = append(seen, position)
	}})
	if err != nil || state.Position() != 601 || !slices.Equal(seen, []uint64{256, 512}) {
		t.Errorf("%v, %v", seen, err)
	}
}

// TestRun checks that Run serves, reports its address and ends with its context, and that it ends
// with an error if the service cannot be made.
func TestRun(t *testing.T) {
	noLeaks(t)
	config := testConfig(t)
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for range 2 {
		ctx, cancel := context.WithCancel(context.Background())
		answered := 0
		err := Run(ctx, config, "127.0.0.1:0", nil, time.Minute, func(_ *Server, address net.Addr) error {
			resp, err := client.Get("http://" + address.String() + "/readyz")
			if err == nil {
				answered = resp.StatusCode
				_, _ = io.Copy(io.Discard, resp.Body)
				err = resp.Body.Close()
			}
			cancel()
			return err
		})
		cancel()
		if err != nil || answered != 200 {
			t.Errorf("status %d, %v", answered, err)
		}
	}
	s, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if err := Run(t.Context(), config, "127.0.0.1:0", nil, time.Minute, nil); err == nil {
		t.Error("two services run on one log")
	}
}

// TestRunEndsRecovery checks that the end of the context ends a recovery. Before, a service that
// was told to stop read its whole log first.
func TestRunEndsRecovery(t *testing.T) {
	noLeaks(t)
	config := testConfig(t)
	config.NewKeys = true // its log has events and no keys
	log, err := config.openLog()
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := log.Append(t.Context(), eventlog.Event{Kind: "none", Time: 1}); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	ready := func(*Server, net.Addr) error {
		t.Error("the service was made")
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := Run(ctx, config, "127.0.0.1:0", nil, time.Minute, ready); err != nil {
		t.Error(err)
	}
}
