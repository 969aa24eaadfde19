package dashboard

import (
	"crypto/sha256"
	"crypto/tls"
	"net/http"
	"testing"
	"time"

	"github.com/noregret/noregret/server/internal/access"
)

// TestSessions checks that the cookie of a TLS connection is secure and that the number of sessions
// is bounded.
func TestSessions(t *testing.T) {
	if c := cookie(&http.Request{TLS: &tls.ConnectionState{}}, "x"); !c.Secure {
		t.Error("a cookie of a TLS connection is not secure")
	}
	if c := cookie(&http.Request{}, ""); c.MaxAge >= 0 {
		t.Errorf("the cookie was not removed: %+v", c)
	}
	var s sessions
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	for i := range 2*maxSessions + 10 {
		p := &access.Principal{Hash: access.Hash{byte(i), byte(i >> 8), byte(i >> 16)}}
		s.add(p, now.Add(time.Duration(i)*time.Second))
		if len(s.by) > maxSessions {
			t.Fatalf("%d sessions", len(s.by))
		}
	}
}

// TestLoginsOfOneToken checks that logins of one access token end only its own oldest sessions.
func TestLoginsOfOneToken(t *testing.T) {
	var s sessions
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	add := func(token byte, i int) string {
		return s.add(&access.Principal{Hash: access.Hash{token}}, now.Add(time.Duration(i)*time.Millisecond))
	}
	known := func(value string) bool {
		_, ok := s.by[sha256.Sum256([]byte(value))]
		return ok
	}
	other, first := add(1, 0), add(2, 1)
	last := ""
	for i := range 2 * maxSessions {
		last = add(2, i+2)
	}
	if !known(other) || !known(last) || known(first) || len(s.by) != 1+maxTokenSessions {
		t.Errorf("%d sessions; the other token's: %v, the last: %v, the first: %v", len(s.by), known(other),
			known(last), known(first))
	}
}
