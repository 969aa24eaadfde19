package access

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
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
	"github.com/noregret/noregret/internal/legible"
)

// Tokens are the access tokens of a file, which is read again when it changes. Without a file no
// tokens are required. All methods are safe for concurrent use.
type Tokens struct {
	path       string
	log        *slog.Logger
	every      time.Duration
	principals atomic.Pointer[[]Principal]
	// Changed, if not nil, is called after a change of the file. Set it before Watch.
	Changed func()

	mu     sync.Mutex
	seen   []byte // the file's content at the last reading, good or bad
	failed string // the last failure that was logged
}

// tokensFile is the form of the file; docs/service.md describes it.
type tokensFile struct {
	Tokens []struct {
		Name        string   `yaml:"name"`
		Roles       []Role   `yaml:"roles"`
		Token       string   `yaml:"token"`
		SHA256      string   `yaml:"sha256"`
		Sources     []string `yaml:"sources"`
		Experiments []string `yaml:"experiments"`
		Projects    []string `yaml:"projects"`
		// Origins are of tokens for browsers.
		Origins []string `yaml:"origins"`
		// OpenShare is a pointer, as 0 is refused.
		OpenShare *float64 `yaml:"open_share"`
	} `yaml:"tokens"`
}

// Open reads the file of access tokens; path "" means that none are required. The errors say what
// is wrong with the file and never contain a token.
func Open(path string, log *slog.Logger) (*Tokens, error) {
	t := &Tokens{path: path, log: log, every: time.Second}
	_, err := t.reload()
	return t, err
}

// Required reports whether requests need an access token.
func (t *Tokens) Required() bool { return t.principals.Load() != nil }

// reload reads the file if there is one and it has changed. A bad file changes nothing.
func (t *Tokens) reload() (changed bool, err error) {
	if t.path == "" {
		return false, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	data, err := os.ReadFile(t.path)
	if err != nil {
		t.seen = nil
		return false, noregret.Errorf(noregret.NotFound, t.path, "the access tokens cannot be read: %w", err)
	}
	if t.seen != nil && bytes.Equal(data, t.seen) && t.failed == "" {
		return false, nil
	}
	list, err := parseTokens(t.path, data)
	if err != nil {
		return false, err
	}
	changed = !bytes.Equal(data, t.seen)
	t.principals.Store(&list)
	t.seen = data
	return changed, nil
}

// Reload reads the file again if it has changed, and logs a change or a new failure; the same
// failure is logged only once. An error leaves the tokens as they were.
func (t *Tokens) Reload() error {
	changed, err := t.reload()
	if err == nil && changed && t.Changed != nil {
		defer t.Changed()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case err != nil && err.Error() != t.failed:
		t.failed = err.Error()
		t.log.Error("the access tokens stay as they were", "error", err)
	case err == nil && (changed || t.failed != ""):
		t.failed = ""
		t.log.Info("the access tokens were read again", "tokens", len(*t.principals.Load()))
	}
	return err
}

// yamlLine finds the line in a message of the YAML parser.
var yamlLine = regexp.MustCompile(`line [0-9]+`)

// defaultOpenShare leaves a tenth of an experiment's room to other tokens.
const defaultOpenShare = 0.9

// minToken is the minimum length of an access token.
const minToken = 16

func parseTokens(path string, data []byte) ([]Principal, error) {
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
		return nil, bad("no tokens: at least one is required")
	}
	var out []Principal
	for i, t := range f.Tokens {
		p := Principal{
			Name: t.Name, Roles: t.Roles, Sources: t.Sources, Experiments: t.Experiments,
			Projects: t.Projects, OpenShare: defaultOpenShare,
		}
		if t.OpenShare != nil {
			p.OpenShare = *t.OpenShare
		}
		switch {
		case t.Name == "":
			return nil, bad("tokens[%d] has no name", i)
		case slices.ContainsFunc(out, func(q Principal) bool { return q.Name == t.Name }):
			return nil, bad("tokens[%d]: the name %q is used twice", i, t.Name)
		case legible.Check("", t.Name) != nil:
			return nil, bad("tokens[%d]: the name %w", i, legible.Check("", t.Name))
		case len(t.Roles) == 0:
			return nil, bad("tokens[%d] (%s) has no roles: want one or more of decide, browser, feedback, aggregate, "+
				"read, admin", i, t.Name)
		case !(p.OpenShare > 0 && p.OpenShare <= 1):
			return nil, bad("tokens[%d] (%s): open_share is %v: want a share above 0, and at most 1", i, t.Name,
				p.OpenShare)
		case (t.Token == "") == (t.SHA256 == ""):
			return nil, bad("tokens[%d] (%s): want either token or sha256", i, t.Name)
		}
		for _, r := range t.Roles {
			if !slices.Contains([]Role{Decide, Browser, Feedback, Aggregate, Read, Admin}, r) {
				return nil, bad("tokens[%d] (%s): the role %q is unknown: want decide, browser, feedback, aggregate, "+
					"read or admin", i, t.Name, r)
			}
		}
		if err := checkSources(&p, out); err != nil {
			return nil, bad("tokens[%d] (%s): %w", i, t.Name, err)
		}
		for _, text := range slices.Concat(t.Sources, t.Experiments, t.Projects) {
			if err := legible.Check("", text); err != nil {
				return nil, bad("tokens[%d] (%s): %w", i, t.Name, err)
			}
		}
		if slices.Contains(t.Experiments, "") || slices.Contains(t.Projects, "") {
			return nil, bad("tokens[%d] (%s): an empty name: want names of experiments and of projects, or beginnings "+
				"of names with * at the end", i, t.Name)
		}
		if err := p.checkBrowser(t.Origins); err != nil {
			return nil, bad("tokens[%d] (%s): %w", i, t.Name, err)
		}
		if t.Token != "" {
			if len(t.Token) < minToken {
				return nil, bad("tokens[%d] (%s): the token has %d characters: want at least %d", i, t.Name,
					len(t.Token), minToken)
			}
			p.Hash = sha256.Sum256([]byte(t.Token))
		} else if n, err := hex.Decode(p.Hash[:], []byte(t.SHA256)[:min(len(t.SHA256), 2*sha256.Size)]); err != nil ||
			n != sha256.Size || len(t.SHA256) != 2*sha256.Size {
			return nil, bad("tokens[%d] (%s): sha256 is not 64 hexadecimal digits", i, t.Name)
		}
		out = append(out, p)
	}
	return out, nil
}

// checkBrowser reads the origins of a token for browsers, and returns an error if such a token has
// other roles or may use all experiments, or if another token has origins.
func (p *Principal) checkBrowser(origins []string) (err error) {
	if !p.IsBrowser() {
		if len(origins) > 0 {
			return errors.New("origins are for tokens with the role browser")
		}
		return nil
	}
	for _, r := range p.Roles {
		if r != Browser && r != Feedback {
			return fmt.Errorf("the role %s beside browser: everybody can read a browser's token, so it may have "+
				"the role feedback only", r)
		}
	}
	if !p.Limited() {
		return errors.New("the role browser needs experiments or projects: want names, or beginnings of names with * " +
			"at the end")
	}
	p.Origins, err = ParseOrigins(origins)
	return err
}

// checkSources returns an error if a token has the role for sums and no sources, or the other way
// round, or a source of an earlier token.
func checkSources(p *Principal, earlier []Principal) error {
	switch sends := p.May(Aggregate); {
	case len(p.Sources) == 0 && sends && !p.May(Admin):
		return errors.New("the role aggregate needs sources: want names, or beginnings of names with * at the end")
	case len(p.Sources) > 0 && !sends:
		return errors.New("sources without the role aggregate")
	}
	for _, source := range p.Sources {
		if source == "" || len(source) > 200 {
			return errors.New("want sources of 1 to 200 bytes")
		}
		for i := range earlier {
			for _, other := range earlier[i].Sources {
				if matches(other, source) || matches(source, other) {
					return fmt.Errorf("the source %q belongs to the token %q: a source has one owner", source,
						earlier[i].Name)
				}
			}
		}
	}
	return nil
}

// Watch reads the file again whenever it changes, until stop is closed.
func (t *Tokens) Watch(stop <-chan struct{}) {
	if t.path == "" {
		return
	}
	ticker := time.NewTicker(t.every)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
		}
		_ = t.Reload() // which logs it
	}
}

// Find returns the principal of a request, or nil.
func (t *Tokens) Find(r *http.Request) *Principal {
	if p, ok := r.Context().Value(principalKey{}).(*Principal); ok {
		return p
	}
	return t.Bearer(r)
}

// Bearer returns the principal of the access token in a request's headers, or nil.
func (t *Tokens) Bearer(r *http.Request) *Principal { return t.Token(bearerToken(r)) }

// Token returns the principal of an access token, or nil. Where no tokens are required, every token
// has all roles. The comparison's time does not depend on the token.
func (t *Tokens) Token(token string) *Principal {
	if !t.Required() {
		return everybody
	}
	return t.Hash(sha256.Sum256([]byte(token)))
}

// Hash returns the principal of the access token with the given hash, or nil. It compares the hash
// with that of every token in the file.
func (t *Tokens) Hash(sum Hash) *Principal {
	list := t.principals.Load()
	if list == nil {
		return nil
	}
	var found *Principal
	for i := range *list {
		if subtle.ConstantTimeCompare(sum[:], (*list)[i].Hash[:]) == 1 {
			found = &(*list)[i]
		}
	}
	return found
}
