package dashboard

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/server/internal/access"
	"github.com/noregret/noregret/server/internal/web"
)

// Editor changes experiments. Its errors are those of the API.
type Editor interface {
	// Change changes an experiment as one of "pause", "resume", "rollback" and "conclude".
	Change(ctx context.Context, kind, name, reason string) error
	// Check returns the error with which Define would refuse the definition now.
	Check(ctx context.Context, d *definition.Definition) error
	// Define changes the definition of an experiment if the one in force has the tag
	// ([definition.Tag]); otherwise the status of its error is 412.
	Define(ctx context.Context, d *definition.Definition, tag string) error
}

// protection is what every form of a change has: a secret that pages of other sites cannot know,
// and a field for an access token unless the visitor's own allows changes.
type protection struct {
	// Secret belongs to the browser's session.
	Secret string
	// Asks says that the form needs an access token with the role admin.
	Asks  bool
	Fault string
}

// formKey makes the secrets of forms. Unless it is made of a text, it is new with every start of
// the service.
type formKey [32]byte

func newFormKey(text string) (k formKey) {
	if text != "" {
		return sha256.Sum256([]byte(text))
	}
	_, _ = rand.Read(k[:]) // never fails
	return k
}

// secret returns what the forms of a request's session must contain.
func (k *formKey) secret(r *http.Request) string {
	m := hmac.New(sha256.New, k[:])
	if sum, ok := cookieSum(r); ok {
		_, _ = m.Write(sum[:])
	}
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

// protect returns the protection of a form for a request's visitor. A fault is what is wrong with
// the form that was sent, nil for nothing.
func (d *Dashboard) protect(r *http.Request, fault error) protection {
	v := d.Visitor(r)
	return protection{
		Secret: d.formKey.secret(r), Asks: v == nil || !v.May(access.Admin), Fault: messageOf(fault),
	}
}

// messageOf is the message of an error for people, "" for none.
func messageOf(err error) string {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*noregret.Error](err); ok {
		return e.Message
	}
	return err.Error()
}

// readForm reads the form of a change.
func readForm(r *http.Request) (url.Values, error) {
	b, err := web.Body(r, "application/x-www-form-urlencoded")
	if err != nil {
		return nil, err
	}
	return parseForm(b)
}

// admit returns the request with the principal who makes a change by a form: that of the form's
// access token, or else the visitor. The error says why the form is refused.
func (d *Dashboard) admit(r *http.Request, form url.Values) (*http.Request, error) {
	refuse := func(text string) (*http.Request, error) {
		return nil, web.WithStatus(http.StatusForbidden, noregret.Usage, "form", "%s", text)
	}
	if !hmac.Equal([]byte(form.Get("secret")), []byte(d.formKey.secret(r))) {
		return refuse("This form is of an earlier session. Nothing was changed: look at it and send it again.")
	}
	if !d.Tokens.Required() {
		return r, nil
	}
	p, token := d.Visitor(r), strings.TrimSpace(form.Get("token"))
	if token != "" {
		p = d.Tokens.Token(token)
	}
	if p == nil || !p.May(access.Admin) {
		if token != "" {
			name := ""
			if p != nil {
				name = p.Name
			}
			d.Failures.Note(r, "form", name)
		}
		return refuse("This is not a token with the role admin.")
	}
	if !d.mayUse(p, r.PathValue("name")) {
		return refuse("This token may not change this experiment.")
	}
	return access.WithPrincipal(r, p), nil
}

// shownFault reports whether a form shows an error; others have a page of their own.
func shownFault(err error) bool {
	return web.StatusOf(err) != http.StatusInternalServerError && noregret.CodeOf(err) != noregret.NotFound
}
