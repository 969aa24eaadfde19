package dashboard

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"sync"
	"time"

	"github.com/noregret/noregret/server/internal/access"
)

// sessionCookie names the cookie of a browser that has logged in.
const sessionCookie = "noregret_session"

const (
	sessionTime = 12 * time.Hour
	maxSessions = 10_000
	// maxTokenSessions bounds those of one access token: a further login ends the oldest of them,
	// and none of another token.
	maxTokenSessions = 100
)

// sessions holds the sessions of the browsers that have logged in. A cookie is a random number that
// gives access only to pages and is valid as long as its access token. Sessions do not survive a
// restart.
type sessions struct {
	mu sync.Mutex
	by map[[sha256.Size]byte]session // by the cookie's hash
	of map[access.Hash]int           // the numbers of sessions, by access token
}

type session struct {
	token access.Hash
	until time.Time
}

// add makes a session for an access token and returns the cookie's value.
func (s *sessions) add(p *access.Principal, now time.Time) string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	value := base64.RawURLEncoding.EncodeToString(b[:])
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endOldest(p.Hash)
	if s.by == nil || len(s.by) >= maxSessions {
		kept := map[[sha256.Size]byte]session{}
		for k, v := range s.by {
			if v.until.After(now) {
				kept[k] = v
			}
		}
		if len(kept) >= maxSessions {
			clear(kept) // everybody must log in again
		}
		s.by, s.of = kept, map[access.Hash]int{}
		for _, v := range kept {
			s.of[v.token]++
		}
	}
	s.by[sha256.Sum256([]byte(value))] = session{p.Hash, now.Add(sessionTime)}
	s.of[p.Hash]++
	return value
}

// endOldest makes room for a session of a token. The caller holds the lock.
func (s *sessions) endOldest(token access.Hash) {
	if s.of[token] < maxTokenSessions {
		return
	}
	var oldest [sha256.Size]byte
	until := time.Time{}
	for k, v := range s.by {
		if v.token == token && (until.IsZero() || v.until.Before(until)) {
			oldest, until = k, v.until
		}
	}
	s.end(oldest)
}

// end ends a session. The caller holds the lock.
func (s *sessions) end(sum [sha256.Size]byte) {
	v, ok := s.by[sum]
	if !ok {
		return
	}
	delete(s.by, sum)
	if s.of[v.token]--; s.of[v.token] <= 0 {
		delete(s.of, v.token)
	}
}

// cookieSum returns the hash of a request's session cookie.
func cookieSum(r *http.Request) (sum [sha256.Size]byte, ok bool) {
	c, err := r.Cookie(sessionCookie)
	if err != nil {
		return sum, false
	}
	return sha256.Sum256([]byte(c.Value)), true
}

// find returns the principal of a request's cookie, or nil.
func (s *sessions) find(r *http.Request, tokens *access.Tokens, now time.Time) *access.Principal {
	sum, ok := cookieSum(r)
	if !ok {
		return nil
	}
	s.mu.Lock()
	v, ok := s.by[sum]
	s.mu.Unlock()
	if !ok || !v.until.After(now) {
		return nil
	}
	return tokens.Hash(v.token)
}

// remove ends the session of a request's cookie.
func (s *sessions) remove(r *http.Request) {
	if sum, ok := cookieSum(r); ok {
		s.mu.Lock()
		s.end(sum)
		s.mu.Unlock()
	}
}

// cookie returns the session cookie for a value. An empty value removes the browser's cookie.
func cookie(r *http.Request, value string) *http.Cookie {
	c := &http.Cookie{
		Name: sessionCookie, Value: value, Path: "/", MaxAge: int(sessionTime / time.Second),
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil,
	}
	if value == "" {
		c.MaxAge = -1
	}
	return c
}
