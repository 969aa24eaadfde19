// Package servicetest runs the decision service in a test's own process: on a file system in memory
// and a free port of the loopback address, with a temporary log.
package servicetest

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/noregret/noregret/server"
)

// Start runs a service until the test ends. Its rounds close only when something else happens.
// Middleware, unless nil, wraps its handler.
func Start(t testing.TB, middleware func(http.Handler) http.Handler) (s *server.Server, url string) {
	t.Helper()
	c := server.DefaultConfig(t.TempDir())
	c.Tick = time.Hour
	s, url, end, err := run(c, middleware)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	})
	return s, url
}

// Run runs a service for an example until end is called. It panics on an error.
func Run() (url string, end func()) {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	_, url, stop, err := run(server.DefaultConfig(dir), nil)
	if err != nil {
		panic(err)
	}
	return url, func() {
		if err := errors.Join(stop(), os.RemoveAll(dir)); err != nil {
			panic(err)
		}
	}
}

func run(c server.Config, middleware func(http.Handler) http.Handler) (s *server.Server, url string, end func() error,
	err error,
) {
	c.FS, c.Logger = vfs.NewMem(), slog.New(slog.NewTextHandler(io.Discard, nil))
	if s, err = server.New(c); err != nil {
		return nil, "", nil, err
	}
	handler := s.Handler()
	if middleware != nil {
		handler = middleware(handler)
	}
	h := httptest.NewServer(handler)
	return s, h.URL, func() error {
		s.Drain()
		h.Close()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		return s.Close()
	}, nil
}
