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
	Read     Role = "read"     // definitions, reports, explanations, the log, metrics
	Admin    Role = "admin"    // changes of experiments
)

// Hash is the SHA-256 hash of an access token.
type Hash [sha256.Size]byte

// Principal is the owner of an access token.
type Principal struct {
	// Name is the token's name in the file, "" where no tokens are required.
	Name string
	// Roles are what the token allows.
	Roles []Role
	// Hash is the token's hash.
	Hash Hash
}

// May reports whether the principal has the role, or Admin. Everybody has the role Anyone.
func (p *Principal) May(r Role) bool {
	return r == Anyone || slices.Contains(p.Roles, r) || slices.Contains(p.Roles, Admin)
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
