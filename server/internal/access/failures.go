package access

import (
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Failures writes a line of the log for failed logins: for requests and forms with an access token
// that is not known, or that may not log in. A line has the address of the client and no part of
// the token. Of one address a line is written at most every failurePeriod, and of all addresses at
// most maxFailureLines in that time; the next line says how many failures had none. Its methods are
// safe for concurrent use.
type Failures struct {
	logger  *slog.Logger
	now     func() time.Time
	proxies Proxies
	total   atomic.Uint64

	mu sync.Mutex
	// by has the addresses whose lines were written since begun.
	by      map[string]bool
	begun   time.Time
	without uint64 // the failures without a line since the last one
}

const (
	failurePeriod   = time.Minute
	maxFailureLines = 60
)

// NewFailures returns a log of failures. The address of a request is that of its client
// ([Proxies.Address]).
func NewFailures(logger *slog.Logger, now func() time.Time, proxies Proxies) *Failures {
	return &Failures{logger: logger, now: now, proxies: proxies, by: map[string]bool{}}
}

// Note notes a failed login of a request by a way, such as "form". The name is that of the access
// token, "" for one that is not known.
func (f *Failures) Note(r *http.Request, way, name string) {
	f.total.Add(1)
	address, now := f.proxies.Address(r), f.now()
	f.mu.Lock()
	defer f.mu.Unlock()
	if now.Sub(f.begun).Abs() >= failurePeriod {
		clear(f.by)
		f.begun = now
	}
	if f.by[address] || len(f.by) >= maxFailureLines {
		f.without++
		return
	}
	f.by[address] = true
	f.logger.Warn("a login failed", "client", address, "by", way, "token", name, "without_line", f.without)
	f.without = 0
}

// Total returns the number of failed logins.
func (f *Failures) Total() uint64 { return f.total.Load() }

// HasToken reports whether a request has an access token in a header, known or not, or credentials
// of another kind.
func HasToken(r *http.Request) bool {
	return r.Header.Get("Authorization") != "" || bearerToken(r) != ""
}
