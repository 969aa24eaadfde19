// Package alert notes alerts in the service's log and sends them to a webhook: signed, in order,
// with retries, each at least once, in the service's own form or in that of Slack or of an
// Alertmanager. What waits is in a file, so that a restart neither loses an alert nor makes it
// anew.
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
	"strings"
	"sync"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/internal/atomicfile"
	"github.com/noregret/noregret/internal/strictjson"
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
	// Form is that of the requests to the webhook, "" for [JSON].
	Form Form
	// Service is the address of the service for people, such as https://decisions.example, to which
	// messages in the other forms link; "" for no links.
	Service string
	// SecretFile has the key of signatures, of at least 16 bytes, without white space around it. It
	// is read for each attempt. "" makes none, which the form JSON does not allow.
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
	Version int         `json:"version"`
	Active  []api.Alert `json:"active"`
	Seen    []string    `json:"seen"` // the IDs of what has happened and is still known
	Waiting []api.Alert `json:"waiting"`
}

// Sender sends alerts. Its methods are safe for concurrent use.
type Sender struct {
	Options
	http *http.Client

	mu      sync.Mutex
	state   stored
	fresh   bool // there was no file, and Begin was not called
	failure string
	unsaved bool // the last save has failed
	changed chan struct{}
	// repeated is when the active alerts were last due to be sent again, and repeat says that they
	// are: see [Form.repeats].
	repeated time.Time
	repeat   bool

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
	if err := o.Form.Check(o.URL, o.SecretFile != ""); err != nil {
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

// secret reads the key of signatures, nil for none.
func (s *Sender) secret() ([]byte, error) {
	if s.SecretFile == "" {
		return nil, nil
	}
	b, err := os.ReadFile(s.SecretFile)
	if err != nil {
		return nil, noregret.Errorf(noregret.NotFound, "alert secret file", "the secret cannot be read: %w", err)
	}
	if b = bytes.TrimSpace(b); len(b) < minSecret {
		return nil, noregret.BadInputf("alert secret file", "%d bytes: want at least %d", len(b), minSecret)
	}
	return b, nil
}

// Begin says what had happened before the service began. A sender without a file from before makes
// no alert of that. Call it before anything else can happen: what is not among it is then sent,
// also by the next process if this one ends before it looks.
func (s *Sender) Begin(happened []api.Alert) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.fresh {
		return
	}
	s.fresh, s.state.Seen = false, idsOf(happened)
	if s.URL != "" {
		s.save()
	}
}

// Update says what is wrong now, by key, and what has happened, by ID. It makes an alert of each
// that is new, and of each that is no longer wrong. Texts that change make none. Each alert is a
// line of the log.
func (s *Sender) Update(wrong map[string]api.Alert, happened []api.Alert) {
	now := s.Now().UTC()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(append(s.turned(wrong, now), s.news(happened, now)...), happened)
	if s.Form.repeats() && len(s.state.Active) > 0 && now.Sub(s.repeated).Abs() >= repeatPeriod {
		s.repeated, s.repeat = now, true
		s.wake()
	}
}

// Happened says what has happened when nothing else is known, such as at the end of the service.
func (s *Sender) Happened(happened []api.Alert) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(s.news(happened, s.Now().UTC()), happened)
}

// turned returns the alerts of what has begun or ended. The caller holds the lock.
func (s *Sender) turned(wrong map[string]api.Alert, now time.Time) (made []api.Alert) {
	s.state.Active = slices.DeleteFunc(slices.Clone(s.state.Active), func(a api.Alert) bool {
		if _, still := wrong[a.Key]; still {
			return false
		}
		a.State, a.Time = api.AlertResolved, now
		a.ID = idOf(a.Key, a.State, now)
		made = append(made, a)
		return true
	})
	for key, a := range wrong {
		if s.active(key) {
			continue
		}
		a.Format, a.Key, a.State, a.Time, a.Since = 1, key, api.AlertRaised, now, now
		a.ID = idOf(key, a.State, now)
		s.state.Active = append(s.state.Active, a)
		made = append(made, a)
	}
	slices.SortFunc(made, func(a, b api.Alert) int { return strings.Compare(a.ID, b.ID) })
	return made
}

// news returns the alerts of what has happened and was not told. The caller holds the lock.
func (s *Sender) news(happened []api.Alert, now time.Time) (made []api.Alert) {
	for _, a := range happened {
		if slices.Contains(s.state.Seen, a.ID) {
			continue
		}
		a.Format, a.State, a.Time = 1, api.AlertHappened, now
		made = append(made, a)
	}
	return made
}

// add logs alerts and lets them be sent, and notes what has happened as told. The caller holds the
// lock.
func (s *Sender) add(made, happened []api.Alert) {
	for i := range made {
		s.log(&made[i])
	}
	seen := idsOf(happened)
	if changed := len(made) > 0 || !slices.Equal(seen, s.state.Seen); !changed && !s.unsaved {
		return
	}
	s.state.Seen = seen
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
	s.wake()
}

// log writes the line of an alert.
func (s *Sender) log(a *api.Alert) {
	level := slog.LevelWarn
	if a.State == api.AlertResolved {
		level = slog.LevelInfo
	}
	attrs := []slog.Attr{slog.String("state", a.State), slog.String("key", a.Key), slog.String("kind", a.Kind)}
	for _, x := range []struct{ name, value string }{
		{"experiment", a.Experiment}, {"metric", a.Metric}, {"arm", a.Arm},
	} {
		if x.value != "" {
			attrs = append(attrs, slog.String(x.name, x.value))
		}
	}
	s.Logger.LogAttrs(context.Background(), level, "alert",
		append(attrs, slog.Time("since", a.Since), slog.String("text", a.Text))...)
}

// wake lets Run look at what is to be sent.
func (s *Sender) wake() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// idsOf returns the IDs of alerts.
func idsOf(alerts []api.Alert) (ids []string) {
	for i := range alerts {
		ids = append(ids, alerts[i].ID)
	}
	return ids
}

func idOf(key, state string, at time.Time) string {
	return key + ":" + state + ":" + at.Format(time.RFC3339Nano)
}

func (s *Sender) active(key string) bool {
	return slices.ContainsFunc(s.state.Active, func(a api.Alert) bool { return a.Key == key })
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

// Status is the state of the sender for people, about the alerts that keep returns true for, nil
// for all.
func (s *Sender) Status(keep func(a *api.Alert) bool) api.Alerts {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := api.Alerts{Active: []api.Alert{}, Webhook: s.URL != "", Failure: s.failure}
	for i := range s.state.Active {
		if a := &s.state.Active[i]; keep == nil || keep(a) {
			out.Active = append(out.Active, *a)
		}
	}
	for i := range s.state.Waiting {
		if keep == nil || keep(&s.state.Waiting[i]) {
			out.Waiting++
		}
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
		sent, again := s.next()
		if len(sent) == 0 {
			select {
			case <-s.changed:
			case <-ctx.Done():
			}
			continue
		}
		err := s.deliver(ctx, sent)
		if err != nil && ctx.Err() != nil {
			return // it is sent again after the restart
		}
		s.delivered(sent, again, err)
		if err == nil || again {
			next = firstPause
			continue
		}
		s.Pause(ctx, next)
		next = min(2*next, lastPause)
	}
}

// next returns the alert that is to be sent next, or all active ones if none waits and they are due
// to be sent again.
func (s *Sender) next() (sent []api.Alert, again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.state.Waiting) > 0 {
		return slices.Clone(s.state.Waiting[:1]), false
	}
	if again, s.repeat = s.repeat, false; !again {
		return nil, false
	}
	return slices.Clone(s.state.Active), true
}

// delivered notes the outcome of an attempt. Active alerts that were sent again do not wait.
func (s *Sender) delivered(sent []api.Alert, again bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		if s.failures++; s.failure == "" {
			s.Logger.Warn("the webhook has not taken an alert: it is sent again", "alert", sent[0].ID, "error", err)
		}
		s.failure = err.Error()
		return
	}
	s.failure = ""
	if again {
		return
	}
	s.sent++
	s.state.Waiting = slices.DeleteFunc(s.state.Waiting, func(b api.Alert) bool { return b.ID == sent[0].ID })
	s.save()
}

// Test sends a test alert at once and returns why it was not taken.
func (s *Sender) Test(ctx context.Context) error {
	now := s.Now().UTC()
	return s.deliver(ctx, []api.Alert{{
		Format: 1, ID: idOf("test", api.AlertHappened, now), Key: "test", Kind: "test", State: api.AlertHappened,
		Time: now, Since: now, Text: "a test: nothing is wrong",
	}})
}

// deliver makes one request with alerts, of which only an Alertmanager gets more than one. Only an
// answer 2xx counts. The error never has the address, whose path may be a secret.
func (s *Sender) deliver(ctx context.Context, alerts []api.Alert) error {
	secret, err := s.secret()
	if err != nil {
		return err
	}
	at := s.Wall()
	body, err := s.Form.body(alerts, s.Service, at)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "noregret")
	r.Header.Set(IDHeader, url.PathEscape(alerts[0].ID))
	if secret != nil {
		r.Header.Set(SignatureHeader, Sign(secret, at, body))
	}
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
