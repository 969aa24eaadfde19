package server_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"

	"github.com/noregret/noregret/server"
)

// A service is an http.Handler on a data directory.
func Example() {
	dir, err := os.MkdirTemp("", "noregret")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	c := server.DefaultConfig(dir)
	c.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	s, err := server.New(c)
	if err != nil {
		panic(err)
	}
	answer := httptest.NewRecorder()
	s.Handler().ServeHTTP(answer, httptest.NewRequest("GET", "http://127.0.0.1/livez", nil))
	fmt.Println(answer.Code)
	s.Drain()
	if err := s.Close(); err != nil {
		panic(err)
	}
	// Output: 200
}
