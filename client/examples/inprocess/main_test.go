package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/noregret/noregret/client"
	"github.com/noregret/noregret/server"
)

// TestRun runs the example against a service.
func TestRun(t *testing.T) {
	s, err := server.New(server.Config{Data: t.TempDir(), Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s.Handler())
	defer func() {
		s.Drain()
		h.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	c, err := client.New(client.Options{URL: h.URL})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("ranking.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Apply(context.Background(), "ranking", text); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(context.Background(), h.URL, &out); err != nil {
		t.Fatal(err)
	}
	if want := "10000 requests in "; !strings.Contains(out.String(), want) {
		t.Errorf("got %q, want %q in it", out.String(), want)
	}
}
