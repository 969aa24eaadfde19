package alert

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/noregret/noregret/api"
)

const secret = "a secret of the receiver"

// receiver is a webhook that checks signatures. It fails while an answer other than 200 is set.
type receiver struct {
	t      *testing.T
	server *httptest.Server
	mu     sync.Mutex
	status int
	got    chan api.Alert // every attempt with a good signature
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{t: t, status: 200, got: make(chan api.Alert, 5000)}
	r.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		b, err := io.ReadAll(q.Body)
		if err != nil {
			t.Error(err)
		}
		header := q.Header.Get(SignatureHeader)
		var seconds int64
		if _, err := fmt.Sscanf(header, "t=%d,", &seconds); err != nil ||
			header != Sign([]byte(secret), time.Unix(seconds, 0), b) {
			t.Errorf("the signature %q: %v", header, err)
		}
		var a api.Alert
		if err := json.Unmarshal(b, &a); err != nil || a.Format != 1 || a.ID == "" || q.Header.Get(IDHeader) == "" {
			t.Errorf("%v: %s", err, b)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.status == http.StatusFound {
			w.Header().Set("Location", "/elsewhere")
		}
		w.WriteHeader(r.status)
		r.got <- a
	}))
	t.Cleanup(r.server.Close)
	return r
}

func (r *receiver) answer(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = status
}

// next waits for the next attempt.
func (r *receiver) next() api.Alert {
	r.t.Helper()
	select {
	case a := <-r.got:
		return a
	case <-time.After(time.Minute):
		r.t.Fatal("no alert came")
		panic("unreachable")
	}
}

// sending is a running sender with a clock of its own.
type sending struct {
	*Sender
	begun  time.Time
	passed atomic.Int64       // ns since begun
	pauses chan time.Duration // each pause is one value
	stop   func()
}

func start(t *testing.T, r *receiver, dir string) *sending {
	t.Helper()
	file := filepath.Join(dir, "secret")
	if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	x := &sending{begun: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC), pauses: make(chan time.Duration)}
	s, err := Open(Options{
		URL: r.server.URL, SecretFile: file, File: filepath.Join(dir, "alerts.json"),
		Now: x.now, Logger: slog.New(slog.DiscardHandler),
		Pause: func(ctx context.Context, d time.Duration) {
			select {
			case x.pauses <- d:
			case <-ctx.Done():
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		s.Run(ctx)
		close(done)
	}()
	x.Sender, x.stop = s, sync.OnceFunc(func() {
		cancel()
		<-done
	})
	t.Cleanup(x.stop)
	return x
}

func (x *sending) now() time.Time { return x.begun.Add(time.Duration(x.passed.Load())) }

func wrong(keys ...string) map[string]api.Alert {
	out := map[string]api.Alert{}
	for _, k := range keys {
		out[k] = api.Alert{Kind: "disk", Text: k}
	}
	return out
}

// drained waits until nothing waits any more.
func (x *sending) drained(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(time.Minute); x.Status(nil).Waiting > 0; {
		if time.Now().After(end) {
			t.Fatal("alerts still wait")
		}
	}
}

// Each thing that is wrong makes one alert, and one when it no longer is; what happened makes one.
// A restart makes none again, and what happened before there was a sender makes none.
func TestOnce(t *testing.T) {
	ignore := goleak.IgnoreCurrent()
	r, dir := newReceiver(t), t.TempDir()
	s := start(t, r, dir)
	old := []api.Alert{{ID: "old", Kind: "action"}}
	s.Begin(old)
	s.Update(wrong("disk:a"), old)
	first := r.next()
	if first.Key != "disk:a" || first.State != api.AlertRaised || !first.Since.Equal(s.now()) {
		t.Errorf("%+v", first)
	}
	s.Update(wrong("disk:a"), old)
	both := append(old, api.Alert{ID: "new", Kind: "action"})
	s.Update(wrong("disk:a"), both)
	if a := r.next(); a.ID != "new" || a.State != api.AlertHappened {
		t.Errorf("%+v", a)
	}
	s.drained(t)
	s.stop()
	s = start(t, r, dir)
	s.passed.Add(int64(time.Hour))
	s.Begin(both)
	s.Update(wrong("disk:a", "disk:b"), both)
	if a := r.next(); a.Key != "disk:b" || a.State != api.AlertRaised {
		t.Errorf("%+v", a)
	}
	s.Update(wrong("disk:b"), both)
	a := r.next()
	if a.Key != "disk:a" || a.State != api.AlertResolved || !a.Since.Equal(first.Since) || a.ID == first.ID {
		t.Errorf("%+v", a)
	}
	s.drained(t)
	if n := len(r.got); n > 0 {
		t.Errorf("%d more: %+v", n, <-r.got)
	}
	s.stop()
	r.server.Close()
	goleak.VerifyNone(t, ignore)
}

// A webhook that fails gets the same alert again, after pauses that grow to five minutes, also from
// the next process; then the others, in order.
func TestRetries(t *testing.T) {
	r, dir := newReceiver(t), t.TempDir()
	s := start(t, r, dir)
	r.answer(503)
	s.Update(wrong("disk:a"), nil)
	s.passed.Add(int64(time.Second))
	s.Update(wrong("disk:a", "disk:b"), nil)
	id := ""
	for i, want := range []time.Duration{1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300} {
		a := r.next()
		if id == "" {
			id = a.ID
		}
		if a.ID != id || a.Key != "disk:a" {
			t.Fatalf("attempt %d: %+v", i, a)
		}
		if got := <-s.pauses; got != want*time.Second {
			t.Errorf("pause %d: %v, want %v", i, got, want*time.Second)
		}
	}
	if st := s.Status(nil); st.Waiting != 2 || !strings.Contains(st.Failure, "503") || len(st.Active) != 2 {
		t.Errorf("%+v", st)
	}
	r.next()
	s.stop()
	r.answer(200)
	s = start(t, r, dir)
	if a, b := r.next(), r.next(); a.ID != id || b.Key != "disk:b" {
		t.Errorf("after a restart: %+v, %+v", a, b)
	}
	s.drained(t)
	if st := s.Status(nil); st.Failure != "" {
		t.Errorf("%+v", st)
	}
}

// A redirection is not followed, as it would take the alert to another address, and an error does
// not tell the webhook's address.
func TestRefusals(t *testing.T) {
	r, dir := newReceiver(t), t.TempDir()
	s := start(t, r, dir)
	if err := s.Test(t.Context()); err != nil || r.next().Kind != "test" {
		t.Errorf("%v", err)
	}
	r.answer(http.StatusFound)
	if err := s.Test(t.Context()); err == nil || !strings.Contains(err.Error(), "302") {
		t.Errorf("%v", err)
	}
	r.server.Close()
	err := s.Test(t.Context())
	if err == nil || !strings.Contains(err.Error(), "cannot be reached") || strings.Contains(err.Error(), "http://") {
		t.Errorf("%v", err)
	}
	for _, url := range []string{"", "x", "ftp://a", "http://u:p@a", "http://", "http://a#b"} {
		if CheckURL(url) == nil {
			t.Errorf("%q is taken", url)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(s.Options); err == nil || !strings.Contains(err.Error(), "want at least 16") {
		t.Errorf("%v", err)
	}
}

// The queue is bounded: the oldest are dropped and counted.
func TestBound(t *testing.T) {
	r, dir := newReceiver(t), t.TempDir()
	s := start(t, r, dir)
	s.stop()
	for i := range mostWaiting + 7 {
		s.Update(nil, []api.Alert{{ID: fmt.Sprint("n", i)}})
	}
	_, waiting, _, _, dropped := s.Counts()
	if waiting != mostWaiting || dropped != 7 {
		t.Errorf("%d wait, %d dropped", waiting, dropped)
	}
	if ids := s.state.Waiting; ids[0].ID != "n7" || !slices.ContainsFunc(ids, func(a api.Alert) bool {
		return a.ID == fmt.Sprint("n", mostWaiting+6)
	}) {
		t.Errorf("%+v", ids[0])
	}
}
