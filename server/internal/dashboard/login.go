package dashboard

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/server/internal/access"
	"github.com/noregret/noregret/server/internal/web"
)

// localPath returns the path if it is one of this service, in printable ASCII without a backslash,
// and else "/".
func localPath(path string) string {
	odd := func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '\\' }
	u, err := url.Parse(path)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || strings.ContainsFunc(path, odd) ||
		!strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.HasPrefix(path, "/log") {
		return "/"
	}
	return path
}

// loginView is the data of the login page.
type loginView struct{ Next, Fault string }

// loginPage shows the form to log in.
func (d *Dashboard) loginPage(_ http.ResponseWriter, r *http.Request) (*page, error) {
	next := localPath(r.URL.Query().Get("next"))
	if !d.Tokens.Required() {
		return &page{redirect: next}, nil
	}
	return &page{Page: "login", Title: "Log in", Data: loginView{Next: next}}, nil
}

// login exchanges an access token for a cookie.
func (d *Dashboard) login(w http.ResponseWriter, r *http.Request) (*page, error) {
	b, err := web.Body(r, "application/x-www-form-urlencoded")
	if err != nil {
		return nil, err
	}
	form, err := parseForm(b)
	if err != nil {
		return nil, err
	}
	next := localPath(form.Get("next"))
	if !d.Tokens.Required() {
		return &page{redirect: next}, nil
	}
	p := d.Tokens.Token(strings.TrimSpace(form.Get("token")))
	fault, name := "", ""
	switch {
	case p == nil:
		fault = "This token is not known here."
	case !p.May(access.Read):
		fault, name = "This token lacks the role read.", p.Name
	}
	if fault != "" {
		d.Failures.Note(r, "form", name)
		return &page{Page: "login", Status: http.StatusForbidden, Title: "Log in", Data: loginView{next, fault}}, nil
	}
	d.sessions.remove(r)
	http.SetCookie(w, cookie(r, d.sessions.add(p, d.Now())))
	d.Logger.Info("a browser logged in", "token", p.Name)
	return &page{redirect: next}, nil
}

// logout ends the session.
func (d *Dashboard) logout(w http.ResponseWriter, r *http.Request) (*page, error) {
	d.sessions.remove(r)
	http.SetCookie(w, cookie(r, ""))
	return &page{redirect: "/login"}, nil
}

// parseForm reads a form's body. The error does not contain its values.
func parseForm(b []byte) (url.Values, error) {
	v, err := url.ParseQuery(string(b))
	if err != nil {
		return nil, web.WithStatus(http.StatusBadRequest, noregret.BadInput, "body", "not a valid form")
	}
	return v, nil
}
