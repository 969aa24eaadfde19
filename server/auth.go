package server

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/noregret/noregret"
)

// Role is what an access token allows.
type Role string

// The roles. Admin includes all others.
const (
	Anyone   Role = ""         // no token needed
	Decide   Role = "decide"   // decisions, policies, OFREP
	Feedback Role = "feedback" // exposures and feedback
	Read     Role = "read"     // definitions, reports, explanations, the log, metrics
	Admin    Role = "admin"    // changes of experiments
)

// principal is an access token's owner.
type principal struct {
	name  string
	roles []Role
	sum   [sha256.Size]byte
}

func (p *principal) may(r Role) bool {
	return r == Anyone || slices.Contains(p.roles, r) || slices.Contains(p.roles, Admin)
}

// auth knows the access tokens. Without a file everybody is let through.
type auth struct {
	path       string
	every      time.Duration
	principals atomic.Pointer[[]principal]

	mu     sync.Mutex
	seen   []byte // the file's content at the last reading, good or bad
	failed string // the last failure that was told
}

// tokensFile is the form of the file (docs/service.md).
type tokensFile struct {
	Tokens []struct {
		Name   string `yaml:"name"`
		Roles  []Role `yaml:"roles"`
		Token  string `yaml:"token"`
		SHA256 string `yaml:"sha256"`
	} `yaml:"tokens"`
}

func newAuth(c Config) (*auth, error) {
	a := &auth{path: c.Tokens, every: time.Second}
	_, err := a.reload()
	return a, err
}

// reload reads the file, if there is one and it has changed. A file that is wrong leaves what was
// before.
func (a *auth) reload() (changed bool, err error) {
	if a.path == "" {
		return false, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	data, err := os.ReadFile(a.path)
	if err != nil {
		a.seen = nil
		return false, noregret.Errorf(noregret.NotFound, a.path, "the access tokens cannot be read: %w", err)
	}
	if a.seen != nil && bytes.Equal(data, a.seen) && a.failed == "" {
		return false, nil
	}
	list, err := parseTokens(a.path, data)
	if err != nil {
		return false, err
	}
	changed = !bytes.Equal(data, a.seen)
	a.principals.Store(&list)
	a.seen = data
	return changed, nil
}

// renew reads the file again, if it has changed, and logs what came of it: a failure once, not each
// time.
func (a *auth) renew(log *slog.Logger) error {
	changed, err := a.reload()
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case err != nil && err.Error() != a.failed:
		a.failed = err.Error()
		log.Error("the access tokens stay as they were", "error", err)
	case err == nil && (changed || a.failed != ""):
		a.failed = ""
		log.Info("the access tokens were read again", "tokens", len(*a.principals.Load()))
	}
	return err
}

// yamlLine finds the line in a message of the YAML parser.
var yamlLine = regexp.MustCompile(`line [0-9]+`)

// minToken is the least length of an access token.
const minToken = 16

func parseTokens(path string, data []byte) ([]principal, error) {
	bad := func(format string, args ...any) error {
		return noregret.BadInputf(path, format, args...)
	}
	var f tokensFile
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	if err := d.Decode(&f); err != nil && !errors.Is(err, io.EOF) {
		if line := yamlLine.FindString(err.Error()); line != "" {
			path += ":" + strings.TrimPrefix(line, "line ")
		}
		// the parser's message may hold a secret
		return nil, bad("want a list of tokens, each with name, roles and token or sha256")
	}
	if len(f.Tokens) == 0 {
		return nil, bad("it holds no tokens: want at least one")
	}
	var out []principal
	for i, t := range f.Tokens {
		p := principal{name: t.Name, roles: t.Roles}
		switch {
		case t.Name == "":
			return nil, bad("tokens[%d] has no name", i)
		case slices.ContainsFunc(out, func(q principal) bool { return q.name == t.Name }):
			return nil, bad("tokens[%d]: the name %q stands twice", i, t.Name)
		case len(t.Roles) == 0:
			return nil, bad("tokens[%d] (%s) has no roles: want some of decide, feedback, read, admin", i, t.Name)
		case (t.Token == "") == (t.SHA256 == ""):
			return nil, bad("tokens[%d] (%s): want one of token and sha256", i, t.Name)
		}
		for _, r := range t.Roles {
			if !slices.Contains([]Role{Decide, Feedback, Read, Admin}, r) {
				return nil, bad("tokens[%d] (%s): the role %q is unknown: want decide, feedback, read or admin", i,
					t.Name, r)
			}
		}
		if t.Token != "" {
			if len(t.Token) < minToken {
				return nil, bad("tokens[%d] (%s): the token has %d characters: want at least %d", i, t.Name,
					len(t.Token), minToken)
			}
			p.sum = sha256.Sum256([]byte(t.Token))
		} else if n, err := hex.Decode(p.sum[:], []byte(t.SHA256)[:min(len(t.SHA256), 2*sha256.Size)]); err != nil ||
			n != sha256.Size || len(t.SHA256) != 2*sha256.Size {
			return nil, bad("tokens[%d] (%s): sha256 is not 64 hexadecimal digits", i, t.Name)
		}
		out = append(out, p)
	}
	return out, nil
}

// watch reads the file again whenever it changes, until stop.
func (a *auth) watch(stop <-chan struct{}, done *sync.WaitGroup, log *slog.Logger) {
	defer done.Done()
	if a.path == "" {
		return
	}
	t := time.NewTicker(a.every)
	defer t.Stop()
	for {
		select {
		case <-stop:
			return
		case <-t.C:
		}
		_ = a.renew(log) // it is in the log
	}
}

// everybody is who comes where no access tokens are asked for.
var everybody = &principal{roles: []Role{Admin}}

// find is who a request comes from, or nil.
func (a *auth) find(r *http.Request) *principal {
	if p, ok := r.Context().Value(visitorKey{}).(*principal); ok {
		return p // the visitor of a page
	}
	return a.bearer(r)
}

// bearer is whose access token a request has in its header, or nil.
func (a *auth) bearer(r *http.Request) *principal {
	token := r.Header.Get("X-API-Key")
	if h := r.Header.Get("Authorization"); h != "" {
		scheme, rest, _ := strings.Cut(h, " ")
		if token = ""; strings.EqualFold(scheme, "Bearer") {
			token = strings.TrimSpace(rest)
		}
	}
	return a.known(token)
}

// known is whose access token it is, or nil. It is compared with all known ones, in a time that
// does not depend on it. Without a file of tokens it is everybody's.
func (a *auth) known(token string) *principal {
	list := a.principals.Load()
	if list == nil {
		return everybody
	}
	sum := sha256.Sum256([]byte(token))
	var found *principal
	for i := range *list {
		if subtle.ConstantTimeCompare(sum[:], (*list)[i].sum[:]) == 1 {
			found = &(*list)[i]
		}
	}
	return found
}
