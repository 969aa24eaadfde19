package dashboard

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/policy"
	"github.com/noregret/noregret/server/internal/access"
	"github.com/noregret/noregret/server/internal/web"
)

// concluding is the data of the page that asks whether to conclude an experiment.
type concluding struct {
	*policy.Report
	Shares []armRow // of the mixture that would be deployed, the largest first
	// Asks says that the form needs an access token with the role admin: a session only opens
	// pages.
	Asks   bool
	Reason string
	Fault  string
}

// concludePage shows what would be served for good, and asks whether to conclude.
func (d *Dashboard) concludePage(_ http.ResponseWriter, r *http.Request) (*page, error) {
	return d.concluding(r.PathValue("name"), "", nil)
}

func (d *Dashboard) concluding(name, reason string, fault error) (*page, error) {
	report, err := d.Source.Report(name)
	if err != nil {
		return nil, err
	}
	v := &concluding{Report: report, Asks: d.Tokens.Required(), Reason: reason}
	for arm, share := range report.Deployed {
		if share > 0 {
			v.Shares = append(v.Shares, armRow{Name: arm, Share: share, Control: report.Arms[arm].Control})
		}
	}
	sortArms(v.Shares)
	p := &page{Page: "conclude", Title: "Conclude " + name + "?", Data: v}
	if fault != nil {
		p.Status, v.Fault = web.StatusOf(fault), fault.Error()
		if e, ok := errors.AsType[*noregret.Error](fault); ok {
			v.Fault = e.Message
		}
	}
	return p, nil
}

// conclude concludes an experiment with the mixture that would be deployed, if the form confirms
// it. Where access tokens are required, the form or the request must have one with the role admin:
// the cookie alone changes nothing.
func (d *Dashboard) conclude(_ http.ResponseWriter, r *http.Request) (*page, error) {
	b, err := web.Body(r, "application/x-www-form-urlencoded")
	if err != nil {
		return nil, err
	}
	form, err := parseForm(b)
	if err != nil {
		return nil, err
	}
	name, reason := r.PathValue("name"), strings.TrimSpace(form.Get("reason"))
	refuse := func(status int, code noregret.Code, text string) (*page, error) {
		return d.concluding(name, reason, web.WithStatus(status, code, "form", "%s", text))
	}
	if d.Tokens.Required() {
		p := d.Tokens.Token(strings.TrimSpace(form.Get("token")))
		if p == nil {
			p = d.Tokens.Bearer(r)
		}
		if p == nil || !p.May(access.Admin) {
			return refuse(http.StatusForbidden, noregret.Usage, "This is not a token with the role admin.")
		}
	}
	if form.Get("confirm") != "yes" {
		return refuse(http.StatusBadRequest, noregret.BadInput, "Confirm that the experiment is to end.")
	}
	if err := d.Conclude(r.Context(), name, reason); err != nil {
		if web.StatusOf(err) == http.StatusInternalServerError || noregret.CodeOf(err) == noregret.NotFound {
			return nil, err
		}
		return d.concluding(name, reason, err)
	}
	return &page{redirect: "/experiments/" + url.PathEscape(name)}, nil
}
