package edge

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/policy"
)

// fake is an experiment whose outbox can fail.
type fake struct {
	mu       sync.Mutex
	policy   policy.Policy
	recorded []policy.Assignment
	units    map[uint64]bool
	kept     int // recorded units that are durable
	err      error
}

func (f *fake) Policy() *policy.Policy { return &f.policy }

func (f *fake) Decide(unit string) (policy.Assignment, error) {
	return policy.Assignment{
		Version: 7, Name: "a", Unit: policy.Hash("unit", "s", unit), Propensity: 1, Value: []byte("1"),
	}, nil
}

func (f *fake) RecordOnce(d policy.Assignment, metrics map[string]float64) (bool, error) {
	if metrics["bad"] != 0 {
		return false, noregret.BadInputf("metrics.bad", "no")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.units[d.Unit] {
		return false, nil
	}
	if f.units == nil {
		f.units = map[uint64]bool{}
	}
	f.units[d.Unit] = true
	f.recorded = append(f.recorded, d)
	return true, nil
}

func (f *fake) Keep() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.kept = len(f.recorded)
	}
	return f.err
}

func (f *fake) Confirmed() time.Time { return time.Now().Add(-time.Minute) }

func newEdge(t *testing.T, f *fake, dir string) *Service {
	t.Helper()
	c := DefaultConfig(dir)
	c.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	s, err := New(map[string]Experiment{"toy": f}, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func (s *Service) ask(path, body string) (status int, answer string) {
	w, url := httptest.NewRecorder(), "http://127.0.0.1"+path
	r := httptest.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if body == "" {
		r = httptest.NewRequest(http.MethodGet, url, nil)
	}
	r.Header.Set("Content-Type", "application/json")
	s.Handler().ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// tokens asks for decisions and returns their tokens.
func (s *Service) tokens(t *testing.T, units string) (out []string) {
	t.Helper()
	status, answer := s.ask("/v1/experiments/toy/decide", `{"units":[`+units+`]}`)
	if status != http.StatusOK {
		t.Fatal(status, answer)
	}
	for _, part := range strings.Split(answer, `"token":"`)[1:] {
		text, _, _ := strings.Cut(part, `"`)
		out = append(out, text)
	}
	return out
}

// No unit is acknowledged that is not durable, and none that failed counts twice when it is sent
// again.
func TestFeedbackIsDurable(t *testing.T) {
	f, dir := new(fake), t.TempDir()
	s := newEdge(t, f, dir)
	at := s.tokens(t, `"u","v",{"id":"w"}`)
	item := func(i int) string { return `{"items":[{"token":"` + at[i] + `","metrics":{"x":1}}]}` }
	f.err = errors.New("disk full")
	if status, answer := s.ask("/v1/feedback", item(0)); status != http.StatusServiceUnavailable || f.kept != 0 {
		t.Errorf("%d %s", status, answer)
	}
	f.err = nil
	if status, answer := s.ask("/v1/feedback", item(0)); status != http.StatusOK || f.kept != 1 ||
		!strings.Contains(answer, `"duplicate":1`) {
		t.Errorf("%d %s, %d kept", status, answer, f.kept)
	}
	if d := f.recorded[0]; d.Version != 7 || d.Name != "a" || d.HeldBack || len(f.recorded) != 1 {
		t.Errorf("%+v", f.recorded)
	}
	// An item that is refused can be mended.
	bad := strings.Replace(item(1), `"x"`, `"bad"`, 1)
	if _, answer := s.ask("/v1/feedback", bad); !strings.Contains(answer, `"rejected":1`) {
		t.Error(answer)
	}
	if _, answer := s.ask("/v1/feedback", item(1)); !strings.Contains(answer, `"accepted":1`) {
		t.Error(answer)
	}
	// Another edge with the same directory knows the tokens; one with another key does not.
	if _, answer := newEdge(t, f, dir).ask("/v1/feedback", item(2)); !strings.Contains(answer, `"accepted":1`) {
		t.Error(answer)
	}
	_, answer := newEdge(t, f, t.TempDir()).ask("/v1/feedback", item(2))
	if !strings.Contains(answer, "not one of this") {
		t.Error(answer)
	}
	if err := os.WriteFile(filepath.Join(dir, "edge.key"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := loadKey(filepath.Join(dir, "edge.key")); noregret.CodeOf(err) != noregret.BadInput {
		t.Errorf("an empty key: %v", err)
	}
}

func TestRefusals(t *testing.T) {
	f := new(fake)
	s := newEdge(t, f, t.TempDir())
	for _, c := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"/v1/experiments/toy/decide", `{"units":[]}`, 400, "there are none"},
		{"/v1/experiments/toy/decide", `{"units":[""]}`, 400, "units[0]"},
		{"/v1/experiments/toy/decide", `{"units":[{"id":"u","context":{}}]}`, 400, "units[0].context"},
		{"/v1/experiments/toy/decide", `{"units":[{"id":"u","more":1}]}`, 400, "units[0]"},
		{"/v1/experiments/no/decide", `{"units":["u"]}`, 404, "it has toy"},
		{"/v1/feedback", `{"items":[]}`, 400, "there are none"},
		{"/v1/exposures", `{"items":[{"token":"x"}]}`, 404, "docs/how-to/edge.md"},
	} {
		if status, answer := s.ask(c.path, c.body); status != c.status || !strings.Contains(answer, c.want) {
			t.Errorf("%s %s: %d %s", c.path, c.body, status, answer)
		}
	}
	f.policy.Linear = new(policy.Linear)
	if status, answer := s.ask("/v1/experiments/toy/decide", `{"units":["u"]}`); status != http.StatusConflict {
		t.Errorf("a contextual policy: %d %s", status, answer)
	}
	want := `noregret_edge_policy_age_seconds{experiment="toy"} 6`
	if _, answer := s.ask("/metrics", ""); !strings.Contains(answer, want) {
		t.Error(answer)
	}
}

// Any change of a token is found.
func TestTokens(t *testing.T) {
	key := make([]byte, keySize)
	in := token{"toy", 3, "a", true, 1 << 63}
	text, err := sign(key, &in)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := verify(key, text); err != nil || out != in {
		t.Errorf("%+v, %v", out, err)
	}
	for i := range text {
		b := []byte(text)
		b[i] ^= 1
		if _, err := verify(key, string(b)); err == nil {
			t.Fatalf("byte %d is changed, and the token is taken", i)
		}
	}
	for _, bad := range []string{"", text + "\n", text[:20], strings.Repeat("A", longest+1)} {
		if _, err := verify(key, bad); err == nil {
			t.Errorf("%.30q is taken", bad)
		}
	}
}
