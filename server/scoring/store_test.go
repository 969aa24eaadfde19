package scoring_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/noregret/noregret/server/scoring"
)

// kept makes a service with its state in a directory, which the caller closes.
func kept(t *testing.T, dir string, every int) *scoring.Service {
	t.Helper()
	c := scoring.DefaultConfig()
	c.Logger, c.Data, c.SaveEvery = slog.New(slog.DiscardHandler), dir, every
	s, err := scoring.New(numbers(t), c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ask makes a request for a prediction without a connection.
func ask(t *testing.T, s *scoring.Service) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/predict",
		strings.NewReader(`{"rows":[{"1":2}]}`))
	r.Header.Set("Content-Type", "application/json")
	r.Host = "localhost"
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
}

// TestClosedStateStays: a request that outlives the end of its service does not write over the
// state of the next one.
func TestClosedStateStays(t *testing.T) {
	dir := t.TempDir()
	old := kept(t, dir, 1)
	ask(t, old)
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	next := kept(t, dir, 1)
	ask(t, next)
	path := filepath.Join(dir, "score.state")
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // so that its state has more rows
		ask(t, old)
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
		t.Errorf("a request after the end has changed the state: %v", err)
	}
	if err := next.Close(); err != nil {
		t.Fatal(err)
	}
}
