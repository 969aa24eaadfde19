// Package access decides who may call the decision service: roles, the file of access tokens, and
// limits on the rate of requests. It knows no routes and writes no answers.
package access

import (
	"context"
	"crypto/sha256"
	"net/http"
	"slices"
	"strings"
)

// Role is what an access token allows.
type Role string

// The roles. Admin includes all others.
const (
	Anyone   Role = ""         // no token needed
	Decide   Role = "decide"   // decisions, policies, OFREP
	Feedback Role = "feedback" // exposures and feedback
	// Aggregate allows sums, from the sources of the token only. Sums need no decision.
	Aggregate Role = "aggregate"
	// Browser is for tokens that everybody can read in a page: they decide by the routes that pages
	// of other sites may call, for the token's experiments, in pages of its origins. Such a token
	// may have the role Feedback, too, and no other.
	Browser Role = "browser"
	Read    Role = "read"  // definitions, reports, explanations, the log, metrics
	Admin   Role = "admin" // changes of experiments
)

// Hash is the SHA-256 hash of an access token.
type Hash [sha256.Size]byte

// Principal is the owner of an access token.
type Principal struct {
	// Name is the token's name in the file, "" where no tokens are required.
	Name string
	// Roles are what the token allows.
	Roles []Role
	// Sources are the sources whose sums the token may send: names, or beginnings of names with *
	// at the end. No other token has them.
	Sources []string
	// Experiments and Projects are the experiments that the token may use: names of experiments and
	// of the projects that definitions name, or beginnings of names with * at the end. A token with
	// neither may use all; one for browsers has some.
	Experiments, Projects []string
	// Origins are the origins of the pages in which a token for browsers may be used, none for all
	// that may call the service.
	Origins Origins
	// OpenShare is the greatest share, above 0 and at most 1, of the units of an experiment that
	// wait for feedback which the token may have made wait.
	OpenShare float64
	// Hash is the token's hash.
	Hash Hash
}

// May reports whether the principal has the role, or Admin. Everybody has the role Anyone.
func (p *Principal) May(r Role) bool {
	return r == Anyone || slices.Contains(p.Roles, r) || slices.Contains(p.Roles, Admin)
}

// IsBrowser reports whether the token is one for browsers.
func (p *Principal) IsBrowser() bool { return p != nil && slices.Contains(p.Roles, Browser) }

// Limited reports whether the principal may use some experiments only.
func (p *Principal) Limited() bool { return p != nil && len(p.Experiments)+len(p.Projects) > 0 }

// MayUse reports whether the principal may use an experiment of a project, "" for none. A nil
// principal may use all.
func (p *Principal) MayUse(name, project string) bool {
	return !p.Limited() ||
		slices.ContainsFunc(p.Experiments, func(pattern string) bool { return matches(pattern, name) }) ||
		project != "" && slices.ContainsFunc(p.Projects, func(pattern string) bool { return matches(pattern, project) })
}

// MaySend reports whether the principal may send sums of a source. An administrator without sources
// may send those of all.
func (p *Principal) MaySend(source string) bool {
	if len(p.Sources) == 0 {
		return p.May(Admin)
	}
	return slices.ContainsFunc(p.Sources, func(pattern string) bool { return matches(pattern, source) })
}

// matches reports whether a name is the pattern's, or a pattern lies within another.
func matches(pattern, name string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(name, prefix)
	}
	return name == pattern
}

// everybody is the principal of every request if no access tokens are required.
var everybody = &Principal{Roles: []Role{Admin}}

// principalKey is the context's key of the principal that [WithPrincipal] sets.
type principalKey struct{}

// WithPrincipal returns the request with a principal, which [Tokens.Find] returns whatever the
// headers say.
func WithPrincipal(r *http.Request, p *Principal) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), principalKey{}, p))
}

// addressKey is the context's key of the address that [WithAddress] sets.
type addressKey struct{}

// WithAddress returns the request with the address of its client.
func WithAddress(r *http.Request, address string) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), addressKey{}, address))
}

// Author returns who makes a change with a request's context: the name of the principal and the
// address that were set, "" for those that were not.
func Author(ctx context.Context) (who, from string) {
	if p, ok := ctx.Value(principalKey{}).(*Principal); ok && p != nil {
		who = p.Name
	}
	from, _ = ctx.Value(addressKey{}).(string)
	return who, from
}

// ScopeOf returns the principal that [WithPrincipal] has set, nil for none: who is limited to some
// experiments is always set.
func ScopeOf(ctx context.Context) *Principal {
	p, _ := ctx.Value(principalKey{}).(*Principal)
	return p
}

// bearerToken returns the access token in a request's headers, or "".
func bearerToken(r *http.Request) string {
	token := r.Header.Get("X-API-Key")
	if token == "" {
		token = r.Header.Get("Ocp-Apim-Subscription-Key") // of Personalizer's clients
	}
	if h := r.Header.Get("Authorization"); h != "" {
		scheme, rest, _ := strings.Cut(h, " ")
		if token = ""; strings.EqualFold(scheme, "Bearer") {
			token = strings.TrimSpace(rest)
		}
	}
	return token
}
