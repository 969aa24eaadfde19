package dashboard

import (
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
		s.add(&access.Principal{}, now.Add(time.Duration(i)*time.Second))
		if len(s.by) > maxSessions {
			t.Fatalf("%d sessions", len(s.by))
		}
	}
}
