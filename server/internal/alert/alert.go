// Package alert sends alerts to a webhook: signed, in order, with retries, each at least once. What
// waits is in a file, so that a restart neither loses an alert nor makes it anew.
package alert

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/atomicfile"
	"github.com/noregret/noregret/internal/strictjson"
	"github.com/noregret/noregret/policy"
)

// The headers of a request to the webhook.
const (
	// SignatureHeader is t=SECONDS,v1=HEX: the time of the attempt, and the HMAC-SHA256 of the
	// seconds, a dot and the body.
	SignatureHeader = "Noregret-Signature"
	// IDHeader is the alert's ID.
	IDHeader = "Noregret-Alert-Id"
)

const (
	mostWaiting  = 1000 // older alerts are dropped
	firstPause   = time.Second
	lastPause    = 5 * time.Minute
	deliveryTime = 10 * time.Second
	minSecret    = 16
)

// Options configure a [Sender].
type Options struct {
	// URL is the webhook's address, "" for none: then alerts are only noted as active.
	URL string
	// SecretFile has the key of signatures, of at least 16 bytes, without white space around it. It
	// is read for each attempt.
	SecretFile string
	// File is where the sender keeps its state.
	File string
	// Now is the clock of alerts.
	Now func() time.Time
	// Wall is the machine's clock, by which attempts are signed: a receiver compares it with its
	// own. Nil means Now.
	Wall   func() time.Time
	Logger *slog.Logger
	// Pause waits until the time has passed or the context ends. Nil means by the machine's clock.
	Pause func(ctx context.Context, d time.Duration)
}

// CheckURL returns an error for an address that cannot be a webhook's.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.Fragment != "" {
		return noregret.Errorf(noregret.Usage, "alert webhook",
			"want an address such as https://alerts.example/noregret, without a user")
	}
	return nil
}

// stored is the file's form.
type stored struct {
	Version int            `json:"version"`
	Active  []policy.Alert `json:"active"`
	Seen    []string       `json:"seen"` // the IDs of what has happened and is still known
	Waiting []policy.Alert `json:"waiting"`
}

// Sender sends alerts. Its methods are safe for concurrent use.
type Sender struct {
	Options
	http *http.Client

	mu      sync.Mutex
	state   stored
	fresh   bool // there was no file: what happened before is not told
	failure string
	unsaved bool // the last save has failed
	changed chan struct{}

	sent, failures, dropped uint64
}

// Open reads the state of a sender.
func Open(o Options) (*Sender, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	s := &Sender{
		Options: o, changed: make(chan struct{}, 1), state: stored{Version: 1}, fresh: true,
		http: &http.Client{
			Transport: transport, Timeout: deliveryTime,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	if s.Pause == nil {
		s.Pause = pause
	}
	if s.Wall == nil {
		s.Wall = s.Now
	}
	if o.URL == "" {
		return s, nil
	}
	if err := CheckURL(o.URL); err != nil {
		return nil, err
	}
	if _, err := s.secret(); err != nil {
		return nil, err
	}
	b, err := os.ReadFile(o.File)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return s, nil
	case err != nil:
		return nil, noregret.Errorf(noregret.Internal, o.File, "the alerts cannot be read: %w", err)
	}
	if err := strictjson.Decode(b, &s.state, strictjson.Rules{Stored: true}); err != nil || s.state.Version != 1 {
		return nil, noregret.BadInputf(o.File, "not a file of alerts of version 1: remove it to begin anew")
	}
	s.fresh = false
	return s, nil
}

// pause waits by the machine's clock.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// secret reads the key of signatures.
func (s *Sender) secret() ([]byte, error) {
	b, err := os.ReadFile(s.SecretFile)
	if err != nil {
		return nil, noregret.Errorf(noregret.NotFound, "alert secret file", "the secret cannot be read: %w", err)
	}
	if b = bytes.TrimSpace(b); len(b) < minSecret {
		return nil, noregret.BadInputf("alert secret file", "%d bytes: want at least %d", len(b), minSecret)
	}
	return b, nil
}

// Update says what is wrong now, by key, and what has happened, by ID. It makes an alert of each
// that is new, and of each that is no longer wrong. Texts that change make none.
func (s *Sender) Update(wrong map[string]policy.Alert, happened []policy.Alert) {
	now := s.Now().UTC()
	s.mu.Lock()
	defer s.mu.Unlock()
	var made []policy.Alert
	changed := false
	s.state.Active = slices.DeleteFunc(slices.Clone(s.state.Active), func(a policy.Alert) bool {
		if _, still := wrong[a.Key]; still {
			return false
		}
		a.State, a.Time = policy.AlertResolved, now
		a.ID = idOf(a.Key, a.State, now)
		made = append(made, a)
		return true
	})
	for key, a := range wrong {
		if s.active(key) {
			continue
		}
		a.Format, a.Key, a.State, a.Time, a.Since = 1, key, policy.AlertRaised, now, now
		a.ID = idOf(key, a.State, now)
		s.state.Active = append(s.state.Active, a)
		made = append(made, a)
	}
	slices.SortFunc(made, func(a, b policy.Alert) int { return bytes.Compare([]byte(a.ID), []byte(b.ID)) })
	var seen []string
	for _, a := range happened {
		seen = append(seen, a.ID)
		if s.fresh || slices.Contains(s.state.Seen, a.ID) {
			continue
		}
		a.Format, a.State, a.Time = 1, policy.AlertHappened, now
		made = append(made, a)
	}
	if changed = s.fresh || len(made) > 0 || !slices.Equal(seen, s.state.Seen); !changed && !s.unsaved {
		return
	}
	s.fresh, s.state.Seen = false, seen
	if s.URL == "" {
		return
	}
	s.state.Waiting = append(s.state.Waiting, made...)
	if n := len(s.state.Waiting) - mostWaiting; n > 0 {
		s.state.Waiting = slices.Delete(s.state.Waiting, 0, n)
		s.dropped += uint64(n)
		s.Logger.Warn("alerts were dropped, as the webhook does not take them", "alerts", n)
	}
	s.save()
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

func idOf(key, state string, at time.Time) string {
	return key + ":" + state + ":" + at.Format(time.RFC3339Nano)
}

func (s *Sender) active(key string) bool {
	return slices.ContainsFunc(s.state.Active, func(a policy.Alert) bool { return a.Key == key })
}

// Active reports whether something is known to be wrong.
func (s *Sender) Active(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.active(key)
}

// save writes the file. On a disk that takes no writes the alerts are in memory only, and the next
// change tries again.
func (s *Sender) save() {
	b, err := json.Marshal(s.state)
	if err == nil {
		err = atomicfile.WritePrivate(s.File, b)
	}
	if err != nil && !s.unsaved {
		s.Logger.Warn("alerts are not durable: after a restart some may be sent again, and others not", "error", err)
	}
	s.unsaved = err != nil
}

// Status is the state of the sender for people.
func (s *Sender) Status() policy.Alerts {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := policy.Alerts{
		Active: slices.Clone(s.state.Active), Webhook: s.URL != "", Waiting: len(s.state.Waiting), Failure: s.failure,
	}
	if out.Active == nil {
		out.Active = []policy.Alert{}
	}
	return out
}

// Counts are the numbers for metrics.
func (s *Sender) Counts() (active, waiting int, sent, failures, dropped uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.state.Active), len(s.state.Waiting), s.sent, s.failures, s.dropped
}

// Run sends what waits, in order, until the context ends. A failure is tried again after a second,
// and then ever more slowly up to every five minutes.
func (s *Sender) Run(ctx context.Context) {
	defer s.http.CloseIdleConnections()
	next := firstPause
	for ctx.Err() == nil {
		s.mu.Lock()
		var a *policy.Alert
		if len(s.state.Waiting) > 0 {
			first := s.state.Waiting[0]
			a = &first
		}
		s.mu.Unlock()
		if a == nil {
			select {
			case <-s.changed:
			case <-ctx.Done():
			}
			continue
		}
		err := s.deliver(ctx, a)
		if err != nil && ctx.Err() != nil {
			return // it is sent again after the restart
		}
		s.delivered(a, err)
		if err == nil {
			next = firstPause
			continue
		}
		s.Pause(ctx, next)
		next = min(2*next, lastPause)
	}
}

// delivered notes the outcome of an attempt.
func (s *Sender) delivered(a *policy.Alert, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		if s.failures++; s.failure == "" {
			s.Logger.Warn("the webhook has not taken an alert: it is sent again", "alert", a.ID, "error", err)
		}
		s.failure = err.Error()
		return
	}
	s.sent++
	s.failure = ""
	s.state.Waiting = slices.DeleteFunc(s.state.Waiting, func(b policy.Alert) bool { return b.ID == a.ID })
	s.save()
}

// Test sends a test alert at once and returns why it was not taken.
func (s *Sender) Test(ctx context.Context) error {
	now := s.Now().UTC()
	return s.deliver(ctx, &policy.Alert{
		Format: 1, ID: idOf("test", policy.AlertHappened, now), Key: "test", Kind: "test", State: policy.AlertHappened,
		Time: now, Since: now, Text: "a test: nothing is wrong",
	})
}

// deliver sends an alert once. Only an answer 2xx counts. The error never has the address, whose
// path may be a secret.
func (s *Sender) deliver(ctx context.Context, a *policy.Alert) error {
	secret, err := s.secret()
	if err != nil {
		return err
	}
	body, err := json.Marshal(a)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "noregret")
	r.Header.Set(IDHeader, url.PathEscape(a.ID))
	r.Header.Set(SignatureHeader, Sign(secret, s.Wall(), body))
	answer, err := s.http.Do(r)
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	if err != nil {
		return fmt.Errorf("the webhook cannot be reached: %w", err)
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 64<<10))
	_ = answer.Body.Close()
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("the webhook has answered with the status %d: want 2xx", answer.StatusCode)
	}
	return nil
}

// Sign returns the header of a body's signature.
func Sign(secret []byte, at time.Time, body []byte) string {
	seconds := strconv.FormatInt(at.Unix(), 10)
	m := hmac.New(sha256.New, secret)
	_, _ = m.Write([]byte(seconds + "."))
	_, _ = m.Write(body)
	return "t=" + seconds + ",v1=" + hex.EncodeToString(m.Sum(nil))
}
