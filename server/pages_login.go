package server

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// sessionCookie names the cookie of a browser that has logged in.
const sessionCookie = "noregret_session"

const (
	sessionTime  = 12 * time.Hour
	keepSessions = 10_000
)

// sessions are the browsers that have logged in. The cookie is a random number that is worth
// nothing elsewhere; it counts as long as the access token behind it is known. They are gone after
// a restart.
type sessions struct {
	mu sync.Mutex
	by map[[sha256.Size]byte]session // by the cookie's hash
}

type session struct {
	token [sha256.Size]byte // the hash of the access token
	until time.Time
}

// add makes a session for an access token and returns the cookie's value.
func (s *sessions) add(p *principal, now time.Time) string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	value := base64.RawURLEncoding.EncodeToString(b[:])
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by == nil || len(s.by) >= keepSessions {
		kept := map[[sha256.Size]byte]session{}
		for k, v := range s.by {
			if v.until.After(now) {
				kept[k] = v
			}
		}
		if len(kept) >= keepSessions {
			clear(kept) // all log in again
		}
		s.by = kept
	}
	s.by[sha256.Sum256([]byte(value))] = session{p.sum, now.Add(sessionTime)}
	return value
}

func cookieSum(r *http.Request) (sum [sha256.Size]byte, ok bool) {
	c, err := r.Cookie(sessionCookie)
	if err != nil {
		return sum, false
	}
	return sha256.Sum256([]byte(c.Value)), true
}

// find is the principal of a request's cookie, or nil.
func (s *sessions) find(r *http.Request, a *auth, now time.Time) *principal {
	sum, ok := cookieSum(r)
	if !ok {
		return nil
	}
	s.mu.Lock()
	v, ok := s.by[sum]
	s.mu.Unlock()
	list := a.principals.Load()
	if !ok || !v.until.After(now) || list == nil {
		return nil
	}
	for i := range *list {
		if subtle.ConstantTimeCompare(v.token[:], (*list)[i].sum[:]) == 1 {
			return &(*list)[i]
		}
	}
	return nil
}

func (s *sessions) remove(r *http.Request) {
	if sum, ok := cookieSum(r); ok {
		s.mu.Lock()
		delete(s.by, sum)
		s.mu.Unlock()
	}
}

// cookie is the session's; an empty value takes it away.
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

// local is a path of this service as a browser writes it, in printable ASCII without a backslash,
// or "/".
func local(path string) string {
	odd := func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '\\' }
	u, err := url.Parse(path)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || strings.ContainsFunc(path, odd) ||
		!strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.HasPrefix(path, "/log") {
		return "/"
	}
	return path
}

// loginView is what the login page shows.
type loginView struct{ Next, Fault string }

func (s *Server) loginPage(_ http.ResponseWriter, r *http.Request) (*shown, error) {
	next := local(r.URL.Query().Get("next"))
	if s.auth.principals.Load() == nil {
		return &shown{to: next}, nil
	}
	return &shown{Page: "login", Title: "Log in", Data: loginView{Next: next}}, nil
}

// login takes an access token and gives a cookie.
func (s *Server) login(w http.ResponseWriter, r *http.Request) (*shown, error) {
	b, err := body(r, "application/x-www-form-urlencoded")
	if err != nil {
		return nil, err
	}
	form, err := parseForm(b)
	if err != nil {
		return nil, err
	}
	next := local(form.Get("next"))
	if s.auth.principals.Load() == nil {
		return &shown{to: next}, nil
	}
	p := s.auth.known(strings.TrimSpace(form.Get("token")))
	fault := ""
	switch {
	case p == nil:
		fault = "This token is not known here."
	case !p.may(Read):
		fault = "This token lacks the role read."
	}
	if fault != "" {
		return &shown{Page: "login", Status: http.StatusForbidden, Title: "Log in", Data: loginView{next, fault}}, nil
	}
	s.sessions.remove(r)
	http.SetCookie(w, cookie(r, s.sessions.add(p, s.config.Now())))
	s.config.Logger.Info("a browser logged in", "token", p.name)
	return &shown{to: next}, nil
}

func (s *Server) logout(w http.ResponseWriter, r *http.Request) (*shown, error) {
	s.sessions.remove(r)
	http.SetCookie(w, cookie(r, ""))
	return &shown{to: "/login"}, nil
}
