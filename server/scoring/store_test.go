package scoring_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/internal/atomicfile"
	"github.com/noregret/noregret/server/scoring"
)

// kept makes a service with its state in a directory, which the caller closes.
func kept(t *testing.T, m *classify.Model, dir string, every int) *scoring.Service {
	t.Helper()
	c := scoring.DefaultConfig()
	c.Logger, c.Data, c.SaveEvery = slog.New(slog.DiscardHandler), dir, every
	s, err := scoring.New(m, c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ask makes a request for a prediction without a connection.
func ask(t *testing.T, s *scoring.Service) { t.Helper(); request(t, s, http.MethodPost, "/v1/predict") }

func request(t *testing.T, s *scoring.Service, method, path string) string {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path,
		strings.NewReader(`{"rows":[{"1":2}]}`))
	r.Header.Set("Content-Type", "application/json")
	r.Host = "localhost"
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// TestClosedStateStays: a request that outlives the end of its service does not write over the
// state of the next one.
func TestClosedStateStays(t *testing.T) {
	dir, m := t.TempDir(), numbers(t)
	old := kept(t, m, dir, 1)
	ask(t, old)
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	next := kept(t, m, dir, 1)
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

// TestSaveBehind: requests do not wait for a save, unless one would be answered with --save-every
// or more rows that are not saved.
func TestSaveBehind(t *testing.T) {
	dir, m := t.TempDir(), numbers(t)
	synctest.Test(t, func(t *testing.T) {
		s := kept(t, m, dir, 4)
		begun, end := make(chan struct{}), make(chan struct{})
		s.WriteBy(func(path string, data []byte) error {
			begun <- struct{}{}
			<-end
			return atomicfile.WritePrivate(path, data)
		})
		ask(t, s)
		ask(t, s)
		<-begun // a save of two rows, which lasts
		ask(t, s)
		answered := make(chan struct{})
		go func() {
			ask(t, s)
			close(answered)
		}()
		synctest.Wait()
		select {
		case <-answered:
			t.Error("a row is answered while four are not saved")
		default:
		}
		end <- struct{}{}
		<-answered
		<-begun // the other two
		if got := request(t, s, http.MethodGet, "/v1/model"); !strings.Contains(got, `"state":{"unsaved":2,"failing":false}`) {
			t.Error(got)
		}
		go func() { // the save at the end, too
			end <- struct{}{}
			<-begun
			end <- struct{}{}
		}()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	s := kept(t, m, dir, 4)
	if got := request(t, s, http.MethodGet, "/v1/model"); !strings.Contains(got, `"predictions":4,`) {
		t.Error(got)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestSaveFails: while the state cannot be saved, rows are answered, few saves are tried, and it is
// told.
func TestSaveFails(t *testing.T) {
	dir, m := t.TempDir(), numbers(t)
	synctest.Test(t, func(t *testing.T) {
		s := kept(t, m, dir, 1)
		var tries atomic.Int64
		var full atomic.Bool
		full.Store(true)
		s.WriteBy(func(path string, data []byte) error {
			if tries.Add(1); full.Load() {
				return os.ErrPermission
			}
			return atomicfile.WritePrivate(path, data)
		})
		for range 20 {
			ask(t, s)
		}
		synctest.Wait()
		if tries := tries.Load(); tries != 1 {
			t.Errorf("%d saves for 20 rows while they fail", tries)
		}
		if got := request(t, s, http.MethodGet, "/v1/model"); !strings.Contains(got, `"state":{"unsaved":20,"failing":true}`) {
			t.Error(got)
		}
		metrics := request(t, s, http.MethodGet, "/metrics")
		for _, line := range []string{
			"noregret_state_unsaved 20", "noregret_state_failing 1", "noregret_state_failures_total 1",
		} {
			if !strings.Contains(metrics, "\n"+line+"\n") {
				t.Errorf("no %s in\n%s", line, metrics)
			}
		}
		time.Sleep(10 * time.Minute)
		if tries := tries.Load(); tries < 10 || tries > 20 {
			t.Errorf("%d saves in ten minutes", tries)
		}
		full.Store(false)
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := request(t, s, http.MethodGet, "/v1/model"); !strings.Contains(got, `"state":{"unsaved":0,"failing":false}`) {
			t.Error(got)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
