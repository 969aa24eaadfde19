package edge_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/noregret/noregret/server/edge"
)

// An edge is an http.Handler. Its experiments are Locals of package client; this one has none.
func Example() {
	dir, err := os.MkdirTemp("", "noregret")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	c := edge.DefaultConfig(dir)
	c.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	s, err := edge.New(map[string]edge.Experiment{}, c)
	if err != nil {
		panic(err)
	}
	defer s.Close()
	answer := httptest.NewRecorder()
	ask := httptest.NewRequest("POST", "http://127.0.0.1/v1/feedback", strings.NewReader(`{"items":[{"token":"x"}]}`))
	ask.Header.Set("Content-Type", "application/json")
	s.Handler().ServeHTTP(answer, ask)
	fmt.Println(answer.Code, strings.Contains(answer.Body.String(), "not one of this edge"))
	// Output: 200 true
}
